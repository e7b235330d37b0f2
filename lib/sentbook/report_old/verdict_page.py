"""Write the page of verdicts: counts by paper, then a line for each claim, which unfolds to its card; and the short
list of each chapter.

Both show what `sentbook.runs.verdict_ledger` gathered, and judge nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sentbook.evaluation.predictions import AND_SEEDS
from sentbook.judge import Cause, judge
from sentbook.judge.caps import BUT_FOR
from sentbook.judge.rules import DECIDED, PRINTED
from sentbook.records import Finding, Part, Run
from sentbook.report_old import numbers, templates
from sentbook.report_old.markup import Fragment, Html, esc, row_key, run_name, script, verdict, why
from sentbook.report_old.names import rule_of
from sentbook.report_old.pages import in_order, title
from sentbook.report_old.style import style_sheet
from sentbook.report_old.table import LEFT, TEXT, Cell, Row, Table, command
from sentbook.runs.papers import paper_of
from sentbook.runs.verdict_ledger import OURS, VERDICTS, Entry, by_chance, counted, entries

_STATES = {
    "tested": "Likely cause, tested",
    "guess": "Likely cause, a guess",
    "scope": "What it would need",
}
_MEASURED = (*DECIDED, "inconclusive")
_RELATIONS = {
    "at least": "at least ",
    "at most": "at most ",
    "at most so far from 0": "within ± ",
    "rank": "rank ",
    "to stay below": "below ",
    "to be above": "above ",
    "to be below": "below ",
    "all parts": "all ",
    "all": "all ",
}
_DIGITS = {"mae": 4, "ratio": 2, "rank": 0}
_COUNTS = frozenset({"seconds", "words", "parameters"})


# -- the short list of a chapter ---------------------------------------------------------------------------------------


def verdicts_page(
    paper: str,
    *,
    runs: Mapping[str, Run],
    pages: Mapping[str, str] | None = None,
    cards: str = "",
) -> str:
    """Every claim of ``paper`` with its verdict: a count, then a table for each experiment.

    Args:
        runs: experiment -> run.
        pages: experiment -> address of its page, relative to the page this text goes to.
        cards: address of the page of all verdicts, where each claim has its card.

    Returns:
        Markdown.
    """
    if not any(judge(run) for run in runs.values()):
        made_by = command(paper, "table1")
        return f"No verdict is recorded for {paper_of(paper).citation} yet. Make one with `{made_by}`.\n"
    judged = entries({(paper, name): run for name, run in runs.items()}, [paper])
    beside = {entry.id: marks(entry) for entry in judged}
    parts = [verdict_summary(judged).html()]
    for experiment, run in runs.items():
        if not judge(run):
            continue
        rows = []
        for claim in judge(run):
            judged_as = Html(_link(verdict(claim.verdict), f"{cards}#claim-{claim.id}" if cards else None))
            notes = "; ".join([f"Rule: {rule_of(claim)}", *beside.get(claim.id, ())])
            evidence = Cell(why(claim.evidence, run_name(run), row_key(claim.id)), notes)
            rows.append(Row(templates.html("said", claim=claim), [judged_as, evidence]))
        made = _made(run, title(experiment), (pages or {}).get(experiment))
        heads, kinds = ["Verdict", "Evidence"], {0: LEFT, 1: TEXT}
        shown = Table("The paper says", heads, rows, label=title(experiment), kinds=kinds, wrap=True)
        body = shown.drawn(made)
        parts.append(Fragment(body, kind="sentbook-table sentbook-wide", run=run_name(run)).html(style=False))
        parts.append(_substitutes(run.provenance.substitutions))
    return "\n\n".join(part for part in parts if part) + "\n"


def verdict_summary(claims: Iterable[Entry]) -> Fragment:
    """How many claims of the papers got which verdict, as one line of badges; those of this book are not counted."""
    counts = Counter(claim.verdict for claim in claims if not claim.own)
    items = "".join(f'<li class="sb-badge">{counts[name]} {verdict(name)}</li>' for name in VERDICTS if counts[name])
    return Fragment(f'<ul class="sb-badges" aria-label="Verdicts">{items}</ul>', kind="sentbook-verdicts")


# -- the page ----------------------------------------------------------------------------------------------------------


def all_verdicts(
    papers: Mapping[str, str],
    *,
    runs: Mapping[tuple[str, str], Run],
    full: Mapping[tuple[str, str], Run] | None = None,
    pages: Mapping[str, str] | None = None,
    run_pages: Mapping[str, str] | None = None,
    download: str = "",
) -> str:
    """Counts by paper, then for each paper and experiment a line for each claim, which unfolds to its card.

    The page's script (``book/_static/explore/verdicts.js``) draws the claims as dots, filters the lines, and shows what
    other readings of the rules would have judged.

    Args:
        papers: folder name -> heading, in order.
        runs: (paper, experiment) -> run.
        full: the same at the papers' sizes, whose verdicts stand beside.
        pages: ``<paper>/<experiment>`` -> address of the experiment's page, from this one.
        run_pages: the same of the page of its run.
        download: the file of `sentbook.runs.verdict_ledger`, from this page; empty: no link.

    Returns:
        Markdown.
    """
    found = entries(runs, papers)
    larger = at_full_size(found, full or {})
    parts = ['<div class="sentbook" id="verdict-explorer"></div>', counts_table(found), undecided_words(found)]
    parts += [chance_words(found), templates.html("agreement", found=found, larger=larger)]
    parts.append(f"<style>{style_sheet('verdicts')}</style>")
    if download:
        parts.append(f"All of this for programs: {{download}}`{download.rpartition('/')[2]} <{download}>`.")
    for paper, of_paper in groupby(found, key=lambda entry: entry.paper):
        parts.append(f"## {papers[paper]}")
        by_experiment: dict[str, list[Entry]] = {}
        for entry in of_paper:
            by_experiment.setdefault(entry.experiment, []).append(entry)
        for experiment, group in sorted(by_experiment.items(), key=lambda item: in_order(item[0])):
            run, name = runs.get((paper, experiment)), f"{paper}/{experiment}"
            links = [(title(experiment), (pages or {}).get(name)), ("its run", (run_pages or {}).get(name))]
            made = _made(run, *links[0], links[1]) if run else f"<strong>{esc(title(experiment))}</strong>"
            cards = "".join(card(entry, pages or {}, larger.get(entry.id)) for entry in group)
            body = f'<div class="sb-caption">{made}</div><div class="sb-claims">{cards}</div>'
            parts.append(Fragment(body, kind="sentbook-claims", run=run_name(run)).html(style=False))
            parts.append(_substitutes(run.provenance.substitutions if run else []))
    names = {**{paper: paper_of(paper).name for paper in papers}, OURS: "claims of this book"}
    said = {name: re.sub("<[^>]+>", "", verdict(name)) for name in VERDICTS}
    parts.append(script("verdicts-data", {"papers": names, "said": said, "claims": []}))
    return "\n\n".join(part for part in parts if part) + "\n"


def counts_table(claims: Sequence[Entry]) -> str:
    """How many claims of each paper got which verdict; those of this book apart, and not in the sum."""
    counts = counted(claims)
    ours = counts.pop(OURS, None)
    profile = next((entry.run.split("/")[0] for entry in claims if entry.run), "")
    rows = []
    for name in (*VERDICTS, "all"):
        numbers_of = [of_paper[name] for of_paper in counts.values()]
        cells = [*numbers_of, sum(numbers_of), *([ours[name]] if ours else [])]
        label = verdict(name) if name != "all" else "all claims"
        rows.append(Row(label, [why(number, profile) for number in cells]))
    heads = [*(paper_of(paper).name for paper in counts), "all", *(["ours"] if ours else [])]
    body = Table("", heads, rows, "Verdicts by paper").body
    return Fragment(body, kind="sentbook-table sentbook-counts", run=profile).html()


def undecided_words(claims: Sequence[Entry]) -> str:
    """Say how many inconclusive claims of the papers wait for trainings or a search, not for narrower intervals."""
    undecided = [claim for claim in claims if claim.verdict == "inconclusive" and not claim.own]
    alone = [note.removeprefix(BUT_FOR) for claim in undecided for note in claim.notes if note.startswith(BUT_FOR)]
    held = ", ".join(f"{alone.count(name)} {name}" for name in VERDICTS if name in alone)
    return templates.html("undecided", count=len(undecided), alone=len(alone), held=held, old=0)


def chance_words(claims: Sequence[Entry]) -> str:
    """Say how many of the verdicts chance alone is expected to have made wrong."""
    found = {paper_of(paper).name: one for paper, one in by_chance(claims).items()}
    return templates.html("chance", found=found) if any(one.decided for one in found.values()) else ""


def at_full_size(found: Iterable[Entry], full: Mapping[tuple[str, str], Run]) -> dict[str, Entry]:
    """Claim -> what a run at the paper's size found of it, where that and the one shown both measured it."""
    shown = {entry.id: entry for entry in found}
    larger = [entry for entry in entries(full, {paper: "" for paper, _ in full}) if entry.verdict in _MEASURED]
    return {one.id: one for one in larger if shown[one.id].verdict in _MEASURED and shown[one.id].run != one.run}


def card(entry: Entry, pages: Mapping[str, str], larger: Entry | None = None) -> str:
    """One claim: the verdict and what the paper says; unfolded, what was measured, at the paper's size too, and why."""
    return templates.html(
        "card",
        entry=entry,
        rule=rule_of(entry),
        short=_short(entry),
        marks=marks(entry),
        shown=number_boxes(entry),
        parts=_parts(entry.parts),
        ours=why("Ours", entry.run, row_key(entry.id)),
        cause=cause_words(entry.cause) if entry.cause else None,
        by=pages.get(entry.cause.by, "") if entry.cause else "",
        larger=larger and (larger.verdict, numbers.counted(len(larger.seeds), "seed"), number_boxes(larger)[-1:]),
    )


@dataclass(frozen=True)
class Box:
    """A number under its head: ours, with a link to its run, or ``paper``'s, or a rule's."""

    head: str
    value: str
    small: str
    paper: bool = True


def number_boxes(entry: Entry) -> list[Box]:
    """Show the paper's number, or the bound of the rule, beside ours; nothing where the claim names no number."""
    if entry.ours is None:
        return []
    places = _places(entry.printed)
    theirs = [Box(*_held(entry.printed, places))] if entry.printed is not None else []
    return [*theirs, our_box(entry.ours, len(entry.seeds), entry.run, row_key(entry.id), places)]


def _short(entry: Entry) -> tuple[str, str] | None:
    """The paper's number, or the rule's, and ours, for a line of the list; None where the claim names no number."""
    if entry.ours is None:
        return None
    places = _places(entry.printed)
    theirs = _held(entry.printed, places)[1] + " \u2192 " if entry.printed is not None else ""
    return theirs, _words(entry.ours, places)


def our_box(finding: Finding, seeds: int, run: str, row: str, places: int = 1) -> Box:
    """Show a measured number with its interval, and say what the interval is over."""
    how = [finding.how] if finding.how else []
    if finding.low is not None or finding.of is not None:
        how.append(numbers.counted(seeds, "seed"))
    value = f"{_words(finding, places)} {_interval(finding, places)}".strip()
    value = why(value, run, row)
    return Box("Ours", value, "; ".join(filter(None, dict.fromkeys((finding.what, _unit(finding), *how)))), paper=False)


def cause_words(cause: Cause, *, links: bool = True) -> dict[str, str]:
    """Say how sure a cause is, which experiment tested it, and what it is, with links to the cards it names."""
    said = esc(cause.cause)
    linked = re.sub(r"\b[a-z]+-\d\d\b", r'<a href="#claim-\g<0>">\g<0></a>', said)
    return {
        "head": _STATES[cause.state],
        "by": title(cause.by.partition("/")[2]) + (" at the paper's size" if cause.profile == "paper" else ""),
        "numbers": numbers.counted(len(cause.shows), "number") if cause.shows else "",
        "said": Html(linked if links else said),
    }


def _held(printed: Finding, places: int) -> tuple[str, str, str]:
    """Head, words and unit of what ours is held against."""
    words = _words(printed, places, bound=True)
    if printed.how == PRINTED and printed.of is not None:
        return "The paper", words, _unit(printed)  # a count that the paper states is its own
    head = "The paper" if printed.how == PRINTED else "The rule asks"
    return head, _RELATIONS.get(printed.what, "") + words, _unit(printed)


def _parts(parts: Sequence[Part]) -> list[dict[str, str]]:
    """The comparisons that a claim makes at once: a row each."""
    rows = []
    for part in parts:
        places, ours = _places(part.printed), part.ours
        rows.append(
            {
                "verdict": part.verdict,
                "said": re.sub("<[^>]+>", "", verdict(part.verdict)),
                "what": ours.what if ours else "",
                "unit": _unit(ours).replace(" ", "\u00a0") if ours else "",
                "theirs": _held(part.printed, places)[1] if part.printed else numbers.DASH,
                "ours": _words(ours, places) if ours else "",
                "interval": _interval(ours, places) if ours else "",
            }
        )
    return rows


# -- numbers -----------------------------------------------------------------------------------------------------------


IN_HUNDREDTHS = frozenset({"share", "likeness", "difference"})


def _factor(unit: str) -> float:
    return 100.0 if unit in IN_HUNDREDTHS else numbers.factor(unit)


def _places(printed: Finding | None) -> int:
    """As many decimals as the paper prints, one or two, where both are shown x 100."""
    if printed is None or _factor(printed.unit) != 100.0:
        return 1
    return 1 if abs(printed.value - round(printed.value, 3)) < 1e-8 else 2


def _words(finding: Finding, places: int, *, bound: bool = False) -> str:
    """A value in its unit, a count of so many."""
    if finding.of is not None:
        whole = f"{finding.value:g} {finding.unit}" if finding.value == finding.of and bound else ""
        return whole or f"{finding.value:g} of {finding.of} {finding.unit}"
    return _number(finding.value, finding, places)


def _number(value: float, finding: Finding, places: int) -> str:
    if finding.unit == "distance":
        return f"{value:.1e}"
    if finding.unit in _COUNTS or finding.unit == "files":
        return numbers.count(value)
    signed = finding.what == "difference" or " − " in finding.what
    if _factor(finding.unit) == 100.0:
        return numbers.plain(value * 100, places, signed=signed)
    return numbers.plain(value, _DIGITS.get(finding.unit, numbers.digits(finding.unit)), signed=signed)


def _interval(finding: Finding, places: int) -> str:
    if finding.low is None or finding.high is None:
        return ""
    return f"[{_number(finding.low, finding, places)}, {_number(finding.high, finding, places)}]"


def _unit(finding: Finding) -> str:
    """What the number is of, in words; empty where a count says it."""
    if finding.of is not None or finding.unit in ("distance", "rank"):
        return ""
    if finding.unit in IN_HUNDREDTHS:
        return "× 100"
    return finding.unit if finding.unit in (*_COUNTS, "files", "ratio") else numbers.short(finding.unit)


# -- pieces ------------------------------------------------------------------------------------------------------------


def marks(entry: Entry) -> list[str]:
    """What is to be known of a verdict beside its numbers."""
    ours = [found.how for found in (entry.ours, *(part.ours for part in entry.parts)) if found]
    alone = entry.about == "encoders" and not any(how.endswith(AND_SEEDS) for how in ours)
    about = ["about the encoders trained here: its interval is over items alone"] if alone else []
    return [*about, *entry.notes]


def _link(body: str, target: str | None) -> str:
    return f'<a href="{esc(target)}">{body}</a>' if target else body


def _made(run: Run, name: str, page: str | None, of_run: tuple[str, str | None] | None = None) -> Html:
    """The experiment and when its run was made."""
    seeds = numbers.counted(len(run.provenance.seeds), "seed")
    words: str = esc(f"profile {run.profile}, {seeds}, {run.provenance.started[:10]}")
    if of_run is not None and of_run[1]:
        words += f", {_link(esc(of_run[0]), of_run[1])}"
    return Html(f'<strong>{_link(esc(name), page)}</strong><span class="sb-how">{words}</span>')


def _substitutes(names: Sequence[str]) -> str:
    body = templates.html("substitutes", names=names) if names else ""
    return Fragment(body, kind="sb-substitutes").html(style=False)
