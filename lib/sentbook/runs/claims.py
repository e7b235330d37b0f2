"""The claims of the papers: data that say which rule judges a claim and on which numbers, and the judge who runs that.

A claim in ``papers/<paper>/claims.yaml`` names one rule and its operands::

    - {id: cse-15, in: table4, text: "...", source: "...", beats: [CSE_sentence, CSE_phrase], where: total_avg}

``$name`` stands for a list of the file's ``lists``. A rule that no data can express is a function of
``papers/<paper>/claims.py`` and is named in the same place. A recorded claim carries the digest of the rule that ran
and of what it compared: where the file says something else since, its verdict is one of an earlier rule.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sentbook.config import digest
from sentbook.io import ConfigError, parse_yaml
from sentbook.records import OWN, Claim, Level
from sentbook.runs import verdicts
from sentbook.runs.evidence import Evidence, Missing
from sentbook.runs.limits import Scale, limited
from sentbook.runs.papers import papers
from sentbook.runs.rules import Operands, applied, known, named, nested
from sentbook.runs.verdicts import Rule


class ClaimSpec(BaseModel):
    """One claim as the paper makes it, with the rule that judges it.

    Attributes:
        experiment: the table or figure whose run judges it; ``in`` in the file.
        rule: the name of the rule.
        operands: what the rule is called with, under its own name what it compares.
        about: what its intervals are over: ``models``, seeds and items; ``encoders``, the items of those trained here.
        scale: what a claim of a level is about.
        contradicts: what the paper says elsewhere against it.
        absent: why nothing here can judge it, where that is so.
        untuned: parts of the names of rows in which nothing is chosen on the task, such as ``[UE]``, the encoder as it
            was pre-trained; that no search of them is recorded then bounds no verdict.
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
    about: Level = "models"
    scale: Scale | None = None
    contradicts: str = ""
    absent: str = ""
    untuned: Sequence[str] = ()
    main: bool = False
    timed: bool = False

    @property
    def own(self) -> bool:
        """Whether it is a claim of this book, which is not counted with the paper's."""
        return self.source.startswith(OWN)

    @property
    def rules(self) -> list[Rule]:
        """The rules that judge it, those of its parts behind it."""
        names = [self.rule, *nested(self.operands)]
        return [rule for name in dict.fromkeys(names) if (rule := known(name, self.paper))]

    @property
    def level(self) -> float | None:
        """How often its rule finds one difference where there is none; None where it counts, 0 without chance."""
        levels = [rule.level for rule in self.rules]
        return None if None in levels else max(level for level in levels if level is not None)

    @property
    def judged_by(self) -> str:
        """A digest of all that decides its verdict but the run: rules and limits as printed, and what they compare."""
        said = [*(rule.says for rule in self.rules), inspect.getdoc(limited)]
        compared = self.model_dump(mode="json", include={"operands", "about", "scale", "contradicts", "absent"})
        return digest([said, compared | ({"untuned": list(self.untuned)} if self.untuned else {})])


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
    rule = named(operands, paper, str(entry.get("id")))
    held = {key: value for key, value in entry.items() if key in own}
    return ClaimSpec.model_validate({**held, "paper": paper, "rule": rule, "operands": operands})


# -- the judge ---------------------------------------------------------------------------------------------------------


def judge(evidence: Evidence) -> list[Claim]:
    """Judge every claim of an experiment, each by the rule that its entry names."""
    return [judged(spec, evidence) for spec in claims(evidence.paper, evidence.experiment)]


def judged(spec: ClaimSpec, evidence: Evidence) -> Claim:
    """Judge one claim; "not run" with the reason where a number that it needs is not there."""
    own = replace(evidence, about=spec.about, untuned=spec.untuned, asked={}, pairs=[])
    try:
        found = verdicts.not_run(spec.absent) if spec.absent else applied(own, spec.operands)
    except Missing as reason:
        found = verdicts.not_run(str(reason))
    found, notes = limited(found, own, spec.scale, lambda other: applied(other, spec.operands))
    if spec.contradicts:
        found, notes = found.with_verdict("the paper contradicts itself"), [spec.contradicts, *notes]
    return Claim(
        **spec.model_dump(include={"id", "text", "source", "rule", "about"}),
        verdict=found.verdict,
        evidence=found.evidence,
        printed=found.printed,
        ours=found.ours,
        parts=[part.part() for part in found.parts],
        notes=notes,
        judged_by=spec.judged_by,
    )
