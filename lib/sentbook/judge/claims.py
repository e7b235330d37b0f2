"""The claims of the papers: data that say which rule judges a claim and on which numbers.

A claim in ``papers/<paper>/claims.yaml`` names a rule and what the rule compares::

    - {id: cse-15, in: table4, text: "...", source: "...",
       rule: beats, of: [CSE_sentence, CSE_phrase], where: total_avg}
"""

from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from sentbook.io import ConfigError, parse_yaml
from sentbook.records import Record, Run

Decided = Literal["reproduced", "exceeded", "not reproduced"]
Verdict = Decided | Literal["inconclusive", "out of scale", "the paper contradicts itself", "not run"]
# A run with less of what a claim is about decides nothing about it.
TENTH = 0.1


class Paper(Record):
    """What the book calls a paper, or a folder of its own experiments.

    Attributes:
        colours: methods that keep the first colours of the palette on every page.
    """

    name: str
    colours: tuple[str, ...] = ()


class Comparison(Record):
    """A rule and what it is called with; each rule takes some of these.

    Attributes:
        of: what is judged: methods, pairs of them, or ``{finding: name}``.
        where, metric: rows and measures, one or several; None: the first that is recorded of the row.
        table: where the paper prints the value, if not in the experiment's own table.
        unit, how: of a finding, and over what its interval is.
        stated: whether the bound is printed by the paper, or the reading of its words that the rule needs.
        than: a number or ``{printed: [...]}``; of a score, what the paper sets it apart from, if not the best of the
            others in its column.
        worse: the claim is that ours is below.
        margin: at most how far from 0, a number or one by measure.
        printed: the printed value, one or by measure, or rank; None: what the paper prints of the method.
        at_least: ``14 of 20`` (of another number of rows as large a part), ``most``, or a number; ``at_most``.
        tie: A below B by less than this counts as a win too, where the paper counts so.
        rows: what the rows are, in words.
        what: what an exact number is, a finding, or what is counted, where the names of the record do not say it.
    """

    rule: Literal["", "beats", "wins", "above", "scores", "ranks", "equivalent", "identity", "all"] = ""
    of: Any = None
    where: str | list[str] = ""
    metric: str | list[str] | None = None
    table: str = ""
    unit: str = "share"
    how: str = "recorded"
    stated: bool = True
    than: float | dict[str, Any] = 0.0
    worse: bool = False
    margin: float | dict[str, float] = 0.0
    printed: float | dict[str, float] | None = None
    at_least: float | str | None = None
    at_most: float | None = None
    tie: float = 0.0
    rows: str = "sets"
    what: str = ""


class Size(Record):
    """How much a paper had of something that its claims are about, and where a record holds how much a run had.

    Attributes:
        paper: the paper's amount.
        run: a setting, such as ``encoder.filters``, a finding, or ``examples``, the most that one training saw.
        says: the unit, in words.
    """

    paper: float
    run: str
    says: str

    def lacking(self, run: Run) -> str:
        """Say how much the run has where that is less than a `TENTH` of the paper's; nothing where it is more."""
        seen = max((one.get("pairs", 0) for one in run.extra.get("artifacts", ())), default=None)
        ours = at({"examples": seen, **run.findings, **run.provenance.config}, self.run)
        little = isinstance(ours, int | float) and ours < TENTH * self.paper
        return f"{ours:,} of the paper's {self.paper:,.0f} {self.says}" if little else ""


def at(held: Any, path: str) -> Any:
    """Return what nested dictionaries hold at ``name.part``; None where they do not."""
    for name in path.split("."):
        held = held.get(name) if isinstance(held, dict) else None
    return held


class Cause(Record):
    """Why a claim was likely not reproduced by the recorded run of profile ``small``.

    Attributes:
        state: ``tested`` by a run that moved only this, a ``guess``, or the ``scope`` that the claim would need.
        says: it in a few sentences.
        by: the experiment that tested it, ``paper/experiment``.
        profile: of that run: the paper's size may be what moved.
        shows: its numbers, which the tests hold to the record.
    """

    state: Literal["tested", "guess", "scope"]
    says: str
    by: str = ""
    profile: Literal["small", "paper"] = "small"
    shows: list[dict[str, Any]] = Field(default_factory=list)


class Claim(Comparison):
    """One claim as the paper makes it, with the rule that judges it.

    Attributes:
        experiment: the table or figure whose run judges it; ``in`` in the file.
        parts: the comparisons of the rule ``all``.
        readings: the parts are readings of the paper's words, which leave open what was compared.
        about: what its intervals are over: ``models``, seeds and items; ``encoders``, the items of those trained here.
        protocol: part of the protocol that counts, where a run has a number under several.
        scale: what it is about: training text, width, both or nothing.
        quote: the paper's own words.
        contradicts: what the paper says elsewhere against it.
        absent: why nothing here can judge it, where that is so; then it names no rule.
        untuned: parts of the names of rows in which nothing is chosen on the task, such as ``[UE]``, the encoder as it
            was pre-trained; that no search of them is recorded then bounds no verdict.
        main: whether it is the claim that its page answers first.
        sentence: what the page says of a verdict, by verdict.
        cause: why it was likely not reproduced.
    """

    id: str
    paper: str
    experiment: str = Field(alias="in")
    text: str
    source: str
    parts: list[Comparison] = Field(default_factory=list)
    readings: bool = False
    about: Literal["models", "encoders"] = "models"
    protocol: str = ""
    scale: list[Size] = Field(default_factory=list)
    quote: str = ""
    contradicts: str = ""
    absent: str = ""
    untuned: tuple[str, ...] = ()
    main: bool = False
    sentence: dict[Verdict, str] = Field(default_factory=dict)
    cause: Cause | None = None

    @property
    def own(self) -> bool:
        """Whether it is a claim of this book, which is not counted with the paper's."""
        return self.source.startswith("not of the paper")

    @property
    def page(self) -> str:
        """The page whose run judges it, ``cse/table1``."""
        return f"{self.paper}/{self.experiment}"


@cache
def papers() -> dict[str, Paper]:
    """Return the papers by their folders, in the order of the book."""
    text = (files("sentbook.papers") / "papers.yaml").read_text(encoding="utf-8")
    return {folder: Paper.model_validate(paper) for folder, paper in parse_yaml(text).items()}


@cache
def claims() -> dict[str, Claim]:
    """Return every claim by its id, in the order of the book.

    Raises:
        ConfigError: see `parse`; or two claims have one id.
    """
    places = {paper: files("sentbook.papers") / paper / "claims.yaml" for paper in papers()}
    found = [one for paper, path in places.items() if path.is_file() for one in parse(path.read_text("utf-8"), paper)]
    names = [one.id for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"Two claims are called {twice[0]}; give one of them another id.")
    return dict(zip(names, found, strict=True))


def parse(text: str, paper: str) -> list[Claim]:
    """Read the claims of a paper from YAML.

    Raises:
        ConfigError: it is no such YAML, or a field of an entry is unknown, missing or of another kind.
    """
    try:
        return [Claim.model_validate({**entry, "paper": paper}) for entry in parse_yaml(text)["claims"]]
    except (ValidationError, yaml.YAMLError, TypeError, KeyError) as error:
        raise ConfigError(f"{paper}/claims.yaml does not hold claims ({error}); mend that entry.") from error
