"""The rules that ``claims.yaml`` names: which numbers each compares, and how these become a verdict.

A rule's docstring is its name and the sentence that ``book/reading.md`` prints. Correlations are stored in [-1, 1];
sentences show them x 100. An interval of no width is none (one seed, a p-value alone), and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, sqrt
from typing import Any

from scipy import special

from sentbook.io import ConfigError
from sentbook.judge.claims import Claim, Comparison, Verdict
from sentbook.judge.evidence import NAMED, Evidence, Number, best, lower_is_better
from sentbook.records import Test

# An interval of 95 % lies wholly on the wrong side of the truth this often, on either side.
LEVEL = 0.025
HOLDS: tuple[Verdict, ...] = ("reproduced", "exceeded")
_WORST: tuple[Verdict, ...] = ("not reproduced", "not run", "inconclusive", "exceeded", "reproduced")
# How a number of a unit is shown: its scale and its places; others x 100, with one.
_SHOWN = {"mse": (1, 4), "mae": (1, 4), "ratio": (1, 2), "score": (1, 2), "seconds": (1, 0)}


# -- numbers -----------------------------------------------------------------------------------------------------------


def shown(one: Number) -> str:
    """Show a number with its interval in its unit."""
    value, low, high = (in_unit(end, one.unit) for end in (one.value, one.low, one.high))
    return f"{one.what}: {value} [{f'{low}, {high}' if one.how else 'no interval'}]"


def in_unit(value: float, unit: str) -> str:
    """Show a value in its unit."""
    scale, places = (1, 1) if unit.endswith("MedR") else _SHOWN.get(unit, (100, 1))
    return f"{value * scale:z,.{places}f}"


def numbers(evidence: Evidence, c: Comparison) -> Iterator[Number]:
    """Yield what a rule compares: values of methods in cells, differences of pairs ``[A, B]``, or a finding.

    A side of a pair is a method, ``{best: [...]}`` of methods by their means over seeds, or ``{printed: [...]}``, the
    best of what the paper prints of them. A finding is a test, a list of tests, an interval, or several by name.
    """
    if isinstance(c.of, dict):
        found = evidence.finding(c.of["finding"])
        found = dict(enumerate(found)) if isinstance(found, list) else found
        for what, one in {c.what or c.of["finding"]: found}.items() if "estimate" in found else found.items():
            test = {"kind": c.how, "a": what, "b": "", "dataset": "", "metric": c.unit, **one}
            yield evidence.number(Test(**{key: test[key] for key in Test.model_fields if key in test}))
        return
    pairs = c.rule in ("beats", "wins", "equivalent")
    several = isinstance(c.of[0], list) if pairs else isinstance(c.of, list)
    for side, row, measure in product(c.of if several else [c.of], _listed(c.where), _listed(c.metric)):
        metric = measure or evidence.metric(row)
        yield difference(evidence, side[0], side[1], row, metric) if pairs else evidence.measured(row, metric, side)


def difference(evidence: Evidence, a: Any, b: Any, row: str, metric: str) -> Number:
    """Return A - B on a row, and what the paper prints of it."""
    try:
        theirs, goal = (evidence.printed(_names(side), row, metric)[0] for side in (a, b))
        printed = round(theirs - goal, 6)  # four decimals are printed; the rest would be the error of binary fractions
    except ConfigError:
        printed = None
    method = _method(evidence, a, row, metric)
    if isinstance(b, dict) and "printed" in b:
        one, (goal, _) = evidence.measured(row, metric, method), evidence.printed(_names(b), row, metric)
        one = replace(one, value=one.value - goal, low=one.low - goal, high=one.high - goal)
    else:
        one = evidence.measured(row, metric, method, _method(evidence, b, row, metric))
    return replace(one, what=f"{_said(a)} − {_said(b)} on {row}{NAMED.get(metric, '')}", printed=printed)


def _names(side: Any) -> list[str]:
    return _listed(next(iter(side.values())) if isinstance(side, dict) else side)


def _listed(one: Any) -> list[Any]:
    return one if isinstance(one, list) else [one]


def _method(evidence: Evidence, side: Any, row: str, metric: str) -> str:
    """Name the method that stands for a side, the best of several."""
    names = _names(side)
    return best({name: evidence.mean(name, row, metric) for name in names}, metric) if len(names) > 1 else names[0]


def _said(side: Any) -> str:
    if isinstance(side, str):
        return side
    return f"the best {'printed ' if 'printed' in side else ''}of {', '.join(_names(side))}"


# -- verdicts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judgement:
    """A verdict, and what it looked at.

    Attributes:
        evidence: the sentence of numbers.
        ours, printed: what was measured, and what it is compared with: the paper's number or the bound of the rule.
        numbers: what the verdict is of.
        low: of the interval of a single number, by how much it is better than what it is compared with.
        parts: the judgements that this one sums up.
    """

    verdict: Verdict
    evidence: str
    ours: Number | None = None
    printed: Number | None = None
    numbers: tuple[Number, ...] = ()
    low: float = 0.0
    parts: tuple[Judgement, ...] = ()


def side_of(low: float, high: float) -> Verdict:
    """Say on which side of 0 an interval lies."""
    if not low < high or low <= 0 <= high:
        return "inconclusive"
    return "reproduced" if low > 0 else "not reproduced"


def bound(what: str, unit: str, value: float, stated: bool, of: int | None = None) -> Number:
    """Name what a rule compares a number with."""
    return Number(what, unit, value, of=of, how="printed" if stated else "set by the rule")


def leaf(verdict: Verdict, one: Number, low: float, printed: Number | None, whose: str = "") -> Judgement:
    """Return the judgement of one number."""
    what = printed and ("printed" if printed.how == "printed" else printed.what)
    words = f"; {what} {in_unit(printed.value, one.unit)} {whose}".rstrip() if printed else ""
    return Judgement(verdict, shown(one) + words, one, printed, (one,), low)


def judgement(evidence: Evidence, claim: Claim) -> Judgement:
    """All parts hold. The worst verdict of the parts: not reproduced, then not run, inconclusive, exceeded, reproduced;
    where the parts are readings of words that the paper leaves open, inconclusive unless all have the same verdict."""
    parts: list[Judgement] = []
    for c in claim.parts or [claim]:
        whole = WHOLE.get(c.rule)
        parts += [whole(evidence, c)] if whole else [EACH[c.rule](evidence, c, one) for one in numbers(evidence, c)]
    if len(parts) == 1:
        return parts[0]
    verdicts, of = [part.verdict for part in parts], len(parts)
    holding = sum(one in HOLDS for one in verdicts)
    words = "; ".join(part.evidence for part in parts)
    if of >= 5:  # a sentence counts many and shows the least alone
        least = min(parts, key=lambda part: part.low)
        words = f"{holding} of {of} hold, undecided {verdicts.count('inconclusive')}; least: {least.evidence}"
    ours, goal = Number("parts that hold", "parts", holding, of=of), bound("all parts", "parts", of, False, of)
    worst = next(verdict for verdict in _WORST if verdict in verdicts)
    worst = "inconclusive" if claim.readings and len({*verdicts}) > 1 else worst
    return Judgement(worst, words, ours, goal, tuple(one for part in parts for one in part.numbers), parts=tuple(parts))


# -- rules -------------------------------------------------------------------------------------------------------------


def beats(evidence: Evidence, c: Comparison, one: Number) -> Judgement:
    """A beats B. Reproduced when the interval of A - B lies on A's side of 0; not reproduced when it lies on B's side,
    or when it holds 0 and, made √2 as wide, not the larger difference that the paper prints: so far may another run go
    that is as uncertain as ours (Spence and Stanley 2016); else inconclusive."""
    value, low, high = one.better()
    claimed, _, _ = replace(one, value=one.printed or 0.0).better()
    further = high if value == -inf else value + sqrt(2) * (high - value)
    verdict: Verdict = "not reproduced" if low <= 0 <= high and low < further < claimed else side_of(low, high)
    printed = None if one.printed is None else bound("difference", one.unit, one.printed, True)
    return leaf(verdict, one, low, printed)


def wins(evidence: Evidence, c: Comparison) -> Judgement:
    """A wins k of n. Reproduced when A is above B on k of n rows and significant wins outnumber significant losses; not
    reproduced when losses outnumber wins by more than luck (a one-sided sign test, p < .05), or when A would win fewer
    than k if it won all rows but its significant losses; else inconclusive."""
    rows = tuple(numbers(evidence, c))
    found = _counted(rows, c.tie)
    n, won, better, worse = (found[name] for name in ("of", "won", "better", "worse"))
    k, of = (n // 2 + 1, n) if c.at_least == "most" else map(int, str(c.at_least).split(" of "))
    least = -(-k * n // of)
    luck = special.bdtrc(worse - 1, better + worse, 0.5) if worse else 1.0
    verdict: Verdict = "reproduced" if won >= least and worse < better else "inconclusive"
    if n - worse < least or luck < 2 * LEVEL:
        verdict = "not reproduced"
    sides = c.of[0] if isinstance(c.of, list) and isinstance(c.of[0], list) else c.of
    what = c.what or (sides["finding"] if isinstance(sides, dict) else f"{_said(sides[0])} above {_said(sides[1])}")
    tied = f", within {100 * c.tie:.1f} points on {won - found['above']} more" if c.tie else ""
    words = f"{what} on {found['above']} of {n} {c.rows}{tied}; the interval excludes 0 in its favour on {better}, "
    goal = bound("at least", c.rows, least, c.stated and of == n and c.at_least != "most", n)
    return Judgement(verdict, f"{words}against it on {worse}", Number(what, c.rows, won, of=n), goal, rows)


def _counted(rows: Sequence[Number], tie: float) -> dict[str, int]:
    """Count the rows that A wins, by more than a tie, and those that it wins or loses significantly."""
    values, lows, highs = zip(*(one.better() for one in rows), strict=True)
    sides = [side_of(low, high) for low, high in zip(lows, highs, strict=True)]
    above, won = (sum(value > least for value in values) for least in (0, min(0.0, 1e-9 - tie)))
    better, worse = sides.count("reproduced"), sides.count("not reproduced")
    return {"above": above, "won": won, "better": better, "worse": worse, "of": len(rows)}


def above(evidence: Evidence, c: Comparison, one: Number) -> Judgement:
    """A is beyond a bound. Reproduced when our interval is all beyond the bound, not reproduced when it is all short of
    it, else inconclusive."""
    less, goal, whose = lower_is_better(one.unit), c.than, ""
    if isinstance(goal, dict):
        goal, whose = evidence.printed(_names(goal), one.a.dataset if one.a else "", one.unit, c.table)
    _, low, high = one.better(goal)
    verdict = side_of(-high, -low) if c.worse else side_of(low, high)
    what = "to be below" if c.worse != less else "to be above"
    return leaf(verdict, one, low, bound(what, one.unit, goal, c.stated), whose)


def scores(evidence: Evidence, c: Comparison, one: Number) -> Judgement:
    """A scores v. Reproduced when our interval holds the printed value and is narrower than the difference that the
    paper makes of it, to what it names or else to the best other value of the column; exceeded when all of it is
    better, not reproduced when all of it is worse, else inconclusive."""
    goal: Any = c.printed[one.unit] if isinstance(c.printed, dict) else c.printed
    other: Any = c.than
    if one.a:
        place = (one.a.dataset, one.unit, c.table)
        goal = evidence.printed([one.a.method], *place)[0] if goal is None else goal
        others = _names(other) if isinstance(other, dict) else not other and evidence.rivals(one.a.method, *place)
        other = evidence.printed(others, *place)[0] if others else other
    _, low, high = one.better(goal)
    verdict: Verdict = "exceeded" if low > 0 else "not reproduced" if high < 0 else "reproduced"
    if not low < high or (verdict == "reproduced" and high - low >= abs(goal - other)):
        verdict = "inconclusive"
    apart = f"({in_unit(abs(goal - other), one.unit)} from the next)"
    return leaf(verdict, one, low, bound("to hold", one.unit, goal, True), apart)


def ranks(evidence: Evidence, c: Comparison, one: Number) -> Judgement:
    """A ranks k-th. Reproduced when both ends of our interval have the printed rank among the printed values, exceeded
    when both have a better one, not reproduced when both have a worse one, else inconclusive."""
    theirs, place = int(c.printed), (one.a.dataset, one.unit, c.table)  # type: ignore
    others = [replace(one, value=evidence.printed([name], *place)[0]).better()[0] for name in _names(c.than)]
    ours, last, first = (1 + sum(other > end for other in others) for end in one.better())
    verdict: Verdict = "exceeded" if last < theirs else "not reproduced" if first > theirs else "reproduced"
    if not one.low < one.high or last >= theirs >= first != last:
        verdict = "inconclusive"
    words = f"{shown(one)}; rank {ours} [{first}, {last}] of {len(others) + 1}, printed {theirs}"
    own = Number("rank", "rank", ours, first, last, one.how)
    return Judgement(verdict, words, own, bound("rank", "rank", theirs, True), (one,))


def equivalent(evidence: Evidence, c: Comparison, one: Number) -> Judgement:
    """No difference. Two one-sided tests at a margin that the claim states: reproduced when the interval of A - B lies
    within it, not reproduced when it lies outside, else inconclusive."""
    size = abs(c.margin[one.unit] if isinstance(c.margin, dict) else c.margin)
    _, low, high = one.better()
    verdict: Verdict = "reproduced" if -size < low and high < size else "not reproduced"
    if not low < high or low <= size <= high or low <= -size <= high:
        verdict = "inconclusive"
    return leaf(verdict, one, low, bound("within ±", one.unit, size, c.stated))


def identity(evidence: Evidence, c: Comparison) -> Judgement:
    """An exact number. Reproduced when an exact number, in which there is no chance, is what the claim says, else not
    reproduced."""
    value, form = float(evidence.finding(c.of["finding"])), ".1g" if c.unit == "distance" else ",.0f"
    low, high = float(-inf if c.at_least is None else c.at_least), inf if c.at_most is None else c.at_most
    words, goal = ("exactly", low) if low == high else ("at most", high) if low == -inf else ("at least", low)
    verdict: Verdict = "reproduced" if low <= value <= high else "not reproduced"
    said = f"{c.what}: {value:{form}}, {words} {goal:{form}}"
    return Judgement(verdict, said, Number(c.what, c.unit, value), bound(words, c.unit, goal, c.stated))


WHOLE = {"wins": wins, "identity": identity}
EACH = {"beats": beats, "above": above, "scores": scores, "ranks": ranks, "equivalent": equivalent}


def name_of(rule: str) -> str:
    """Name a rule in a few words: how its docstring begins."""
    return str({"all": judgement, **WHOLE, **EACH}[rule].__doc__).partition(".")[0]
