"""What a verdict needs besides numbers: several trainings, fair tuning of both sides, and the scale of the claim.

Each cap reads the record of the run, and leaves a sentence next to the verdict that it bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from sentbook.data.suites import TEST_NAMES
from sentbook.judge.evidence import Evidence, Place
from sentbook.judge.rules import DECIDED, HOLDS, Judgement, Number
from sentbook.records import Run, Search

if TYPE_CHECKING:
    from sentbook.judge.claims import ClaimSpec

# Searches step by step cannot have the same number of trainings on both sides to the last one.
ENOUGH = 0.8
# Begins the note of a verdict that a cap has made inconclusive.
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
        seen = max((one.get("pairs", 0) for one in run.extra.get("artifacts", ())), default=0)
        found = [f"{seen:,} training examples"] if seen < self.examples else []
        for path, least in self.settings.items():
            value: Any = run.provenance.config
            for name in path.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, int | float) and value < least:
                found.append(f"{path} of {value:,}")
        data = run.provenance.data
        return [*found, *(f"no {begin}" for begin in self.files if not any(path.startswith(begin) for path in data))]


def capped(found: Judgement, evidence: Evidence, spec: ClaimSpec) -> tuple[Judgement, list[str]]:
    """Bound a verdict by what the run records; and say by what.

    A decided verdict becomes inconclusive where a claim about models has one training of a side, or where a side that
    could turn it was under-tuned; one against the paper also where the run records no search of a side that was
    trained, and, where the claim is about given encoders, where these are of one training. A claim that does not hold,
    or is not decided, is out of scale where the run has less than what it is about. The notes keep what the numbers
    alone say.
    """
    notes, bounded, unsearched = [], False, []
    if spec.about == "models":
        trained = {place for one in found.numbers for place in (one.a, one.b) if place and evidence.trainings(place)}
        if alone := sorted({place.method for place in trained if evidence.trainings(place) == 1}):
            notes, bounded = [f"one training of {_listed(alone)}, where a claim about models needs several"], True
        doubted = under_tuned(found.numbers, evidence.run.searches)
        notes += dict.fromkeys(doubted.values())
        if doubted and found.verdict in DECIDED and not bounded:
            bounded = any(found.verdict_with({*doubted}, side) != found.verdict for side in ("a", "b"))  # type: ignore[arg-type]
            notes += [] if bounded else ["the verdict is the same with these as good as may be"]
        searched = {place for place in trained if any(one.grid for one in searches_of(evidence.run.searches, place))}
        unsearched = sorted({place.method for place in trained - searched})
        unsearched = [name for name in unsearched if not any(part in name for part in spec.untuned)]
    elif found.verdict == "not reproduced" and len(evidence.run.provenance.seeds) == 1:
        notes, bounded = ["one training, where a verdict against a claim needs several"], True
    if (bounded and found.verdict in DECIDED) or (unsearched and found.verdict == "not reproduced"):
        notes.insert(0, f"{BUT_FOR}{found.verdict}")
        found = replace(found, verdict="inconclusive")
    if unsearched:
        notes.append(f"no search of the settings of {_listed(unsearched)} is recorded")
    lacking = spec.scale.lacking(evidence.run) if spec.scale else []
    if spec.scale and lacking and found.verdict not in HOLDS and (found.verdict != "not run" or spec.scale.files):
        found = replace(found, verdict="out of scale")
        notes.append(f"the claim is about {spec.scale.says}; this run has {', '.join(lacking)}")
    return found, notes


def under_tuned(numbers: Sequence[Number], searches: Iterable[Search]) -> dict[Place, str]:
    """Say which sides of some numbers might be better than they are, and why.

    A side is under-tuned that had less than four fifths of the other's trainings to choose from (stages that follow
    each other are chosen one by one, and their largest search counts), that took the edge of its grid, or whose
    validation score still rose, in the last quarter of training, by more than half of the narrowest interval.
    """
    found: dict[Place, str] = {}
    known = {place: searches_of(searches, place) for one in numbers for place in (one.a, one.b) if place}
    budgets = {place: max(one.trainings for one in own) for place, own in known.items() if own}
    of_errors = [one for one in numbers if one.unit not in ("mse", "mae")] or numbers
    half = min(((one.high - one.low) / 2 for one in of_errors if one.low < one.high), default=0.0)
    for one in numbers:
        if one.a in budgets and one.b in budgets:
            less, more = sorted((one.a, one.b), key=lambda place: budgets[place])
            if budgets[less] < ENOUGH * budgets[more]:
                found[less] = f"{_said(less)} was searched less than {_said(more)}"
    for place, own in known.items():
        gain = max((search.last_quarter_gain or 0.0 for search in own), default=0.0)
        if edges := sorted({name for search in own for name in search.at_edge}):
            found[place] = f"{_said(place)} took the edge of its grid in {_listed(edges)}"
        if half and gain > half:
            found[place] = (
                f"{_said(place)} was still rising, by {100 * gain:.1f} points in its last quarter of training"
            )
    return found


def searches_of(searches: Iterable[Search], place: Place) -> list[Search]:
    """Return the searches of a method on a data set."""
    own = [search for search in searches if search.method == place.method]
    return [search for search in own if TEST_NAMES.get(search.dataset, search.dataset) in ("", place.dataset)]


def _said(place: Place) -> str:
    return f"{place.method} on {place.dataset}" if place.method.endswith("]") else place.method


def _listed(names: Sequence[str], most: int = 4) -> str:
    names = list(dict.fromkeys(names))
    return f"{', '.join(names[:most])} and {len(names) - most} more" if len(names) > most else ", ".join(names)
