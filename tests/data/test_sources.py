"""From a name to a verified file: look-up order, downloads from a server on this machine, and each way to fail."""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from sentbook import cli
from sentbook.data import sources
from sentbook.io import DataError

NAME = "eval/made up/pairs.txt"
GOOD = b"one\ttwo\n" * 40


@dataclass
class Answer:
    """What the server says to every request."""

    body: bytes = GOOD
    status: int = 200
    requested: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Response:
        self.requested.append(request.path)
        return Response(self.body, self.status)


@pytest.fixture
def server(httpserver: HTTPServer) -> Iterator[Answer]:
    """A server on this machine; sockets that pooch leaves open after a fault are closed with it."""
    answer = Answer()
    httpserver.expect_request(re.compile("")).respond_with_handler(answer)
    yield answer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def entry(
    httpserver: HTTPServer, server: Answer, cache: Path, forgetful: None, monkeypatch: pytest.MonkeyPatch
) -> dict:
    """A registry of one file, an empty cache, no mirror, no proxy."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, httpserver.host)
    monkeypatch.delenv("SENTBOOK_DATA", raising=False)
    made = {
        "sha256": hashlib.sha256(GOOD).hexdigest(),
        "bytes": len(GOOD),
        "licence": "[bold]none[/bold]",  # text is never markup
        "paper": "",
        "source": "copy",
        "url": httpserver.url_for("/made%20up/pairs.txt"),
    }
    monkeypatch.setattr(sources, "registry", lambda: {NAME: made})
    return made


def put(folder: Path, content: bytes) -> Path:
    file = folder / NAME
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


@pytest.fixture
def in_mirror(entry: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path / "mirror"))
    return put(tmp_path / "mirror", GOOD)


def refused(said: str, name: str = NAME) -> str:
    with pytest.raises(DataError, match=said) as error:
        sources.path(name)
    message = str(error.value)
    assert "\n" not in message and message.endswith(".")
    return message


def left_over(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def test_mirror_then_cache_then_one_download(
    in_mirror: Path, entry: dict, server: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = put(tmp_path / "cache", GOOD)
    assert sources.used() == {} and sources.path(NAME) == in_mirror
    assert sources.used() == {NAME: entry["sha256"]} == {NAME: sources.sha256(NAME)}
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path / "elsewhere"))
    refused("SENTBOOK_DATA is .*elsewhere, where no folder is")
    monkeypatch.delenv("SENTBOOK_DATA")
    assert sources.path(NAME) == cached and server.requested == []
    cached.unlink()
    assert sources.path(NAME) == sources.path(NAME) == cached and cached.read_bytes() == GOOD
    assert server.requested == ["/made up/pairs.txt"] and left_over(tmp_path / "cache") == [cached]


def test_a_changed_file_of_a_mirror_is_refused(in_mirror: Path) -> None:
    sources.path(NAME)
    in_mirror.write_bytes(b"x" * len(GOOD) + b"longer")
    refused(f"{in_mirror} is not the registered {NAME}; copy it again from a whole mirror")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_the_network_does(entry: dict, server: Answer, tmp_path: Path) -> None:
    for server.body in (b"<html>404</html>", GOOD[:100], GOOD.replace(b"one", b"eno")):
        assert f"`sentbook data fetch {NAME}`" in refused("does not match the known hash")
    server.status = 404
    refused("404")
    entry["url"] = "http://127.0.0.1:9/pairs.txt"  # the discard port: nothing listens
    assert "SENTBOOK_DATA" in refused("could not be fetched")
    entry["url"] = None
    refused("only from a mirror; set SENTBOOK_DATA")
    assert left_over(tmp_path) == []


def test_registry_is_pinned() -> None:
    table = sources.registry()
    pinned = re.compile(r"https://raw\.githubusercontent\.com/[^/ ]+/[^/ ]+/[0-9a-f]{40}/\S+")
    for name, entry in table.items():
        assert re.fullmatch(r"[0-9a-f]{64}", entry["sha256"]), name
        assert entry["bytes"] > 0 and entry["licence"] and entry["paper"] and entry["source"], name
        assert entry["url"] is None or pinned.fullmatch(entry["url"]), name
        assert (entry["url"] is None) == entry["source"].startswith("only from a mirror"), name


@pytest.mark.real_data
def test_the_mirror_holds_what_the_registry_says(mirror: Path) -> None:
    for name in sources.registry():
        assert sources.path(name) == mirror / name
    tool = Path(__file__).parents[2] / "tools" / "make_registry.py"
    spec = importlib.util.spec_from_file_location("make_registry", tool)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.entries(mirror) == sources.registry()


def call(*words: str) -> Result:
    return CliRunner().invoke(cli.sentbook, ["data", *words])


def test_list_and_fetch(in_mirror: Path, entry: dict, server: Answer, tmp_path: Path) -> None:
    assert str(in_mirror) in call("list").output and server.requested == []
    assert f"  {in_mirror}  [bold]none[/bold]\n" in call("fetch").output
    in_mirror.unlink()
    assert "to download" in call("list").output and call("fetch", "eval").exit_code == 0
    put(tmp_path / "cache", b"alp")
    assert call("fetch", NAME).exit_code == 0 and (tmp_path / "cache" / NAME).read_bytes() == GOOD
    (tmp_path / "cache" / NAME).unlink()
    entry["url"] = None
    assert "only from a mirror" in call("fetch").output


def test_a_file_that_cannot_be_fetched_stops_no_other(
    entry: dict, server: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "eval/other/pairs.txt"
    monkeypatch.setattr(sources, "registry", lambda: {other: entry | {"url": None}, NAME: entry})
    found = call("fetch", other, NAME)
    assert found.exit_code == 1 and f"{other}  0.0 MB  {other} comes only from a mirror; set" in found.output
    assert (tmp_path / "cache" / NAME).read_bytes() == GOOD


@pytest.mark.parametrize("left", [0, 20])
def test_a_damaged_file_of_the_cache_is_named(cache: Path, left: int) -> None:
    sources.kept("rows", lambda: {"rows": np.arange(3)})
    [file] = sources.cache_folder().rglob("rows.npy")
    file.write_bytes(file.read_bytes()[:left])
    with pytest.raises(DataError, match=r"rows is damaged \(.*\); delete this folder, then run again\."):
        sources.kept("rows", lambda: pytest.fail("made again"))
