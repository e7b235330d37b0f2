"""Every claim of the four papers with its verdict, gathered from recorded runs: what the page of verdicts shows, and
``results/<profile>/verdicts.json`` for programs.

Nothing is judged here: the verdicts are those that the runs recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from sentbook.records import Claim, Record, Run, Verdict
from sentbook.runs.causes import Cause, cause_of
from sentbook.runs.claims import specifications
from sentbook.runs.ledger import dumped, read
from sentbook.runs.papers import papers
from sentbook.system.files import write_atomically
from sentbook.system.paths import root

PAPERS = papers()
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
NO_RUN = "no run of this profile is recorded"
TOY = "a run on toy data carries no verdict"


class Entry(Claim):
    """A claim beside the run that judged it, ``<profile>/<paper>/<experiment>``; empty where there is none."""

    paper: str
    experiment: str
    run: str = ""
    commit: str = ""
    seeds: list[int] = Field(default_factory=list)
    substitutions: list[str] = Field(default_factory=list)
    cause: Cause | None = None


class Ledger(Record):
    """All verdicts of one profile; ``counts`` has them by paper, with ``all``."""

    schema_version: Literal[1] = 1
    profile: str
    counts: dict[str, dict[str, int]]
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
                cause=cause_of(claim.id, claim.verdict, run.profile),
            )
        )
    return sorted(found, key=lambda entry: wanted.index(entry.paper))


def counted(claims: Iterable[Entry]) -> dict[str, dict[str, int]]:
    """Paper -> verdict -> how many; and ``all``."""
    by_paper: dict[str, Counter[str]] = {}
    for entry in claims:
        by_paper.setdefault(entry.paper, Counter())[entry.verdict] += 1
    return {
        paper: {**{verdict: counts[verdict] for verdict in VERDICTS}, "all": counts.total()}
        for paper, counts in by_paper.items()
    }


def gather(profile: str) -> Ledger:
    """The verdicts of the runs that are recorded in one profile.

    Raises:
        DataError: a file is not a run of this schema.
    """
    places = {(spec.paper, spec.experiment) for spec in specifications().values()}
    runs = {(paper, name): read(paper, name, profile) for paper, name in places}
    found = entries({place: run for place, run in runs.items() if run is not None})
    return Ledger(profile=profile, counts=counted(found), claims=found)


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
