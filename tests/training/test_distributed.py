"""Processes that train together: two give the gradients and the parameters of one, and one alone does nothing new."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from sentbook.system.errors import DeviceError
from sentbook.training import distributed
from sentbook.training.distributed import Ranks
from sentbook.training.loop import device_of

# What one process and two do; the folder is given. Text and models are small and made by hand.
DRIVER = """
import functools
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from sentbook import checkpoint, distributed, training
from sentbook.data.text import TokenIds
from sentbook.encoders import build
from sentbook.errors import ConfigError
from sentbook.generation import EncoderDecoder, GenerationProblem, OrderedSentences
from sentbook.training import Trainer, fit

out = Path(sys.argv[1])
torch.set_num_threads(1)
rank = distributed.join().rank
lines = []


def written(count, seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], rng.integers(1, 9, count).cumsum()])
    rows = np.arange(count)
    return OrderedSentences(TokenIds(rng.integers(1, 12, offsets[-1]), offsets), rows, rows[:-1], rows[:-2:3], 3)


def problem(kind, dropout=0.0, seed=1):
    weight = torch.randn(12, 6, generator=torch.Generator().manual_seed(seed))
    weight[0] = 0
    encoder = build(CNNEncoder(filters=4, bound=0.3), weight, seed=seed)
    return GenerationProblem(EncoderDecoder(encoder, kind, hidden=5, seed=seed, bound=0.3, dropout=dropout),
                             written(31, 0), written(9, 1))


def settings(**changes):
    return GenerationTraining(**{"epochs": 2, "batch_size": 5, "learning_rate": 0.01, "checks_per_epoch": 2, **changes})


def keep(name, problem, history=None):
    values = {} if history is None else {"curve": torch.tensor([row["value"] for row in history.curve])}
    save_file({**problem.model.state_dict(), **values}, out / f"{name}.{rank}")


def train(problem, settings, folder=None):
    return fit(problem, settings, seed=3, device="cpu", folder=folder, key="k", report=lines.append)


# Gradients of one batch. The other process begins elsewhere; it takes the first one's parameters.
for kind in ("autoencoder", "hierarchical"):
    made = problem(kind, seed=1 + rank)
    trainer = Trainer(made, settings(accumulate=2), seed=3, device=torch.device("cpu"), key="k")
    loss = trainer._gradients(np.arange(7), np.random.default_rng(0))
    gradients = {name: value.grad for name, value in made.model.named_parameters() if value.requires_grad}
    save_file({"loss": loss} | gradients, out / f"gradients {kind}.{rank}")

# Several steps; 6 or 7 of 31 examples a batch, and fewer paragraphs than processes in the last one.
for kind in ("composite", "hierarchical"):
    made = problem(kind, seed=1 + rank)
    keep(kind, made, train(made, settings()))

# Interrupted inside an epoch and resumed, with dropout, which is not the same in one process and in two.
training.CHECKPOINT_SECONDS = -1.0
writes, save = [], checkpoint.save
checkpoint.save = lambda *given: (writes.append(rank), save(*given))
whole = problem("composite", 0.3)
keep("whole", whole, train(whole, settings(dropout=0.2)))
broken, steps = problem("composite", 0.3), []
loss = broken.loss
@functools.wraps(loss)
def failing(*given, **named):
    steps.append(0)
    if len(steps) == 6:
        raise RuntimeError("power cut")
    return loss(*given, **named)
broken.loss = failing
try:
    train(broken, settings(dropout=0.2), out / "run")
except RuntimeError:
    lines.append("power cut")
again = problem("composite", 0.3, seed=1 + rank)
keep("resumed", again, train(again, settings(dropout=0.2), out / "run"))

# What is refused.
for changes in ({"embedding_update": "lazy"}, {}):
    try:
        made = problem("autoencoder")
        if not changes:
            made.loss = lambda rows, rng: None
        Trainer(made, MarginTraining(**changes), seed=3, device=torch.device("cpu"), key="k")
    except ConfigError as error:
        lines.append(str(error))
distributed.join().wait()
(out / f"lines.{rank}").write_text("\\n".join([*lines, f"{len(writes)} checkpoints"]))
"""


def run(tmp_path: Path, *launch: str) -> dict[str, dict[str, torch.Tensor]]:
    (tmp_path / "driver.py").write_text(DRIVER)
    done = subprocess.run(
        [sys.executable, *launch, "driver.py", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {file.name: load_file(file) for file in tmp_path.glob("*.[01]") if not file.name.startswith("lines")}


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    one, two = run(tmp_path / "one"), run(tmp_path / "two", *torchrun)
    for name in ("gradients autoencoder", "gradients hierarchical", "composite", "hierarchical"):
        for part, value in one[f"{name}.0"].items():
            torch.testing.assert_close(two[f"{name}.0"][part], value, rtol=1e-5, atol=1e-6, msg=f"{name} {part}")
    for name, values in two.items():  # all processes have the same numbers, to the bit
        for part, value in values.items():
            assert torch.equal(value, two[f"{name[:-1]}0"][part]), f"{name} {part}"
    for found in (one, two):  # resumed as if uninterrupted
        for part, value in found["whole.0"].items():
            assert torch.equal(value, found["resumed.0"][part]), part
    assert any(not torch.equal(value, two["whole.0"][part]) for part, value in one["whole.0"].items())

    lines = [(tmp_path / "two" / f"lines.{rank}").read_text().splitlines() for rank in (0, 1)]
    refused = [
        "embedding_update 'lazy' is for one process; set it to 'dense' with torchrun.",
        "A batch of GenerationProblem cannot be cut into parts; set accumulate to 1 where there is such a setting, "
        "and start one process, without torchrun.",
    ]
    # Of the second process nothing is heard but what the driver itself writes down, and it saves nothing.
    assert lines[1] == ["power cut", *refused, "0 checkpoints"]
    epochs = ["epoch 1", "epoch 2"]
    assert [line[:7] for line in lines[0][:-3]] == [*epochs * 3, "power c", "resumed", *epochs]
    assert lines[0][-3:-1] == refused
    assert int(lines[0][-1].split()[0]) > 5
    assert (tmp_path / "two" / "run" / "checkpoint.safetensors").is_file()


FAILING = """
import datetime, os, sys, time
import torch
from sentbook import distributed

distributed.TIMEOUT = datetime.timedelta(seconds=3 if sys.argv[1] == "hangs" else 100)
ranks = distributed.join()
ranks.wait()
if ranks.rank == 1 and sys.argv[1] == "hangs":
    time.sleep(300)
if ranks.rank == 1:
    os._exit(1)
try:
    ranks.add_up([torch.zeros(3)])
except distributed.SentbookError as error:
    sys.exit(str(error))
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


@given(count=st.integers(0, 40), size=st.integers(1, 9))
def test_shares_are_all_of_a_batch(count: int, size: int) -> None:
    rows = np.arange(count)
    shares = [Ranks(rank, size).share(rows) for rank in range(size)]
    assert sorted(np.concatenate(shares)) == rows.tolist()
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_one_process_alone_joins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "init_process_group", lambda *_, **__: pytest.fail("joined"))
    monkeypatch.setattr(dist, "all_reduce", lambda *_, **__: pytest.fail("spoke"))
    for size in (None, "1"):
        monkeypatch.delenv("WORLD_SIZE", raising=False) if size is None else monkeypatch.setenv("WORLD_SIZE", size)
        ranks = distributed.join()
        assert ranks == Ranks(0, 1)
    assert ranks.first
    values = torch.arange(3.0)
    ranks.add_up([values])
    ranks.copy_first([values])
    ranks.wait()
    assert values.tolist() == [0, 1, 2]
    assert ranks.agree(0.1) == 0.1


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


def test_buckets_hold_each_tensor_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "BUCKET_BYTES", 40)
    small, wide = torch.float32, torch.float64
    sizes = ((3, small), (4, wide), (20, small), (8, small), (1, wide))
    tensors = [torch.zeros(count, dtype=kind) for count, kind in sizes]
    found = [[id(tensor) for tensor in bucket] for bucket in distributed._buckets(tensors)]
    assert found == [[id(tensors[at]) for at in places] for places in ([2], [0, 3], [1, 4])]
