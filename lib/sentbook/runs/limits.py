"""What a verdict needs besides numbers: several trainings, fair tuning of both sides, and the scale that a claim is of.

Each limit is a rule on the record of the run, and leaves a sentence beside the verdict that it bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sentbook.data.suites import TEST_NAMES
from sentbook.records import Finding, Run, Search, Verdict
from sentbook.runs.evidence import Evidence, Place
from sentbook.runs.verdicts import DECIDED, ERRORS, HOLDS, Judgement

Judge = Callable[[Evidence], Judgement]
# Searches step by step cannot have the same number of trainings on both sides to the last one.
ENOUGH = 0.8
ALONE = "one training, where a verdict against a claim needs several"
# Begins the note of a verdict that a limit has made inconclusive.
BUT_FOR = "by its numbers alone "


class Scale(BaseModel):
    """What a claim of a level is about, which a smaller run does not have.

    Attributes:
        examples: a training saw so many examples or more.
        settings: a setting, such as ``encoder.filters``, is so much or more.
        files: data whose path begins so were opened.
        says: the paper's own amount, in words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    examples: int = 0
    settings: Mapping[str, float] = Field(default_factory=dict)
    files: Sequence[str] = ()
    says: str

    def lacking(self, run: Run) -> list[str]:
        """Say what the run has less of; nothing where it has as much."""
        found = []
        seen = max((one.get("pairs", 0) for one in run.extra.get("artifacts", ())), default=0)
        if seen < self.examples:
            found.append(f"{seen:,} training examples")
        for path, least in self.settings.items():
            value: Any = run.provenance.config
            for name in path.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, int | float) and value < least:
                found.append(f"{path} of {value:,}")
        found += [
            f"no {begin}" for begin in self.files if not any(path.startswith(begin) for path in run.provenance.data)
        ]
        return found


def limited(
    found: Judgement,
    evidence: Evidence,
    scale: Scale | None = None,
    again: Judge | None = None,
) -> tuple[Judgement, list[str]]:
    """Bound a verdict by what the run records; and say by what.

    A decided verdict becomes inconclusive where a claim about models stands on one training of a side, or where a side
    had less than four fifths of the other's trainings to choose from (stages that follow each other are chosen one by
    one, and their largest search counts), or was not tuned to the end, unless the verdict would be the same with that
    side as far ahead as may be; one against the paper also where the run records no search of a side that was trained,
    and, where the claim is about given encoders, where these are of one training. A claim that does not hold, or is not
    decided, is out of scale where the run has less than what it is about.

    A bounded verdict keeps in its notes what the numbers alone would have been.

    Args:
        again: judge once more, on other evidence.
    """
    notes: list[str] = []
    unsearched: list[str] = []
    bounded = False
    if evidence.about == "models":
        alone = sorted({method for (method, _), trainings in evidence.asked.items() if trainings == 1})
        notes = [f"one training of {_listed(alone)}, where a claim about models needs several"] if alone else []
        bounded = bool(alone)
        if evidence.run:
            doubted, said, unsearched = _tuning(found, evidence, evidence.run.searches)
            notes += said
            if doubted and found.verdict in DECIDED and not bounded:
                bounded = not (again and _stands(found.verdict, evidence, doubted, again))
                notes += [] if bounded else ["the verdict is the same with these as far ahead as may be"]
    elif found.verdict == "not reproduced" and evidence.run and of_one_training(evidence.run):
        notes, bounded = [ALONE], True
    if (bounded and found.verdict in DECIDED) or (unsearched and found.verdict == "not reproduced"):
        notes.insert(0, f"{BUT_FOR}{found.verdict}")
        found = found.with_verdict("inconclusive")
    if unsearched:
        notes.append(f"no search of the settings of {_listed(unsearched)} is recorded")
    lacking = scale.lacking(evidence.run) if scale and evidence.run else []
    if scale and lacking and found.verdict not in HOLDS and (found.verdict != "not run" or scale.files):
        found = found.with_verdict("out of scale")
        notes.append(f"the claim is about {scale.says}; this run has {', '.join(lacking)}")
    return found, notes


def of_one_training(run: Run) -> bool:
    """Whether a run trained each of its models once."""
    return len(run.provenance.seeds) == 1


def _stands(verdict: Verdict, evidence: Evidence, doubted: set[Place], again: Judge) -> bool:
    """Tell whether a verdict is the same with the doubted sides, first A's and then B's, as far ahead as may be."""
    weighed: set[Place] = set()
    for side in ("a", "b"):
        own = replace(evidence, doubted=doubted, side=side, weighed=weighed, asked={}, pairs=[])
        if again(own).verdict != verdict:
            return False
    return weighed == doubted


# -- tuning ------------------------------------------------------------------------------------------------------------


def _tuning(
    found: Judgement, evidence: Evidence, searches: Sequence[Search]
) -> tuple[set[Place], list[str], list[str]]:
    """Name the under-tuned sides, say by what they are, and name those that no search is recorded of."""
    trained = [place for place, trainings in evidence.asked.items() if trainings]
    known = {place: own for place in trained if (own := list(_of(searches, place)))}
    half = _half_width(found)
    doubted, notes, rising = set(), [], []
    for first, second in evidence.pairs:
        if first in known and second in known and (less := _less(known, first, second)):
            doubted.add(less)
            notes.append(f"{_said(less)} was searched less than {_said(second if less == first else first)}")
    at_edge: dict[str, list[str]] = {}
    for place, own in known.items():
        if edges := sorted({name for search in own for name in search.at_edge}):
            doubted.add(place)
            at_edge.setdefault(_listed(edges), []).append(_said(place))
        gain = max((search.last_quarter_gain or 0.0 for search in own), default=0.0)
        if half and gain > half:
            doubted.add(place)
            gained = f"by {100 * gain:.1f} points in its last quarter of training"
            rising.append(f"{_said(place)} was still rising, {gained}")
    for name, places in at_edge.items():
        whose = "the edge of its grid" if len(places) == 1 else "the edges of their grids"
        notes.append(f"{_listed(places)} took {whose} in {name}")
    unsearched = {place[0] for place in trained if not any(search.grid for search in known.get(place, ()))}
    unsearched = {method for method in unsearched if not any(name in method for name in evidence.untuned)}
    return doubted, [*dict.fromkeys(notes), *rising], sorted(unsearched)


def _of(searches: Sequence[Search], place: Place) -> Iterator[Search]:
    """Yield the searches of a method: its own row's, or those of the rows that it stands for, ``GRAN [NT] KL``."""
    method, dataset = place
    rows = method.endswith("]") and all(search.method != method for search in searches)
    for search in searches:
        named = search.method == method or (rows and search.method.startswith(f"{method} "))
        if named and TEST_NAMES.get(search.dataset, search.dataset) in ("", dataset):
            yield search


def _less(known: Mapping[Place, Sequence[Search]], first: Place, second: Place) -> Place | None:
    """The side that had less than `ENOUGH` of the other's trainings to choose from, over all rows it stands for."""
    budgets = []
    for place in (first, second):
        own = known[place]
        rows = {search.method for search in own}
        budgets.append(sum(max(search.trainings for search in own if search.method == row) for row in rows))
    if min(budgets) >= ENOUGH * max(budgets):
        return None
    return first if budgets[0] < budgets[1] else second


def _half_width(found: Judgement) -> float:
    """Half of the narrowest interval that the verdict looked at, of errors only where there is nothing else."""
    leaves = [leaf for leaf in _leaves(found) if leaf.low is not None and leaf.high is not None]
    leaves = [leaf for leaf in leaves if leaf.unit not in ERRORS] or leaves
    return min(((leaf.high - leaf.low) / 2 for leaf in leaves), default=0.0)  # type: ignore[operator]


def _leaves(found: Judgement) -> list[Finding]:
    own = [leaf for part in found.parts for leaf in _leaves(part)]
    return own or ([found.ours] if found.ours else [])


def _said(place: Place) -> str:
    return f"{place[0]} on {place[1]}" if place[0].endswith("]") else place[0]


def _listed(names: Sequence[str], most: int = 4) -> str:
    names = list(dict.fromkeys(names))  # a row on several data sets is named once
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
