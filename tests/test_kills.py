"""``kill -9`` at moments drawn by a seed; the same command, run again until it ends, gives the same bits.

Of a training, of a checkpoint's writing, of a download, of a notebook, of the batch. The kill hits the whole process
group or its leader alone, whose orphans then run beside the next attempt.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from sentbook.data.vectors import Vectors
from sentbook.models.cse import CSEEncoder
from sentbook.training import checkpoint
from sentbook.training.recipes import Recipe
from sentbook.training.settings import MarginTraining

ROOT = Path(__file__).resolve().parents[1]
# Attempts that may end before their kill; each begins anew.
TOO_LATE = 4


# -- a command that is killed ------------------------------------------------------------------------------------------


@dataclass
class Command:
    """One command line, whose state is in ``folder`` alone.

    Attributes:
        sign: when the work proper has begun; kills are drawn from then on.
        seconds: from there to the end, when nothing disturbs it.
    """

    arguments: list[str]
    folder: Path
    environment: dict[str, str]
    sign: Callable[[], bool] = lambda: True
    seconds: float = 0.0
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "SENTBOOK_TEST_MARK": self.mark, **self.environment}
        with (self.folder / "stderr").open("ab") as stderr:
            process = subprocess.Popen(
                self.arguments,
                env=environment,
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        while not self.sign() and process.poll() is None:
            time.sleep(0.002)
        return process

    def finish(self) -> None:
        """To the end, undisturbed."""
        process = self.start()
        clock = time.monotonic()
        assert process.wait(600) == 0, (self.folder / "stderr").read_text()[-3000:]
        self.seconds = time.monotonic() - clock

    def kill(self, process: subprocess.Popen[bytes], *, group: bool) -> bool:
        """Whether it was still running."""
        if process.poll() is not None:
            return False
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        return process.wait(60) == -signal.SIGKILL

    def left(self) -> list[psutil.Process]:
        """What this command or its orphans still have running."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("SENTBOOK_TEST_MARK") == self.mark and process.status() != "zombie":
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def end(self) -> None:
        for process in self.left():
            process.kill()


def killed(command: Command, moments: Sequence[tuple[float, bool]], anew: Callable[[], None]) -> None:
    """Kill ``command`` at each of ``moments``, each time beginning where the last kill left it; then let it end.

    Args:
        moments: parts of its undisturbed duration, and whether the whole group is killed.
        anew: forget all that was done, when it ended before a kill.
    """
    late = 0
    for part, group in moments:
        while True:
            process = command.start()
            time.sleep(part * command.seconds / 2**late)
            if command.kill(process, group=group):
                break
            late += 1
            assert late <= TOO_LATE, "it always ends before it is killed"
            anew()
    command.finish()


def draw(rng: random.Random, number: int) -> list[tuple[float, bool]]:
    """Moments, by turns of the group and of the leader alone."""
    return [(rng.uniform(0.05, 0.9), at % 2 == 0) for at in range(number)]


@pytest.fixture
def commands() -> Iterator[list[Command]]:
    """Whose processes are ended with the test."""
    made: list[Command] = []
    yield made
    for command in made:
        command.end()


def assert_nothing_runs(command: Command, patience: float = 20.0) -> None:
    until = time.monotonic() + patience
    while (left := command.left()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left


# -- trainings ---------------------------------------------------------------------------------------------------------

STAGE = MarginTraining(
    corpora=("miniworld-phrases",), validation="miniworld", limit=200, epochs=8, batch_size=20, checks_per_epoch=2,
    dropout=0.1, scramble=0.3, learning_rate=0.01,
)  # fmt: skip
SECOND = STAGE.model_copy(update={"corpora": ("miniworld-sentences",), "epochs": 4})
TRAIN = """
import sys
from sentbook.training import loop, recipes
from sentbook.training.recipes import Recipe
loop.CHECKPOINT_SECONDS = float(sys.argv[1])
recipes.obtain([Recipe.model_validate_json(one) for one in sys.argv[3:]], device="cpu", jobs=int(sys.argv[2]))
"""


def recipe(seed: int = 1, *stages: MarginTraining) -> Recipe:
    return Recipe(
        method="CSE", seed=seed, vectors=Vectors(name="miniworld"), encoder=CSEEncoder(filters=30),
        stages=stages or (STAGE,), suite="miniworld",
    )  # fmt: skip


def training_of(folder: Path, wanted: Sequence[Recipe], *, seconds: float, jobs: int = 1) -> Command:
    """Checkpoints are at least so many seconds apart."""
    folder.mkdir()
    artifacts = folder / "artifacts"
    arguments = [sys.executable, "-c", TRAIN, str(seconds), str(jobs), *(one.model_dump_json() for one in wanted)]
    return Command(
        arguments, folder, {"SENTBOOK_ARTIFACTS": str(artifacts), "OMP_NUM_THREADS": "1"}, sign=artifacts.is_dir
    )


def encoders(artifacts: Path) -> dict[str, tuple[dict[str, torch.Tensor], dict[str, Any]]]:
    return {
        file.parent.name: checkpoint.load(file, file.parent.name) for file in artifacts.glob("*/encoder.safetensors")
    }


def assert_same_encoders(one: Path, other: Path) -> None:
    found, expected = encoders(one), encoders(other)
    assert found.keys() == expected.keys() and found
    for key, (tensors, metadata) in expected.items():
        assert tensors.keys() == found[key][0].keys()
        for name, value in tensors.items():
            assert torch.equal(found[key][0][name], value), (key, name)
        for name in ("curve", "best", "best_step", "examples"):
            assert found[key][1]["history"][name] == metadata["history"][name]


def half_files(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.endswith((".tmp", ".part"))]


def kill_trainings(
    tmp_path: Path, commands: list[Command], wanted: Sequence[Recipe], *, kills: int, seed: int, jobs: int = 1
) -> None:
    whole = training_of(tmp_path / "whole", wanted, seconds=60)
    broken = training_of(tmp_path / "broken", wanted, seconds=0.05, jobs=jobs)
    commands += [whole, broken]
    whole.finish()
    broken.seconds = whole.seconds
    artifacts = broken.folder / "artifacts"
    killed(broken, draw(random.Random(seed), kills), anew=lambda: shutil.rmtree(artifacts))
    assert_same_encoders(artifacts, whole.folder / "artifacts")
    assert not half_files(artifacts)
    assert not list(artifacts.glob("*/checkpoint.safetensors"))


def kill_while_saving(tmp_path: Path, commands: list[Command], undisturbed: Path, *, kills: int, seed: int) -> None:
    """A checkpoint after each step; killed as soon as the n-th half file is seen, n drawn.

    Args:
        undisturbed: artifacts of the same training.
    """
    broken = training_of(tmp_path / "saving", [recipe()], seconds=-1.0)
    commands.append(broken)
    artifacts, rng, caught = broken.folder / "artifacts", random.Random(seed), 0
    for _ in range(kills):
        process, wanted, seen, present = broken.start(), rng.randint(1, 6), 0, False
        while seen < wanted and process.poll() is None:
            before, present = present, any(artifacts.glob("*/.checkpoint.*.tmp"))
            seen += present and not before
        assert broken.kill(process, group=True), "it ended before it was killed"
        caught += bool(half_files(artifacts))
        for file in artifacts.glob("*/checkpoint.safetensors"):
            checkpoint.load(file, file.parent.name)  # whole
    assert caught, "no kill came while a file was written"
    broken.finish()
    assert_same_encoders(artifacts, undisturbed)
    assert not half_files(artifacts)


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


class Slow(BaseHTTPRequestHandler):
    """Sends a file in two seconds."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(BYTES)))
        self.end_headers()
        try:
            for at in range(0, len(BYTES), len(BYTES) // 40):
                self.wfile.write(BYTES[at : at + len(BYTES) // 40])
                time.sleep(0.05)
        except OSError:  # the reader was killed
            return

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def kill_downloads(tmp_path: Path, commands: list[Command], *, kills: int, seed: int) -> None:
    folder = tmp_path / "download"
    folder.mkdir()
    place = folder / "cache" / "eval"
    file = place / "slow.bin"
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/slow.bin"
            digest = hashlib.sha256(BYTES).hexdigest()
            command = Command(
                [sys.executable, "-c", FETCH, url, digest, str(len(BYTES))], folder,
                {"SENTBOOK_CACHE": str(folder / "cache"), "SENTBOOK_DATA": "", "NO_PROXY": "127.0.0.1"},
                sign=lambda: any(place.glob(".slow.bin.*")), seconds=2.0,
            )  # fmt: skip
            commands.append(command)
            for part, group in draw(random.Random(seed), kills):
                process = command.start()
                time.sleep(0.8 * part * command.seconds)
                assert command.kill(process, group=group)
                assert half_files(place) and not file.exists()
            command.finish()
        finally:
            server.shutdown()
            thread.join()
    assert file.read_bytes() == BYTES
    assert [path.name for path in place.iterdir()] == ["slow.bin"]


# -- notebooks and the batch -------------------------------------------------------------------------------------------


def checkout(folder: Path) -> Path:
    """What a run needs of this checkout, with nothing that was made."""
    folder.mkdir()
    for name in ("lib", "params", "notebooks", "workflow"):
        unneeded = shutil.ignore_patterns("__pycache__", "*.egg-info", ".ipynb_checkpoints")
        shutil.copytree(ROOT / name, folder / name, ignore=unneeded)
    for name in ("_toc.yml", "_config.yml", "Snakefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def sentbook(folder: Path, *arguments: str) -> Command:
    environment = {
        "SENTBOOK_ROOT": str(folder), "SENTBOOK_ARTIFACTS": "", "SENTBOOK_CACHE": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    return Command([sys.executable, "-m", "sentbook.cli", *arguments], folder, environment)


def forget(folder: Path) -> None:
    """All that a command made."""
    for name in ("build", "results", "cache"):
        shutil.rmtree(folder / name, ignore_errors=True)


def numbers(folder: Path) -> dict[str, dict[str, Any]]:
    """What was recorded, without what a clock or this machine decides."""
    found = {}
    for file in sorted(set((folder / "results").rglob("*.json")) - set((folder / "results").glob("*/verdicts.json"))):
        run = json.loads(file.read_text())
        found[file.stem] = {name: run[name] for name in ("metrics", "tests", "claims", "curves")}
    return found


def assert_same_runs(one: Path, other: Path, names: Sequence[str]) -> None:
    found, expected = numbers(one), numbers(other)
    assert sorted(expected) == sorted(name.split("/")[1] for name in names)
    assert all(run["metrics"] for run in expected.values())
    assert found == expected
    assert_same_encoders(one / "build" / "artifacts", other / "build" / "artifacts")


def assert_tidy(folder: Path) -> None:
    """No half file, no partial notebook: of what was killed nothing is left."""
    executed = folder / "build" / "executed"
    assert not [path for path in executed.rglob("*") if path.name.startswith(".") or ".failed" in path.name]
    assert not half_files(folder / "build") + half_files(folder / "results")


# -- the tests ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_four_kills(tmp_path: Path, commands: list[Command]) -> None:
    """The short form of what follows."""
    kill_trainings(tmp_path, commands, [recipe()], kills=1, seed=1)
    kill_while_saving(tmp_path, commands, tmp_path / "whole" / "artifacts", kills=1, seed=2)
    kill_downloads(tmp_path, commands, kills=2, seed=3)


@pytest.mark.long
def test_seven_kills_of_trainings_side_by_side_and_while_saving(tmp_path: Path, commands: list[Command]) -> None:
    """Workers of a killed leader go on beside the next attempt."""
    wanted = [recipe(1, STAGE, SECOND), *map(recipe, (1, 2, 3))]
    kill_trainings(tmp_path, commands, wanted, kills=4, seed=5, jobs=2)
    for file in set((tmp_path / "whole" / "artifacts").iterdir()) - {tmp_path / "whole" / "artifacts" / recipe().key()}:
        shutil.rmtree(file)
    kill_while_saving(tmp_path, commands, tmp_path / "whole" / "artifacts", kills=3, seed=6)


@pytest.mark.long
def test_four_kills_of_the_batch(tmp_path: Path, commands: list[Command]) -> None:
    names = ("wsv/figure6", "wsv/figure7")
    whole, broken = (
        sentbook(checkout(tmp_path / folder), "batch", *names, "--jobs", "2") for folder in ("whole", "broken")
    )
    commands += [whole, broken]
    whole.finish()
    broken.seconds = whole.seconds
    killed(broken, draw(random.Random(9), 4), anew=lambda: forget(broken.folder))
    assert_same_runs(broken.folder, whole.folder, names)
    assert_nothing_runs(broken)
    assert_tidy(broken.folder)
