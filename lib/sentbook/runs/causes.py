"""Why a claim was likely not reproduced, and what that explanation stands on: data in ``papers/<paper>/causes.yaml``.

A cause belongs to a verdict of the recorded small runs; other profiles train on other data, and have none.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import TypeAdapter, ValidationError, model_validator

from sentbook.records import Record
from sentbook.runs.papers import papers
from sentbook.system.errors import ConfigError
from sentbook.system.files import parse_yaml

PROFILE = "small"
Support = Literal["tested", "shown", "untested", "scope"]


class Cause(Record):
    """One explanation. ``by`` is the experiment that moved only this, ``paper/experiment``, where it was tested."""

    id: str
    cause: str
    support: Support
    by: str = ""

    @model_validator(mode="after")
    def _names_its_test(self) -> Cause:
        if (self.support == "tested") != bool(self.by):
            raise ValueError("a tested cause names the experiment in 'by', and no other does")
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
