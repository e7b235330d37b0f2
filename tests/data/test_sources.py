"""From a name to a verified file: look-up order, downloads from a server on this machine, and each way to fail."""

from __future__ import annotations

import errno
import hashlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sentbook.data import sources
from sentbook.system.errors import DataError, StorageError

NAME = "eval/made up/pairs.txt"
GOOD = b"one\ttwo\n" * 40


class Server(ThreadingHTTPServer):
    """Answers every request with ``body``, and claims ``length`` bytes."""

    daemon_threads = True
    body: bytes = GOOD
    length: int | None = None
    status: int = 200
    requested: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requested.append(self.path)
        self.send_response(self.server.status)
        length = len(self.server.body) if self.server.length is None else self.server.length
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.requested = []
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def entry(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """A registry of one file, an empty cache, no mirror, no proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("SENTBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SENTBOOK_DATA", raising=False)
    made = {
        "sha256": hashlib.sha256(GOOD).hexdigest(),
        "bytes": len(GOOD),
        "licence": "none",
        "paper": "",
        "source": "copy",
        "url": f"http://127.0.0.1:{server.server_port}/made%20up/pairs.txt",
    }
    monkeypatch.setattr(sources, "registry", lambda: {NAME: made})
    monkeypatch.setattr(sources, "_used", {})
    return made


@pytest.fixture
def in_mirror(entry: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "mirror" / NAME
    file.parent.mkdir(parents=True)
    file.write_bytes(GOOD)
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path / "mirror"))
    return file


def put(folder: Path, content: bytes) -> Path:
    file = folder / NAME
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def left_over(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def one_sentence(error: pytest.ExceptionInfo[Exception]) -> str:
    message = str(error.value)
    assert "\n" not in message and message.endswith(".")
    return message


# -- look-up order ----------------------------------------------------------------------------------------------------


def test_mirror_comes_first(in_mirror: Path, server: Server, tmp_path: Path) -> None:
    put(tmp_path / "cache", GOOD)
    assert sources.path(NAME) == in_mirror
    assert server.requested == []


def test_then_the_cache(entry: dict, server: Server, tmp_path: Path) -> None:
    file = put(tmp_path / "cache", GOOD)
    assert sources.path(NAME) == file
    assert server.requested == []


def test_then_a_download_once(entry: dict, server: Server, tmp_path: Path) -> None:
    file = sources.path(NAME)
    assert file == tmp_path / "cache" / NAME and file.read_bytes() == GOOD
    assert sources.path(NAME) == file
    assert server.requested == ["/made%20up/pairs.txt"]
    assert left_over(tmp_path / "cache") == [file]


def test_used_files_are_remembered_with_their_digests(in_mirror: Path, entry: dict) -> None:
    assert sources.used() == {}
    sources.path(NAME)
    assert sources.used() == {NAME: entry["sha256"]}
    assert sources.sha256(NAME) == entry["sha256"]


@pytest.fixture
def by_md5(entry: dict) -> dict:
    """The same file, of a publisher who gives its MD5 alone."""
    del entry["sha256"]
    entry["md5"] = hashlib.md5(GOOD, usedforsecurity=False).hexdigest()
    return entry


def test_a_file_known_by_its_md5(by_md5: dict, tmp_path: Path) -> None:
    assert sources.path(NAME).read_bytes() == GOOD
    assert sources.sha256(NAME) == f"md5:{by_md5['md5']}"
    assert sources.used() == {NAME: f"md5:{by_md5['md5']}"}
    put(tmp_path / "cache", GOOD.replace(b"one", b"eno"))
    with pytest.raises(DataError, match="MD5 differs") as error:
        sources.path(NAME)
    one_sentence(error)


def test_a_bad_download_of_a_file_known_by_its_md5(by_md5: dict, server: Server, tmp_path: Path) -> None:
    server.body = GOOD.replace(b"one", b"eno")
    with pytest.raises(DataError, match="MD5 differs"):
        sources.path(NAME)
    assert left_over(tmp_path) == []


def test_a_changed_file_is_verified_again(in_mirror: Path) -> None:
    sources.path(NAME)
    in_mirror.write_bytes(b"x" * len(GOOD) + b"longer")
    with pytest.raises(DataError, match="SHA-256 differs"):
        sources.path(NAME)


# -- faults -----------------------------------------------------------------------------------------------------------

PAGE = b"\n<!DOCTYPE html><title>404</title>" + b" " * 1000
FAULTS = [
    (PAGE, "HTML page in place of data"),
    (GOOD[:100], r"truncated \(100 of 320 bytes\)"),
    (GOOD.replace(b"one", b"eno"), "SHA-256 differs"),
]


@pytest.mark.parametrize(("content", "said"), FAULTS)
def test_a_bad_download_is_named_and_not_kept(
    entry: dict, server: Server, tmp_path: Path, content: bytes, said: str
) -> None:
    server.body = content
    with pytest.raises(DataError, match=said) as error:
        sources.path(NAME)
    assert f"`sentbook data fetch {NAME}`" in one_sentence(error)
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(("content", "said"), FAULTS)
def test_a_bad_file_in_the_cache(entry: dict, tmp_path: Path, content: bytes, said: str) -> None:
    put(tmp_path / "cache", content)
    with pytest.raises(DataError, match=said) as error:
        sources.path(NAME)
    assert one_sentence(error).endswith(f"; run `sentbook data fetch {NAME}`.")


@pytest.mark.parametrize(("content", "said"), FAULTS)
def test_a_bad_file_in_the_mirror(in_mirror: Path, content: bytes, said: str) -> None:
    in_mirror.write_bytes(content)
    with pytest.raises(DataError, match=said) as error:
        sources.path(NAME)
    assert f"delete {in_mirror} and run `sentbook data fetch {NAME}`." in one_sentence(error)


def test_a_bad_file_without_an_address_is_copied_again(in_mirror: Path, entry: dict) -> None:
    entry["url"] = None
    in_mirror.write_bytes(GOOD[:7])
    with pytest.raises(DataError, match=re.escape(f"copy it again from a whole mirror to {in_mirror}.")) as error:
        sources.path(NAME)
    one_sentence(error)


def test_a_connection_that_breaks_says_how_far_it_came(entry: dict, server: Server, tmp_path: Path) -> None:
    server.body, server.length = GOOD[:120], len(GOOD)
    with pytest.raises(DataError, match="truncated: the download stopped after 120 of 320 bytes") as error:
        sources.path(NAME)
    assert "sentbook data fetch" in one_sentence(error)
    assert left_over(tmp_path) == []


def test_an_error_of_the_server(entry: dict, server: Server, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(DataError, match="HTTP 404") as error:
        sources.path(NAME)
    one_sentence(error)
    assert left_over(tmp_path) == []


def test_no_network(entry: dict) -> None:
    entry["url"] = "http://127.0.0.1:9/pairs.txt"  # the discard port: nothing listens
    with pytest.raises(DataError, match="no connection") as error:
        sources.path(NAME)
    assert "SENTBOOK_DATA" in one_sentence(error)


def test_only_from_a_mirror(entry: dict) -> None:
    entry["url"] = None
    with pytest.raises(DataError, match="only from a mirror; set SENTBOOK_DATA") as error:
        sources.path(NAME)
    one_sentence(error)


def test_a_mirror_folder_that_is_not_there(entry: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"SENTBOOK_DATA names .*nowhere, which is no folder") as error:
        sources.path(NAME)
    one_sentence(error)


def test_an_unknown_file(entry: dict) -> None:
    with pytest.raises(DataError, match="not a registered file; see `sentbook data list`"):
        sources.path("eval/typo.txt")
    with pytest.raises(DataError, match="not a registered file"):
        sources.path("../../etc/passwd")


def test_a_cache_that_is_no_folder(entry: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SENTBOOK_CACHE", str(tmp_path / "file"))
    with pytest.raises(StorageError, match="could not be written") as error:
        sources.path(NAME)
    assert "SENTBOOK_CACHE" in one_sentence(error)


def test_no_space_keeps_what_was_there(entry: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = put(tmp_path / "cache", b"old")

    def full(url: str, target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sources, "_transfer", full)
    with pytest.raises(StorageError, match="No space left on device") as error:
        sources.download(NAME)
    one_sentence(error)
    assert left_over(tmp_path) == [old] and old.read_bytes() == b"old"


# -- the registry -----------------------------------------------------------------------------------------------------


def test_registry_is_pinned() -> None:
    table = sources.registry()
    assert len(table) > 200
    pinned = re.compile(
        r"https://raw\.githubusercontent\.com/[^/ ]+/[^/ ]+/[0-9a-f]{40}/\S+"
        r"|https://github\.com/piskvorky/gensim-data/releases/download/\S+"
    )
    for name, entry in table.items():
        assert ("sha256" in entry) != ("md5" in entry), name
        digest = entry.get("sha256") or entry["md5"]
        assert re.fullmatch(r"[0-9a-f]{64}" if "sha256" in entry else r"[0-9a-f]{32}", digest), name
        assert entry["bytes"] > 0, name
        assert entry["licence"] and entry["paper"] and entry["source"], name
        assert entry["url"] is None or pinned.fullmatch(entry["url"]), name
        assert (entry["url"] is None) == entry["source"].startswith("only from a mirror"), name


def test_conversions_have_no_address() -> None:
    table = sources.registry()
    assert all(entry["url"] is None for name, entry in table.items() if name.endswith((".tsv.gz", ".tsv.xz", ".npy")))
    assert table["eval/short-answer-grading/sag_v2_flat.tsv"]["url"] is None


def test_only_releases_that_no_mirror_holds_are_known_by_their_md5() -> None:
    found = {name: entry for name, entry in sources.registry().items() if "md5" in entry}
    assert set(found) == {f"vectors/glove-wiki-gigaword-{size}.gz" for size in (100, 200, 300)}
    assert all(entry["bytes"] > 1e8 for entry in found.values())


def test_select_by_folder_and_name() -> None:
    found = sources.select(["eval/sick2014/", "vectors/glove6b_50d.npy"])
    assert "eval/sick2014/SICK_train.txt" in found and found[-1] == "vectors/glove6b_50d.npy"
    assert sources.select([]) == list(sources.registry())
    with pytest.raises(DataError, match="neither a registered file nor a folder"):
        sources.select(["eval/sick"])


@pytest.mark.real_data
def test_every_registered_file_is_in_the_mirror(mirror: Path) -> None:
    for name, entry in sources.registry().items():
        assert "md5" in entry or sources.path(name) == mirror / name


@pytest.mark.real_data
def test_registry_is_what_the_manifests_say(mirror: Path) -> None:
    import importlib.util

    tool = Path(__file__).parents[2] / "tools" / "make_registry.py"
    spec = importlib.util.spec_from_file_location("make_registry", tool)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.entries(mirror) == sources.registry()
