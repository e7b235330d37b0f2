"""The command line: every mistake is one line on standard error and a non-zero exit, and nothing else breaks."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from sentbook import cli, config
from sentbook.data import sources
from sentbook.records import Run
from sentbook.report_old import book
from sentbook.runs import batch, execute, leakage
from stand_ins import put, put_books, put_vectors

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
    (["cse/table1", "--set", "vectors.path=own.txt"], ["Vectors have a path and the name 'miniworld'; --set their"]),
    (["cse/table1", "--set", "phrase={corpora: [file], path: /none}"], ["The file of pairs /none does not exist; let"]),
    (["cse/table1", "--set", "seeds=[no, yes]"], ["Parameter 'seeds'", "true and false"]),
]


@pytest.mark.parametrize(("arguments", "parts"), FAULTS)
def test_run_says_what_is_wrong_before_a_kernel_starts(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, arguments: list[str], parts: list[str]
) -> None:
    monkeypatch.setattr(execute, "run", lambda *given: pytest.fail("a notebook was run"))
    assert_sentence(sentbook("run", *arguments), 3 if "/none" in parts[0] else 2, *parts)


def test_a_notebook_that_is_cut_short_is_to_be_restored(sentbook: Callable[..., Answer], checkout: Path) -> None:
    file = checkout / "notebooks" / "toy" / "one.ipynb"
    whole = file.read_bytes()
    for left in (whole[:-9], whole[:300], b"", b"[1]", b"\xff"):
        file.write_bytes(left)
        answer = sentbook("run", "toy/one")
        assert_sentence(answer, 8, "one.ipynb is no whole notebook (", "`git checkout notebooks/toy/one.ipynb`.")


@pytest.mark.parametrize("name", ["cse/table1", "cse/table1.ipynb", "notebooks/cse/table1.ipynb"])
def test_run_hands_the_notebook_its_parameters(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    (tmp_path / "own").write_text("dog 1 2\n")
    monkeypatch.chdir(tmp_path)
    calls: list[tuple[Path, str, dict[str, Any]]] = []
    monkeypatch.setattr(execute, "run", lambda *given: calls.append(given) or "custom")
    monkeypatch.setenv("SENTBOOK_DATA", "../data")  # kernels work in another folder
    monkeypatch.setattr(book, "write_page", lambda source, kind: Path(f"{kind}.html"))
    changes = ["seeds=[1, 2]", "sentence.margin=0.4", "sentence.learning_rate=1e-3", "vectors={name: file, path: own}"]
    answer = sentbook("run", name, "--profile", "small", *(part for change in changes for part in ("--set", change)))
    assert (answer.code, answer.out, answer.err) == (0, "page: custom.html\n", "")
    [(source, profile, parameters)] = calls
    assert os.environ["SENTBOOK_DATA"] == f"{Path.cwd()}/../data"
    assert source.is_file()
    assert (source.parent.name, source.name, profile) == ("cse", "table1.ipynb", "small")
    assert parameters == {
        "profile": "small", "seeds": [1, 2], "sentence": {"margin": 0.4, "learning_rate": "1e-3"},
        "vectors": {"name": "file", "path": str(tmp_path / "own")},
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


@pytest.mark.parametrize(
    ("paper", "said"),
    [
        ("cse", "ppdb-1.0-xl-phrasal is not in {}; put it there"),
        ("cnn_lstm", "COCO's captions and features are not distributed with sentbook; put them into {}/coco"),
        ("wsv", "glove-6b-200d is not here and is large; put glove.6B.200d.txt into {}"),
        ("dnt", "snli_1.0_train.jsonl is not in {}; put it there"),
    ],
)
def test_the_data_of_the_paper_profile_are_missed_before_any_gpu_works(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, originals: Path, paper: str, said: str
) -> None:
    monkeypatch.setattr(batch, "recorded", lambda *given: nullcontext())
    monkeypatch.setattr(batch, "files_of", lambda *given: ["eval/short-answer-grading/sag_v2_flat.tsv"])
    assert_sentence(
        sentbook("prepare", "data", paper, "--profile", "paper"), 3, " is not here" if paper == "wsv" else " is not in "
    )
    put_vectors(originals, ["cat", "dog"])
    put_books(originals / "bookcorpus")
    (originals / "glove.6B" / "glove.6B.200d.txt").unlink()
    answer = sentbook("prepare", "data", paper, "--profile", "paper")
    assert_sentence(answer, 2 if paper == "cnn_lstm" else 3, said.format(originals))


HAD = ("paragram_300_sl999.txt", "GoogleNews-vectors-negative300.bin", "simple.aligned", "bookcorpus/books.txt")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cse/table1", "ppdb-1.0-xl-phrasal is not in {}; put it there"),
        ("cse/table5", "normal.aligned is not in {}; put it there"),
        ("cnn_lstm/table4", "COCO's captions and features are not distributed with sentbook; put them into {}/coco"),
        ("cnn_lstm/table1", ""),
        ("wsv/figure6", "glove-6b-300d is not here and is large; put glove.6B.300d.txt into {}"),
        ("wsv/table2", "glove-6b-300d is not here and is large"),
        ("dnt/width", "snli_1.0_train.jsonl is not in {}; put it there"),
        ("dnt/freezing", ""),
    ],
)
def test_run_misses_the_originals_that_its_notebook_lists_before_a_kernel_starts(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, originals: Path, name: str, said: str
) -> None:
    """Those alone, and what is there is not read; of vectors that it does not list, where it has none to begin with."""
    ran: list[Path] = []
    monkeypatch.setattr(execute, "run", lambda source, *given: ran.append(source) or "paper")
    monkeypatch.setattr(book, "write_page", lambda source, kind: Path(f"{kind}.html"))
    for file in HAD:
        put(originals / file, [])
    answer, code = sentbook("run", name, "--profile", "paper"), 2 if "COCO" in said else 3
    if said:
        assert_sentence(answer, code, said.format(originals))
    assert (answer.code == 0) == bool(ran) == (not said)
    for file in HAD[:2]:
        (originals / file).unlink()
    assert_sentence(sentbook("run", name, "--profile", "paper"), code)
    monkeypatch.setenv("SENTBOOK_ORIGINALS", "none")
    assert sentbook("run", name, "--profile", "paper").code == 0


@pytest.mark.real_data
@pytest.mark.parametrize("paper", ["cse", "cnn_lstm", "wsv", "dnt", "cross"])
def test_without_originals_the_paper_profile_reads_what_this_book_has(
    sentbook: Callable[..., Answer], mirror: Path, monkeypatch: pytest.MonkeyPatch, paper: str
) -> None:
    monkeypatch.setattr(batch, "recorded", lambda *given: nullcontext())
    monkeypatch.setenv("SENTBOOK_ORIGINALS", "none")
    answer = sentbook("prepare", "data", paper, "--profile", "paper")
    assert (answer.code, answer.err) == (0, "") and "as registered" in answer.out
    assert config.is_recorded(paper, config.load(paper, {"profile": "paper"}))


@pytest.mark.parametrize("command", [["list"], ["check", "eval/sick2014"]])
def test_a_mirror_that_is_no_folder(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path / "nowhere"))
    assert_sentence(sentbook("data", *command), 3, "nowhere, which is no folder; correct it or unset it.")


@pytest.mark.parametrize(
    "fault", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."),
              RuntimeError("Storage size calculation overflowed with sizes=[10, 9]")],
)  # fmt: skip
def test_what_fits_no_memory_is_one_sentence(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr(sources, "select", Mock(side_effect=fault))
    assert_sentence(sentbook("data", "list"), 5, "This does not fit in memory (", "set smaller sizes (batches, widths")
    monkeypatch.setattr(sources, "select", Mock(side_effect=RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        sentbook("data", "list")


@pytest.mark.parametrize("record", [False, True])
def test_an_overlap_is_recorded_where_that_is_asked_for(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, checkout: Path, record: bool
) -> None:
    known = Run.model_validate_json((ROOT / "results" / "small" / "data" / "overlap.json").read_bytes())
    monkeypatch.setattr(leakage, "measured", lambda: known)
    answer = sentbook("data", "overlap", *["--record"] * record)
    assert answer.code == 0 and answer.out.count("\n") == len(known.extra["overlap"]) > 0
    assert [path.name for path in (checkout / "results").rglob("*.json")] == ["overlap.json"] * record


def test_an_artifact_is_removed_by_its_key_and_no_other(sentbook: Callable[..., Answer], artifacts: Path) -> None:
    for key in ("one", "two", "three"):
        (artifacts / key).mkdir(parents=True)
    listed = sentbook("artifacts", "two", "three")
    assert (listed.code, listed.out.splitlines()[-1]) == (0, "2 found, 0.0 kB; 0 removed.") and "one" not in listed.out
    other = sentbook("artifacts", "two", "../two", "--remove")
    assert_sentence(other, 2, "There is no artifact '../two'; `sentbook art")
    assert {path.name for path in artifacts.iterdir()} == {"one", "two", "three"}
    assert sentbook("artifacts", "two", "--days", "1", "--remove").out == "0 found, 0.0 kB; 0 removed.\n"
    removed = sentbook("artifacts", "two", "--remove")
    assert removed.code == 0 and removed.out.startswith("two ")
    assert removed.out.endswith("1 found, 0.0 kB; 1 removed.\n")
    assert {path.name for path in artifacts.iterdir()} == {"one", "three"}


def test_help_and_unknown_commands(sentbook: Callable[..., Answer]) -> None:
    for command in ("run", "book", "data", "encode", "export"):
        answer = sentbook(command, "--help")
        assert answer.code == 0 and command in answer.out
    assert sentbook("nope").code == 2
    assert sentbook("encode").code == 2


@pytest.mark.parametrize("name", ["scores.zip", "SCORES.CSV.XZ"])
def test_packed_scores_are_not_read(name: str, sentbook: Callable[..., Answer]) -> None:
    assert_sentence(sentbook("protocols", name), 2, f"{name} is packed; unpack it, and give the CSV in it.")
