from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sentbook.evaluation.statistics import Estimate, two_levels
from sentbook.records import Finding
from sentbook.report_old import verdict_switches as switches
from sentbook.runs import ledger
from sentbook.runs.claims import specifications
from sentbook.runs.verdict_ledger import Entry, gather
from sentbook.runs.verdicts import BOUND, PRINTED, Judgement, all_of


def test_what_seeds_added_to_an_interval_can_be_taken_out() -> None:
    items = Estimate(0.5, 0.41, 0.57)
    found = switches.narrowed(two_levels(items, 0.08), 0.08)
    assert np.allclose([found.estimate, found.low, found.high], [0.5, 0.41, 0.57])


def test_within_a_number_above_the_printed_one_reproduces_nothing() -> None:
    above, held = Judgement("exceeded", "a"), Judgement("reproduced", "b")
    assert switches.within(above).verdict == "not reproduced"
    assert switches.within(all_of([above, held])).verdict == "not reproduced"
    assert switches.within(all_of([held, held])) == all_of([held, held])


@pytest.mark.slow
def test_recorded_claims_by_each_reading() -> None:
    """The first reading is what is recorded; pairs alone decide more, in either way; within, nothing exceeds."""
    claims = [entry for entry in gather("small").claims if entry.paper == "cse" and entry.experiment == "table5"]
    runs = {("cse", "table5"): ledger.read("cse", "table5", "small")}
    found = switches.data(claims, {place: run for place, run in runs.items() if run})
    assert claims and [one["verdicts"][0] for one in found] == [entry.verdict for entry in claims]
    counts = [Counter(one["verdicts"][reading] for one in found) for reading in range(4)]
    assert counts[2]["inconclusive"] <= counts[0]["inconclusive"] and any(one["again"] for one in found)
    assert counts[1]["exceeded"] == counts[3]["exceeded"] == 0
    for one in found:
        for dot in one["dots"]:
            if "pairs" in dot and "both" in dot:
                assert dot["both"][0] - 0.02 <= dot["pairs"][0] <= dot["y"] <= dot["pairs"][1] <= dot["both"][1] + 0.02


def test_a_dot_says_what_it_is_held_against() -> None:
    spec = next(spec for spec in specifications().values() if spec.paper == "cse")
    fields = {**spec.model_dump(include={"id", "text", "source", "rule"}), "paper": "cse", "experiment": "table1"}

    def dots(ours: Finding, printed: Finding | None) -> list[dict[str, object]]:
        entry = Entry.model_validate(
            {**fields, "verdict": "reproduced", "evidence": "", "ours": ours, "printed": printed}
        )
        return switches.data([entry], {})[0]["dots"]

    score = Finding(what="CSE", unit="pearson", value=0.7, low=0.6, high=0.8)
    printed = Finding(what="to hold", unit="pearson", value=0.75, how=PRINTED)
    assert dots(score, printed) == [{"kind": "score", "x": 75.0, "y": 70.0, "what": "CSE", "both": [60.0, 80.0]}]
    assert dots(score, printed.model_copy(update={"how": BOUND}))[0]["bound"]
    difference = score.model_copy(update={"what": "CSE − PP on x", "value": -0.01})
    assert dots(difference, None)[0]["x"] == 0.0 and dots(difference, None)[0]["kind"] == "difference"
    count = Finding(what="CSE above PP", unit="sets", value=2, of=20)
    at_least = Finding(what="at least", unit="sets", value=14, of=20, how=PRINTED)
    assert dots(count, at_least) == [{"kind": "count", "x": 70.0, "y": 10.0, "what": "CSE above PP"}]
    assert dots(Finding(what="seconds", unit="seconds", value=3.0), printed) == []
