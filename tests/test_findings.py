"""Findings in prose are true to the digit: each number is one of a claim, or of a run, that the sentence names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean

import pytest

from sentbook.records import Finding, Run
from sentbook.runs import claims, ledger
from sentbook.runs.papers import catalogue
from sentbook.system.paths import root

CITED = re.compile(r"\b(?:cse|cnnlstm|wsv|dnt)-\d\d\b")
RUN = re.compile(r"\b(cse|cnn_lstm|wsv|dnt|cross)/(\w+)\b")
# What a run has too many rows of, cited as a page: its averages and comparisons count.
AVERAGES = ("total_avg", "/avg")
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*\.\d+|(?<![\w.])\.\d+|\b\d+ of \d+\b")
FINDINGS = root() / "README.md"
MISTAKES = root() / "book" / "mistakes.md"
# Told of runs that were replaced since, and stated by the paper or by the loss itself.
HISTORY = {"87 of 96", "0.001", ".001", "1.2", "2.9"}


def findings() -> list[str]:
    """The five findings of the README, which the book shows too."""
    _, _, rest = FINDINGS.read_text(encoding="utf-8").partition("## Five findings\n")
    return re.findall(r"^\d\. (.*?)(?=^\d\. |^\S|\Z)", rest.partition("\n## ")[0], flags=re.MULTILINE | re.DOTALL)


def numbers_of(found: Finding | None) -> Iterator[float]:
    if found:
        yield from (one for one in (found.value, found.low, found.high) if one is not None)
        if found.value is not None and found.of is not None:
            yield found.of


def recorded(paper: str, experiment: str) -> list[Run]:
    """The recorded run, and that at the paper's size where there is one."""
    small, large = (ledger.read(paper, experiment, profile) for profile in ("small", "paper"))
    assert small is not None, f"{paper}/{experiment} is not recorded"
    return [small, *([large] if large else [])]


def known(text: str) -> set[str]:
    """Every number of the claims and runs that a text names, as it may be printed."""
    values: list[float] = []
    shares: set[str] = set()
    for name in CITED.findall(text):
        spec = claims.specifications()[name]
        judged = [claim for run in recorded(spec.paper, spec.experiment) for claim in run.claims if claim.id == name]
        for part in (one for claim in judged for one in (claim, *claim.parts)):
            values += [*numbers_of(part.ours), *numbers_of(part.printed)]
            for one in (part.ours, part.printed):
                if one and one.of is not None and one.value is not None:
                    shares.add(f"{one.value:g} of {one.of:g}")
        values += [float(one) for one in re.findall(r"\d+\.\d+|\.\d+|\d+", spec.text)]
    for run in (run for page in RUN.findall(text) for run in recorded(*page)):
        by_row = defaultdict(list)
        for row in run.metrics:
            if row.dataset.endswith(AVERAGES) or len({one.dataset for one in run.metrics}) < 5:
                by_row[row.method, row.dataset, row.metric, row.protocol].append(row.value)
        values += [fmean(one) for one in by_row.values()]
        for test in run.tests:
            values += [test.estimate, test.low, test.high]
        values += [
            one for search in run.searches for point in search.tried for one in point.values() if type(one) is float
        ]
        values += (run.extra.get("first loss") or {}).values()
    printed = {f"{abs(value) * scale:,.{places}f}" for value in values for scale in (1, 100) for places in range(6)}
    return shares | printed | {one.removeprefix("0") for one in printed if one.startswith("0.")}


@pytest.mark.parametrize("finding", findings(), ids=lambda finding: finding[:40])
def test_every_number_of_a_finding_is_in_the_ledger(finding: str) -> None:
    assert CITED.search(finding) or RUN.search(finding)
    assert set(NUMBER.findall(finding)) <= known(finding)


@pytest.mark.parametrize("paper", [name for name, paper in catalogue().items() if paper.minute])
def test_every_number_of_a_papers_minute_is_in_the_ledger(paper: str) -> None:
    minute = catalogue()[paper].minute
    assert minute is not None
    assert not set(NUMBER.findall(f"{minute.found} {minute.different}")) - known(f"{minute.claim} {minute.found}")


def test_there_are_five_findings() -> None:
    assert len(findings()) == 5


def test_every_number_of_what_went_wrong_is_in_the_ledger() -> None:
    text = MISTAKES.read_text(encoding="utf-8")
    assert not set(NUMBER.findall(text)) - known(text) - HISTORY
