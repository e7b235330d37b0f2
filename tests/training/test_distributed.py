"""Processes that train together: two give the parameters of one, resumed ones too, and nobody waits forever."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from sentbook import config
from sentbook.io import DeviceError
from sentbook.training import pretraining, recipes
from sentbook.training.devices import device_of
from trainings import PHRASE, recipe

# What one process and two do; the folder is given. Text and models are small and made by hand.
DRIVER = """
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from sentbook.data.text import TokenIds
from sentbook.models.build import build
from sentbook.models.cnn import CNNEncoder
from sentbook.models.encoder_decoder import EncoderDecoder
from sentbook.io import ConfigError
from sentbook.training import distributed, loop
from sentbook.training.problems.generation import GenerationProblem, OrderedSentences
from sentbook.training.settings import GenerationTraining, MarginTraining

out, lines = Path(sys.argv[1]), []
torch.set_num_threads(1)
distributed.join()
rank = distributed.rank()


def written(count, seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], rng.integers(1, 9, count).cumsum()])
    rows = np.arange(count)
    return OrderedSentences(TokenIds(rng.integers(1, 12, offsets[-1]), offsets), rows, rows[:-1], rows[:-2:3], 3)


def train(name, kind, *, dropout=0.0, folder=None, stop=None, **changes):
    given = {"epochs": 2, "batch_size": 5, "learning_rate": 0.01, "checks_per_epoch": 2, "hidden": 5, "bound": 0.3}
    settings = GenerationTraining(model=kind, dropout=dropout, **given | changes)
    # The other process begins elsewhere; it takes the first one's parameters.
    weight = torch.randn(12, 6, generator=torch.Generator().manual_seed(1 + rank))
    weight[0] = 0
    encoder = build(CNNEncoder(filters=4, bound=0.3), weight, seed=1 + rank)
    problem = GenerationProblem(EncoderDecoder(encoder, kind, settings, seed=1 + rank), written(31, 0), written(9, 1))
    loss, steps = problem.loss, []
    def counted(*given):
        steps.append(0)
        if len(steps) == stop:
            raise KeyError("power cut")
        return loss(*given)
    problem.loss = counted
    history = loop.fit(problem, settings, seed=3, device="cpu", folder=folder, key="k", report=lines.append)
    curve = {"curve": torch.tensor([row["value"] for row in history.curve])}
    save_file({**problem.model.state_dict(), **curve}, out / f"{name}.{rank}")


# 6 or 7 of 31 examples a batch, in two parts a process; and fewer paragraphs than processes in the last one.
for kind in ("composite", "hierarchical"):
    train(kind, kind, accumulate=2)

# Interrupted inside an epoch and resumed, with dropout, which is not the same in one process and in two.
loop.CHECKPOINT_SECONDS = -float("inf")
train("whole", "composite", dropout=0.2)
try:
    train("broken", "composite", dropout=0.2, folder=out / "run", stop=6)
except KeyError:
    lines.append("power cut")
train("resumed", "composite", dropout=0.2, folder=out / "run")
distributed.wait()
(out / f"lines.{rank}").write_text("\\n".join(lines))
distributed.leave()
"""


def run(folder: Path, *launch: str) -> dict[str, dict[str, torch.Tensor]]:
    folder.mkdir()
    (folder / "driver.py").write_text(DRIVER)
    done = subprocess.run(
        [sys.executable, *launch, "driver.py", "."],
        cwd=folder, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {file.name: load_file(file) for file in folder.glob("*.[01]") if not file.name.startswith("lines")}


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    one, two = run(tmp_path / "one"), run(tmp_path / "two", *torchrun)
    for name in ("composite", "hierarchical"):
        for part, value in one[f"{name}.0"].items():
            torch.testing.assert_close(two[f"{name}.0"][part], value, rtol=1e-5, atol=1e-6, msg=f"{name} {part}")
    for name, values in two.items():  # both processes have the same numbers, to the bit
        for part, value in values.items():
            assert torch.equal(value, two[f"{name[:-1]}0"][part]), f"{name} {part}"
    for found in (one, two):  # resumed as if uninterrupted
        for part, value in found["whole.0"].items():
            assert torch.equal(value, found["resumed.0"][part]), part
    lines = [(tmp_path / "two" / f"lines.{rank}").read_text().splitlines() for rank in (0, 1)]
    shared, epochs = lines[0][0], ["epoch 1", "epoch 2"]
    assert shared.startswith("2 processes share a batch of ") and shared.endswith(" each; raise batch_size for more")
    told = [line[:7] for line in lines[0] if line != shared]
    assert told == [*epochs * 3, "power c", "resumed", *epochs]
    assert lines[1] == ["power cut"]  # of the second process nothing else is heard


FAILING = """
import datetime, os, sys, time
import torch
from sentbook.training import distributed

distributed.TIMEOUT = datetime.timedelta(seconds=3 if sys.argv[1] == "hangs" else 100)
distributed.join()
distributed.wait()
if distributed.rank() == 1 and sys.argv[1] == "hangs":
    time.sleep(300)
if distributed.rank() == 1:
    os._exit(1)
try:
    distributed.add_up(torch.zeros(3))
except distributed.SentbookError as error:
    print(error, file=sys.stderr, flush=True)
    os._exit(1)
"""


@pytest.mark.parametrize("fault", ["hangs", "ends"])
def test_nobody_waits_forever_for_another(fault: str, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    both = []
    for rank in ("0", "1"):
        place = {"WORLD_SIZE": "2", "RANK": rank, "LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        both.append(
            subprocess.Popen(
                [sys.executable, "failing.py", fault],
                cwd=tmp_path, env=os.environ | place, stderr=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
    try:
        message = both[0].communicate(timeout=200)[1]
    finally:
        for process in both:
            process.kill()
        both[1].communicate()
    assert both[0].returncode == 1
    assert "Another process of this training ended or did not answer; run the same command to go on" in message


def test_every_process_has_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device_of("cuda") == torch.device("cuda")
    for name, value in {"WORLD_SIZE": "3", "RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    for rank in (0, 1):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        assert device_of("auto") == torch.device("cuda", rank)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(DeviceError, match="Process 3 of this machine has no CUDA device; set --nproc-per-node to 2"):
        device_of("auto")
    assert device_of("cpu") == torch.device("cpu")


@pytest.mark.usefixtures("artifacts")
@pytest.mark.parametrize("rank", ["0", "1"])
def test_what_is_trained_on_the_cpu_leaves_the_gpus_alone(rank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this machine has fewer of them than processes, too."""
    place = {"WORLD_SIZE": "2", "RANK": rank, "LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    joined: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: pytest.fail(f"{device} was taken"))
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda backend, **_: joined.append(backend))
    settings = config.load("cnn_lstm", {"profile": "demo", "device": "cpu"})
    pretraining.tell(settings.pretraining, settings.tokenisation, settings.device)  # in the first process
    [trained] = recipes.obtain([recipe(PHRASE)], device=settings.device)
    assert set(joined) == {"gloo"} and trained.encoder().embedding.weight.device.type == "cpu"
