"""Labels from frozen sentence vectors by logistic regression, C chosen by cross-validation: two published protocols."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from sentbook.evaluation import logistic
from sentbook.evaluation.protocols import MEASURES, Measure
from sentbook.io import NumericalError

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Precision = Literal["float32", "float64"]
Order = Literal["shuffled", "by length"]
# Nats a training row. A tenth of it moves no mean over inner folds by more than .0005, and takes a quarter longer.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class ClassificationProtocol:
    """One way to a classification number; `str` is what table headers print.

    In a nested evaluation every outer fold is predicted by a regression on the others, whose C is the best on average
    over as many inner folds of theirs. With one test, C is chosen over folds of the training set. Of several C that are
    best, the smallest.

    Attributes:
        family: whose protocol it is.
        scheme: ``nested``: rows of the folds left out are judged; ``one test``: a test set.
        grid: the C tried, rising.
        choice: what the inner folds measure.
        order: the rows' order when folds are cut from them, see `fold_order`.
        stratified: whether every fold has the classes' shares.
        digits: a mean over inner folds is rounded to so many decimals before the best is taken.

    Example:
        >>> str(SKIP_THOUGHTS_NESTED)
        'skip-thoughts, logistic regression, nested 10-fold, C of 2^0..2^8 by accuracy, shuffled rows, seed 1234'
    """

    family: Literal["skip-thoughts", "SentEval"]
    scheme: Literal["nested", "one test"]
    grid: tuple[float, ...]
    choice: Measure = Measure.ACCURACY
    folds: int = 10
    order: Order = "shuffled"
    stratified: bool = False
    seed: int = 1234
    digits: int = 12

    def __str__(self) -> str:
        way = f"nested {self.folds}-fold" if self.scheme == "nested" else f"{self.folds}-fold on train, one test"
        rows = "shuffled rows" if self.order == "shuffled" else "rows by length"
        rows = f"stratified {rows}" if self.stratified else rows
        low, high = (f"2^{math.log2(c):g}" for c in (self.grid[0], self.grid[-1]))
        grid = low if len(self.grid) == 1 else f"{low}..{high}"
        return f"{self.family}, logistic regression, {way}, C of {grid} by {self.choice}, {rows}, seed {self.seed}"


# Kiros et al. 2015 as released: accuracy for MR, CR, SUBJ, MPQA and TREC, F1 for MSRP; Gan et al. 2017 follow it.
_SCAN = tuple(2.0**power for power in range(9))
SKIP_THOUGHTS_NESTED = ClassificationProtocol("skip-thoughts", "nested", _SCAN)
SKIP_THOUGHTS_TREC = ClassificationProtocol("skip-thoughts", "one test", _SCAN)
SKIP_THOUGHTS_MSRP = ClassificationProtocol("skip-thoughts", "one test", _SCAN, Measure.F1)
# Conneau and Kiela 2018 with `usepytorch=False`: no hidden layer, nor Adam's early stopping.
_SENTEVAL_SCAN = tuple(2.0**power for power in range(-2, 6))
SENTEVAL_NESTED = ClassificationProtocol(
    "SentEval", "nested", _SENTEVAL_SCAN[:6], order="by length", stratified=True, seed=1111, digits=4
)
SENTEVAL_ONE_TEST = ClassificationProtocol(
    "SentEval", "one test", _SENTEVAL_SCAN[1:], order="by length", stratified=True, seed=1111, digits=4
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


def pair_features(first: ArrayLike, second: ArrayLike) -> NDArray[np.float32]:
    r"""Return $[\,|u - v|, \; u \odot v\,]$: (N, F) and (N, F) to (N, 2F).

    Source: Tai et al. 2015; Gan et al. 2017, section 4.2, "Paraphrase detection"; without the six features of the
    surface that Kiros et al. add.

    Example:
        >>> pair_features([[1.0, 2.0]], [[3.0, 1.0]]).tolist()
        [[2.0, 1.0, 3.0, 2.0]]
    """
    one, other = np.asarray(first, dtype=np.float32), np.asarray(second, dtype=np.float32)
    return np.concatenate([np.abs(one - other), one * other], axis=1)


def evaluate(
    train: ArrayLike,
    labels: ArrayLike,
    protocol: ClassificationProtocol,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    lengths: ArrayLike | None = None,
    device: str | torch.device = "cpu",
    precision: Precision | None = None,
    tolerance: float = TOLERANCE,
) -> Classified:
    """Predict every row's label from the other outer folds, or those of a test set, under a protocol.

    Nested: a regression on the other outer folds with the C that their inner folds chose. With one test: a regression
    on all training rows with the C that folds of them chose. For each C the regressions of all inner folds of all outer
    folds are solved together (`sentbook.evaluation.logistic.fit`), beginning at the solutions for the C before.

    Source: Kiros et al. 2015 and Gan et al. 2017, section 4.2, "Classification benchmarks": nested for MR, CR, SUBJ and
    MPQA; one test for TREC, and for MSRP on `pair_features`.
    Deviations: the released code's solver penalises the intercept too, here it is free; more than two classes by one
    softmax, where the released code's solver takes one class against the rest.

    Args:
        train: (N, F) frozen sentence vectors, or features of pairs.
        labels: (N,) classes 0..K-1.
        test: (M, F) features and (M,) labels of a test set.
        lengths: (N,) tokens of each sentence, or (N, 2) of each pair's, for a protocol that orders by length.
        precision: None: float32, and float64 where rounding stops the descent.
        tolerance: see `sentbook.evaluation.logistic.fit`.

    Raises:
        NumericalError: a feature is NaN or infinite, or a regression does not converge.

    Example:
        >>> features = np.arange(40.0).reshape(40, 1) % 8
        >>> found = evaluate(features, features[:, 0] > 3.5, SKIP_THOUGHTS_NESTED)
        >>> bool((found.predicted == found.gold).all()), found.chosen.shape, found.inner.shape
        (True, (10,), (10, 9))
    """
    if precision is None:
        given = partial(evaluate, train, labels, protocol, test, lengths=lengths, device=device, tolerance=tolerance)
        try:
            return given(precision="float32")
        except NumericalError:
            return given(precision="float64")
    table, gold = _tensors(train, labels, precision, device)
    order = fold_order(protocol.order, gold, protocol.seed, lengths)
    divide = partial(assign_folds, gold, folds=protocol.folds, stratified=protocol.stratified, seed=protocol.seed)
    outer, numbers = divide(order), np.arange(protocol.folds)
    principal = logistic.Principal(table)
    inner, training = outer[None], np.ones((1, len(gold)), dtype=bool)
    if test is None:
        inner = np.stack([divide(order[outer[order] != number]) for number in numbers])
        training = outer != numbers[:, None]
    means = _scan(principal, gold, inner, protocol, tolerance)
    best = np.round(means, protocol.digits).argmax(axis=1)  # the first of several, hence the smallest C
    chosen = np.asarray(protocol.grid)[best]
    fits = _fit(principal, gold, training, chosen, tolerance)
    if test is None:
        predicted = fits.predict().cpu().numpy()[outer, np.arange(len(gold))]
        return Classified(protocol, gold, predicted, outer, means, chosen)
    other, other_gold = _tensors(*test, precision, device)
    predicted = fits.predict_other(principal.project(other))[0].cpu().numpy()
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


def _fit(
    principal: logistic.Principal,
    gold: Labels,
    training: NDArray[np.bool_],
    strength: Array,
    tolerance: float,
    start: logistic.Fits | None = None,
) -> logistic.Fits:
    rows, parts = principal.rows, map(torch.from_numpy, (gold, training, strength))
    labels, inside, c = (part.to(rows.device) for part in parts)
    return logistic.fit(rows, labels, max(int(gold.max()) + 1, 2), inside, c, start=start, tolerance=tolerance)


def _tensors(
    features: ArrayLike, labels: ArrayLike, precision: Precision, device: str | torch.device
) -> tuple[Tensor, Labels]:
    table = torch.as_tensor(np.asarray(features), dtype=getattr(torch, precision), device=device)
    gold = np.asarray(labels).astype(np.int64)
    return table, gold


# -- folds, the same every time ----------------------------------------------------------------------------------------


def fold_order(order: Order, labels: Labels, seed: int, lengths: ArrayLike | None = None) -> Labels:
    """Return (N,) rows in the order from which folds are cut.

    Args:
        order: ``shuffled``: one permutation by ``seed`` (the released skip-thoughts code shuffles positive sentences
            before negative ones by its own generator, so that its folds hold other rows); ``by length``: by tokens,
            then by label, as SentEval sorts its sentences.
        lengths: (N,) tokens of each row, or (N, 2) of each pair's sentences, for ``by length``.

    Example:
        >>> fold_order("by length", np.array([1, 0, 0]), 0, [4, 4, 3]).tolist()
        [2, 1, 0]
    """
    if order == "shuffled":
        return np.random.default_rng(seed).permutation(len(labels))
    columns = np.reshape(np.asarray(lengths), (len(labels), -1)).T
    return np.lexsort((labels, *columns[::-1]))


def assign_folds(labels: Labels, order: Labels, folds: int, stratified: bool, seed: int) -> Labels:
    """Return (N,) the fold of each row, 0 to ``folds`` - 1; -1 for rows that ``order`` does not name.

    Plain folds are consecutive parts of ``order``, the first ones larger by one where the rows do not divide.
    Stratified folds are scikit-learn's, shuffled by ``seed``.

    Example:
        >>> assign_folds(np.zeros(5, dtype=np.int64), np.array([4, 3, 2, 0]), 2, False, 0).tolist()
        [1, -1, 1, 0, 0]
    """
    found = np.full(len(labels), -1, dtype=np.int64)
    if stratified:
        from sklearn.model_selection import StratifiedKFold  # a second to load

        division = StratifiedKFold(folds, shuffle=True, random_state=seed).split(order, labels[order])
        parts = [held for _, held in division]
    else:
        parts = np.array_split(np.arange(len(order)), folds)
    for number, part in enumerate(parts):
        found[order[part]] = number
    return found
