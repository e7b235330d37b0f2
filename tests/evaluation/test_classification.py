"""Nested cross-validation and one test against loops over scikit-learn; what chooses C sees no test label."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from sentbook import records
from sentbook.evaluation import logistic
from sentbook.evaluation.classification import (
    SENTEVAL_NESTED,
    SENTEVAL_ONE_TEST,
    SKIP_THOUGHTS_MSRP,
    SKIP_THOUGHTS_NESTED,
    SKIP_THOUGHTS_TREC,
    ClassificationProtocol,
    assign_folds,
    evaluate,
    fold_order,
)
from sentbook.evaluation.protocols import Measure
from sentbook.io import NumericalError

GRID = (0.01, 1.0, 100.0)
NESTED = dataclasses.replace(SKIP_THOUGHTS_NESTED, folds=3, grid=GRID)
STRATIFIED = dataclasses.replace(SENTEVAL_NESTED, folds=3, grid=GRID)


def made(rows: int = 240, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and lengths."""
    table, labels = make_classification(
        rows,
        25,
        n_informative=6,
        n_classes=classes,
        flip_y=0.15,
        weights=[0.6 / classes] * (classes - 1),
        random_state=seed,
    )
    return table, labels, np.random.default_rng(seed).integers(3, 30, rows)


def reference(c: float, table: np.ndarray, labels: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=c, solver="newton-cg", tol=1e-8, max_iter=2000).fit(table, labels)


def scan(table: np.ndarray, labels: np.ndarray, parts: np.ndarray, choice: Measure) -> list[float]:
    """Means over the folds of ``parts``, by loops."""
    means = []
    for c in GRID:
        values = []
        for fold in range(parts.max() + 1):
            training, held = (parts >= 0) & (parts != fold), parts == fold
            found = reference(c, table[training], labels[training]).predict(table[held])
            accuracy = float((found == labels[held]).mean())
            values.append(accuracy if choice is Measure.ACCURACY else f1_score(labels[held], found))
        means.append(float(np.mean(values)))
    return means


@pytest.mark.parametrize("protocol", [NESTED, STRATIFIED], ids=["skip-thoughts", "SentEval"])
def test_nested_is_scikit_learn_in_loops(protocol: ClassificationProtocol) -> None:
    table, labels, lengths = made()
    found = evaluate(table, labels, protocol, lengths=lengths, precision="float64", tolerance=1e-12)
    order = fold_order(protocol.order, labels, protocol.seed, lengths)
    outer = assign_folds(labels, order, 3, protocol.stratified, protocol.seed)
    np.testing.assert_array_equal(found.fold, outer)
    for fold in range(3):
        kept = order[outer[order] != fold]
        inner = assign_folds(labels, kept, 3, protocol.stratified, protocol.seed)
        means = scan(table, labels, inner, Measure.ACCURACY)
        assert found.inner[fold] == pytest.approx(means, abs=1e-12)
        assert found.chosen[fold] == GRID[int(np.argmax(np.round(means, protocol.digits)))]
        model = reference(found.chosen[fold], table[outer != fold], labels[outer != fold])
        predicted = model.predict(table[outer == fold])
        np.testing.assert_array_equal(found.predicted[outer == fold], predicted)


@pytest.mark.parametrize(
    ("protocol", "classes"),
    [(SKIP_THOUGHTS_TREC, 4), (SKIP_THOUGHTS_MSRP, 2), (SENTEVAL_ONE_TEST, 3)],
    ids=["TREC", "MSRP", "SentEval"],
)
def test_one_test_is_scikit_learn_in_loops(protocol: ClassificationProtocol, classes: int) -> None:
    protocol = dataclasses.replace(protocol, folds=4, grid=GRID)
    table, labels, lengths = made(300, classes, seed=3)
    train, test = slice(0, 200), slice(200, None)
    found = evaluate(
        table[train], labels[train], protocol, (table[test], labels[test]),
        lengths=lengths[train], precision="float64", tolerance=1e-12,
    )  # fmt: skip
    order = fold_order(protocol.order, labels[train], protocol.seed, lengths[train])
    parts = assign_folds(labels[train], order, 4, protocol.stratified, protocol.seed)
    means = scan(table[train], labels[train], parts, protocol.choice)
    assert found.inner[0] == pytest.approx(means, abs=1e-12)
    model = reference(GRID[int(np.argmax(np.round(means, protocol.digits)))], table[train], labels[train])
    assert found.chosen.tolist() == [model.C]
    np.testing.assert_array_equal(found.predicted, model.predict(table[test]))
    np.testing.assert_array_equal(found.gold, labels[test])


def test_where_rounding_stops_a_descent_double_precision_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    table, labels, _ = made()
    tried, fit = [], logistic.fit

    def stalled(rows: torch.Tensor, *given: Any, **named: Any) -> logistic.Fits:
        tried.append(rows.dtype)
        if rows.dtype == torch.float32:
            raise NumericalError("A regression does not converge.")
        return fit(rows, *given, **named)

    monkeypatch.setattr(logistic, "fit", stalled)
    found = evaluate(table, labels, NESTED)
    assert tried[:2] == [torch.float32, torch.float64] and (found.predicted == labels).mean() > 0.6


def test_the_protocols_are_those_of_the_recorded_numbers() -> None:
    run = records.read("cnn_lstm/table3")
    assert run is not None
    protocols = SKIP_THOUGHTS_NESTED, SKIP_THOUGHTS_TREC, SKIP_THOUGHTS_MSRP, SENTEVAL_NESTED, SENTEVAL_ONE_TEST
    assert {row.protocol for row in run.metrics} == {str(one) for one in protocols}
