"""Several processes that train one model, as `torchrun` starts them; one process alone touches none of this.

    torchrun --standalone --nproc-per-node 4 script.py

Each process takes its share of every batch, gradients are added up over the processes, and all take the same step.
"""

from __future__ import annotations

import atexit
import datetime
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from sentbook.system.errors import DeviceError, SentbookError

# How long a process waits for another one: longer than a checkpoint takes to write, shorter than nobody noticing.
TIMEOUT = datetime.timedelta(minutes=10)
# Small gradients travel together; a larger one travels alone and is not copied.
BUCKET_BYTES = 2**25


def is_started() -> bool:
    """Whether this is one of several processes of `torchrun`."""
    needed = ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and all(name in os.environ for name in needed)


def cuda_device() -> torch.device:
    """The CUDA device of this process: the one of its number on this machine, or the current one where it is alone.

    Raises:
        DeviceError: this machine has more processes than devices.
    """
    if not is_started():
        return torch.device("cuda")
    index, count = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if index >= count:
        raise DeviceError(f"Process {index + 1} of this machine has no CUDA device; set --nproc-per-node to {count}.")
    return torch.device("cuda", index)


@dataclass(frozen=True)
class Ranks:
    """The processes that train together, as one of them sees them; of one alone every method does nothing.

    All must call the same methods in the same order.

    Args:
        rank: number of this process, from 0.
        size: how many there are.

    Raises:
        SentbookError: by every method that speaks to other processes, where one ended or did not answer in time.

    Example:
        >>> [Ranks(rank, 2).share(np.arange(5)).tolist() for rank in (0, 1)]
        [[0, 2, 4], [1, 3]]
    """

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes files and reports."""
        return self.rank == 0

    def share(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Every ``size``-th example, so that all have about as much to do where a batch is sorted by length."""
        return rows[self.rank :: self.size]

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Each tensor becomes its sum over the processes; bit for bit the same one everywhere."""
        if self.size == 1:
            return
        with _told():
            pending = []
            for bucket in _buckets(tensors):
                alone = len(bucket) == 1 and bucket[0].is_contiguous()
                flat = bucket[0] if alone else torch.cat([tensor.flatten() for tensor in bucket])
                pending.append((bucket, flat, alone, dist.all_reduce(flat, async_op=True)))
            for bucket, flat, alone, work in pending:
                assert work is not None
                work.wait()
                if alone:
                    continue
                for tensor, values in zip(bucket, flat.split([one.numel() for one in bucket]), strict=True):
                    tensor.copy_(values.view_as(tensor))

    def copy_first(self, tensors: Iterable[Tensor]) -> None:
        """Each tensor becomes that of the first process."""
        if self.size == 1:
            return
        with _told():
            for tensor in tensors:
                values = tensor.contiguous()
                dist.broadcast(values, 0)
                tensor.copy_(values)

    def agree(self, value: float) -> float:
        """The first process's value, on which all then decide alike."""
        if self.size == 1:
            return value
        told = torch.tensor(value, dtype=torch.float64)
        self.copy_first([told])
        return float(told)

    def wait(self) -> None:
        """Until all are here."""
        self.add_up([torch.zeros(1)])


def join() -> Ranks:
    """This process among those that `torchrun` started, joined once until it ends; `Ranks()` without it.

    Sums on CUDA devices go by NCCL, all others by Gloo.

    Raises:
        DeviceError: as `cuda_device`, or torch was built without this.
        SentbookError: another process did not come in time.
    """
    if not is_started():
        return Ranks()
    if not dist.is_available():
        raise DeviceError("This build of torch cannot train in several processes; start one, without torchrun.")
    if not dist.is_initialized():
        cuda = torch.cuda.is_available()
        if cuda:
            torch.cuda.set_device(cuda_device())
        with _told():
            dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=TIMEOUT)
        atexit.register(_leave)
    return Ranks(dist.get_rank(), dist.get_world_size())


def abandon() -> None:
    """After a failure: end without waiting for the others, which `torchrun` then ends too.

    NCCL may wait for them when it is left; Gloo does not.
    """
    if torch.cuda.is_available():
        atexit.unregister(_leave)


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


@contextmanager
def _told() -> Iterator[None]:
    """A broken connection as one sentence."""
    try:
        yield
    except RuntimeError as error:
        raise SentbookError(
            "Another process of this training ended or did not answer; run the same command to go on from the last "
            f"checkpoint ({str(error).strip().splitlines()[0]})."
        ) from error


def _buckets(tensors: Iterable[Tensor]) -> Iterator[Sequence[Tensor]]:
    """Tensors of one type together, up to `BUCKET_BYTES`."""
    filling: dict[torch.dtype, list[Tensor]] = {}
    for tensor in tensors:
        if tensor.nbytes >= BUCKET_BYTES:
            yield [tensor]
            continue
        bucket = filling.setdefault(tensor.dtype, [])
        bucket.append(tensor)
        if sum(one.nbytes for one in bucket) >= BUCKET_BYTES:
            yield filling.pop(tensor.dtype)
    yield from filling.values()
