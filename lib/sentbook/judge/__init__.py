"""Judge the papers' claims on recorded runs: a pure function from ``claims.yaml`` and a record to verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

from pydantic import Field

from sentbook.evaluation.predictions import Predictions
from sentbook.judge.caps import capped
from sentbook.judge.causes import Cause, cause_of
from sentbook.judge.claims import ClaimSpec, claims, specifications
from sentbook.judge.evidence import Evidence, Missing
from sentbook.judge.rules import DECIDED, RULES, Judgement
from sentbook.records import Claim, Part, Record, Run, Scores, Verdict, read, read_scores

__all__ = [
    "Cause",
    "Chance",
    "ClaimSpec",
    "Entry",
    "cause_of",
    "chance",
    "claims",
    "counts",
    "entries",
    "gather",
    "judge",
]
__all__ += ["specifications"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
NO_RUN, TOY = "no run of this profile is recorded", "a run on toy data carries no verdict"
OURS = "ours"


class Entry(Claim):
    """A claim of the book with its verdict and the run that it was judged on.

    Attributes:
        run: ``small/cse/table1``; empty where there is none.
        sentence: for the verdict box; empty where ``claims.yaml`` has none for this verdict.
        main: whether its page answers it first.
        rule_name, rule_says: the rule in a few words, and as a sentence.
    """

    paper: str
    experiment: str
    run: str = ""
    seeds: list[int] = Field(default_factory=list)
    substitutions: list[str] = Field(default_factory=list)
    cause: Cause | None = None
    sentence: str = ""
    main: bool = False
    rule_name: str = ""
    rule_says: str = ""


class Chance(Record):
    """How many verdicts chance alone is expected to have made wrong, ``at_most``.

    Of those that intervals ``decided`` the levels of the rules bound it: "exceeded" or "not reproduced" of several
    parts falls if one does. Those that are ``counted`` have no such bound: A wins k of n, and a printed value that our
    interval holds, which may hold others as well.
    """

    at_most: float
    decided: int
    counted: int


def judge(run: Run, scores: Scores | None = None) -> list[Claim]:
    """Judge every claim of a page on its run: on its scores per item where there are any, else on its rows.

    The same run gives the same verdicts: neither data nor training is needed.
    """
    book = Predictions.restored(scores) if scores else None
    return [judged(spec, run, book) for spec in claims(run.paper, run.experiment)]


def judged(spec: ClaimSpec, run: Run, book: Predictions | None = None) -> Claim:
    """Judge one claim; "not run" with the reason where a number that it needs is not there."""
    evidence = Evidence(run, spec.about, spec.protocol, book)
    try:
        absent = TOY if run.provenance.config.get("profile") == "demo" else spec.absent
        rule, operands = RULES.get(spec.rule), spec.operands
        found = Judgement("not run", absent) if absent or not rule or not operands else rule.run(evidence, operands)
    except Missing as reason:
        found = Judgement("not run", str(reason))
    found, notes = capped(found, evidence, spec)
    if spec.contradicts:
        found, notes = replace(found, verdict="the paper contradicts itself"), [spec.contradicts, *notes]
    return Claim(
        **spec.model_dump(include={"id", "text", "source", "rule", "about"}),
        verdict=found.verdict,
        evidence=found.evidence,
        printed=found.printed,
        ours=found.ours,
        parts=[Part(verdict=part.verdict, printed=part.printed, ours=part.ours) for part in found.parts],
        notes=notes,
    )


# -- the book ----------------------------------------------------------------------------------------------------------


def entries(run: Run | None, specs: Iterable[ClaimSpec], scores: Scores | None = None) -> list[Entry]:
    """Give the claims ``specs`` of one page with their verdicts; "not run" without a run."""
    of_run = {claim.id: claim for claim in judge(run, scores)} if run else {}
    found = []
    for spec in specs:
        words = spec.model_dump(include={"id", "text", "source", "rule", "about"})
        claim = of_run.get(spec.id) or Claim(**words, verdict="not run", evidence=NO_RUN)
        own = {"paper": spec.paper, "experiment": spec.experiment, "main": spec.main}
        own |= {"sentence": spec.sentence.get(claim.verdict, "")}
        if rule := RULES.get(spec.rule):
            own |= {"rule_name": rule.name, "rule_says": rule.says}
        if run is not None:
            made = run.provenance
            own |= {"run": f"{run.profile}/{run.name}", "seeds": made.seeds}
            own |= {"substitutions": made.substitutions, "cause": cause_of(spec.id, claim.verdict, run.profile)}
        found.append(Entry(**claim.model_dump(), **own))
    return found


def gather(profile: str = "small") -> list[Entry]:
    """Give every claim of every paper, in the order of the book, as the recorded runs of a profile decide it.

    Raises:
        DataError: a file is no run of this schema.
    """
    order = list(specifications().values())
    found = {}
    for paper, experiment in dict.fromkeys((spec.paper, spec.experiment) for spec in order):
        name = f"{paper}/{experiment}"
        for entry in entries(read(name, profile), claims(paper, experiment), read_scores(name, profile)):
            found[entry.id] = entry
    return [found[spec.id] for spec in order]


def counts(entries: Iterable[Entry]) -> dict[str, dict[str, int]]:
    """Count by paper and verdict, with ``all``; claims of this book apart, as those of "ours"."""
    found: dict[str, Counter[str]] = {}
    for entry in sorted(entries, key=lambda entry: entry.own):
        found.setdefault(OURS if entry.own else entry.paper, Counter())[entry.verdict] += 1
    return {
        paper: {**{one: counted[one] for one in VERDICTS}, "all": counted.total()} for paper, counted in found.items()
    }


def chance(entries: Sequence[Entry]) -> dict[str, Chance]:
    """Give by paper how many of its verdicts chance alone is expected to have made wrong."""
    found = {}
    for paper in dict.fromkeys(entry.paper for entry in entries):
        decided = [one for one in entries if one.paper == paper and not one.own and one.verdict in DECIDED]
        bounded, counted = [], 0
        for entry in decided:
            level = specifications()[entry.id].level
            if level is None or (entry.rule == "scores" and entry.verdict == "reproduced"):
                counted += 1
            elif level:
                parts = 1 if entry.verdict == "reproduced" else max(1, len(entry.parts))
                bounded.append(min(1.0, level * parts))
        found[paper] = Chance(at_most=round(sum(bounded), 3), decided=len(bounded), counted=counted)
    return found
