"""Tables of Yao et al. 2018: what the exact layer costs, the model by dimension, in rankings, and what systems need."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.markup import Fragment
from sentbook.report.summary import (
    Summary,
    centre_and_interval,
    full_name,
    group_and_label,
    interval_words,
    ordered,
    over_seeds,
    printed,
    where_printed,
)
from sentbook.report.table import TEXT, Cell, Row, Table, not_run
from sentbook.report.view import of_view
from sentbook.system.errors import ConfigError

BASE, EXACT = "conv2d on the map", "exact layer"
MILLISECONDS, MEBIBYTES = "milliseconds", "peak_mebibytes"
TIMES = "\u00d7"
_COMMAND = "make run NOTEBOOK=wsv/exact_layer PROFILE=small"
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


# -- the exact layer against the map ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lengths:
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


def lengths_of(run: Run, split: str | None, methods: Sequence[str]) -> tuple[str, dict[tuple[str, str], Lengths]]:
    """The split chosen and, by (metric, method), what was measured on it.

    Raises:
        ConfigError: no milliseconds of both methods, or several splits and ``split`` does not choose.
    """
    points = [p for p in run.curves if p.metric in (MILLISECONDS, MEBIBYTES) and p.method in methods]
    splits = ordered(p.split for p in points)
    if split is None and len(splits) > 1:
        raise ConfigError(f"{run.paper}/{run.experiment} was measured for {splits}; choose one with split=.")
    split = splits[0] if split is None and splits else split
    found: dict[tuple[str, str], Lengths] = {}
    for metric in (MILLISECONDS, MEBIBYTES):
        for method in methods:
            by_length: dict[int, list[float]] = {}
            for p in points:
                if (p.metric, p.method, p.split) == (metric, method, split):
                    by_length.setdefault(p.step, []).append(p.value)
            if by_length:
                n = sorted(by_length)
                values = [by_length[length] for length in n]
                found[metric, method] = Lengths(
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


def ratios_of(base: Lengths, exact: Lengths) -> dict[int, float]:
    """Speed-up by length, where both were measured."""
    shared = [int(n) for n in base.n if n in set(exact.n.tolist())]
    return {n: base.at(n)[0] / exact.at(n)[0] for n in shared}  # type: ignore[index]


@of_view
def layer_cost(
    run: Run | None,
    *,
    split: str | None = None,
    caption: str = "Cost of the layer",
    base: str = BASE,
    exact: str = EXACT,
    command: str = _COMMAND,
    just_made: bool = False,
    changes: Sequence[str] = (),
) -> Table | Fragment:
    """Show by sentence length: milliseconds of both methods, how many times as fast the exact layer is, MiB of both.

    Raises:
        ConfigError: the run holds no such measurements; several splits and none chosen.
    """
    if run is None:
        return not_run(command)
    methods = (base, exact)
    split, found = lengths_of(run, split, methods)
    ratios = ratios_of(found[MILLISECONDS, base], found[MILLISECONDS, exact])
    memory = [method for method in methods if (MEBIBYTES, method) in found]
    rows = []
    for n in sorted({int(n) for lengths in found.values() for n in lengths.n}):
        cells = []
        for method in methods:
            value = found[MILLISECONDS, method].at(n)
            spread = "" if value is None or value[1] == value[2] else f"[{_three(value[1])}, {_three(value[2])}]"
            cells.append(Cell(_three(value[0]) if value else "", spread))
        cells.append(Cell(f"{numbers.plain(ratios[n], 1)}{TIMES}" if n in ratios else "", best=True))
        for method in methods if memory else ():
            value = found[MEBIBYTES, method].at(n) if method in memory else None
            cells.append(Cell(_three(value[0]) if value else ""))
        rows.append(Row(str(n), cells))
    columns = [*(("Milliseconds", method) for method in methods), ("", "Speed-up")]
    columns += [("MiB", method) for method in methods if memory]
    rounds = max(lengths.rounds for lengths in found.values())
    how = f"forward and backward \u00b7 {split} \u00b7 median of {rounds} rounds [least, greatest]"
    return Table("n", columns, rows, caption, how, run=run, badged=True, just_made=just_made, changes=changes)


def _three(value: float) -> str:
    """Three figures: ``0.152``, ``15.2``, ``152``."""
    return numbers.count(value) if value >= 100 else numbers.plain(value, 1 if value >= 10 else 2 if value >= 1 else 3)


# -- by dimension ----------------------------------------------------------------------------------------------------


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


def summaries_of(
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


@of_view
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
    changes: Sequence[str] = (),
) -> Table:
    """Show a row a dimension of the word vectors: parameters, scores and seconds of a training, the paper's and ours.

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
    ours, protocols = summaries_of(run, metrics, dataset, protocol)
    paper = {metric: {m: v for (m, d), v in printed(reported, metric).items() if d == dataset} for metric in metrics}
    seconds = seconds_of(run)
    in_paper, in_run = (
        [m for m in ordered(m for values in found.values() for m in values) if dimension_of(m) is not None]
        for found in (paper, ours)
    )
    rows = in_run if in_run and not set(in_run) & set(in_paper) else ordered([*in_paper, *in_run])
    rows = sorted(rows, key=lambda method: -(dimension_of(method) or 0))
    where = where_printed(reported)
    columns: list[tuple[str, str]] = []
    cells: dict[str, list[Cell]] = {row: [] for row in rows}

    def add(title: str, theirs: Mapping[str, float], own: Mapping[str, Summary], metric: str, decimals: int) -> None:
        """Add the columns paper and ours where they hold anything; a count has no metric."""

        def shown(value: float) -> str:
            return numbers.shown(value, metric, places=decimals) if metric else numbers.count(value)

        if any(row in theirs for row in rows):
            columns.append((title, "paper"))
            for row in rows:
                cells[row].append(Cell(shown(theirs[row]), paper=where) if row in theirs else Cell(numbers.DASH))
        if any(row in own for row in rows):
            columns.append((title, "ours"))
            for row in rows:
                found = own.get(row)
                half = numbers.half_width(found.low, found.high, metric, places=decimals) if found and metric else ""
                names = (row, dataset, metric) if metric else ("cost", row)
                cells[row].append(Cell(shown(found.value), half, row=names) if found else Cell())

    def counts_in_paper(metric: str) -> dict[str, float]:
        return {method: value for (method, _), value in printed(reported, metric).items()}

    if parameters:
        counts = {row.method: float(row.parameters) for row in run.cost} if run is not None else {}
        whole = {m: Summary(v, None, None, 1, 0, (v,)) for m, v in counts.items()}
        add("Parameters", counts_in_paper("trainable_params"), whole, "", 0)
    for metric in metrics:
        decimals = _decimals(metric, _TABLE_PLACES, places)
        add(numbers.short(metric), paper[metric], ours[metric], metric, decimals)
    add("Seconds", counts_in_paper("train_seconds_10ep"), seconds, "", 0)
    how = [full_name(*group_and_label(dataset)), *protocols]
    seeds = [summary.seeds for values in ours.values() for m, summary in values.items() if m in rows]
    how += [interval_words("mean", seeds).replace("[95 % t-interval]", "\u00b1 95 % t-interval")] if seeds else []
    foot = "Parameters without the word vectors." if parameters else ""
    if run is not None and any(row in seconds for row in rows):
        foot += f" Seconds of one training, ours on {run.provenance.device}"
        foot += "; the paper\u2019s, on its own computer, are of ten epochs." if reported is not None else "."
    return Table(
        "Dimension",
        columns,
        [Row(_dimension_words(row, rows), cells[row]) for row in rows],
        caption,
        " \u00b7 ".join(how),
        foot.strip(),
        run=run,
        badged=True,
        just_made=just_made,
        notice=not_run(command) if run is None else None,
        changes=changes,
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


class System(NamedTuple):
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


def systems_of(
    reported: pd.DataFrame | None,
    cells: Mapping[str, Mapping[str, Summary]],
    ours: Sequence[str],
    dataset: str,
    metrics: Sequence[str],
) -> list[System]:
    """Printed systems and ours, the best first; those without the first metric last."""
    notes: dict[str, list[str]] = {}
    frame = reported if reported is not None else pd.DataFrame()
    if "note" in frame.columns:
        chosen = frame[(frame["dataset"] == dataset) & frame["metric"].isin(list(metrics)) & frame["note"].notna()]
        for method, note in zip(chosen["method"], chosen["note"], strict=True):
            notes.setdefault(str(method), []).append(str(note))
    paper = {metric: {m: v for (m, d), v in printed(reported, metric).items() if d == dataset} for metric in metrics}
    found = []
    for method in ordered(m for values in paper.values() for m in values):
        name = _NAMES.get(method, method) + (", paper" if method in ours else "")
        values = {metric: paper[metric][method] for metric in metrics if method in paper[metric]}
        found.append(System(method, name, False, values, {}, "; ".join(ordered(notes.get(method, [])))))
    for method in ours:
        summaries = {metric: cells[metric][method] for metric in metrics if method in cells[metric]}
        if summaries:
            values = {metric: summary.value for metric, summary in summaries.items()}
            seeds = max(summary.seeds for summary in summaries.values())
            note = f"this run, {seeds} seed{'' if seeds == 1 else 's'}"
            found.append(System(method, f"{_NAMES.get(method, method)}, ours", True, values, summaries, note))
    return sorted(found, key=lambda system: _order(system, metrics))


def _order(system: System, metrics: Sequence[str]) -> list[float]:
    """Smaller is better, whichever way the metric runs."""
    return [
        (system.values[m] if numbers.lower_is_better(m) else -system.values[m]) if m in system.values else math.inf
        for m in metrics
    ]


def _place(system: System, systems: Sequence[System], metric: str, ours: Sequence[str]) -> tuple[int, int]:
    """The place of one of ours among the other printed systems, and how many there are with it."""
    others = [other for other in systems if not other.own and other.method not in ours and metric in other.values]
    better = sum(_order(other, [metric]) < _order(system, [metric]) for other in others)
    return better + 1, len(others) + 1


@of_view
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
    changes: Sequence[str] = (),
) -> Table:
    """Sort printed systems and our methods by the first metric; ours tinted, with the interval over seeds.

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
    found, protocols = summaries_of(run, metrics, dataset, protocol)
    systems = systems_of(reported, found, ours, dataset, metrics)
    with_notes = any(system.note for system in systems)
    where = where_printed(reported)
    rows = []
    for system in systems:
        cells = []
        for metric in metrics:
            decimals = _decimals(metric, _RANKING_PLACES, places)
            value, summary = system.values.get(metric), system.summaries.get(metric)
            text = numbers.shown(value, metric, places=decimals)
            if summary is not None:
                around = numbers.interval(summary.low, summary.high, metric, places=decimals)
                cells.append(Cell(text, around, row=(system.method, dataset, metric)))
            elif value is None:
                cells.append(Cell(text))
            else:
                cells.append(Cell(text, "derived" if system.derived else "", paper=system.note or where))
        cells += [Cell(system.note, paper="" if system.own else where)] if with_notes else []
        rows.append(Row(system.name, cells, own=system.own))
    how = [full_name(*group_and_label(dataset)), *protocols, f"sorted by {_in_a_sentence(metrics[0])}"]
    seeds = [summary.seeds for system in systems for summary in system.summaries.values()]
    how += [interval_words("mean", seeds)] if seeds else []
    return Table(
        "System",
        [*(numbers.short(metric) for metric in metrics), *(["Source"] if with_notes else [])],
        rows,
        caption,
        " \u00b7 ".join(how),
        places_words(systems, metrics, ours),
        run=run,
        badged=True,
        just_made=just_made,
        notice=not_run(command) if run is None else None,
        kinds={len(metrics): TEXT} if with_notes else {},
        changes=changes,
    )


def places_words(systems: Sequence[System], metrics: Sequence[str], ours: Sequence[str]) -> str:
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


# -- what systems need -----------------------------------------------------------------------------------------------


def resources(reported: pd.DataFrame, *, caption: str = "Methods and resources") -> Table:
    """Show table 1, a column a system: which learners and which resources beside the training pairs it uses.

    Args:
        reported: method the system, dataset the resource, value 1 where used: `summary.reported("wsv", "table1")`.
    """
    uses = printed(reported, "uses")
    systems, things = ordered(system for system, _ in uses), ordered(thing for _, thing in uses)
    rows, totals = [], dict.fromkeys(systems, 0)
    for title, external in (("Learning methods", False), ("External resources", True)):
        members = [t for t in things if (t in _EXTERNAL or t.startswith("STS_")) == external]
        rows += [Row(title, head=True)] if members else []
        for thing in members:
            used = {system: uses.get((system, thing), 0.0) > 0 for system in systems}
            totals = {system: total + used[system] for system, total in totals.items()}
            name = _RESOURCES.get(thing, thing.replace("_", " "))
            rows.append(Row(name, [_YES if used[system] else "" for system in systems]))
    where = where_printed(reported)
    rows.append(Row("Number", [Cell(str(total), paper=where) for total in totals.values()], own=True))
    foot = ""
    if any(thing.startswith("STS_") for thing in things):
        foot = "The last row joins two: the STS MSR-Video sentences (Illinois-LH) and word vectors (this work)."
    return Table("Uses", systems, rows, caption, foot=foot)
