"""Files, and folders that replace others, are written whole or not at all."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from sentbook.io import StorageError, replacing, write_atomically
from sentbook.records import Scores
from sentbook.training import checkpoint


@contextmanager
def limited(size: int = 64) -> Iterator[None]:
    """Let no file grow beyond ``size`` bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def scores(path: Path, size: int) -> None:
    Scores({"d": np.zeros(size)}, {("a", 1, "d"): np.linspace(0, 1, size)}).save(path)


@pytest.mark.parametrize(
    "write",
    [
        lambda path, size: write_atomically(path, "x" * size),
        lambda path, size: checkpoint.save(path, {"a": torch.zeros(size)}, {"key": "k"}),
        scores,
    ],
    ids=["text", "checkpoint", "scores"],
)
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, write: Callable[[Path, int], None]) -> None:
    file = tmp_path / "deep" / "file"
    write(file, 10)
    before = file.read_bytes()
    with limited(), pytest.raises(StorageError, match=r"could not be written \(.*File too large.*\); .*\.$") as error:
        write(file, 5_000)
    assert "\n" not in str(error.value)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_folder_takes_the_place_of_an_old_one_whole(tmp_path: Path) -> None:
    for text in ("one", "two"):
        with replacing(tmp_path / "made") as temporary:
            temporary.mkdir()
            (temporary / text).write_text(text)
        assert [path.name for path in (tmp_path / "made").iterdir()] == [text]
    with pytest.raises(RuntimeError), replacing(tmp_path / "made") as temporary:
        temporary.mkdir()
        raise RuntimeError
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["made", "made/two"]
