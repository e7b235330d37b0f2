"""From numbers to a verdict, by rules stated in advance. The claims themselves are data: ``reported/claims.yaml``.

Each rule takes its numbers and returns the verdict with the sentence of numbers it looked at. Correlations are stored
in [-1, 1]; the sentences show them x 100. An interval of no width is none (one seed, one pair, a p-value alone), and
decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from sentbook.errors import ConfigError
from sentbook.evaluation.statistics import Estimate
from sentbook.results import Claim, Test, Verdict

Judgement = tuple[Verdict, str]


class ClaimSpec(BaseModel):
    """One claim as the paper makes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    paper: str
    experiment: str
    text: str
    source: str
    rule: Literal["beats", "wins", "above", "scores", "same", "near", "all", "cause", "identity"]


def parse_claims(text: str) -> dict[str, ClaimSpec]:
    """Claims by id from the YAML ``text``.

    Raises:
        ConfigError: a field or rule is unknown or missing, or two claims share an id.
    """
    try:
        specs = TypeAdapter(list[ClaimSpec]).validate_python(yaml.safe_load(text))
    except (ValidationError, yaml.YAMLError) as error:
        what = "{loc}: {msg}".format(**error.errors()[0]) if isinstance(error, ValidationError) else str(error)
        raise ConfigError(f"claims.yaml does not hold claims ({what}); mend that entry.") from error
    found = {spec.id: spec for spec in specs}
    if len(found) < len(specs):
        twice = sorted(name for name, count in Counter(spec.id for spec in specs).items() if count > 1)
        raise ConfigError(f"claims.yaml has {', '.join(twice)} more than once; give each claim an id of its own.")
    return found


@cache
def specifications() -> dict[str, ClaimSpec]:
    """Every claim by its id."""
    return parse_claims((files("sentbook.reported") / "claims.yaml").read_text(encoding="utf-8"))


def claims(paper: str, experiment: str | None = None) -> list[ClaimSpec]:
    """The claims of a paper, or of one experiment of it, in the order of the text."""
    return [spec for spec in specifications().values() if spec.paper == paper and experiment in (None, spec.experiment)]


def judge(identifier: str, judgement: Judgement) -> Claim:
    """The claim ``identifier`` with its verdict."""
    spec = specifications()[identifier]
    verdict, evidence = judgement
    return Claim(id=spec.id, text=spec.text, source=spec.source, rule=spec.rule, verdict=verdict, evidence=evidence)


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
    return _side(low, high), _shown(test)


def all_of(judgements: Sequence[Judgement]) -> Judgement:
    """Reproduced when every part is, not reproduced when a part is not, else not run or inconclusive as a part is."""
    verdicts = [verdict for verdict, _ in judgements]
    worst: Verdict = next((v for v in ("not reproduced", "not run", "inconclusive") if v in verdicts), "reproduced")  # type: ignore[assignment]
    return worst, "; ".join(evidence for _, evidence in judgements)


def wins(tests: Sequence[Test], at_least: int, *, tie: float = 0.0, rows: str = "sets") -> Judgement:
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
    return verdict, (
        f"{a} above {b} on {strict} of {len(tests)} {rows}{tied}; "
        f"the interval excludes 0 in its favour on {better}, against it on {worse}"
    )


def above(value: Estimate, bound: float, name: str, *, scale: float = 100, lower_is_better: bool = False) -> Judgement:
    """Reproduced when the interval is all better than ``bound``, not reproduced when all worse, else inconclusive."""
    low, high, goal = (-value.high, -value.low, -bound) if lower_is_better else (value.low, value.high, bound)
    places = 1 if scale == 100 else 4
    shown = _interval(low, high, f"[{value.low * scale:.{places}f}, {value.high * scale:.{places}f}]")
    return _side(low, high, goal), (
        f"{name}: {value.estimate * scale:.{places}f} {shown} against {bound * scale:.{places}f}"
    )


def scores(
    value: Estimate,
    printed: float,
    name: str,
    *,
    scale: float = 100,
    lower_is_better: bool = False,
    places: int | None = None,
) -> Judgement:
    """Reproduced when our interval holds the printed value, or ours is better; else not reproduced. The gap is shown.

    Without an interval, a value worse than the printed one is inconclusive.
    """
    missed: Verdict = "not reproduced" if value.low < value.high else "inconclusive"
    reached = value.low <= printed if lower_is_better else value.high >= printed
    if places is None:
        places = 1 if scale == 100 else 4
    shown = _interval(value.low, value.high, f"[{value.low * scale:.{places}f}, {value.high * scale:.{places}f}]")
    return "reproduced" if reached else missed, (
        f"{name}: {value.estimate * scale:.{places}f} {shown}, "
        f"printed {printed * scale:.{places}f}, gap {(value.estimate - printed) * scale:+.{places}f}"
    )


def same(test: Test) -> Judgement:
    """For "no significant difference": reproduced when the interval of A - B holds 0, not reproduced when it does not.

    A wide interval holds 0 easily, so the evidence shows it.
    """
    if not test.low < test.high:
        return "inconclusive", _shown(test)
    return "reproduced" if test.low <= 0 <= test.high else "not reproduced", _shown(test)


def near(test: Test, margin: float) -> Judgement:
    """For "no obvious difference": reproduced when the interval of A - B is all within ``margin`` of 0, not reproduced
    when it is all outside, else inconclusive."""
    scale, places = (1, 4) if test.metric in ("mse", "mae") else (100, 1)
    evidence = f"{_shown(test)}, margin {margin * scale:.{places}f}"
    if not test.low < test.high or test.low <= margin <= test.high or test.low <= -margin <= test.high:
        return "inconclusive", evidence
    return "reproduced" if -margin < test.low and test.high < margin else "not reproduced", evidence


def identity(error: float, tolerance: float, what: str) -> Judgement:
    """Reproduced when the largest ``error`` found is within ``tolerance``: two computations are the same one."""
    verdict: Verdict = "reproduced" if error <= tolerance else "not reproduced"
    return verdict, f"{what}: at most {error:.1e} apart, tolerance {tolerance:.0e}"


def not_run(reason: str) -> Judgement:
    """No experiment for it, and why."""
    return "not run", reason
