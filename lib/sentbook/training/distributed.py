"""Several processes that train one model by torch's `DistributedDataParallel`, as `torchrun` starts them.

    torchrun --standalone --nproc-per-node 4 script.py

Each process takes its share of every batch, gradients are averaged over the processes while they are computed, and all
take the same step. One process alone touches none of this: every function here then does nothing.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from sentbook.io import DeviceError, SentbookError

# How long a process waits for another one: longer than a checkpoint takes to write, shorter than nobody noticing.
TIMEOUT = datetime.timedelta(minutes=10)


def is_started() -> bool:
    """Tell whether this is one of several processes of `torchrun`."""
    needed = ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and all(name in os.environ for name in needed)


def cuda_device() -> torch.device:
    """Return the CUDA device of this process: that of its number on this machine, or the current one where it is alone.

    Raises:
        DeviceError: this machine has more processes than devices.
    """
    if not is_started():
        return torch.device("cuda")
    index, count = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if index >= count:
        raise DeviceError(f"Process {index + 1} of this machine has no CUDA device; set --nproc-per-node to {count}.")
    return torch.device("cuda", index)


def join(device: str = "auto") -> None:
    """Join the processes that `torchrun` started, once; gradients on CUDA devices go by NCCL, all others by Gloo.

    Args:
        device: of what they do together; ``cpu`` leaves CUDA devices alone.

    Raises:
        DeviceError: as `cuda_device`, or torch was built without this.
        SentbookError: another process did not come in time.
    """
    if not is_started() or (dist.is_available() and dist.is_initialized()):
        return
    if not dist.is_available():
        raise DeviceError("This build of torch cannot train in several processes; start one, without torchrun.")
    cuda = device != "cpu" and torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(cuda_device())
    with told():
        dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=TIMEOUT)


def leave() -> None:
    """Leave the other processes; after a failure end without this, since NCCL may wait for those that are gone."""
    if size() > 1:
        dist.destroy_process_group()


def size() -> int:
    """Count the processes that train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process, from 0."""
    return dist.get_rank() if size() > 1 else 0


def is_first() -> bool:
    """Tell whether this process writes files and reports."""
    return rank() == 0


def add_up(value: Tensor) -> Tensor:
    """Replace a tensor by its sum over the processes."""
    if size() > 1:
        with told():
            dist.all_reduce(value)
    return value


def broadcast(value: float) -> float:
    """Return the first process's value, on which all then decide alike."""
    if size() == 1:
        return value
    tensor = torch.tensor(value, dtype=torch.float64)
    with told():
        dist.broadcast(tensor, 0)
    return float(tensor)


def wait() -> None:
    """Wait until all processes are here."""
    broadcast(0.0)
    add_up(torch.zeros(1))


@contextmanager
def told() -> Iterator[None]:
    """Turn a broken connection into one sentence."""
    try:
        yield
    except RuntimeError as error:
        if size() == 1 and not is_started():
            raise
        raise SentbookError(
            "Another process of this training ended or did not answer; run the same command to go on from the last "
            f"checkpoint ({str(error).strip().splitlines()[0]})."
        ) from error
