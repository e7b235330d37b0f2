"""What a model costs: time and memory against sentence length, time against dimension."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.figures import WIDTH, _of_a_run, _sentence
from sentbook.report.marks import run_name
from sentbook.report.markup import Fragment, esc, from_paper, pipes, table
from sentbook.report.style import MARKERS, Palette
from sentbook.report.summary import Summary, centre_and_interval, interval_words, ordered, printed
from sentbook.report.svg import Plot, render
from sentbook.report.tables import _badge_text, badges, not_run
from sentbook.system.errors import ConfigError

BASE, EXACT = "conv2d on the map", "exact layer"
MILLISECONDS, MEBIBYTES = "milliseconds", "peak_mebibytes"
_TIMES = "\u00d7"
_COMMAND = "make run NOTEBOOK=wsv/exact_layer PROFILE=small"
# Where more lengths were measured than fit, the speed-up is written at so many.
_WRITTEN = 4


# -- the exact layer against the map ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lengths:
    """One quantity of one method by sentence length: median, least and greatest over the rounds."""

    n: NDArray
    median: NDArray
    low: NDArray
    high: NDArray
    rounds: int

    def at(self, n: int) -> tuple[float, float, float] | None:
        """Median, least, greatest; None where ``n`` was not measured."""
        place = np.flatnonzero(self.n == n)
        return None if not len(place) else (self.median[place[0]], self.low[place[0]], self.high[place[0]])


def _lengths(run: Run, split: str | None, methods: Sequence[str]) -> tuple[str, dict[tuple[str, str], _Lengths]]:
    """The split chosen and, by (metric, method), what was measured on it.

    Raises:
        ConfigError: no milliseconds of both methods, or several splits and ``split`` does not choose.
    """
    points = [p for p in run.curves if p.metric in (MILLISECONDS, MEBIBYTES) and p.method in methods]
    splits = ordered(p.split for p in points)
    if split is None and len(splits) > 1:
        raise ConfigError(f"{run.paper}/{run.experiment} was measured for {splits}; choose one with split=.")
    split = splits[0] if split is None and splits else split
    found: dict[tuple[str, str], _Lengths] = {}
    for metric in (MILLISECONDS, MEBIBYTES):
        for method in methods:
            by_length: dict[int, list[float]] = {}
            for p in points:
                if (p.metric, p.method, p.split) == (metric, method, split):
                    by_length.setdefault(p.step, []).append(p.value)
            if by_length:
                n = sorted(by_length)
                values = [by_length[length] for length in n]
                found[metric, method] = _Lengths(
                    np.array(n),
                    np.array([np.median(v) for v in values]),
                    np.array([min(v) for v in values]),
                    np.array([max(v) for v in values]),
                    max(len(v) for v in values),
                )
    if any((MILLISECONDS, method) not in found for method in methods):
        raise ConfigError(
            f"{run.paper}/{run.experiment} holds no {MILLISECONDS} of {' and '.join(methods)} on {split!r}; "
            f"it holds {splits}. Make them with `{_COMMAND}`."
        )
    return str(split), found


@_of_a_run
def cost_against_length(
    run: Run, *, split: str | None = None, caption: str = "", base: str = BASE, exact: str = EXACT
) -> Plot:
    """Milliseconds of a step (logarithmic) and peak memory against sentence length, the convolution of the map beside
    the exact layer; the speed-up is written at some lengths.

    Args:
        run: the recorded benchmark, or None.
        split: which sizes, where the run holds several.
        base, exact: names of the two methods in the run.

    Raises:
        ConfigError: the run holds no such measurements; several splits and none chosen.
    """
    methods = (base, exact)
    split, found = _lengths(run, split, methods)
    ratios = _ratios(found[MILLISECONDS, base], found[MILLISECONDS, exact])
    panels = [metric for metric in (MILLISECONDS, MEBIBYTES) if any((metric, method) in found for method in methods)]
    titles = {MILLISECONDS: "Time, ms", MEBIBYTES: "Peak memory, MiB"}

    def draw(figure: Figure, palette: Palette) -> None:
        all_axes = np.atleast_1d(figure.subplots(1, len(panels)))
        for axes, metric in zip(all_axes, panels, strict=True):
            for index, method in enumerate(methods):
                if (metric, method) in found:
                    _line(axes, found[metric, method], palette.hues[1 - index], MARKERS[1 - index], method)
            axes.set_title(titles[metric])
            axes.set_xlabel("Words in the sentence, n")
            axes.grid(axis="y")
            axes.margins(x=0.1, y=0.12)
            if metric == MILLISECONDS:
                _logarithmic(axes)
                _speed_up(axes, found[metric, base], found[metric, exact], ratios, palette)
            else:
                axes.set_ylim(bottom=0)
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2, borderaxespad=0.1, handlelength=1.8)

    rounds = max(lengths.rounds for lengths in found.values())
    said = ", ".join(f"{ratio:.1f} times at n = {n}" for n, ratio in _some(ratios))
    how = f"Forward and backward, {split}, {run.provenance.device}. Lines: median of {rounds} rounds; bands: all."
    return render(
        draw,
        size=(WIDTH, 3.1),
        caption=_sentence(caption, how),
        alt=f"Time and memory against sentence length; the {exact} is faster than {base}: {said}.",
    )


def _ratios(base: _Lengths, exact: _Lengths) -> dict[int, float]:
    """Speed-up by length, where both were measured."""
    shared = [int(n) for n in base.n if n in set(exact.n.tolist())]
    return {n: base.at(n)[0] / exact.at(n)[0] for n in shared}  # type: ignore[index]


def _some(ratios: Mapping[int, float]) -> list[tuple[int, float]]:
    """A few lengths spread evenly, the first and the last among them."""
    items = list(ratios.items())
    if len(items) <= _WRITTEN:
        return items
    return [items[round(place)] for place in np.linspace(0, len(items) - 1, _WRITTEN)]


def _line(axes: Axes, lengths: _Lengths, colour: str, marker: str, label: str) -> None:
    axes.fill_between(lengths.n, lengths.low, lengths.high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(lengths.n, lengths.median, color=colour, marker=marker, markersize=4, label=label, zorder=3)


def _speed_up(axes: Axes, base: _Lengths, exact: _Lengths, ratios: Mapping[int, float], palette: Palette) -> None:
    """A thin line from one median to the other; the ratio below, where lines that rise leave room."""
    last = max(ratios, default=0)
    for n, ratio in _some(ratios):
        above, below = base.at(n), exact.at(n)
        if above is None or below is None:
            continue
        axes.plot([n, n], [below[0], above[0]], color=palette.soft, linewidth=0.7, linestyle=(0, (2, 2)), zorder=1)
        axes.annotate(
            f"{numbers.plain(ratio, 1)}{_TIMES}",
            (n, below[0]),
            xytext=(4, -7) if n == last else (3, -4),
            textcoords="offset points",
            ha="right" if n == last else "left",
            va="top",
            fontsize=8.5,
        )


def _logarithmic(axes: Axes) -> None:
    """Plain numbers at 1, 2 and 5 of each power of ten."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", "\u202f")))
    axes.yaxis.set_minor_locator(NullLocator())


def cost_table(
    run: Run | None,
    *,
    split: str | None = None,
    caption: str = "Cost of the layer",
    base: str = BASE,
    exact: str = EXACT,
    command: str = _COMMAND,
) -> Fragment:
    """By sentence length: milliseconds of both methods, how many times as fast the exact layer is, MiB of both.

    Raises:
        ConfigError: the run holds no such measurements; several splits and none chosen.
    """
    if run is None:
        return not_run(command)
    methods = (base, exact)
    split, found = _lengths(run, split, methods)
    ratios = _ratios(found[MILLISECONDS, base], found[MILLISECONDS, exact])
    with_memory = any((MEBIBYTES, method) in found for method in methods)
    rows, records = [], []
    for n in sorted({int(n) for lengths in found.values() for n in lengths.n}):
        record: dict[str, object] = {"n": n}
        cells = []
        for method in methods:
            value = found[MILLISECONDS, method].at(n)
            record[f"{method} ms"] = float("nan") if value is None else value[0]
            spread = "" if value is None or value[1] == value[2] else f"[{_three(value[1])}, {_three(value[2])}]"
            cells.append(Cell(_three(value[0]) if value else "", spread))
        cells.append(Cell(f"{numbers.plain(ratios[n], 1)}{_TIMES}" if n in ratios else "", bold=True))
        record["ratio"] = ratios.get(n, float("nan"))
        for method in methods if with_memory else ():
            value = found[MEBIBYTES, method].at(n) if (MEBIBYTES, method) in found else None
            record[f"{method} MiB"] = float("nan") if value is None else value[0]
            cells.append(Cell(_three(value[0]) if value else ""))
        rows.append(Row(str(n), tuple(cells)))
        records.append(record)
    groups = [("Milliseconds", methods), ("Speed-up", ("",)), *([("MiB", methods)] if with_memory else [])]
    rounds = max(lengths.rounds for lengths in found.values())
    how = f"forward and backward \u00b7 {split} \u00b7 median of {rounds} rounds [least, greatest]"
    return grouped("n", groups, rows, records, run=run, caption=caption, how=how)


def _three(value: float) -> str:
    """Three figures: ``0.152``, ``15.2``, ``152``."""
    return numbers.count(value) if value >= 100 else numbers.plain(value, 1 if value >= 10 else 2 if value >= 1 else 3)


# -- time against dimension ------------------------------------------------------------------------------------------


def dimension_of(method: str) -> int | None:
    """The d of a method's name.

    Example:
        >>> dimension_of("WSV-SCNN-SV d=300 L=1"), dimension_of("ours")
        (300, None)
    """
    found = re.search(r"\bd=(\d+)", method)
    return int(found.group(1)) if found else None


def seconds_of(run: Run | None) -> dict[str, Summary]:
    """Seconds of a training by method: mean and interval over seeds."""
    by_method: dict[str, list[float]] = {}
    for row in run.cost if run is not None else ():
        by_method.setdefault(row.method, []).append(row.seconds)
    return {m: Summary(*centre_and_interval(v), len(v), 0, tuple(v)) for m, v in by_method.items()}


@_of_a_run
def cost_against_dimension(run: Run, reported: pd.DataFrame | None = None, *, caption: str = "") -> Plot:
    """Seconds of a training (logarithmic) against the dimension of the word vectors: ours, and the paper's hollow.

    Args:
        run: its ``cost`` names the dimension in the method, as in ``WSV-SCNN-SV d=300 L=1``; or None.
        reported: the paper's table with ``train_seconds_10ep``.

    Raises:
        ConfigError: no method of the run's cost names a dimension.
    """
    in_paper = {m: v for (m, _), v in printed(reported, "train_seconds_10ep").items()}
    seconds = seconds_of(run)
    # Of several models of a dimension the one that the paper has, else the first.
    first = [m for m in seconds if m in in_paper] + [m for m in seconds if m not in in_paper]
    ours: dict[int, Summary] = {}
    for method in first:
        if (d := dimension_of(method)) is not None:
            ours.setdefault(d, seconds[method])
    paper = {d: v for m, v in in_paper.items() if (d := dimension_of(m)) is not None}
    if not ours:
        held = ordered(row.method for row in run.cost)
        raise ConfigError(f"{run.paper}/{run.experiment} holds no cost of a method with d=...; it holds {held}.")
    ours = dict(sorted(ours.items()))
    paper = dict(sorted(paper.items()))
    shared = [d for d in ours if d in paper]
    faster = all(ours[d].value <= paper[d] for d in shared)

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        colour = palette.hues[0]
        if paper:
            axes.plot(
                list(paper),
                list(paper.values()),
                color=palette.soft,
                linewidth=1.1,
                linestyle=(0, (4, 3)),
                marker=MARKERS[1],
                markersize=5.2,
                markerfacecolor=palette.paper,
                markeredgecolor=palette.soft,
                label="the paper, ten epochs",
            )
        for d, cell in ours.items():
            if cell.low is not None and cell.high is not None and cell.low > 0:
                axes.plot([d, d], [cell.low, cell.high], color=colour, linewidth=1.3)
        axes.plot(
            list(ours), [s.value for s in ours.values()], color=colour, marker=MARKERS[0], markersize=5.2, label="ours"
        )
        for values, own in ((paper, False), ({d: s.value for d, s in ours.items()}, True)):
            for d, value in values.items():
                axes.annotate(
                    f"{numbers.count(value)} s",
                    (d, value),
                    xytext=(0, -9 if own == faster else 9),
                    textcoords="offset points",
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=colour if own else palette.ink,
                )
        _logarithmic(axes)
        axes.margins(x=0.08, y=0.16)
        axes.set_xticks(sorted({*ours, *paper}))
        axes.set_xlabel("Dimension of the word vectors, d")
        axes.set_ylabel("Seconds of a training")
        axes.grid(axis="y")
        figure.legend(loc="outside upper left", ncols=2, borderaxespad=0.1, handlelength=2.2)

    said = ", ".join(f"{numbers.count(cell.value)} at {d}" for d, cell in ours.items())
    how = f"Ours: {interval_words('mean', [cell.seeds for cell in ours.values()])}, on {run.provenance.device}."
    how += " The paper does not name its computer." if paper else ""
    return render(
        draw,
        size=(WIDTH, 3.1),
        caption=_sentence(caption, how),
        alt=f"Seconds of a training against the dimension of the word vectors; ours: {said}.",
    )


# -- tables with two storeys of headings -----------------------------------------------------------------------------


class Cell(NamedTuple):
    """A cell in plain text: the value, what stands small below it, whether it is strong.

    ``row`` is the row of the ledger that it shows (`sentbook.report.marks.row_key`), ``paper`` where it is printed.
    """

    text: str = ""
    around: str = ""
    bold: bool = False
    row: str = ""
    paper: str = ""


class Row(NamedTuple):
    """A row in plain text; ``own`` tints it, ``head`` makes it a heading without cells."""

    label: str
    cells: tuple[Cell, ...] = ()
    own: bool = False
    head: bool = False


def grouped(
    heading: str,
    groups: Sequence[tuple[str, Sequence[str]]],
    rows: Sequence[Row],
    records: Sequence[Mapping[str, object]],
    *,
    run: Run | None = None,
    caption: str = "",
    how: str = "",
    foot: str = "",
    notice: Fragment | None = None,
    just_made: bool = False,
    text: frozenset[int] = frozenset(),
) -> Fragment:
    """A table of plain text, escaped here: column heads in groups, badges of the run above, a remark below.

    Args:
        heading: of the first column.
        groups: (title, column heads); one head that is empty lets the title stand over both storeys.
        records: a row each, the numbers in the units shown.
        notice: stands in place of the badges.
        text: columns of running text (0 is the first after the row's label).
    """
    tall = ' rowspan="2"' if any(list(heads) != [""] for _, heads in groups) else ""
    first = f'<tr><th scope="col"{tall} class="sb-first">{esc(heading)}</th>'
    second, starts, titles = "", set(), [heading]
    for title, heads in groups:
        starts.add(len(titles) - 1)
        titles += [f"{title} {head}".strip() for head in heads]
        if list(heads) == [""]:
            left = " sb-left" if len(titles) - 2 in text else ""
            first += f'<th scope="col"{tall} class="sb-start{left}">{esc(title)}</th>'
            continue
        first += f'<th scope="colgroup" colspan="{len(heads)}" class="sb-start">{esc(title)}</th>'
        second += "".join(
            f'<th scope="col" class="{"" if index else "sb-start"}">{esc(head)}</th>'
            for index, head in enumerate(heads)
        )
    bodies, flat = [""], []
    for row in rows:
        if row.head:
            label = f'<th scope="rowgroup" class="sb-first">{esc(row.label)}</th>'
            bodies.append(f'<tr class="sb-group">{label}<td colspan="{len(titles) - 1}"></td></tr>')
            continue
        cells = f'<th scope="row" class="sb-first">{esc(row.label)}</th>'
        for index, cell in enumerate(row.cells):
            classes = " ".join(
                name for name, holds in (("sb-start", index in starts), ("sb-text", index in text)) if holds
            )
            inner = f'<strong class="sb-best">{esc(cell.text)}</strong>' if cell.bold and cell.text else esc(cell.text)
            around = f'<span class="sb-ci">{esc(cell.around)}</span>' if cell.around else ""
            mark = f' data-row="{cell.row}"' if cell.row else ""
            kind = from_paper(cell.paper, classes) if cell.paper else f' class="{classes}"'
            cells += f"<td{kind}{mark}>{inner}{around}</td>"
        kind = ' class="sb-average"' if row.own else ""
        bodies[-1] += f"<tr{kind}>{cells}</tr>"
        strong = ["**" if cell.bold and cell.text else "" for cell in row.cells]
        flat.append(
            [f"**{row.label}**" if row.own else row.label]
            + [f"{s}{c.text}{s} {c.around}".strip() for s, c in zip(strong, row.cells, strict=True)]
        )
    top = (f"<strong>{esc(caption)}</strong>" if caption else "") + (
        f'<span class="sb-how">{esc(how)}</span>' if how else ""
    )
    above = notice.body if notice else badges(run, just_made=just_made) if run is not None else ""
    body = (
        above
        + table(
            f"{first}</tr>{f'<tr>{second}</tr>' if second else ''}",
            [b for b in bodies if b],
            top,
            label=caption or heading,
        )
        + (f'<p class="sb-foot">{esc(foot)}</p>' if foot else "")
    )
    parts = (
        caption and f"**{caption}**",
        how,
        notice.markdown if notice else _badge_text(run, just_made) if run is not None else "",
        pipes(titles, flat),
        foot,
    )
    markdown = "\n\n".join(part for part in parts if part)
    frame = pd.DataFrame.from_records([dict(record) for record in records])
    return Fragment(body, markdown=markdown, frame=frame, run=run_name(run))


__all__ = [
    "Cell",
    "Row",
    "cost_against_dimension",
    "cost_against_length",
    "cost_table",
    "dimension_of",
    "grouped",
    "seconds_of",
]
