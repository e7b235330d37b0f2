"""Images with captions, divided into training, development and test images: COCO, or scenes in their place."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from sentbook.data import readers
from sentbook.data.miniworld import World
from sentbook.data.types import CaptionedScenes
from sentbook.io import ConfigError, DataError, originals

Corpus = Literal["coco", "miniworld-scenes"]
Split = Literal["train", "dev", "test"]

# Generated scenes of each split; the test scenes are drawn first, so that more training leaves them as they are.
SCENES: dict[Split, int] = {"test": 500, "dev": 500, "train": 3000}
# Drawn beyond these, for the few that share a caption with a split before.
SPARE = 200


@lru_cache(maxsize=1)
def divided(corpus: Corpus, path: str = "") -> dict[Split, CaptionedScenes]:
    """The images of each split; read once, since COCO's features take 2 GB.

    Generated scenes share no caption with another split, capitals aside; within a split a caption may recur.

    Args:
        path: of the folder with COCO's files, see `sentbook.data.readers.coco`; empty: ``coco`` of the originals.

    Raises:
        ConfigError: COCO without a folder.
        DataError: a file is missing or damaged.

    Example:
        >>> {split: found.features.shape for split, found in divided("miniworld-scenes").items()}
        {'test': (500, 64), 'dev': (500, 64), 'train': (3000, 64)}
    """
    if corpus == "miniworld-scenes":
        return _scenes()
    folder = Path(path or originals() / "coco")
    if not path and not folder.is_dir():
        raise ConfigError(
            f"COCO's captions and features are not distributed with sentbook; put them into {folder}, let ranking.path "
            "name a folder that has them, or set ranking.corpus to 'miniworld-scenes'."
        )
    found = readers.coco(folder)
    return {"test": found["test"], "dev": found["dev"], "train": found["train"]}


def digest(splits: Mapping[Split, CaptionedScenes]) -> str:
    """16 hexadecimal digits of all features and captions: which images a number is of, whatever their folder."""
    found = hashlib.sha256()
    for split in sorted(splits):
        scenes = splits[split]
        found.update(f"{split} {scenes.features.shape} {scenes.features.dtype}".encode())
        found.update(np.ascontiguousarray(scenes.features).data)
        found.update("\n".join("\t".join(captions) for captions in scenes.captions).encode())
    return found.hexdigest()[:16]


def _scenes() -> dict[Split, CaptionedScenes]:
    drawn = World().scenes(sum(SCENES.values()) + SPARE)
    said = [{caption.lower() for caption in captions} for captions in drawn.captions]
    found: dict[Split, CaptionedScenes] = {}
    elsewhere: set[str] = set()
    first = 0
    for split, size in SCENES.items():
        rows: list[int] = []
        while len(rows) < size:
            if first == len(drawn):
                raise DataError(f"Too few generated scenes without a caption of another split; raise SPARE ({SPARE}).")
            if not said[first] & elsewhere:
                rows.append(first)
            first += 1
        elsewhere = elsewhere.union(*(said[row] for row in rows))
        found[split] = CaptionedScenes(
            f"miniworld/scenes/{split}", drawn.features[rows], [drawn.captions[row] for row in rows]
        )
    return found
