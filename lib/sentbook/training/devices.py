"""The device of a training, its memory, and its units for products of matrices."""

import platform
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from sentbook.io import DeviceError


def device_of(name: str) -> torch.device:
    """Return the device ``auto`` (CUDA where there is one), ``cpu`` or ``cuda``, whose sums keep float32.

    Raises:
        DeviceError: CUDA was asked for and there is none.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise DeviceError("No CUDA device is available; set device to 'auto' or 'cpu'.")
    if name == "cuda" or (name == "auto" and torch.cuda.is_available()):
        torch.backends.cudnn.allow_tf32 = False  # torch's default for convolutions and LSTMs alone
        return torch.device("cuda")
    return torch.device("cpu")


def described(device: torch.device) -> str:
    """Name a device as a run records it, with its model: another one takes sums in another order."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    known = Path("/proc/cpuinfo").read_text(encoding="utf-8") if sys.platform == "linux" else ""
    found = re.search(r"^model name\s*: (.+)$", known, re.MULTILINE)
    return f"{device} ({found[1] if found else platform.processor() or platform.machine()})"


def peak_memory_bytes() -> int:
    """Return the largest memory so far: of the CUDA device where one is used, else of this process since it began."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@contextmanager
def tensor_cores(device: torch.device) -> Iterator[None]:
    """Multiply float32 matrices by the TF32 units of a CUDA device: several times faster, 10 bits of mantissa.

    Training steps alone do so, cuDNN's convolutions and LSTMs included; values that are reported keep float32.
    """
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]
