"""Tensors and metadata on disk: safetensors, written whole or not at all."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sentbook.io import CheckpointError, DamagedCheckpointError, replacing

# What a training has beside its result until that is stored.
IN_PROGRESS = "checkpoint.safetensors"


def save(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, Any]) -> None:
    """Write ``tensors`` and ``metadata`` (JSON) to a temporary file beside ``path``, then rename it.

    Raises:
        StorageError: no space or a read-only folder; an earlier file at ``path`` is intact.
    """
    contiguous = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    remedy = (
        "free some space or set SENTBOOK_ARTIFACTS to a writable folder; what was saved before is intact, run again."
    )
    described = {"json": json.dumps(metadata), "sum": _sum(contiguous)}
    with replacing(path, remedy) as temporary:
        temporary.touch()
        mode = temporary.stat().st_mode
        try:
            save_file(contiguous, temporary, metadata=described)
        except SafetensorError as error:  # how the library reports a failed write
            raise OSError(0, str(error)) from error
        temporary.chmod(mode)  # the library writes files that only their owner reads


def _sum(tensors: Mapping[str, Tensor]) -> str:
    """Sum up tensors by CRC-32: a disk that turns a bit is told apart, and nobody's intent."""
    total = 0
    for name in sorted(tensors):
        total = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, zlib.crc32(name.encode(), total))
    return f"{total:08x}"


def _open(path: Path, key: str | None, wanted: bool) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as file:
            described = file.metadata() or {}
            metadata = json.loads(described.get("json", "{}")) | {"sum": described.get("sum", "")}
            tensors = {name: file.get_tensor(name) for name in file.keys()} if wanted else {}  # noqa: SIM118 (no mapping)
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}); make it readable, or delete it and run again."
        ) from error
    except (SafetensorError, ValueError) as error:
        raise DamagedCheckpointError(f"{path} is truncated or not a checkpoint; delete it and run again.") from error
    if wanted and metadata["sum"] not in ("", _sum(tensors)):
        raise DamagedCheckpointError(f"{path} is not as it was written; delete it and run again.")
    if key is not None and metadata.get("key") != key:
        raise CheckpointError(
            f"{path} belongs to another configuration ({metadata.get('key', 'none')}, not {key}); "
            "move it away, or run with the parameters it was made with."
        )
    return tensors, metadata


def load(path: Path, key: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and metadata of ``path``, with the ``sum`` of the tensors.

    Raises:
        DamagedCheckpointError: the file is truncated or no checkpoint.
        CheckpointError: it cannot be read, or was made by another configuration than ``key``.
    """
    return _open(path, key, wanted=True)


def read_metadata(path: Path, key: str | None) -> dict[str, Any]:
    """The metadata alone, of any configuration where ``key`` is None; raises as `load`."""
    return _open(path, key, wanted=False)[1]


def is_made(result: Path) -> bool:
    """Whether a training's result is there; the checkpoint that a kill just after it left beside it is removed."""
    if not result.exists():
        return False
    with suppress(OSError):  # a read-only folder is as good to read from
        result.with_name(IN_PROGRESS).unlink(missing_ok=True)
    return True
