"""Which transfer setting wins a cell (an encoder on a data set): names of rows, rows of settings, tests, figures.

Methods are spelt as in table 4 of Zhang et al. 2018: ``GRAN [NT] KL row1`` is a row of the setting ``GRAN [NT]``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import stats

from sentbook import report
from sentbook.data import suites
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import measure_on
from sentbook.evaluation.statistics import Estimate, corrected
from sentbook.records import CurvePoint, Run, Test
from sentbook.report.figures import COLOURS, GREY
from sentbook.report.html import Shown
from sentbook.report.page import Page

SETTINGS = ("UE", "FT", "NT", "DNT")
# What table 5 calls the two ranges of the target.
RANGES = {"norm0to1": "[0, 1]", "norm-1to1": "[-1, 1]"}

CellOf = Callable[[str, str], tuple[str, str]]  # method and data set -> column and row of a table
_LOSS_AND_NUMBER = r"\] ?(?P<loss>MSE|KL)?(?: ?(?P<number>row[12]))?"


# -- names -------------------------------------------------------------------------------------------------------------


def encoder_of(method: str) -> str:
    """Return the encoder of a row.

    Example:
        >>> encoder_of("BiLSTM-Avg [NT] KL row2")
        'BiLSTM-Avg'
    """
    return method.partition(" [")[0]


def setting_of(method: str) -> str:
    """Return the transfer setting of a row.

    Example:
        >>> setting_of("BiLSTM-Avg [NT] KL row2"), setting_of("GRAN [UE]")
        ('NT', 'UE')
    """
    return re.split(r"[][]", method)[1]


def setting_name(method: str) -> str:
    """Return a row's name without the loss and the words, which are a part of the search, and with table 5's range.

    Example:
        >>> setting_name("GRAN [NT] KL row1 10 %"), setting_name("GRAN [DNT] row2 norm0to1")
        ('GRAN [NT] 10 %', 'GRAN [DNT] [0, 1]')
    """
    name = re.sub(rf"{_LOSS_AND_NUMBER}(?= |$)", "]", method, count=1)
    for printed, target in RANGES.items():
        name = name.replace(printed, target)
    return name


def row_label(method: str) -> str:
    """Label a row under its encoder's heading; one without a number has its words frozen, as the paper's InferSent has.

    Example:
        >>> row_label("GRAN [NT] KL row1"), row_label("InferSent [DNT]"), row_label("GRAN [FT] MSE 10 %")
        ('NT KL, words updated', 'DNT, words frozen', 'FT MSE, 10 %')
    """
    setting, found = setting_of(method), re.search(rf"{_LOSS_AND_NUMBER}(?P<rest>.*)", method)
    assert found is not None
    words = "words updated" if found["number"] == "row1" else "words frozen"
    parts = [words if setting in ("NT", "DNT") else "", found["rest"].strip(", ")]
    return ", ".join(filter(None, [f"{setting} {found['loss'] or ''}".strip(), *parts]))


# -- rows that differ in one thing -------------------------------------------------------------------------------------


def partners(methods: Collection[str], ours: str, theirs: str) -> list[tuple[str, str]]:
    """Pair the methods that hold ``ours`` with those that hold ``theirs`` in its place, and differ in nothing else.

    Example:
        >>> partners(["GRAN [UE]", "GRAN [FT] MSE", "GRAN [FT] KL"], "MSE", "KL")
        [('GRAN [FT] MSE', 'GRAN [FT] KL')]
    """
    return [(name, other) for name in methods if ours in name and (other := name.replace(ours, theirs)) in methods]


def words_pairs(methods: Collection[str]) -> list[tuple[str, str]]:
    """Pair rows that differ in the words alone: updated, and frozen, where InferSent's have no number."""
    return partners(methods, " row1", "") + partners(methods, "row1", "row2")


def direct_pairs(methods: Sequence[str]) -> list[tuple[str, str]]:
    """Pair direct network transfer with the same encoder's other settings, in scores of `best_rows`."""
    return [pair for other in ("[UE]", "[FT]", "[NT]") for pair in partners(methods, "[DNT]", other)]


# -- a run in cells ----------------------------------------------------------------------------------------------------


def cell_of(method: str, dataset: str) -> tuple[str, str]:
    """Return the setting of a row, and its cell as a name of a data set.

    Example:
        >>> cell_of("GRAN [NT] KL row1", "SAG"), cell_of("GRAN [DNT] row2 norm0to1", "SAG")
        (('NT', 'GRAN/SAG'), ('DNT [0, 1]', 'GRAN/SAG'))
    """
    encoder, _, rest = setting_name(method).partition(" [")
    return rest.replace("]", "", 1), f"{encoder}/{dataset}"


def in_cells(run: Run, cell: CellOf = cell_of, curve: str = "") -> Run:
    """Return a run with its methods and data sets renamed by ``cell``, in each data set's own measure.

    Of a setting's rows the one that development pairs chose stands for it, where the run names these. Tests that
    compare two cells go, and the curves of all cells but ``curve`` or, where it has none, the first.
    """
    rows, order, chosen = [], list(suites.TEST_NAMES.values()), run.findings.get("chosen rows", {})
    own = [row for row in run.metrics if row.dataset in order and row.metric == measure_on(row.dataset)]
    for row in sorted(own, key=lambda row: order.index(row.dataset)):
        if chosen.get(row.dataset, {}).get(setting_name(row.method), row.method) == row.method:
            method, dataset = cell(row.method, row.dataset)
            rows.append(row.model_copy(update={"method": method, "dataset": dataset}))
    tests = []
    for test in run.tests:
        (a, dataset), (b, other) = (cell(method, test.dataset) for method in (test.a, test.b))
        if dataset == other:
            tests.append(test.model_copy(update={"a": a, "b": b, "dataset": dataset}))
    curves: dict[str, list[CurvePoint]] = {}
    for point in run.curves:
        name, dataset = point.method.rsplit(", ", 1)
        if chosen.get(dataset, {}).get(setting_name(name), name) == name:
            method, dataset = cell(name, dataset)
            curves.setdefault(dataset, []).append(point.model_copy(update={"method": method}))
    points = curves.get(curve) or next(iter(curves.values()), [])
    return run.model_copy(update={"metrics": rows, "tests": tests, "curves": points})


def cells(page: Page, cell: CellOf = cell_of, curve: str = "") -> Page:
    """Return a page whose tables and figures have a row per cell and a method per setting, see `in_cells`.

    Of several rows that the paper prints of one cell it has the best.
    """
    run, paper = page.run and in_cells(page.run, cell, curve), page.paper
    if not paper.empty:
        own = paper[paper["metric"] == paper["dataset"].map(measure_on)]
        names = [cell(method, dataset) for method, dataset in zip(own["method"], own["dataset"], strict=True)]
        own = own.assign(method=[method for method, _ in names], dataset=[dataset for _, dataset in names])
        paper = own.groupby(["method", "dataset", "metric"], sort=False)[["value"]].max().reset_index()
    return replace(page, run=run, paper=paper)


# -- tests -------------------------------------------------------------------------------------------------------------


def tested_sets(scores: Predictions) -> list[str]:
    """Return the test sets: neither STSB's development pairs nor the parts that STS12 pools."""
    return [name for name in scores.names if name in suites.TEST_NAMES.values()]


def best_rows(scores: Predictions, chosen: Mapping[str, Mapping[str, str]]) -> Predictions:
    """Return test scores by setting, ``GRAN [NT]``: those of its chosen row on each data set, and those without any.

    Args:
        chosen: data set -> setting -> row, see `sentbook.papers.dnt.transfers.chosen_rows`.
    """
    best = {key: values for key, values in scores.table.items() if setting_of(key[0]) == "UE"}
    for dataset, rows in chosen.items():
        best |= {(setting, dataset): scores.table[row, dataset] for setting, row in rows.items()}
    return scores.with_table(best)


def contrasts(scores: Predictions, pairs: Iterable[tuple[str, str]], resamples: int) -> list[Test]:
    """Test A - B of each pair of methods on every test set that both were scored on, over pairs and seeds.

    Holm's correction is over the test sets of each pair.
    """
    tests = []
    for a, b in pairs:
        names = [name for name in tested_sets(scores) if scores.has(a, name) and scores.has(b, name)]
        tests += corrected([scores.difference(a, b, name, resamples=resamples) for name in names])
    return tests


def first_above_second(tests: Iterable[Test]) -> Estimate:
    """Return the share of cells in which A is above B, of those in which they differ.

    Its interval is the wider of the exact one and that of t over the groups of one encoder on one data set. Groups
    share encoders and test pairs, so that it may still be too narrow.
    """
    groups: dict[tuple[str, str], list[bool]] = {}
    for test in (one for one in tests if one.estimate != 0):
        groups.setdefault((encoder_of(test.a), test.dataset), []).append(test.estimate > 0)
    every = [one for group in groups.values() for one in group]
    exact = stats.binomtest(sum(every), len(every)).proportion_ci(method="exact")
    shares = [float(np.mean(group)) for group in groups.values()]
    over = stats.ttest_1samp(shares, 0.5).confidence_interval() if len(set(shares)) > 1 else exact
    return Estimate(float(np.mean(every)), max(0.0, min(exact.low, over.low)), min(1.0, max(exact.high, over.high)))


# -- figures of several pages ------------------------------------------------------------------------------------------


def differences(
    tests: Sequence[Test],
    row: Callable[[Test], str],
    kind: Callable[[Test], str] = lambda test: "",
    *,
    axis: str,
    caption: str,
) -> Shown:
    """Draw each test's difference x 100 with its interval; filled where the interval excludes zero.

    The axes end at 20, so that a failed run stretches nothing.

    Args:
        row: the label of a test's line.
        kind: what its colour stands for.
        axis: what the axis is called.
    """
    encoders, rows, kinds = (
        list(dict.fromkeys(map(name, tests))) for name in (lambda test: encoder_of(test.a), row, kind)
    )
    drawing, panels = report.subplots(0.9 + 0.26 * len(rows), 1, len(encoders), sharex=True, sharey=True, squeeze=False)
    for test in tests:
        axes, number = panels[0][encoders.index(encoder_of(test.a))], kinds.index(kind(test))
        at, ink = rows.index(row(test)) + 0.34 * (number - (len(kinds) - 1) / 2), COLOURS[number]
        low, estimate, high = np.clip([100 * test.low, 100 * test.estimate, 100 * test.high], -20, 20)
        axes.plot([low, high], [at, at], color=ink, linewidth=1.3)
        axes.plot(estimate, at, "o", color=ink, mfc="white" if test.low <= 0 <= test.high else ink, ms=5, clip_on=False)
    for axes, encoder in zip(panels[0], encoders, strict=True):
        axes.axvline(0, color=GREY, linewidth=0.9, zorder=1)
        axes.set(title=encoder, xlim=(-20, 20), ylim=(len(rows) - 0.4, -0.6), xticks=(-10, 0, 10))
        axes.set_yticks(range(len(rows)), rows)
        axes.grid(axis="x")
    drawing.supxlabel(axis, fontsize=9)
    if len(kinds) > 1:
        marks = [panels[0][0].plot([], [], "o", color=COLOURS[at], label=name)[0] for at, name in enumerate(kinds)]
        drawing.legend(handles=marks, loc="outside upper left", ncols=4, frameon=False)
    ahead = sum(test.estimate > 0 for test in tests)
    alt = f"{axis}: {len(tests)} differences in {len(encoders)} panels, {ahead} above zero."
    note = "Bars: 95 % over seeds and pairs. Filled: the interval excludes zero. What lies beyond 20 is at the edge."
    return report.figure(drawing, caption=caption, alt=alt, note=note)


def search(run: Run, methods: Sequence[str], dataset: str, *, caption: str) -> Shown:
    """Draw the best development value at each learning rate that a run's searches tried, a line per method.

    Methods of different settings have their settings' colours.
    """
    held = [one for one in run.searches if one.dataset == dataset and one.method in methods]
    tried = pd.DataFrame([{"method": one.method} | point for one in held for point in one.tried])
    best = tried.groupby(["method", "learning_rate"]).development.max().unstack(0)[list(methods)]
    drawing, axes = report.subplots(2.8)
    settings = [setting_of(method) for method in methods]
    names = settings if len({*settings}) == len(methods) else methods
    for method, name in zip(methods, names, strict=True):
        axes.plot(best.index, 100 * best[method], "o-", color=report.colour(name, names), ms=4, label=row_label(method))
    axes.set(xscale="log", xlabel="learning rate", ylabel=f"development pairs of {dataset}, × 100")
    axes.set_xticks(best.index, [f"{rate:g}" for rate in best.index])
    axes.minorticks_off()
    axes.grid()
    drawing.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    alt = f"Development value over the learning rate, {len(methods)} lines."
    return report.figure(drawing, caption=caption, alt=alt, note="Best point of a rate; where close, mean over seeds.")
