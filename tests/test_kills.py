"""Killed at any moment, a command that is given again ends as if it had not been: trainings and downloads.

What is killed in the midst of a step or of a file is in ``training/test_store``; the batch and notebooks in ``runs``.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from sentbook.models.cse import CSEEncoder
from sentbook.training import checkpoint
from sentbook.training.settings import MarginTraining
from trainings import PHRASE, recipe

Start = Callable[..., "subprocess.Popen[bytes]"]
# Attempts that may end before their kill; each begins anew.
TOO_LATE = 4


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
    """Kill a process or its whole group; whether it was still running."""
    if process.poll() is None:
        (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
    return process.wait(60) == -signal.SIGKILL


def half_files(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.endswith((".tmp", ".part"))]


# -- trainings ---------------------------------------------------------------------------------------------------------

STAGE = PHRASE.model_copy(update={"limit": 200, "epochs": 8})
SECOND = STAGE.model_copy(update={"corpora": ("miniworld-sentences",), "epochs": 4})
TRAIN = """
import sys
from sentbook.training import loop, recipes
from sentbook.training.recipes import Recipe
loop.CHECKPOINT_SECONDS = float(sys.argv[1])
recipes.obtain([Recipe.model_validate_json(one) for one in sys.argv[3:]], device="cpu", jobs=int(sys.argv[2]))
"""


def described(seed: int, *stages: MarginTraining) -> str:
    return recipe(*stages, seed=seed, encoder=CSEEncoder(filters=30)).model_dump_json()


def encoders(artifacts: Path) -> dict[str, tuple[dict[str, torch.Tensor], dict[str, object]]]:
    """Every trained encoder by its key, with its history but for times."""
    found = {}
    for file in artifacts.glob("*/encoder.safetensors"):
        tensors, metadata = checkpoint.load(file, file.parent.name)
        history = {name: metadata["history"][name] for name in ("curve", "best", "best_step", "examples")}
        found[file.parent.name] = tensors, history
    return found


@pytest.mark.parametrize(
    ("wanted", "jobs", "kills"),
    [
        pytest.param([described(1, STAGE)], 1, 2, marks=pytest.mark.slow, id="one"),
        pytest.param(
            [described(1, STAGE, SECOND), *(described(seed, STAGE) for seed in (1, 2, 3))], 2, 5,
            marks=pytest.mark.long, id="side by side",
        ),
    ],
)  # fmt: skip
def test_killed_trainings_end_with_the_same_encoders(
    tmp_path: Path, start: Start, wanted: list[str], jobs: int, kills: int
) -> None:
    """Kills are of the group and of the leader alone, whose workers go on beside the next attempt."""

    def train(artifacts: Path, every: float, jobs: int) -> subprocess.Popen[bytes]:
        """Train with checkpoints at least so many seconds apart."""
        return start([TRAIN, str(every), str(jobs), *wanted], artifacts.is_dir, SENTBOOK_ARTIFACTS=str(artifacts))

    whole, broken, rng, late = tmp_path / "whole", tmp_path / "broken", random.Random(1), 0
    process, clock = train(whole, 60, 1), time.monotonic()
    assert process.wait(600) == 0, (tmp_path / "stderr").read_text()[-3000:]
    seconds = time.monotonic() - clock
    for number in range(kills):
        part = rng.uniform(0.05, 0.9)
        while True:
            process = train(broken, 0.05, jobs)
            time.sleep(part * seconds / 2**late)
            if kill(process, group=number % 2 == 0):
                break
            late += 1
            assert late <= TOO_LATE, "it always ends before it is killed"
            shutil.rmtree(broken)
    assert train(broken, 0.05, jobs).wait(600) == 0, (tmp_path / "stderr").read_text()[-3000:]
    found, expected = encoders(broken), encoders(whole)
    assert found.keys() == expected.keys() and found
    for key, (tensors, history) in expected.items():
        assert found[key][1] == history and found[key][0].keys() == tensors.keys()
        assert all(torch.equal(found[key][0][name], value) for name, value in tensors.items()), key
    assert not half_files(broken) and not list(broken.glob("*/checkpoint.safetensors"))


# -- downloads ---------------------------------------------------------------------------------------------------------

BYTES = random.Random(0).randbytes(400_000)
FETCH = """
import sys
from pathlib import Path
from sentbook.data import sources
entry = {"sha256": sys.argv[2], "bytes": int(sys.argv[3]), "url": sys.argv[1]}
sources.registry = lambda: {"eval/slow.bin": entry}
print(sources.path("eval/slow.bin"))
"""


def slowly(request: Request) -> Response:
    """Send the file in two seconds."""

    def parts() -> Iterator[bytes]:
        for at in range(0, len(BYTES), len(BYTES) // 40):
            yield BYTES[at : at + len(BYTES) // 40]
            time.sleep(0.05)

    return Response(parts(), headers={"Content-Length": str(len(BYTES))})


@pytest.mark.slow
def test_a_killed_download_leaves_no_file_and_the_next_one_is_whole(
    tmp_path: Path, start: Start, httpserver: HTTPServer
) -> None:
    place = tmp_path / "cache" / "eval"
    httpserver.expect_request("/slow.bin").respond_with_handler(slowly)

    def fetch() -> subprocess.Popen[bytes]:
        url, digest = httpserver.url_for("/slow.bin"), hashlib.sha256(BYTES).hexdigest()
        return start(
            [FETCH, url, digest, str(len(BYTES))], lambda: any(place.glob("tmp*")),
            SENTBOOK_CACHE=str(tmp_path / "cache"), SENTBOOK_DATA="", NO_PROXY=httpserver.host,
        )  # fmt: skip

    for seconds in (0.1, 0.9):
        process = fetch()
        time.sleep(seconds)
        assert kill(process, group=False)
        assert not (place / "slow.bin").exists()
    assert fetch().wait(60) == 0
    assert (place / "slow.bin").read_bytes() == BYTES
