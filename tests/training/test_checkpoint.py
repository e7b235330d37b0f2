"""Files are written whole or not at all."""

from pathlib import Path

import pytest
import torch

from sentbook.io import CheckpointError
from sentbook.training import checkpoint


def test_round_trip(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "x.safetensors"
    tensors = {"a": torch.randn(3, 2), "b": torch.arange(4)}
    checkpoint.save(file, tensors, {"key": "k", "n": 1.5})
    loaded, metadata = checkpoint.load(file, "k")
    assert metadata == {"key": "k", "n": 1.5}
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)
    assert checkpoint.load(file, None)[1] == metadata
    assert [path.name for path in file.parent.iterdir()] == ["x.safetensors"]
    (tmp_path / "other").touch()
    assert file.stat().st_mode == (tmp_path / "other").stat().st_mode  # as the user's umask has it


def test_a_file_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(CheckpointError, match="cannot be read"):
            checkpoint.load(path, "k")
