"""``sentbook data``: list, fetch and check on a made-up registry."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sentbook import cli
from sentbook.data import sources
from sentbook.system.errors import DataError

CONTENT = {"eval/one/a.txt": b"alpha", "eval/one/b.txt": b"beta", "vectors/c.npy": b"gamma"}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A mirror and a cache, both empty; a.txt and b.txt have an address, c.npy has none."""
    mirror, cache = tmp_path / "mirror", tmp_path / "cache"
    mirror.mkdir()
    monkeypatch.setenv("SENTBOOK_DATA", str(mirror))
    monkeypatch.setenv("SENTBOOK_CACHE", str(cache))
    table = {
        name: {
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
            "licence": f"[bold]licence[/bold] of {name}",  # text is never markup
            "url": None if name.startswith("vectors") else f"http://host.invalid/{name}",
        }
        for name, content in CONTENT.items()
    }
    monkeypatch.setattr(sources, "registry", lambda: table)

    monkeypatch.setattr(
        sources, "_transfer", lambda url, target: target.write_bytes(CONTENT[url.removeprefix("http://host.invalid/")])
    )
    return mirror, cache


def put(folder: Path, name: str, content: bytes | None = None) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(CONTENT[name] if content is None else content)
    return file


def call(*words: str) -> Result:
    return CliRunner().invoke(cli.app, ["data", *words])


def test_list_says_where_each_file_is(folders: tuple[Path, Path]) -> None:
    put(folders[0], "eval/one/a.txt")
    shown = call("list").output
    lines = {name: next(line for line in shown.splitlines() if name in line) for name in CONTENT}
    assert " mirror " in lines["eval/one/a.txt"] and "[bold]licence[/bold]" in lines["eval/one/a.txt"]
    assert "to download" in lines["eval/one/b.txt"] and "only from a mirror" in lines["vectors/c.npy"]
    assert "3 files" in shown
    put(folders[1], "eval/one/b.txt")
    assert " cache " in call("list", "eval/one/b.txt").output
    assert "vectors" not in call("list", "eval").output


def test_fetch_takes_what_is_missing(folders: tuple[Path, Path]) -> None:
    mirror, cache = folders
    put(mirror, "eval/one/a.txt")
    result = call("fetch")
    assert result.exit_code == 0
    assert "1 files fetched" in result.output and "1 files can be had only from a mirror" in result.output
    assert [file.name for file in cache.rglob("*.*") if file.is_file()] == ["b.txt"]
    assert "Nothing left to download" in call("fetch", "eval").output


def test_fetch_takes_large_files_only_by_name(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "LARGE", 4)  # bytes
    result = call("fetch")
    assert result.exit_code == 0
    assert "Not fetched for their size" in result.output and "eval/one/a.txt" in result.output
    assert not (folders[1] / "eval/one/a.txt").exists()
    assert call("fetch", "eval/one/a.txt").exit_code == 0
    assert (folders[1] / "eval/one/a.txt").exists()


def test_fetch_replaces_a_damaged_file_of_the_cache(folders: tuple[Path, Path]) -> None:
    file = put(folders[1], "eval/one/a.txt", b"alp")
    assert call("fetch", "eval/one/a.txt").exit_code == 0
    assert file.read_bytes() == b"alpha"


def test_fetch_does_not_touch_the_mirror(folders: tuple[Path, Path]) -> None:
    file = put(folders[0], "eval/one/a.txt", b"alp")
    error = call("fetch").exception
    assert isinstance(error, DataError) and f"delete {file}" in str(error)
    assert file.read_bytes() == b"alp"


def test_fetch_of_a_file_without_an_address_is_an_error_by_name(folders: tuple[Path, Path]) -> None:
    error = call("fetch", "vectors/c.npy").exception
    assert isinstance(error, DataError) and "only from a mirror" in str(error)


def test_check_passes_and_fails(folders: tuple[Path, Path]) -> None:
    mirror, cache = folders
    put(mirror, "eval/one/a.txt")
    good = call("check")
    assert good.exit_code == 0 and "1 files are as registered, 2 are not here" in good.output
    put(cache, "eval/one/b.txt", b"<html>")
    put(mirror, "vectors/c.npy", b"gam")
    bad = call("check")
    assert bad.exit_code != 0
    assert isinstance(bad.exception, DataError) and "2 of 3 files are wrong" in str(bad.exception)
    assert "HTML page" in bad.output and "truncated (3 of 5 bytes)" in bad.output


def test_unknown_name(folders: tuple[Path, Path]) -> None:
    for command in ("list", "fetch", "check"):
        error = call(command, "eval/two").exception
        assert isinstance(error, DataError) and "neither a registered file nor a folder" in str(error)
