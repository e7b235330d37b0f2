"""`sentbook train`: two processes under torchrun train the encoder that one trains."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

SMALL = {
    "seeds": [1],
    "pretraining.books": 40,
    "pretraining.vocabulary": 200,
    "pretraining.hidden": 8,
    "pretraining.epochs": 1,
    "pretraining.checks_per_epoch": 1,
    "encoder.filters": 4,
    "device": "cpu",
}
CHANGES = [item for name, value in SMALL.items() for item in ("-p", name, str(value))]


def train(folder: Path, *launcher: str) -> Path:
    """Train a composite model into the folder; return its file."""
    environment = {**os.environ, "SENTBOOK_ARTIFACTS": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *launcher, "-m", "sentbook.cli", "train", "cnn_lstm", "composite model", *CHANGES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*/encoder.safetensors")
    assert done.stdout.count(found.parent.name) == 1
    return found


def test_two_processes_train_the_encoder_of_one(tmp_path: Path) -> None:
    one = train(tmp_path / "one")
    two = train(tmp_path / "two", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    assert one.parent.name == two.parent.name
    assert sorted(path.name for path in two.parent.iterdir()) == sorted(path.name for path in one.parent.iterdir())
    for name in ("encoder.safetensors", "decoders.safetensors"):
        expected, found = load_file(one.with_name(name)), load_file(two.with_name(name))
        for key, tensor in expected.items():
            torch.testing.assert_close(found[key], tensor, atol=2e-4, rtol=1e-3, msg=key)
