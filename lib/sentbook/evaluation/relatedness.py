"""Supervised relatedness (SICK): the three numbers that every paper prints."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from sentbook.evaluation.correlation import mse, pearson, spearman


class Relatedness(NamedTuple):
    """Pearson's r, Spearman's rho and the mean squared error, in the columns' order of Jiao et al. 2018, table 3."""

    pearson: float
    spearman: float
    mse: float


def evaluate(predictions: ArrayLike, gold: ArrayLike) -> Relatedness:
    r"""$r$, $\rho$ and $\frac{1}{N} \sum_i (\hat y_i - y_i)^2$.

    Args:
        predictions: (N,) on the scale of ``gold``: the error is that of the scale (1 to 5 for SICK).
        gold: (N,).

    Raises:
        ValueError: the lengths differ.
        NumericalError: a prediction is NaN or infinite.

    Source: Marelli et al. 2014, section 3; Jiao et al. 2018, section 4.2.

    Example:
        >>> evaluate([1.0, 2.0, 4.0], [1.0, 3.0, 4.0])._asdict()["mse"]
        0.3333333333333333
    """
    return Relatedness(pearson(predictions, gold), spearman(predictions, gold), mse(predictions, gold))
