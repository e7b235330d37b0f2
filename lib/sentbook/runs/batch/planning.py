"""What the batch has to do: which jobs there are, what each is made from, and why it has to be done again.

    data -> vectors -> encoders -> notebooks -> verdicts -> book

A job is fresh where its stamp names the digests that `sentbook.runs.lineage` finds now; times of files count for nothing.
Nothing here imports torch: a plan takes seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from sentbook.data import modern
from sentbook.data import sources as files
from sentbook.runs import ledger, lineage
from sentbook.runs.batch.stamps import BATCH, LEVELS, Job, folder, last, read
from sentbook.runs.contents import notebooks
from sentbook.runs.execution import executed_path
from sentbook.system.errors import ConfigError
from sentbook.system.files import write_atomically
from sentbook.system.paths import artifacts, root

# The encoders that several notebooks of a paper start from, as `pretrained` of sentbook.papers.<paper> names them.
ENCODERS: dict[str, tuple[str, ...]] = {
    "cse": ("PP", "CSE"),
    "cnn_lstm": tuple(
        model + words
        for words in ("", "+emb.")
        for model in ("autoencoder", "future predictor", "hierarchical model", "composite model")
    ),
    "wsv": ("WSV-SCNN-SV",),
    "dnt": ("InferSent", "BiLSTM-Avg", "GRAN", "PP", "CSE", "WSV"),
}
# The papers that show encoders of today where their parameters do not say otherwise.
_MODERN = ("dnt", "cnn_lstm", "cross")
# Megabytes and minutes to ask for where none are on record.
_MEMORY = {"demo": 2_000, "small": 6_000, "paper": 24_000}
_MINUTES = {"demo": 30, "small": 480, "paper": 2_880}
WHOLE = "all"
PLAN = "plan.json"


@dataclass(frozen=True)
class Step:
    """A job with its place in the plan.

    Attributes:
        after: the jobs that must have ended before it.
        threads: processor cores that it keeps busy.
        reasons: why it is to be done: what changed since its stamp; empty where nothing did.
        options: what else decides whether it is fresh.
    """

    job: Job
    after: tuple[Job, ...] = ()
    threads: int = 1
    reasons: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def resources(self) -> dict[str, int]:
        """Megabytes and minutes to ask a cluster for: those of the last time, and as much again."""
        before = last(self.job)
        memory = before.get("peak_memory_bytes") or _recorded(self.job, "peak_memory_bytes")
        seconds = before.get("seconds") or _recorded(self.job, "wall_seconds")
        return {
            "mem_mb": max(1_000, round(2 * memory / 1e6)) if memory else _MEMORY.get(self.job.profile, 8_000),
            "runtime": max(10, round(2 * seconds / 60)) if seconds else _MINUTES.get(self.job.profile, 480),
        }

    def expected(self) -> float | None:
        """Seconds it took the last time."""
        return last(self.job).get("seconds") or _recorded(self.job, "wall_seconds")


def slug(method: str) -> str:
    """A method's name for a file.

    Example:
        >>> slug("autoencoder+emb.")
        'autoencoder-emb'
    """
    return re.sub(r"[^a-z0-9]+", "-", method.lower()).strip("-")


# -- jobs --------------------------------------------------------------------------------------------------------------


def plan(profile: str, targets: Sequence[str] = ()) -> list[Step]:
    """Every job of ``profile`` that ``targets`` needs, each after those it needs.

    Args:
        targets: levels (``encoders``), papers (``cse``) or jobs (``cse/table1``); none: all.

    Raises:
        ConfigError: a target is none of these, or a parameter is at fault.
        NotebookError: the table of contents names a notebook that does not exist.
    """
    steps = [_with_reasons(step) for step in _steps(profile)]
    if not targets:
        return steps
    unknown = [name for name in targets if not any(_is_meant(name, step.job) for step in steps)]
    if unknown:
        known = sorted({*LEVELS, *(step.job.name.split("/")[0] for step in steps if step.job.level == "notebooks")})
        raise ConfigError(
            f"'{unknown[0]}' is no job of the batch; choose a notebook, e.g. cse/table1, or of {', '.join(known)}."
        )
    wanted = {step.job for step in steps if any(_is_meant(name, step.job) for name in targets)}
    for step in reversed(steps):  # those that others need come before them
        if step.job in wanted:
            wanted |= set(step.after)
    return [step for step in steps if step.job in wanted]


def _is_meant(target: str, job: Job) -> bool:
    name = target.removesuffix(".ipynb").removeprefix("notebooks/")
    return name in (job.level, job.name, f"{job.level}/{job.name}", f"{job.level} {job.name}") or (
        job.level == "notebooks" and job.name.startswith(f"{name}/")
    )


def _steps(profile: str) -> list[Step]:
    sources = notebooks()
    papers = list(dict.fromkeys(source.parent.name for source in sources))
    given = {paper: _parameters(paper, profile) for paper in papers}
    data = {paper: Step(Job(profile, "data", paper), options={"names": files_of(paper, profile)}) for paper in papers}
    data = {paper: step for paper, step in data.items() if step.options["names"]}
    vectors = _vectors(profile, data.values()) if any(values["modern"] for values in given.values()) else []
    encoders = {paper: _encoders(paper, profile, given[paper]["jobs"], data) for paper in papers if paper in ENCODERS}
    made = []
    for source in sources:
        paper = source.parent.name
        on = (paper, *lineage.BUILDS_ON.get(paper, ()))
        before = [data[paper].job] if paper in data else []
        before += [step.job for step in vectors if given[paper]["modern"]]
        before += [step.job for name in on for step in encoders.get(name, [])]
        made.append(Step(Job(profile, "notebooks", f"{paper}/{source.stem}"), tuple(before), given[paper]["jobs"]))
    ends = tuple(step.job for step in made)
    verdicts = Step(Job(profile, "verdicts", WHOLE), ends)
    last_steps = [verdicts, Step(Job(profile, "book", WHOLE), (*ends, verdicts.job))]
    return [*data.values(), *vectors, *(step for group in encoders.values() for step in group), *made, *last_steps]


def _parameters(paper: str, profile: str) -> dict[str, Any]:
    """Of a paper's parameters those that a plan needs; `sentbook.config` would import torch for them."""
    file = root() / "params" / paper / f"{profile}.yaml"
    if not file.is_file():
        raise ConfigError(f"There is no profile '{profile}' of {paper}; choose demo, small or paper.")
    try:
        found = yaml.safe_load(file.read_bytes()) or {}
    except yaml.YAMLError:
        raise ConfigError(f"{file} is not valid YAML; mend it.") from None
    return {"jobs": int(found.get("jobs", 1)), "modern": found.get("modern", paper in _MODERN)}


def files_of(paper: str, profile: str) -> list[str]:
    """The files that the recorded runs of the profile opened, or those of profile small where none are recorded."""
    for kind in () if profile == "demo" else (profile, "small"):
        recorded = (root() / "results" / kind / paper).glob("*.json")
        if known := sorted({name for file in recorded for name in _data_of(file)} & set(files.registry())):
            return known
    return []


def _vectors(profile: str, data: Iterable[Step]) -> list[Step]:
    """Vectors that are computed once and kept; others are made in memory, within seconds, wherever they are needed."""
    after = tuple(step.job for step in data)
    return [Step(Job(profile, "vectors", name), after) for name in modern.MODERN if modern.available(name)]


def _encoders(paper: str, profile: str, jobs: int, data: Mapping[str, Step]) -> list[Step]:
    """A job a method; of the demo, whose trainings take seconds, one a paper."""
    before = (data[paper].job,) if paper in data else ()
    if profile == "demo":
        return [Step(Job(profile, "encoders", paper), before, threads=jobs)]
    return [
        Step(Job(profile, "encoders", f"{paper}/{slug(method)}"), before, threads=jobs) for method in ENCODERS[paper]
    ]


# -- what a job is made from -------------------------------------------------------------------------------------------


def sources(job: Job) -> dict[str, str]:
    """Digests of all that can change what the job leaves, but for its data."""
    paper, _, name = job.name.partition("/")
    if job.level == "notebooks":
        return lineage.page_sources(paper, name, job.profile)
    if job.level == "encoders":
        modules = lineage.module_sources("sentbook.training.recipes", f"sentbook.papers.{paper}")
        return {**lineage.parameter_sources(paper, job.profile), **modules}
    if job.level == "vectors":
        return lineage.module_sources("sentbook.data.modern")
    if job.level == "verdicts":
        return {
            **lineage.module_sources("sentbook.evidence_cli"),
            **_plain(f for f in root().glob("lib/sentbook/papers/**/*") if f.suffix in (".yaml", ".csv")),
            **_plain(root().glob(f"results/{job.profile}/*/*.json")),
        }
    return _book_sources() if job.level == "book" else {}


def sources_at_start(job: Job) -> dict[str, str]:
    """`sources` for a job that begins now: the plan's, where it has them; the next plan finds what changed since."""
    planned = read(folder(job.profile) / PLAN) if os.environ.get(BATCH) else None
    return (planned or {}).get(_level_and_name(job), {}).get("sources") or sources(job)


def _book_sources() -> dict[str, str]:
    """The book's own: its text, all that draws, and the recorded runs that its pages tell of."""
    base = root()
    text = [file for file in (base / "book").rglob("*") if not {"_executed", "_generated", "_runs"} & set(file.parts)]
    drawing = [
        *(base / "lib" / "sentbook" / "report").rglob("*.*"),
        *(f for f in base.glob("lib/sentbook/papers/**/*") if f.suffix in (".yaml", ".csv")),
    ]
    runs = [file for file in base.glob("results/*/*/*.json") if "custom" not in file.parts]
    # Its pages say which recorded run is stale, of whichever profile.
    parameters = [lineage.parameter_sources(file.parent.name, file.stem) for file in base.glob("params/*/*.yaml")]
    registry = base / "lib" / "sentbook" / "data" / "registry.json"
    files = [*text, *drawing, *runs, registry, base / "_toc.yml", base / "_config.yml", base / "requirements.lock"]
    return {
        **lineage.module_sources("sentbook.report.book", "sentbook.report.fragments"),
        **{name: digest for found in parameters for name, digest in found.items()},
        **_plain(files),
    }


def _plain(paths: Iterable[Path]) -> dict[str, str]:
    """Digests of files byte by byte."""
    return {
        path.relative_to(root()).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in sorted(paths)
        if path.is_file() and path.suffix != ".pyc"
    }


def data(names: Iterable[str]) -> dict[str, str]:
    """Digests of data files as they lie here, for a stamp."""
    return lineage.data(names)


def _data_of(file: Path) -> list[str]:
    """The data files that a recorded run opened."""
    recorded = read(file) or {}
    return list(recorded.get("provenance", {}).get("data", {}))


def opened(job: Job) -> dict[str, str]:
    """Digests of the data files that a notebook's run opened, as its record has them."""
    paper, _, name = job.name.partition("/")
    return data(_data_of(ledger.path_of(paper, name, job.profile)))


def _recorded(job: Job, value: str) -> float | None:
    if job.level != "notebooks":
        return None
    paper, _, name = job.name.partition("/")
    found = (read(ledger.path_of(paper, name, job.profile)) or {}).get("provenance", {}).get(value)
    return float(found) if found else None


# -- why it is done again ----------------------------------------------------------------------------------------------


def _with_reasons(step: Step) -> Step:
    return replace(step, reasons=tuple(_reasons(step)))


def _reasons(step: Step) -> list[str]:
    job, stamp = step.job, read(step.job.stamp)
    if stamp is None:
        state = (read(job.state) or {}).get("state")
        return [f"the last time it {_ENDED[state]}" if state in _ENDED else "it was not run here before"]
    then, now = stamp.get("sources", {}), sources(job)
    found = [name for name in sorted({*then, *now}) if then.get(name) != now.get(name)]
    kept = stamp.get("data", {})
    current = data(kept)
    found += [f"data:{name}" for name in sorted(kept) if current.get(name) != kept[name]]
    found += [f"data:{name}" for name in step.options.get("names", []) if name not in kept]
    found += [f"{path} is not there" for path in _missing(job, stamp)]
    return found


_ENDED = {"failed": "failed", "stopped": "was stopped", "running": "was killed"}


def _missing(job: Job, stamp: Mapping[str, Any]) -> list[str]:
    """What the job left and somebody took away."""
    if job.level == "notebooks":
        paper, _, name = job.name.partition("/")
        left = [executed_path(lineage.notebook_path(paper, name), job.profile)]
    elif job.level == "encoders":
        left = [artifacts() / key / "encoder.safetensors" for key in stamp.get("keys", [])]
    elif job.level == "book":
        left = [root() / "_build" / "html" / "index.html"]
    else:
        left = []
    return [_shown(path) for path in left if not path.is_file()]


def _shown(path: Path) -> str:
    return path.relative_to(root()).as_posix() if path.is_relative_to(root()) else str(path)


# -- for the Snakefile -------------------------------------------------------------------------------------------------


def due(steps: Sequence[Step]) -> list[Step]:
    """The steps to be done: those with a reason, and the verdicts and the book after any notebook."""
    chosen: dict[Job, Step] = {}
    for step in steps:
        follows = step.job.level in ("verdicts", "book")
        if step.reasons or (follows and any(job in chosen for job in step.after)):
            chosen[step.job] = step
    return list(chosen.values())


def write(steps: Sequence[Step], file: Path) -> None:
    """The steps to be done, as the Snakefile reads them."""
    doing = due(steps)
    jobs = {step.job for step in doing}
    content = {
        _level_and_name(step.job): {
            # What is fresh already is no reason for anything.
            "after": [_shown(job.stamp) for job in step.after if job in jobs],
            "threads": step.threads,
            **step.resources(),
            # Verdicts and book are made from what the others leave.
            "sources": sources(step.job) if step.job.level in ("encoders", "notebooks") else {},
        }
        for step in doing
    }
    write_atomically(file, json.dumps(content, indent=1) + "\n")


def _level_and_name(job: Job) -> str:
    return f"{job.level}/{job.name}"
