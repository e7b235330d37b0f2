"""Killed at any moment, a training that is started again ends as if it had not been.

`tests/test_batch.py` kills the batch, `tests/training/test_train.py` cuts a training in the midst of a step.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sentbook.models.cse import CSEEncoder
from trainings import PHRASE, assert_same, contents, recipe

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


def start(artifacts: Path, jobs: int, every: float) -> subprocess.Popen[bytes]:
    """Start a training with checkpoints at least so many seconds apart, and wait until its work has begun."""
    command = [sys.executable, "-c", TRAIN, str(every), str(jobs), *(one.model_dump_json() for one in RECIPES[:jobs])]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "SENTBOOK_ARTIFACTS": str(artifacts)}
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, start_new_session=True)
    while not artifacts.is_dir() and process.poll() is None:
        time.sleep(0.002)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_killed_trainings_end_with_the_same_encoders(tmp_path: Path, jobs: int) -> None:
    """Kills are of the group and of the leader alone, whose workers go on beside the next attempt."""
    whole, broken, rng, kills = tmp_path / "whole", tmp_path / "broken", random.Random(1), 0
    clock, process = time.monotonic(), start(whole, jobs, 60)
    assert process.wait(600) == 0
    seconds = time.monotonic() - clock
    groups = []
    for number in range(2 * jobs):
        process = start(broken, jobs, 0.05)
        groups.append(process.pid)
        time.sleep(rng.uniform(0.05, 0.6) * seconds)
        with suppress(ProcessLookupError):
            (os.kill if number % 2 else os.killpg)(process.pid, signal.SIGKILL)
        kills += process.wait(60) == -signal.SIGKILL
    assert kills, "it always ended before it was killed"
    assert start(broken, jobs, 0.05).wait(600) == 0
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    assert_same(contents(broken), contents(whole))  # no checkpoint is left
