"""COCO's two layouts on hand-made folders, every damage in one sentence, and the division of images."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.io import savemat

from sentbook.data import images
from sentbook.data.readers import coco
from sentbook.io import ConfigError, DataError

WIDTH = 6
SMALL = {"train": (4, 5), "dev": (2,), "test": (2,)}
KARPATHY = ["train", "val", "test", "train", "restval", "test", "train", "val", "train"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, forgetful: None) -> None:
    """Two images for five thousand, and blocks that do not divide them."""
    module = sys.modules["sentbook.data.readers.coco"]  # whose name in its package is that of a function
    monkeypatch.setattr(module, "SIZES", SMALL)
    monkeypatch.setattr(module, "_BLOCK", 3)


def caption(image: object, number: int) -> str:
    return f"Caption {number} of image {image} ."


def features_of(count: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).random((count, WIDTH), dtype=np.float32)


def put_arrays(folder: Path, repeats: int = 5, kind: Any = np.float32) -> dict[str, NDArray[np.float32]]:
    tables = {split: features_of(sizes[0], at) for at, (split, sizes) in enumerate(SMALL.items())}
    for split, table in tables.items():
        np.save(folder / f"coco_{split}_ims.npy", table.repeat(repeats, axis=0).astype(kind))
        lines = [caption(f"{split}{image}", number) for image in range(len(table)) for number in range(5)]
        (folder / f"coco_{split}_caps.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tables


def listing() -> dict[str, Any]:
    """Karpathy's list: columns are not in the order of the images, some have more captions."""
    return {
        "dataset": "coco",
        "images": [
            {
                "imgid": len(KARPATHY) - 1 - at,
                "split": split,
                "sentences": [{"raw": f" {caption(at, number)}\n", "tokens": []} for number in range(5 + at % 3)],
            }
            for at, split in enumerate(KARPATHY)
        ],
    }


def put_matrix(
    folder: Path, found: dict[str, Any] | None = None, name: str = "dataset_coco.json"
) -> NDArray[np.float32]:
    table = features_of(len(KARPATHY), 7)
    savemat(folder / "vgg_feats.mat", {"other": 1, "feats": table.T})
    (folder / name).write_text(json.dumps(found or listing()), encoding="utf-8")
    return table


# -- both layouts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("repeats", [5, 1])
def test_arrays(tmp_path: Path, repeats: int, kind: Any) -> None:
    tables = put_arrays(tmp_path, repeats, kind)
    found = coco(str(tmp_path))
    assert list(found) == ["train", "dev", "test"]
    for split, table in tables.items():
        assert found[split].name == f"COCO/{split}" and found[split].features.dtype == np.float32
        np.testing.assert_array_equal(found[split].features, table)
        assert found[split].captions[1] == [caption(f"{split}1", number) for number in range(5)]
        assert len(found[split].captions) == len(table)


@pytest.mark.parametrize("name", ["dataset_coco.json", "dataset.json"])
def test_matrix(tmp_path: Path, name: str) -> None:
    table = put_matrix(tmp_path, name=name)
    found = coco(tmp_path)
    for split, names in {"train": ("train", "restval"), "dev": ("val",), "test": ("test",)}.items():
        members = [at for at, given in enumerate(KARPATHY) if given in names]
        np.testing.assert_array_equal(found[split].features, table[[len(KARPATHY) - 1 - at for at in members]])
        assert found[split].captions == [[caption(at, number) for number in range(5)] for at in members]


# -- what a user has to mend -------------------------------------------------------------------------------------------

Damage = Callable[[Path], object]
CAPTIONS, ARRAY, LIST, MATRIX = "coco_dev_caps.txt", "coco_dev_ims.npy", "dataset_coco.json", "vgg_feats.mat"


def lines(change: Callable[[list[str]], list[str]]) -> Damage:
    def damage(folder: Path) -> None:
        file = folder / CAPTIONS
        file.write_text("\n".join(change(file.read_text(encoding="utf-8").split("\n"))), encoding="utf-8")

    return damage


def array(change: Callable[[NDArray[Any]], NDArray[Any]]) -> Damage:
    return lambda folder: np.save(folder / ARRAY, change(np.load(folder / ARRAY)))


def images_of(change: Callable[[list[dict[str, Any]]], object]) -> Damage:
    def damage(folder: Path) -> None:
        found = listing()
        change(found["images"])
        (folder / LIST).write_text(json.dumps(found), encoding="utf-8")

    return damage


def matrix(**values: Any) -> Damage:
    return lambda folder: savemat(folder / MATRIX, values)


def content(name: str, given: bytes | int) -> Damage:
    """Other bytes, or all but the last so many."""
    return lambda folder: (folder / name).write_bytes(
        given if isinstance(given, bytes) else (folder / name).read_bytes()[:-given]
    )


def with_value(row: int, value: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def change(table: NDArray[Any]) -> NDArray[Any]:
        table[row, 2] = value
        return table

    return change


def pickled(folder: Path) -> None:
    np.save(folder / ARRAY, np.array([{"a": 1}], dtype=object), allow_pickle=True)


DAMAGES: list[tuple[Callable[[Path], object], Damage, str]] = [
    *((put_arrays, damage, said) for damage, said in [
        (lambda folder: (folder / ARRAY).unlink(), r"coco_dev_ims\.npy is missing from"),
        (lambda folder: (folder / CAPTIONS).unlink(), r"coco_dev_caps\.txt is missing from"),
        (lines(lambda lines: lines[1:]), r"coco_dev_caps\.txt has 9 captions, not 5 an image"),
        (lines(lambda lines: [*lines[:3], " ", *lines[4:]]), r"coco_dev_caps\.txt, line 4 is empty"),
        (lines(lambda lines: lines[:5]), r"coco_dev_ims\.npy has 10 rows for 1 images with 5 captions each"),
        (array(lambda table: table[:7]), r"has 7 rows for 2 images"),
        (array(lambda table: table[:, :5]), r"train, dev, test have 6, 5, 6 features an image; take them of one"),
        (array(lambda table: table[:, :0]), r"holds float32 of shape \(10, 0\), not features"),
        (array(lambda table: table[:, 0]), r"holds float32 of shape \(10,\), not features"),
        (array(lambda table: table.astype(np.int64)), r"holds int64"),
        (array(with_value(7, np.nan)), r"the features of row 8 are not finite"),
        (array(with_value(7, 0.125)), r"rows 6 to 10 differ, so they are not of one image"),
        (content(ARRAY, 40), r"coco_dev_ims\.npy is damaged"),
        (content(ARRAY, b"<html>"), r"is damaged or no array of numbers"),
        (pickled, r"is damaged or no array of numbers"),
        (content(CAPTIONS, b"caf\xe9\n" * 10), r"cannot be read as UTF-8"),
    ]),
    *((put_matrix, damage, said) for damage, said in [
        (images_of(lambda found: found.pop(1)), r"dataset_coco\.json has 1 dev images, not 2"),
        (images_of(lambda found: found[0].pop("imgid")), r"no list of images with imgid, split and sentences"),
        (images_of(lambda found: found[0].update(split="holiday")), r"no list of images"),
        (images_of(lambda found: found[0].update(imgid=0)), r"names image 0 twice or wrongly"),
        (images_of(lambda found: found[0].update(imgid="x")), r"names image 'x' twice or wrongly"),
        (images_of(lambda found: found[3]["sentences"].pop()), r"image 5 has fewer than 5 captions"),
        (images_of(lambda found: found[3]["sentences"][2].update(raw=" ")), r"image 5 has fewer than 5 captions"),
        (images_of(lambda found: found[3]["sentences"][2].update(raw=4)), r"no list of images"),
        (images_of(lambda found: found[0].update(imgid=50)), r"9 columns, and dataset_coco\.json names image 50"),
        (content(LIST, b'{"images": ['), r"no list of images"),
        (content(LIST, b"[1, 2]"), r"no list of images"),
        (matrix(feats=with_value(4, np.inf)(features_of(9, 7)).T), r"the features of column 5 are not finite"),
        (matrix(fest=features_of(9, 7).T), r"has no matrix called feats"),
        (matrix(feats="words"), r"feats is no matrix of features"),
        (content(MATRIX, 40), r"vgg_feats\.mat is damaged"),
        (content(MATRIX, b""), r"vgg_feats\.mat is damaged"),
        (content(MATRIX, b"<html>" * 50), r"vgg_feats\.mat is damaged"),
        (content(MATRIX, b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(128)),
         r"is of MATLAB 7\.3, which cannot be read; save feats again with -v7"),
    ]),
    (lambda folder: None, lambda folder: None, r"holds no COCO captions and features; it needs coco_train_caps"),
]  # fmt: skip


@pytest.mark.parametrize(("put", "damage", "said"), DAMAGES)
def test_damaged_files_are_named(tmp_path: Path, put: Callable[[Path], object], damage: Damage, said: str) -> None:
    put(tmp_path)
    damage(tmp_path)
    with pytest.raises(DataError, match=said) as error:
        coco(tmp_path)
    assert "\n" not in str(error.value)


# -- the division ------------------------------------------------------------------------------------------------------


def test_a_folder_of_coco_by_split(tmp_path: Path, originals: Path) -> None:
    tables = put_arrays(tmp_path)
    found = images.divided("coco", str(tmp_path))
    assert {split: len(scenes) for split, scenes in found.items()} == {"test": 2, "dev": 2, "train": 4}
    np.testing.assert_array_equal(found["dev"].features, tables["dev"])
    assert images.divided("coco", str(tmp_path)) is found  # read once
    with pytest.raises(ConfigError, match=r"not distributed with sentbook; put them into .*coco, let ranking\.path"):
        images.divided("coco")
    (originals / "coco").mkdir()
    put_arrays(originals / "coco")
    assert len(images.divided("coco")["train"]) == 4


def test_the_digest_is_of_the_contents(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "same", "other")]
    for folder in folders:
        folder.mkdir()
        put_arrays(folder, repeats=1 if folder.name == "same" else 5)
    np.save(folders[2] / "coco_dev_ims.npy", features_of(2, 99))
    one, same, other = (images.digest(coco(folder)) for folder in folders)  # type: ignore[arg-type]
    assert one == same != other and len(one) == 16


def test_generated_scenes_share_no_caption_with_another_split() -> None:
    found = images.divided("miniworld-scenes")
    assert {split: len(scenes) for split, scenes in found.items()} == images.SCENES
    said = {split: {text.lower() for texts in scenes.captions for text in texts} for split, scenes in found.items()}
    assert not said["train"] & said["dev"] and not said["train"] & said["test"] and not said["dev"] & said["test"]
    rows = np.concatenate([scenes.features for scenes in found.values()])
    assert len(np.unique(rows, axis=0)) == len(rows) == sum(images.SCENES.values())
    assert all(len(texts) == 5 for scenes in found.values() for texts in scenes.captions)
