"""All rows of a run, each with its anchor, seed by seed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sentbook.evaluation.predictions import INTERVALS
from sentbook.records import CurvePoint, Metric, Run
from sentbook.report import numbers
from sentbook.report.markup import esc, row_key, scrolling
from sentbook.report.pedigree import row_id
from sentbook.report.summary import centre_and_interval, full_name, group_and_label, ordered

# With more rows than this, a method's rows are folded.
_FOLDED = 40


def rows(run: Run) -> str:
    """Every metric row, a table a method: value by seed with a decimal more than tables print, mean and interval.

    Rows of one metric and protocol stand together. Methods are folded where a run holds many rows.
    """
    by_method: dict[str, list[Metric]] = {}
    for row in run.metrics:
        by_method.setdefault(row.method, []).append(row)
    count = len({(m.method, m.dataset, m.metric, m.protocol) for m in run.metrics})
    parts = []
    for method, found in by_method.items():
        html = _method(found, run.extra.get(INTERVALS, {}), method)
        if count > _FOLDED:
            lines = len({(m.dataset, m.metric, m.protocol) for m in found})
            words = f'{esc(method)} <span class="sb-soft">{lines} row{"" if lines == 1 else "s"}</span>'
            html = f'<details class="sb-rows"><summary>{words}</summary>{html}</details>'
        else:
            html = f'<div class="sb-caption"><strong>{esc(method)}</strong></div>{html}'
        parts.append(html)
    return anchored("".join(parts), run.profile)


def _method(
    found: Sequence[Metric], over_examples: Mapping[str, Mapping[str, Mapping[str, list[float]]]], label: str
) -> str:
    seeds = ordered(row.seed for row in found)
    several = len(seeds) > 1
    inside = any(label in over_examples.get(m.metric, {}).get(m.dataset, {}) for m in found)
    heads = ["Data set", "n", *(["Mean", "95 % over seeds"] if several else [])]
    heads += ["95 % over examples"] * inside
    heads += ["value" if seed is None else f"seed {seed}" for seed in seeds]
    groups: dict[tuple[str, str], dict[str, dict[int | None, Metric]]] = {}
    for row in found:
        groups.setdefault((row.metric, row.protocol), {}).setdefault(row.dataset, {})[row.seed] = row
    bodies = []
    for (metric, protocol), datasets in groups.items():
        places = numbers.digits(metric) + 1
        title = f'{esc(numbers.name(metric))} <span class="sb-soft">{esc(protocol)}</span>'
        body = f'<tr class="sb-group"><th scope="rowgroup" class="sb-left" colspan="{len(heads)}">{title}</th></tr>'
        for dataset, by_seed in datasets.items():
            middle, low, high = centre_and_interval([row.value for row in by_seed.values()])
            cells = [numbers.count(next(iter(by_seed.values())).n)]
            if several:
                cells += [numbers.shown(middle, metric, places=places)]
                cells += [numbers.interval(low, high, metric, places=places)]
            if inside:
                ends = over_examples.get(metric, {}).get(dataset, {}).get(label)
                cells.append(numbers.interval(ends[0], ends[1], metric, places=places) if ends else "")
            cells += [
                numbers.shown(by_seed[seed].value, metric, places=places) if seed in by_seed else "" for seed in seeds
            ]
            body += f'<tr data-row="{row_key(label, dataset, metric)}">'
            body += f'<th scope="row" class="sb-first">{esc(full_name(*group_and_label(dataset)))}</th>'
            body += "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        bodies.append(body)
    head = "".join(
        f'<th scope="col" class="{"sb-first" if index == 0 else ""}">{name}</th>' for index, name in enumerate(heads)
    )
    return scrolling(f"<tr>{head}</tr>", bodies, "", label=label)


def anchored(html: str, profile: str) -> str:
    """``data-row`` marks as anchors; of several of one key the first is it."""
    seen: set[str] = set()

    def anchor(mark: re.Match[str]) -> str:
        if mark[1] in seen or not mark[1]:
            return ""
        seen.add(mark[1])
        return f' id="{esc(row_id(profile, mark[1]))}"'

    return re.sub(r' data-row="([0-9a-f]*)"', anchor, html)


def curve_rows(points: Sequence[CurvePoint]) -> str:
    """Of curves too many for a figure: where each begins, its best and its last value, a row a method and seed."""
    curves: dict[tuple[str, str, str, int], list[CurvePoint]] = {}
    for point in points:
        curves.setdefault((point.method, point.split, point.metric, point.seed), []).append(point)
    body = ""
    for (method, split, metric, seed), found in curves.items():
        found = sorted(found, key=lambda point: point.step)
        pick = min if numbers.lower_is_better(metric) or metric == "loss" else max
        best = pick(found, key=lambda point: point.value)
        cells = [
            esc(split),
            esc(numbers.name(metric)),
            str(seed),
            numbers.count(found[-1].step),
            *(numbers.shown(point.value, metric) for point in (found[0], best, found[-1])),
        ]
        body += f'<tr><th scope="row" class="sb-first">{esc(method)}</th>'
        body += "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    heads = ("Method", "Split", "Metric", "Seed", "Examples seen", "First", "Best", "Last")
    head = "".join(f'<th scope="col" class="{"" if i else "sb-first"}">{name}</th>' for i, name in enumerate(heads))
    return scrolling(f"<tr>{head}</tr>", [body], "", label="Curves")
