"""Pieces of the book written from recorded runs: status, data cards, overlap. Each function returns Markdown.

HTML pieces stand on one line each, so that Markdown leaves them alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sentbook.records import Run
from sentbook.report import numbers, templates
from sentbook.report.markup import Fragment, esc, run_name, why
from sentbook.report.summary import ordered
from sentbook.report.table import LEFT, Row, Table, simple, time_of
from sentbook.runs import ledger
from sentbook.runs.papers import papers
from sentbook.system.errors import DataError
from sentbook.system.paths import root

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


def _link(text: str, target: str | None) -> str:
    return f'<a href="{esc(target)}">{esc(text)}</a>' if target else esc(text)


def title(experiment: str) -> str:
    """``table1`` -> ``Table 1``.

    Example:
        >>> title("table1"), title("figure3"), title("ambiguities")
        ('Table 1', 'Figure 3', 'Ambiguities')
    """
    for word in ("table", "figure"):
        rest = experiment.removeprefix(word)
        if rest != experiment and rest.isdigit():
            return f"{word.capitalize()} {rest}"
    return experiment.replace("_", " ").capitalize()


# -- status ------------------------------------------------------------------------------------------------------------


def status_page(
    folders: Sequence[str] = papers(),
    *,
    profiles: Sequence[str] = PROFILES,
    runs: Sequence[Run] | None = None,
    pages: Mapping[str, str] | None = None,
) -> str:
    """Which notebook ran when, where, with what, and for how long, in each profile.

    Args:
        runs: None: every recorded run of ``folders``.
        pages: ``<paper>/<experiment>`` -> address.

    Returns:
        Markdown.
    """
    if runs is None:
        runs = [run for profile in profiles for paper in folders for run in recorded(paper, [profile]).values()]
    if not runs:
        return "No run is recorded yet.\n"
    times = {(f"{run.paper}/{run.experiment}", run.profile): run for run in runs}
    names = sorted({name for name, _ in times})
    columns = [p for p in profiles if any(profile == p for _, profile in times)]
    columns += [p for p in ordered(profile for _, profile in times) if p not in columns]
    rows = []
    for name in names:
        cells = [_link(name, (pages or {}).get(name))]
        for profile in columns:
            run = times.get((name, profile))
            cells.append(
                f"{why(time_of(run), run_name(run))}"
                f'<span class="sb-ci">{esc(numbers.memory(run.provenance.peak_memory_bytes))}, '
                f"{esc(run.provenance.started[:10])}</span>"
                if run
                else '<span class="sb-soft">not run</span>'
            )
        rows.append(cells)
    total = ["Together"]
    for profile in columns:
        of_profile = [run for (_, p), run in times.items() if p == profile]
        # An encoder that several notebooks use was trained once.
        trained = {
            item["key"]: item["wall_seconds"]
            for run in of_profile
            for item in run.extra.get("artifacts", [])
            if "wall_seconds" in item
        }
        wall = sum(run.provenance.wall_seconds for run in of_profile)
        words = numbers.minutes(wall) + (f" + {numbers.minutes(sum(trained.values()))} of training" if trained else "")
        total.append(why(words, profile))
    caption = (
        '<strong>Time and memory of each notebook</strong><span class="sb-how">wall time, and the sum of the trainings '
        "that it used, each in one process of one thread; peak memory; date</span>"
    )
    body = simple(["Notebook", *columns], [*rows, total], caption, label="Time of each notebook")
    machines = ordered(
        (run.profile, run.provenance.device, run.provenance.python, tuple(run.provenance.packages.items()))
        for run in runs
    )
    lines = [
        f"- **{templates.plain(profile)}**: {templates.plain(device)}, Python {templates.plain(python)}, "
        + templates.plain(", ".join(f"{name} {version}" for name, version in packages))
        for profile, device, python, packages in machines
    ]
    commits = ordered(run.provenance.git_commit[:7] for run in runs)
    return (
        "\n\n".join(
            [
                Fragment(body).html(),
                "\n".join(lines),
                f"Commits: {', '.join(f'`{c}`' for c in map(templates.plain, commits))}.",
            ]
        )
        + "\n"
    )


# -- data --------------------------------------------------------------------------------------------------------------


def data_cards(
    entries: Mapping[str, Mapping[str, Any]] | None = None, *, kind: str | None = None, links: bool = True
) -> str:
    """A card for each data set: files, size, licence, where it comes from, digests.

    Args:
        entries: file -> {sha256, bytes, licence, source, url}; None: the registry.
        kind: ``eval``, ``train`` or ``vectors`` alone, without heading; None: all, each under its heading.
        links: link each file to its pinned address.

    Returns:
        Markdown: a heading and a table for each kind, a folded list of files for each data set.
    """
    if entries is None:
        from sentbook.data import sources  # the cards alone need the registry

        entries = sources.registry()
    sets: dict[tuple[str, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for name, entry in entries.items():
        first, _, rest = name.partition("/")
        dataset, slash, _ = rest.partition("/")
        sets.setdefault((first, dataset if slash else rest), []).append((name, entry))
    parts = []
    for shown in ordered(found for found, _ in sets if kind in (None, found)):
        if kind is None:
            parts.append(f"## {templates.plain(_KINDS.get(shown, shown.capitalize()))}")
        rows = []
        for (owner, dataset), files in sets.items():
            if owner != shown:
                continue
            size = sum(int(entry.get("bytes") or 0) for _, entry in files)
            rows.append([esc(dataset), _licences(files), _files(files, links=links), esc(numbers.memory(size))])
        heads = ["Data set", "Licence", "Files", "Size"]
        body = simple(heads, rows, left=3, label=_KINDS.get(shown, shown), text=frozenset({1, 2}), wrap=True)
        parts.append(Fragment(body, kind="sentbook-table sentbook-wide", facts=True).html())
    return "\n\n".join(parts) + "\n"


def _licences(files: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The licence, or a folded list where a data set's files have several or a long one."""
    found = ordered(str(entry.get("licence") or "not stated") for _, entry in files)
    if len(found) == 1 and len(found[0]) <= 90:
        return esc(found[0])
    head = f"{len(found)} licences" if len(found) > 1 else f"{esc(found[0][:60].rpartition(' ')[0])} \u2026"
    return f"<details><summary>{head}</summary><ul>{''.join(f'<li>{esc(one)}</li>' for one in found)}</ul></details>"


def _files(files: Sequence[tuple[str, Mapping[str, Any]]], *, links: bool) -> str:
    """A folded list: name, short digest, where the file comes from."""
    listed = "".join(
        f"<li>{_link(name.rpartition('/')[2], entry.get('url') if links else None)} "
        f"<code>{esc(str(entry.get('sha256') or entry.get('md5', ''))[:12])}</code> "
        f'<span class="sb-soft">{esc(entry.get("source") or "")}</span></li>'
        for name, entry in files
    )
    return f"<details><summary>{len(files)}</summary><ul>{listed}</ul></details>"


_KINDS = {"eval": "Test sets", "train": "Training corpora", "vectors": "Word vectors"}


def overlap_table(
    rows: Run | Sequence[Mapping[str, Any]], *, caption: str = "Sentences shared with the test sets"
) -> str:
    """How many sentences each training corpus shares with each test set.

    Args:
        rows: as `sentbook.data.overlap.report` gives them, or a run that holds them in ``extra["overlap"]``. Columns of
            text come first, counts after them.

    Returns:
        Markdown with the table as HTML.

    Raises:
        DataError: the run holds no such rows.
    """
    if isinstance(rows, Run):
        if "overlap" not in rows.extra:
            raise DataError(f"{rows.paper}/{rows.experiment} holds no overlap report; record it in extra['overlap'].")
        found: list[Mapping[str, Any]] = rows.extra["overlap"]
    else:
        found = list(rows)
    if not found:
        return "No training sentence occurs in a test set.\n"
    columns = ordered(name for row in found for name in row)
    texts = [name for name in columns if any(isinstance(row.get(name), str) for row in found)]
    columns = [*texts, *[name for name in columns if name not in texts]]
    heads = [name.replace("_", " ").capitalize() for name in columns]
    lines = [Row(cells[0], cells[1:]) for cells in ([_cell(n, row.get(n)) for n in columns] for row in found)]
    kinds = dict.fromkeys(range(len(texts) - 1), LEFT)
    of = rows if isinstance(rows, Run) else None
    return Table(heads[0], heads[1:], lines, caption, run=of, kinds=kinds).html() + "\n"


def _cell(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return numbers.count(value)
    if isinstance(value, float):
        return f"{numbers.plain(100 * value, 1)} %" if name == "share" else numbers.plain(value, 3)
    return value if isinstance(value, str) else json.dumps(value)
