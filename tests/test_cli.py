"""The command line: a run is written and nothing else; every mistake is one sentence and a non-zero exit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from sentbook import cli
from stand_ins import put

ROOT = Path(__file__).resolve().parents[1]
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """Call the command line in this process, as the console script does; return exit status, output and errors."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # with it, ipykernel leaves lines of other processes alone

    def called(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sentbook", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return called


def outputs(path: Path) -> list[str]:
    cells = nbformat.read(path, as_version=4).cells
    return [output.data["text/plain"] for cell in cells for output in cell.get("outputs", []) if "data" in output]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "cse/tabel1"], "There is no notebook 'cse/tabel1'; choose one of cnn_lstm/figure3, "),
        (["run", "cse/table1", "-p", "sede", "3"], "cse/table1 has no parameter 'sede'; choose one of profile, seeds,"),
        (["run", "cse/table1", "-p", "seeds", "[1, 1]"], "Parameter 'seeds' in cse, profile demo: holds a seed twice"),
        (["run", "cse/table1", "-p", "seeds", "[1"], "'[1' of -p seeds cannot be read; write for example [1, 2]."),
        (["run", "cse/table1", "-p", "seeds", "[1]", "--record"], "A run of custom/"),
        (["run", "cse/table1", "--record"], "A run of demo is not recorded, only one of small or paper unchanged; "),
        (["run", "cse/table1", "-p", "profile", "../../out"], "There is no profile '../../out' of cse; choose one of "),
        (["run", "cse/table1", "-p", "profile", "3"], "There is no profile '3' of cse; choose one of demo, small, "),
        (
            ["run", "cse/table1", "--profile", "small", "-p", "profile", "demo"],
            "-f or -p says profile demo, and --profile",
        ),
        (["train", "cse", "CES"], "cse has no encoder 'CES'; it has: PP, PP as printed, CSE, CSE as printed, GRAN.\n"),
        (["train", "cse", "-p", "name", "x"], "Unknown parameter 'name' in cse, profile demo; see params/ for"),
        (["train", "cse/x"], "Unknown paper 'cse/x'; choose one of "),
        (["train", "cross"], "cross has no encoder 'to share'; it has: none."),
        (["data", "list", "eval/sick"], "'eval/sick' is neither a registered file nor a folder of them; see `sentboo"),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_runs(
    call: Call, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.setattr(cli, "execute", lambda *given: pytest.fail("a notebook ran"))
    code, out, err = call(*arguments)
    assert code and out == ""
    assert err.startswith(f"sentbook: {said}") and err.count("\n") == 1 and err.endswith((".\n", "?\n"))


@pytest.mark.parametrize(
    ("paper", "said"),
    [("cse", "ppdb-1.0-xl-phrasal is not in"), ("wsv", "glove.6B.300d.txt is"), ("dnt", "snli_1.0_train.jsonl is")],
)
def test_a_missing_original_stops_a_training_before_it_begins(
    call: Call, originals: Path, artifacts: Path, paper: str, said: str
) -> None:
    for name in ("paragram_300_sl999.txt", "GoogleNews-vectors-negative300.bin", "glove.840B.300d.txt"):
        put(originals / name, ["dog 1 2"])
    code, out, err = call("train", paper, "--profile", "paper")
    assert code == 1 and said in err.splitlines()[-1] and "epoch" not in out
    assert not list(artifacts.glob("*/*.safetensors"))


def test_parameters_come_from_files_and_single_values(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[tuple[Path, Path, dict[str, Any]]] = []
    monkeypatch.setattr(cli, "execute", lambda *given: ran.append(given))
    (tmp_path / "own.yaml").write_text("profile: small\nseeds: [1]\ncse: {widths: [1], filters: 2}\n")
    given = ["-f", tmp_path / "own.yaml", "-p", "seeds", "[2]", "-p", "seeds", "[3]", "-p", "cse.widths", "[2]"]
    for name in ("cse/table1", "notebooks/cse/table1.ipynb"):
        assert call("run", name, *given)[0] == 0
    assert ran[0] == ran[1]
    source, target, parameters = ran[0]
    assert source == ROOT / "notebooks" / "cse" / "table1.ipynb"
    assert target.parent.parent.parent == ROOT / "build" / "executed" / "custom"
    assert parameters == {"profile": "small", "seeds": [3], "cse": {"widths": [2], "filters": 2}}
    assert call("run", "cse/table1", "--profile", "small", "-p", "phrase.margin", "0.8")[0] == 0  # as it has it
    assert ran[2][1] == ROOT / "build" / "executed" / "small" / "cse" / "table1.ipynb"
    assert call("run", "cse/model", "-p", "first", "no: 42")[0] == 0 and ran[3][2] == {"first": "no: 42"}  # a sentence


RECORDS = """
from sentbook import records
provenance = {"git_commit": "", "config": {}, "config_hash": "", "python": "", "device": "", "started": ""}
provenance |= {"wall_seconds": 0, "peak_memory_bytes": 0, "seeds": [1]}
run = records.Run(paper="toy", experiment="one", profile=profile, provenance=provenance)
records.write(run).name
"""


@pytest.mark.slow
def test_a_run_writes_below_build_and_results_only_when_told(
    call: Call, checkout: Path, write: Callable[..., Path]
) -> None:
    """Each line of progress is said once, those of other processes too."""
    write("one", "import os, time\nprint('epoch 1')\nos.system('echo epoch 2')\ntime.sleep(0.5)", RECORDS)
    code, out, _ = call("run", "toy/one", "--profile", "small")
    assert code == 0 and (out.count("epoch 1"), out.count("epoch 2")) == (1, 1)
    executed = checkout / "build" / "executed" / "small" / "toy" / "one.ipynb"
    assert outputs(executed) == ["'one.json'"] and list(executed.parent.iterdir()) == [executed]
    assert (checkout / "build" / "runs" / "small" / "toy" / "one.json").is_file()
    assert not (checkout / "results").exists()
    assert call("run", "toy/one", "--profile", "small", "--record")[0] == 0
    assert [path.name for path in (checkout / "results").rglob("*.*")] == ["one.json"]


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["JUPYTER_PATH", "JUPYTER_DATA_DIR", "IPYTHONDIR"])
def test_a_run_is_of_this_interpreter_and_leaves_the_temporary_folder_as_it_was(
    call: Call, checkout: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Whatever kernels are installed, and whatever folders of others lie there; its name may be long."""
    others = {checkout / ("t" * 120) / name for name in ("sentbook-1-a", f"sentbook-{os.getpid()}-b", ".tmp-c")}
    for folder in others:
        folder.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(checkout / ("t" * 120)))
    spec = checkout / "foreign" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": ["false", "{connection_file}"], "display_name": "x", "language": "python"}))
    monkeypatch.setenv(variable, str(checkout / "foreign"))
    page = nbformat.read(write("one", "import sys\nsys.executable"), as_version=4)
    page.metadata.kernelspec["name"] = "python3" if variable == "JUPYTER_PATH" else "of-another-machine"
    nbformat.write(page, checkout / "notebooks" / "toy" / "one.ipynb")
    assert call("run", "toy/one")[0] == 0
    assert outputs(checkout / "build" / "executed" / "demo" / "toy" / "one.ipynb") == [repr(sys.executable)]
    assert {*(checkout / ("t" * 120)).iterdir()} == others


@pytest.mark.slow
def test_a_failed_run_keeps_its_output_and_the_last_good_one(
    call: Call, checkout: Path, write: Callable[..., Path]
) -> None:
    good = checkout / "build" / "executed" / "demo" / "toy" / "one.ipynb"
    good.parent.mkdir(parents=True)
    good.write_text("good")
    for cell, said, kept in (
        ("1 / 0", "one failed: ZeroDivisionError\n", True),
        ("from sentbook import io\nraise io.DataError('SICK is missing.')", "one failed: SICK is missing.", True),
        ("import os\nos._exit(1)", "one failed: its kernel was killed, often for lack of memory.", False),
    ):
        write("one", cell)
        code, _, err = call("run", "toy/one")
        assert code == 1 and f"sentbook: {said}" in err and ("Traceback" in err) == (cell == "1 / 0")
        assert good.with_suffix(".failed.ipynb").is_file() or not kept
        assert good.read_text() == "good"


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_leaves_no_kernel(checkout: Path, write: Callable[..., Path], how: signal.Signals) -> None:
    note = checkout / "note"
    write("one", f"import os, time\nopen({str(note)!r}, 'w').write(f'{{os.getpid()}} ')\ntime.sleep(60)")
    command = [sys.executable, "-m", "sentbook.cli", "run", "toy/one"]
    process = subprocess.Popen(command, cwd=checkout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (note.is_file() and note.read_text().endswith(" ")):
        assert process.poll() is None, "it ended before its cell began"
        time.sleep(0.05)
    process.send_signal(how)
    assert process.wait(30) != 0
    psutil.wait_procs([psutil.Process(pid) for pid in [int(note.read_text())] if psutil.pid_exists(pid)], timeout=10)
    assert not psutil.pid_exists(int(note.read_text()))


def test_compare_finds_an_altered_number(call: Call, tmp_path: Path) -> None:
    recorded, own = ROOT / "results" / "small" / "cse" / "table1.json", tmp_path / "small" / "cse" / "table1.json"
    own.parent.mkdir(parents=True)
    if (scores := recorded.with_suffix(".npz")).exists():
        shutil.copy(scores, own.parent)
    run = json.loads(recorded.read_bytes())

    def compared(*options: str) -> tuple[int, str]:
        own.write_text(json.dumps(run))
        return call("compare", "cse/table1", "--profile", "small", "--own", tmp_path, *options)[:2]

    assert compared()[0] == compared("--exact")[0] == 0
    assert "has no run of cse/tabel1" in call("compare", "cse/table1", "cse/tabel1", "--own", tmp_path)[2]
    run["metrics"].reverse()  # the order of rows says nothing
    assert compared("--exact")[0] == 0
    row = run["metrics"][0]
    row["value"] += 1e-4
    assert compared()[0] == 0 and compared("--exact")[0] == 1
    row["value"] += 0.02
    code, out = compared()
    assert code == 1 and f"metrics {row['method']} {row['dataset']}" in out and out.endswith("compared, 1 differ\n")


def test_the_command_line_imports_nothing_heavy() -> None:
    code = "import sys; from sentbook import cli; print({'torch', 'pandas', 'papermill'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == "set()\n"
