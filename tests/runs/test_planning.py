"""What the batch plans: exactly what was made from something that changed, by content, and in which order."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sentbook import config
from sentbook.papers.cnn_lstm import experiments as cnn_lstm
from sentbook.papers.cse import experiments as cse
from sentbook.papers.dnt import experiments as dnt
from sentbook.papers.wsv import experiments as wsv
from sentbook.runs.batch import planning, stamps
from sentbook.runs.batch.stamps import Job
from sentbook.runs.execution import executed_path
from sentbook.runs.lineage import notebook_path
from sentbook.study import Study
from sentbook.system.errors import ConfigError
from sentbook.system.paths import root

ROOT = Path(__file__).resolve().parents[2]
PROFILE = "small"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of this checkout in which every job of the profile has just ended well."""
    place = tmp_path_factory.mktemp("checkout")
    for name in ("lib/sentbook", "notebooks", "params", "book"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "_executed", "_static"))
    shutil.copytree(ROOT / "workflow", place / "workflow")
    for name in ("_toc.yml", "_config.yml", "requirements.lock", "Snakefile"):
        shutil.copy(ROOT / name, place / name)
    (place / "results").mkdir()
    (place / "results" / PROFILE).symlink_to(ROOT / "results" / PROFILE)
    mirror = place / "mirror" / "eval" / "sick2014"
    mirror.mkdir(parents=True)
    (mirror / "SICK_trial.txt").write_text("as it was")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_ROOT", str(place))
        patch.setenv("SENTBOOK_DATA", str(place / "mirror"))
        patch.setenv("SENTBOOK_CACHE", str(place / "cache"))
        patch.delenv(stamps.BATCH, raising=False)
        root.cache_clear()
        for step in planning.plan(PROFILE):
            pretend(step)
        yield place
    root.cache_clear()


def pretend(step: planning.Step) -> None:
    """Leave what the job would."""
    job = step.job
    with stamps.recorded(job, planning.sources(job)) as facts:
        if job.level == "notebooks":
            target = executed_path(notebook_path(*job.name.split("/")), job.profile)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("{}")
            facts["data"] = planning.opened(job)
        if job.level == "data":
            facts["data"] = planning.data(step.options["names"])
        if job.level == "book":
            (root() / "_build" / "html").mkdir(parents=True)
            (root() / "_build" / "html" / "index.html").write_text("")


@contextmanager
def edited(path: Path, change: Callable[[str], str]) -> Iterator[None]:
    before = path.read_text(encoding="utf-8")
    path.write_text(change(before), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")


def due() -> set[str]:
    return {f"{step.job.level}/{step.job.name}" for step in planning.due(planning.plan(PROFILE))}


def of_paper(paper: str) -> set[str]:
    return {f"notebooks/{path.parent.name}/{path.stem}" for path in ROOT.glob(f"notebooks/{paper}/*.ipynb")}


# What is made again after any notebook.
LAST = {"verdicts/all", "book/all"}


# -- what is done again ------------------------------------------------------------------------------------------------


def test_nothing_changed(checkout: Path) -> None:
    assert due() == set()


@pytest.mark.parametrize(
    "file",
    ["params/wsv/small.yaml", "lib/sentbook/recipes.py", "notebooks/cse/table1.ipynb",
     "mirror/eval/sick2014/SICK_trial.txt", "Snakefile"],
)  # fmt: skip
def test_times_of_files_count_for_nothing(checkout: Path, file: str) -> None:
    os.utime(checkout / file)
    assert due() == set()


def test_parameters(checkout: Path) -> None:
    with edited(checkout / "params" / "wsv" / f"{PROFILE}.yaml", lambda text: text + "\nresamples: 2001\n"):
        assert due() == of_paper("wsv") | {"encoders/wsv/wsv-scnn-sv"} | LAST
    assert due() == set()


def test_a_comment_in_parameters_is_none(checkout: Path) -> None:
    with edited(checkout / "params" / "wsv" / f"{PROFILE}.yaml", lambda text: text + "\n# a remark\n"):
        assert due() == set()


def test_one_module(checkout: Path) -> None:
    """The claims of one paper: its notebooks that judge them, and no encoder."""
    users = {
        f"notebooks/{path.parent.name}/{path.stem}"
        for path in (checkout / "notebooks").glob("*/*.ipynb")
        if "sentbook.claims import wsv" in path.read_text(encoding="utf-8")
    }
    assert users and users <= of_paper("wsv")
    with edited(checkout / "lib" / "sentbook" / "claims" / "wsv.py", lambda text: text + "\nEXTRA = 1\n"):
        assert due() == users | LAST


def test_a_docstring_is_none(checkout: Path) -> None:
    module = checkout / "lib" / "sentbook" / "claims" / "wsv.py"
    with edited(module, lambda text: "# a remark\n" + text.replace('"""', '"""Of old: ', 1)):
        assert due() == set()


def test_the_module_that_trains(checkout: Path) -> None:
    """All encoders; the notebooks that import it, which all that train do."""
    with edited(checkout / "lib" / "sentbook" / "recipes.py", lambda text: text + "\nEXTRA = 1\n"):
        again = due()
    assert {name for name in again if name.startswith("encoders/")} == {
        f"encoders/{paper}/{planning.slug(method)}" for paper, names in planning.ENCODERS.items() for method in names
    }
    assert {"notebooks/cse/table1", "notebooks/dnt/table4", *LAST} <= again
    assert not any(name.startswith("data/") for name in again)


def test_how_tables_are_drawn_changes_pages_and_no_encoder(checkout: Path) -> None:
    with edited(checkout / "lib" / "sentbook" / "report" / "tables.py", lambda text: text + "\nEXTRA = 1\n"):
        again = due()
    assert "notebooks/cse/table1" in again
    assert not any(name.startswith(("encoders/", "data/", "vectors/")) for name in again)


def test_one_notebook(checkout: Path) -> None:
    def change(text: str) -> str:
        content = json.loads(text)
        content["cells"][-1]["source"] = "1 + 1"
        return json.dumps(content)

    with edited(checkout / "notebooks" / "cse" / "table5.ipynb", change):
        assert due() == {"notebooks/cse/table5"} | LAST


def test_one_data_file(checkout: Path) -> None:
    """The runs that opened it, by their records."""
    name = "eval/sick2014/SICK_trial.txt"
    users = set()
    for record in (ROOT / "results" / PROFILE).glob("*/*.json"):
        run = f"notebooks/{record.parent.name}/{record.stem}"
        opened = json.loads(record.read_text(encoding="utf-8")).get("provenance", {}).get("data", {})
        if name in opened and run in of_paper("*"):
            users |= {run, f"data/{record.parent.name}"}
    assert {"notebooks/wsv/table2", "data/wsv"} <= users
    assert "notebooks/cse/table1" not in users
    with edited(checkout / "mirror" / name, lambda text: "something else"):
        assert due() == users | LAST


def test_what_somebody_took_away(checkout: Path) -> None:
    executed = executed_path(notebook_path("cse", "table5"), PROFILE)
    with taken(executed):
        assert due() == {"notebooks/cse/table5"} | LAST
    with taken(Job(PROFILE, "encoders", "dnt/gran").stamp):  # found by key: no reason for any notebook
        assert due() == {"encoders/dnt/gran"}


@contextmanager
def taken(path: Path) -> Iterator[None]:
    away = path.with_suffix(".away")
    path.rename(away)
    try:
        yield
    finally:
        away.rename(path)


def test_reasons_are_told(checkout: Path) -> None:
    with edited(checkout / "lib" / "sentbook" / "claims" / "wsv.py", lambda text: text + "\nEXTRA = 1\n"):
        (step,) = [step for step in planning.plan(PROFILE) if step.job.name == "wsv/table2"]
    assert step.reasons == ("lib/sentbook/claims/wsv.py",)


# -- order and choice --------------------------------------------------------------------------------------------------


def test_every_job_comes_after_those_it_needs(checkout: Path) -> None:
    steps = planning.plan(PROFILE)
    place = {step.job: number for number, step in enumerate(steps)}
    assert all(place[other] < place[step.job] for step in steps for other in step.after)
    (table4,) = [step for step in steps if step.job.name == "dnt/table4"]
    assert {str(job) for job in table4.after} >= {"data dnt", "encoders dnt/infersent", "encoders dnt/gran"}


def test_targets_bring_what_they_need(checkout: Path) -> None:
    chosen = {str(step.job) for step in planning.plan(PROFILE, ["wsv/table2"])}
    assert chosen == {"data wsv", "encoders wsv/wsv-scnn-sv", "wsv/table2"}
    assert {str(step.job) for step in planning.plan(PROFILE, ["wsv"])} >= {"wsv/table1", "wsv/figure7"}
    with pytest.raises(ConfigError, match="'wsv/tabel2' is no job"):
        planning.plan(PROFILE, ["wsv/tabel2"])


def test_the_demo_has_one_job_of_encoders_a_paper(checkout: Path) -> None:
    encoders = [step.job.name for step in planning.plan("demo") if step.job.level == "encoders"]
    assert sorted(encoders) == sorted(planning.ENCODERS)


def test_an_unknown_profile_is_a_sentence(checkout: Path) -> None:
    with pytest.raises(ConfigError, match="no profile 'large'"):
        planning.plan("large")


def test_the_names_of_encoders_are_those_that_papers_give() -> None:
    """The plan has them in writing, so that it need not import torch."""
    for paper, module in (("cse", cse), ("cnn_lstm", cnn_lstm), ("wsv", wsv), ("dnt", dnt)):
        settings = config.load(paper, {"profile": "demo"})
        assert tuple(module.pretrained(Study(paper, "encoders", settings), settings)) == planning.ENCODERS[paper]


def test_a_plan_is_made_without_torch() -> None:
    program = (
        "import sys; from sentbook.runs.batch import planning; planning.plan('demo'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "SENTBOOK_ROOT": str(ROOT)})


# -- clusters ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["slurm", "kubernetes"])
def test_a_dry_run_for_a_cluster_lists_the_jobs(checkout: Path, executor: str) -> None:
    """Of profile paper, none of whose jobs was done: each its command, a GPU for those that train."""
    command = [Path(sys.executable).with_name("sentbook"), "batch", "--profile", "paper", "-n", "--executor", executor]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for step in planning.plan("paper"):
        assert f"{step.job}: it was not run here before" in said
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    listed = done.stdout + done.stderr
    for path in ROOT.glob("notebooks/*/*.ipynb"):
        if f"book/_executed/{path.parent.name}/{path.stem}" in (ROOT / "_toc.yml").read_text():
            assert f"sentbook run {path.parent.name}/{path.stem} --profile paper" in listed
    assert "sentbook train dnt/bilstm-avg --profile paper" in listed
    assert "sentbook book --no-run --profile paper" in listed
    assert listed.count("gpu=1") == listed.count("rule notebook:") + listed.count("rule encoders:") > 0
