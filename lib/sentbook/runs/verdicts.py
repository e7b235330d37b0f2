"""From numbers to a verdict, by rules stated in advance. Claims are data: ``papers/<paper>/claims.yaml``.

Each rule takes its numbers and returns a `Judgement`: the verdict with the sentence of numbers it looked at, and these
numbers. Correlations are stored in [-1, 1]; the sentences show them x 100. An interval of no width is none (one seed,
one pair, a p-value alone), and decides nothing.

Where a rule takes ``stated``, it says whether the bound is a number of the paper or the reading of its words that the
rule needs ("most" is more than half).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sentbook.evaluation.statistics import Estimate
from sentbook.records import Claim, Finding, Part, Test, Verdict
from sentbook.runs import printed as reported
from sentbook.runs.papers import papers
from sentbook.system.errors import ConfigError

PRINTED = "printed"
BOUND = "set by the rule"
OVER_ITEMS = "bootstrap over items"
OVER_SEEDS = "t over seeds"


class Judgement(tuple[Verdict, str]):
    """A verdict and the sentence of numbers it looked at, which it unpacks to; the numbers themselves ride along.

    Attributes:
        ours: what was measured.
        printed: what it is held against; None: `judge` looks up what the paper prints for ``test``.
        parts: the judgements that this one sums up.
        test: the comparison behind ``ours``.
    """

    ours: Finding | None
    printed: Finding | None
    parts: tuple[Judgement, ...]
    test: Test | None

    def __new__(
        cls,
        verdict: Verdict,
        evidence: str,
        *,
        ours: Finding | None = None,
        printed: Finding | None = None,
        parts: Sequence[Judgement] = (),
        test: Test | None = None,
    ) -> Judgement:
        made = super().__new__(cls, (verdict, evidence))
        made.ours, made.printed, made.parts, made.test = ours, printed, tuple(parts), test
        return made

    def said(self, evidence: str) -> Judgement:
        """The same with another sentence."""
        return Judgement(self[0], evidence, ours=self.ours, printed=self.printed, parts=self.parts, test=self.test)

    def against(self, printed: Finding | None) -> Judgement:
        """The same held against another number."""
        return Judgement(self[0], self[1], ours=self.ours, printed=printed, parts=self.parts, test=self.test)


class ClaimSpec(BaseModel):
    """One claim as the paper makes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    paper: str
    experiment: str = Field(alias="in")
    text: str
    source: str
    rule: Literal["beats", "wins", "above", "scores", "same", "near", "all", "cause", "identity"]
    main: bool = False  # the claim that its page answers first


def parse_claims(text: str, paper: str) -> dict[str, ClaimSpec]:
    """Read a paper's claims, by id, from the YAML ``text``.

    Raises:
        ConfigError: a field or rule is unknown or missing, or two claims share an id.
    """
    try:
        entries = TypeAdapter(list[dict[str, Any]]).validate_python(yaml.safe_load(text))
        specs = [ClaimSpec.model_validate({**entry, "paper": paper}) for entry in entries]
    except (ValidationError, yaml.YAMLError) as error:
        what = "{loc}: {msg}".format(**error.errors()[0]) if isinstance(error, ValidationError) else str(error)
        raise ConfigError(f"{paper}/claims.yaml does not hold claims ({what}); mend that entry.") from error
    found = {spec.id: spec for spec in specs}
    if len(found) < len(specs):
        twice = sorted(name for name, count in Counter(spec.id for spec in specs).items() if count > 1)
        raise ConfigError(f"{paper}/claims.yaml has {', '.join(twice)} more than once; give each its own id.")
    return found


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


def judge(identifier: str, judgement: Judgement) -> Claim:
    """The claim ``identifier`` with its verdict and the numbers behind it."""
    spec = specifications()[identifier]
    verdict, evidence = judgement

    def held_against(one: Judgement) -> Finding | None:
        return one.printed or (_printed_difference(spec, one.test) if one.test else None)

    return Claim(
        id=spec.id,
        text=spec.text,
        source=spec.source,
        rule=spec.rule,
        verdict=verdict,
        evidence=evidence,
        printed=held_against(judgement),
        ours=judgement.ours,
        parts=[Part(verdict=part[0], printed=held_against(part), ours=part.ours) for part in judgement.parts],
    )


def _printed_difference(spec: ClaimSpec, test: Test) -> Finding | None:
    """A - B by the values that the experiment's own table prints; None where it does not print both."""
    try:
        first, second = (
            reported.value(spec.paper, spec.experiment, method, test.dataset, test.metric)
            for method in (test.a, test.b)
        )
    except ConfigError:
        return None
    return difference(first, second, test.metric)


def difference(first: float, second: float, unit: str) -> Finding:
    """A - B of two printed values."""
    # The paper has at most four decimals; the rest would be rounding error of binary fractions.
    return Finding(what="difference", unit=unit, value=round(first - second, 6), how=PRINTED)


def count(what: str, found: int, of: int, unit: str) -> Finding:
    """``found`` of so many."""
    return Finding(what=what, unit=unit, value=found, of=of)


def measured(value: Estimate, what: str, unit: str, how: str) -> Finding:
    """Ours, without an interval where it has no width."""
    low, high = (value.low, value.high) if value.low < value.high else (None, None)
    return Finding(what=what, unit=unit, value=value.estimate, low=low, high=high, how="" if low is None else how)


def _compared(test: Test) -> Finding:
    value = Estimate(test.estimate, test.low, test.high)
    return measured(value, f"{test.a} − {test.b} on {test.dataset}", test.metric, test.kind)


def _bound(what: str, unit: str, value: float, stated: bool, of: int | None = None) -> Finding:
    return Finding(what=what, unit=unit, value=value, of=of, how=PRINTED if stated else BOUND)


def _side(low: float, high: float, bound: float = 0) -> Verdict:
    """On which side of ``bound`` an interval lies; higher is better."""
    if low < high and bound < low:
        return "reproduced"
    if low < high < bound:
        return "not reproduced"
    return "inconclusive"


def _interval(low: float, high: float, shown: str) -> str:
    return shown if low < high else "[no interval]"


def _shown(test: Test) -> str:
    scale, places = (1, 4) if test.metric in ("mse", "mae") else (100, 1)
    unit = "" if scale == 1 else " points"
    return (
        f"{test.a} − {test.b} = {test.estimate * scale:+.{places}f}{unit} "
        + _interval(test.low, test.high, f"[{test.low * scale:+.{places}f}, {test.high * scale:+.{places}f}]")
        + f" on {test.dataset}"
    )


def beats(test: Test, *, lower_is_better: bool = False) -> Judgement:
    """Reproduced when the interval of A - B lies on A's side of 0, not reproduced on B's side, else inconclusive."""
    low, high = (-test.high, -test.low) if lower_is_better else (test.low, test.high)
    return Judgement(_side(low, high), _shown(test), ours=_compared(test), test=test)


def all_of(judgements: Sequence[Judgement]) -> Judgement:
    """Reproduced when every part is, not reproduced when a part is not, else not run or inconclusive as a part is."""
    verdicts = [verdict for verdict, _ in judgements]
    worst: Verdict = next((v for v in ("not reproduced", "not run", "inconclusive") if v in verdicts), "reproduced")  # type: ignore[assignment]
    said = "; ".join(evidence for _, evidence in judgements)
    if len(judgements) == 1:
        return judgements[0]
    return Judgement(
        worst,
        said,
        ours=count("parts that hold", verdicts.count("reproduced"), len(verdicts), "parts"),
        printed=_bound("all parts", "parts", len(verdicts), False, len(verdicts)),
        parts=judgements,
    )


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
    verdict: Verdict = "reproduced" if plain >= at_least and worse <= better else "not reproduced"
    a, b = tests[0].a, tests[0].b
    tied = f" and less than {tie * 100:.1f} points below it on {plain - strict} more" if tie else ""
    return Judgement(
        verdict,
        f"{a} above {b} on {strict} of {len(tests)} {rows}{tied}; "
        f"the interval excludes 0 in its favour on {better}, against it on {worse}",
        ours=count(f"{a} above {b}" + (" or tied" if tie else ""), plain, len(tests), rows),
        printed=_bound("at least", rows, at_least, stated, len(tests)),
    )


def above(
    value: Estimate,
    bound: float,
    name: str,
    *,
    scale: float = 100,
    lower_is_better: bool = False,
    unit: str = "pearson",
    how: str = OVER_ITEMS,
    stated: bool = True,
) -> Judgement:
    """Reproduced when the interval is all better than ``bound``, not reproduced when all worse, else inconclusive."""
    low, high, goal = (-value.high, -value.low, -bound) if lower_is_better else (value.low, value.high, bound)
    places = 1 if scale == 100 else 4
    shown = _interval(low, high, f"[{value.low * scale:.{places}f}, {value.high * scale:.{places}f}]")
    return Judgement(
        _side(low, high, goal),
        f"{name}: {value.estimate * scale:.{places}f} {shown} against {bound * scale:.{places}f}",
        ours=measured(value, name, unit, how),
        printed=_bound("to be below" if lower_is_better else "to be above", unit, bound, stated),
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
    if places is None:
        places = 1 if scale == 100 else 4
    shown = _interval(value.low, value.high, f"[{value.low * scale:.{places}f}, {value.high * scale:.{places}f}]")
    return Judgement(
        "reproduced" if reached else missed,
        f"{name}: {value.estimate * scale:.{places}f} {shown}, "
        f"printed {printed * scale:.{places}f}, gap {(value.estimate - printed) * scale:+.{places}f}",
        ours=measured(value, name, unit, how),
        printed=_bound("to reach", unit, printed, True),
    )


def same(test: Test) -> Judgement:
    """For "no significant difference": reproduced when the interval of A - B holds 0, not reproduced when it does not.

    A wide interval holds 0 easily, so the evidence shows it.
    """
    verdict: Verdict = "reproduced" if test.low <= 0 <= test.high else "not reproduced"
    if not test.low < test.high:
        verdict = "inconclusive"
    return Judgement(verdict, _shown(test), ours=_compared(test), test=test)


def near(test: Test, margin: float, *, stated: bool = False) -> Judgement:
    """For "no obvious difference": reproduced when the interval of A - B is all within ``margin`` of 0, not reproduced
    when it is all outside, else inconclusive."""
    scale, places = (1, 4) if test.metric in ("mse", "mae") else (100, 1)
    evidence = f"{_shown(test)}, margin {margin * scale:.{places}f}"
    verdict: Verdict = "reproduced" if -margin < test.low and test.high < margin else "not reproduced"
    if not test.low < test.high or test.low <= margin <= test.high or test.low <= -margin <= test.high:
        verdict = "inconclusive"
    printed = _bound("at most so far from 0", test.metric, margin, stated)
    return Judgement(verdict, evidence, ours=_compared(test), printed=printed)


def identity(error: float, tolerance: float, what: str) -> Judgement:
    """Reproduced when the largest ``error`` found is within ``tolerance``: two computations are the same one."""
    verdict: Verdict = "reproduced" if error <= tolerance else "not reproduced"
    return Judgement(
        verdict,
        f"{what}: at most {error:.1e} apart, tolerance {tolerance:.0e}",
        ours=Finding(what=what, unit="distance", value=error),
        printed=_bound("at most", "distance", tolerance, False),
    )


def not_run(reason: str) -> Judgement:
    """No experiment for it, and why."""
    return Judgement("not run", reason)
