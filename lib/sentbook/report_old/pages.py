"""Pieces of the book written from recorded runs: status, data cards, overlap. Each function returns Markdown.

HTML pieces stand on one line each, so that Markdown leaves them alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sentbook.io import DataError, root
from sentbook.records import Run
from sentbook.report_old import numbers, tables, templates
from sentbook.report_old.markup import Html, esc, folded, run_name, why
from sentbook.report_old.summary import ordered
from sentbook.report_old.table import LEFT, TEXT, Cell, Row, Table, time_of
from sentbook.runs import ledger

# The most faithful first: a page shows the best run that was recorded.
PROFILES = ("paper", "small", "demo")


def recorded(paper: str, profiles: Sequence[str] = PROFILES) -> dict[str, Run]:
    """The best recorded run of each experiment of ``paper``: experiment -> run, tables first.

    Args:
        paper: folder name, e.g. ``cse``.
        profiles: in order of preference.

    Raises:
        DataError: a file is not a run of this schema.
    """
    runs: dict[str, Run] = {}
    for profile in profiles:
        folder = root() / "results" / profile / paper
        for file in sorted(folder.glob("*.json")) if folder.is_dir() else []:
            run = ledger.read(paper, file.stem, profile)
            if run is not None:
                runs.setdefault(file.stem, run)
    return dict(sorted(runs.items(), key=lambda item: in_order(item[0])))


def in_order(experiment: str) -> tuple[bool, str]:
    """A key that sorts the paper's tables and figures in order, then what was added to them."""
    return not experiment.startswith(("table", "figure")), experiment


def title(experiment: str) -> str:
    """``table1`` -> ``Table 1``.

    Example:
        >>> title("table1"), title("figure3"), title("ambiguities")
        ('Table 1', 'Figure 3', 'Ambiguities')
    """
    return re.sub(r"^(table|figure)(?=\d+$)", r"\1 ", experiment.replace("_", " ")).capitalize()


# -- status ------------------------------------------------------------------------------------------------------------


def status_page(folders: Sequence[str]) -> str:
    """Which notebook of ``folders`` ran when, where, with what, and for how long, in each profile; in Markdown."""
    runs = [run for profile in PROFILES for paper in folders for run in recorded(paper, [profile]).values()]
    if not runs:
        return "No run is recorded yet.\n"
    times = {(f"{run.paper}/{run.experiment}", run.profile): run for run in runs}
    profiles = ordered(run.profile for run in runs)
    missing = Cell(Html('<span class="sb-soft">not run</span>'))
    rows = [
        Row(
            Html(f"<code>{esc(name)}</code>"),
            [_time_and_memory(times[name, p]) if (name, p) in times else missing for p in profiles],
        )
        for name in sorted({name for name, _ in times})
    ]
    together = []
    for profile in profiles:
        of_profile = [run for run in runs if run.profile == profile]
        # An encoder that several notebooks use was trained once.
        artifacts = [item for run in of_profile for item in run.extra.get("artifacts", [])]
        trained = sum({item["key"]: item.get("wall_seconds", 0.0) for item in artifacts}.values())
        words = numbers.minutes(sum(run.provenance.wall_seconds for run in of_profile))
        together.append(why(words + (f" + {numbers.minutes(trained)} of training" if trained else ""), profile))
    table = Table(
        "Notebook",
        profiles,
        [*rows, Row("Together", together)],
        "Time and memory of each notebook",
        "wall time, and the sum of the trainings that it used, each in one process of one thread; peak memory; date",
    )
    machines = ordered(
        (run.profile, *(tables.facts(run)[term] for term in ("Device", "Python", "Packages"))) for run in runs
    )
    commits = ordered(run.provenance.git_commit[:7] for run in runs)
    return templates.markdown("status", table=Html(table.html()), machines=machines, commits=commits, again=None)


def _time_and_memory(run: Run) -> Cell:
    below = f"{numbers.memory(run.provenance.peak_memory_bytes)}, {run.provenance.started[:10]}"
    return Cell(why(time_of(run), run_name(run)), below)


# -- data --------------------------------------------------------------------------------------------------------------


def data_cards(entries: Mapping[str, Mapping[str, Any]], kind: str) -> str:
    """A row for each data set of a kind: licence, files with their digests and where they come from, size.

    Args:
        entries: file -> {sha256, bytes, licence, source, url}, as `sentbook.data.sources.registry`.
        kind: the first folder of a file, such as ``eval``.
    """
    sets: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for name, entry in entries.items():
        first, _, rest = name.partition("/")
        if first == kind:
            sets.setdefault(rest.partition("/")[0], []).append((name.rpartition("/")[2], entry))
    rows = [
        Row(
            dataset,
            [
                _licences(ordered(str(entry.get("licence") or "not stated") for _, entry in files)),
                folded(str(len(files)), [templates.html("file", name=name, entry=entry) for name, entry in files]),
                numbers.memory(sum(int(entry.get("bytes") or 0) for _, entry in files)),
            ],
        )
        for dataset, files in sets.items()
    ]
    heads, kinds = ["Licence", "Files", "Size"], {0: TEXT, 1: TEXT}
    wide = "sentbook-table sentbook-wide"
    return (
        Table("Data set", heads, rows, label="Data sets", kinds=kinds, wrap=True, kind=wide, facts=True).html() + "\n"
    )


def _licences(found: Sequence[str]) -> str:
    """The licence, or a folded list where a data set's files have several or a long one."""
    if len(found) == 1 and len(found[0]) <= 90:
        return found[0]
    head = f"{len(found)} licences" if len(found) > 1 else f"{found[0][:60].rpartition(' ')[0]} \u2026"
    return folded(head, [esc(one) for one in found])


def overlap_table(run: Run) -> str:
    """How many sentences each training corpus shares with each test set: columns of text first, then counts.

    Raises:
        DataError: the run holds no rows of `sentbook.data.overlap.report` in ``extra["overlap"]``.
    """
    if "overlap" not in run.extra:
        raise DataError(f"{run.paper}/{run.experiment} holds no overlap report; record it in extra['overlap'].")
    found: list[Mapping[str, Any]] = run.extra["overlap"]
    if not found:
        return "No training sentence occurs in a test set.\n"
    columns = ordered(name for row in found for name in row)
    texts = [name for name in columns if any(isinstance(row.get(name), str) for row in found)]
    columns = [*texts, *[name for name in columns if name not in texts]]
    heads = [name.replace("_", " ").capitalize() for name in columns]
    rows = [Row(cells[0], cells[1:]) for cells in ([_cell(name, row.get(name)) for name in columns] for row in found)]
    kinds = dict.fromkeys(range(len(texts) - 1), LEFT)
    return Table(heads[0], heads[1:], rows, "Sentences shared with the test sets", run=run, kinds=kinds).html() + "\n"


def _cell(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return numbers.count(value)
    if isinstance(value, float):
        return f"{numbers.plain(100 * value, 1)} %" if name == "share" else numbers.plain(value, 3)
    return "" if value is None else str(value)
