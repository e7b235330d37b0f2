"""What a reader compares: what the paper printed, the recorded run, and the run just made."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Concatenate, ParamSpec, Protocol

import pandas as pd

from sentbook import config
from sentbook.io import ConfigError
from sentbook.records import Run
from sentbook.report_old.markup import Html
from sentbook.report_old.summary import ordered, reported
from sentbook.report_old.table import Table, command, is_toy, not_run
from sentbook.runs import ledger

P = ParamSpec("P")
# Parameters that change no number.
ELSEWHERE = ("profile", "device", "jobs")
# What a view tells an adapter that asks for it.
_OF_THE_VIEW = ("beside", "caption")
# What an adapter is told of the paper's data sets, which a run on others cannot follow.
_OF_THE_PAPER = ("rows", "notes", "dataset", "datasets")


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Flatten nested settings: ``{"cse": {"filters": 300}}`` -> ``{"cse.filters": 300}``."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return found


def differences(run: Run, profile: str) -> list[tuple[str, Any, Any]]:
    """List the settings of ``run`` that differ from those of ``profile``'s file: (name, here, there).

    Settings that change no number (device, processes side by side) are left out; so is a paper without settings.
    """
    if run.paper not in config.papers():
        return []
    there = flat(config.load(run.paper, {"profile": profile}).model_dump(mode="json"))
    here = flat(run.provenance.config)
    # A setting that came after the run was recorded is none that the run changed.
    later = {name for name in there if name.partition(".")[0] not in run.provenance.config}
    names = [name for name in ordered([*here, *there]) if name not in ELSEWHERE and name not in later]
    return [(name, here.get(name), there.get(name)) for name in names if here.get(name) != there.get(name)]


def changes(run: Run, profile: str = "") -> list[str]:
    """Name the parameters that a run changed, as ``cse.activation = tanh``.

    Args:
        profile: against which profile's file; empty: the one that the run began from.
    """
    base = profile or str(run.provenance.config.get("profile", run.profile))
    return [f"{name} = {shortened(here, 60)}" for name, here, _ in differences(run, base)]


def shortened(value: object, room: int = 80) -> str:
    """Write a setting's value in so many letters at most."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= room else f"{text[: room - 3]}..."


@dataclass(frozen=True)
class View:
    """The run just made, the recorded one and the paper's numbers, as one argument of a table.

    Attributes:
        made: the run just made; the recorded one itself where a recorded profile was run unchanged.
        recorded: what the ledger holds; None where nothing is recorded.
        full: the run recorded at the paper's size, which stands beside a smaller one that is recorded.
        printed: the paper's numbers of the experiment; None where it prints none.
    """

    made: Run
    recorded: Run | None
    printed: pd.DataFrame | None
    full: Run | None = None

    @classmethod
    def of(cls, run: Run, *, printed: str | None = None, profile: str = "small") -> View:
        """Find what stands beside ``run``.

        Args:
            printed: name of the paper's table, e.g. ``fig3_text_numbers``; None: the experiment's own.
            profile: which recorded run.

        Raises:
            ConfigError: the paper has no such table.
        """
        try:
            numbers = reported(run.paper, printed or run.experiment)
        except ConfigError:
            if printed is not None:
                raise
            numbers = None
        recorded, full = (
            run if run.profile == name else ledger.read(run.paper, run.experiment, name) for name in (profile, "paper")
        )
        return cls(run, recorded, numbers, full)

    @property
    def is_new(self) -> bool:
        """Whether the run just made is another one than the recorded."""
        return self.made is not self.recorded

    @property
    def beside(self) -> Run | None:
        """The run just made where it may stand in one table with the recorded one: on the same data sets."""
        if self.recorded is None or not self.is_new or is_toy(self.made):
            return None
        both = ({row.dataset for row in run.metrics} for run in (self.recorded, self.made))
        return self.made if set.intersection(*both) else None

    @property
    def larger(self) -> Run | None:
        """The run at the paper's size beside a recorded one that does not hold all of its numbers."""
        if self.full is None or self.recorded is None:
            return None
        known, own = ({row.model_dump_json() for row in run.metrics} for run in (self.recorded, self.full))
        return None if own <= known else self.full

    @property
    def command(self) -> str:
        """What makes the recorded run."""
        return command(self.made.paper, self.made.experiment)

    @property
    def changes(self) -> list[str]:
        """The parameters of the run just made that differ from the recorded run's, in words."""
        return changes(self.made, "" if is_toy(self.made) or self.recorded is None else self.recorded.profile)

    def show(self, adapter: Callable[..., Drawn], *args: Any, **options: Any) -> Drawn | Stack:
        """Draw ``adapter``'s table of what is recorded with the run just made beside it, or in one of its own.

        On the same data sets both stand in one table, where the adapter can (it takes ``beside``). A
        run on toy data, or on other data sets, has its own table below: without the paper's numbers and its rows.
        """
        beside, own = self.beside, dict(options)
        if beside is not None and "beside" in inspect.signature(adapter).parameters:
            return self._draw(adapter, self.recorded, self.printed, args, options | {"beside": beside}, joint=True)
        first = self._draw(adapter, self.recorded, self.printed, args, options | {"beside": self.larger})
        if not self.is_new:
            return first
        if beside is None:
            own = {name: value for name, value in own.items() if name not in _OF_THE_PAPER}
            if "dataset" in options:
                own["dataset"] = ordered(row.dataset for row in self.made.metrics)[-1]
        own |= {"caption": "The run of this notebook"}
        return Stack((first, self._draw(adapter, self.made, None, args, own, joint=True)))

    def _draw(
        self,
        adapter: Callable[..., Drawn],
        run: Run | None,
        printed: pd.DataFrame | None,
        args: Sequence[Any],
        options: Any,
        *,
        joint: bool = False,
    ) -> Drawn:
        """Draw a run; ``joint``: the run just made is in it, with the parameters that it changed in words."""
        known = inspect.signature(adapter).parameters
        kept = {name: value for name, value in options.items() if name in known or name not in _OF_THE_VIEW}
        piece = adapter(run, *([printed] if "reported" in known else []), *args, **kept)
        if not isinstance(piece, Table):
            return piece
        notice = not_run(self.command) if run is None else piece.notice
        changed = self.changes if joint else piece.changes
        return replace(piece, notice=notice, changes=changed, just_made=run is not self.recorded)


class Drawn(Protocol):
    """A table, a figure or a box: what writes itself as HTML, its style sheet once a page."""

    def html(self, *, style: bool = True) -> str: ...


@dataclass(frozen=True)
class Stack:
    """Pieces below each other, each with its own run."""

    pieces: tuple[Drawn, ...]

    def html(self, *, style: bool = True) -> str:
        return "".join(piece.html(style=style and not at) for at, piece in enumerate(self.pieces))

    def _repr_html_(self) -> str:
        return Html(self.html())

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.pieces))

    def __bool__(self) -> bool:
        return any(map(bool, self.pieces))


def of_view(draw: Callable[Concatenate[Run | None, P], Drawn]) -> Callable[Concatenate[View | Run | None, P], Any]:
    """Let an adapter, which draws one run, take a `View` in its place."""

    @functools.wraps(draw)
    def drawn(of: View | Run | None, *args: P.args, **options: P.kwargs) -> Any:
        return of.show(draw, *args, **options) if isinstance(of, View) else draw(of, *args, **options)

    return drawn


def of_run(draw: Callable[Concatenate[Run, P], Drawn]) -> Callable[Concatenate[View | Run | None, P], Any]:
    """Let a table of one run take a `View`; of a run that is not there it says how to make it."""

    @functools.wraps(draw)
    def drawn(of: View | Run | None, *args: P.args, **options: P.kwargs) -> Any:
        absent = not_run(of.command) if isinstance(of, View) else not_run()

        @functools.wraps(draw)
        def one(run: Run | None, *args: P.args, **options: P.kwargs) -> Drawn:
            return absent if run is None else draw(run, *args, **options)

        return of.show(one, *args, **options) if isinstance(of, View) else one(of, *args, **options)

    return drawn


def of_recorded(draw: Callable[Concatenate[Run | None, P], Drawn]) -> Callable[Concatenate[View | Run | None, P], Any]:
    """Let what is said of a recorded run alone take a `View`: verdicts, which no run on toy data has."""

    @functools.wraps(draw)
    def drawn(of: View | Run | None, *args: P.args, **options: P.kwargs) -> Drawn:
        return draw(of.recorded if isinstance(of, View) else of, *args, **options)

    return drawn
