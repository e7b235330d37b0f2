"""The generated fragments of the book's hand-written pages, from the recorded runs and the registries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sentbook.data import corpora, sources
from sentbook.report import (
    figures,
    pages,
    pedigree,
    results_explorer,
    run_pages,
    summary,
    verdict_page,
)
from sentbook.report.markup import esc, pipes
from sentbook.report.style import without_sheet
from sentbook.runs import ledger, verdict_ledger
from sentbook.runs.papers import catalogue, paper_of, papers

PAPERS = papers()
# The demo on the mini-world gives no verdict on a paper.
PROFILES = ("small", "paper")


def _pages(paper: str) -> dict[str, str]:
    """Addresses of a paper's notebook pages, from a page beside it."""
    folder = Path(ledger.path_of(paper, "x", "small")).parent
    return {path.stem: f"_executed/{paper}/{path.stem}.html" for path in sorted(folder.glob("*.json"))}


def _run_pages() -> dict[str, str]:
    """``<paper>/<experiment>`` -> address of the page of its run, from a page beside the chapters."""
    return {page.removeprefix(f"{pedigree.RUNS}/"): f"{page.removeprefix('book/')}.html" for page in pedigree.listed()}


def _corpora() -> str:
    rows = []
    for name, corpus in corpora.CORPORA.items():
        if not name.startswith("miniworld"):
            found = corpora.describe(name)
            rows.append([f"`{name}`", corpus.substitute, esc(found["paper"]), esc(found["licence"])])
    return pipes(["corpus", "stands in for", "source", "licence"], rows, left=4)


def _overlap() -> str:
    run = ledger.read("data", "overlap", "small")
    return pages.overlap_table(run) if run is not None else "*Not measured: run `sentbook data overlap`.*"


def _landing() -> str:
    paper, front = next((name, found.front) for name, found in catalogue().items() if found.front)
    run = ledger.read(paper, front.experiment, "small")
    if run is None:
        return ""
    reported = summary.reported(paper, front.experiment)
    figure = figures.paired_dots(run, reported, a=front.a, b=front.b, rows=front.rows, caption=front.caption)
    runs = [run for paper in PAPERS for run in pages.recorded(paper, PROFILES).values()]
    counts = verdict_page.verdict_summary([list(found.claims) for found in runs])
    return figure.html() + "\n\n" + counts.html()


def all_fragments(of_papers: Mapping[str, str]) -> dict[str, str]:
    """File name in ``book/_generated`` to Markdown, and to JSON where it is offered for download.

    Args:
        of_papers: pieces that serve one paper alone.
    """
    fragments = {
        "landing.md": _landing(),
        "data_tests.md": pages.data_cards(sources.registry(), "eval"),
        "data_corpora.md": _corpora(),
        "overlap.md": _overlap(),
        "status.md": pages.status_page(PAPERS),
        "runs.md": run_pages.overview(),
        "results.md": results_explorer.page(results_explorer.recorded_runs(PROFILES)),
        **of_papers,
        "verdicts.md": verdict_page.all_verdicts(
            {paper: paper_of(paper).heading for paper in PAPERS},
            profiles=PROFILES,
            pages={f"{paper}/{name}": page for paper in PAPERS for name, page in _pages(paper).items()},
            run_pages=_run_pages(),
            download="_generated/verdicts.json",
        ),
    }
    fragments["verdicts.json"] = ledger.dumped(verdict_ledger.gather(PROFILES[0]))
    for paper in PAPERS:
        fragments[f"{paper}_claims.md"] = verdict_page.verdicts_page(
            paper, profiles=PROFILES, pages=_pages(paper), cards="verdicts.html"
        )
    return {
        name: without_sheet(pedigree.linked(text.rstrip(), f"book/{name}")) + "\n" for name, text in fragments.items()
    }
