"""A page behind each recorded run: its claims and provenance, every score per seed, tests and settings."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from pathlib import Path

import pandas as pd
import yaml
from markupsafe import Markup
from sphinx.application import Sphinx

from _ext.html import render, title
from sentbook.io import root
from sentbook.judge.claims import papers
from sentbook.records import Run, load
from sentbook.report import numbers, summary, table
from sentbook.report import page as result_page

PROFILES = ("small", "paper")
FOLDER = "_runs"


@cache
def recorded() -> list[Run]:
    """Return every committed run, in the order of the book, the profile ``small`` first."""
    folders = list(papers())
    files = [file for profile in PROFILES for file in (root() / "results" / profile).glob("*/*.json")]
    runs = [run for file in files if (run := load(file)) is not None]

    def place(run: Run) -> tuple[int, bool, str, int]:
        order = folders.index(run.paper) if run.paper in folders else len(folders)
        return order, not run.experiment.startswith(("table", "figure")), run.experiment, PROFILES.index(run.profile)

    return sorted(runs, key=place)


def address(run: Run) -> str:
    """Return the run's page, relative to ``book/``, without an ending."""
    return f"{FOLDER}/{run.profile}/{run.name}"


def write_pages(app: Sphinx) -> None:
    """Write the page of every recorded run before Sphinx looks for its sources; remove those of runs that are gone."""
    folder, kept = Path(app.srcdir) / "book" / FOLDER, set()
    for run in recorded():
        path = Path(app.srcdir) / "book" / f"{address(run)}.md"
        kept.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(run), encoding="utf-8")
    for path in folder.rglob("*.md"):
        if path not in kept:
            path.unlink()


def page(run: Run) -> str:
    """Return the page of a run as Markdown."""
    shown = result_page(run.name, profile=run.profile)
    notebook = root() / "book" / "_executed" / f"{run.name}.ipynb"
    return str(
        render(
            "run.md",
            run=run,
            title=title(run.paper, run.experiment),
            shown_on=f"../../../_executed/{run.name}.ipynb" if notebook.is_file() else "",
            details=shown.details().html,
            scores=scores(run),
            seeds=[f"seed {seed}" for seed in summary.ordered(row.seed for row in run.metrics)],
            tests=shown.tests().html if run.tests else "",
            settings=Markup(
                yaml.safe_dump(run.provenance.config, sort_keys=False, allow_unicode=True, default_flow_style=None)
            ),
        )
    )


def scores(run: Run) -> dict[str, list[dict[str, str]]]:
    """Return for each method a line per data set, metric and protocol, its values by seed."""
    found: dict[str, dict[tuple[str, str, str], dict[str, str]]] = {}
    for row in run.metrics:
        line = found.setdefault(row.method, {}).setdefault(
            (row.dataset, row.metric, row.protocol),
            {"set": summary.full_name(row.dataset), "metric": numbers.name(row.metric), "protocol": row.protocol},
        )
        line[f"seed {row.seed}"] = numbers.shown(row.value, row.metric, places=numbers.digits(row.metric) + 1)
    return {method: list(lines.values()) for method, lines in found.items()}


def compute() -> Markup:
    """Return what the records of each paper took: processors, memory, and hours, each cached training counted once."""
    rows = []
    for (paper, profile), held in groupby(sorted(recorded(), key=_owner), key=_owner):
        runs = list(held)
        trainings = {
            one["key"]: one["wall_seconds"]
            for run in runs
            for one in run.extra.get("artifacts", ())
            if "wall_seconds" in one
        }
        rows.append(
            {
                "Paper": papers()[paper].name,
                "Profile": profile,
                "Processor": ", ".join(sorted({run.provenance.device for run in runs})),
                "Memory": numbers.memory(max(run.provenance.peak_memory_bytes for run in runs)),
                "Pages": len(runs),
                "Runs, hours": sum(run.provenance.wall_seconds for run in runs) / 3600,
                "Trainings": len(trainings),
                "Trainings, hours": sum(trainings.values()) / 3600,
            }
        )
    note = (
        "Runs: from the first cell to the last, searches included. Trainings: seconds of each, on one or two threads, "
        "each counted once; most were cached by another page."
    )
    return table(pd.DataFrame(rows), note=note).html


def _owner(run: Run) -> tuple[str, str]:
    return run.paper, run.profile


def overview() -> Markup:
    """Return a table of all recorded runs, each a link to its page."""
    rows = []
    for run in recorded():
        made = run.provenance
        link = Markup('<a href="{}.html">{}</a>').format(address(run), title(run.paper, run.experiment))
        rows.append(
            {
                "Run": link,
                "Profile": run.profile,
                "Seeds": len(made.seeds),
                "Scores": len(run.metrics),
                "Date": made.started[:10],
                "Time": numbers.minutes(made.wall_seconds),
                "Training": numbers.minutes(made.training_seconds) if made.training_seconds else numbers.DASH,
                "Memory": numbers.memory(made.peak_memory_bytes),
                "State": "stale" if run.stale else "current",
            }
        )
    return table(
        pd.DataFrame(rows),
        note="Time: of the run. Training: the sum over the encoders that it used, most of them cached by earlier runs.",
    ).html
