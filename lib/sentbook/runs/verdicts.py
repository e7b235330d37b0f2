"""From numbers to a verdict, by rules stated in advance.

A rule takes numbers and returns a `Judgement`. `sentbook.runs.claims` reads from a paper's ``claims.yaml`` which rule
judges a claim and on which numbers. Correlations are stored in [-1, 1]; the sentences show them x 100. An interval of
no width is none (one seed, one pair, a p-value alone), and decides nothing.

Where a rule takes ``stated``, it says whether the bound is a number of the paper or the reading of its words that the
rule needs ("most" is more than half).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sentbook.evaluation.statistics import Estimate
from sentbook.records import Finding, Part, Test, Verdict

PRINTED = "printed"
BOUND = "set by the rule"
OVER_ITEMS = "bootstrap over items"
# Measures of which less is better, and the places that they are shown with; others are shown in hundredths.
ERRORS = ("mse", "mae")


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


def beats(test: Test, *, lower_is_better: bool = False) -> Judgement:
    """Reproduced when the interval of A - B lies on A's side of 0, not reproduced on B's side, else inconclusive."""
    low, high = (-test.high, -test.low) if lower_is_better else (test.low, test.high)
    return Judgement(_side(low, high), _shown(test), ours=_compared(test), margin=low)


def all_of(parts: Sequence[Judgement]) -> Judgement:
    """Reproduced when every part is, not reproduced when a part is not, else not run or inconclusive as a part is."""
    if len(parts) == 1:
        return parts[0]
    verdicts = [part.verdict for part in parts]
    order: tuple[Verdict, ...] = ("not reproduced", "not run", "inconclusive")
    return Judgement(
        next((verdict for verdict in order if verdict in verdicts), "reproduced"),
        "; ".join(part.evidence for part in parts),
        ours=count("parts that hold", verdicts.count("reproduced"), len(parts), "parts"),
        printed=bound("all parts", "parts", len(parts), False, len(parts)),
        parts=tuple(parts),
        margin=min((part.margin for part in parts), default=0.0),
    )


def counted(parts: Sequence[Judgement], what: str) -> Judgement:
    """Judge as `all_of`; the sentence counts the parts that hold and shows the one of the smallest margin."""
    verdicts = [part.verdict for part in parts]
    undecided = verdicts.count("inconclusive")
    words = f"{what} in {verdicts.count('reproduced')} of {len(parts)} cells"
    words += f", undecided in {undecided}" if undecided else ""
    least = min(parts, key=lambda part: part.margin)
    return all_of(parts).said(f"{words}; least: {least.evidence}")


def wins(
    tests: Sequence[Test], at_least: int, *, tie: float = 0.0, rows: str = "sets", stated: bool = True
) -> Judgement:
    """Reproduced when A is above B on ``at_least`` rows and significant losses do not outnumber significant wins.

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
        "reproduced" if plain >= at_least and worse <= better else "not reproduced",
        f"{a} above {b} on {strict} of {len(tests)} {rows}{tied}; "
        f"the interval excludes 0 in its favour on {better}, against it on {worse}",
        ours=count(f"{a} above {b}" + (" or tied" if tie else ""), plain, len(tests), rows),
        printed=bound("at least", rows, at_least, stated, len(tests)),
    )


def above(
    value: Estimate,
    goal: float,
    name: str,
    *,
    scale: float = 100,
    lower_is_better: bool = False,
    unit: str = "pearson",
    how: str = OVER_ITEMS,
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
    how: str = OVER_ITEMS,
) -> Judgement:
    """Reproduced when our interval holds the printed value, or ours is better; else not reproduced. The gap is shown.

    Without an interval, a value worse than the printed one is inconclusive.
    """
    missed: Verdict = "not reproduced" if value.low < value.high else "inconclusive"
    reached = value.low <= printed if lower_is_better else value.high >= printed
    digits = places if places is not None else 1 if scale == 100 else 4
    gap = value.estimate - printed
    return Judgement(
        "reproduced" if reached else missed,
        f"{_valued(value, name, scale, f'.{digits}f')}, "
        f"printed {printed * scale:.{digits}f}, gap {gap * scale:+.{digits}f}",
        ours=measured(value, name, unit, how),
        printed=bound("to reach", unit, printed, True),
        margin=(-gap if lower_is_better else gap) / printed if printed else 0.0,
    )


def same(test: Test) -> Judgement:
    """For "no significant difference": reproduced when the interval of A - B holds 0, not reproduced when it does not.

    A wide interval holds 0 easily, so the evidence shows it.
    """
    verdict: Verdict = "reproduced" if test.low <= 0 <= test.high else "not reproduced"
    if not test.low < test.high:
        verdict = "inconclusive"
    return Judgement(verdict, _shown(test), ours=_compared(test))


def near(test: Test, margin: float, *, stated: bool = False) -> Judgement:
    """For "no obvious difference": reproduced when the interval of A - B is all within ``margin`` of 0, not reproduced
    when it is all outside, else inconclusive."""
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
