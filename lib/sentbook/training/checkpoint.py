"""Tensors and metadata on disk: safetensors, written whole or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as as_bytes
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
        temporary.write_bytes(as_bytes(contiguous, metadata={"json": json.dumps(metadata)}))


def load(path: Path, key: str | None) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and metadata of ``path``.

    Args:
        key: of the configuration that made it; None: any.

    Raises:
        CheckpointError: the file cannot be read or is damaged, or was made by another configuration.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {}).get("json", "{}"))
            found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}); make it readable, or move it away and run again."
        ) from error
    if key is not None and metadata.get("key") != key:
        raise CheckpointError(
            f"{path} belongs to another configuration ({metadata.get('key', 'none')}, not {key}); "
            "move it away, or run with the parameters it was made with."
        )
    return found, metadata
