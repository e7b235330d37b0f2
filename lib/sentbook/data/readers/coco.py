"""COCO: images as features of a network, with five captions each; a user's own files, in two public layouts."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentbook.data import sources
from sentbook.data.types import CaptionedScenes
from sentbook.io import DataError

# Numbers of images: of training without and with Karpathy's `restval`; held out, all or a first part of them.
SIZES = {"train": (82_783, 113_287), "dev": (5_000, 1_000), "test": (5_000, 1_000)}
SPLITS = tuple(SIZES)
CAPTIONS = 5
_SPLIT_OF = {"train": "train", "restval": "train", "val": "dev", "test": "test"}
_CAPTION_LISTS = ("dataset_coco.json", "dataset.json")
_MATRIX = "vgg_feats.mat"
# Images looked at together: 320 MB where each has five rows.
_BLOCK = 4_000
_HOW = (
    f"it needs coco_train_caps.txt, coco_train_ims.npy and the same of dev and of test, or {_CAPTION_LISTS[0]} and "
    f"{_MATRIX}"
)


def coco(folder: str | Path) -> dict[str, CaptionedScenes]:
    """COCO's ``train``, ``dev`` and ``test`` images (Lin et al. 2014), divided as Karpathy and Fei-Fei 2015.

    Features and captions are not distributed with this package. ``folder`` holds either of

    - ``coco_{train,dev,test}_caps.txt``, a caption a line, those of one image together, and ``coco_..._ims.npy``, whose
      rows are one for each caption or one for each image (Kiros et al. 2014; its archive has dev and test sets of 1000
      images, and so has 5000 rows of each);
    - ``dataset_coco.json`` or ``dataset.json``, and ``vgg_feats.mat`` with a matrix ``feats`` of a column an image
      (Karpathy); ``restval`` images are training images.

    Features are as they are in the files, as wide as these (the paper: 4,096 of VGG's last hidden layer), rows that
    repeat an image's taken once. Of more than five captions the first five are taken.

    Raises:
        DataError: a file is missing, damaged or of another size, holds NaN, is not as wide as the other splits', or
            captions do not fit.
    """
    root = Path(folder).expanduser()
    if any(root.glob("coco_*_caps.txt")) or any(root.glob("coco_*_ims.npy")):
        found = {split: _of_arrays(root, split) for split in SPLITS}
        widths = [scenes.features.shape[1] for scenes in found.values()]
        if len(set(widths)) > 1:
            said = ", ".join(f"{width:,}" for width in widths)
            raise _bad(f"The arrays of {', '.join(SPLITS)} have {said} features an image", "take them of one network")
        return found
    if any((root / name).is_file() for name in (*_CAPTION_LISTS, _MATRIX)):
        return _of_matrix(root)
    raise DataError(f"{root} holds no COCO captions and features; {_HOW}.")


def _bad(what: str, remedy: str = "unpack the archive again") -> DataError:
    return DataError(f"{what}; {remedy}.")


def _file(path: Path) -> Path:
    if not path.is_file():
        raise DataError(f"{path.name} is missing from {path.parent}; {_HOW}.")
    return sources.noted(path)


def _scenes(split: str, features: NDArray[np.float32], captions: list[list[str]], source: Path) -> CaptionedScenes:
    if len(captions) not in SIZES[split]:
        official = " or ".join(f"{size:,}" for size in SIZES[split])
        raise _bad(f"{source.name} has {len(captions):,} {split} images, not {official}")
    return CaptionedScenes(f"COCO/{split}", features, captions)


def _check_finite(block: NDArray[Any], first: int, source: Path, what: str) -> None:
    if not (right := np.isfinite(block).all(axis=1)).all():
        raise _bad(f"{source.name}: the features of {what} {first + int(np.argmin(right)) + 1:,} are not finite")


# -- a text file and an array a split ----------------------------------------------------------------------------------


def _of_arrays(root: Path, split: str) -> CaptionedScenes:
    text, array = _file(root / f"coco_{split}_caps.txt"), _file(root / f"coco_{split}_ims.npy")
    lines = _lines(text)
    if len(lines) % CAPTIONS:
        raise _bad(f"{text.name} has {len(lines):,} captions, not {CAPTIONS} an image")
    captions = [lines[at : at + CAPTIONS] for at in range(0, len(lines), CAPTIONS)]
    return _scenes(split, _features(array, len(captions)), captions, text)


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(f"{file} cannot be read as UTF-8 text") from error
    lines = [line.strip() for line in text.removesuffix("\n").split("\n")]
    if not all(lines):
        raise _bad(f"{file.name}, line {lines.index('') + 1:,} is empty")
    return lines


def _features(file: Path, images: int) -> NDArray[np.float32]:
    """(images, features) of an array that is read block by block: with a row a caption it has up to 9 GB."""
    try:
        table = np.lib.format.open_memmap(file, mode="r")  # never unpickles
    except (OSError, ValueError, EOFError) as error:
        raise _bad(f"{file} is damaged or no array of numbers") from error
    if table.ndim != 2 or not table.size or not np.issubdtype(table.dtype, np.floating):
        raise _bad(f"{file.name} holds {table.dtype} of shape {table.shape}, not features")
    each = CAPTIONS if len(table) == images * CAPTIONS else 1
    if len(table) != images * each:
        what = f"{file.name} has {len(table):,} rows for {images:,} images with {CAPTIONS} captions each"
        raise _bad(what, "it needs a row a caption or a row an image")
    found = np.empty((images, table.shape[1]), dtype=np.float32)
    for start in range(0, images, _BLOCK):
        block = np.asarray(table[start * each : (start + _BLOCK) * each])
        _check_finite(block, start * each, file, "row")
        rows = block.reshape(-1, each, table.shape[1])
        same = (rows == rows[:, :1]).all(axis=(1, 2))
        if not same.all():
            image = start + int(np.argmin(same))
            rows_of = f"rows {image * each + 1:,} to {(image + 1) * each:,}"
            raise _bad(
                f"{file.name}: {rows_of} differ, so they are not of one image", "sort rows and captions by image"
            )
        found[start : start + len(rows)] = rows[:, 0]
    return found


# -- a list of images and one matrix -----------------------------------------------------------------------------------


def _of_matrix(root: Path) -> dict[str, CaptionedScenes]:
    listed = next((root / name for name in _CAPTION_LISTS if (root / name).is_file()), root / _CAPTION_LISTS[0])
    chosen = _images(_file(listed))
    file = _file(root / _MATRIX)
    table = _matrix(file)
    columns = [column for found in chosen.values() for column, _ in found]
    if columns and max(columns) >= len(table):
        what = f"{file.name} has {len(table):,} columns, and {listed.name} names image {max(columns):,}"
        raise _bad(what, "take both from one archive")
    for start in range(0, len(table), _BLOCK):
        _check_finite(table[start : start + _BLOCK], start, file, "column")
    scenes: dict[str, CaptionedScenes] = {}
    for split, found in chosen.items():
        features = np.asarray(table[[column for column, _ in found]], dtype=np.float32)
        scenes[split] = _scenes(split, features, [captions for _, captions in found], listed)
    return scenes


def _images(file: Path) -> dict[str, list[tuple[int, list[str]]]]:
    """Of each split its images: the column of the features, and five captions."""
    found: dict[str, list[tuple[int, list[str]]]] = {split: [] for split in SPLITS}
    seen: set[int] = set()
    try:
        for image in json.loads(file.read_text(encoding="utf-8"))["images"]:
            column, split = image["imgid"], _SPLIT_OF[image["split"]]
            captions = [" ".join(sentence["raw"].split()) for sentence in image["sentences"]]
            if not isinstance(column, int) or column < 0 or column in seen:
                raise _bad(f"{file.name} names image {column!r} twice or wrongly")
            if not all(captions[:CAPTIONS]) or len(captions) < CAPTIONS:
                raise _bad(f"{file.name}: image {column:,} has fewer than {CAPTIONS} captions")
            seen.add(column)
            found[split].append((column, captions[:CAPTIONS]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _bad(f"{file} is damaged or no list of images with imgid, split and sentences") from error
    return found


def _matrix(file: Path) -> NDArray[Any]:
    """(images, features): the transpose of the file's ``feats``."""
    from scipy.io import loadmat  # half a second of imports that few runs need
    from scipy.io.matlab import MatReadError

    try:
        found = loadmat(file, variable_names=["feats"])
    except NotImplementedError as error:
        raise _bad(f"{file} is of MATLAB 7.3, which cannot be read", "save feats again with -v7") from error
    except (OSError, ValueError, TypeError, MatReadError, zlib.error) as error:
        raise _bad(f"{file} is damaged or no MATLAB file") from error
    if "feats" not in found:
        raise _bad(f"{file.name} has no matrix called feats")
    table = found["feats"]
    real = isinstance(table, np.ndarray) and np.issubdtype(table.dtype, np.floating)
    if not real or table.ndim != 2 or not table.size:
        raise _bad(f"{file.name}: feats is no matrix of features")
    return table.T
