"""A model among other systems: by dimension, in a ranking, and by what each system needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.cost import Cell, Row, dimension_of, grouped, seconds_of
from sentbook.report.figures import WIDTH, _of_a_run, _sentence
from sentbook.report.marks import row_key
from sentbook.report.markup import Fragment
from sentbook.report.style import MARKERS, Palette
from sentbook.report.summary import (
    Summary,
    full_name,
    group_and_label,
    interval_words,
    on_scale,
    ordered,
    over_seeds,
    printed,
    where_printed,
)
from sentbook.report.svg import Plot, render
from sentbook.report.tables import not_run
from sentbook.system.errors import ConfigError

SICK = "SICK2014-test"
# Table 2 is printed with four decimals, most systems of the ranking with three.
_TABLE_PLACES = {"pearson": 2, "spearman": 2, "mse": 4}
_RANKING_PLACES = {"mse": 3}
_NAMES = {"ours": "WSV-SCNN-SV"}
_RESOURCES = {
    "SVM_kernel": "SVM and kernel methods",
    "kNN": "k nearest neighbours",
    "classifier_combination": "Combination of classifiers",
    "random_forest": "Random forest",
    "CNN": "Convolutional network",
    "other_learner": "Another learner",
    "WordNet": "WordNet",
    "Paraphrases_DB": "Paraphrase database",
    "other_corpora": "Other corpora",
    "ImageFlicker": "ImageFlicker",
    "STS_MSRvid_or_word_embeddings(last printed col)": "STS MSR-Video or word vectors",
}
_EXTERNAL = frozenset({"WordNet", "Paraphrases_DB", "other_corpora", "ImageFlicker"})
_YES = "\u2713"


def _protocols(run: Run, wanted: object) -> list[str] | None:
    """The run's protocols that ``wanted`` names, in full or by a part such as ``after 10 epochs``; None: all.

    Raises:
        ConfigError: none.
    """
    if wanted is None:
        return None
    held = ordered(row.protocol for row in run.metrics)
    found = [p for p in held if p == str(wanted)] or [p for p in held if str(wanted) in p]
    if not found:
        raise ConfigError(f"{run.paper}/{run.experiment} holds no protocol {str(wanted)!r}; it holds {held}.")
    return found


def _ours(
    run: Run | None, metrics: Sequence[str], dataset: str, protocol: object
) -> tuple[dict[str, dict[str, Summary]], list[str]]:
    """Metric -> method -> summary on ``dataset``, and the protocols met."""
    cells: dict[str, dict[str, Summary]] = {metric: {} for metric in metrics}
    met: list[str] = []
    if run is not None:
        chosen = _protocols(run, protocol)
        rows = [row for row in run.metrics if row.dataset == dataset]
        part = run.model_copy(update={"metrics": rows})
        for metric in metrics:
            found, protocols = over_seeds(part, metric, protocol=chosen)
            cells[metric] = {method: summary for (method, _), summary in found.items()}
            met += protocols
    return cells, ordered(met)


def _decimals(metric: str, defaults: Mapping[str, int], places: Mapping[str, int] | None) -> int:
    return {**defaults, **(places or {})}.get(metric, numbers.digits(metric))


# -- by dimension ----------------------------------------------------------------------------------------------------


def dimensions(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    dataset: str = SICK,
    metrics: Sequence[str] = ("pearson", "spearman", "mse"),
    protocol: object = None,
    places: Mapping[str, int] | None = None,
    parameters: bool = True,
    caption: str = "",
    just_made: bool = False,
    command: str = "make run NOTEBOOK=wsv/table2 PROFILE=small",
) -> Fragment:
    """A row a dimension of the word vectors: parameters, scores and seconds of a training, the paper's and ours.

    Columns without any value are left out. Ours: the mean over seeds, scores with the half-width of their interval.

    Args:
        run: methods as ``WSV-SCNN-SV d=300 L=1``; parameters and seconds come from its ``cost``. None: the paper alone.
        reported: the paper's table 2.
        protocol: in full or a part of it, such as ``after 10 epochs``, where the run holds several for a cell.
        places: metric -> decimals.
        parameters: whether they are columns here; see `parameter_counts`.

    Raises:
        ConfigError: a cell was scored under two protocols and ``protocol`` does not choose, or it names none.
    """
    ours, protocols = _ours(run, metrics, dataset, protocol)
    paper = {metric: {m: v for (m, d), v in printed(reported, metric).items() if d == dataset} for metric in metrics}
    paper_seconds = {m: v for (m, _), v in printed(reported, "train_seconds_10ep").items()}
    paper_counts = {m: v for (m, _), v in printed(reported, "trainable_params").items()}
    seconds = seconds_of(run)
    counts = {row.method: float(row.parameters) for row in run.cost} if run is not None else {}
    in_paper = [m for m in ordered(m for values in paper.values() for m in values) if dimension_of(m) is not None]
    in_run = [m for m in ordered(m for values in ours.values() for m in values) if dimension_of(m) is not None]
    rows = in_run if in_run and not set(in_run) & set(in_paper) else ordered([*in_paper, *in_run])
    rows = sorted(rows, key=lambda method: -(dimension_of(method) or 0))

    where = where_printed(reported)
    groups: list[tuple[str, tuple[str, ...]]] = []
    cells: dict[str, list[Cell]] = {row: [] for row in rows}
    records: dict[str, dict[str, object]] = {row: {"method": row, "dimension": dimension_of(row)} for row in rows}

    def both(title: str, theirs: Mapping[str, float], own: Mapping[str, Summary], show: _Show) -> None:
        """Add the group's columns where they hold anything."""
        columns = [("paper", any(row in theirs for row in rows)), ("ours", any(row in own for row in rows))]
        heads = tuple(head for head, filled in columns if filled)
        if not heads:
            return
        groups.append((title, heads))
        for row in rows:
            for head in heads:
                if head == "paper":
                    value, around = theirs.get(row), ""
                else:
                    summary = own.get(row)
                    value, around = (None, "") if summary is None else (summary.value, show.half(summary))
                    if show.interval:
                        low, high = (None, None) if summary is None else (summary.low, summary.high)
                        records[row][f"{title} low"] = math.nan if low is None else low * show.factor
                        records[row][f"{title} high"] = math.nan if high is None else high * show.factor
                records[row][f"{title} {head}"] = math.nan if value is None else value * show.factor
                missing = numbers.DASH if head == "paper" else ""
                text = missing if value is None else show.text(value)
                if head == "paper":
                    cells[row].append(Cell(text, around, paper=where if value is not None else ""))
                else:
                    names = (row, dataset, show.metric) if show.interval else ("cost", row)
                    cells[row].append(Cell(text, around, row=row_key(*names) if value is not None else ""))

    whole = {m: Summary(v, None, None, 1, 0, (v,)) for m, v in counts.items()}
    if parameters:
        both("Parameters", paper_counts, whole, _Show("count", 0))
    for metric in metrics:
        both(
            numbers.short(metric), paper[metric], ours[metric], _Show(metric, _decimals(metric, _TABLE_PLACES, places))
        )
    both("Seconds", paper_seconds, seconds, _Show("count", 0))
    parts = [full_name(*group_and_label(dataset)), *protocols]
    seeds = [summary.seeds for values in ours.values() for m, summary in values.items() if m in rows]
    parts += [interval_words("mean", seeds).replace("[95 % t-interval]", "\u00b1 95 % t-interval")] if seeds else []
    foot = "Parameters without the word vectors." if parameters else ""
    if run is not None and any(row in seconds for row in rows):
        foot += f" Seconds of one training, ours on {run.provenance.device}"
        foot += "; the paper\u2019s, on its own computer, are of ten epochs." if paper_seconds else "."
    return grouped(
        "Dimension",
        groups,
        [Row(_dimension_words(row, rows), tuple(cells[row])) for row in rows],
        [records[row] for row in rows],
        run=run,
        caption=caption,
        how=" \u00b7 ".join(parts),
        foot=foot,
        notice=not_run(command) if run is None else None,
        just_made=just_made,
    )


def parameter_counts(run: Run | None, reported: pd.DataFrame | None = None) -> pd.DataFrame:
    """Trained numbers by method: as the paper counts them, and with the word vectors that a training moved.

    Args:
        run: its ``extra`` holds the moved words of each method under ``fine-tuned words``; or None.
        reported: the paper's table 2.
    """
    paper = {method: value for (method, _), value in printed(reported, "trainable_params").items()}
    ours = {row.method: row.parameters for row in run.cost} if run is not None else {}
    moved = run.extra.get("fine-tuned words", {}) if run is not None else {}
    return pd.DataFrame(
        [
            {
                "dimension": _dimension_words(method, list(ours)),
                "paper": numbers.count(paper[method]) if method in paper else "-",
                "ours": numbers.count(count),
                "words moved": numbers.count(moved[method]),
                "in all": numbers.count(count + moved[method] * (dimension_of(method) or 0)),
            }
            for method, count in ours.items()
            if method in moved
        ]
    )


class _Show(NamedTuple):
    """How a column prints its values: a metric in its unit, or ``count``."""

    metric: str
    places: int

    @property
    def interval(self) -> bool:
        return self.metric != "count"

    @property
    def factor(self) -> float:
        return numbers.factor(self.metric) if self.interval else 1.0

    def text(self, value: float) -> str:
        return numbers.shown(value, self.metric, places=self.places) if self.interval else numbers.count(value)

    def around(self, summary: Summary) -> str:
        return numbers.interval(summary.low, summary.high, self.metric, places=self.places) if self.interval else ""

    def half(self, summary: Summary) -> str:
        return numbers.half_width(summary.low, summary.high, self.metric, places=self.places) if self.interval else ""


def _dimension_words(method: str, methods: Sequence[str]) -> str:
    """The dimension, and what else tells methods of the same dimension apart.

    Example:
        >>> several = ["WSV-SCNN-SV d=50 L=1", "WSV-SCNN-SV d=50 L=1, 40 epochs", "WSV-SCNN-SV d=50 L=2"]
        >>> [_dimension_words(method, several) for method in several]
        ['50', '50, 40 epochs', 'WSV-SCNN-SV d=50 L=2']
    """
    name, _, note = method.partition(", ")
    others = {other.partition(", ")[0] for other in methods if dimension_of(other) == dimension_of(method)}
    if len(others) > 1 and name != min(others):  # not told apart by their notes alone
        return method
    return f"{dimension_of(method)}{note and f', {note}'}"


# -- a ranking -------------------------------------------------------------------------------------------------------


class _System(NamedTuple):
    """A row of the ranking; ``own`` where the values are ours, ``derived`` where the paper does not print them."""

    method: str
    name: str
    own: bool
    values: dict[str, float]
    summaries: dict[str, Summary]
    note: str

    @property
    def derived(self) -> bool:
        return self.note.startswith("derived")


def _systems(
    reported: pd.DataFrame | None,
    cells: Mapping[str, Mapping[str, Summary]],
    ours: Sequence[str],
    dataset: str,
    metrics: Sequence[str],
) -> list[_System]:
    """Printed systems and ours, the best first; those without the first metric last."""
    notes: dict[str, list[str]] = {}
    frame = on_scale(reported) if reported is not None and len(reported) else pd.DataFrame()
    if "note" in frame.columns:
        chosen = frame[(frame["dataset"] == dataset) & frame["metric"].isin(list(metrics)) & frame["note"].notna()]
        for method, note in zip(chosen["method"], chosen["note"], strict=True):
            notes.setdefault(str(method), []).append(str(note))
    paper = {metric: {m: v for (m, d), v in printed(reported, metric).items() if d == dataset} for metric in metrics}
    found = []
    for method in ordered(m for values in paper.values() for m in values):
        name = _NAMES.get(method, method) + (", paper" if method in ours else "")
        values = {metric: paper[metric][method] for metric in metrics if method in paper[metric]}
        found.append(_System(method, name, False, values, {}, "; ".join(ordered(notes.get(method, [])))))
    for method in ours:
        summaries = {metric: cells[metric][method] for metric in metrics if method in cells[metric]}
        if summaries:
            values = {metric: summary.value for metric, summary in summaries.items()}
            seeds = max(summary.seeds for summary in summaries.values())
            note = f"this run, {seeds} seed{'' if seeds == 1 else 's'}"
            found.append(_System(method, f"{_NAMES.get(method, method)}, ours", True, values, summaries, note))
    return sorted(found, key=lambda system: _order(system, metrics))


def _order(system: _System, metrics: Sequence[str]) -> list[float]:
    """Smaller is better, whichever way the metric runs."""
    return [
        (system.values[m] if numbers.lower_is_better(m) else -system.values[m]) if m in system.values else math.inf
        for m in metrics
    ]


def _place(system: _System, systems: Sequence[_System], metric: str, ours: Sequence[str]) -> tuple[int, int]:
    """The place of one of ours among the other printed systems, and how many there are with it."""
    others = [other for other in systems if not other.own and other.method not in ours and metric in other.values]
    better = sum(_order(other, [metric]) < _order(system, [metric]) for other in others)
    return better + 1, len(others) + 1


def ranking(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    ours: Sequence[str],
    dataset: str,
    metrics: Sequence[str],
    protocol: object = None,
    places: Mapping[str, int] | None = None,
    caption: str = "",
    just_made: bool = False,
    command: str = "make run NOTEBOOK=wsv/figure5 PROFILE=small",
) -> Fragment:
    """Printed systems and our methods, sorted by the first metric; ours tinted, with the interval over seeds.

    Args:
        run: None: the printed systems alone.
        reported: columns method, dataset, metric, value, and possibly ``note``: the source; one that begins with
            ``derived`` marks a value that the paper does not print.
        ours: our methods; a printed system of the same name is the paper's value of it.
        dataset, metrics: the test set and the columns, the first of which sorts.
        protocol: in full or a part of it, such as ``after 10 epochs``, where the run holds several for a cell.
        places: metric -> decimals.

    Raises:
        ConfigError: a cell was scored under two protocols and ``protocol`` does not choose, or it names none.
    """
    cells, protocols = _ours(run, metrics, dataset, protocol)
    systems = _systems(reported, cells, ours, dataset, metrics)
    with_notes = any(system.note for system in systems)
    where = where_printed(reported)
    rows, records = [], []
    for system in systems:
        record: dict[str, object] = {"system": system.name, "method": system.method, "ours": system.own}
        line = []
        for metric in metrics:
            show = _Show(metric, _decimals(metric, _RANKING_PLACES, places))
            value, summary = system.values.get(metric), system.summaries.get(metric)
            around = show.around(summary) if summary else "derived" if system.derived and value is not None else ""
            text = numbers.DASH if value is None else show.text(value)
            if system.own:
                line.append(Cell(text, around, row=row_key(system.method, dataset, metric)))
            else:
                line.append(Cell(text, around, paper=(system.note or where) if value is not None else ""))
            record[metric] = math.nan if value is None else value * show.factor
            for end in ("low", "high"):
                bound = getattr(summary, end) if summary else None
                record[f"{metric} {end}"] = math.nan if bound is None else bound * show.factor
        line += [Cell(system.note, paper="" if system.own else where)] if with_notes else []
        record["note"] = system.note
        rows.append(Row(system.name, tuple(line), own=system.own))
        records.append(record)
    groups: list[tuple[str, tuple[str, ...]]] = [(numbers.short(metric), ("",)) for metric in metrics]
    groups += [("Source", ("",))] if with_notes else []
    parts = [full_name(*group_and_label(dataset)), *protocols, f"sorted by {_in_a_sentence(metrics[0])}"]
    seeds = [summary.seeds for system in systems for summary in system.summaries.values()]
    parts += [interval_words("mean", seeds)] if seeds else []
    return grouped(
        "System",
        groups,
        rows,
        records,
        run=run,
        caption=caption,
        how=" \u00b7 ".join(parts),
        foot=_places_words(systems, metrics, ours),
        notice=not_run(command) if run is None else None,
        just_made=just_made,
        text=frozenset({len(metrics)}) if with_notes else frozenset(),
    )


def _places_words(systems: Sequence[_System], metrics: Sequence[str], ours: Sequence[str]) -> str:
    """Where each of ours stands among the others, by each metric."""
    lines = []
    for system in systems:
        if system.own:
            places = {metric: _place(system, systems, metric, ours) for metric in metrics if metric in system.values}
            if any(size > 1 for _, size in places.values()):
                said = ", ".join(
                    f"{place} of {size} by {_in_a_sentence(metric)}" for metric, (place, size) in places.items()
                )
                lines.append(f"{system.name}: place {said}.")
    return " ".join(lines)


def _in_a_sentence(metric: str) -> str:
    """The metric's name, small unless it begins with a person's name or a letter that stands for itself."""
    name = numbers.name(metric, unit=False)
    return name if name.startswith(("Pearson", "Spearman", "F1")) else name[:1].lower() + name[1:]


@_of_a_run
def ranking_bars(
    run: Run,
    reported: pd.DataFrame | None = None,
    *,
    ours: Sequence[str],
    dataset: str,
    metrics: Sequence[str],
    protocol: object = None,
    caption: str = "",
) -> Plot:
    """The ranking as dots, a panel a metric: ours filled with the interval over seeds, printed systems hollow.

    Args: as `ranking`.

    Raises:
        ConfigError: the run holds none of ``ours``; otherwise as `ranking`.
    """
    cells, _ = _ours(run, metrics, dataset, protocol)
    systems = _systems(reported, cells, ours, dataset, metrics)
    if not any(system.own for system in systems):
        raise ConfigError(f"{run.paper}/{run.experiment} holds no {metrics[0]} of {' or '.join(ours)} on {dataset}.")
    derived = any(system.derived for system in systems)

    def draw(figure: Figure, palette: Palette) -> None:
        all_axes = np.atleast_1d(figure.subplots(1, len(metrics), sharey=True))
        for axes, metric in zip(all_axes, metrics, strict=True):
            scale = numbers.factor(metric)
            for y, system in enumerate(systems):
                if system.own:
                    axes.axhspan(y - 0.5, y + 0.5, color=palette.faint, alpha=0.35, linewidth=0, zorder=0)
                if metric not in system.values:
                    continue
                colour = palette.hues[0] if system.own else palette.hues[1] if system.method in ours else palette.soft
                summary = system.summaries.get(metric)
                if summary is not None and summary.low is not None and summary.high is not None:
                    axes.plot([summary.low * scale, summary.high * scale], [y, y], color=colour, linewidth=1.6)
                axes.plot(
                    [system.values[metric] * scale],
                    [y],
                    linestyle="none",
                    marker=MARKERS[2] if system.derived else MARKERS[0],
                    markersize=5.4,
                    color=colour,
                    markerfacecolor=colour if system.own else "none",
                    markeredgewidth=1.2,
                )
            axes.set_xlabel(numbers.name(metric) + ("\n(lower is better)" if numbers.lower_is_better(metric) else ""))
            axes.grid(axis="x")
            axes.margins(x=0.1)
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        first = all_axes[0]
        first.set_ylim(len(systems) - 0.4, -0.6)
        first.set_yticks(range(len(systems)), [system.name for system in systems])
        for tick, system in zip(first.get_yticklabels(), systems, strict=True):
            tick.set_fontweight("bold" if system.own else "normal")

    seeds = [summary.seeds for system in systems for summary in system.summaries.values()]
    how = f"Filled: ours, {interval_words('mean', seeds)}."
    how += " Hollow: as printed." if any(not system.own for system in systems) else ""
    how += " Diamond: derived from what is printed." if derived else ""
    return render(
        draw,
        size=(WIDTH, 0.85 + 0.25 * len(systems)),
        caption=_sentence(caption, how),
        alt=f"Systems by {numbers.name(metrics[0])}. {_places_words(systems, metrics, ours)}".strip(),
    )


# -- what systems need -----------------------------------------------------------------------------------------------


def resources(reported: pd.DataFrame, *, caption: str = "Methods and resources") -> Fragment:
    """The paper's table 1, a column a system: which learners and which resources beside the training pairs it uses.

    Args:
        reported: method the system, dataset the resource, value 1 where used: `summary.reported("wsv", "table1")`.
    """
    uses = printed(reported, "uses")
    systems = ordered(system for system, _ in uses)
    things = ordered(thing for _, thing in uses)
    rows, records = [], []
    for title, external in (("Learning methods", False), ("External resources", True)):
        members = [t for t in things if (t in _EXTERNAL or t.startswith("STS_")) == external]
        rows += [Row(title, head=True)] if members else []
        for thing in members:
            used = {system: uses.get((system, thing), 0.0) > 0 for system in systems}
            name = _RESOURCES.get(thing, thing.replace("_", " "))
            rows.append(Row(name, tuple(Cell(_YES if used[system] else "") for system in systems)))
            records.append({"resource": name, "kind": title.lower(), **used})
    totals = [sum(bool(record[system]) for record in records) for system in systems]
    rows.append(Row("Number", tuple(Cell(str(total), paper=where_printed(reported)) for total in totals), own=True))
    foot = ""
    if any(thing.startswith("STS_") for thing in things):
        foot = "The last row joins two: the STS MSR-Video sentences (Illinois-LH) and word vectors (this work)."
    groups = [(system, ("",)) for system in systems]
    return grouped("Uses", groups, rows, records, caption=caption, foot=foot)


__all__ = ["dimensions", "ranking", "ranking_bars", "resources"]
