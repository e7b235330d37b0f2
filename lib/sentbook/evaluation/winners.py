"""Which transfer setting wins a cell (an encoder on a data set): rows chosen on development pairs, tests, tie groups.

Methods are spelt as in table 4 of Zhang et al. 2018: ``GRAN [NT] KL row1`` is a row of the setting NT of GRAN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentbook.data import suites
from sentbook.evaluation import statistics
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.scorebook import ScoreBook
from sentbook.records import Test
from sentbook.system.errors import ConfigError

SETTINGS = ("UE", "FT", "NT", "DNT")
# A difference smaller than this counts as a tie: Zhang et al. 2018, section 5.2.
TIE = 0.002
KIND = "paired bootstrap"
BEST_KIND = "paired bootstrap, best of the cell"
CHOSEN = "rows chosen on development pairs"
SMALLEST = "smallest p after Holm"
LEVEL = 0.05

Cell = tuple[str, str]
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


# What each test set's authors ask for, by its name in tables.
MEASURES: dict[str, Measure] = {
    suites.STSB_DEV: suites.measure_of("stsb"),
    **{name: suites.measure_of(dataset) for dataset, name in suites.TEST_NAMES.items()},
}


def measure_on(name: str) -> Measure:
    """The measure of a test set or of a part of one.

    Raises:
        ConfigError: an unknown set.

    Example:
        >>> str(measure_on("PAC")), str(measure_on("STS12/MSRpar"))
        ('spearman', 'pearson')
    """
    found = MEASURES.get(name) or MEASURES.get(name.partition("/")[0])
    if found is None:
        raise ConfigError(f"No measure is known for '{name}'; the data sets are {', '.join(MEASURES)}.")
    return found


def _chosen_with(name: str) -> str:
    """The data set whose development pairs choose the rows of ``name``: STSB's, STS12's for a part of it."""
    if name == suites.STSB_DEV:
        return suites.TEST_NAMES["stsb"]
    return name if name in MEASURES else name.partition("/")[0]


# -- rows that differ in one thing -------------------------------------------------------------------------------------


def updated_and_frozen(methods: Iterable[str]) -> list[tuple[str, str]]:
    """Rows that differ in the words alone: updated (``row1``) and frozen (``row2``, or of InferSent no number).

    Example:
        >>> updated_and_frozen(["GRAN [DNT] row1", "GRAN [DNT] row2", "InferSent [DNT]", "InferSent [DNT] row1"])
        [('GRAN [DNT] row1', 'GRAN [DNT] row2'), ('InferSent [DNT] row1', 'InferSent [DNT]')]
    """
    names = list(methods)
    pairs = []
    for updated in names:
        start = updated.removesuffix(" row1")
        frozen = [other for other in (f"{start} row2", start) if other != updated and other in names]
        pairs += [(updated, other) for other in frozen[:1] if start != updated]
    return pairs


def losses(methods: Iterable[str]) -> list[tuple[str, str]]:
    """Rows that differ in the loss alone: MSE and KL.

    Example:
        >>> losses(["GRAN [UE]", "GRAN [FT] MSE", "GRAN [FT] KL"])
        [('GRAN [FT] MSE', 'GRAN [FT] KL')]
    """
    names = list(methods)
    pairs = [(method, method.replace("] MSE", "] KL")) for method in names if "] MSE" in method]
    return [(a, b) for a, b in pairs if b in names]


# -- a book of unequal seeds -------------------------------------------------------------------------------------------


class CellBook(ScoreBook):
    """A book in which a method may have other seeds on one data set than on another."""

    @classmethod
    def of(cls, book: ScoreBook) -> CellBook:
        """The same scores and resamples, read so; what is added to one of the two afterwards may miss the other."""
        found = cls.like(book)
        found._scores, found._resampled = book._scores, book._resampled
        return found

    @classmethod
    def like(cls, book: ScoreBook) -> CellBook:
        """An empty book of the same pairs and of the same resamples of them."""
        found = cls([book.pairs(name) for name in book.names], book.total)
        found._counts = book._counts
        return found

    def take(self, book: ScoreBook, method: str, dataset: str, name: str) -> None:
        """Copy the scores of ``method`` on a data set, all seeds, as those of ``name``."""
        for seed, by_set in book._scores[method].items():
            if dataset in by_set:
                self.add(name, seed, dataset, by_set[dataset])

    def has(self, method: str, dataset: str) -> bool:
        """Whether any seed of ``method`` was scored on the data set."""
        return any(dataset in by_set for by_set in self._scores.get(method, {}).values())

    def stacked(self, method: str, dataset: str) -> NDArray[np.float64]:
        """(S, N) scores, a row a seed that was scored on the data set."""
        return np.stack([by_set[dataset] for by_set in self._scores[method].values() if dataset in by_set])

    def values(self, method: str, row: str, measure: Measure = Measure.PEARSON) -> list[float]:
        """A cell for every seed that was scored on it."""
        held = [seed for seed, by_set in self._scores[method].items() if set(self.members(row)) <= by_set.keys()]
        return [self.value(method, seed, row, measure) for seed in held]

    def mean(self, method: str, dataset: str) -> float:
        """A cell in the data set's measure, the mean over its seeds."""
        return float(np.mean(self.values(method, dataset, measure_on(dataset))))

    def compared(self, a: str, b: str, dataset: str, resamples: int) -> Test:
        """A - B in the data set's measure."""
        return self.difference(a, b, dataset, metric=str(measure_on(dataset)), resamples=resamples)

    @property
    def encoders(self) -> list[str]:
        return list(dict.fromkeys(encoder_of(method) for method in self.methods))

    @property
    def tests(self) -> list[str]:
        """The test sets: neither STSB's development pairs nor the parts that STS12 pools."""
        return [name for name in self.names if name in suites.TEST_NAMES.values()]

    def cells(self, settings: Iterable[str] = SETTINGS) -> list[Cell]:
        """The (encoder, data set) in which all ``settings`` were scored, of a book from `best_rows`."""
        wanted = list(settings)
        return [
            (encoder, dataset)
            for encoder in self.encoders
            for dataset in self.tests
            if all(self.has(named(encoder, setting), dataset) for setting in wanted)
        ]

    def best_of(self, encoder: str, dataset: str, settings: Iterable[str]) -> str:
        """The method of the best of ``settings`` on the test pairs; the first of several that are equal."""
        return max((named(encoder, setting) for setting in settings), key=lambda method: self.mean(method, dataset))


# -- rows by development pairs -----------------------------------------------------------------------------------------


def chosen_rows(dev: Mapping[tuple[str, str], float], book: ScoreBook) -> dict[tuple[str, str], str]:
    """(``GRAN [NT]``, data set) -> the setting's row with the highest value on the development pairs.

    Of equal rows the first in the book is chosen; the only row of a setting needs no value.

    Args:
        dev: (row, test set) -> value on the set's development pairs, the mean over seeds, higher being better.

    Raises:
        ValueError: a row's name is of another form, or of several rows one has no finite development value.
    """
    held = CellBook.of(book)
    chosen: dict[tuple[str, str], str] = {}
    for dataset in book.names:
        rows: dict[str, list[str]] = {}
        for method in book.methods:
            if held.has(method, dataset):
                rows.setdefault(named(encoder_of(method), setting_of(method)), []).append(method)
        for setting, candidates in rows.items():
            values = [dev.get((row, _chosen_with(dataset)), math.nan) for row in candidates]
            if len(candidates) > 1 and not np.isfinite(values).all():
                missing = next(row for row, value in zip(candidates, values, strict=True) if not math.isfinite(value))
                raise ValueError(
                    f"{missing} has no development value on {_chosen_with(dataset)}; rows are not chosen on test pairs."
                )
            chosen[setting, dataset] = candidates[int(np.argmax(values)) if len(candidates) > 1 else 0]
    return chosen


def best_rows(dev: Mapping[tuple[str, str], float], book: ScoreBook) -> CellBook:
    """A book of one method a setting, ``GRAN [NT]``: on each data set all seeds of the row of `chosen_rows`.

    Args, Raises: as `chosen_rows`.
    """
    return _taken(book, chosen_rows(dev, book))


def _taken(book: ScoreBook, chosen: Mapping[tuple[str, str], str]) -> CellBook:
    best = CellBook.like(book)
    for (setting, dataset), row in chosen.items():
        best.take(book, row, dataset, setting)
    return best


# -- tests and ties ----------------------------------------------------------------------------------------------------


def _holm(family: Sequence[Test]) -> list[Test]:
    adjusted = statistics.holm([1.0 if test.p is None else test.p for test in family])
    return [test.model_copy(update={"p_holm": p}) for test, p in zip(family, adjusted, strict=True)]


def cell_tests(best: CellBook, resamples: int) -> list[Test]:
    """DNT - UE, DNT - FT and DNT - NT in every cell; Holm's correction over the cells of each comparison.

    Args:
        best: from `best_rows`.
    """
    tests: list[Test] = []
    for other in SETTINGS[:-1]:
        tests += _holm(
            [
                best.compared(named(encoder, "DNT"), named(encoder, other), dataset, resamples)
                for encoder, dataset in best.cells(("DNT", other))
            ]
        )
    return tests


def best_tests(best: CellBook, resamples: int) -> list[Test]:
    r"""The cell's best setting minus each other one, from which `tie_group` is read.

    Holm's correction is over the cells in which a setting is not the best, apart for each setting: one family of all
    three would hold 72 tests, where no p of 2000 resamples, at least 2 / 2001, could be below .05.

    The best is the best on the test pairs, which flatters it a little: a tie group may be too small, not too large.

    Args:
        best: from `best_rows`.
    """
    families: dict[str, list[Test]] = {setting: [] for setting in SETTINGS}
    for encoder, dataset in best.cells(()):
        present = [setting for setting in SETTINGS if best.has(named(encoder, setting), dataset)]
        first = best.best_of(encoder, dataset, present) if present else ""
        for setting in present:
            if named(encoder, setting) != first:
                test = best.compared(first, named(encoder, setting), dataset, resamples)
                families[setting].append(test.model_copy(update={"kind": BEST_KIND}))
    return [test for family in families.values() for test in _holm(family)]


def tie_group(tests: Iterable[Test], encoder: str, dataset: str) -> list[str]:
    """The settings of a cell that are not significantly below its best one, that one first.

    Args:
        tests: those of `best_tests` among them; without any for the cell the group is empty.
    """
    found = [
        test for test in tests if test.kind == BEST_KIND and test.dataset == dataset and encoder_of(test.a) == encoder
    ]
    if not found:
        return []
    below = {setting_of(test.b) for test in found if (test.p_holm if test.p_holm is not None else 1.0) < LEVEL}
    others = [setting_of(test.b) for test in found]
    return [setting_of(found[0].a), *[s for s in SETTINGS if s in others and s not in below]]


def within(values: Mapping[str, float], margin: float = TIE) -> list[str]:
    """The names whose value is less than ``margin`` below the best: the paper's own rule of ties.

    Example:
        >>> within({"UE": 0.469, "FT": 0.412, "NT": 0.459, "DNT": 0.470})
        ['UE', 'DNT']
    """
    best = max(values.values(), default=0.0)
    # Printed values of three decimals differ by .002 only up to rounding.
    return [name for name, value in values.items() if best - value < margin - 1e-9]


@dataclass(frozen=True)
class Comparison:
    """What a run records of the winners.

    Attributes:
        best: the book of `best_rows`.
        chosen: as `chosen_rows`.
        tests: those of `cell_tests` and of `best_tests`.
        smallest: the smallest p that Holm's correction over all cells leaves to a resampled difference that is
            nowhere 0; from .05 on nothing can be significant, and more resamples are needed.
    """

    best: CellBook
    chosen: dict[tuple[str, str], str]
    tests: list[Test]
    smallest: float

    def extra(self) -> dict[str, Any]:
        """For a run's ``extra``: data set -> ``GRAN [NT]`` -> its row, and the smallest p."""
        found: dict[str, dict[str, str]] = {}
        for (setting, dataset), row in self.chosen.items():
            found.setdefault(dataset, {})[setting] = row
        return {CHOSEN: found, SMALLEST: self.smallest}


def compare(dev: Mapping[tuple[str, str], float], book: ScoreBook, resamples: int) -> Comparison:
    """Choose the rows on development pairs and test them on test pairs.

    Args, Raises: as `chosen_rows`.
    """
    chosen = chosen_rows(dev, book)
    best = _taken(book, chosen)
    tests = [*cell_tests(best, resamples), *best_tests(best, resamples)]
    return Comparison(best, chosen, tests, min(1.0, 2 * len(best.cells(())) / (resamples + 1)))
