"""Tensors and metadata on disk: safetensors, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sentbook.errors import CheckpointError
from sentbook.files import replacing


def save(path: Path, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
    """Write ``tensors`` and ``metadata`` (JSON) to a temporary file beside ``path``, then rename it.

    Raises:
        StorageError: no space or a read-only folder; an earlier file at ``path`` is intact.
    """
    contiguous = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    remedy = (
        "free some space or set SENTBOOK_ARTIFACTS to a writable folder; what was saved before is intact, run again."
    )
    with replacing(path, remedy) as temporary:
        try:
            save_file(contiguous, temporary, metadata={"json": json.dumps(metadata)})
        except SafetensorError as error:  # how the library reports a failed write
            raise OSError(0, str(error)) from error


def _open(path: Path, key: str | None, wanted: bool) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {}).get("json", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()} if wanted else {}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path} is truncated or not a checkpoint; delete it and run again.") from error
    if key is not None and metadata.get("key") != key:
        raise CheckpointError(
            f"{path} belongs to another configuration ({metadata.get('key', 'none')}, not {key}); "
            "move it away, or run with the parameters it was made with."
        )
    return tensors, metadata


def load(path: Path, key: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and metadata of ``path``.

    Raises:
        CheckpointError: the file is truncated or no checkpoint, or was made by another configuration than ``key``.
    """
    return _open(path, key, wanted=True)


def read_metadata(path: Path, key: str | None) -> dict[str, Any]:
    """The metadata alone, of any configuration where ``key`` is None; raises as `load`."""
    return _open(path, key, wanted=False)[1]
