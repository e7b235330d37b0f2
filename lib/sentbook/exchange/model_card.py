"""The README of an exported encoder: what it is, what it learned from, what was measured, what it is not for.

Its text is the template ``card.md.j2``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import jinja2

from sentbook import config
from sentbook import records as results
from sentbook.data import corpora, sources, vectors
from sentbook.exchange.portable import Portable
from sentbook.io import ConfigError, root
from sentbook.models import EncoderOptions
from sentbook.runs import ledger
from sentbook.training.recipes import Recipe


@dataclass(frozen=True)
class Measured:
    """A recorded run that used the encoder.

    Attributes:
        rows: of the encoder; None where the run holds others of its method and seed.
        same: the name of an earlier run with the same rows.
    """

    run: results.Run
    rows: Sequence[results.Metric] | None
    same: str = ""

    @property
    def name(self) -> str:
        return f"{self.run.profile}/{self.run.paper}/{self.run.experiment}"

    def cells(self) -> list[tuple[str, ...]]:
        """A row of the card's table for each of ``rows``."""
        rows = self.rows or ()
        return [(row.dataset, row.metric, row.protocol, f"{row.n:,}", f"{row.value:.4f}") for row in rows]


def recorded(key: str) -> list[Measured]:
    """The recorded runs that name the encoder ``key``, and what they measured of it."""
    found = []
    for run in _runs(key):
        entries = [entry for entry in run.extra.get("artifacts", ()) if "key" in entry]
        of_it = {(entry["method"], entry["seed"]) for entry in entries if entry["key"] == key}
        others = {(entry["method"], entry["seed"]) for entry in entries if entry["key"] != key}
        if of_it:
            rows = [row for row in run.metrics if (row.method, row.seed) in of_it]
            found.append(Measured(run, None if of_it & others else rows))
    return found


def _runs(key: str) -> Iterator[results.Run]:
    with suppress(ConfigError):  # outside a checkout nothing is recorded
        for profile in config.PROFILES:
            for path in sorted((root() / "results" / profile).glob("*/*.json")):
                if key in path.read_text(encoding="utf-8"):
                    run = ledger.read(path.parent.name, path.stem, profile)
                    if run is not None:
                        yield run


def card(model: Portable, name: str, recipe: Recipe, runs: Sequence[Measured]) -> str:
    """The text of README.md, with the header that model hubs read.

    Args:
        name: one line, the title.
        recipe: of ``model``, for its stages.
        runs: of `recorded`.
    """
    options = recipe.encoder.model_dump(mode="json", exclude={"kind"})
    papers = sorted({measured.run.paper for measured in runs} or _papers_of(recipe.encoder))
    names = [vectors.substitute(recipe.vectors.name, paper) for paper in papers]
    names += [corpora.substitute(text, paper) for text in recipe.texts() for paper in papers]
    used = (recipe.vectors.name, *recipe.datasets(), *recipe.texts())
    origin, registry = model.description.origin, sources.registry()
    data = {file: digest[:16] for file, digest in origin.get("data", {}).items()}
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.filters |= {"cell": _cell, "cycled": lambda items, times: list(items) * times}
    text: str = environment.from_string((files("sentbook.exchange") / "card.md.j2").read_text(encoding="utf-8")).render(
        name=name,
        model=model,
        about=model.description,
        origin=origin,
        recipe=recipe,
        encoder=", ".join([recipe.encoder.kind, *(f"{option} {value}" for option, value in options.items())]),
        substitutes=list(dict.fromkeys(filter(None, names))),
        runs=list(_once(runs)),
        generated=any(name.startswith("miniworld") for name in used),
        files=[(file, registry.get(file, {}).get("licence", "unknown"), f"`{d}`") for file, d in data.items()],
    )
    return text.rstrip() + "\n"


def _papers_of(encoder: EncoderOptions) -> set[str]:
    """Find the paper with this encoder and the fewest others: its substitutes are meant where no run says which."""
    settings = {paper: dict(config.settings_class(paper)()).values() for paper in config.papers()}
    compared = {paper: {one.kind for one in of if isinstance(one, EncoderOptions)} for paper, of in settings.items()}
    having = [paper for paper in compared if encoder.kind in compared[paper]]
    return set(sorted(having, key=lambda paper: len(compared[paper]))[:1])


def _once(runs: Sequence[Measured]) -> Iterator[Measured]:
    shown: dict[str, str] = {}
    for measured in runs:
        first = shown.setdefault(repr(measured.cells()), measured.name) if measured.rows else measured.name
        yield measured if first == measured.name else replace(measured, same=first)


def _cell(value: Any) -> str:
    """Text for a cell of a Markdown table: on one line, bars escaped."""
    return " ".join(str(value).replace("|", "\\|").split())
