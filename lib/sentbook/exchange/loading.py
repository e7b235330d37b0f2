"""Any trained encoder by its path: an artifact of this package, or a folder that was exported."""

from __future__ import annotations

from pathlib import Path

from sentbook.exchange import portable
from sentbook.exchange.portable import Portable


def load(model: Path) -> Portable:
    """An artifact (its folder or ``encoder.safetensors``) or a folder of `portable.read`, whichever ``model`` is.

    Raises:
        CheckpointError: it is neither, or damaged.
        DataError: an artifact's word vectors are not here.
    """
    if (model / portable.CONFIG).is_file():
        return portable.read(model)
    from sentbook.exchange.artifact import of_artifact
    from sentbook.training import recipes  # a second of imports that an exported folder does not need

    return of_artifact(recipes.from_file(model))
