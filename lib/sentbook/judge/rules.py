"""The rules that ``claims.yaml`` names: which numbers each compares, and how these become a verdict.

A rule's docstring is the sentence that ``book/reading.md`` prints. Correlations are stored in [-1, 1]; sentences show
them x 100. An interval of no width is none (one seed, a p-value alone), and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict
from scipy import special

from sentbook.judge.evidence import Evidence, Missing, Place, dataset_of, less_is_better
from sentbook.records import Finding, Test, Verdict

PRINTED, BOUND = "printed", "set by the rule"
# An interval of 95 % lies wholly on the wrong side of the truth this often, on either side.
LEVEL = 0.025
DECIDED: tuple[Verdict, ...] = ("reproduced", "exceeded", "not reproduced")
HOLDS: tuple[Verdict, ...] = ("reproduced", "exceeded")
_WORST: tuple[Verdict, ...] = ("not reproduced", "not run", "inconclusive", "exceeded")
# How a number of a unit is shown: its scale and its places; others x 100, with one.
_SHOWN = {"mse": (1, 4), "mae": (1, 4), "ratio": (1, 2), "score": (1, 2), "seconds": (1, 0)}
# From so many parts on, a sentence counts them and shows the least alone.
_MANY = 5


class Operands(BaseModel):
    """What a rule is called with; each takes some of these.

    Attributes:
        of: what is judged, under the rule's name in ``claims.yaml``: methods, pairs of them, or ``{finding: name}``.
        where, metric: rows and measures, one or several; None: the first of the run.
        table: where the paper prints the value, if not in the experiment's own table.
        unit, how: of a finding, and over what its interval is.
        stated: whether the bound is printed by the paper, or the reading of its words that the rule needs.
        than: a number, ``{printed: [...]}``, or ``{finding: name}``, a finding by row.
        worse: the claim is that ours is below.
        margin: how far short of a bound is as good; at most how far from 0, a number, one by measure, or ``printed``.
        printed: the printed value, one or by measure, or rank; None: what the paper prints of the method.
        among: the methods that are ranked besides.
        at_least: ``14 of 20`` (of another number of rows as large a part), ``most``, or a number; ``at_most``.
        tie: A below B by less than this counts as a win too, where the paper counts so.
        rows: what the rows are, in words.
        counts: a finding of counts, for runs that recorded these and not the rows.
        what: what an exact number is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: Any
    where: str | list[str] | None = None
    metric: str | list[str] | None = None
    table: str = ""
    unit: str = "share"
    how: str = ""
    stated: bool | None = None
    than: float | dict[str, Any] = 0.0
    worse: bool = False
    margin: float | dict[str, float] | Literal["printed"] = 0.0
    printed: float | dict[str, float] | None = None
    among: list[str] = []
    at_least: float | str | None = None
    at_most: float | None = None
    tie: float = 0.0
    rows: str = "sets"
    counts: str = ""
    what: str = ""


# -- numbers -----------------------------------------------------------------------------------------------------------


class Number(NamedTuple):
    """A number that a rule looks at: a value of a method, a difference of two, or a finding.

    Attributes:
        a, b: what was trained for it.
        printed: the same, as the paper prints it.
    """

    what: str
    unit: str
    value: float
    low: float
    high: float
    how: str
    a: Place | None = None
    b: Place | None = None
    printed: float | None = None

    def better(self, goal: float = 0.0) -> Number:
        """Return by how much it is better than ``goal``."""
        value, low, high = self.value - goal, self.low - goal, self.high - goal
        if less_is_better(self.unit):
            value, low, high = -value, -high, -low
        return self._replace(value=value, low=low, high=high)

    def ahead(self, side: Literal["a", "b"]) -> Number:
        """Take a side to be as good as may be."""
        return self._replace(value=inf, high=inf) if side == "a" else self._replace(value=-inf, low=-inf)

    def finding(self) -> Finding:
        """Return it as a claim shows it, without an interval where it has no width."""
        ends = {"low": self.low, "high": self.high, "how": self.how} if self.low < self.high else {}
        return Finding(what=self.what, unit=self.unit, value=self.value, **ends)

    def __str__(self) -> str:
        ends = f"{shown(self.low, self.unit)}, {shown(self.high, self.unit)}"
        return f"{self.what}: {shown(self.value, self.unit)} [{ends if self.low < self.high else 'no interval'}]"


def shown(value: float, unit: str) -> str:
    """Show a number of a unit."""
    scale, places = (1, 1) if unit.endswith("MedR") else _SHOWN.get(unit, (100, 1))
    return f"{value * scale:,.{places}f}"


def number(test: Test, what: str = "", own: bool = True) -> Number:
    """Return the number of a test, or of a value, whose sides have rows of their `own`."""
    a, b = (Place(side, dataset_of(test.dataset)) if own and side else None for side in (test.a, test.b))
    what = what or f"{test.a} − {test.b} on {test.dataset}"
    return Number(what, test.metric, test.estimate, test.low, test.high, test.kind, a, b)


def values(evidence: Evidence, o: Operands) -> Iterator[Number]:
    """Yield the values of methods in cells, or of a finding: an interval, or several by name."""
    if isinstance(o.of, dict):
        found = evidence.finding(o.of["finding"])
        for name, one in found.items() if "estimate" not in found else [(o.of["finding"], found)]:
            yield Number(name, o.unit, one["estimate"], one["low"], one["high"], o.how)
        return
    for method in o.of if isinstance(o.of, list) else [o.of]:
        for row, metric in evidence.cells(o.where, o.metric):
            yield number(evidence.value(method, row, metric), f"{method} on {row}")


def differences(evidence: Evidence, o: Operands) -> Iterator[Number]:
    """Yield the differences of pairs ``[A, B]`` in cells, or the tests that are a finding.

    A side is a method, ``{best: [...]}`` of methods by their means over seeds, or ``{printed: [...]}``, the best of
    what the paper prints of them.
    """
    if isinstance(o.of, dict):
        found = evidence.finding(o.of["finding"])
        for one in found if isinstance(found, list) else [found]:
            test, own = evidence.at_level(Test.model_validate(one))
            yield number(test, own=own)
        return
    for a, b in o.of if isinstance(o.of[0], list) else [o.of]:
        for cell in evidence.cells(o.where, o.metric):
            first, second = (_best(evidence, side, *cell) for side in (a, b))
            if isinstance(second, dict):
                made, (goal, _) = evidence.value(first, *cell), _printed(evidence, second, *cell)
                ends = {"estimate": made.estimate - goal, "low": made.low - goal, "high": made.high - goal}
                test = made.model_copy(update=ends)
            else:
                test = evidence.difference(first, second, *cell)
            try:
                # The paper has at most four decimals; the rest would be rounding error of binary fractions.
                gap = round(_printed(evidence, a, *cell)[0] - _printed(evidence, b, *cell)[0], 6)
            except Missing:
                gap = None
            yield number(test, f"{_said(a)} − {_said(b)} on {cell[0]}")._replace(printed=gap)


def _best(evidence: Evidence, side: Any, row: str, metric: str) -> Any:
    if not isinstance(side, dict) or "best" not in side:
        return side
    return (min if less_is_better(metric) else max)(side["best"], key=lambda name: evidence.mean(name, row, metric))


def _printed(evidence: Evidence, side: Any, row: str, metric: str, table: str = "") -> tuple[float, str]:
    """Return the best of what the paper prints of a side, and whose it is."""
    names = next(iter(side.values())) if isinstance(side, dict) else side
    names = [names] if isinstance(names, str) else names
    printed = [(evidence.printed(name, row, metric, table), name) for name in names]
    return (min if less_is_better(metric) else max)(printed)


def _said(side: Any) -> str:
    if isinstance(side, str):
        return side
    ((kind, names),) = side.items()
    return f"the best {'' if kind == 'best' else 'printed '}of {', '.join(names)}"


# -- verdicts ----------------------------------------------------------------------------------------------------------


Decide = Callable[[float, float], Verdict]


@dataclass(frozen=True)
class Judgement:
    """A verdict, the sentence of numbers it looked at, and these numbers.

    Attributes:
        ours, printed: what was measured, and what it is compared with.
        parts: the judgements that this one sums up.
        numbers, decide: what the verdict is of, more being better, and the function from these to the verdict.
    """

    verdict: Verdict
    evidence: str
    ours: Finding | None = None
    printed: Finding | None = None
    parts: tuple[Judgement, ...] = ()
    numbers: tuple[Number, ...] = ()
    decide: Callable[[Sequence[Number]], Verdict] | None = None

    def verdict_with(self, places: set[Place], side: Literal["a", "b"]) -> Verdict:
        """Return the verdict if one side of each number, where it is one of ``places``, were as good as may be."""
        if self.parts:
            return worst([part.verdict_with(places, side) for part in self.parts])
        moved = [one.ahead(side) if getattr(one, side) in places else one for one in self.numbers]
        return self.decide(moved) if self.decide else self.verdict


def side_of(low: float, high: float, goal: float = 0) -> Verdict:
    """Say on which side of ``goal`` an interval lies; more is better."""
    if low < high and goal < low:
        return "reproduced"
    return "not reproduced" if low < high < goal else "inconclusive"


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of a claim of several parts."""
    return next((verdict for verdict in _WORST if verdict in verdicts), "reproduced")


def bound(what: str, unit: str, value: float, stated: bool, of: int | None = None) -> Finding:
    """Name what a rule compares a number with."""
    return Finding(what=what, unit=unit, value=value, of=of, how=PRINTED if stated else BOUND)


def leaf(one: Number, decide: Decide, printed: Finding | None = None, goal: float = 0.0, whose: str = "") -> Judgement:
    """Judge one number by the interval of how much better it is than ``goal``."""
    better = one.better(goal)

    def of(numbers: Sequence[Number]) -> Verdict:
        return decide(numbers[0].low, numbers[0].high)

    words = ""
    if printed:
        what = PRINTED if printed.how == PRINTED else printed.what
        words = f"; {what} {shown(printed.value, one.unit)} {whose}".rstrip()
    return Judgement(of([better]), f"{one}{words}", one.finding(), printed, (), (better,), of)


def all_of(parts: Sequence[Judgement]) -> Judgement:
    """Take the worst verdict of the parts; of many the sentence counts those that hold and shows the least."""
    if len(parts) == 1:
        return parts[0]
    verdicts, of = [part.verdict for part in parts], len(parts)
    holding = sum(one in HOLDS for one in verdicts)
    words = "; ".join(part.evidence for part in parts)
    if of >= _MANY:
        least = min(parts, key=lambda part: min((one.low for one in part.numbers), default=0.0))
        words = f"{holding} of {of} hold, undecided {verdicts.count('inconclusive')}; least: {least.evidence}"
    ours = Finding(what="parts that hold", unit="parts", value=holding, of=of)
    numbers = tuple(one for part in parts for one in part.numbers)
    goal = bound("all parts", "parts", of, False, of)
    return Judgement(worst(verdicts), words, ours, goal, tuple(parts), numbers)


# -- rules -------------------------------------------------------------------------------------------------------------


def beats(evidence: Evidence, o: Operands) -> Judgement:
    """Reproduced when the interval of A - B lies on A's side of 0; not reproduced when it lies on B's side, or
    when it holds 0 and not the difference that the paper prints, which is larger; else inconclusive."""
    parts = []
    for one in differences(evidence, o):
        printed = None if one.printed is None else bound("difference", one.unit, one.printed, True)
        claimed = 0.0 if one.printed is None else -one.printed if less_is_better(one.unit) else one.printed

        def decide(low: float, high: float, claimed: float = claimed) -> Verdict:
            return "not reproduced" if low <= 0 <= high and low < high < claimed else side_of(low, high)

        parts.append(leaf(one, decide, printed))
    return all_of(parts)


def wins(evidence: Evidence, o: Operands) -> Judgement:
    """Reproduced when A is above B on k of n rows and significant losses do not outnumber significant wins; not
    reproduced when they do by more than luck (a one-sided sign test, p < .05), or when A would win fewer than k if it
    won all rows but its significant losses; else inconclusive."""
    try:
        numbers = tuple(one.better() for one in differences(evidence, o))
        found = _counted(numbers, o.tie)
    except Missing:
        if not o.counts:
            raise
        numbers, found = (), evidence.finding(o.counts)
    n = found["of"]
    k, of = (n // 2 + 1, n) if o.at_least == "most" else map(int, str(o.at_least).split(" of "))
    least = -(-k * n // of)
    sides = o.of[0] if isinstance(o.of, list) and isinstance(o.of[0], list) else o.of
    what = sides["finding"] if isinstance(sides, dict) else f"{_said(sides[0])} above {_said(sides[1])}"
    tied = f", within {100 * o.tie:.1f} points on {found['won'] - found['above']} more" if o.tie else ""
    words = f"{what} on {found['above']} of {n} {o.rows}{tied}; the interval excludes 0 in its favour on "
    stated = o.stated is not False and of == n and o.at_least != "most"
    return Judgement(
        by_counts(found, least),
        f"{words}{found['better']}, against it on {found['worse']}",
        Finding(what=what, unit=o.rows, value=found["won"], of=n),
        bound("at least", o.rows, least, stated, n),
        numbers=numbers,
        decide=lambda numbers: by_counts(_counted(numbers, o.tie), least),
    )


def _counted(numbers: Sequence[Number], tie: float) -> dict[str, int]:
    """Count the rows that A wins, by more than a tie, and those that it wins or loses significantly."""
    sides = [side_of(one.low, one.high) for one in numbers]
    above, won = (sum(one.value > least for one in numbers) for least in (0, min(0.0, 1e-9 - tie)))
    better, worse = sides.count("reproduced"), sides.count("not reproduced")
    return {"above": above, "won": won, "better": better, "worse": worse, "of": len(numbers)}


def by_counts(found: dict[str, int], at_least: float) -> Verdict:
    """Decide the rule of `wins`; losses outnumber wins by more than luck where a sign test has p < .05."""
    better, worse = found["better"], found["worse"]
    luck = special.bdtrc(worse - 1, better + worse, 0.5) if worse else 1.0
    if found["of"] - worse < at_least or luck < 2 * LEVEL:
        return "not reproduced"
    return "reproduced" if found["won"] >= at_least and worse <= better else "inconclusive"


def above(evidence: Evidence, o: Operands) -> Judgement:
    """Reproduced when our interval is all beyond the bound, not reproduced when it is all short of it, else
    inconclusive."""

    def decide(low: float, high: float) -> Verdict:
        return side_of(-high, -low) if o.worse else side_of(low, high)

    parts = []
    for one in values(evidence, o):
        less, goal, whose = less_is_better(one.unit), o.than, ""
        if isinstance(goal, dict) and "finding" in goal:
            goal = evidence.finding(goal["finding"])[one.a.dataset if one.a else ""]
        elif isinstance(goal, dict):
            goal, whose = _printed(evidence, goal, one.a.dataset if one.a else "", one.unit, o.table)
        goal += o.margin if less else -o.margin  # type: ignore[operator]
        what = "to be below" if o.worse != less else "to be above"
        parts.append(leaf(one, decide, bound(what, one.unit, goal, o.stated is not False), goal, whose))
    return all_of(parts)


def scores(evidence: Evidence, o: Operands) -> Judgement:
    """Reproduced when our interval holds the printed value, exceeded when all of it is better, not reproduced when
    all of it is worse; inconclusive without an interval."""

    def decide(low: float, high: float) -> Verdict:
        if not low < high:
            return "inconclusive"
        return "exceeded" if low > 0 else "not reproduced" if high < 0 else "reproduced"

    parts = []
    for one in values(evidence, o):
        goal = o.printed[one.unit] if isinstance(o.printed, dict) else o.printed
        if goal is None:
            goal = evidence.printed(*(one.a or ("", "")), one.unit, o.table)
        parts.append(leaf(one, decide, bound("to hold", one.unit, goal, True), goal))
    return all_of(parts)


def ranks(evidence: Evidence, o: Operands) -> Judgement:
    """Reproduced when both ends of our interval have the printed rank among the printed values, exceeded when both
    have a better one, not reproduced when both have a worse one, else inconclusive."""
    (one,), ((row, metric),) = values(evidence, o), evidence.cells(o.where, o.metric)
    others = [one._replace(value=evidence.printed(name, row, metric, o.table)).better().value for name in o.among]
    theirs = int(o.printed)  # type: ignore[arg-type]

    def rank(ours: float) -> int:
        return 1 + sum(other > ours for other in others)

    def decide(low: float, high: float) -> Verdict:
        if not low < high or rank(low) >= theirs >= rank(high) != rank(low):
            return "inconclusive"
        return "exceeded" if rank(low) < theirs else "not reproduced" if rank(high) > theirs else "reproduced"

    best = one.better()
    ours, first, last = (rank(end) for end in (best.value, best.high, best.low))
    found = leaf(one, decide, bound("rank", "rank", theirs, True))
    words = f"{one}; rank {ours} [{first}, {last}] of {len(others) + 1}, printed {theirs}"
    own = Finding(what="rank", unit="rank", value=ours, low=first, high=last, how=one.how)
    return replace(found, ours=own, evidence=words)


def equivalent(evidence: Evidence, o: Operands) -> Judgement:
    """Two one-sided tests at a margin that the claim states: reproduced when the interval of A - B lies within it,
    not reproduced when it lies outside, else inconclusive."""
    parts = []
    for one in differences(evidence, o):
        margin = (
            o.margin[one.unit] if isinstance(o.margin, dict) else one.printed if o.margin == "printed" else o.margin
        )
        if margin is None:
            raise Missing(f"needs the difference that the paper prints of {one.what}")
        size = abs(float(margin))

        def decide(low: float, high: float, size: float = size) -> Verdict:
            if not low < high or low <= size <= high or low <= -size <= high:
                return "inconclusive"
            return "reproduced" if -size < low and high < size else "not reproduced"

        parts.append(leaf(one, decide, bound("at most so far from 0", one.unit, size, bool(o.stated))))
    return all_of(parts)


def identity(evidence: Evidence, o: Operands) -> Judgement:
    """Reproduced when an exact number, in which there is no chance, is what the claim says, else not reproduced."""
    value, form = float(evidence.finding(o.of["finding"])), ".1e" if o.unit == "distance" else ",.0f"
    low, high = float(-inf if o.at_least is None else o.at_least), inf if o.at_most is None else o.at_most
    words, goal = ("exactly", low) if low == high else ("at most", high) if low == -inf else ("at least", low)
    verdict: Verdict = "reproduced" if low <= value <= high else "not reproduced"
    ours = Finding(what=o.what, unit=o.unit, value=value)
    limit = bound(words, o.unit, goal, bool(o.stated))
    return Judgement(verdict, f"{o.what}: {value:{form}}, {words} {goal:{form}}", ours, limit)


def every(evidence: Evidence, o: Operands) -> Judgement:
    """The worst verdict of the parts: not reproduced, then not run, inconclusive, exceeded, reproduced."""
    found = [RULES[name].run(evidence, part) for name, part in o.of]
    return all_of([part for one in found for part in one.parts or [one]])


class Rule(NamedTuple):
    """A rule by its name in ``claims.yaml``.

    Attributes:
        name: a few words for a label.
        level: how often it finds one difference where there is none, on either side; None: it counts and has no such
            bound; 0: no chance is in it.
    """

    run: Callable[[Evidence, Operands], Judgement]
    name: str
    level: float | None = LEVEL

    @property
    def says(self) -> str:
        """The rule in words."""
        return " ".join((self.run.__doc__ or "").split())


RULES: dict[str, Rule] = {
    "beats": Rule(beats, "A beats B"),
    "wins": Rule(wins, "A wins k of n", None),
    "above": Rule(above, "A is beyond a bound"),
    "scores": Rule(scores, "A scores v"),
    "ranks": Rule(ranks, "A ranks k-th"),
    "equivalent": Rule(equivalent, "no difference"),
    "identity": Rule(identity, "an exact number", 0.0),
    "all": Rule(every, "all parts hold"),
}
