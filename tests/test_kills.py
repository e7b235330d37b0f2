"""Killed at any moment, a training that is started again ends as if it had not been.

`tests/test_batch.py` kills the batch, `tests/training/test_runs.py` a training in the midst of a step or of a file.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from sentbook.models.cse import CSEEncoder
from sentbook.training import checkpoint
from trainings import PHRASE, recipe

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a command, and wait until its work proper has begun; all are ended with the test."""
    made: list[subprocess.Popen[bytes]] = []

    def started(arguments: list[str], sign: Callable[[], bool], **environment: str) -> subprocess.Popen[bytes]:
        variables = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
        with (tmp_path / "stderr").open("ab") as stderr:
            command = [sys.executable, "-c", *arguments]
            process = subprocess.Popen(command, env=variables, stdout=-3, stderr=stderr, start_new_session=True)
        made.append(process)
        while not sign() and process.poll() is None:
            time.sleep(0.002)
        return process

    yield started
    for process in made:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def kill(process: subprocess.Popen[bytes], *, group: bool) -> bool:
    """Kill a process or its whole group; return whether it was still running."""
    if process.poll() is None:
        (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
    return process.wait(60) == -signal.SIGKILL


# -- trainings ---------------------------------------------------------------------------------------------------------

STAGE = PHRASE.model_copy(update={"limit": 200, "epochs": 8})
SECOND = STAGE.model_copy(update={"corpora": ("miniworld-sentences",), "epochs": 4})
RECIPES = [recipe(STAGE, SECOND, seed=1, encoder=CSEEncoder(filters=30)), recipe(STAGE, seed=2)]
TRAIN = """
import sys
from sentbook.training import recipes, runs, train
train.CHECKPOINT_SECONDS = float(sys.argv[1])
wanted = [recipes.Recipe.model_validate_json(one) for one in sys.argv[3:]]
runs.obtain(wanted, device="cpu", jobs=int(sys.argv[2]))
"""


def encoders(artifacts: Path) -> dict[str, tuple[dict[str, torch.Tensor], dict[str, object]]]:
    """Every trained encoder by its key, with its history but for times."""
    found = {}
    for file in artifacts.glob("*/encoder.safetensors"):
        tensors, metadata = checkpoint.load(file, file.parent.name)
        history = {name: metadata["history"][name] for name in ("curve", "best", "best_step", "examples")}
        found[file.parent.name] = tensors, history
    return found


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_killed_trainings_end_with_the_same_encoders(tmp_path: Path, start: Start, jobs: int) -> None:
    """Kills are of the group and of the leader alone, whose workers go on beside the next attempt."""

    def train(artifacts: Path, every: float) -> subprocess.Popen[bytes]:
        """Train with checkpoints at least so many seconds apart."""
        wanted = [one.model_dump_json() for one in RECIPES[:jobs]]
        return start([TRAIN, str(every), str(jobs), *wanted], artifacts.is_dir, SENTBOOK_ARTIFACTS=str(artifacts))

    whole, broken, rng = tmp_path / "whole", tmp_path / "broken", random.Random(1)
    process, clock = train(whole, 60), time.monotonic()
    assert process.wait(600) == 0, (tmp_path / "stderr").read_text()[-3000:]
    seconds = time.monotonic() - clock
    kills = 0
    for number in range(2 * jobs):
        process = train(broken, 0.05)
        time.sleep(rng.uniform(0.05, 0.6) * seconds)
        kills += kill(process, group=number % 2 == 0)
    assert kills, "it always ended before it was killed"
    assert train(broken, 0.05).wait(600) == 0, (tmp_path / "stderr").read_text()[-3000:]
    found, expected = encoders(broken), encoders(whole)
    assert found.keys() == expected.keys() and found
    for key, (tensors, history) in expected.items():
        assert found[key][1] == history and found[key][0].keys() == tensors.keys()
        assert all(torch.equal(found[key][0][name], value) for name, value in tensors.items()), key
    assert not list(broken.glob("*/checkpoint.safetensors"))


# -- downloads ---------------------------------------------------------------------------------------------------------
