"""Many regressions at once against scikit-learn's, one at a time; features on their principal axes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from sentbook.evaluation.logistic import Fits, Principal, fit

ROWS, FOLDS = 150, 3


def made(classes: int, features: int, seed: int = 0) -> tuple[torch.Tensor, np.ndarray]:
    """Features away from 0 and of different size, with overlapping classes."""
    rng = np.random.default_rng(seed)
    table, labels = make_classification(
        ROWS, features, n_informative=8, n_redundant=0, n_classes=classes, flip_y=0.1, random_state=seed
    )
    return torch.from_numpy(table * rng.uniform(0.2, 2, features) + rng.normal(size=features)), labels


def folds() -> torch.Tensor:
    return torch.stack([torch.arange(ROWS) % FOLDS != fold for fold in range(FOLDS)])


def solved(
    table: torch.Tensor, labels: np.ndarray, strength: torch.Tensor, training: torch.Tensor, tolerance: float = 1e-13
) -> tuple[Principal, Fits]:
    principal = Principal(table)
    classes = int(labels.max()) + 1
    return principal, fit(principal.rows, torch.from_numpy(labels), classes, training, strength, tolerance=tolerance)


@pytest.mark.parametrize("features", [20, 400], ids=["narrow", "wide"])
@pytest.mark.parametrize("classes", [2, 4])
def test_coefficients_and_decisions_are_those_of_scikit_learn(classes: int, features: int) -> None:
    table, labels = made(classes, features)
    grid = [0.25, 8.0, 256.0]
    training = folds().repeat(len(grid), 1)
    strength = torch.tensor(grid).repeat_interleave(FOLDS)  # all folds and all C at once
    principal, found = solved(table, labels, strength, training)
    for number, (rows, c) in enumerate(zip(training.numpy(), strength.tolist(), strict=True)):
        reference = LogisticRegression(C=c, solver="newton-cg", tol=1e-9, max_iter=5000)
        reference.fit(table.numpy()[rows], labels[rows])
        weights = (found.weights[number] @ principal.axes.T).numpy()
        bias = found.bias[number].numpy() - weights @ principal.mean.numpy()
        largest = np.abs(reference.coef_).max()
        np.testing.assert_allclose(weights / largest, reference.coef_ / largest, atol=2e-4)
        wanted = reference.intercept_ if classes == 2 else reference.intercept_ - reference.intercept_.mean()
        bias = bias if classes == 2 else bias - bias.mean()
        np.testing.assert_allclose(bias, wanted, atol=2e-3 * max(1, np.abs(wanted).max()))
        np.testing.assert_array_equal(found.predict()[number].numpy(), reference.predict(table.numpy()))


@pytest.mark.parametrize("classes", [2, 3])
def test_single_precision_decides_alike(classes: int) -> None:
    table, labels = made(classes, 30)
    strength, training = torch.tensor([1.0, 16.0, 256.0]), folds()
    _, exact = solved(table, labels, strength, training)
    _, fast = solved(table.float(), labels, strength, training, tolerance=1e-8)
    assert fast.weights.dtype == torch.float32 and fast.iterations < exact.iterations
    assert (exact.predict() == fast.predict()).float().mean() > 0.995
    assert (exact.scores - fast.scores).abs().max() < 0.02 * exact.scores.abs().max()


def test_neither_the_start_nor_the_company_decides() -> None:
    table, labels = made(3, 20)
    principal, small = solved(table, labels, torch.full((FOLDS,), 0.5), folds())
    strength = torch.full((FOLDS,), 4.0)
    gold = torch.from_numpy(labels)
    cold = fit(principal.rows, gold, 3, folds(), strength, tolerance=1e-13)
    warm = fit(principal.rows, gold, 3, folds(), strength, start=small, tolerance=1e-13)
    alone = fit(principal.rows, gold, 3, folds()[:1], strength[:1], tolerance=1e-13)
    assert torch.allclose(cold.scores, warm.scores, atol=1e-4)
    assert torch.allclose(cold.scores[:1], alone.scores, atol=1e-4)
    assert bool((cold.gap <= 1e-13).all())
    again = fit(principal.rows, gold, 3, folds(), strength, start=cold, tolerance=1e-12)
    assert again.iterations == 0 and torch.equal(again.weights, cold.weights)


@pytest.mark.parametrize("features", [5, 60])
def test_principal_axes_keep_distances(features: int) -> None:
    table = torch.randn(20, features, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 3
    principal = Principal(table)
    assert principal.rows.shape == (20, min(features, 20))
    torch.testing.assert_close(torch.cdist(principal.rows, principal.rows), torch.cdist(table, table))
    torch.testing.assert_close(principal.project(table), principal.rows)
    spread = principal.rows.T @ principal.rows
    torch.testing.assert_close(spread, torch.diag(spread.diagonal()))
    assert principal.rows.sum(dim=0).abs().max() < 1e-9


def test_constant_features_and_separable_classes() -> None:
    table = torch.zeros(20, 3, dtype=torch.float64)
    table[10:, 0] = 1
    labels = (torch.arange(20) >= 10).long()
    found = fit(Principal(table).rows, labels, 2, torch.ones(2, 20, dtype=torch.bool), torch.tensor([1e-6, 1e6]))
    assert torch.equal(found.predict()[1], labels) and bool(found.weights.isfinite().all())


def test_float64_goes_on_beyond_300_iterations() -> None:
    assert solved(*made(6, 20), torch.full((FOLDS,), 1e3), folds())[1].iterations > 300
