"""Judge the papers' claims on recorded runs: a pure function from ``claims.yaml`` and a record to verdicts."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from sentbook.records import Claim, Run, Scores, read
from sentbook.runs import verdict_ledger
from sentbook.runs.causes import Cause, cause_of
from sentbook.runs.claims import ClaimSpec, claims, specifications
from sentbook.runs.papers import papers
from sentbook.runs.verdict_ledger import NO_RUN, Chance
from sentbook.runs.verdict_ledger import counted as counts

__all__ = [
    "Chance",
    "ClaimSpec",
    "Entry",
    "cause_of",
    "chance",
    "claims",
    "counts",
    "gather",
    "judge",
    "specifications",
]


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
    commit: str = ""
    seeds: list[int] = Field(default_factory=list)
    substitutions: list[str] = Field(default_factory=list)
    cause: Cause | None = None
    sentence: str = ""
    main: bool = False
    rule_name: str = ""
    rule_says: str = ""


def judge(run: Run, scores: Scores | None = None) -> list[Claim]:
    """Judge every claim of a page on its recorded run."""
    return run.claims


def entries(run: Run | None, specs: Iterable[ClaimSpec]) -> list[Entry]:
    """Give the claims ``specs`` of one page with their verdicts; "not run" without a run."""
    judged = {claim.id: claim for claim in judge(run)} if run else {}
    found = []
    for spec in specs:
        own = {"paper": spec.paper, "experiment": spec.experiment, "main": spec.main}
        own |= {"rule_name": spec.rules[0].name, "rule_says": spec.rules[0].says}
        if run is None or spec.id not in judged:
            words = spec.model_dump(include={"id", "text", "source", "rule"})
            found.append(Entry(**words, **own, verdict="not run", evidence=NO_RUN))
            continue
        claim = judged[spec.id]
        found.append(
            Entry(
                **claim.model_dump(),
                **own,
                run=f"{run.profile}/{run.name}",
                commit=run.provenance.git_commit,
                seeds=run.provenance.seeds,
                substitutions=run.provenance.substitutions,
                cause=cause_of(claim.id, claim.verdict, run.profile),
            )
        )
    return found


def gather(profile: str = "small") -> list[Entry]:
    """Give every claim of every paper, in the order of the book, as the recorded runs of a profile decide it.

    Raises:
        DataError: a file is no run of this schema.
    """
    found = []
    for paper in papers():
        for experiment in dict.fromkeys(spec.experiment for spec in claims(paper)):
            found += entries(read(f"{paper}/{experiment}", profile), claims(paper, experiment))
    order = list(specifications())
    return sorted(found, key=lambda entry: order.index(entry.id))


def chance(entries: Iterable[Entry]) -> dict[str, Chance]:
    """Give by paper how many of its verdicts chance alone is expected to have made wrong."""
    return verdict_ledger.by_chance(list(entries))  # type: ignore[arg-type]
