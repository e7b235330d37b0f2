"""From numbers to a verdict, by rules stated in advance. The claims themselves are data: ``reported/claims.yaml``.

Each rule takes its numbers and returns the verdict with the sentence of numbers it looked at. Correlations are stored
in [-1, 1]; the sentences show them x 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

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
    rule: Literal["beats", "wins", "above", "scores", "all", "cause", "identity"]


@cache
def specifications() -> dict[str, ClaimSpec]:
    """Every claim by its id."""
    text = (files("sentbook.reported") / "claims.yaml").read_text(encoding="utf-8")
    specs = TypeAdapter(list[ClaimSpec]).validate_python(yaml.safe_load(text))
    return {spec.id: spec for spec in specs}


def judge(identifier: str, judgement: Judgement) -> Claim:
    """The claim ``identifier`` with its verdict."""
    spec = specifications()[identifier]
    verdict, evidence = judgement
    return Claim(
        id=spec.id, text=spec.text, source=spec.source, rule=spec.rule, verdict=verdict, evidence=evidence
    )


def _shown(test: Test) -> str:
    scale, places = (1, 4) if test.metric in ("mse", "mae") else (100, 1)
    unit = "" if scale == 1 else " points"
    return (
        f"{test.a} − {test.b} = {test.estimate * scale:+.{places}f}{unit} "
        f"[{test.low * scale:+.{places}f}, {test.high * scale:+.{places}f}] on {test.dataset}"
    )


def beats(test: Test, *, lower_is_better: bool = False) -> Judgement:
    """Reproduced when the interval of A - B lies on A's side of 0, not reproduced on B's side, else inconclusive."""
    low, high = (-test.high, -test.low) if lower_is_better else (test.low, test.high)
    verdict: Verdict = "reproduced" if low > 0 else "not reproduced" if high < 0 else "inconclusive"
    return verdict, _shown(test)


def all_of(judgements: Sequence[Judgement]) -> Judgement:
    """Reproduced when every part is, not reproduced when a part is not, else inconclusive."""
    verdicts = [verdict for verdict, _ in judgements]
    worst: Verdict = next((v for v in ("not reproduced", "not run", "inconclusive") if v in verdicts), "reproduced")  # type: ignore[assignment]
    return worst, "; ".join(evidence for _, evidence in judgements)


def wins(tests: Sequence[Test], at_least: int) -> Judgement:
    """Reproduced when A wins plainly on ``at_least`` rows and its significant losses do not outnumber its significant wins."""
    plain = sum(test.estimate > 0 for test in tests)
    better = sum(test.low > 0 for test in tests)
    worse = sum(test.high < 0 for test in tests)
    verdict: Verdict = "reproduced" if plain >= at_least and worse <= better else "not reproduced"
    a, b = tests[0].a, tests[0].b
    return verdict, (
        f"{a} above {b} on {plain} of {len(tests)} sets; the interval excludes 0 in its favour on {better}, against it on {worse}"
    )


def above(value: Estimate, bound: float, name: str, *, scale: float = 100, lower_is_better: bool = False) -> Judgement:
    """Reproduced when the interval lies beyond ``bound`` on the better side, not reproduced on the other, else inconclusive."""
    low, high, goal = (-value.high, -value.low, -bound) if lower_is_better else (value.low, value.high, bound)
    verdict: Verdict = "reproduced" if low > goal else "not reproduced" if high < goal else "inconclusive"
    places = 1 if scale == 100 else 4
    return verdict, (
        f"{name}: {value.estimate * scale:.{places}f} [{value.low * scale:.{places}f}, {value.high * scale:.{places}f}] "
        f"against {bound * scale:.{places}f}"
    )


def scores(value: Estimate, printed: float, name: str) -> Judgement:
    """Reproduced when our interval holds the printed value, or ours is better; else not reproduced. The gap is shown."""
    verdict: Verdict = "reproduced" if value.high >= printed else "not reproduced"
    return verdict, (
        f"{name}: {value.estimate * 100:.1f} [{value.low * 100:.1f}, {value.high * 100:.1f}], "
        f"printed {printed * 100:.1f}, gap {(value.estimate - printed) * 100:+.1f}"
    )


def not_run(reason: str) -> Judgement:
    """No experiment for it, and why."""
    return "not run", reason
