"""Every claim of the four papers with its verdict, gathered from recorded runs: what the page of verdicts shows, and
``results/<profile>/verdicts.json`` for programs.

Nothing is judged here: the verdicts are those that the runs recorded. A claim whose rule or operands changed since says
that it was judged by an earlier rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from sentbook.io import root, write_atomically
from sentbook.records import Claim, Record, Run, Verdict
from sentbook.runs import recorded
from sentbook.runs.causes import Cause, cause_of
from sentbook.runs.claims import specifications
from sentbook.runs.ledger import dumped, read
from sentbook.runs.ledger import write as record
from sentbook.runs.papers import papers
from sentbook.runs.verdicts import DECIDED

PAPERS = papers()
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
NO_RUN = "no run of this profile is recorded"
TOY = "a run on toy data carries no verdict"
OURS = "ours"


class Entry(Claim):
    """A claim beside the run that judged it, ``<profile>/<paper>/<experiment>``; empty where there is none.

    ``earlier``: the rule that judged it, or what it compares, was changed since.
    """

    paper: str
    experiment: str
    run: str = ""
    commit: str = ""
    seeds: list[int] = Field(default_factory=list)
    substitutions: list[str] = Field(default_factory=list)
    earlier: bool = False
    cause: Cause | None = None


class Chance(Record):
    """How many verdicts chance alone is expected to have made wrong, ``at_most``.

    Of those that intervals ``decided`` the levels of the rules bound it: "exceeded" or "not reproduced" of several
    parts falls if one does. Those that are ``counted`` have no such bound: A wins k of n, and a printed value that our
    interval holds, which may hold others as well.
    """

    at_most: float
    decided: int
    counted: int


class Ledger(Record):
    """All verdicts of one profile; ``counts`` has them by paper, with ``all``, and those of our own claims apart."""

    schema_version: Literal[1] = 1
    profile: str
    counts: dict[str, dict[str, int]]
    chance: dict[str, Chance] = Field(default_factory=dict)
    claims: list[Entry]


def entries(runs: Mapping[tuple[str, str], Run], papers: Iterable[str] = PAPERS) -> list[Entry]:
    """Every claim of ``papers`` in the order of ``claims.yaml``; "not run" where its experiment has no run.

    Args:
        runs: (paper, experiment) -> run.
    """
    wanted = list(papers)
    found = []
    for spec in specifications().values():
        if spec.paper not in wanted:
            continue
        place = {"paper": spec.paper, "experiment": spec.experiment}
        run = runs.get((spec.paper, spec.experiment))
        claim = next((one for one in run.claims if one.id == spec.id), None) if run else None
        if run is None or claim is None:
            words = spec.model_dump(include={"id", "text", "source", "rule"})
            found.append(
                Entry(
                    **words,
                    **place,
                    verdict="not run",
                    evidence=TOY if run is not None and run.profile == "demo" else NO_RUN,
                )
            )
            continue
        found.append(
            Entry(
                **{**claim.model_dump(), "rule": spec.rule},
                **place,
                run=f"{run.profile}/{run.paper}/{run.experiment}",
                commit=run.provenance.git_commit,
                seeds=run.provenance.seeds,
                substitutions=run.provenance.substitutions,
                earlier=claim.judged_by != spec.judged_by,
                cause=cause_of(claim.id, claim.verdict, run.profile),
            )
        )
    return sorted(found, key=lambda entry: wanted.index(entry.paper))


def counted(claims: Iterable[Entry]) -> dict[str, dict[str, int]]:
    """Paper -> verdict -> how many; and ``all``. Claims of this book stand apart, as those of "ours"."""
    by_paper: dict[str, Counter[str]] = {}
    for entry in sorted(claims, key=lambda entry: entry.own):
        by_paper.setdefault(OURS if entry.own else entry.paper, Counter())[entry.verdict] += 1
    return {
        paper: {**{verdict: counts[verdict] for verdict in VERDICTS}, "all": counts.total()}
        for paper, counts in by_paper.items()
    }


def by_chance(claims: Sequence[Entry]) -> dict[str, Chance]:
    """Paper -> how many of its verdicts chance alone is expected to have made wrong."""
    found = {}
    for paper in dict.fromkeys(entry.paper for entry in claims):
        decided = [one for one in claims if one.paper == paper and not one.own and one.verdict in DECIDED]
        held = [entry.rule == "scores" and entry.verdict == "reproduced" for entry in decided]
        levels = [(one, None if no else specifications()[one.id].level) for one, no in zip(decided, held, strict=True)]
        bounded = [
            level if entry.verdict == "reproduced" else min(1.0, level * max(1, len(entry.parts)))
            for entry, level in levels
            if level
        ]
        counts = sum(level is None for _, level in levels)
        found[paper] = Chance(at_most=round(sum(bounded), 3), decided=len(bounded), counted=counts)
    return found


def gather(profile: str) -> Ledger:
    """The verdicts of the runs that are recorded in one profile.

    Raises:
        DataError: a file is not a run of this schema.
    """
    places = {(spec.paper, spec.experiment) for spec in specifications().values()}
    runs = {(paper, name): read(paper, name, profile) for paper, name in places}
    found = entries({place: run for place, run in runs.items() if run is not None})
    return Ledger(profile=profile, counts=counted(found), chance=by_chance(found), claims=found)


def judge_again(profile: str) -> list[str]:
    """Judge what earlier rules judged in the recorded runs of a profile, from their rows, and write these runs.

    Returns:
        The claims whose rows do not carry enough: they stay as they were until their notebooks run again.

    Raises:
        DataError: a file is not a run of this schema.
        StorageError: no space or a read-only folder.
    """
    left: list[str] = []
    for paper, name in dict.fromkeys((spec.paper, spec.experiment) for spec in specifications().values()):
        run = read(paper, name, profile)
        if run is None:
            continue
        judged, without = recorded.judge_again(run)
        left += without
        if judged != run.claims:
            record(run.model_copy(update={"claims": judged}))
    return left


def path_of(profile: str) -> Path:
    return root() / "results" / profile / "verdicts.json"


def write(ledger: Ledger) -> Path:
    """Write the verdicts of a profile; the same runs give the same bytes.

    Raises:
        StorageError: no space or a read-only folder; what was there before is intact.
    """
    path = path_of(ledger.profile)
    write_atomically(path, dumped(ledger))
    return path
