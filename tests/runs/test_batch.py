"""The batch on a toy checkout: what changed runs again and nothing else; a kill costs no more than it must."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from sentbook.io import PACKAGE, ConfigError
from sentbook.runs import batch, certify, forkserver
from sentbook.runs.execute import executed_path

ROOT = Path(__file__).parents[2]
NODE = str(ROOT / "tools" / "slurm_node.sh")
COUNT = "with open({note!r}, 'a') as file:\n    file.write('{name} ')"


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    """One for the batches of these tests, whose toys would wait for its imports each time."""
    with forkserver.served():
        yield


@pytest.fixture
def note(checkout: Path, write: Callable[..., Path]) -> Path:
    """A file in which each notebook of the checkout leaves its name when it runs."""
    for name in ("one", "two"):
        write(name, COUNT.format(note=str(checkout / "note"), name=name))
    return checkout / "note"


def call(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sentbook.cli", *arguments]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def ran(note: Path, *arguments: str, target: str = "notebooks", code: int = 0) -> tuple[str, str]:
    """Call the batch; which notebooks ran, and what was said."""
    note.write_text("")
    done = call(note.parent, "batch", target, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join(sorted(note.read_text().split())), done.stdout + done.stderr


@pytest.mark.slow
def test_what_changed_runs_again_and_nothing_else(checkout: Path, note: Path, write: Callable[..., Path]) -> None:
    assert ran(note)[0] == "one two"
    parameters = checkout / "params" / "toy" / "demo.yaml"
    parameters.write_text("# words\nprofile: demo\n")
    found, said = ran(note)
    assert found == "", said
    write("one", COUNT.format(note=str(note), name="one") + "\n1")
    (checkout / "build" / "executed" / "demo" / "toy" / "two.ipynb").unlink()
    found, said = ran(note, "--dry-run")
    assert found == "" and "notebooks/toy/one: notebooks/toy/one.ipynb" in said and "notebooks/toy/two: page" in said
    assert ran(note)[0] == "one two"
    parameters.write_text("profile: demo\nseeds: [2]\n")
    assert call(checkout, "run", "toy/one", "--no-page").returncode == 0  # by hand, and the batch knows of it
    (checkout / "build" / "batch" / "lock").write_bytes(bytes(64))  # after a crash
    assert ran(note)[0] == "two"


@pytest.mark.parametrize("left", [b"[1]", b"\xff\0", b"[" * 10**5, b'{"%s": "0", "broken.py": 1}' % (b"x" * 300)])
def test_odd_digests_after_a_crash_are_written_again(checkout: Path, left: bytes) -> None:
    (checkout / "broken.py").write_text("def (")
    file = batch.Job("demo", "notebooks/toy/one").file("digests")
    file.parent.mkdir(parents=True)
    file.write_bytes(left)
    batch.plan("demo")
    assert "notebooks/toy/one.ipynb" in json.loads(file.read_bytes())


def test_a_notebook_whose_output_is_cut_short_is_to_run_again(checkout: Path) -> None:
    job, source = batch.Job("demo", "notebooks/toy/one"), checkout / "notebooks" / "toy" / "one.ipynb"
    target = executed_path(source, "demo")
    target.parent.mkdir(parents=True)
    shutil.copy(source, target)
    batch.plan("demo")
    job.file("done").touch()
    assert batch.changes(job) == []
    for length in (-1, 400, 0):
        target.write_bytes(source.read_bytes().rstrip()[:length])
        assert batch.changes(job) == ["page"]
    shutil.copy(source, target)
    assert batch.changes(job) == []


def test_a_job_ends_with_its_batch_and_not_where_the_clock_is_set(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    monkeypatch.setenv(batch.OWNER, str(owner.pid))
    began = psutil.boot_time()
    with pytest.raises(KeyboardInterrupt), batch.recorded("demo", "notebooks/toy/one"):
        monkeypatch.setattr("psutil._pslinux.boot_time", lambda: began + 2)
        time.sleep(2)
        owner.kill()
        for _ in range(300):  # a signal that comes just before a sleep waits for its end
            time.sleep(0.1)
    assert owner.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_a_failure_is_one_sentence_and_leaves_the_others_running(
    checkout: Path, note: Path, write: Callable[..., Path]
) -> None:
    write("one", "1 / 0")
    found, said = ran(note, "--jobs", "1", code=9)
    assert found == "two"
    assert "sentbook: 1 job failed; mend what follows and run the same command again.\nnotebooks/toy/one: " in said
    assert (checkout / "build" / "executed" / "demo" / "toy" / "one.failed.ipynb").is_file()
    write("one", COUNT.format(note=str(note), name="one"))
    assert ran(note)[0] == "one"
    assert not (checkout / "build" / "executed" / "demo" / "toy" / "one.failed.ipynb").exists()


@pytest.mark.slow
def test_after_a_kill_the_same_command_goes_on(
    checkout: Path, note: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ended is kept; what the killed batch had begun stops, its server too, and is done again."""
    monkeypatch.delenv(forkserver.ADDRESS)
    busy = COUNT.format(note=str(note), name="one") + "\nimport time\ntime.sleep(60)"
    write("one", busy)
    command = [sys.executable, "-m", "sentbook.cli", "batch", "notebooks", "--jobs", "2"]
    process = subprocess.Popen(command, cwd=checkout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    ended = checkout / "build" / "batch" / "demo" / "notebooks" / "toy" / "two.done"
    while not (ended.is_file() and "one" in note.read_text()):
        assert time.monotonic() < until
        time.sleep(0.1)
    second = call(checkout, "batch", "notebooks")
    assert second.returncode == 9 and "Another batch is at work in this checkout" in second.stderr
    process.send_signal(signal.SIGKILL)
    process.wait()
    write("one", COUNT.format(note=str(note), name="one"))
    assert ran(note)[0] == "one"
    log = checkout / "build" / "batch" / "demo" / "notebooks" / "toy" / "one.log"
    assert "done in" in log.read_text()


@pytest.fixture
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A SLURM of one node on this machine, while the test works."""
    if missing := [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name) is None]:
        pytest.skip(f"needs {', '.join(missing)}: Debian's slurmctld, slurmd, slurm-client and munge")
    if os.getuid() or Path("/etc/slurm/slurm.conf").exists():
        pytest.skip("needs root, and a machine that belongs to no cluster")
    folder = str(tmp_path_factory.mktemp("node"))
    # Its daemons keep what they inherit: no pipe, which would never end.
    subprocess.run([NODE, "start", folder], check=True, timeout=60, stdout=subprocess.DEVNULL)
    yield
    subprocess.run([NODE, "stop", folder], check=True, timeout=60)


@pytest.mark.long
def test_the_demo_goes_through_slurm_with_a_job_cancelled_to_the_numbers_of_this_machine(
    tmp_path: Path, slurm: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its jobs but one, which `scancel` stops at work; the same command then does that one, verdicts and book."""
    recorded = sorted(ROOT.glob("results/demo/*/*.json"))
    if not recorded:
        pytest.skip("the demo was not run here; run `make book`")
    checkout, log = tmp_path / "checkout", tmp_path / "log"
    made = shutil.ignore_patterns(".*", "__pycache__", "build", "_build", "_executed", "_generated", "demo", "custom")
    shutil.copytree(ROOT, checkout, ignore=made)
    monkeypatch.setenv("SENTBOOK_ROOT", str(checkout))
    monkeypatch.setenv("PYTHONPATH", str(checkout / "lib"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for variable in (forkserver.ADDRESS, "SENTBOOK_ARTIFACTS"):
        monkeypatch.delenv(variable, raising=False)
    command = [sys.executable, "-m", "sentbook.cli", "batch", "--executor", "slurm", "--jobs", str(os.cpu_count())]
    with log.open("w") as file:
        running = subprocess.Popen(command, cwd=checkout, stdout=file, stderr=file)
    at_work = ["squeue", "--noheader", "--states=RUNNING", "--format=%i %k"]
    while not (found := re.search(r"(\d+) .*cse.table2", subprocess.check_output(at_work, text=True))):
        assert running.poll() is None, log.read_text()
        time.sleep(1)
    time.sleep(5)
    subprocess.run(["scancel", found[1]], check=True)
    assert running.wait() == 9 and "1 job failed" in log.read_text(), log.read_text()
    stamps = {path: path.stat().st_mtime_ns for path in checkout.glob("build/batch/demo/notebooks/*/*.done")}
    assert len(list(checkout.glob("build/batch/demo/notebooks/*/*.digests"))) == len(stamps) + 1
    again = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert again.returncode == 0 and again.stderr.count("has been submitted with SLURM jobid") == 1, again.stderr
    assert (checkout / "_build" / "html" / "index.html").is_file()
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    for path in recorded:
        own = certify.from_file(checkout / path.relative_to(ROOT))
        same = certify.compare(f"demo/{path.parent.name}/{path.stem}", certify.from_file(path), own)
        assert same.summary == "reproduced bit for bit", same.lines()


@pytest.fixture
def kubernetes(checkout: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What an API server on loopback is sent; each of its pods is a process that is told what a pod would be."""
    sent: list[dict[str, Any]] = []
    ended: list[int] = []

    def run(container: dict[str, Any]) -> int:
        secret = {name: base64.b64decode(value).decode() for name, value in sent[0]["data"].items()}
        own = {row["name"]: secret[row["valueFrom"]["secretKeyRef"]["key"]] for row in container["env"]}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        command, folder = [*container["command"], *container["args"]], checkout / f"pod-{len(ended)}"
        folder.mkdir()
        environment = {"PATH": path, "HOME": str(folder), "PYTHONPATH": str(PACKAGE.parent), **own}
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode

    def answer(request: Request) -> Response:
        content: dict[str, Any] = {"status": {"failed" if any(ended) else "succeeded": 1}, "items": []}
        if request.method == "POST":
            sent.append(content := request.get_json())
            if "spec" in content:
                ended.append(run(content["spec"]["template"]["spec"]["containers"][0]))
        return Response(json.dumps(content), content_type="application/json")

    httpserver.expect_request(re.compile("")).respond_with_handler(answer)
    config: dict[str, Any] = {"clusters": [{"name": "one", "cluster": {"server": httpserver.url_for("")}}], "users": []}
    config |= {"contexts": [{"name": "one", "context": {"cluster": "one", "user": ""}}], "current-context": "one"}
    (checkout / "kubeconfig").write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(checkout / "kubeconfig"))
    profile = checkout / "workflow" / "profiles" / "kubernetes" / "config.yaml"
    profile.write_text(profile.read_text().replace("/sentbook/checkout", str(checkout)))
    return sent


@pytest.mark.long
def test_the_pods_of_a_gpu_profile_are_what_kubernetes_takes(
    checkout: Path, note: Path, kubernetes: list[dict[str, Any]]
) -> None:
    """Their manifests hold against the schema of its API, and a GPU is limited to what is asked: else it refuses."""
    schema = pytest.importorskip("kubernetes_validate", reason="needs the extra kubernetes-schema")
    if shutil.which("rsync") is None:
        pytest.skip("needs rsync")
    (checkout / "params" / "toy" / "paper.yaml").write_text("profile: paper\n")
    found, said = ran(note, "--profile", "paper", "--executor", "kubernetes", "--jobs", "2")
    assert found == "one two", said
    jobs = [one for one in kubernetes if "spec" in one]
    assert len(kubernetes) == 3 and len(jobs) == 2, said  # the secret with the pods' variables, and a job a notebook
    for one in jobs:
        schema.validate({"apiVersion": "batch/v1", "kind": "Job", **one}, schema.latest_version(), strict=True)
        [container] = one["spec"]["template"]["spec"]["containers"]
        asked, limits = container["resources"]["requests"], container["resources"]["limits"]
        assert asked["nvidia.com/gpu"] == limits["nvidia.com/gpu"] == "1" and asked["memory"] == limits["memory"]
        assert {"SENTBOOK_ROOT", "SENTBOOK_DATA", "SENTBOOK_ARTIFACTS"} <= {row["name"] for row in container["env"]}
        assert {row["mountPath"] for row in container["volumeMounts"]} == {"/workdir", "/sentbook"}


@pytest.mark.slow
def test_a_cluster_is_told_of_the_same_jobs_and_snakemake_alone_does_them(checkout: Path, note: Path) -> None:
    found, said = ran(note, "--executor", "slurm", "--dry-run")
    assert found == "" and "notebooks" in said and "2" in said
    target = "build/batch/demo/notebooks/toy/two.done"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "snakemake", "--cores", "1", target]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert note.read_text().split() == ["two"]
    assert ran(note)[0] == "one"


# A paper of the toys with an encoder that its notebooks share, for a checkout with code of its own.
PAPER = {
    "papers/toy/__init__.py": "",
    "papers/toy/settings.py": """
from sentbook.models.average import AverageEncoder
from sentbook.training.settings import MarginTraining, Paper


class Settings(Paper):
    average: AverageEncoder = AverageEncoder()
    phrase: MarginTraining = MarginTraining(
        corpora=("miniworld-phrases",), validation="miniworld", limit=50, epochs=1, batch_size=50
    )
""",
    "papers/toy/experiments.py": """
def pretrained(study, settings):
    return {"toy": study.recipes("toy", settings.average, settings.phrase)}
""",
    "papers/grid.yaml": "toy: {encoders: [toy]}",
}


@pytest.mark.slow
def test_encoders_whose_code_changed_and_the_notebook_after_them_are_made_again_in_one_call(
    checkout: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = checkout / "lib" / "sentbook"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, content in PAPER.items():
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text(content)
    parameters = checkout / "params" / "toy" / "demo.yaml"
    parameters.write_text("profile: demo\nsuite: miniworld\nvectors: {name: miniworld}\n")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    stamp = checkout / "build" / "batch" / "demo" / "encoders" / "toy.done"

    def made() -> tuple[str, bool]:
        """Call the batch: which notebook ran, and whether the encoders were made."""
        before = stamp.stat().st_mtime_ns if stamp.is_file() else 0
        return ran(note, target="toy/one")[0], stamp.stat().st_mtime_ns > before

    assert made() == ("one", True)
    with (package / "models" / "average.py").open("a") as file:
        file.write("\nCHANGED = True\n")
    assert made() == ("one", True)
    assert made() == ("", False)


# -- the grid ----------------------------------------------------------------------------------------------------------


def test_the_grid_of_each_profile_is_in_order() -> None:
    for profile in ("demo", "small", "paper"):
        found = batch.jobs(profile)
        names = list(found)
        assert all(names.index(first) < names.index(job.name) for job in found.values() for first in job.after)
        assert "encoders/dnt" in found["notebooks/cross/matrix"].after or profile != "demo"
        assert names[-1] == "book" and set(found["book"].after) >= {n for n in names if n.startswith("notebooks/")}
    assert "encoders/cnn_lstm/autoencoder-emb" in found


def test_the_grid_names_the_encoders_that_the_papers_share() -> None:
    from importlib import import_module

    from sentbook import config
    from sentbook.study import Study

    for paper, known in batch.grid().items():
        if "encoders" in known:
            settings = config.load(paper, {"profile": "demo"})
            made = import_module(f"sentbook.papers.{paper}.experiments").pretrained(
                Study(f"{paper}/encoders", settings), settings
            )
            assert list(made) == known["encoders"]


def test_a_damaged_record_is_one_sentence(checkout: Path) -> None:
    record = checkout / "results" / "small" / "toy" / "one.json"
    record.parent.mkdir(parents=True)
    record.write_text("{")
    done = call(checkout, "prepare", "data", "toy")
    assert done.returncode == 3 and done.stderr.startswith(f"sentbook: {record} is not a recorded run of schema 1")
    assert done.stderr.endswith("make it again with `make run NOTEBOOK=toy/one PROFILE=small`.\n")
    assert done.stderr.count("\n") == 1


def test_targets_are_levels_papers_and_notebooks() -> None:
    found = batch.jobs("demo")
    assert (
        batch.select(found, ["cse/table1"])
        == ["notebooks/cse/table1"]
        == batch.select(found, ["notebooks/cse/table1.ipynb"])
    )
    assert batch.select(found, []) == ["book"]
    assert all(name.startswith("notebooks/wsv/") for name in batch.select(found, ["wsv"]))
    assert batch.select(found, ["encoders"]) == [name for name in found if name.startswith("encoders/")]
    with pytest.raises(ConfigError, match="'cse/tabel1' is no job of the batch; choose a notebook"):
        batch.select(found, ["cse/tabel1"])


def test_a_cluster_is_asked_for_twice_what_the_last_time_took(checkout: Path) -> None:
    job = batch.Job("demo", "notebooks/toy/one")
    assert job.resources() == {"mem_mb": 2_000, "runtime": 30}
    job.file("tsv").parent.mkdir(parents=True)
    job.file("tsv").write_text("s\th:m:s\tmax_rss\n1200.0\t0:20:00\t3000.5\n")
    assert job.resources() == {"mem_mb": 6_001, "runtime": 40}


def test_what_no_notebook_draws_with_runs_none_again() -> None:
    """All of the report that a notebook can load, loaded: none of it is of those files."""
    others = {file.stem for file in (PACKAGE / "report_old").glob("*.py") if file.name not in batch.PAGES} - {
        "__init__"
    }
    code = f"import sys; from sentbook.report_old import {', '.join(sorted(others))}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {f"sentbook.report_old.{Path(name).stem}" for name in batch.PAGES} & set(done.stdout.split())


def test_a_plan_imports_no_torch() -> None:
    code = "import sys; from sentbook.runs import batch; batch.jobs('demo'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
