"""The numbers behind each claim of Zhang et al. 2018.

A setting of an encoder stands for its row that is best on the development pairs. On the mini-world, whose pairs are not
the paper's, claims that name a printed value or one of the eight data sets are "not run".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from scipy import stats

from sentbook.data import suites
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import measure_on
from sentbook.evaluation.statistics import Estimate, seed_interval
from sentbook.papers.dnt.winners import (
    SETTINGS,
    TIE,
    Cell,
    best_of,
    best_rows,
    encoder_of,
    judged_cells,
    losses,
    named,
    setting_of,
    test_names,
    updated_and_frozen,
)
from sentbook.records import Claim, Cost, Finding, Test
from sentbook.runs.printed import table as printed_table
from sentbook.runs.printed import value as printed
from sentbook.runs.verdicts import (
    BOUND,
    OVER_SEEDS,
    Judgement,
    above,
    all_of,
    beats,
    count,
    difference,
    judge,
    near,
    not_run,
    scores,
    wins,
)

MINIWORLD = "needs the paper's eight data sets; this run is on the mini-world"
ENCODERS = ("BiLSTM-Avg", "GRAN", "InferSent")
SETS = tuple(suites.TEST_NAMES[dataset] for dataset in suites.TRANSFER)
ACTIVITIES = tuple(suites.TEST_NAMES[dataset] for dataset in suites.ACTIVITIES)
GENERAL, GRADING = SETS[:3], "SAG"
FINE = (*ACTIVITIES, GRADING)
TRAINED = SETTINGS[1:]
Dev = Mapping[tuple[str, str], float]
_SHARE = re.compile(r"(?P<method>.+) (?P<share>\d+(?:\.\d+)?) %")


# -- comparisons of settings -------------------------------------------------------------------------------------------


def _cells(encoders: Iterable[str] = ENCODERS, datasets: Iterable[str] = SETS) -> list[Cell]:
    names = list(datasets)
    return [(encoder, dataset) for encoder in encoders for dataset in names]


class _Settings:
    """Settings of a book of chosen rows, compared cell by cell."""

    def __init__(self, best: Predictions, resamples: int) -> None:
        self.best, self.resamples = best, resamples

    def where(self, cells: Sequence[Cell], make: Callable[[Sequence[Cell]], Judgement]) -> Judgement:
        """What ``make`` finds, or "not run" where one of ``cells`` lacks a setting."""
        held = set(judged_cells(self.best))
        missing = [f"{encoder} on {dataset}" for encoder, dataset in cells if (encoder, dataset) not in held]
        if not missing:
            return make(cells)
        if not set(SETS) & set(self.best.names):
            return not_run(MINIWORLD)
        more = f" and of {len(missing) - 1} more" if len(missing) > 1 else ""
        return not_run(f"needs all four settings of {missing[0]}{more}")

    def test(self, a: str, b: str, cell: Cell) -> Test:
        """A - B, two settings in a cell; its data set is named by the cell."""
        encoder, dataset = cell
        found = self.best.difference(named(encoder, a), named(encoder, b), dataset, resamples=self.resamples)
        return found.model_copy(update={"a": a, "b": b, "dataset": f"{dataset} with {encoder}"})

    def beats(self, a: str, b: str, cell: Cell) -> Judgement:
        """A beats B in a cell, beside the difference that the paper's best rows of both have."""
        return beats(self.test(a, b, cell)).against(_as_printed([a], [b], cell))

    def leader(self, cell: Cell, settings: Sequence[str]) -> str:
        """Which of ``settings`` is the best on the test pairs."""
        return setting_of(best_of(self.best, *cell, settings))

    def best_minus(self, a: Sequence[str], b: Sequence[str], cell: Cell, names: tuple[str, str]) -> Test:
        """The best of the settings ``a`` minus the best of ``b``, by the names that the evidence gives them."""
        found = self.test(self.leader(cell, a), self.leader(cell, b), cell)
        return found.model_copy(update={"a": names[0], "b": names[1]})

    def dnt_leads(self, cells: Sequence[Cell], others: Sequence[str] = SETTINGS[:-1]) -> list[Test]:
        """DNT minus the best of ``others``."""
        name = "the best other setting" if tuple(others) == SETTINGS[:-1] else f"the best of {' and '.join(others)}"
        return [self.best_minus(["DNT"], others, cell, ("DNT", name)) for cell in cells]

    def overall(self, dataset: str) -> Test:
        """On one data set the best DNT of any encoder minus the best other setting of any."""

        def best(settings: Sequence[str]) -> str:
            methods = [named(encoder, setting) for encoder in ENCODERS for setting in settings]
            return max(methods, key=lambda method: self.best.mean(method, dataset))

        found = self.best.difference(best(["DNT"]), best(SETTINGS[:-1]), dataset, resamples=self.resamples)
        return found.model_copy(update={"a": "the best DNT", "b": "the best other setting of any encoder"})

    def spread(self, cell: Cell, margin: float) -> Test:
        """The best minus the worst of the settings that train, less ``margin``."""
        worst = min(TRAINED, key=lambda setting: self.best.mean(named(cell[0], setting), cell[1]))
        found = self.test(self.leader(cell, TRAINED), worst, cell)
        shift = {field: getattr(found, field) - margin for field in ("estimate", "low", "high")}
        names = {"a": "the best setting that trains", "b": f"the worst plus {margin * 100:.0f} points"}
        return found.model_copy(update=shift | names)

    def reaches(self, encoder: str, dataset: str) -> Judgement:
        """DNT against the best of the paper's rows of it."""
        measure = str(measure_on(dataset))
        rows = [named(encoder, "DNT")] if encoder == "InferSent" else [f"{encoder} [DNT] row{row}" for row in (1, 2)]
        bound = max(printed("dnt", "table4", row, dataset, measure) for row in rows)
        found = self.best.interval(named(encoder, "DNT"), dataset, measure, self.resamples)
        return scores(found, bound, f"DNT on {dataset} with {encoder}", unit=measure)


def _as_printed(a: Sequence[str], b: Sequence[str], cell: Cell) -> Finding | None:
    """In the paper's table 4 the best row of the settings ``a`` minus the best of ``b``."""
    encoder, dataset = cell
    frame = printed_table("dnt", "table4")
    measure = str(measure_on(dataset))
    frame = frame[(frame["dataset"] == dataset) & (frame["metric"] == measure)]
    rows = [
        (setting_of(method), float(value))
        for method, value in zip(frame["method"], frame["value"], strict=True)
        if encoder_of(method) == encoder
    ]
    first, second = ([value for setting, value in rows if setting in side] for side in (a, b))
    return difference(max(first), max(second), measure) if first and second else None


# -- table 4 -----------------------------------------------------------------------------------------------------------


def table4(
    book: Predictions, dev: Dev, resamples: int, *, best: Predictions | None = None, cost: Sequence[Cost] = ()
) -> list[Claim]:
    """Transfer settings.

    Args:
        book: test scores of every row.
        dev: (row, test set) -> value on the development pairs, which choose a setting's row.
        best: the book of `sentbook.papers.dnt.winners.best_rows` where it was made already, with its resamples.
        cost: of the trainings, methods spelt as in the book.
    """
    best = best_rows(dev, book) if best is None else best
    settings = _Settings(best, resamples)
    where, test, leads = settings.where, settings.test, settings.dnt_leads

    def each(a: str, b: str, encoders: Sequence[str], datasets: Sequence[str]) -> Judgement:
        return where(_cells(encoders, datasets), lambda cells: all_of([settings.beats(a, b, cell) for cell in cells]))

    def trained_over_none(cells: Sequence[Cell]) -> Judgement:
        names = ("the best setting that trains", "UE")
        return wins([settings.best_minus(TRAINED, ["UE"], cell, names) for cell in cells], 22, rows="cells")

    def gains(cells: Sequence[Cell]) -> Judgement:
        (encoder, dataset), found = cells[0], []
        for method in book.methods:
            if encoder_of(method) == encoder and setting_of(method) != "UE" and book.has(method, dataset):
                test = book.difference(method, named(encoder, "UE"), dataset, resamples=resamples)
                gain = Estimate(test.estimate, test.low, test.high)
                found.append(above(gain, 0.529, f"{method} − UE on {dataset}", unit=test.metric, how=test.kind))
        return all_of(found)

    def feature_leads(cells: Sequence[Cell]) -> Judgement:
        others = [setting for setting in SETTINGS if setting != "FT"]
        names = ("FT", "the best other setting")
        return all_of(
            [
                beats(settings.best_minus(["FT"], others, cell, names)).against(_as_printed(["FT"], others, cell))
                for cell in cells
            ]
        )

    general, fine = _cells(datasets=GENERAL), _cells(datasets=FINE)
    grading, inference = _cells(datasets=[GRADING]), ["InferSent"]
    spread = [settings.spread(cell, 0.05) for cell in judged_cells(best, TRAINED)]
    found: dict[str, Judgement] = {
        "dnt-01": where(_cells(), lambda cells: wins(leads(cells), 16, tie=TIE, rows="cells")),
        "dnt-02": where(_cells(), lambda _: wins([settings.overall(name) for name in SETS], 6)),
        "dnt-03": where(fine, lambda cells: wins(leads(cells), 14, tie=TIE, rows="fine-grained cells")),
        "dnt-04": where(general, lambda cells: wins(leads(cells), 5, tie=0.01, rows="general cells", stated=False)),
        "dnt-05": where([("BiLSTM-Avg", SETS[0])], lambda cells: settings.reaches(*cells[0])),
        "dnt-06": where(
            _cells(inference, ACTIVITIES), lambda cells: all_of([settings.reaches(*cell) for cell in cells])
        ),
        "dnt-07": where(_cells(), trained_over_none),
        "dnt-08": where(
            grading,
            lambda cells: all_of([settings.beats(setting, "UE", cell) for cell in cells for setting in TRAINED]),
        ),
        "dnt-09": where(_cells(inference, [GRADING]), gains),
        "dnt-10": where(
            _cells(ENCODERS[:2], ACTIVITIES),
            lambda cells: wins([test("UE", "FT", cell) for cell in cells], 7, rows="cells"),
        ),
        "dnt-11": where(_cells(inference, GENERAL), feature_leads),
        "dnt-12": each("DNT", "FT", inference, FINE),
        "dnt-13": where(
            fine,
            lambda cells: wins(
                [test("DNT", "NT", cell) for cell in cells],
                len(cells) // 2 + 1,
                rows="fine-grained cells",
                stated=False,
            ),
        ),
        "dnt-14": _faster_without_classifier(cost),
        "dnt-15": wins(spread, (len(spread) + 1) // 2, rows="cells", stated=False)
        if spread
        else not_run("needs FT, NT and DNT of an encoder on a data set"),
        "dnt-16": each("FT", "NT", inference, ["SICK"]),
    }
    return [judge(name, judgement) for name, judgement in found.items()]


def _speeds(cost: Sequence[Cost]) -> dict[str, float]:
    """Examples a second by method, the mean over its trainings."""
    by_method: dict[str, list[float]] = {}
    for row in cost:
        by_method.setdefault(row.method, []).append(row.examples_per_second)
    return {method: float(np.mean(values)) for method, values in by_method.items()}


def _faster_without_classifier(cost: Sequence[Cost]) -> Judgement:
    """Speed of DNT over that of NT with the same words updated or frozen, by encoder."""
    speeds = _speeds(cost)
    ratios = []
    for method, speed in speeds.items():
        if " [DNT]" in method:
            beside = [v for other, v in speeds.items() if re.fullmatch(_network_rows(method), other)]
            ratios += [speed / np.mean(beside)] if beside else []
    if not ratios:
        return not_run("no trainings of DNT and NT were timed here")
    return above(
        seed_interval(ratios),
        1,
        "examples a second, DNT / NT, mean over encoders and rows",
        scale=1,
        unit="ratio",
        how="t over encoders and rows",
        stated=False,
    )


def _network_rows(direct: str) -> str:
    """A pattern of the NT rows, of either loss, that update what a DNT row updates."""
    encoder, _, row = direct.partition(" [DNT]")
    return rf"{re.escape(encoder)} \[NT\] (?:MSE|KL){re.escape(row)}"


# -- table 5 -----------------------------------------------------------------------------------------------------------


def table5(book: Predictions, resamples: int, nonnegative: Mapping[str, Estimate] | None = None) -> list[Claim]:
    """Normalisation.

    Args:
        book: rows of DNT with `` norm0to1`` and `` norm-1to1`` behind their names.
        nonnegative: encoder -> share of the coordinates of its sentence vectors that are 0 or more.
    """
    starts = [method.removesuffix(" norm0to1") for method in book.methods if method.endswith(" norm0to1")]
    found = _compared(book, [(f"{row} norm0to1", f"{row} norm-1to1") for row in starts], resamples)
    zero = [test.model_copy(update={"a": "[0, 1]", "b": "[-1, 1]"}) for test in found if test.dataset != "PAC"]
    actors = [_turned(test, "[-1, 1]", "[0, 1]") for test in found if test.dataset == "PAC"]
    shares = [
        above(share, 0.5, f"coordinates of {name} that are 0 or more", unit="share", how=OVER_SEEDS, stated=False)
        for name, share in (nonnegative or {}).items()
    ]
    neither = not_run("needs rows of both normalisations")
    missing = not_run(MINIWORLD) if "PAC" not in book.names else neither
    return [
        judge("dnt-17", wins(zero, int(np.ceil(0.9 * len(zero))), rows="cells", stated=False) if zero else neither),
        judge("dnt-18", wins(actors, len(actors) // 2 + 1, rows="rows on PAC", stated=False) if actors else missing),
        judge("dnt-19", all_of(shares) if shares else not_run("the signs of the coordinates were not counted here")),
        judge("dnt-20", not_run("no data set differs from PAC in the meaning of its lowest score alone")),
    ]


def _turned(test: Test, a: str, b: str) -> Test:
    """B - A, under other names."""
    return test.model_copy(update={"a": a, "b": b, "estimate": -test.estimate, "low": -test.high, "high": -test.low})


# -- freezing and loss -------------------------------------------------------------------------------------------------


def _compared(book: Predictions, pairs: Iterable[tuple[str, str]], resamples: int) -> list[Test]:
    """A - B on every test set where both rows of a pair were scored."""
    return [
        book.difference(a, b, dataset, resamples=resamples)
        for a, b in pairs
        for dataset in test_names(book)
        if book.has(a, dataset) and book.has(b, dataset)
    ]


def freezing(book: Predictions, resamples: int, cost: Sequence[Cost] = ()) -> list[Claim]:
    """Words updated or frozen, in network transfer and direct network transfer.

    Args:
        book: test scores of every row.
        cost: of the trainings, methods spelt as in the book.
    """
    pairs = updated_and_frozen(book.methods)
    found = _compared(book, pairs, resamples)
    absent = not_run("needs rows with words updated and with words frozen")
    speeds = _speeds(cost)
    ratios = [speeds[frozen] / speeds[updated] - 1 for updated, frozen in pairs if {updated, frozen} <= speeds.keys()]
    time = not_run("no trainings with words updated and with words frozen were timed here")
    if ratios:
        share = seed_interval(ratios)
        test = Test(
            kind="t",
            a="words frozen",
            b="words updated",
            dataset="examples a second, as a share of the latter",
            metric="share",
            estimate=share.estimate,
            low=share.low,
            high=share.high,
        )
        time = near(test, 0.1)
    return [
        judge("dnt-21", _no_pattern(found, "words updated", "words frozen") if found else absent),
        judge("dnt-22", _mostly_near(found, 0.01) if found else absent),
        judge("dnt-23", time),
    ]


def loss(book: Predictions, resamples: int) -> list[Claim]:
    """Squared error or KL divergence, in feature transfer and network transfer.

    Args:
        book: test scores of every row.
    """
    found = _compared(book, losses(book.methods), resamples)
    absent = not_run("needs rows of both losses")
    return [
        judge("dnt-24", _no_pattern(found, "MSE", "KL") if found else absent),
        judge("dnt-25", _more_with_infersent(found, book)),
    ]


def _no_pattern(tests: Sequence[Test], a: str, b: str) -> Judgement:
    """Reproduced when the exact 95 % interval of the share of cells in which A is above B holds one half."""
    differ = sum(test.estimate != 0 for test in tests)
    first = sum(test.estimate > 0 for test in tests)
    if not differ:
        return Judgement("inconclusive", f"{a} and {b} are equal in all of {len(tests)} cells")
    share = stats.binomtest(first, differ).proportion_ci(method="exact")
    better, worse = sum(test.low > 0 for test in tests), sum(test.high < 0 for test in tests)
    what = f"cells in which {a} is above {b}"
    return Judgement(
        "reproduced" if share.low <= 0.5 <= share.high else "not reproduced",
        f"{a} above {b} in {first} of {differ} cells, {100 * first / differ:.0f} % "
        f"[{100 * share.low:.0f}, {100 * share.high:.0f}]; "
        f"the interval excludes 0 in its favour on {better}, against it on {worse}",
        ours=Finding(
            what=what, unit="share", value=first / differ, low=share.low, high=share.high, how="exact binomial"
        ),
        printed=Finding(what="interval to hold", unit="share", value=0.5, how=BOUND),
    )


def _mostly_near(tests: Sequence[Test], margin: float) -> Judgement:
    """The verdict of `sentbook.runs.verdicts.near` that more than half of the cells have, else inconclusive."""
    counts = Counter(near(test, margin)[0] for test in tests)
    verdict, most = counts.most_common(1)[0]
    sizes = np.abs([test.estimate for test in tests])
    return Judgement(
        verdict if 2 * most > len(tests) else "inconclusive",
        f"below {margin * 100:.0f} point in {int((sizes < margin).sum())} of {len(tests)} cells, "
        f"with all of its interval in {counts['reproduced']}, all of it beyond in {counts['not reproduced']}; "
        f"median {float(np.median(sizes)) * 100:.1f} points",
        ours=count("all of the interval within the margin", counts["reproduced"], len(tests), "cells"),
        printed=Finding(what="at least", unit="cells", value=len(tests) // 2 + 1, of=len(tests), how=BOUND),
    )


def _more_with_infersent(tests: Sequence[Test], book: Predictions) -> Judgement:
    """Sizes of MSE - KL with InferSent against those with the others, by Welch's t over cells."""
    sizes: dict[str, dict[str, list[float]]] = {}
    for test in tests:
        sizes.setdefault(encoder_of(test.a), {}).setdefault(test.dataset, []).append(abs(test.estimate))
    if not set(SETS) <= set(test_names(book)):
        return not_run(MINIWORLD)
    if any(name not in sizes.get(encoder, {}) for encoder in ENCODERS for name in SETS):
        return not_run("needs rows of both losses of all three encoders on all data sets")

    def of(encoders: Sequence[str], datasets: Sequence[str]) -> list[float]:
        return [size for encoder in encoders for name in datasets for size in sizes[encoder][name]]

    parts = [("all data sets", SETS), ("human activities", ACTIVITIES)]
    return all_of([beats(_welch(of(ENCODERS[2:], names), of(ENCODERS[:2], names), where)) for where, names in parts])


def _welch(a: Sequence[float], b: Sequence[float], where: str) -> Test:
    found = stats.ttest_ind(a, b, equal_var=False)
    bounds = found.confidence_interval()
    gap = float(np.mean(a) - np.mean(b))
    low, high = (float(bounds.low), float(bounds.high)) if np.isfinite(bounds.low) else (gap, gap)
    return Test(
        kind="Welch",
        a="|MSE − KL| with InferSent",
        b="with the others",
        dataset=f"{where} ({len(a)} and {len(b)} cells)",
        metric="difference",
        estimate=gap,
        low=low,
        high=high,
    )


# -- sample size -------------------------------------------------------------------------------------------------------


def at_smallest_share(book: Predictions, dev: Dev) -> tuple[Predictions, dict[tuple[str, str], float], float]:
    """Rows trained on the smallest share of the pairs, and UE, under their names without the share; and that share.

    Args:
        book: methods such as ``GRAN [FT] KL 10 %``; UE without a share, since it needs no pairs.
        dev: as of `table4`, methods spelt as in the book.

    Raises:
        ValueError: no method names a share.
    """
    parsed = {method: _SHARE.fullmatch(method) for method in book.methods}
    smallest = min(float(found["share"]) for found in parsed.values() if found)
    part, values = book.only([]), {}
    for method, found in parsed.items():
        if found is None and setting_of(method) != "UE":
            continue
        if found is not None and float(found["share"]) != smallest:
            continue
        name = method if found is None else found["method"]
        for dataset in book.names:
            part.take(book, method, dataset, name)
            if (method, dataset) in dev:
                values[name, dataset] = dev[method, dataset]
    return part, values, smallest


def sample_size(book: Predictions, dev: Dev, resamples: int) -> list[Claim]:
    """The fewest training pairs.

    Args: as `at_smallest_share`.
    """
    part, values, share = at_smallest_share(book, dev)
    settings = _Settings(best_rows(values, part), resamples)
    cells = judged_cells(settings.best)
    if not cells:
        return [judge(name, not_run("needs all four settings of an encoder")) for name in ("dnt-26", "dnt-27")]
    over_none = [
        settings.test(setting, "UE", cell).model_copy(update={"a": "a setting that trains"})
        for cell in cells
        for setting in TRAINED
    ]
    leads = settings.dnt_leads(cells, ("FT", "NT"))
    rows = f"cells with {share:g} % of the pairs"
    return [
        judge("dnt-26", wins(over_none, len(over_none) // 2 + 1, rows=rows, stated=False)),
        judge("dnt-27", wins(leads, len(leads) // 2 + 1, rows=rows, stated=False)),
    ]
