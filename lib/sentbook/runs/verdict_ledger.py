"""Verdicts as the old report room reads them, until it goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sentbook import judge
from sentbook.judge import OURS, VERDICTS, Entry, claims
from sentbook.judge import chance as by_chance
from sentbook.judge import counts as counted
from sentbook.judge.papers import papers
from sentbook.records import Record, Run

__all__ = ["OURS", "VERDICTS", "Entry", "by_chance", "counted", "entries", "gather"]


class Ledger(Record):
    profile: str
    claims: list[Entry]


def entries(runs: Mapping[tuple[str, str], Run], of: Iterable[str] = papers()) -> list[Entry]:
    found = []
    for paper in of:
        for name in dict.fromkeys(spec.experiment for spec in claims(paper)):
            found += judge.entries(runs.get((paper, name)), claims(paper, name))
    order = list(judge.specifications())
    return sorted(found, key=lambda entry: order.index(entry.id))


def gather(profile: str) -> Ledger:
    return Ledger(profile=profile, claims=judge.gather(profile))
