"""Labels from frozen sentence vectors by logistic regression, C chosen by cross-validation: two published protocols."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from sentbook.evaluation import folds, logistic
from sentbook.evaluation.folds import Order
from sentbook.evaluation.protocols import MEASURES, Measure

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Precision = Literal["float32", "float64"]


class Scheme(StrEnum):
    """Where the numbers come from: rows of the folds left out, or a test set."""

    NESTED = "nested"
    ONE_TEST = "one test"


def powers_of_two(least: int, most: int) -> tuple[float, ...]:
    """$2^{least}, \\ldots, 2^{most}$.

    Example:
        >>> powers_of_two(-1, 2)
        (0.5, 1.0, 2.0, 4.0)
    """
    return tuple(2.0**power for power in range(least, most + 1))


@dataclass(frozen=True)
class ClassificationProtocol:
    """One way to a classification number; `str` is what table headers print.

    In a nested evaluation every outer fold is predicted by a regression on the others, whose C is the best on average
    over as many inner folds of theirs. With one test, C is chosen over folds of the training set. Of several C that are
    best, the smallest.

    Attributes:
        family: whose protocol it is.
        grid: the C tried, rising.
        choice: what the inner folds measure.
        order: the rows' order when folds are cut from them (see `sentbook.evaluation.folds`).
        stratified: whether every fold has the classes' shares.
        digits: a mean over inner folds is rounded to so many decimals before the best is taken.

    Example:
        >>> str(SKIP_THOUGHTS_NESTED)
        'skip-thoughts, logistic regression, nested 10-fold, C of 2^0..2^8 by accuracy, shuffled rows, seed 1234'
    """

    family: Literal["skip-thoughts", "SentEval"]
    scheme: Scheme
    grid: tuple[float, ...]
    choice: Measure = Measure.ACCURACY
    folds: int = 10
    order: Order = "shuffled"
    stratified: bool = False
    seed: int = 1234
    digits: int = 12

    def __post_init__(self) -> None:
        if self.choice not in (Measure.ACCURACY, Measure.F1) or self.folds < 2:
            raise ValueError("C is chosen by accuracy or F1 over at least two folds.")
        if list(self.grid) != sorted(set(self.grid)) or not self.grid or self.grid[0] <= 0:
            raise ValueError("The values of C are positive and rise.")

    def __str__(self) -> str:
        way = f"nested {self.folds}-fold" if self.scheme is Scheme.NESTED else f"{self.folds}-fold on train, one test"
        rows = "shuffled rows" if self.order == "shuffled" else "rows by length"
        rows = f"stratified {rows}" if self.stratified else rows
        low, high = (f"2^{math.log2(c):g}" for c in (self.grid[0], self.grid[-1]))
        grid = low if len(self.grid) == 1 else f"{low}..{high}"
        return f"{self.family}, logistic regression, {way}, C of {grid} by {self.choice}, {rows}, seed {self.seed}"


# Kiros et al. 2015 as released: accuracy for MR, CR, SUBJ, MPQA and TREC, F1 for MSRP; Gan et al. 2017 follow it.
_SCAN = powers_of_two(0, 8)
SKIP_THOUGHTS_NESTED = ClassificationProtocol("skip-thoughts", Scheme.NESTED, _SCAN)
SKIP_THOUGHTS_TREC = ClassificationProtocol("skip-thoughts", Scheme.ONE_TEST, _SCAN)
SKIP_THOUGHTS_MSRP = ClassificationProtocol("skip-thoughts", Scheme.ONE_TEST, _SCAN, Measure.F1)
# Conneau and Kiela 2018 with `usepytorch=False`: no hidden layer, nor Adam's early stopping.
SENTEVAL_NESTED = ClassificationProtocol(
    "SentEval", Scheme.NESTED, powers_of_two(-2, 3), order="by length", stratified=True, seed=1111, digits=4
)
SENTEVAL_ONE_TEST = ClassificationProtocol(
    "SentEval", Scheme.ONE_TEST, powers_of_two(-1, 5), order="by length", stratified=True, seed=1111, digits=4
)


@dataclass(frozen=True)
class Classified:
    """Labels predicted under a protocol.

    Attributes:
        protocol: how.
        gold, predicted: (N,) classes of the rows that are judged.
        fold: (N,) the outer fold of each; all 0 with one test.
        inner: (outer folds, grid) means over inner folds, by which C was chosen.
        chosen: (outer folds,) C.
    """

    protocol: ClassificationProtocol
    gold: Labels
    predicted: Labels
    fold: Labels
    inner: Array
    chosen: Array

    @property
    def right(self) -> NDArray[np.bool_]:
        """(N,) whether each label is right."""
        return self.predicted == self.gold

    def value(self, measure: Measure = Measure.ACCURACY) -> float:
        """The mean over outer folds of the accuracy, or of the F1 of class 1."""
        parts = [self.fold == number for number in range(len(self.chosen))]
        return float(np.mean([MEASURES[measure](self.predicted[part], self.gold[part]) for part in parts]))


def pair_features(first: ArrayLike, second: ArrayLike) -> NDArray[np.float32]:
    r"""$[\,|u - v|, \; u \odot v\,]$: (N, F) and (N, F) to (N, 2F).

    Source: Tai et al. 2015; Gan et al. 2017, section 4.2, "Paraphrase detection"; without the six features of the
    surface that Kiros et al. add.

    Example:
        >>> pair_features([[1.0, 2.0]], [[3.0, 1.0]]).tolist()
        [[2.0, 1.0, 3.0, 2.0]]
    """
    one, other = np.asarray(first, dtype=np.float32), np.asarray(second, dtype=np.float32)
    return np.concatenate([np.abs(one - other), one * other], axis=1)


def nested(
    features: ArrayLike,
    labels: ArrayLike,
    protocol: ClassificationProtocol = SKIP_THOUGHTS_NESTED,
    *,
    lengths: ArrayLike | None = None,
    device: str | torch.device = "cpu",
    precision: Precision = "float32",
    tolerance: float = 1e-9,
) -> Classified:
    """Every row's label, predicted by a regression on the other outer folds with the C that their inner folds chose.

    For each C the regressions of all inner folds of all outer folds are solved together
    (`sentbook.evaluation.logistic.fit`), beginning at the solutions for the C before.

    Source: Kiros et al. 2015 and Gan et al. 2017, section 4.2, "Classification benchmarks" (MR, CR, SUBJ, MPQA).
    Deviations: the released code's solver penalises the intercept too; here it is free.

    Args:
        features: (N, F) frozen sentence vectors.
        labels: (N,) classes 0..K-1.
        lengths: (N,) tokens of each sentence, for a protocol that orders by length.
        tolerance: see `sentbook.evaluation.logistic.fit`.

    Raises:
        ValueError: a protocol of another scheme, or shapes that do not fit.
        NumericalError: a feature is NaN or infinite, or a regression does not converge.

    Example:
        >>> features = np.arange(40.0).reshape(40, 1) % 8
        >>> found = nested(features, features[:, 0] > 3.5)
        >>> found.value(), found.chosen.shape, found.inner.shape
        (1.0, (10,), (10, 9))
    """
    _require(protocol, Scheme.NESTED)
    table, gold = _checked(features, labels, precision, device)
    order = folds.ordered(protocol.order, gold, protocol.seed, lengths)
    outer = folds.assign(gold, order, protocol.folds, protocol.stratified, protocol.seed)
    inner = []
    for number in range(protocol.folds):
        kept = order[outer[order] != number]
        inner.append(folds.assign(gold, kept, protocol.folds, protocol.stratified, protocol.seed))
    principal = logistic.Principal(table)
    means = _scan(principal, gold, np.stack(inner), protocol, tolerance)
    chosen = _choose(means, protocol)
    training = outer[None] != np.arange(protocol.folds)[:, None]
    predicted = _fit(principal, gold, training, chosen, tolerance).predict().cpu().numpy()
    return Classified(protocol, gold, predicted[outer, np.arange(len(gold))], outer, means, chosen)


def train_and_test(
    train: ArrayLike,
    train_labels: ArrayLike,
    test: ArrayLike,
    test_labels: ArrayLike,
    protocol: ClassificationProtocol = SKIP_THOUGHTS_TREC,
    *,
    lengths: ArrayLike | None = None,
    device: str | torch.device = "cpu",
    precision: Precision = "float32",
    tolerance: float = 1e-9,
) -> Classified:
    """The test rows' labels, by a regression on all training rows with the C that folds of them chose.

    Source: Kiros et al. 2015 and Gan et al. 2017, section 4.2: TREC, and MSRP on `pair_features`.
    Deviations: more than two classes by one softmax; the released code's solver takes one class against the rest.

    Args:
        train, test: (N, F) and (M, F) features.
        train_labels, test_labels: (N,) and (M,) classes 0..K-1.
        lengths: (N,) tokens of each training sentence, or (N, 2) of each pair's, for a protocol that orders by length.
        tolerance: see `sentbook.evaluation.logistic.fit`.

    Raises:
        ValueError, NumericalError: as `nested`.
    """
    _require(protocol, Scheme.ONE_TEST)
    table, gold = _checked(train, train_labels, precision, device)
    other, other_gold = _checked(test, test_labels, precision, device)
    order = folds.ordered(protocol.order, gold, protocol.seed, lengths)
    parts = folds.assign(gold, order, protocol.folds, protocol.stratified, protocol.seed)
    principal = logistic.Principal(table)
    means = _scan(principal, gold, parts[None], protocol, tolerance)
    chosen = _choose(means, protocol)
    fitted = _fit(principal, gold, np.ones((1, len(gold)), dtype=bool), chosen, tolerance)
    predicted = fitted.predict_other(principal.project(other))[0].cpu().numpy()
    return Classified(protocol, other_gold, predicted, np.zeros_like(other_gold), means, chosen)


def _scan(
    principal: logistic.Principal, gold: Labels, parts: Labels, protocol: ClassificationProtocol, tolerance: float
) -> Array:
    """(O, grid) means over the inner folds of each of O divisions; ``parts`` (O, N), -1 for rows that are left out."""
    numbers = np.arange(protocol.folds)[None, :, None]
    held = (parts[:, None] == numbers).reshape(-1, len(gold))
    training = ((parts[:, None] != numbers) & (parts[:, None] >= 0)).reshape(-1, len(gold))
    means, fitted = [], None
    for strength in protocol.grid:
        fitted = _fit(principal, gold, training, np.full(len(training), strength), tolerance, fitted)
        predicted = fitted.predict().cpu().numpy()
        values = [MEASURES[protocol.choice](row[part], gold[part]) for row, part in zip(predicted, held, strict=True)]
        means.append(np.reshape(values, (len(parts), -1)).mean(axis=1))
    return np.stack(means, axis=1)


def _choose(means: Array, protocol: ClassificationProtocol) -> Array:
    best = np.round(means, protocol.digits).argmax(axis=1)  # the first of several, hence the smallest C
    return np.asarray(protocol.grid)[best]


def _fit(
    principal: logistic.Principal,
    gold: Labels,
    training: NDArray[np.bool_],
    strength: Array,
    tolerance: float,
    start: logistic.Fits | None = None,
) -> logistic.Fits:
    rows = principal.rows
    return logistic.fit(
        rows,
        torch.from_numpy(gold).to(rows.device),
        int(gold.max()) + 1,
        torch.from_numpy(training).to(rows.device),
        torch.from_numpy(strength).to(rows.device),
        start=start,
        tolerance=tolerance,
    )


def _require(protocol: ClassificationProtocol, scheme: Scheme) -> None:
    if protocol.scheme is not scheme:
        raise ValueError(f"This is an evaluation of the scheme '{scheme}', not of '{protocol.scheme}'.")


def _checked(
    features: ArrayLike, labels: ArrayLike, precision: Precision, device: str | torch.device
) -> tuple[Tensor, Labels]:
    table = torch.as_tensor(np.asarray(features), dtype=getattr(torch, precision), device=device)
    gold = np.asarray(labels).astype(np.int64)
    if table.ndim != 2 or gold.shape != table.shape[:1] or not len(gold) or gold.min() < 0:
        raise ValueError(f"Features {tuple(table.shape)} and labels {gold.shape} do not fit.")
    return table, gold
