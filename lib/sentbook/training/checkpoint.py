"""Tensors and metadata on disk: safetensors, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sentbook.io import CheckpointError, replacing

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
    with replacing(path, remedy) as temporary:
        temporary.touch()
        mode = temporary.stat().st_mode
        try:
            save_file(contiguous, temporary, metadata={"json": json.dumps(metadata)})
        except SafetensorError as error:  # how the library reports a failed write
            raise OSError(0, str(error)) from error
        temporary.chmod(mode)  # the library writes files that only their owner reads


def load(path: Path, key: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and metadata of ``path``.

    Raises:
        CheckpointError: the file cannot be read or is damaged, or was made by another configuration than ``key``.
    """
    return _read(path, key, tensors=True)


def read_metadata(path: Path, key: str | None) -> dict[str, Any]:
    """Read the metadata alone, of any configuration where ``key`` is None; raises as `load`."""
    return _read(path, key, tensors=False)[1]


def _read(path: Path, key: str | None, *, tensors: bool) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {}).get("json", "{}"))
            found = {name: file.get_tensor(name) for name in file.keys()} if tensors else {}  # noqa: SIM118 (no mapping)
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}); make it readable, or delete it and run again."
        ) from error
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path} is truncated or not a checkpoint; delete it and run again.") from error
    if key is not None and metadata.get("key") != key:
        raise CheckpointError(
            f"{path} belongs to another configuration ({metadata.get('key', 'none')}, not {key}); "
            "move it away, or run with the parameters it was made with."
        )
    return found, metadata
