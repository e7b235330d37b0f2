"""Findings in prose are true to the digit: each number is one of a claim, or of a run, that the paragraph names."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import nbformat
import pandas as pd
import pytest

from sentbook import judge, records
from sentbook.io import root
from sentbook.judge.claims import claims
from sentbook.records import Metric, Run

CITED = re.compile(r"\b(?:cse|cnnlstm|wsv|dnt)-\d\d\b")
RUN = re.compile(r"\b(cse|cnn_lstm|wsv|dnt|cross)/(\w+)\b")
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*\.\d+|(?<![\w.])\.\d+|\b\d+ of \d+\b")
INTERVAL = re.compile(r"([+\u2212-]?\d+\.\d+)(?: points)? \[([+\u2212-]?\d+\.\d+), ([+\u2212-]?\d+\.\d+)\]")
PAGES = [root() / "README.md", *(root() / "book" / f"{name}.md" for name in ("index", "mistakes"))]
# Settings of runs that were replaced since, and numbers that the paper or a loss states.
HISTORY = {"87 of 96", "0.001", ".001", "1.2", "2.9"}


@cache
def runs(name: str) -> list[Run]:
    """The recorded run of a page, and that at the paper's size where there is one."""
    return [run for profile in ("small", "paper") if (run := records.read(name, profile))]


@cache
def entries(claim: str) -> list[judge.Entry]:
    return [judge.judged(claims()[claim], run) for run in runs(claims()[claim].page)]


def sides(claim: str) -> list[list[judge.Number]]:
    """Ours and the paper's number of a claim and of each of its parts."""
    parts = [part for entry in entries(claim) for part in (entry.found, *entry.found.parts)]
    return [[one for one in (part.ours, part.printed) if one] for part in parts]


def numbers(claim: str) -> list[judge.Number]:
    return [one for both in sides(claim) for one in both]


def known(text: str) -> set[str]:
    """Every number of the claims and runs that a text names, as it may be printed; of a run with many sets averages."""
    values: list[float] = []
    shares: set[str] = set()
    for claim in CITED.findall(text):
        for one in numbers(claim):
            values.append(one.value)
            parts = [of for of in range(2, 100) if one.unit == "share" and abs(one.value * of % 1) < 1e-9]
            shares.update([f"{one.value:g} of {one.of}", *(f"{one.value * of:.0f} of {of}" for of in parts)])
        values += [both[0].value - both[1].value for both in sides(claim) if len(both) == 2]
        shares.update(
            share for entry in entries(claim) for share in re.findall(r"\b\d+ of \d+\b", entry.found.evidence)
        )
        values += [float(one) for one in re.findall(r"\d+\.\d+|\.\d+|\d+", claims()[claim].text)]
    for run in (run for page in RUN.findall(text) for run in runs("/".join(page))):
        frame = pd.DataFrame(map(dict, run.metrics), columns=[*Metric.model_fields])
        averages = frame.dataset.str.endswith(("total_avg", "/avg", " mean"))
        if averages.any() and frame.dataset.nunique() >= 5:
            frame = frame[averages]
        values += frame.groupby(["method", "dataset", "metric", "protocol"]).value.mean().tolist()
        values += [test.estimate for test in run.tests if test.dataset in set(frame.dataset)]
        tried = (one for search in run.searches for point in search.tried for one in point.values())
        values += [one for one in tried if type(one) is float]
        values += (run.extra.get("first loss") or {}).values()
        for ending in {test.b.rpartition(" ")[2] for test in run.tests}:
            above = [test.low > 0 for test in run.tests if test.b.endswith(ending)]
            shares.add(f"{sum(above)} of {len(above)}")
    printed = {f"{abs(value) * scale:,.{places}f}" for value in values for scale in (1, 100) for places in range(6)}
    return shares | printed | {one.removeprefix("0") for one in printed if one.startswith("0.")}


def intervals(text: str) -> set[tuple[str, ...]]:
    """Every value with its interval of the claims and runs that a text names, as it may be printed; A - B or B - A."""
    cited = CITED.findall(text)
    held = [(one.value, one.low, one.high) for claim in cited for one in numbers(claim) if one.low < one.high]
    for page in {*(claims()[claim].page for claim in cited), *map("/".join, RUN.findall(text))}:
        held += [(one.estimate, one.low, one.high) for run in runs(page) for one in run.tests]
    turned = [(-value, -high, -low) for value, low, high in held]
    forms = product([*held, *turned], ((1, 1), (100, 1), (1, 4), (1, 2)))
    return {tuple(f"{abs(end * scale):.{places}f}" for end in ends) for ends, (scale, places) in forms}


def told() -> dict[str, tuple[str, str]]:
    """Paragraphs with numbers, each with a text that names its claims and runs."""
    texts = {}
    for page in PAGES:
        if page.is_file():
            paragraphs = re.split(r"\n\n|\n(?=[-\d]+\.? )", page.read_text(encoding="utf-8"))
            texts |= {f"{page.stem} {text[:40]}": (text, text) for text in paragraphs if NUMBER.search(text)}
    for name, claim in claims().items():
        page = f"{name} {claim.page}"
        texts |= {f"{name} {verdict}": (text, page) for verdict, text in claim.sentence.items()}
    for path in sorted((root() / "notebooks").glob("*/*.ipynb")):
        code = " ".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
        if said := re.search(r'page\.verdict\(\s*((?:"[^"]*"\s*)+)', code):
            texts[path.stem] = said[1], f"{path.parent.name}/{path.stem}"
    return {name: both for name, both in texts.items() if CITED.search(both[1]) or RUN.search(both[1])}


@pytest.mark.parametrize("text", told())
def test_every_number_that_is_told_is_recorded(text: str) -> None:
    tells, names = told()[text]
    recorded = known(names)
    assert sum(f"{one / 10:.1f}" in recorded for one in range(150)) < 100, "it names so much that any number passes"
    alone = set(NUMBER.findall(INTERVAL.sub("", tells)))
    assert not alone - recorded - (HISTORY if text.startswith("mistakes") else set())
    held = intervals(names)
    for ends in INTERVAL.findall(tells):
        assert tuple(end.lstrip("+\u2212-") for end in ends) in held, ends


def test_a_sentence_is_there_for_the_verdict_of_the_record() -> None:
    for name, claim in claims().items():
        if claim.sentence:
            verdicts = {entry.verdict for entry in entries(name)} or {"not run"}
            assert verdicts & {*claim.sentence}, name
