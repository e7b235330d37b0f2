"""The model among the systems of a shared task: figures 5 and 7 of Yao et al. 2018."""

from collections.abc import Sequence

import pandas as pd

from sentbook.evaluation.statistics import seed_interval
from sentbook.judge.evidence import lower_is_better
from sentbook.records import Run
from sentbook.report import Shown, colour, figure, numbers, subplots, table
from sentbook.report.figures import GREY
from sentbook.report.summary import Values


def systems(
    paper: pd.DataFrame,
    run: Run | None,
    *,
    ours: Sequence[str],
    dataset: str,
    metrics: Sequence[str],
    protocol: str | None = None,
) -> pd.DataFrame:
    """Return the printed systems and ours, sorted by the first metric, the best first.

    Args:
        paper: the printed numbers, with a column ``note``: the source of a value.
        ours: our methods; a printed system of the same name is the paper's value of it.
        protocol: words of one protocol, where the run has several.

    Returns:
        Columns system, ours, source, and by metric its value, low and high (95 % over seeds; printed: empty).
    """
    rows = []
    held = paper[(paper["dataset"] == dataset) & paper["metric"].isin(list(metrics))]
    for name, part in held.groupby("method", sort=False):
        label = f"{_name(str(name))}, as printed" if name in ours else name
        row = {"system": label, "ours": False, "source": part["note"].iloc[0]}
        rows.append(row | dict(zip(part["metric"], part["value"], strict=True)))
    measured = Values.measured(run, protocol)
    for method in ours:
        row = {"system": _name(method), "ours": True, "source": "our run"}
        for metric in metrics:
            if seeds := measured.at(method, dataset, metric):
                found = seed_interval(seeds)
                row |= {metric: found.estimate, f"{metric} low": found.low, f"{metric} high": found.high}
        rows += [row] if len(row) > 3 else []
    columns = ["system", "ours", "source", *(f"{m}{end}" for m in metrics for end in ("", " low", " high"))]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values(metrics[0], ascending=lower_is_better(metrics[0]), ignore_index=True)


def _name(method: str) -> str:
    return "WSV-SCNN-SV" if method == "ours" else method


def ranking(frame: pd.DataFrame, metrics: Sequence[str], caption: str) -> Shown:
    """Show the systems as a table, ours with the interval over seeds."""
    shown = pd.DataFrame({"System": frame["system"]})
    for metric in metrics:
        columns = zip(frame[metric], frame[f"{metric} low"], frame[f"{metric} high"], strict=True)
        ends = [(numbers.shown(value, metric), numbers.interval(low, high, metric)) for value, low, high in columns]
        shown[numbers.name(metric, short=True)] = [" ".join(filter(None, pair)) for pair in ends]
    return table(shown.assign(Source=frame["source"]), caption=caption, note="In brackets: 95 % over seeds.")


def dots(frame: pd.DataFrame, metrics: Sequence[str], caption: str) -> Shown:
    """Draw the systems, a panel per metric: ours filled with the interval over seeds, printed ones hollow."""
    fig, panels = subplots(0.9 + 0.27 * len(frame), 1, len(metrics), sharey=True, squeeze=False)
    ink, own = colour("ours", ["ours"]), frame[frame["ours"]]
    for axes, metric in zip(panels[0], metrics, strict=True):
        scale = numbers.factor(metric)
        axes.plot(frame[metric] * scale, frame.index, "o", ms=6, mfc="white", mec=GREY)
        axes.plot(own[metric] * scale, own.index, "o", ms=6, color=ink)
        axes.hlines(own.index, own[f"{metric} low"] * scale, own[f"{metric} high"] * scale, color=ink)
        lower = "\n(lower is better)" if lower_is_better(metric) else ""
        axes.set(xlabel=numbers.name(metric) + lower, ylim=(len(frame) - 0.4, -0.6))
        axes.grid(axis="x")
    panels[0][0].set_yticks(range(len(frame)), frame["system"])
    places = list(zip(map(int, own.index), own["system"], strict=True))
    for at, _ in places:
        panels[0][0].get_yticklabels()[at].set_fontweight("bold")
    alt = "; ".join(f"{name} is place {at + 1} of {len(frame)}" for at, name in places) + "."
    return figure(fig, caption=caption, alt=alt, note="Filled: ours with 95 % over seeds. Hollow: as printed.")
