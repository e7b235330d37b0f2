"""The command line: every mistake is one line on standard error and a non-zero exit, and nothing else breaks."""

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sentbook import cli, config
from sentbook.records import Run
from sentbook.report import book
from sentbook.runs import batch, execute, leakage

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def sentbook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """`sentbook ...` in this process, as the console script calls it."""

    def call(*arguments: object, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "argv", ["sentbook", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()  # what the fixtures printed
        code: Any = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return Answer(code or 0, captured.out, captured.err)

    return call


def assert_sentence(answer: Answer, code: int, *parts: str) -> None:
    assert answer.code == code, answer
    assert answer.err.startswith("sentbook: ")
    assert answer.err.count("\n") == 1
    assert answer.err.endswith((".\n", "?\n"))
    assert "Traceback" not in answer.err + answer.out
    for part in parts:
        assert part in answer.err


# -- run ---------------------------------------------------------------------------------------------------------------

FAULTS: list[tuple[list[str], list[str]]] = [
    (["cse/tabel1"], ["There is no notebook 'cse/tabel1'; choose one of", "cse/table1", "cse/ambiguities"]),
    (["cse"], ["There is no notebook 'cse'", "cse/table1"]),
    (["cse/../wsv/table2"], ["There is no notebook 'cse/../wsv/table2'", "wsv/table2"]),
    (["cse/table1", "--set", "sentence.margn=0.4"], ["Unknown parameter 'sentence.margn'", "did you mean 'margin'?"]),
    (["cse/table1", "--set", "sede=[1]"], ["Unknown parameter 'sede'", "did you mean 'seeds'?"]),
    (["cse/table1", "--set", "margin"], ["'margin' is not name=value; write for example --set sentence.margin=0.4."]),
    (["cse/table1", "--set", "=0.4"], ["'=0.4' is not name=value"]),
    (["cse/table1", "--set", "sentence.margin=big"], ["Parameter 'sentence.margin'", "'big'"]),
    (["cse/table1", "--set", "sentence.margin=3"], ["Parameter 'sentence.margin'", "less than or equal to 2"]),
    (["cse/table1", "--set", "sentence.margin=.nan"], ["Parameter 'sentence.margin'"]),
    (["cse/table1", "--set", "sentence=3"], ["Parameter 'sentence'"]),
    (["cse/table1", "--set", "sentence=3", "--set", "sentence.margin=0.4"], ["'sentence.margin=0.4'", "drop one"]),
    (["cse/table1", "--set", "seeds=[1"], ["'[1' in 'seeds=[1' is not valid YAML"]),
    (["cse/table1", "--set", f"seeds={'[' * 40_000}{']' * 40_000}"], [f"'{'[' * 77}...' in 'seeds=[[[", "YAML"]),
    (["cse/table1", "--set", f"sentence.margin={'9' * 90}e"], [f"(got '{'9' * 76}...)."]),
    (["cse/table1", "--set", "seeds=[1, 1]"], ["holds a seed twice"]),
    (["cse/table1", "--profile", "large"], ["There is no profile 'large'; choose one of demo, small, paper."]),
    (["cse/table1", "--set", "profile=small"], ["The profile is no parameter of --set", "--profile small"]),
    (["cse/table1", "--set", "vectors={name: file, path: /none}"], ["The vectors file /none does not exist; set vect"]),
    (["cse/table1", "--set", "seeds=[no, yes]"], ["Parameter 'seeds'", "true and false"]),
]


@pytest.mark.parametrize(("arguments", "parts"), FAULTS)
def test_run_says_what_is_wrong_before_a_kernel_starts(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, arguments: list[str], parts: list[str]
) -> None:
    monkeypatch.setattr(execute, "run", lambda *given: pytest.fail("a notebook was run"))
    assert_sentence(sentbook("run", *arguments), 3 if "/none" in parts[0] else 2, *parts)


@pytest.mark.parametrize("name", ["cse/table1", "cse/table1.ipynb", "notebooks/cse/table1.ipynb"])
def test_run_hands_the_notebook_its_parameters(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    calls: list[tuple[Path, str, dict[str, Any]]] = []
    monkeypatch.setattr(execute, "run", lambda *given: calls.append(given) or "custom")
    monkeypatch.setenv("SENTBOOK_DATA", "../data")  # kernels work in another folder
    monkeypatch.setattr(book, "write_page", lambda source, kind: Path(f"{kind}.html"))
    changes = ["seeds=[1, 2]", "sentence.margin=0.4", "sentence.learning_rate=1e-3", "vectors={name: miniworld}"]
    answer = sentbook("run", name, "--profile", "small", *(part for change in changes for part in ("--set", change)))
    assert (answer.code, answer.out, answer.err) == (0, "page: custom.html\n", "")
    [(source, profile, parameters)] = calls
    assert os.environ["SENTBOOK_DATA"] == f"{Path.cwd()}/../data"
    assert source.is_file()
    assert (source.parent.name, source.name, profile) == ("cse", "table1.ipynb", "small")
    assert parameters == {
        "profile": "small", "seeds": [1, 2], "sentence": {"margin": 0.4, "learning_rate": "1e-3"},
        "vectors": {"name": "miniworld"},
    }  # fmt: skip
    assert config.load("cse", parameters).sentence.learning_rate == 1e-3  # YAML 1.1 has it a string


# -- the rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["verdicts"], ["prepare", "data", "cse"], ["batch"], ["book"]])
@pytest.mark.parametrize("profile", ["smal", "../.."])
def test_a_misspelt_profile_writes_nothing(sentbook: Callable[..., Answer], command: list[str], profile: str) -> None:
    answer = sentbook(*command, "--profile", profile)
    assert_sentence(answer, 2, f"There is no profile '{profile}'; choose one of demo, small, paper.")


def test_a_misspelt_encoder_writes_nothing(sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "recorded", lambda *given: pytest.fail("a state was written"))
    assert_sentence(sentbook("prepare", "vectors", "../x"), 2, "Unknown sentence encoder '../x'")


@pytest.mark.parametrize("command", [["list"], ["check", "eval/sick2014"]])
def test_a_mirror_that_is_no_folder(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path / "nowhere"))
    assert_sentence(sentbook("data", *command), 3, "nowhere, which is no folder; correct it or unset it.")


@pytest.mark.parametrize("record", [False, True])
def test_an_overlap_is_recorded_where_that_is_asked_for(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, checkout: Path, record: bool
) -> None:
    known = Run.model_validate_json((ROOT / "results" / "small" / "data" / "overlap.json").read_bytes())
    monkeypatch.setattr(leakage, "measured", lambda: known)
    answer = sentbook("data", "overlap", *["--record"] * record)
    assert answer.code == 0 and answer.out.count("\n") == len(known.extra["overlap"]) > 0
    assert [path.name for path in (checkout / "results").rglob("*.json")] == ["overlap.json"] * record


def test_help_and_unknown_commands(sentbook: Callable[..., Answer]) -> None:
    for command in ("run", "book", "data", "encode", "export"):
        answer = sentbook(command, "--help")
        assert answer.code == 0 and command in answer.out
    assert sentbook("nope").code == 2
    assert sentbook("encode").code == 2
