"""Judge the papers' claims on recorded runs: a pure function from ``claims.yaml`` and a record to verdicts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sentbook.evaluation.predictions import Predictions
from sentbook.io import ConfigError
from sentbook.judge.claims import Cause, Claim, Verdict, claims
from sentbook.judge.evidence import Evidence, Missing, Number, Place
from sentbook.judge.rules import HOLDS, Judgement, judgement
from sentbook.records import Run, Scores, Search, Test, read

NO_RUN, TOY = "no run of this profile is recorded", "a run on toy data carries no verdict"
DECIDED: tuple[Verdict, ...] = (*HOLDS, "not reproduced")


class Entry(Claim):
    """A claim with its verdict and the run that it was judged on.

    Attributes:
        found: the numbers that the verdict looked at.
        notes: what bounds the verdict, a sentence each: one training, an under-tuned side, a smaller scale.
        run: None where there is none.
    """

    verdict: Verdict
    found: Judgement
    notes: list[str]
    run: Run | None

    @property
    def why(self) -> Cause | None:
        """Why it was likely not reproduced; other profiles than ``small`` train on other data, and have no cause."""
        return self.cause if self.run and self.run.profile == "small" and self.verdict != "reproduced" else None


def gather(profile: str = "small") -> list[Entry]:
    """Give every claim of every paper, in the order of the book, as the recorded runs of a profile decide it.

    Raises:
        DataError: a file is no run of this schema.
    """
    pages = dict.fromkeys(claim.page for claim in claims().values())
    found = {one.id: one for page in pages for one in judge(page, read(page, profile))}
    return [found[name] for name in claims()]


def judge(page: str, run: Run | None) -> list[Entry]:
    """Judge every claim of a page on the numbers of its run.

    The same run gives the same verdicts: neither data nor training is needed.
    """
    return [judged(claim, run) for claim in claims().values() if claim.page == page]


def measured(run: Run, scores: Scores) -> list[Test]:
    """Return the intervals that the claims of a run's page read and the run does not hold, from its scores per item."""
    book, made = Predictions.restored(scores), list[Test]()
    for claim in claims().values():
        if claim.page == run.name:
            judged(claim, run, book, made)
    return made


def judged(claim: Claim, run: Run | None, book: Predictions | None = None, made: list[Test] | None = None) -> Entry:
    """Judge one claim; "not run" with the reason where a number that it needs is not there.

    Args:
        book: the predictions behind the run, for numbers that it does not hold.
        made: takes these numbers.
    """
    found, notes = Judgement("not run", NO_RUN), list[str]()
    verdict = found.verdict
    if run is not None:
        evidence = Evidence(run, claim.about, claim.protocol, book, [] if made is None else made)
        absent = TOY if run.provenance.config.get("profile") == "demo" else claim.absent
        try:
            found = Judgement("not run", absent) if absent else judgement(evidence, claim)
        except (Missing, ConfigError) as reason:
            found = Judgement("not run", str(reason))
        verdict, notes = capped(found, evidence, claim)
    return Entry.model_construct(**dict(claim), verdict=verdict, found=found, notes=notes, run=run)


# -- what a verdict needs besides numbers ------------------------------------------------------------------------------


def capped(found: Judgement, evidence: Evidence, claim: Claim) -> tuple[Verdict, list[str]]:
    """Bound a verdict by what the run records and the paper says elsewhere; and say by what.

    A decided verdict becomes inconclusive where a claim about models has one training of a side, or where a side that
    could turn it was under-tuned; one against the paper also where the run records no search of a side that was
    trained, and, where the claim is about given encoders, where these are of one training. Whatever the numbers say, a
    claim is out of scale where the run has less than a tenth of what it is about. The notes keep what they say.
    """
    verdict, notes, bounded, unsearched, run = found.verdict, list[str](), False, set[str](), evidence.run
    if claim.about == "models":
        searches = {place: evidence.searches(place) for one in found.numbers for place in (one.a, one.b) if place}
        trainings = {place: sum(seed is not None for seed in evidence.seeds(*place)) for place in searches}
        if alone := {place.method for place, count in trainings.items() if count == 1}:
            notes, bounded = [f"One training of {_listed(alone)}, where a claim about models needs several."], True
        doubted = under_tuned(found.numbers, searches)
        notes += dict.fromkeys(doubted.values())
        if doubted and verdict in DECIDED and not bounded:
            better = ({(side, place) for place in doubted} for side in ("a", "b"))
            bounded = any(judgement(replace(evidence, ahead=sides), claim).verdict != verdict for sides in better)
            notes += [] if bounded else ["The verdict is the same with these as good as may be."]
        searched = {place for place, own in searches.items() if any(one.grid for one in own)}
        unsearched = {place.method for place in searches.keys() - searched if trainings[place]}
        unsearched = {name for name in unsearched if not any(part in name for part in claim.untuned)}
    elif verdict == "not reproduced" and len(run.provenance.seeds) == 1:
        notes, bounded = ["One training, where a verdict against a claim needs several."], True
    if unsearched and verdict == "not reproduced":
        notes, bounded = [*notes, f"No search of the settings of {_listed(unsearched)} is recorded."], True
    if bounded and verdict in DECIDED:
        notes.insert(0, f"By its numbers alone: {verdict}.")
        verdict = "inconclusive"
    if (lacking := [*filter(None, (size.lacking(run) for size in claim.scale))]) and verdict != "not run":
        notes = [f"It is about more than the run has: {', '.join(lacking)}.", f"By its numbers alone: {found.verdict}."]
        verdict = "out of scale"
    if claim.contradicts:
        verdict, notes = "the paper contradicts itself", [f"{claim.contradicts}.", *notes]
    return verdict, notes


def under_tuned(numbers: Sequence[Number], searches: Mapping[Place, Sequence[Search]]) -> dict[Place, str]:
    """Say which sides of some numbers might be better than they are, and why.

    A side is under-tuned that had less than four fifths of the other's trainings to choose from (stages that follow
    each other are chosen one by one, and their largest search counts), that took the edge of its grid, or whose
    validation score still rose, in the last quarter of training, by more than half of the narrowest interval.
    """
    found: dict[Place, str] = {}
    budgets = {place: max(one.trainings for one in own) for place, own in searches.items() if own}
    of_errors = [one for one in numbers if one.unit not in ("mse", "mae")] or numbers
    half = min(((one.high - one.low) / 2 for one in of_errors if one.low < one.high), default=0.0)
    for one in numbers:
        if one.a in budgets and one.b in budgets:
            less, more = sorted((one.a, one.b), key=lambda place: budgets[place])
            if budgets[less] < 0.8 * budgets[more]:  # searches step by step never have quite the same number
                found[less] = f"{_said(less)} was searched less than {_said(more)}."
    for place, own in searches.items():
        gain = max((search.last_quarter_gain or 0.0 for search in own), default=0.0)
        if edges := {name.replace("_", " ") for search in own for name in search.at_edge}:
            found[place] = f"{_said(place)} took the edge of its grid in {_listed(edges)}."
        if half and gain > half:
            found[place] = f"{_said(place)} still gained {100 * gain:.1f} points in its last quarter of training."
    return found


def _said(place: Place) -> str:
    return f"{place.method} on {place.dataset}" if place.method.endswith("]") else place.method


def _listed(names: Collection[str], most: int = 4) -> str:
    first = ", ".join(sorted(names)[:most])
    return f"{first} and {len(names) - most} more" if len(names) > most else first
