"""The command line: every mistake is one line on standard error and a non-zero exit, and nothing else breaks."""

import io
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sentbook import book, cli, config
from sentbook.config import CSEEncoder, MarginTraining, Vectors
from sentbook.encoders import encode
from sentbook.errors import ConfigError
from sentbook.recipes import Recipe, Trained, obtain

STAGE = MarginTraining(corpora=("miniworld-phrases",), validation="miniworld", limit=40, epochs=1, batch_size=20)


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


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trained:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    recipe = Recipe(
        method="CSE", seed=1, vectors=Vectors(name="miniworld"), encoder=CSEEncoder(filters=3), stages=(STAGE,),
        suite="miniworld",
    )  # fmt: skip
    return obtain([recipe], device="cpu")[0]


@pytest.fixture
def folder(model: Trained, tmp_path: Path) -> Path:
    return tmp_path / "artifacts" / model.recipe.key()


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
    (["cse/deeper/table1"], ["There is no notebook 'cse/deeper/table1'", "cse/table1"]),
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
    (["cse/table1", "--set", "seeds=[1, 1]"], ["holds a seed twice"]),
    (["cse/table1", "--profile", "large"], ["There is no profile 'large' of cse; choose one of demo, small, paper."]),
]


@pytest.mark.parametrize(("arguments", "parts"), FAULTS)
def test_run_says_what_is_wrong_before_a_kernel_starts(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, arguments: list[str], parts: list[str]
) -> None:
    monkeypatch.setattr(book, "run_one", lambda *given: pytest.fail("a notebook was run"))
    assert_sentence(sentbook("run", *arguments), 2, *parts)


@pytest.mark.parametrize("name", ["cse/table1", "cse/table1.ipynb", "notebooks/cse/table1.ipynb"])
def test_run_hands_the_notebook_its_parameters(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    calls: list[tuple[Path, str, dict[str, Any]]] = []
    monkeypatch.setattr(book, "run_one", lambda *given: calls.append(given) or Path("page.html"))
    changes = ["seeds=[1, 2]", "sentence.margin=0.4", "sentence.learning_rate=1e-3", "vectors={name: miniworld}"]
    answer = sentbook("run", name, "--profile", "small", *(part for change in changes for part in ("--set", change)))
    assert (answer.code, answer.out, answer.err) == (0, "page: page.html\n", "")
    [(source, profile, parameters)] = calls
    assert source.is_file()
    assert (source.parent.name, source.name, profile) == ("cse", "table1.ipynb", "small")
    assert parameters == {
        "profile": "small", "seeds": [1, 2], "sentence": {"margin": 0.4, "learning_rate": "1e-3"},
        "vectors": {"name": "miniworld"},
    }  # fmt: skip
    assert config.load("cse", parameters).sentence.learning_rate == 1e-3  # YAML 1.1 has it a string


def test_a_misspelt_parameter_as_a_user_sees_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sentbook.cli", "run", "cse/table1", "--set", "sentence.margn=0.4"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert_sentence(Answer(done.returncode, done.stdout, done.stderr), 2, "did you mean 'margin'?")
    assert done.stdout == ""


def test_a_parameter_that_papermill_injects_in_error_stops_the_first_cell() -> None:
    """papermill warns of a name that the parameters cell does not hold, and sets it; the notebook refuses it."""
    cell = {"profile": "demo", "seeds": None, "phrase": {}, "config": config, "_private": 3, "In": ["..."]}
    assert config.from_notebook("cse", cell).profile == "demo"
    for extra, sentence in ({"sede": [1]}, "did you mean 'seeds'"), ({"phrase": {"margn": 1}}, "did you mean 'margin'"):
        with pytest.raises(ConfigError, match=sentence):
            config.from_notebook("cse", cell | extra)


# -- encode ------------------------------------------------------------------------------------------------------------


def test_encode_writes_the_vectors_of_every_line(
    sentbook: Callable[..., Answer], model: Trained, folder: Path, tmp_path: Path
) -> None:
    lines = ["A woman sees the cook", "xyzzy plugh", "café ☕ <b>&amp;", " ".join(["the cook runs"] * 3_334)]
    text = "\n".join(lines).encode()
    for target in (folder, folder / "encoder.safetensors"):
        answer = sentbook("encode", target, tmp_path / "out.npy", stdin=text + b"\n")
        assert (answer.code, answer.err) == (0, "")
        assert answer.out.startswith("4 vectors of 9 numbers in")
        found = np.load(tmp_path / "out.npy", allow_pickle=False)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, encode(model.encoder(), model.vocabulary, lines))
    assert len(lines[-1].split()) > 10_000
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("stdin", "code", "part"),
    [
        (b"one cook\n\nanother\n", 3, "Sentence 2 is empty"),
        (b"one cook\nanother\n  \n", 3, "Sentence 3 is empty"),
        (b"", 2, "Standard input is empty; give one sentence a line."),
        (b"caf\xe9\n", 3, "Standard input is not UTF-8 text"),
    ],
)
def test_input_that_cannot_be_encoded(
    sentbook: Callable[..., Answer], folder: Path, tmp_path: Path, stdin: bytes, code: int, part: str
) -> None:
    assert_sentence(sentbook("encode", folder, tmp_path / "out.npy", stdin=stdin), code, part)
    assert not (tmp_path / "out.npy").exists()


def test_a_model_that_is_not_there_or_damaged(sentbook: Callable[..., Answer], folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    assert_sentence(sentbook("encode", tmp_path / "no", out, stdin=b"a\n"), 4, "There is no trained encoder at")
    file = folder / "encoder.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    assert_sentence(sentbook("encode", folder, out, stdin=b"a\n"), 4, "truncated or not a checkpoint")


@pytest.mark.parametrize("place", ["no such folder/out.npy", ".", "/dev/full"])
def test_an_output_that_cannot_be_written(
    sentbook: Callable[..., Answer], folder: Path, tmp_path: Path, place: str
) -> None:
    if place == "/dev/full" and not Path(place).exists():
        pytest.skip("this system has no /dev/full")
    answer = sentbook("encode", folder, tmp_path / place, stdin=b"a cook\n" * 2000)
    assert_sentence(answer, 5, "could not be written", "choose another place")
    assert "(None)" not in answer.err


def test_ctrl_c_is_one_line_and_130() -> None:
    """Standard input stays open, so that the command waits for its sentences."""
    # A shell's background job starts with SIGINT ignored, and so would this.
    driver = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from sentbook import recipes, cli; print('up', flush=True); cli.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", driver, "encode", "m", "o"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "up\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == f"{cli._INTERRUPTED}\n"


# -- the rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["list"], ["check", "eval/sick2014"]])
def test_a_mirror_that_is_no_folder(
    sentbook: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path / "nowhere"))
    assert_sentence(sentbook("data", *command), 3, "nowhere, which is no folder; correct it or unset it.")


def test_help_and_unknown_commands() -> None:
    runner = CliRunner()
    for command in ("run", "book", "encode"):
        assert runner.invoke(cli.app, [command, "--help"]).exit_code == 0
    assert runner.invoke(cli.app, ["nope"]).exit_code == 2
    assert runner.invoke(cli.app, ["encode"]).exit_code == 2
