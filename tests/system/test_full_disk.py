"""A full disk, a limit on files, a read-only folder: one sentence, and all that was there before is as it was.

The disks are real where this user may mount some; elsewhere their tests are skipped, and the limit stands for them.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from nbformat import v4

from sentbook import records as results
from sentbook.data import novels, sources
from sentbook.data.text import Vocabulary
from sentbook.runs import execute
from sentbook.runs import ledger as store
from sentbook.system.errors import StorageError
from sentbook.training import checkpoint, recipes
from sentbook.training import loop as training
from sentbook.training.problems.paraphrase import ParaphraseProblem
from sentbook.training.store import outcomes
from trainings import PHRASE, recipe

ROOT = os.name == "posix" and os.geteuid() == 0
LIMIT = 64  # bytes a file


# -- places that stop taking files -------------------------------------------------------------------------------------


@dataclass
class Place:
    """A folder, and a way to make it refuse for as long as a block lasts."""

    folder: Path
    refusing: Callable[[], AbstractContextManager[None]]


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")


def unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def full_disk(folder: Path) -> Iterator[Place]:
    if not ROOT:
        pytest.skip("only root can mount a small disk")
    mount("-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder))

    @contextmanager
    def filled() -> Iterator[None]:
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        yield
        filler.unlink()

    try:
        yield Place(folder, filled)
    finally:
        unmount(folder)


@contextmanager
def read_only(folder: Path) -> Iterator[Place]:
    if ROOT:  # to whom mode bits are nothing
        mount("--bind", str(folder), str(folder))

    def allow(kind: str, bits: int) -> None:
        if ROOT:
            mount("-o", f"remount,bind,{kind}", str(folder))
            return
        for path in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
            path.chmod(bits)

    @contextmanager
    def locked() -> Iterator[None]:
        allow("ro", 0o500)
        try:
            yield
        finally:
            allow("rw", 0o700)

    try:
        yield Place(folder, locked)
    finally:
        if ROOT:
            unmount(folder)


@contextmanager
def limited(folder: Path) -> Iterator[Place]:
    @contextmanager
    def limit() -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    yield Place(folder, limit)


KINDS = {"full": full_disk, "read-only": read_only, "limit": limited}
SAID = {
    "full": "No space left on device",
    "read-only": "Read-only file system|Permission denied",
    "limit": "File too large",
}


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with KINDS[request.param](folder) as made:
        yield made


everywhere = pytest.mark.parametrize(("place", "said"), [(kind, SAID[kind]) for kind in KINDS], indirect=["place"])
on_disks = pytest.mark.parametrize(
    ("place", "said"), [(kind, SAID[kind]) for kind in ("full", "read-only")], indirect=["place"]
)


def assert_refused(place: Place, said: str, write: Callable[[], object]) -> None:
    """``write`` fails by one sentence, and no file in the place is another, gone or new."""
    before = contents(place.folder)
    with place.refusing(), pytest.raises(StorageError, match=said) as error:
        write()
    message = str(error.value)
    assert "\n" not in message and message.endswith(".") and "(None)" not in message
    assert contents(place.folder) == before


def contents(folder: Path) -> dict[Path, bytes]:
    """Without locks, which are empty."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.name.endswith("lock")}


# -- each kind of file -------------------------------------------------------------------------------------------------


@everywhere
def test_a_checkpoint(place: Place, said: str) -> None:
    file = place.folder / "deep" / "checkpoint.safetensors"
    checkpoint.save(file, {"a": torch.zeros(50)}, {"key": "k"})
    assert_refused(place, said, lambda: checkpoint.save(file, {"a": torch.ones(50_000)}, {"key": "k"}))
    assert torch.equal(checkpoint.load(file, "k")[0]["a"], torch.zeros(50))
    checkpoint.save(file, {"a": torch.ones(50)}, {"key": "k"})


def a_run(value: float) -> results.Run:
    about = results.Provenance(
        git_commit="unknown", config={}, config_hash="", python="", device="cpu", started="", wall_seconds=0.0,
        peak_memory_bytes=0, seeds=[1],
    )  # fmt: skip
    row = results.Metric(method="a", dataset="d", metric="m", protocol="p", seed=1, value=value, n=1)
    return results.Run(paper="toy", experiment="one", profile="demo", provenance=about, metrics=[row] * 200)


@everywhere
def test_a_recorded_run(place: Place, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "root", lambda: place.folder)
    store.write(a_run(0.25))
    assert_refused(place, said, lambda: store.write(a_run(0.75)))
    found = store.read("toy", "one", "demo")
    assert found is not None and found.metrics[0].value == 0.25


@everywhere
def test_a_download(place: Place, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = bytes(100_000)
    entry = {"sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body), "url": "http://127.0.0.1/x"}
    monkeypatch.setattr(sources, "registry", lambda: {"eval/x.txt": entry})
    fetch = lambda url, target, _: target.write(body)  # noqa: E731
    monkeypatch.setattr(sources.pooch, "HTTPDownloader", lambda **options: fetch)
    monkeypatch.setenv("SENTBOOK_CACHE", str(place.folder))
    monkeypatch.delenv("SENTBOOK_DATA", raising=False)
    old = place.folder / "eval" / "x.txt"
    old.parent.mkdir()
    old.write_bytes(b"old")
    assert_refused(place, said, lambda: sources.download("eval/x.txt"))
    assert sources.download("eval/x.txt").read_bytes() == body


@everywhere
def test_kept_outcomes(place: Place, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two, the first is kept and not made again."""
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(place.folder))
    made: list[int] = []

    def make(number: int) -> dict[str, np.ndarray]:
        made.append(number)
        return {"values": np.full(20_000, number)}

    def both(*numbers: int) -> list[dict[str, Any]]:
        return outcomes(make, [(one,) for one in numbers], [f"key{one}" for one in numbers])

    both(1)
    assert_refused(place, said, lambda: both(1, 2))
    assert [int(found["values"][0]) for found in both(1, 2)] == [1, 2]
    assert made.count(1) == 1


@everywhere
def test_books(place: Place, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_CACHE", str(place.folder))
    rows = [" ".join("abcdefghijkl"[(row * at) % 12] for at in range(12)) for row in range(2_000)]
    collection = novels.Collection("toy", "0", ("one", "two"), lambda book: rows, "lines")
    assert_refused(place, said, lambda: novels.prepare(collection))
    found = novels.prepare(collection)
    assert isinstance(found.vocabulary, Vocabulary)
    assert len(found.tokens.flat) == 2 * 2_000 * 12
    assert found.tokens.offsets.tolist() == list(range(0, 48_001, 12))


def a_notebook(folder: Path) -> Path:
    source = folder / "notebooks" / "toy" / "one.ipynb"
    source.parent.mkdir(parents=True)
    cell = v4.new_code_cell('profile = "demo"', metadata={"tags": ["parameters"]})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(v4.new_notebook(cells=[cell, v4.new_code_cell("1 + 1")], metadata={"kernelspec": kernel}), source)
    return source


@on_disks
def test_an_executed_notebook(place: Place, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = a_notebook(tmp_path)
    monkeypatch.setattr(execute, "root", lambda: place.folder)
    execute.execute(source, "demo", {"profile": "demo"})
    assert_refused(place, said, lambda: execute.execute(source, "demo", {"profile": "small"}))
    execute.execute(source, "demo", {"profile": "small"})
    assert "small" in execute.executed_path(source, "demo").read_text()


# -- trainings ---------------------------------------------------------------------------------------------------------

ONE, TWO = (recipe(PHRASE, seed=seed) for seed in (1, 2))


@on_disks  # a limit would hold for what pytest writes too
def test_a_training_goes_on_where_there_was_no_space(
    place: Place, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished encoder and an unfinished one's checkpoint stay; with space again the numbers are the usual ones."""
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "whole"))
    recipes.obtain([TWO], device="cpu")
    expected, _ = checkpoint.load(recipes.StageTraining(TWO).path, TWO.key())

    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(place.folder))
    recipes.obtain([ONE], device="cpu")
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -math.inf)
    loss, calls = ParaphraseProblem.loss, 0

    def failing(*given: Any) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise RuntimeError("power cut")
        return loss(*given)

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="power cut"):
        patch.setattr(ParaphraseProblem, "loss", failing)
        recipes.obtain([TWO], device="cpu")
    assert (place.folder / TWO.key() / "checkpoint.safetensors").is_file()
    assert_refused(place, said, lambda: recipes.obtain([ONE, TWO], device="cpu"))
    recipes.obtain([ONE, TWO], device="cpu")
    got, _ = checkpoint.load(recipes.StageTraining(TWO).path, TWO.key())
    assert all(torch.equal(got[name], value) for name, value in expected.items())


@on_disks
def test_a_folder_that_cannot_be_begun(place: Place, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the folder of a key nor its lock is there yet; on a full tmpfs both still can be made."""
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(place.folder))
    assert_refused(place, said, lambda: recipes.obtain([ONE], device="cpu"))


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["read-only"], indirect=True)
def test_the_command_line_says_it_in_one_line(place: Place) -> None:
    environment = {**os.environ, "SENTBOOK_ARTIFACTS": str(place.folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "sentbook.cli", "pretrain", "autoencoder", "--profile", "demo"]
    with place.refusing():
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == StorageError.exit_code
    assert done.stderr.startswith("sentbook: The folder ") and done.stderr.count("\n") == 1
    assert "SENTBOOK_ARTIFACTS" in done.stderr and "Traceback" not in done.stdout


@pytest.mark.parametrize("place", ["full"], indirect=True)
def test_standard_output_on_a_full_disk(place: Place) -> None:
    with (place.folder / "log").open("wb") as log, place.refusing():
        command = [sys.executable, "-m", "sentbook.cli", "data", "list"]
        done = subprocess.run(command, stdout=log, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == StorageError.exit_code
    assert done.stderr.startswith("sentbook: Standard output could not be written (No space left on device); free some")
    assert done.stderr.count("\n") == 1
