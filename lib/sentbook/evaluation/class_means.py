"""Labels from sentence vectors by the nearest class mean: a classifier with nothing to train."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.io import NumericalError


def nearest_mean(train: ArrayLike, labels: ArrayLike, test: ArrayLike) -> NDArray[np.int64]:
    r"""(M,) classes of the test vectors: the class whose mean has the largest cosine with the vector.

    $$\hat y(x) = \arg\max_k \cos(x, m_k), \qquad m_k = \frac{1}{N_k} \sum_{i: y_i = k} x_i / \lVert x_i \rVert.$$

    Of several classes that are equally near, the first. A vector of zeros is of class 0.

    Source: Rocchio 1971; here it is what the cosine alone says of a class, the counterpart of unsupervised evaluation.

    Args:
        train, test: (N, F) and (M, F) vectors.
        labels: (N,) classes 0..K-1, each with a vector.

    Raises:
        ValueError: shapes do not fit, or a class has no vector.
        NumericalError: a vector is NaN or infinite.

    Example:
        >>> nearest_mean([[1, 0], [2, 0.1], [0, 1]], [0, 0, 1], [[5, 1], [1, 5]]).tolist()
        [0, 1]
    """
    known, asked, gold = _units(train), _units(test), np.asarray(labels, dtype=np.int64)
    if gold.shape != known.shape[:1] or known.shape[1:] != asked.shape[1:] or not len(gold):
        raise ValueError(f"Vectors {known.shape}, labels {gold.shape} and vectors {asked.shape} do not fit.")
    counts = np.bincount(gold)
    if not counts.all():
        raise ValueError(f"Class {int(counts.argmin())} has no training vector.")
    means = np.eye(len(counts))[gold].T @ known
    return np.asarray((asked @ _units(means).T).argmax(axis=1), dtype=np.int64)


def _units(vectors: ArrayLike) -> NDArray[np.float64]:
    """(N, F) vectors of length 1; a vector of zeros stays."""
    table = np.asarray(vectors, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"Vectors of shape {table.shape} are no table.")
    if not np.isfinite(table).all():
        raise NumericalError("A sentence vector is NaN or infinite; train the encoder with a lower learning rate.")
    norms = np.linalg.norm(table, axis=1, keepdims=True)
    return table / np.where(norms > 0, norms, 1)
