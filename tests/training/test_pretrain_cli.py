"""`sentbook pretrain`: one encoder by its name; two processes under torchrun train the same one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

SMALL = {
    "pretraining.books": 40,
    "pretraining.vocabulary": 200,
    "pretraining.hidden": 8,
    "pretraining.epochs": 1,
    "pretraining.checks_per_epoch": 1,
    "encoder.filters": 4,
    "device": "cpu",
}
CHANGES = [item for name, value in SMALL.items() for item in ("--set", f"{name}={value}")]


def pretrain(model: str, folder: Path, *launcher: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SENTBOOK_ARTIFACTS": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *launcher, "-m", "sentbook.cli", "pretrain", model, *CHANGES]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def only(folder: Path) -> Path:
    (found,) = folder.glob("*/encoder.safetensors")
    return found


def test_two_processes_train_the_encoder_of_one(tmp_path: Path) -> None:
    alone = pretrain("composite model", tmp_path / "one")
    assert alone.returncode == 0, alone.stderr
    both = pretrain(
        "composite model", tmp_path / "two", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"
    )
    assert both.returncode == 0, both.stderr
    assert both.stdout.count("log-likelihood per token") == alone.stdout.count("log-likelihood per token")
    one, two = only(tmp_path / "one"), only(tmp_path / "two")
    assert one.parent.name == two.parent.name
    assert sorted(path.name for path in two.parent.iterdir()) == sorted(path.name for path in one.parent.iterdir())
    for name in ("encoder.safetensors", "decoders.safetensors"):
        expected, found = load_file(one.with_name(name)), load_file(two.with_name(name))
        for key, tensor in expected.items():
            torch.testing.assert_close(found[key], tensor, atol=2e-4, rtol=1e-3, msg=key)


def test_an_unknown_model_is_one_sentence(tmp_path: Path) -> None:
    found = pretrain(model := "composit model", tmp_path)
    assert found.returncode == 2
    assert f"There is no model '{model}'; choose one of " in found.stderr and "autoencoder, " in found.stderr
    assert not any(tmp_path.iterdir())
