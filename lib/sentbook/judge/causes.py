"""Why a claim was likely not reproduced, and what that explanation is based on: ``papers/<paper>/causes.yaml``.

A cause belongs to a verdict of the recorded small runs; other profiles train on other data, and have none.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from sentbook.io import ConfigError, parse_yaml
from sentbook.judge.evidence import Evidence
from sentbook.judge.papers import papers
from sentbook.records import Record, Run

PROFILE: Literal["small"] = "small"
State = Literal["tested", "guess", "scope"]


class Shown(Record):
    """A number of a run that shows a cause: a mean over seeds, less that of ``minus``, or a finding, ``name/part``.

    ``protocol`` is a part of the row's, where there are several.
    """

    method: str = ""
    minus: str = ""
    dataset: str = ""
    metric: str = ""
    protocol: str = ""
    finding: str = ""
    above: float = float("-inf")
    below: float = float("inf")

    def value(self, run: Run) -> float:
        """Return the number.

        Raises:
            Missing: the run does not have it.
        """
        evidence = Evidence(run, protocol=self.protocol)
        if self.finding:
            return float(evidence.finding(self.finding))
        metric = self.metric or evidence.metric(self.dataset)
        first, *second = (evidence.mean(name, self.dataset, metric) for name in (self.method, self.minus) if name)
        return first - sum(second)

    def holds(self, run: Run) -> bool:
        """Whether the number lies where the cause says."""
        return self.above < self.value(run) < self.below


class Cause(Record):
    """One explanation.

    Attributes:
        by: the experiment that moved only this, ``paper/experiment``, where it was tested.
        profile: of that run: the paper's size may be what moved.
        shows: its numbers.
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
    """Read causes by claim from the YAML ``text``.

    Raises:
        ConfigError: a field is unknown or missing, or a claim has two causes.
    """
    try:
        found = TypeAdapter(list[Cause]).validate_python(parse_yaml(text))
    except (ValidationError, yaml.YAMLError) as error:
        raise ConfigError(f"causes.yaml does not hold causes ({error}); mend that entry.") from error
    twice = sorted(name for name, count in Counter(one.id for one in found).items() if count > 1)
    if twice:
        raise ConfigError(f"causes.yaml has {', '.join(twice)} more than once; give each claim one cause.")
    return {one.id: one for one in found}


@cache
def causes() -> dict[str, Cause]:
    """Return every cause by its claim."""
    texts = ((files("sentbook.papers") / paper / "causes.yaml").read_text(encoding="utf-8") for paper in papers())
    return {claim: cause for text in texts for claim, cause in parse_causes(text).items()}


def cause_of(claim: str, verdict: str, profile: str) -> Cause | None:
    """Return the likely cause of a verdict, where it is one of ``PROFILE`` and not "reproduced"."""
    return causes().get(claim) if profile == PROFILE and verdict != "reproduced" else None
