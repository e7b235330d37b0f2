"""Which transfer setting wins a cell (an encoder on a data set): names of rows, rows of settings, tests, ties.

Methods are spelt as in table 4 of Zhang et al. 2018: ``GRAN [NT] KL row1`` is a row of the setting ``GRAN [NT]``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import pandas as pd

from sentbook.data import suites
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import measure_on
from sentbook.evaluation.statistics import corrected
from sentbook.records import CurvePoint, Metric, Run, Test
from sentbook.report.page import Page

SETTINGS = ("UE", "FT", "NT", "DNT")
# A difference smaller than this counts as a tie: Zhang et al. 2018, section 5.2.
TIE = 0.002
CHOSEN = "rows chosen on development pairs"
LEVEL = 0.05
# What table 5 calls the two ranges of the target.
RANGES = {"norm0to1": "[0, 1]", "norm-1to1": "[-1, 1]"}

Cell = tuple[str, str]
CellOf = Callable[[str, str], tuple[str, str]]  # method and data set -> column and row of a table
_LOSS_AND_NUMBER = r"\] ?(?P<loss>MSE|KL)?(?: ?(?P<number>row[12]))?"
_ROW = re.compile(rf"{_LOSS_AND_NUMBER}(?P<rest>.*)")
_METHOD = re.compile(rf"(?P<encoder>\S.*?) \[(?P<setting>{'|'.join(SETTINGS)})\](?: \S.*)?")


# -- names -------------------------------------------------------------------------------------------------------------


def _parsed(method: str) -> re.Match[str]:
    found = _METHOD.fullmatch(method)
    if found is None:
        raise ValueError(f"'{method}' names no encoder and setting; spell it as 'GRAN [DNT] row1'.")
    return found


def encoder_of(method: str) -> str:
    """The encoder of a row.

    Raises:
        ValueError: the name is not of the form ``<encoder> [UE|FT|NT|DNT] ...``.

    Example:
        >>> encoder_of("BiLSTM-Avg [NT] KL row2")
        'BiLSTM-Avg'
    """
    return _parsed(method)["encoder"]


def setting_of(method: str) -> str:
    """The transfer setting of a row; raises as `encoder_of`.

    Example:
        >>> setting_of("BiLSTM-Avg [NT] KL row2"), setting_of("GRAN [UE]")
        ('NT', 'UE')
    """
    return _parsed(method)["setting"]


def is_row(method: str) -> bool:
    """Whether the name is one of an encoder and a setting."""
    return _METHOD.fullmatch(method) is not None


def named(encoder: str, setting: str) -> str:
    """The method of an encoder's setting, whichever its row.

    Example:
        >>> named("GRAN", "DNT")
        'GRAN [DNT]'
    """
    return f"{encoder} [{setting}]"


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
        >>> row_label("GRAN [NT] KL row1"), row_label("InferSent [DNT]"), row_label("GRAN [FT] MSE")
        ('NT KL, words updated', 'DNT, words frozen', 'FT MSE')
    """
    setting, found = setting_of(method), _ROW.search(method)
    loss, number, rest = (found["loss"], found["number"], found["rest"].strip(", ")) if found else (None, None, "")
    words = ""
    if setting in ("NT", "DNT"):
        words = ", words updated" if number == "row1" else ", words frozen"
    return f"{setting}{f' {loss}' if loss else ''}{words}{f', {rest}' if rest else ''}"


def label(method: str) -> str:
    """Label a row with its encoder, in words; another name stays.

    Example:
        >>> label("GRAN [DNT] row1 10 %"), label("no row")
        ('GRAN DNT, words updated, 10 %', 'no row')
    """
    return f"{encoder_of(method)} {row_label(method)}" if is_row(method) else method


# -- rows that differ in one thing -------------------------------------------------------------------------------------


def partners(methods: Iterable[str], ours: str, theirs: str) -> list[tuple[str, str]]:
    """Pair the methods that hold ``ours`` with those that hold ``theirs`` in its place, and differ in nothing else.

    Example:
        >>> partners(["GRAN [UE]", "GRAN [FT] MSE", "GRAN [FT] KL"], "MSE", "KL")
        [('GRAN [FT] MSE', 'GRAN [FT] KL')]
    """
    known = dict.fromkeys(methods)
    return [(name, other) for name in known if ours in name and (other := name.replace(ours, theirs)) in known]


def words_pairs(methods: Sequence[str]) -> list[tuple[str, str]]:
    """Rows that differ in the words alone: updated, and frozen, where InferSent's have no number."""
    return partners(methods, " row1", "") + partners(methods, "row1", "row2")


def direct_pairs(methods: Sequence[str]) -> list[tuple[str, str]]:
    """Direct network transfer against the same encoder's other settings, of a book from `best_rows`."""
    return [pair for other in ("[UE]", "[FT]", "[NT]") for pair in partners(methods, "[DNT]", other)]


# -- cells -------------------------------------------------------------------------------------------------------------


def test_names(book: Predictions) -> list[str]:
    """The test sets: neither STSB's development pairs nor the parts that STS12 pools."""
    return [name for name in book.names if name in suites.TEST_NAMES.values()]


test_names.__test__ = False  # type: ignore[attr-defined]  # not a pytest function


def judged_cells(best: Predictions, settings: Iterable[str] = SETTINGS) -> list[Cell]:
    """The (encoder, data set) in which all ``settings`` were scored, of a book from `best_rows`."""
    wanted, encoders = list(settings), dict.fromkeys(encoder_of(method) for method in best.methods)
    return [
        (encoder, dataset)
        for encoder in encoders
        for dataset in test_names(best)
        if all(best.has(named(encoder, setting), dataset) for setting in wanted)
    ]


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

    Tests that compare two cells go, and the curves of all cells but ``curve`` or, where it has none, the first.
    """
    rows, order = [], list(suites.TEST_NAMES.values())
    own = [row for row in run.metrics if row.dataset in order and row.metric == measure_on(row.dataset)]
    for row in sorted(own, key=lambda row: order.index(row.dataset)):
        method, dataset = cell(row.method, row.dataset)
        rows.append(row.model_copy(update={"method": method, "dataset": dataset}))
    tests = []
    for test in run.tests:
        (a, dataset), (b, other) = (cell(method, test.dataset) for method in (test.a, test.b))
        if dataset == other:
            tests.append(test.model_copy(update={"a": a, "b": b, "dataset": dataset}))
    curves: dict[str, list[CurvePoint]] = {}
    for point in run.curves:
        method, _, dataset = point.method.rpartition(", ")
        method, dataset = cell(method, dataset)
        curves.setdefault(dataset, []).append(point.model_copy(update={"method": method}))
    points = curves.get(curve) or next(iter(curves.values()), [])
    return run.model_copy(update={"metrics": rows, "tests": tests, "curves": points})


def printed_in_cells(printed: pd.DataFrame, cell: CellOf = cell_of) -> pd.DataFrame:
    """Return the paper's numbers in the form of `in_cells`, of several rows of one cell the best."""
    own = printed[printed["metric"] == printed["dataset"].map(measure_on)]
    cells = [cell(method, dataset) for method, dataset in zip(own["method"], own["dataset"], strict=True)]
    own = own.assign(method=[method for method, _ in cells], dataset=[dataset for _, dataset in cells])
    return own.groupby(["method", "dataset", "metric"], sort=False, as_index=False)["value"].max()


def cells(page: Page, cell: CellOf = cell_of, curve: str = "") -> Page:
    """Return a page whose tables and figures have a row per cell and a method per setting, see `in_cells`."""
    run = None if page.run is None else in_cells(page.run, cell, curve)
    paper = page.paper if page.paper.empty else printed_in_cells(page.paper, cell)
    return replace(page, run=run, paper=paper)


# -- rows by development pairs -----------------------------------------------------------------------------------------


def of_settings(run: Run) -> list[Metric]:
    """A run's rows that development pairs chose, each under its setting: ``GRAN [DNT]`` for ``GRAN [DNT] row1``."""
    names = settings_of(run)
    chosen = [row for row in run.metrics if (row.method, row.dataset) in names]
    return [row.model_copy(update={"method": names[row.method, row.dataset]}) for row in chosen]


def settings_of(run: Run) -> dict[tuple[str, str], str]:
    """Row and data set -> the setting whose search chose it."""
    chosen = run.extra.get(CHOSEN, {})
    return {(row, dataset): name for dataset, rows in chosen.items() for name, row in rows.items()}


def chosen_rows(book: Predictions) -> dict[tuple[str, str], str]:
    """Return (``GRAN [NT]``, data set) -> the setting's row that was trained on it, which its search has chosen.

    Raises:
        ValueError: a row's name is of another form, or a setting has several rows: none is chosen on test pairs.
    """
    chosen: dict[tuple[str, str], str] = {}
    for dataset in book.names:
        for method in book.methods:
            if book.has(method, dataset):
                setting_of(method)  # raises
                setting = setting_name(method)
                if (setting, dataset) in chosen:
                    raise ValueError(f"{setting} has several rows on {dataset}; rows are not chosen on test pairs.")
                chosen[setting, dataset] = method
    return chosen


def best_rows(book: Predictions, chosen: Mapping[tuple[str, str], str] | None = None) -> Predictions:
    """Return a book of one method a setting, ``GRAN [NT]``: on each data set all seeds of the row of `chosen_rows`."""
    best = book.only([])
    for (setting, dataset), row in (chosen_rows(book) if chosen is None else chosen).items():
        best.take(book, row, dataset, setting)
    return best


# -- tests and ties ----------------------------------------------------------------------------------------------------


def contrasts(scores: Predictions, pairs: Iterable[tuple[str, str]], resamples: int) -> list[Test]:
    """Test A - B of each pair of methods on every test set that both were scored on, over pairs and seeds.

    Holm's correction is over the test sets of each pair.
    """
    tests = []
    for a, b in pairs:
        names = [name for name in test_names(scores) if scores.has(a, name) and scores.has(b, name)]
        tests += corrected([scores.difference(a, b, name, resamples=resamples) for name in names])
    return tests


def differences(scores: Predictions, resamples: int) -> list[Test]:
    """Test every two settings of an encoder on every data set, over pairs and seeds.

    Holm's correction is over the cells of two settings.
    """
    best, tests = best_rows(scores), []
    for other, one in combinations(SETTINGS, 2):
        cells = [
            (named(encoder, one), named(encoder, other), name) for encoder, name in judged_cells(best, (one, other))
        ]
        tests += corrected([best.difference(a, b, name, resamples=resamples) for a, b, name in cells])
    return tests


def tie_group(tests: Iterable[Test], encoder: str, dataset: str) -> list[str]:
    """The best setting of a cell, and those that are not significantly below it.

    Args:
        tests: of every two settings of the cell, with Holm's p; without any the group is empty.
    """
    found: dict[tuple[str, str], Test] = {}
    ahead: Counter[str] = Counter()
    for test in tests:
        if test.dataset == dataset and is_row(test.a) and encoder_of(test.a) == encoder:
            a, b = setting_of(test.a), setting_of(test.b)
            found[a, b] = found[b, a] = test
            ahead.update({a: int(test.estimate > 0), b: int(test.estimate < 0)})
    if not found:
        return []
    best = max((setting for setting in SETTINGS if setting in ahead), key=lambda setting: ahead[setting])
    rest = [other for other in SETTINGS if (best, other) in found]
    return [best, *[other for other in rest if (found[best, other].p_holm or 0.0) >= LEVEL]]


def within(values: Mapping[str, float], margin: float = TIE) -> list[str]:
    """The names whose value is less than ``margin`` below the best: the paper's own rule of ties.

    Example:
        >>> within({"UE": 0.469, "FT": 0.412, "NT": 0.459, "DNT": 0.470})
        ['UE', 'DNT']
    """
    best = max(values.values(), default=0.0)
    # Printed values of three decimals differ by .002 only up to rounding.
    return [name for name, value in values.items() if best - value < margin - 1e-9]
