"""Images with captions, divided into training, development and test images: COCO, or scenes in their place."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from sentbook.data import sources
from sentbook.data.miniworld import World
from sentbook.data.types import CaptionedScenes
from sentbook.io import DataError, originals

Corpus = Literal["coco", "miniworld-scenes"]
Split = Literal["train", "dev", "test"]

# Generated scenes of each split, the test scenes first.
SCENES: dict[Split, int] = {"test": 500, "dev": 500, "train": 3000}
# COCO's numbers of images: of training without and with Karpathy's `restval`; held out, all or a first part of them.
SIZES: dict[Split, tuple[int, ...]] = {"test": (5_000, 1_000), "dev": (5_000, 1_000), "train": (82_783, 113_287)}
CAPTIONS = 5
_LISTED: dict[Split, tuple[str, ...]] = {"test": ("test",), "dev": ("val",), "train": ("train", "restval")}


@lru_cache(maxsize=1)
def divided(corpus: Corpus, path: str = "") -> dict[Split, CaptionedScenes]:
    """Return the images of each split; read once, since COCO's features take 2 GB.

    Generated scenes share no caption with another split, capitals aside; within a split a caption may recur.

    Args:
        path: of the folder with COCO's files, see `coco`; empty: ``coco`` of the originals.

    Example:
        >>> {split: found.features.shape for split, found in divided("miniworld-scenes").items()}
        {'test': (500, 64), 'dev': (500, 64), 'train': (3000, 64)}
    """
    if corpus == "miniworld-scenes":
        return _scenes()
    return coco(Path(path or originals() / "coco").expanduser())


def _scenes() -> dict[Split, CaptionedScenes]:
    drawn = World().scenes()
    said = [{caption.lower() for caption in captions} for captions in drawn.captions]
    found: dict[Split, CaptionedScenes] = {}
    elsewhere: set[str] = set()
    first = 0
    for split, size in SCENES.items():
        # There are more than these, for the few that share a caption with a split before.
        rows = [row for row in range(first, len(said)) if not said[row] & elsewhere][:size]
        first = rows[-1] + 1
        elsewhere |= set().union(*(said[row] for row in rows))
        captions = [drawn.captions[row] for row in rows]
        found[split] = CaptionedScenes(f"miniworld/scenes/{split}", drawn.features[rows], captions)
    return found


def coco(folder: Path) -> dict[Split, CaptionedScenes]:
    """Return COCO's images (Lin et al. 2014), divided as Karpathy and Fei-Fei 2015; ``restval`` images train too.

    Features and captions are not distributed with this package. ``folder`` holds ``dataset_coco.json``, and
    ``vgg_feats.mat`` with a matrix ``feats`` of a column an image. Features are as wide as there (the paper: 4,096 of
    VGG's last hidden layer). Of more than five captions the first five are taken.
    """
    from scipy.io import loadmat  # half a second of imports that few runs need

    listed, matrix = folder / "dataset_coco.json", folder / "vgg_feats.mat"
    if not (listed.is_file() and matrix.is_file()):
        raise DataError(
            f"{folder} holds no {listed.name} and {matrix.name}, which are not distributed with sentbook; put them "
            "there, let ranking.path name a folder that has them, or set ranking.corpus to 'miniworld-scenes'."
        )
    images = json.loads(sources.noted(listed).read_text(encoding="utf-8"))["images"]
    features = loadmat(sources.noted(matrix), variable_names=["feats"])["feats"].T
    found: dict[Split, CaptionedScenes] = {}
    for split, names in _LISTED.items():
        chosen = [image for image in images if image["split"] in names]
        captions = [[" ".join(one["raw"].split()) for one in image["sentences"][:CAPTIONS]] for image in chosen]
        rows = np.asarray(features[[image["imgid"] for image in chosen]], dtype=np.float32)
        whole = all(len(said) == CAPTIONS and all(said) for said in captions) and np.isfinite(rows).all()
        if len(chosen) not in SIZES[split] or not whole:
            raise DataError(
                f"{listed.name} and {matrix.name} of {folder} hold {len(chosen):,} {split} images, where "
                f"{' or '.join(map(str, SIZES[split]))} with {CAPTIONS} captions and finite features are due."
            )
        found[split] = CaptionedScenes(f"COCO/{split}", rows, captions)
    return found
