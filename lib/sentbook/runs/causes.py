"""Why a claim was likely not reproduced, and what that explanation stands on: data in ``papers/<paper>/causes.yaml``.

A cause belongs to a verdict of the recorded small runs; other profiles train on other data, and have none.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from sentbook.io import ConfigError, parse_yaml
from sentbook.records import Record, Run
from sentbook.runs.papers import papers

PROFILE: Literal["small"] = "small"
State = Literal["tested", "guess", "scope"]


class Shown(Record):
    """A number of a run that shows a cause: a mean over seeds, less that of ``minus``, or a finding beside the rows.

    ``protocol`` is a part of the row's, where there are several; without ``metric`` the first counts. With ``switch``,
    a setting that is on or off, it is of the method's search: the best development value with it on, less that with it
    off.
    """

    method: str = ""
    minus: str = ""
    dataset: str = ""
    metric: str = ""
    protocol: str = ""
    finding: str = ""
    switch: str = ""
    above: float | None = None
    below: float | None = None

    def value(self, run: Run) -> float:
        """Read the number from a run.

        Raises:
            KeyError: the run does not have it.
        """
        if self.finding:
            held: Any = run.extra
            for name in self.finding.split("."):
                held = held[name]
            return float(held)
        if self.switch:
            return self._searched(run, True) - self._searched(run, False)
        return self._mean(run, self.method) - (self._mean(run, self.minus) if self.minus else 0.0)

    def _searched(self, run: Run, state: bool) -> float:
        """The best development value of the points of a search in which ``switch`` was in a state."""
        [tried] = [one.tried for one in run.searches if (one.method, one.dataset) == (self.method, self.dataset)]
        return float(max(point["development"] or 0.0 for point in tried if point[self.switch] is state))

    def _mean(self, run: Run, method: str) -> float:
        rows = [row for row in run.metrics if (row.method, row.dataset) == (method, self.dataset)]
        rows = [row for row in rows if self.metric in ("", row.metric) and self.protocol in row.protocol]
        rows = [row for row in rows if (row.metric, row.protocol) == (rows[0].metric, rows[0].protocol)]
        if not rows:
            raise KeyError(f"{run.paper}/{run.experiment} has no row of {method} on {self.dataset}")
        return sum(row.value for row in rows) / len(rows)

    def holds(self, run: Run) -> bool:
        """Whether the number lies where the cause says."""
        value = self.value(run)
        return (self.above is None or value > self.above) and (self.below is None or value < self.below)


class Cause(Record):
    """One explanation. ``by`` is the experiment that moved only this, ``paper/experiment``, where it was tested.

    ``profile`` is that of the run: the paper's size may be what moved.
    """

    id: str
    cause: str
    state: State
    by: str = ""
    profile: Literal["small", "paper"] = PROFILE
    shows: list[Shown] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_its_test(self) -> Cause:
        if (self.state == "tested") != bool(self.by and self.shows):
            raise ValueError("a tested cause names the experiment in 'by' and numbers in 'shows', and no other does")
        return self


def parse_causes(text: str) -> dict[str, Cause]:
    """Causes by claim from the YAML ``text``.

    Raises:
        ConfigError: a field is unknown or missing, or a claim has two causes.
    """
    try:
        found = TypeAdapter(list[Cause]).validate_python(parse_yaml(text))
    except (ValidationError, yaml.YAMLError) as error:
        what = "{loc}: {msg}".format(**error.errors()[0]) if isinstance(error, ValidationError) else str(error)
        raise ConfigError(f"causes.yaml does not hold causes ({what}); mend that entry.") from error
    twice = sorted(name for name, count in Counter(one.id for one in found).items() if count > 1)
    if twice:
        raise ConfigError(f"causes.yaml has {', '.join(twice)} more than once; give each claim one cause.")
    return {one.id: one for one in found}


@cache
def causes() -> dict[str, Cause]:
    """Every cause by its claim."""
    return {
        claim: cause
        for paper in papers()
        for claim, cause in parse_causes(
            (files("sentbook") / "papers" / paper / "causes.yaml").read_text(encoding="utf-8")
        ).items()
    }


def cause_of(claim: str, verdict: str, profile: str) -> Cause | None:
    """The likely cause of a verdict, where it is one of ``PROFILE`` and not "reproduced"."""
    return causes().get(claim) if profile == PROFILE and verdict != "reproduced" else None
