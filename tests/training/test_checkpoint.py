"""Files are written whole or not at all."""

from pathlib import Path

import pytest
import torch

from sentbook.io import CheckpointError, DamagedCheckpointError
from sentbook.training import checkpoint


def test_round_trip(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "x.safetensors"
    tensors = {"a": torch.randn(3, 2), "b": torch.arange(4)}
    checkpoint.save(file, tensors, {"key": "k", "n": 1.5})
    loaded, metadata = checkpoint.load(file, "k")
    assert metadata == {"key": "k", "n": 1.5, "sum": metadata["sum"]}
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)
    assert checkpoint.read_metadata(file, None) == metadata
    assert [path.name for path in file.parent.iterdir()] == ["x.safetensors"]


def test_a_bit_that_turned_is_found_and_others_may_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    checkpoint.save(file, {"a": torch.ones(1000), "b": torch.tensor(2.0, dtype=torch.bfloat16)}, {"key": "k"})
    (tmp_path / "other").touch()
    assert file.stat().st_mode == (tmp_path / "other").stat().st_mode  # as the user's umask has it
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    assert checkpoint.read_metadata(file, "k")["key"] == "k"
    with pytest.raises(DamagedCheckpointError, match="is not as it was written; delete it and run again"):
        checkpoint.load(file, "k")


def test_a_file_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(CheckpointError, match="cannot be read") as error:
            checkpoint.load(path, "k")
        assert not isinstance(error.value, DamagedCheckpointError)


def test_a_checkpoint_that_a_kill_left_beside_the_result_goes(tmp_path: Path) -> None:
    result, left = tmp_path / "encoder.safetensors", tmp_path / checkpoint.IN_PROGRESS
    left.write_text("in progress")
    assert not checkpoint.is_made(result)
    assert left.exists()
    result.write_text("done")
    assert checkpoint.is_made(result)
    assert [path.name for path in tmp_path.iterdir()] == ["encoder.safetensors"]
    assert checkpoint.is_made(result)
