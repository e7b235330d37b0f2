"""The claims of the papers: data that say which rule judges a claim and on which numbers.

A claim in ``papers/<paper>/claims.yaml`` names one rule and its operands::

    - {id: cse-15, in: table4, text: "...", source: "...", beats: [CSE_sentence, CSE_phrase], where: total_avg}

``$name`` stands for one of the file's ``lists``, within a list for its members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sentbook.io import ConfigError, parse_yaml
from sentbook.judge.caps import Scale
from sentbook.judge.papers import papers
from sentbook.judge.rules import RULES, Operands
from sentbook.records import OWN, Level, Verdict


class ClaimSpec(BaseModel):
    """One claim as the paper makes it, with the rule that judges it.

    Attributes:
        experiment: the table or figure whose run judges it; ``in`` in the file.
        rule, operands: the name of the rule, and what it is called with; no rule where it is ``absent``.
        about: what its intervals are over: ``models``, seeds and items; ``encoders``, the items of those trained here.
        protocol: part of the protocol that counts, where a run has a number under several.
        scale: what a claim of a level is about.
        contradicts: what the paper says elsewhere against it.
        absent: why nothing here can judge it, where that is so.
        untuned: parts of the names of rows in which nothing is chosen on the task, such as ``[UE]``, the encoder as it
            was pre-trained; that no search of them is recorded then bounds no verdict.
        main: whether it is the claim that its page answers first.
        timed: whether it is about seconds, which are true of a machine: another's need not agree.
        sentence: what the page says of a verdict, by verdict.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    paper: str
    experiment: str = Field(alias="in")
    text: str
    source: str
    rule: str = ""
    operands: Operands | None = None
    about: Level = "models"
    protocol: str = ""
    scale: Scale | None = None
    contradicts: str = ""
    absent: str = ""
    untuned: tuple[str, ...] = ()
    main: bool = False
    timed: bool = False
    sentence: dict[Verdict, str] = Field(default_factory=dict)

    @property
    def own(self) -> bool:
        """Whether it is a claim of this book, which is not counted with the paper's."""
        return self.source.startswith(OWN)

    @property
    def level(self) -> float | None:
        """How often its rule finds one difference where there is none; None where it counts, 0 without chance."""
        names = [name for name, _ in self.operands.of] if self.operands and self.rule == "all" else [self.rule]
        levels = [RULES[name].level for name in names if name]
        return None if None in levels else max((level for level in levels if level is not None), default=0.0)


@cache
def specifications() -> dict[str, ClaimSpec]:
    """Return every claim by its id, in the order of the book."""
    found: dict[str, ClaimSpec] = {}
    for paper in papers():
        found |= parse_claims((files("sentbook") / "papers" / paper / "claims.yaml").read_text(encoding="utf-8"), paper)
    return found


def claims(paper: str, experiment: str | None = None) -> list[ClaimSpec]:
    """Return the claims of a paper, or of one experiment of it, in the order of the text."""
    return [spec for spec in specifications().values() if spec.paper == paper and experiment in (None, spec.experiment)]


def parse_claims(text: str, paper: str) -> dict[str, ClaimSpec]:
    """Read a paper's claims, by id, from the YAML ``text``.

    Raises:
        ConfigError: a field is unknown or missing, a claim names no rule or two, or two claims share an id.
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
    """Put the lists that a value names in their places."""
    if isinstance(value, str) and value.startswith("$"):
        return _filled(lists[value[1:]], lists)
    if isinstance(value, list):
        parts = [(one, _filled(one, lists)) for one in value]
        return [
            two for one, full in parts for two in (full if isinstance(one, str) and isinstance(full, list) else [full])
        ]
    return {key: _filled(one, lists) for key, one in value.items()} if isinstance(value, dict) else value


def _spec(entry: Mapping[str, Any], paper: str) -> ClaimSpec:
    own = {field.alias or name for name, field in ClaimSpec.model_fields.items()} - {"rule", "operands"}
    held = {key: value for key, value in entry.items() if key in own}
    rest = {key: value for key, value in entry.items() if key not in own}
    rule, operands = _called(rest, str(entry.get("id"))) if rest or not entry.get("absent") else ("", None)
    return ClaimSpec.model_validate({**held, "paper": paper, "rule": rule, "operands": operands})


def _called(entry: Mapping[str, Any], where: str) -> tuple[str, Operands]:
    """Return the one rule that an entry names, and its operands."""
    names = [key for key in entry if key in RULES]
    if len(names) != 1:
        raise ValueError(f"{where} names {' and '.join(names) or 'no rule'}; name one of {', '.join(RULES)}")
    of, rest = entry[names[0]], {key: value for key, value in entry.items() if key != names[0]}
    if names[0] == "all":
        of, rest = [_called({**rest, **part}, where) for part in of], {}
    return names[0], Operands(of=of, **rest)
