"""From numbers to a verdict, by stated rules.

A rule takes numbers and returns a `Judgement`. `sentbook.runs.claims` reads from a paper's ``claims.yaml`` which rule
judges a claim and on which numbers; `sentbook.runs.limits` says what more a verdict needs. Correlations are stored in
[-1, 1]; the sentences show them x 100. An interval of no width is none (one seed, one pair, a p-value alone), and
decides nothing.

Where a rule takes ``stated``, it says whether the bound is a number of the paper or the reading of its words that the
rule needs ("most" is more than half).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from scipy import stats

from sentbook.evaluation.statistics import Estimate
from sentbook.records import Finding, Part, Test, Verdict

PRINTED = "printed"
BOUND = "set by the rule"
# Measures of which less is better, and the places that they are shown with; others are shown in hundredths.
ERRORS = ("mse", "mae")
# An interval of 95 % lies wholly on the wrong side of the truth this often, on either side.
LEVEL = 0.025
DECIDED: tuple[Verdict, ...] = ("reproduced", "exceeded", "not reproduced")
HOLDS: tuple[Verdict, ...] = ("reproduced", "exceeded")


class Rule(NamedTuple):
    """A rule: the function that judges, whose first paragraph is the sentence that is printed.

    Attributes:
        name: a few words for a label.
        level: how often it finds one difference where there is none, on either side; None: it counts and has no such
            bound; 0: no chance is in it.
    """

    run: Callable[..., Judgement]
    name: str
    level: float | None = LEVEL

    @property
    def says(self) -> str:
        """The rule in words, as ``book/reading.md`` has it."""
        return " ".join((self.run.__doc__ or "").partition("\n\n")[0].split())


@dataclass(frozen=True)
class Judgement:
    """A verdict, the sentence of numbers it looked at, and these numbers.

    Attributes:
        ours: what was measured.
        printed: what it is held against.
        parts: the judgements that this one sums up.
        margin: by how much the claim holds, which tells the weakest of many parts.
    """

    verdict: Verdict
    evidence: str
    ours: Finding | None = None
    printed: Finding | None = None
    parts: tuple[Judgement, ...] = ()
    margin: float = 0.0

    def said(self, evidence: str) -> Judgement:
        """Say the same in another sentence."""
        return replace(self, evidence=evidence)

    def against(self, printed: Finding | None) -> Judgement:
        """Hold the same against another number."""
        return replace(self, printed=printed)

    def with_verdict(self, verdict: Verdict) -> Judgement:
        """Say the same with another verdict."""
        return replace(self, verdict=verdict)

    def part(self) -> Part:
        """Give the row that a claim of several parts records."""
        return Part(verdict=self.verdict, printed=self.printed, ours=self.ours)


def difference(first: float, second: float, unit: str) -> Finding:
    """Take B from A, two printed values."""
    # The paper has at most four decimals; the rest would be rounding error of binary fractions.
    return Finding(what="difference", unit=unit, value=round(first - second, 6), how=PRINTED)


def count(what: str, found: int, of: int, unit: str) -> Finding:
    """Count ``found`` of so many."""
    return Finding(what=what, unit=unit, value=found, of=of)


def bound(what: str, unit: str, value: float, stated: bool, of: int | None = None) -> Finding:
    """Name what a rule holds a number against: printed by the paper where ``stated``, else the rule's own reading."""
    return Finding(what=what, unit=unit, value=value, of=of, how=PRINTED if stated else BOUND)


def measured(value: Estimate, what: str, unit: str, how: str) -> Finding:
    """Name a number of ours, without an interval where it has no width."""
    low, high = (value.low, value.high) if value.low < value.high else (None, None)
    return Finding(what=what, unit=unit, value=value.estimate, low=low, high=high, how="" if low is None else how)


def _compared(test: Test) -> Finding:
    value = Estimate(test.estimate, test.low, test.high)
    return measured(value, f"{test.a} − {test.b} on {test.dataset}", test.metric, test.kind)


def _side(low: float, high: float, goal: float = 0) -> Verdict:
    """Say on which side of ``goal`` an interval lies; higher is better."""
    if low < high and goal < low:
        return "reproduced"
    if low < high < goal:
        return "not reproduced"
    return "inconclusive"


def _interval(low: float, high: float, scale: float, form: str) -> str:
    return f"[{low * scale:{form}}, {high * scale:{form}}]" if low < high else "[no interval]"


def _shown(test: Test) -> str:
    scale, form, unit = (1, "+.4f", "") if test.metric in ERRORS else (100, "+.1f", " points")
    interval = _interval(test.low, test.high, scale, form)
    return f"{test.a} − {test.b} = {test.estimate * scale:{form}}{unit} {interval} on {test.dataset}"


def _valued(value: Estimate, name: str, scale: float, form: str) -> str:
    return f"{name}: {value.estimate * scale:{form}} {_interval(value.low, value.high, scale, form)}"


def beats(test: Test, *, lower_is_better: bool = False, printed: Finding | None = None) -> Judgement:
    """Judge A - B by its interval: on A's side of 0, on B's, or without the difference that the paper prints."""
    low, high = (-test.high, -test.low) if lower_is_better else (test.low, test.high)
    verdict = _side(low, high)
    if verdict == "inconclusive" and printed is not None and low < high:
        claimed = -printed.value if lower_is_better else printed.value
        verdict = "not reproduced" if claimed > high else verdict
    return Judgement(verdict, _shown(test), ours=_compared(test), printed=printed, margin=low)


def all_of(parts: Sequence[Judgement]) -> Judgement:
    """Take the worst verdict of the parts: not reproduced, not run, inconclusive, exceeded, reproduced."""
    if len(parts) == 1:
        return parts[0]
    verdicts = [part.verdict for part in parts]
    order: tuple[Verdict, ...] = ("not reproduced", "not run", "inconclusive", "exceeded")
    return Judgement(
        next((verdict for verdict in order if verdict in verdicts), "reproduced"),
        "; ".join(part.evidence for part in parts),
        ours=count("parts that hold", sum(verdict in HOLDS for verdict in verdicts), len(parts), "parts"),
        printed=bound("all parts", "parts", len(parts), False, len(parts)),
        parts=tuple(parts),
        margin=min((part.margin for part in parts), default=0.0),
    )


def counted(parts: Sequence[Judgement], what: str) -> Judgement:
    """Judge as `all_of`; the sentence counts the parts that hold and shows the one of the smallest margin."""
    verdicts = [part.verdict for part in parts]
    words = f"{what} in {verdicts.count('reproduced')} of {len(parts)} cells"
    for verdict, said in (("exceeded", "exceeded"), ("inconclusive", "undecided")):
        words += f", {said} in {verdicts.count(verdict)}" if verdict in verdicts else ""
    least = min(parts, key=lambda part: part.margin)
    return all_of(parts).said(f"{words}; least: {least.evidence}")


def wins(
    tests: Sequence[Test], at_least: int, *, tie: float = 0.0, rows: str = "sets", stated: bool = True
) -> Judgement:
    """Judge by the rows on which A is above B and those on which an interval shows it.

    Args:
        tie: A below B by less than this counts as a win too, where the paper counts so.
        rows: what the tests are of, in words.

    Raises:
        ValueError: no tests.
    """
    if not tests:
        raise ValueError("Wins are counted over at least one test.")
    strict = sum(test.estimate > 0 for test in tests)
    plain = sum(test.estimate > min(0.0, 1e-9 - tie) for test in tests)
    sides = [_side(test.low, test.high) for test in tests]
    better, worse = sides.count("reproduced"), sides.count("not reproduced")
    a, b = tests[0].a, tests[0].b
    tied = f" and less than {tie * 100:.1f} points below it on {plain - strict} more" if tie else ""
    return Judgement(
        by_counts(plain, better, worse, len(tests), at_least),
        f"{a} above {b} on {strict} of {len(tests)} {rows}{tied}; "
        f"the interval excludes 0 in its favour on {better}, against it on {worse}",
        ours=count(f"{a} above {b}" + (" or tied" if tie else ""), plain, len(tests), rows),
        printed=bound("at least", rows, at_least, stated, len(tests)),
    )


def by_counts(won: int, better: int, worse: int, of: int, at_least: float) -> Verdict:
    """Decide the rule of `wins`: ``better`` and ``worse`` of the rows are significant; those against it outnumber the
    others by more than luck where a one-sided sign test has p < .05."""
    if of - worse < at_least or (worse and stats.binom.sf(worse - 1, better + worse, 0.5) < LEVEL * 2):
        return "not reproduced"
    return "reproduced" if won >= at_least and worse <= better else "inconclusive"


def above(
    value: Estimate,
    goal: float,
    name: str,
    *,
    scale: float = 100,
    lower_is_better: bool = False,
    unit: str = "pearson",
    how: str = "bootstrap over items",
    stated: bool = True,
) -> Judgement:
    """Reproduced when the interval is all better than ``goal``, not reproduced when all worse, else inconclusive."""
    low, high, edge = (-value.high, -value.low, -goal) if lower_is_better else (value.low, value.high, goal)
    form = ".1f" if scale == 100 else ".4f"
    return Judgement(
        _side(low, high, edge),
        f"{_valued(value, name, scale, form)} against {goal * scale:{form}}",
        ours=measured(value, name, unit, how),
        printed=bound("to be below" if lower_is_better else "to be above", unit, goal, stated),
        margin=low - edge,
    )


def scores(
    value: Estimate,
    printed: float,
    name: str,
    *,
    scale: float = 100,
    lower_is_better: bool = False,
    places: int | None = None,
    unit: str = "pearson",
    how: str = "bootstrap over items",
) -> Judgement:
    """Reproduced when our interval holds the printed value, exceeded when all of it is better, not when all is worse.

    The gap is shown. Without an interval it is inconclusive.
    """
    side = _side(-value.high, -value.low, -printed) if lower_is_better else _side(value.low, value.high, printed)
    decided: Verdict = {"reproduced": "exceeded", "inconclusive": "reproduced"}.get(side, side)  # type: ignore[assignment]
    digits = places if places is not None else 1 if scale == 100 else 4
    gap = value.estimate - printed
    return Judgement(
        decided if value.low < value.high else "inconclusive",
        f"{_valued(value, name, scale, f'.{digits}f')}, "
        f"printed {printed * scale:.{digits}f}, gap {gap * scale:+.{digits}f}",
        ours=measured(value, name, unit, how),
        printed=bound("to hold", unit, printed, True),
        margin=(-gap if lower_is_better else gap) / printed if printed else 0.0,
    )


def ranks(
    value: Estimate, others: Sequence[float], printed: int, name: str, *, lower_is_better: bool = False, how: str = ""
) -> Judgement:
    """Judge a rank among printed values; its interval holds the ranks of both ends of ours.

    Reproduced when that is the printed rank alone, exceeded when all of it is better, not reproduced when all is worse,
    else inconclusive.
    """
    best, worst = (value.low, value.high) if lower_is_better else (value.high, value.low)

    def rank(ours: float) -> int:
        return 1 + sum(other < ours if lower_is_better else other > ours for other in others)

    first, last = rank(best), rank(worst)
    verdict: Verdict = "inconclusive"
    if value.low < value.high:
        verdict = (
            "exceeded" if last < printed else "not reproduced" if first > printed
            else "reproduced" if first == last else "inconclusive"
        )  # fmt: skip
    of = Judgement(verdict, "", ours=measured(value, name, name, how))
    return Judgement(
        verdict,
        f"{_valued(value, name, 1, '.4f')}, rank {rank(value.estimate)} [{first}, {last}] among {len(others)} others, "
        f"printed {printed}",
        ours=Finding(what="rank", unit="rank", value=rank(value.estimate), low=first, high=last, how=how),
        printed=bound("rank", "rank", printed, True),
        parts=(of,),
        margin=printed - last,
    )


def equivalent(test: Test, margin: float, *, stated: bool = False) -> Judgement:
    """Judge "no difference" by two one-sided tests: reproduced when the interval of A - B is all within ``margin`` of
    0, not reproduced when it is all outside, else inconclusive."""
    scale, form = (1, ".4f") if test.metric in ERRORS else (100, ".1f")
    verdict: Verdict = "reproduced" if -margin < test.low and test.high < margin else "not reproduced"
    if not test.low < test.high or test.low <= margin <= test.high or test.low <= -margin <= test.high:
        verdict = "inconclusive"
    return Judgement(
        verdict,
        f"{_shown(test)}, margin {margin * scale:{form}}",
        ours=_compared(test),
        printed=bound("at most so far from 0", test.metric, margin, stated),
    )


def identity(error: float, tolerance: float, what: str) -> Judgement:
    """Reproduced when the largest ``error`` found is within ``tolerance``: two computations are the same one."""
    return Judgement(
        "reproduced" if error <= tolerance else "not reproduced",
        f"{what}: at most {error:.1e} apart, tolerance {tolerance:.0e}",
        ours=Finding(what=what, unit="distance", value=error),
        printed=bound("at most", "distance", tolerance, False),
    )


def not_run(reason: str) -> Judgement:
    """Say why there is no experiment for it."""
    return Judgement("not run", reason)
