"""The rules by their names in ``claims.yaml``: what each compares, and the sentence that says how it judges.

The first paragraph of a rule's docstring is that sentence, as ``book/reading.md`` prints it; its operands are its
parameters. `sentbook.runs.verdicts` has what they do with the numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

from sentbook.evaluation.statistics import Estimate
from sentbook.records import Finding, Test
from sentbook.runs import verdicts
from sentbook.runs.evidence import Evidence, Missing, dataset_of, less_is_better, turned
from sentbook.runs.verdicts import Judgement, Rule

Operands = dict[str, Any]


# -- by name -----------------------------------------------------------------------------------------------------------


def named(operands: Operands, paper: str, where: str) -> str:
    """The one rule that ``operands`` name, called as it can be called; the parts of "all" too."""
    names = [key for key in operands if key in RULES] or [key for key in operands if known(key, paper)]
    if len(names) != 1:
        raise ValueError(f"{where} names {' and '.join(names) or 'no rule'}; name one of {', '.join(RULES)}")
    (rule,) = names
    if rule in ("all", "cause"):
        parts = operands[rule] if rule == "all" else [operands[rule]]
        shared = {key: value for key, value in operands.items() if key != rule}
        for part in parts:
            if isinstance(part, dict):
                named({**shared, **part}, paper, where)
        return rule
    try:
        inspect.signature(_rule(rule, paper).run).bind(None, operands[rule], **_without(operands, rule))
    except TypeError as error:
        raise ValueError(f"{where}, rule {rule}: {error}") from error
    return rule


def _without(operands: Operands, rule: str) -> Operands:
    return {key: value for key, value in operands.items() if key != rule}


def nested(operands: Any) -> Iterator[str]:
    """The names under which a rule may stand in the parts of another."""
    inner = [*operands.get("all", ()), operands.get("cause")]
    yield from (key for part in inner if isinstance(part, dict) for key in part)


def known(rule: str, paper: str) -> Rule | None:
    """A rule of all papers, or one that only this paper needs, from its ``claims.py``."""
    if rule in RULES:
        return RULES[rule]
    path = files("sentbook") / "papers" / paper / "claims.py"
    return getattr(import_module(f"sentbook.papers.{paper}.claims"), "RULES", {}).get(rule) if path.is_file() else None


def _rule(name: str, paper: str) -> Rule:
    return known(name, paper)  # type: ignore[return-value]


def applied(evidence: Evidence, operands: Operands) -> Judgement:
    rule = named(operands, evidence.paper, evidence.experiment)
    return _rule(rule, evidence.paper).run(evidence, operands[rule], **_without(operands, rule))


# -- operands ----------------------------------------------------------------------------------------------------------


class _Cell(NamedTuple):
    row: str
    metric: str

    def words(self, **more: str) -> dict[str, str]:
        return {"row": self.row, "dataset": dataset_of(self.row), "metric": self.metric, **more}


def _cells(evidence: Evidence, where: Any, metric: Any) -> list[_Cell]:
    """Rows x measures."""
    rows = evidence.rows(where)
    if not rows:
        raise Missing(f"needs {where}" if where else "needs a data set")
    measures = metric if isinstance(metric, list) else [metric]
    return [_Cell(row, one or evidence.metric(row)) for row in rows for one in measures]


def _several(value: Any) -> list[Any]:
    """A list of operands where one may stand alone: of pairs ``[A, B]`` too."""
    return value if isinstance(value, list) else [value]


def _pairs(value: Sequence[Any]) -> Sequence[Sequence[Any]]:
    return value if isinstance(value[0], list) else [value]


def _better(evidence: Evidence, side: Any, cell: _Cell) -> str:
    """The method of a side: itself, or the best or worst of several by their means over seeds."""
    if not isinstance(side, dict):
        return str(side)
    up = ("best" in side) != less_is_better(cell.metric)
    names = side.get("best") or side["worst"]
    return str((max if up else min)(names, key=lambda name: evidence.mean(name, *cell)))


def _compare(evidence: Evidence, a: Any, b: Any, cell: _Cell, table: str = "") -> Test:
    """A - B in a cell, by the names that the evidence gives them.

    A side is a method; ``{best: [...]}`` or ``{worst: [...]}`` of methods; ``{printed: [...]}``, the best of what the
    paper prints of them. With ``as`` it has another name, with ``plus`` it is raised.
    """
    if isinstance(b, dict) and "printed" in b:
        goal, _ = _best_printed(evidence, b["printed"], cell, table)
        value, how = evidence.measured(a, *cell)
        ends = {"estimate": value.estimate - goal, "low": value.low - goal, "high": value.high - goal}
        made = Test(kind=how, a=a, b="printed", dataset=cell.row, metric=cell.metric, **ends)
    else:
        made = evidence.difference(_better(evidence, a, cell), _better(evidence, b, cell), *cell)
    shift = b.get("plus", 0.0) if isinstance(b, dict) else 0.0
    ends = {name: getattr(made, name) - shift for name in ("estimate", "low", "high")} if shift else {}
    names = {key: side["as"] for key, side in (("a", a), ("b", b)) if isinstance(side, dict) and "as" in side}
    return made.model_copy(update={**ends, **names})


def _best_printed(evidence: Evidence, methods: Any, cell: _Cell, table: str) -> tuple[float, str]:
    """The best printed value of several methods, and whose it is."""
    values = {name: evidence.printed(name, *cell, table) for name in _several(methods)}
    best = (min if less_is_better(cell.metric) else max)(values, key=lambda name: values[name])
    return values[best], best


def _printed_difference(evidence: Evidence, a: Any, b: Any, cell: _Cell, test: Test) -> Finding | None:
    """A - B by what the paper prints; None where it does not print both."""

    def side(one: Any, resolved: str) -> float:
        renamed = isinstance(one, dict) and "as" in one
        several = [one[key] for key in ("best", "worst", "printed") if key in one] if renamed else [resolved]
        return _best_printed(evidence, several[0], cell, "")[0]

    try:
        return verdicts.difference(side(a, test.a), side(b, test.b), cell.metric)
    except Missing:
        return None


def _bounds(evidence: Evidence, value: Any, cell: _Cell, method: str, table: str) -> tuple[float, str]:
    """What a number is held against, and whose it is: a number, a printed value, one by measure,
    or a finding by row."""
    if isinstance(value, dict) and "printed" in value:
        return _best_printed(evidence, value["printed"], cell, table)
    if isinstance(value, dict) and cell.metric in value:
        return float(value[cell.metric]), ""
    if isinstance(value, dict):
        found = evidence.finding(value["finding"])
        if cell.row not in found:
            raise Missing(f"needs {value['finding']} of {cell.row}")
        return float(found[cell.row]), ""
    return (evidence.printed(method, *cell, table), method) if value is None else (float(value), "")


def _measured(
    evidence: Evidence, of: Any, where: Any, metric: Any, how: str
) -> Iterator[tuple[str, _Cell, Estimate, str]]:
    """Each method in each cell with its value, and what its interval is over; or each value of a finding."""
    if not isinstance(of, dict):
        cells = _cells(evidence, where, metric)
        yield from ((method, cell, *evidence.measured(method, *cell)) for method in _several(of) for cell in cells)
        return
    found = _finding(evidence, of["finding"])
    for method, value in found.items() if isinstance(found, Mapping) else [("", found)]:
        yield method, _Cell("", ""), value if isinstance(value, Estimate) else Estimate(value, value, value), how


def _finding(evidence: Evidence, name: str) -> Any:
    """A finding of the notebook, or what the paper's own code computes from the rows of the run."""
    own = getattr(import_module(f"sentbook.papers.{evidence.paper}.claims"), "FINDINGS", {})
    found = own[name](evidence) if name in own else evidence.finding(name)
    if isinstance(found, Mapping | list) and not found:
        raise Missing(f"needs {name}, which this run did not measure")
    return found


def _tests(evidence: Evidence, of: Any, cells: Any, names: Any = None) -> Iterator[tuple[Test, Finding | None, _Cell]]:
    """Each comparison beside the paper's own: of pairs ``[A, B]`` in cells, or those of a finding."""
    if isinstance(of, dict) and "finding" in of:
        found = _finding(evidence, of["finding"])
        found = found[of["of"]] if "of" in of else found
        for test in found if isinstance(found, list) else [found]:
            test = evidence.at_level(test)
            yield (turned(test) if of.get("turned") else test), None, _Cell(test.dataset, test.metric)
        return
    for a, b in _pairs(of):
        for cell in cells():
            test = _compare(evidence, a, b, cell)
            printed = _printed_difference(evidence, a, b, cell, test)
            renamed = dict(zip(("a", "b"), names, strict=True)) if names else {}
            yield test.model_copy(update=renamed), printed, cell


def _summed(parts: Sequence[Judgement], count: str = "", note: str = "") -> Judgement:
    found = verdicts.counted(parts, count) if count else verdicts.all_of(parts)
    return found.said(f"{found.evidence}; {note}") if note else found


def _form(cell: _Cell, times: float | None) -> float:
    return times if times is not None else 1 if less_is_better(cell.metric) else 100


# -- rules -------------------------------------------------------------------------------------------------------------


def _beats(
    evidence: Evidence,
    beats: Any,
    *,
    where: Any = None,
    metric: Any = None,
    prefix: str = "",
    count: str = "",
    note: str = "",
    lower_is_better: bool = False,
) -> Judgement:
    """Reproduced when the interval of A - B lies on A's side of 0; not reproduced when it lies on B's side, or
    when it holds 0 and not the difference that the paper prints, which is larger; else inconclusive."""
    parts = []
    for test, printed, cell in _tests(evidence, beats, lambda: _cells(evidence, where, metric)):
        lower = lower_is_better or (less_is_better(cell.metric) and not isinstance(beats, dict))
        part = verdicts.beats(test, lower_is_better=lower, printed=printed)
        parts.append(part.said(prefix.format(**cell.words()) + part.evidence))
    return _summed(parts, count, note)


def _wins(
    evidence: Evidence,
    wins: Any,
    *,
    at_least: str,
    where: Any = None,
    metric: Any = None,
    tie: float = 0.0,
    rows: str = "sets",
    names: Any = None,
    stated: bool | None = None,
) -> Judgement:
    """Reproduced when A is above B on k of n rows and significant losses do not outnumber significant wins; not
    reproduced when they do by more than luck (a one-sided sign test, p < .05), or when A would win fewer than k if it
    won all rows but its significant losses; else inconclusive.

    ``at_least``: ``14 of 20`` (of another number of rows as large a part) or ``most``.
    """
    tests = [test for test, *_ in _tests(evidence, wins, lambda: _cells(evidence, where, metric), names)]
    rows = rows.format(**getattr(evidence.book, "words", {}))
    if at_least == "most":
        return verdicts.wins(tests, len(tests) // 2 + 1, tie=tie, rows=rows, stated=False)
    k, of = map(int, at_least.split(" of "))
    told = len(tests) == of if stated is None else stated
    return verdicts.wins(tests, -(-k * len(tests) // of), tie=tie, rows=rows, stated=told)


def _above(
    evidence: Evidence,
    above: Any,
    *,
    than: Any,
    where: Any = None,
    metric: Any = None,
    name: str = "{method}",
    worse: bool = False,
    margin: float = 0.0,
    table: str = "",
    times: float | None = None,
    unit: str = "",
    how: str = "",
    stated: bool = True,
    count: str = "",
) -> Judgement:
    """Reproduced when our interval is all beyond the bound, not reproduced when it is all short of it, else
    inconclusive.

    ``worse``: the claim is that ours is; ``margin``: how far short of the bound is as good.
    """
    parts = []
    for method, cell, value, over in _measured(evidence, above, where, metric, how):
        goal, whose = _bounds(evidence, than, cell, method, table)
        goal += margin if less_is_better(cell.metric) else -margin
        parts.append(
            verdicts.above(
                value,
                goal,
                name.format(**cell.words(method=method, printed=whose)),
                scale=_form(cell, times),
                lower_is_better=less_is_better(cell.metric) != worse,
                unit=unit or cell.metric,
                how=over,
                stated=stated,
            )
        )
    return _summed(parts, count)


def _scores(
    evidence: Evidence,
    scores: Any,
    *,
    printed: Any = None,
    minus: str = "",
    where: Any = None,
    metric: Any = None,
    name: str = "{method}",
    table: str = "",
    times: float | None = None,
    places: int | None = None,
    lower_is_better: bool = False,
    unit: str = "",
    how: str = "",
    count: str = "",
) -> Judgement:
    """Reproduced when our interval holds the printed value, exceeded when all of it is better, not reproduced when
    all of it is worse; inconclusive without an interval.

    ``printed``: None is the method's own; ``minus``: a method whose printed value is taken off ours.
    """
    parts = []
    for method, cell, value, over in _measured(evidence, scores, where, metric, how):
        goal, whose = _bounds(evidence, printed, cell, method, table)
        off = evidence.printed(minus, *cell, table) if minus else 0.0
        parts.append(
            verdicts.scores(
                Estimate(value.estimate - off, value.low - off, value.high - off),
                goal,
                name.format(**cell.words(method=method, printed=whose)),
                scale=_form(cell, times),
                lower_is_better=lower_is_better or less_is_better(cell.metric),
                places=1 if cell.metric.endswith("MedR") else places,
                unit=unit or cell.metric,
                how=over,
            )
        )
    return _summed(parts, count)


def _ranks(
    evidence: Evidence,
    ranks: str,
    *,
    printed: int,
    among: Sequence[str],
    where: Any = None,
    metric: Any = None,
    table: str = "",
) -> Judgement:
    """Reproduced when both ends of our interval have the printed rank among the printed values, exceeded when both
    have a better one, not reproduced when both have a worse one, else inconclusive.

    ``among``: the others, as the paper prints them.
    """
    (cell,) = _cells(evidence, where, metric)
    others = [evidence.printed(name, *cell, table) for name in among]
    lower = less_is_better(cell.metric)
    value, how = evidence.measured(ranks, *cell)
    return verdicts.ranks(value, others, printed, cell.metric, lower_is_better=lower, how=how)


def _equivalent(
    evidence: Evidence, equivalent: Any, *, margin: Any, where: Any = None, metric: Any = None, stated: bool = False
) -> Judgement:
    """Two one-sided tests at a margin that the claim states: reproduced when the interval of A - B lies within it,
    not reproduced when it lies outside, else inconclusive.

    ``margin``: a number, one by measure, or ``{printed: [A, B]}``, the difference that the paper prints.
    """
    parts = []
    for test, _, cell in _tests(evidence, equivalent, lambda: _cells(evidence, where, metric)):
        size = margin.get(cell.metric) if isinstance(margin, dict) else margin
        if size is None:
            first, second = (evidence.printed(one, *cell) for one in margin["printed"])
            size = first - second
        parts.append(verdicts.equivalent(test, size, stated=stated))
    return _summed(parts)


def _identity(evidence: Evidence, identity: str, *, tolerance: float, what: str) -> Judgement:
    """Reproduced when the largest distance found is within a tolerance that the claim states, else not reproduced."""
    return verdicts.identity(float(evidence.finding(identity)), tolerance, what)


def _all(evidence: Evidence, parts: Sequence[Operands], **shared: Any) -> Judgement:
    """The worst verdict of the parts: not reproduced, then not run, inconclusive, exceeded, reproduced."""
    found = [applied(evidence, {**shared, **part}) for part in parts]
    return (
        verdicts.all_of(found) if len(found) == 1 else verdicts.all_of([p for one in found for p in one.parts or [one]])
    )


def _cause(evidence: Evidence, cause: Operands, **shared: Any) -> Judgement:
    """An ablation moves the suspected cause alone, and the effect is judged by the rule inside."""
    return applied(evidence, {**shared, **cause})


RULES: dict[str, Rule] = {
    "beats": Rule(_beats, "A beats B"),
    "wins": Rule(_wins, "A wins k of n", None),
    "above": Rule(_above, "A is beyond a bound"),
    "scores": Rule(_scores, "A scores v"),
    "ranks": Rule(_ranks, "A ranks k-th"),
    "equivalent": Rule(_equivalent, "no difference"),
    "identity": Rule(_identity, "the same computation", 0.0),
    "all": Rule(_all, "all parts hold", 0.0),
    "cause": Rule(_cause, "because of C", 0.0),
}
