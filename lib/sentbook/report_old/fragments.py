"""The generated fragments of the book's hand-written pages, from the recorded runs and the registries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sentbook.data import corpora, sources
from sentbook.io import root
from sentbook.judge import specifications
from sentbook.records import Run
from sentbook.report_old import figures, pages, pedigree, results_explorer, run_pages, summary, verdict_page
from sentbook.report_old.markup import esc, pipes
from sentbook.report_old.style import without_sheet
from sentbook.runs import ledger, verdict_ledger
from sentbook.runs.contents import listed, notebooks
from sentbook.runs.papers import paper_of, papers

PAPERS = papers()
PROFILES = ("small", "paper")  # the demo on the mini-world gives no verdict on a paper


def _pages(paper: str) -> dict[str, str]:
    """Addresses of a paper's notebook pages, from a page beside it."""
    folder = Path(ledger.path_of(paper, "x", "small")).parent
    return {path.stem: f"_executed/{paper}/{path.stem}.html" for path in sorted(folder.glob("*.json"))}


def _run_pages() -> dict[str, str]:
    """``<paper>/<experiment>`` -> address of the page of its run, from a page beside the chapters."""
    names = (page.removeprefix(f"{pedigree.RUNS}/") for page in listed(pedigree.RUNS))
    return {name: f"_runs/{name}.html" for name in names}


def _corpora() -> str:
    rows = []
    for name, corpus in corpora.CORPORA.items():
        if not name.startswith("miniworld"):
            found = corpora.describe(name)
            rows.append([f"`{name}`", corpus.substitute, esc(found["paper"]), esc(found["licence"])])
    return pipes(["corpus", "stands in for", "source", "licence"], rows, left=4)


def _overlap() -> str:
    run = ledger.read("data", "overlap", "small")
    return pages.overlap_table(run) if run else "*Not measured: run `sentbook data overlap --record`.*"


def _front(paper: str) -> str:
    """The figure of a paper's most important comparison; empty where it names none, or none is recorded."""
    front = paper_of(paper).front
    run = ledger.read(paper, front.experiment, "small") if front else None
    if front is None or run is None:
        return ""
    options = front.model_dump(exclude={"experiment"})
    return figures.paired_dots(run, summary.reported(paper, front.experiment), **options).html()


def _recorded(profiles: Sequence[str]) -> dict[tuple[str, str], Run]:
    return {(paper, name): run for paper in PAPERS for name, run in pages.recorded(paper, profiles).items()}


def _counts(runs: Mapping[tuple[str, str], Run], of_papers: Sequence[str]) -> str:
    return verdict_page.verdict_summary(verdict_ledger.entries(runs, of_papers)).html()


def _minute(paper: str, front: str, counts: str) -> str:
    """The claim in the paper's words and as it is judged, a figure, what came of it, and the verdicts."""
    minute = paper_of(paper).minute
    if minute is None:
        return ""
    claim, by = specifications()[minute.claim], paper_of(paper)
    said = f"> “{minute.quote}” ([{by.authors} {by.year}]({by.address}), {minute.section})"
    judged = f"**What is judged.** {claim.text} ({claim.id})."
    parts = [said, judged, front, f"**What came of it.** {minute.found}", f"**What was different.** {minute.different}"]
    return "\n\n".join([*map(cited, filter(None, parts)), counts])


def cited(text: str) -> str:
    """Link every claim that a text names to its card, from a page beside that of all verdicts.

    Example:
        >>> cited("no difference (cse-38)")
        'no difference (<a href="verdicts.html#claim-cse-38">cse-38</a>)'
    """
    return re.sub(r"\b(?:cse|cnnlstm|wsv|dnt)-\d\d\b", r'<a href="verdicts.html#claim-\g<0>">\g<0></a>', text)


def _findings() -> str:
    """The findings of the README, each claim linked to its card."""
    text = (root() / "README.md").read_text(encoding="utf-8")
    return cited(text.partition("## Five findings\n")[2].partition("[What we got wrong")[0])


def all_fragments(of_papers: Mapping[str, str]) -> dict[str, str]:
    """File name in ``book/_generated`` to Markdown, to JSON where it is offered for download, to a script's data.

    Args:
        of_papers: pieces that serve one paper alone.
    """
    runs = _recorded(PROFILES)
    fragments = {
        "landing.md": _front(PAPERS[0]) + "\n\n" + _counts(runs, PAPERS),
        "findings.md": _findings(),
        "data_tests.md": pages.data_cards(sources.registry(), "eval"),
        "data_corpora.md": _corpora(),
        "overlap.md": _overlap(),
        "status.md": pages.status_page(summary.ordered(path.parent.name for path in notebooks())),
        "runs.md": run_pages.overview(),
        **results_explorer.fragments([run for one in run_pages.experiments() if (run := ledger.first(*one, PROFILES))]),
        **of_papers,
        "verdicts.md": verdict_page.all_verdicts(
            {paper: paper_of(paper).heading for paper in PAPERS},
            runs=runs,
            full=_recorded(["paper"]),
            pages={f"{paper}/{name}": page for paper in PAPERS for name, page in _pages(paper).items()},
            run_pages=_run_pages(),
            download="_generated/verdicts.json",
        ),
    }
    fragments["verdicts.json"] = ledger.dumped(verdict_ledger.gather(PROFILES[0]))
    for paper in PAPERS:
        front = of_papers.get(f"{paper}_front.md") or _front(paper)
        fragments[f"{paper}_minute.md"] = _minute(paper, front, _counts(runs, [paper]))
        own = {name: run for (of, name), run in runs.items() if of == paper}
        claims = verdict_page.verdicts_page(paper, runs=own, pages=_pages(paper), cards="verdicts.html")
        fragments[f"{paper}_claims.md"] = claims
    return {
        name: without_sheet(pedigree.linked(text.rstrip(), f"book/{name}")) + "\n" for name, text in fragments.items()
    }
