"""All rows of a run, each with its anchor, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence

from sentbook.records import CurvePoint, Metric, Run
from sentbook.report_old import numbers, templates
from sentbook.report_old.markup import Html, esc
from sentbook.report_old.summary import full_name, group_and_label, mean_and_interval, ordered, over_examples
from sentbook.report_old.table import Row, Table

# With more rows than this, a method's rows are folded.
_FOLDED = 40


def rows(run: Run) -> str:
    """Every metric row, a table a method: value by seed with a decimal more than tables print, mean and interval.

    Rows of one metric and protocol stand together. Methods are folded where a run holds many rows.
    """
    by_method: dict[str, list[Metric]] = {}
    for row in run.metrics:
        by_method.setdefault(row.method, []).append(row)
    lines = {name: len({(m.dataset, m.metric, m.protocol) for m in found}) for name, found in by_method.items()}
    return templates.html(
        "rows",
        methods=[(name, lines[name], _method(run, name, found)) for name, found in by_method.items()],
        folded=sum(lines.values()) > _FOLDED,
    )


def _method(run: Run, method: str, found: Sequence[Metric]) -> Html:
    ends = over_examples(run)
    seeds = ordered(row.seed for row in found)
    several, inside = len(seeds) > 1, any((method, row.dataset, row.metric, row.protocol) in ends for row in found)
    groups: dict[tuple[str, str], dict[str, dict[int | None, Metric]]] = {}
    for row in found:
        groups.setdefault((row.metric, row.protocol), {}).setdefault(row.dataset, {})[row.seed] = row
    lines = []
    for (metric, protocol), datasets in groups.items():
        places = numbers.digits(metric) + 1
        title = f'{esc(numbers.name(metric))} <span class="sb-soft">{esc(protocol)}</span>'
        lines.append(Row(Html(title), head=True, wide=True))
        for dataset, by_seed in datasets.items():
            middle, low, high = mean_and_interval([row.value for row in by_seed.values()])
            cells = [numbers.count(next(iter(by_seed.values())).n)]
            if several:
                cells += [
                    numbers.shown(middle, metric, places=places),
                    numbers.interval(low, high, metric, places=places),
                ]
            if inside:
                low, high = ends.get((method, dataset, metric, protocol), (None, None))
                cells.append(numbers.interval(low, high, metric, places=places))
            cells += [numbers.shown(by_seed[s].value, metric, places=places) if s in by_seed else "" for s in seeds]
            name = full_name(*group_and_label(dataset))
            lines.append(Row(name, cells, row=(method, dataset, metric)))
    heads = ["n", *(["Mean", "95 % over seeds"] if several else []), *["95 % over examples"] * inside]
    heads += ["value" if seed is None else f"seed {seed}" for seed in seeds]
    return Html(Table("Data set", heads, lines, label=method, anchors=run.profile).body)


def curve_rows(points: Sequence[CurvePoint]) -> Table:
    """Of curves too many for a figure: where each begins, its best and its last value, a row a method and seed."""
    curves: dict[tuple[str, str, str, int], list[CurvePoint]] = {}
    for point in points:
        curves.setdefault((point.method, point.split, point.metric, point.seed), []).append(point)
    lines = []
    for (method, split, metric, seed), found in curves.items():
        values = [point.value for point in sorted(found, key=lambda point: point.step)]
        best = (min if numbers.lower_is_better(metric) else max)(values)
        shown = [numbers.shown(value, metric) for value in (values[0], best, values[-1])]
        examples = numbers.count(max(point.step for point in found))
        lines.append(Row(method, [split, numbers.name(metric), str(seed), examples, *shown]))
    heads = ["Split", "Metric", "Seed", "Examples seen", "First", "Best", "Last"]
    return Table("Method", heads, lines, label="Curves")
