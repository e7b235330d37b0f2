"""COCO as Karpathy lists it on a hand-made folder, damage in one sentence, and the division of images."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.io import savemat

from sentbook.data import images
from sentbook.io import DataError

KARPATHY = ["train", "val", "test", "train", "restval", "test", "train", "val", "train"]
LIST, MATRIX = "dataset_coco.json", "vgg_feats.mat"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, forgetful: None) -> None:
    monkeypatch.setattr(images, "SIZES", {"train": (5,), "dev": (2,), "test": (2,)})


def features() -> NDArray[np.float32]:
    return np.random.default_rng(7).random((len(KARPATHY), 6), dtype=np.float32)


def listing() -> list[dict[str, Any]]:
    """Karpathy's list: columns are not in the order of the images, some have more captions."""
    said = ([{"raw": f" Caption {n} of {at} .\n", "tokens": []} for n in range(5 + at % 3)] for at in range(9))
    return [
        {"imgid": len(KARPATHY) - 1 - at, "split": split, "sentences": captions}
        for at, (split, captions) in enumerate(zip(KARPATHY, said, strict=True))
    ]


def put(folder: Path, found: list[dict[str, Any]] | None = None) -> None:
    folder.mkdir(exist_ok=True)
    savemat(folder / MATRIX, {"other": 1, "feats": features().T})
    (folder / LIST).write_text(json.dumps({"dataset": "coco", "images": found or listing()}), encoding="utf-8")


def test_images_have_their_column_and_five_captions(tmp_path: Path) -> None:
    put(tmp_path)
    found = images.coco(tmp_path)
    for split, names in {"train": ("train", "restval"), "dev": ("val",), "test": ("test",)}.items():
        members = [at for at, given in enumerate(KARPATHY) if given in names]
        np.testing.assert_array_equal(found[split].features, features()[[len(KARPATHY) - 1 - at for at in members]])
        assert found[split].captions == [[f"Caption {number} of {at} ." for number in range(5)] for at in members]


def changed(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        found = listing()
        change(found)
        put(folder, found)

    return damage


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (changed(lambda found: found.pop(1)), "hold 1 dev images, where 2 with 5 captions"),
        (changed(lambda found: found[3]["sentences"].pop()), "hold 5 train images"),
        (changed(lambda found: found[3]["sentences"][2].update(raw=" ")), "hold 5 train images"),
        (lambda folder: savemat(folder / MATRIX, {"feats": np.full((6, 9), np.nan)}), "finite features are due"),
        (lambda folder: (folder / MATRIX).unlink(), "not distributed with sentbook; put them there, let ranking"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, damage: Callable[[Path], object], said: str) -> None:
    put(tmp_path)
    damage(tmp_path)
    with pytest.raises(DataError, match=said):
        images.coco(tmp_path)


def test_a_folder_of_coco_by_split(tmp_path: Path, originals: Path) -> None:
    put(tmp_path)
    found = images.divided("coco", str(tmp_path))
    assert {split: len(scenes) for split, scenes in found.items()} == {"test": 2, "dev": 2, "train": 5}
    assert images.divided("coco", str(tmp_path)) is found  # read once
    with pytest.raises(DataError, match=r"coco holds no dataset_coco\.json"):
        images.divided("coco")
    put(originals / "coco")
    assert len(images.divided("coco")["train"]) == 5


def test_generated_scenes_share_no_caption_with_another_split() -> None:
    found = images.divided("miniworld-scenes")
    assert {split: len(scenes) for split, scenes in found.items()} == images.SCENES
    said = {split: {text.lower() for texts in scenes.captions for text in texts} for split, scenes in found.items()}
    assert not said["train"] & said["dev"] and not said["train"] & said["test"] and not said["dev"] & said["test"]
    rows = np.concatenate([scenes.features for scenes in found.values()])
    assert len(np.unique(rows, axis=0)) == len(rows) == sum(images.SCENES.values())
    assert all(len(texts) == 5 for scenes in found.values() for texts in scenes.captions)
