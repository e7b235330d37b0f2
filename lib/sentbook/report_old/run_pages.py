"""The pages behind the numbers: for each experiment what was run, on what, how, and every row that it recorded."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

import yaml

from sentbook.io import parse_yaml, root, write_atomically
from sentbook.judge import judge
from sentbook.records import Run
from sentbook.report_old import figures, ledger, pedigree, tables, templates
from sentbook.report_old.book import digest_of
from sentbook.report_old.markup import Fragment, Html, badge, esc, run_name, verdict, why
from sentbook.report_old.pages import PROFILES, title
from sentbook.report_old.style import without_sheet
from sentbook.report_old.summary import ordered
from sentbook.report_old.table import Cell, Row, Table, badges, command, is_toy, time_of
from sentbook.report_old.view import differences, shortened
from sentbook.runs import lineage
from sentbook.runs.contents import listed
from sentbook.runs.ledger import read
from sentbook.runs.papers import paper_of

# What a figure's legend has room for: lines, and letters of their names.
_LINES, _LETTERS = 5, 70
_SPLITS = frozenset({"validation", "test", "train"})  # other curves are of no training
# Search finds what a book says, not digests and rows: these pages are found by their titles.
_STAMP = "---\nnosearch: true\n# made from "


# -- which pages -------------------------------------------------------------------------------------------------------


def experiments() -> list[tuple[str, str]]:
    """(paper, experiment) of every page that the table of contents lists, in its order."""
    names = [page.removeprefix(f"{pedigree.RUNS}/").split("/") for page in listed(pedigree.RUNS)]
    return [(paper, experiment) for paper, experiment in names]


def recorded(paper: str, experiment: str) -> list[Run]:
    """The runs of an experiment, the most faithful profile first."""
    return [run for profile in PROFILES if (run := read(paper, experiment, profile)) is not None]


def write() -> None:
    """Write the page of every experiment that the table of contents lists, one more of its demo, and take away others.

    A page is drawn again only where its runs, what they are made from, or the drawing changed.
    """
    folder, kept = root() / pedigree.RUNS, set()
    sources = [file for file in (root() / "lib" / "sentbook" / "report").rglob("*.*") if file.suffix != ".pyc"]
    given = ["_toc.yml", "_config.yml", "lib/sentbook/papers/papers.yaml"]
    drawing = digest_of([*sources, *(root() / name for name in given), *(root() / "params").glob("*/*.yaml")])
    for paper, experiment in experiments():
        runs = recorded(paper, experiment)
        toy = [run for run in runs if is_toy(run)]
        pages = {"": [run for run in runs if run not in toy]} | ({pedigree.TOY: toy} if toy else {})
        for suffix, shown in pages.items():
            path = folder / paper / f"{experiment}{suffix}.md"
            kept.add(path)
            changed = {run.profile: pedigree.changed_since(run) for run in shown}
            made_from = [drawing, changed, [run.model_dump_json() for run in shown]]
            stamp = _STAMP + hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]
            if not (path.is_file() and path.read_text(encoding="utf-8").startswith(stamp + "\n")):
                write_atomically(path, f"{stamp}\n---\n{without_sheet(page(paper, experiment, shown, changed))}")
    for path in folder.glob("*/*.md"):
        if path not in kept:
            path.unlink()


# -- one page ----------------------------------------------------------------------------------------------------------


def page(paper: str, experiment: str, runs: list[Run], changed: Mapping[str, list[str]]) -> str:
    """The page of an experiment, in Markdown.

    Args:
        runs: its recorded runs on real data, one a profile; or its demo's alone.
        changed: profile -> what differs now from what the run was made from, see `pedigree.changed_since`.
    """
    shown = f"book/_executed/{paper}/{experiment}"
    to = f"../../_executed/{paper}/{experiment}.ipynb" if shown in listed("book/_executed") else ""
    return templates.markdown(
        "run",
        name=f"{paper_of(paper).name}, {title(experiment).lower()}",
        toy=" on toy data" if any(map(is_toy, runs)) else "",
        to=to or ("../../data.md" if paper == "data" else ""),
        command=command(paper, experiment),
        parts=[_part(run, changed.get(run.profile, []), drawn=run is runs[0]) for run in runs],
    )


def _part(run: Run, changed: list[str], *, drawn: bool) -> dict[str, Any]:
    """What a page tells of one run; ``drawn``: with its curve as a figure."""
    stale = pedigree.state_words(run, changed)
    folded, curves = _curves(run, drawn=drawn)
    found: dict[str, Table] = {}
    if run.tests:
        found["Comparisons"] = tables.tests(run, caption="Differences with their 95 % intervals")
    if judge(run) and not is_toy(run):
        found["Claims"] = tables.claims(run, caption="By their rules")
    if run.cost:
        found["Cost"] = tables.cost(run, caption="Means over seeds")
    sections = {"Rows": ledger.rows(run)} if run.metrics else {}
    sections |= {heading: replace(table, anchors=run.profile).body for heading, table in found.items()}
    return {
        "run": run,
        "headline": _html(_headline(run, stale), "sentbook-run", style=True),
        "facts": _html(templates.html("facts", facts=_facts(run)), "sentbook-provenance"),
        "stale": stale,
        "changed": [] if changed in (lineage.UNKNOWN, lineage.EARLIER) else changed,
        "differences": [(name, shortened(ours), shortened(theirs)) for name, ours, theirs in differences(run, "paper")],
        "configuration": yaml.safe_dump(
            run.provenance.config, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None
        ),
        "curves_folded": folded,
        "curves": Html(curves),
        "sections": [(heading, _html(html, "sentbook-table sentbook-ledger")) for heading, html in sections.items()],
    }


def _html(body: str, kind: str = "sentbook-table", *, style: bool = False) -> Html:
    return Html(Fragment(body, kind=kind).html(style=style))


def _headline(run: Run, stale: str) -> str:
    """Which run, how its claims were judged, whether it is stale; it brings the page's style sheet."""
    row = badges(run, just_made=is_toy(run))
    if stale:
        row = row.replace("</ul>", f"{badge(stale, 'stale')}</ul>")
    if is_toy(run):
        return f'{row}<p class="sb-toy-name">Toy data: generated sentences. No verdict on the paper.</p>'
    counts = Counter(claim.verdict for claim in judge(run))
    judged = "".join(f'<li class="sb-badge">{count} {verdict(name)}</li>' for name, count in counts.items())
    return row + (f'<ul class="sb-badges" aria-label="Verdicts">{judged}</ul>' if judged else "")


def _facts(run: Run) -> dict[str, str]:
    """What is known of a run, the command that makes it again, and a link to its code."""
    settings = parse_yaml((root() / "_config.yml").read_text(encoding="utf-8"))
    repository = settings.get("repository", {}).get("url", "").rstrip("/")
    facts = tables.facts(run)
    commit, plus, rest = facts["Commit"].partition("+")
    if repository:
        facts["Commit"] = Html(f'<a href="{esc(repository)}/tree/{esc(commit)}">{esc(commit)}</a>{esc(plus + rest)}')
    again = Html(f"<code>{esc(command(run.paper, run.experiment, run.profile))}</code>")
    return {"Make it again": again, **facts}


def _curves(run: Run, *, drawn: bool) -> tuple[str, str]:
    """The curve that a choice was made by, as a figure; a head and numbers to fold below it otherwise."""
    groups = ordered((point.split, point.metric) for point in run.curves)
    if not groups:
        return "", ""
    split, metric = next((group for group in groups if group[0] == "validation"), groups[0])
    points = [point for point in run.curves if (point.split, point.metric) == (split, metric)]
    methods = {point.method for point in points}
    lengths = Counter((point.method, point.seed) for point in points).values()
    if max(lengths) == 1:  # one each: values, no curve
        return "", ledger.curve_rows(points).html(style=False)
    few = len(methods) <= _LINES and sum(map(len, methods)) <= _LETTERS
    if drawn and few and split in _SPLITS and min(lengths) > 1:
        return "", figures.training_curves(run, split=split, metric=metric).html(style=False)
    trainings = len({point.method for point in run.curves})
    return f"Curves of {trainings} trainings", ledger.curve_rows(run.curves).html(style=False)


# -- all runs ----------------------------------------------------------------------------------------------------------


def overview() -> str:
    """Every recorded run: date, commit, time, verdicts, fresh or stale; with links to be made by `pedigree.linked`."""
    lines: list[Row] = []
    for paper, of_paper in groupby(experiments(), key=lambda names: names[0]):
        lines.append(Row(paper_of(paper).name, head=True))
        for _, experiment in of_paper:
            to = Html(f'<a href="_runs/{esc(paper)}/{esc(experiment)}.html">{esc(title(experiment))}</a>')
            missing = Cell("not run", kind="sb-left sb-soft", span=6)
            lines += [Row(to, _state(run)) for run in recorded(paper, experiment)] or [Row(to, [missing])]
    return Table("Run", ["Profile", "State", "Date", "Commit", "Time", "Claims"], lines, label="Runs").html() + "\n"


def _state(run: Run) -> list[str]:
    made, name = run.provenance, run_name(run)
    words = pedigree.stale_words(pedigree.changed_since(run))
    state = words.removesuffix(" changed since").removeprefix("recorded by ")
    counts = Counter(verdict(claim.verdict) for claim in judge(run))
    judged = " ".join(f"{why(number, name)} {words}" for words, number in sorted(counts.items()))
    return [
        run.profile,
        why(state or "fresh", name),
        why(made.started[:10], name),
        Html(f"<code>{why(made.git_commit[:7], name)}</code>"),
        why(time_of(run), name),
        "toy data" if is_toy(run) else Html(judged),
    ]
