"""The claims of the papers: data that say which rule judges a claim and on which numbers, and the judge who runs that.

A claim in ``papers/<paper>/claims.yaml`` names one rule and its operands::

    - {id: cse-15, in: table4, text: "...", source: "...", beats: [CSE_sentence, CSE_phrase], where: total_avg}

``$name`` stands for a list of the file's ``lists``. A rule that no data can express is a function of
``papers/<paper>/claims.py`` and is named in the same place. The label of a recorded claim is the rule that ran.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sentbook.evaluation.statistics import Estimate
from sentbook.records import Claim, Finding, Test
from sentbook.runs import verdicts
from sentbook.runs.evidence import Evidence, Missing, dataset_of, turned
from sentbook.runs.papers import papers
from sentbook.runs.verdicts import Judgement
from sentbook.system.errors import ConfigError
from sentbook.system.files import parse_yaml

Operands = dict[str, Any]
Rule = Callable[..., Judgement]
# Less is better in these: errors, and ranks of what was looked for.
_LOWER = re.compile(r"mse|mae|.*MedR")


class ClaimSpec(BaseModel):
    """One claim as the paper makes it, with the rule that judges it.

    Attributes:
        experiment: the table or figure whose run judges it; ``in`` in the file.
        rule: the name of the rule.
        operands: what the rule is called with, under its own name what it compares.
        absent: why nothing here can judge it, where that is so.
        main: whether it is the claim that its page answers first.
        timed: whether it is about seconds, which are true of a machine: another's need not agree.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    paper: str
    experiment: str = Field(alias="in")
    text: str
    source: str
    rule: str
    operands: Operands = Field(default_factory=dict)
    absent: str = ""
    main: bool = False
    timed: bool = False


# -- the files ---------------------------------------------------------------------------------------------------------


@cache
def specifications() -> dict[str, ClaimSpec]:
    """Every claim by its id, in the order of the book."""
    found: dict[str, ClaimSpec] = {}
    for paper in papers():
        found |= parse_claims((files("sentbook") / "papers" / paper / "claims.yaml").read_text(encoding="utf-8"), paper)
    return found


def claims(paper: str, experiment: str | None = None) -> list[ClaimSpec]:
    """The claims of a paper, or of one experiment of it, in the order of the text."""
    return [spec for spec in specifications().values() if spec.paper == paper and experiment in (None, spec.experiment)]


def parse_claims(text: str, paper: str) -> dict[str, ClaimSpec]:
    """Read a paper's claims, by id, from the YAML ``text``.

    Raises:
        ConfigError: a field is unknown or missing, a claim names no rule or two or an operand that its rule lacks, or
            two claims share an id.
    """
    try:
        data = parse_yaml(text)
        lists = data.get("lists", {})
        specs = [_spec(_filled(entry, lists), paper) for entry in data["claims"]]
    except (ValidationError, yaml.YAMLError, TypeError, AttributeError, KeyError, ValueError) as error:
        what = "{loc}: {msg}".format(**error.errors()[0]) if isinstance(error, ValidationError) else str(error)
        raise ConfigError(f"{paper}/claims.yaml does not hold claims ({what}); mend that entry.") from error
    twice = sorted(name for name, count in Counter(spec.id for spec in specs).items() if count > 1)
    if twice:
        raise ConfigError(f"{paper}/claims.yaml has {', '.join(twice)} more than once; give each its own id.")
    return {spec.id: spec for spec in specs}


def _filled(value: Any, lists: Mapping[str, Any]) -> Any:
    """``value`` with the lists that it names in their places."""
    if isinstance(value, str) and value.startswith("$"):
        return _filled(lists[value[1:]], lists)
    if isinstance(value, list):
        return [_filled(one, lists) for one in value]
    return {key: _filled(one, lists) for key, one in value.items()} if isinstance(value, dict) else value


def _spec(entry: Operands, paper: str) -> ClaimSpec:
    own = {field.alias or name for name, field in ClaimSpec.model_fields.items()} - {"rule", "operands"}
    operands = {key: value for key, value in entry.items() if key not in own}
    rule = _named(operands, paper, str(entry.get("id")))
    held = {key: value for key, value in entry.items() if key in own}
    return ClaimSpec.model_validate({**held, "paper": paper, "rule": rule, "operands": operands})


def _named(operands: Operands, paper: str, where: str) -> str:
    """The one rule that ``operands`` name, called as it can be called; the parts of "all" too."""
    names = [key for key in operands if key in RULES] or [key for key in operands if _own(paper, key)]
    if len(names) != 1:
        raise ValueError(f"{where} names {' and '.join(names) or 'no rule'}; name one of {', '.join(RULES)}")
    (rule,) = names
    if rule in ("all", "cause"):
        parts = operands[rule] if rule == "all" else [operands[rule]]
        shared = {key: value for key, value in operands.items() if key != rule}
        for part in parts:
            if isinstance(part, dict):
                _named({**shared, **part}, paper, where)
        return rule
    try:
        inspect.signature(_rule(rule, paper)).bind(None, operands[rule], **_without(operands, rule))
    except TypeError as error:
        raise ValueError(f"{where}, rule {rule}: {error}") from error
    return rule


def _without(operands: Operands, rule: str) -> Operands:
    return {key: value for key, value in operands.items() if key != rule}


def _own(paper: str, rule: str) -> Rule | None:
    """A rule that only this paper needs, from its ``claims.py``."""
    path = files("sentbook") / "papers" / paper / "claims.py"
    return getattr(import_module(f"sentbook.papers.{paper}.claims"), "RULES", {}).get(rule) if path.is_file() else None


def _rule(name: str, paper: str) -> Rule:
    return RULES.get(name) or _own(paper, name)  # type: ignore[return-value]


# -- the judge ---------------------------------------------------------------------------------------------------------


def judge(evidence: Evidence) -> list[Claim]:
    """Judge every claim of an experiment, each by the rule that its entry names."""
    return [judged(spec, evidence) for spec in claims(evidence.paper, evidence.experiment)]


def judged(spec: ClaimSpec, evidence: Evidence) -> Claim:
    """Judge one claim; "not run" with the reason where a number that it needs is not there."""
    try:
        found = verdicts.not_run(spec.absent) if spec.absent else _apply(evidence, spec.operands)
    except Missing as reason:
        found = verdicts.not_run(str(reason))
    return Claim(
        id=spec.id,
        text=spec.text,
        source=spec.source,
        rule=spec.rule,
        verdict=found.verdict,
        evidence=found.evidence,
        printed=found.printed,
        ours=found.ours,
        parts=[part.part() for part in found.parts],
    )


def _apply(evidence: Evidence, operands: Operands) -> Judgement:
    rule = _named(operands, evidence.paper, evidence.experiment)
    return _rule(rule, evidence.paper)(evidence, operands[rule], **_without(operands, rule))


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
    up = ("best" in side) != bool(_LOWER.fullmatch(cell.metric))
    names = side.get("best") or side["worst"]
    return str((max if up else min)(names, key=lambda name: evidence.mean(name, *cell)))


def _compare(evidence: Evidence, a: Any, b: Any, cell: _Cell, table: str = "") -> Test:
    """A - B in a cell, by the names that the evidence gives them.

    A side is a method; ``{best: [...]}`` or ``{worst: [...]}`` of methods; ``{printed: [...]}``, the best of what the
    paper prints of them. With ``as`` it has another name, with ``plus`` it is raised.
    """
    if isinstance(b, dict) and "printed" in b:
        goal, _ = _best_printed(evidence, b["printed"], cell, table)
        value = evidence.interval(a, *cell)
        ends = {"estimate": value.estimate - goal, "low": value.low - goal, "high": value.high - goal}
        made = Test(kind="against a printed value", a=a, b="printed", dataset=cell.row, metric=cell.metric, **ends)
    else:
        made = evidence.difference(_better(evidence, a, cell), _better(evidence, b, cell), *cell)
    shift = b.get("plus", 0.0) if isinstance(b, dict) else 0.0
    ends = {name: getattr(made, name) - shift for name in ("estimate", "low", "high")} if shift else {}
    names = {key: side["as"] for key, side in (("a", a), ("b", b)) if isinstance(side, dict) and "as" in side}
    return made.model_copy(update={**ends, **names})


def _best_printed(evidence: Evidence, methods: Any, cell: _Cell, table: str) -> tuple[float, str]:
    """The best printed value of several methods, and whose it is."""
    values = {name: evidence.printed(name, *cell, table) for name in _several(methods)}
    best = (min if _LOWER.fullmatch(cell.metric) else max)(values, key=lambda name: values[name])
    return values[best], best


def _printed_difference(evidence: Evidence, a: Any, b: Any, cell: _Cell, test: Test) -> Finding | None:
    """A - B by what the paper prints; None where it does not print both."""

    def side(one: Any, resolved: str) -> float:
        names = [resolved] if not isinstance(one, dict) or "as" not in one else one.get("best") or one["worst"]
        return _best_printed(evidence, names, cell, "")[0]

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


def _measured(evidence: Evidence, of: Any, cells: Iterable[_Cell]) -> Iterator[tuple[str, _Cell, Estimate]]:
    """Each method in each cell with its value; or each value of a finding."""
    if not isinstance(of, dict):
        for method in _several(of):
            for cell in cells:
                yield method, cell, evidence.interval(method, *cell)
        return
    found = _finding(evidence, of["finding"])
    for method, value in found.items() if isinstance(found, Mapping) else [("", found)]:
        yield method, _Cell("", ""), value if isinstance(value, Estimate) else Estimate(value, value, value)


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


def _form(cell: _Cell, scale: float | None) -> float:
    return scale if scale is not None else 1 if _LOWER.fullmatch(cell.metric) else 100


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
    parts = []
    for test, printed, cell in _tests(evidence, beats, lambda: _cells(evidence, where, metric)):
        lower = lower_is_better or (bool(_LOWER.fullmatch(cell.metric)) and not isinstance(beats, dict))
        part = verdicts.beats(test, lower_is_better=lower).against(printed)
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
    """``at_least``: ``14 of 20`` (of another number of rows as large a part) or ``most``."""
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
    table: str = "",
    scale: float | None = None,
    unit: str = "",
    how: str = verdicts.OVER_ITEMS,
    stated: bool = True,
    count: str = "",
) -> Judgement:
    """``worse``: the claim is that ours is."""
    parts = []
    for method, cell, value in _measured(
        evidence, above, () if isinstance(above, dict) else _cells(evidence, where, metric)
    ):
        goal, whose = _bounds(evidence, than, cell, method, table)
        parts.append(
            verdicts.above(
                value,
                goal,
                name.format(**cell.words(method=method, printed=whose)),
                scale=_form(cell, scale),
                lower_is_better=bool(_LOWER.fullmatch(cell.metric)) != worse,
                unit=unit or cell.metric,
                how=how,
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
    scale: float | None = None,
    places: int | None = None,
    lower_is_better: bool = False,
    unit: str = "",
    how: str = verdicts.OVER_ITEMS,
    count: str = "",
) -> Judgement:
    """``printed``: None is the method's own; ``minus``: a method whose printed value is taken off ours."""
    parts = []
    for method, cell, value in _measured(
        evidence, scores, () if isinstance(scores, dict) else _cells(evidence, where, metric)
    ):
        goal, whose = _bounds(evidence, printed, cell, method, table)
        off = evidence.printed(minus, *cell, table) if minus else 0.0
        parts.append(
            verdicts.scores(
                Estimate(value.estimate - off, value.low - off, value.high - off),
                goal,
                name.format(**cell.words(method=method, printed=whose)),
                scale=_form(cell, scale),
                lower_is_better=lower_is_better or bool(_LOWER.fullmatch(cell.metric)),
                places=1 if cell.metric.endswith("MedR") else places,
                unit=unit or cell.metric,
                how=how,
            )
        )
    return _summed(parts, count)


def _same(evidence: Evidence, same: Any, *, where: Any = None, metric: Any = None) -> Judgement:
    found = _tests(evidence, same, lambda: _cells(evidence, where, metric))
    return _summed([verdicts.same(test).against(printed) for test, printed, _ in found])


def _near(
    evidence: Evidence, near: Any, *, margin: Any, where: Any = None, metric: Any = None, stated: bool = False
) -> Judgement:
    """``margin``: a number, or ``{printed: [A, B]}``, the difference that the paper prints."""
    parts = []
    for test, _, cell in _tests(evidence, near, lambda: _cells(evidence, where, metric)):
        size = margin
        if isinstance(margin, dict):
            first, second = (evidence.printed(one, *cell) for one in margin["printed"])
            size = first - second
        parts.append(verdicts.near(test, size, stated=stated))
    return _summed(parts)


def _identity(evidence: Evidence, identity: str, *, tolerance: float, what: str) -> Judgement:
    return verdicts.identity(float(evidence.finding(identity)), tolerance, what)


def _all(evidence: Evidence, parts: Sequence[Operands], **shared: Any) -> Judgement:
    """Every part, and of a part of several those."""
    found = [_apply(evidence, {**shared, **part}) for part in parts]
    return (
        verdicts.all_of(found) if len(found) == 1 else verdicts.all_of([p for one in found for p in one.parts or [one]])
    )


def _cause(evidence: Evidence, cause: Operands, **shared: Any) -> Judgement:
    """An ablation that moves the suspected cause alone, judged by the rule inside."""
    return _apply(evidence, {**shared, **cause})


RULES: dict[str, Rule] = {
    "beats": _beats,
    "wins": _wins,
    "above": _above,
    "scores": _scores,
    "same": _same,
    "near": _near,
    "identity": _identity,
    "all": _all,
    "cause": _cause,
}
