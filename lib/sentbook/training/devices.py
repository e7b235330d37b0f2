"""The device of a training, its memory, and its units for products of matrices."""

from __future__ import annotations

import ctypes
import platform
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from sentbook.io import DeviceError

# The names of mallopt's parameters in <malloc.h>.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4


def device_of(name: str) -> torch.device:
    """Return the device ``auto`` (CUDA where there is one), ``cpu`` or ``cuda``.

    Raises:
        DeviceError: CUDA was asked for and there is none.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise DeviceError("No CUDA device is available; set device to 'auto' or 'cpu'.")
    if name == "cuda" or (name == "auto" and torch.cuda.is_available()):
        return torch.device("cuda")
    return torch.device("cpu")


def described(device: torch.device) -> str:
    """Name a device as a run records it, with its model: another one takes sums in another order."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    known = Path("/proc/cpuinfo").read_text(encoding="utf-8") if sys.platform == "linux" else ""
    found = re.search(r"^model name\s*: (.+)$", known, re.MULTILINE)
    return f"{device} ({found[1] if found else platform.processor() or platform.machine()})"


def count_memory_anew(device: torch.device) -> None:
    """Let `peak_memory_bytes` of a CUDA device be that of what comes; a process's own cannot be reset."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory_bytes() -> int:
    """The largest memory so far: of the CUDA device where one is used, else of this process."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.max_memory_allocated())
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


@contextmanager
def memory_kept(device: torch.device) -> Iterator[None]:
    """Let the C library keep what steps on a CPU free: pages fresh from the system cost many as much as their sums.

    No number depends on it. On Linux with glibc; elsewhere nothing changes.

    Source: mallopt(3); afterwards the thresholds are those at which glibc's own adjustment ends.
    """
    library = ctypes.CDLL(None) if device.type == "cpu" and sys.platform == "linux" else None
    adjust = getattr(library, "mallopt", lambda *_: None)
    adjust(_MMAP_MAX, 0)
    adjust(_TRIM_THRESHOLD, 2**31 - 1)
    try:
        yield
    finally:
        adjust(_MMAP_MAX, 65_536)
        adjust(_MMAP_THRESHOLD, 2**25)
        adjust(_TRIM_THRESHOLD, 2**26)
        getattr(library, "malloc_trim", lambda _: None)(0)


@contextmanager
def tensor_cores(device: torch.device) -> Iterator[None]:
    """Products of float32 matrices by the TF32 units of a CUDA device: several times faster, 10 bits of mantissa.

    cuDNN's convolutions and LSTMs use them by default. Training steps alone do so, for values that are reported keep
    float32; elsewhere nothing changes.
    """
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        if device.type == "cuda":
            torch.set_float32_matmul_precision(before)
