"""The grid of a profile for Snakemake: data -> vectors -> encoders -> notebooks -> verdicts -> book.

    build/batch/<profile>/<job>.digests    what the job is made from, each with its digest; written where it changes
                          <job>.done       its output, as Snakemake sees it: a stamp, younger than the digests it is of
                          <job>.log, .tsv  what it said; its seconds and memory, by Snakemake

Snakemake decides what runs again: what has no stamp or an older one than its digests. What it takes away before a job
or after its failure is a stamp, and never a trained encoder, a recorded run or an executed notebook: those are
replaced, whole, by the command itself. A command leaves its stamp whether Snakemake or a person began it. Nothing here
imports torch: a plan takes a second.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from sentbook.config import profile_files, profile_values
from sentbook.data import modern, sources
from sentbook.io import ConfigError, SentbookError, artifacts, root, write_atomically
from sentbook.io import folder as make_folder
from sentbook.runs import forkserver, ledger, lineage
from sentbook.runs.contents import notebooks
from sentbook.runs.execute import is_executed, stoppable, tail
from sentbook.runs.lineage import grid as grid
from sentbook.runs.loaded import loaded_sources

# The number of the process that jobs on this machine belong to.
OWNER = "SENTBOOK_BATCH"
# Where Snakemake wants a copy of the stamp, on a cluster without a shared folder.
STAMP = "SENTBOOK_STAMP"
LEVELS = ("data", "vectors", "encoders", "notebooks", "verdicts", "book")
# Megabytes and minutes to ask a cluster for where none are on record.
_MEMORY = {"demo": 2_000, "small": 6_000, "paper": 24_000}
_MINUTES = {"demo": 30, "small": 480, "paper": 2_880}
# Of `sentbook.report_old`: what makes the book around executed notebooks, and pages of runs; no kernel loads it.
PAGES: tuple[str, ...] = ("api.py", "book.py", "fragments.py", "ledger.py", "pdf.py", "pedigree.py")
PAGES += ("results_explorer.py", "run_pages.py", "site.py")
# What Snakemake says once more of a job that failed.
_TOLD_ALREADY = ("RuleException", "Exiting because", "WorkflowError:\nAt least one job")


class BatchError(SentbookError):
    """Jobs of the batch failed, or it could not begin."""

    exit_code = 9


@dataclass(frozen=True)
class Job:
    """A job with its place in the grid.

    Attributes:
        name: ``notebooks/cse/table1``; ``verdicts`` and ``book`` have no second part.
        after: the names of the jobs that must have ended before it.
        threads: processor cores that it keeps busy.
    """

    profile: str
    name: str
    after: tuple[str, ...] = ()
    threads: int = 1

    @property
    def level(self) -> str:
        return self.name.partition("/")[0]

    def file(self, ending: str) -> Path:
        return root() / "build" / "batch" / self.profile / f"{self.name}.{ending}"

    def last(self) -> tuple[float, float] | None:
        """Read the seconds and megabytes that it took the last time, as Snakemake measured them."""
        try:
            heads, values = (line.split("\t") for line in self.file("tsv").read_text().splitlines()[:2])
            found = dict(zip(heads, values, strict=True))
            return float(found["s"]), float(found["max_rss"])
        except (OSError, ValueError, KeyError):  # not yet, or too short to be measured
            return None

    def resources(self) -> dict[str, int]:
        """Megabytes and minutes to ask a cluster for: those of the last time, and as much again."""
        seconds, megabytes = self.last() or (30.0 * _MINUTES[self.profile], _MEMORY[self.profile] / 2)
        return {"mem_mb": max(1_000, round(2 * megabytes)), "runtime": max(10, round(2 * seconds / 60))}


# -- the grid ----------------------------------------------------------------------------------------------------------


def shared_encoders(paper: str) -> dict[str, str]:
    """The encoders that several notebooks of a paper start from, by their names for files.

    Raises:
        ConfigError: the paper has none.
    """
    known = {name: values["encoders"] for name, values in grid().items() if "encoders" in values}
    if paper not in known:
        raise ConfigError(f"'{paper}' has no encoders to share; choose one of {', '.join(known)}.")
    return {re.sub(r"[^a-z0-9]+", "-", method.lower()).strip("-"): method for method in known[paper]}


def files_of(paper: str, profile: str) -> list[str]:
    """The files that the recorded runs of the profile opened; where none are recorded the tests of profile small's.

    What small trains on stands in for the papers' own files, which `sentbook.config.Section.check` looks for.

    Raises:
        DataError: the record of one is damaged.
    """
    for kind in () if profile == "demo" else (profile, "small"):
        runs = [ledger.read(paper, file.stem, kind) for file in (root() / "results" / kind / paper).glob("*.json")]
        if known := sorted({name for run in runs if run for name in run.provenance.data} & set(sources.registry())):
            return [file for file in known if kind == profile or file.startswith("eval/")]
    return []


def jobs(profile: str) -> dict[str, Job]:
    """Every job of a profile by its name, each after those it needs.

    Raises:
        ConfigError: a parameter is at fault.
        DataError: see `files_of`.
        NotebookError: the table of contents names a notebook that does not exist.
    """
    found: dict[str, Job] = {}

    def add(name: str, after: Iterable[str] = (), threads: int = 1) -> str:
        found[name] = Job(profile, name, tuple(after), threads)
        return name

    listed = notebooks()
    papers = list(dict.fromkeys(source.parent.name for source in listed))
    first = {f"{paper}/{name}" for paper in papers for name in grid().get(paper, {}).get("first", ())}
    listed.sort(key=lambda source: f"{source.parent.name}/{source.stem}" not in first)
    given = {paper: profile_values(paper, profile) for paper in papers}
    known = {paper: grid().get(paper, {}) for paper in papers}
    data = {paper: [add(f"data/{paper}")] if files_of(paper, profile) else [] for paper in papers}
    shows = {paper: given[paper].get("modern", known[paper].get("modern", False)) for paper in papers}
    # Vectors that are computed once and kept; others are made in memory, within seconds, wherever they are needed.
    kept = [name for name in modern.MODERN if any(shows.values()) and modern.available(name)]
    vectors = [add(f"vectors/{name}", [job for each in data.values() for job in each]) for name in kept]
    encoders: dict[str, list[str]] = {}
    for paper in papers:
        if "encoders" in known[paper]:
            # Trainings of the demo take seconds: one job a paper.
            names = [f"{paper}/{slug}" for slug in shared_encoders(paper)] if profile != "demo" else [paper]
            threads = given[paper].get("jobs", 1)
            encoders[paper] = [add(f"encoders/{name}", data[paper], threads) for name in names]
    for source in listed:
        paper = source.parent.name
        after = [*data[paper], *(vectors if shows[paper] else [])]
        after += [name for used in (paper, *known[paper].get("builds_on", [])) for name in encoders.get(used, [])]
        if f"{paper}/{source.stem}" not in first:
            after += [f"notebooks/{name}" for name in sorted(first) if name.startswith(f"{paper}/")]
        add(f"notebooks/{paper}/{source.stem}", after, given[paper].get("jobs", 1))
    ends = [name for name in found if name.startswith("notebooks/")]
    add("verdicts", ends)
    add("book", [*ends, "verdicts"])
    return found


def select(found: dict[str, Job], targets: Sequence[str]) -> list[str]:
    """The names of the jobs that are meant by levels (``encoders``), papers (``cse``) or jobs (``cse/table1``).

    Raises:
        ConfigError: a target is none of these.
    """
    chosen: list[str] = []
    for target in targets or ("book",):
        name = target.removesuffix(".ipynb").removeprefix("notebooks/")
        meant = [job for job in found if name in (job, job.partition("/")[0]) or job == f"notebooks/{name}"]
        meant += [job for job in found if job.startswith(f"notebooks/{name}/")]
        if not meant:
            papers = {job.split("/")[1] for job in found if job.startswith("notebooks/")}
            raise ConfigError(
                f"'{target}' is no job of the batch; choose a notebook, e.g. cse/table1, or of "
                f"{', '.join(sorted({*LEVELS, *papers}))}."
            )
        chosen += meant
    return list(dict.fromkeys(chosen))


# -- what a job is made from -------------------------------------------------------------------------------------------


def plan(profile: str) -> dict[str, Job]:
    """The grid, with the digests of each job brought up to date, for the Snakefile."""
    found = jobs(profile)
    for job in found.values():
        _write_digests(job, _digests(job))
    return found


def changes(job: Job) -> list[str]:
    """Name what changed since the job's digests were written, or since it was done."""
    then, now = _read(job.file("digests")), _digests(job)
    found = [name for name in sorted({*then, *now}) if then.get(name) != now.get(name)]
    return found if job.file("done").is_file() else ["it has not ended well here"]


def _digests(job: Job) -> lineage.Digests:
    """Digest what the job was made from the last time, and what it is sure to be made from."""
    names = {*_read(job.file("digests")), *_given(job)}
    return {**lineage.digests(sorted(names)), **_left(job)}


def _given(job: Job) -> list[str]:
    """Name the files that decide what a job leaves, whichever code it will load."""
    base = root()
    level, _, name = job.name.partition("/")
    room = base / "lib" / "sentbook"
    drawing = [file for file in (room / "report_old").rglob("*.*") if file.suffix != ".pyc"]
    of_papers = [file for kind in ("tables", "figures") for file in room.glob(f"papers/*/*{kind}.py")]
    stated = [file for ending in ("yaml", "csv") for file in base.glob(f"lib/sentbook/papers/**/*.{ending}")]
    lock = base / "requirements.lock"
    if level == "data":
        return [f"data:{file}" for file in files_of(name, job.profile)]
    if level == "encoders":
        return _names(profile_files(name.partition("/")[0], job.profile))
    if level == "notebooks":
        paper, _, experiment = name.partition("/")
        shown = [base.glob(f"results/{kind}/{paper}/*.json") for kind in ("small", "paper") if kind != job.profile]
        # Tables and figures are outputs of cells, drawn from encoders and scores that no file holds: where their code
        # changes the notebook is executed again. It trains nothing then, and no recorded run is stale; see `lineage`.
        drawing = [file for file in drawing if file.name not in PAGES]
        drawing += [file for file in of_papers if file.parent.name == paper]
        drawing += [file for file in stated if file.name == lineage.AFTER and file.parent.name == paper]
        files = [lock, *drawing, *(file for group in shown for file in group)]
        return [*lineage.given(paper, experiment, job.profile), *_names(files)]
    if level == "verdicts":
        return _names([*stated, *base.glob(f"results/{job.profile}/*/*.json")])
    anew = {"_api", "_executed", "_generated", "_runs"}
    text = [file for file in (base / "book").rglob("*") if not anew & set(file.parts)]
    runs = [file for file in base.glob("results/*/*/*.json") if "custom" not in file.parts]
    # Of the code: a page of the package shows each docstring.
    made = [*room.rglob("*.py"), lock, base / "_toc.yml", base / "_config.yml", room / "data" / "registry.json"]
    # Its pages say which recorded run is stale, of whichever profile.
    return _names([*text, *drawing, *stated, *runs, *made, *base.glob("params/*/*.yaml")]) if level == "book" else []


def _names(paths: Iterable[Path]) -> list[str]:
    return sorted(path.relative_to(root()).as_posix() for path in paths if path.is_file())


def _left(job: Job) -> lineage.Digests:
    """Say whether what the job leaves is there, so that it runs again where somebody took it away; and its prose."""
    level, _, name = job.name.partition("/")
    if level == "notebooks":
        source = lineage.notebook_path(*name.split("/"))
        return {"prose": lineage.short(source.read_bytes()), "page": str(is_executed(source, job.profile))}
    if level == "book":
        return {"page": str((root() / "_build" / "html" / "index.html").is_file())}
    return {}


def _read(file: Path) -> dict[str, str]:
    try:
        return dict(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):  # not yet, or no digests
        return {}


def _write_digests(job: Job, content: lineage.Digests) -> None:
    file, text = job.file("digests"), json.dumps(content, indent=1, sort_keys=True) + "\n"
    if not file.is_file() or file.read_bytes() != text.encode():
        write_atomically(file, text)


# -- a job, from inside ------------------------------------------------------------------------------------------------


@contextmanager
def recorded(profile: str, name: str) -> Iterator[None]:
    """Do a job in the block, and leave its digests and its stamp when it ends well; stop it when its batch is dead.

    Raises:
        KeyboardInterrupt: the batch died, or this process was asked to end.
    """
    job = Job(profile, name)
    # What it leaves from here on may be of neither the old sources nor the new ones.
    # There is one book a checkout: it takes the place of another profile's.
    for stamp in [job.file("done"), *((root() / "build" / "batch").glob("*/book.done") if name == "book" else ())]:
        stamp.unlink(missing_ok=True)
    started = time.time()
    with stoppable(), _with_owner():
        yield
    level, _, rest = name.partition("/")
    names = set(_given(job))
    if level == "notebooks":
        paper, _, experiment = rest.partition("/")
        run = ledger.read(paper, experiment, profile)
        # A notebook that records nothing can be of any file of the package.
        used = _names((root() / "lib" / "sentbook").rglob("*.py"))
        names |= {*used, *(f"data:{file}" for file in (run.provenance.data if run is not None else ()))}
    else:
        names |= {*loaded_sources(), *(f"data:{file}" for file in sources.used())}
    found = {**lineage.digests(sorted(names)), **_left(job)}
    for file in names:
        path = root() / file
        if path.is_file() and path.stat().st_mtime > started:
            found[file] = "changed while it ran"
    _write_digests(job, found)
    for stamp in {job.file("done"), Path(os.environ.get(STAMP, job.file("done"))).absolute()}:
        write_atomically(stamp, "")
    if job.file("tsv").is_file():  # Snakemake holds it to be output too
        job.file("tsv").touch()


@contextmanager
def _with_owner() -> Iterator[None]:
    """Interrupt this process when the batch that began it has died."""
    named = os.environ.get(OWNER, "")
    over = threading.Event()
    owner = None
    with suppress(psutil.NoSuchProcess):
        owner = psutil.Process(int(named)) if named.isdecimal() else None

    def watch() -> None:
        while named and not over.wait(0.5):
            if owner is None or not _lives(owner):
                print("sentbook: The batch that began this job is dead; the job stops.", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGTERM)
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _lives(process: psutil.Process) -> bool:
    """Tell whether a process is there still, and not another one of its number; a step of the clock is no other one."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


# -- all of them -------------------------------------------------------------------------------------------------------


class JobLines(logging.Handler):
    """One line for each job that ended, from Snakemake's events: how many are done, which it was, and its seconds.

    Of a job that failed the last lines of its log; what else is an error stands as Snakemake says it. Snakemake's own
    lines are silenced by ``quiet`` in ``workflow/profiles``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._begun: dict[int, tuple[str, float]] = {}
        self._ended = ("", 0.0)

    def emit(self, record: logging.LogRecord) -> None:
        """Tell of one event; see ``snakemake_interface_logger_plugins.common.LogEvent``."""
        told = vars(record)
        event = str(getattr(told.get("event"), "value", ""))
        if event == "job_info":
            self._begun[told["jobid"]] = (told["rule_msg"], record.created)
        elif event == "job_finished":
            self._ended = self._begun.get(told["job_id"], ("", record.created))
        elif event == "progress":
            name, begun = self._ended
            self._say(f"{told['done']} of {told['total']}  {name}  {record.created - begun:.0f} s")
        elif event == "job_error":
            name, _ = self._begun.get(told["jobid"], (told["rule_name"], 0.0))
            logs = [Path(file).read_text(errors="replace") for file in told["log"] if Path(file).is_file()]
            self._say("\n".join([f"failed: {name}, see {', '.join(told['log'])}", *(tail(log, 8) for log in logs)]))
        elif record.levelno >= logging.ERROR and not str(record.msg).startswith(_TOLD_ALREADY):
            self._say(str(record.msg))

    def _say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def run(
    profile: str,
    cores: int,
    *,
    targets: Sequence[str] = (),
    resources: Sequence[str] = (),
    executor: str | None = None,
    dry_run: bool = False,
) -> None:
    """Have Snakemake do what is to be done; after a failure or a kill, the same call goes on.

    Args:
        cores: processor cores to use; with an executor, jobs handed over at once.
        targets: see `select`; all when there are none.
        resources: Snakemake's, e.g. ``gpu=1``.
        executor: a folder of ``workflow/profiles``, e.g. ``slurm``.
        dry_run: list the jobs and why, and do nothing.

    Raises:
        BatchError: another batch is at work, jobs failed, or Snakemake did.
        ConfigError, DataError, NotebookError: see `jobs` and `select`.
    """
    profiles = root() / "workflow" / "profiles"
    known = sorted(path.name for path in profiles.iterdir() if path.name != "default")
    if executor is not None and executor not in known:
        raise ConfigError(f"There is no executor '{executor}'; choose one of {', '.join(known)}.")
    if odd := [item for item in resources if not re.fullmatch(r"\w+=\d+", item)]:
        raise ConfigError(f"'{odd[0]}' is no resource with its number; write for example --resources gpu=1.")
    found = jobs(profile)
    chosen = select(found, targets)
    if executor is None and profile == "paper" and not any(item.startswith("gpu=") for item in resources):
        resources = (*resources, "gpu=1")
    needed = set(chosen)
    for name in reversed(found):  # those that others need come before them
        needed |= {*found[name].after} if name in needed else set()
    # The longest first, so that none is left alone at the end.
    longest = sorted((found[name] for name in needed), key=lambda job: -(job.last() or (0.0, 0.0))[0])
    longest = longest[: len(longest) // 4 + 1]
    arguments = [
        *(_shown(found[name].file("done")) for name in chosen), "--directory", str(root()),
        "--snakefile", str(root() / "Snakefile"), "--workflow-profile", str(profiles / (executor or "default")),
        *(["--jobs", str(cores)] if executor else ["--cores", str(cores)]), "--nolock",
        "--config", f"profile={profile}", "--prioritize", *(_shown(job.file("done")) for job in longest),
        *(["--resources", *resources] if resources else []), *(["--dry-run"] if dry_run else []),
    ]  # fmt: skip
    if dry_run:
        for name in chosen:
            if why := changes(found[name]):
                print(f"{name}: {', '.join(why[:3])}{f' and {len(why) - 3} more' if len(why) > 3 else ''}", flush=True)
    if executor is None and cores > 1:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Processes of the demo work a few seconds each; what Snakemake measures of a fork is the process that asked for it.
    server = forkserver.served() if profile == "demo" and executor is None and cores > 1 else nullcontext()
    with _alone(), server:
        started = time.time()
        ended = _snakemake(arguments, executor)
    failed = [job for job in found.values() if not job.file("done").is_file() and _age(job.file("log")) > started]
    if not ended and not dry_run and failed:
        told = [f"{job.name}: {tail(job.file('log').read_text(errors='replace'), 1)}" for job in failed]
        raise BatchError(
            f"{len(failed)} job{'' if len(failed) == 1 else 's'} failed; mend what follows and run the same command "
            "again.\n" + "\n".join(told)
        )
    if not ended:
        raise BatchError("Snakemake stopped before any job failed; its message stands above.")


def _snakemake(arguments: list[str], executor: str | None) -> bool:
    """Call Snakemake in this process, so that who kills one kills both; whether it ended well."""
    own = str(Path(sys.executable).parent)
    os.environ["PATH"] = f"{own}{os.pathsep}{os.environ.get('PATH', '')}"
    # A pod is told all of them, and has to be told something.
    for variable, value in (("SENTBOOK_ROOT", root()), ("SENTBOOK_ARTIFACTS", artifacts()), ("SENTBOOK_DATA", "")):
        os.environ.setdefault(variable, str(value))
    if executor is None:
        os.environ[OWNER] = str(os.getpid())
    from snakemake.cli import args_to_api, parse_args

    parser, options = parse_args(arguments)
    return bool(args_to_api(options, parser))


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the checkout for one batch.

    Raises:
        BatchError: another batch is at work.
    """
    path = make_folder(root() / "build" / "batch") / "lock"
    with path.open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BatchError(
                f"Another batch is at work in this checkout (see {path}); wait for its end, or stop it first."
            ) from None
        yield


def _shown(path: Path) -> str:
    return path.relative_to(root()).as_posix()


def _age(path: Path) -> float:
    return path.stat().st_mtime if path.is_file() else 0.0
