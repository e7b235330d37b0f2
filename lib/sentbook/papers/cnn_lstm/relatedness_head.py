"""Graded relatedness from frozen sentence vectors: one softmax over the scores 1..K, as in skip-thoughts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional

from sentbook.evaluation.classification import pair_features
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.sts import MEASURES
from sentbook.models.losses.relatedness import sparse_target
from sentbook.system.errors import NumericalError
from sentbook.training.correlation import pearson

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RelatednessProtocol:
    """One way to a relatedness number; `str` is what table headers print.

    Training goes on in blocks of epochs until a block ends no better on the trial pairs than the best before; that
    best one's weights are kept.

    Attributes:
        family: whose protocol it is.
        classes: K, the highest score; the lowest is 1.
        epochs: of a block.
        batch_size: pairs of a step; their order is drawn once by the seed and stays.
        learning_rate: Adam's.
        blocks: training ends after so many in any case.

    Example:
        >>> str(SKIP_THOUGHTS_RELATEDNESS)
        'skip-thoughts, softmax over scores 1..5, Adam .001, batches of 128, blocks of 100 epochs by trial pearson'
    """

    family: Literal["skip-thoughts"] = "skip-thoughts"
    classes: int = 5
    epochs: int = 100
    batch_size: int = 128
    learning_rate: float = 1e-3
    blocks: int = 30

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch_size, self.blocks) < 1 or self.classes < 2 or not self.learning_rate > 0:
            raise ValueError("Two classes or more, and blocks, epochs, batches and a learning rate above 0.")

    def __str__(self) -> str:
        rate = f"{self.learning_rate:g}".lstrip("0")
        return (
            f"{self.family}, softmax over scores 1..{self.classes}, Adam {rate}, "
            f"batches of {self.batch_size}, blocks of {self.epochs} epochs by trial {Measure.PEARSON}"
        )


SKIP_THOUGHTS_RELATEDNESS = RelatednessProtocol()


class PairVectors(NamedTuple):
    """N pairs: (N, F) vectors of the first and of the second sentences, and (N,) scores in [1, K]."""

    first: ArrayLike
    second: ArrayLike
    gold: ArrayLike


@dataclass(frozen=True)
class Predicted:
    """Scores predicted under a protocol.

    Attributes:
        protocol: how.
        gold, test: (N,) scores of the test pairs, given and predicted.
        trial: (M,) predicted scores of the trial pairs.
        epochs: after which the weights were kept.
        history: the trial pairs' Pearson's r at each block's end.
    """

    protocol: RelatednessProtocol
    gold: Array
    test: Array
    trial: Array
    epochs: int
    history: tuple[float, ...]

    def value(self, measure: Measure = Measure.PEARSON) -> float:
        """Pearson's r, Spearman's rho or the mean squared error on the test pairs."""
        return MEASURES[measure](self.test, self.gold)


def relatedness(
    train: PairVectors,
    trial: PairVectors,
    test: PairVectors,
    protocol: RelatednessProtocol = SKIP_THOUGHTS_RELATEDNESS,
    *,
    seed: int,
    device: str | torch.device = "cpu",
) -> Predicted:
    r"""$\hat y = r^\top \hat p$, $\hat p = \mathrm{softmax}(W [\,|u - v|, \; u \odot v\,] + b)$, $r = (1, \ldots, K)$.

    W and b are trained by the cross-entropy of $\hat p$ with the sparsest distribution of expectation y
    (`sentbook.models.losses.relatedness.sparse_target`), without a penalty: the number of blocks is what is chosen on
    the trial pairs. Float32; on one device and thread count a seed gives the same bits again.

    Source: Gan et al. 2017, section 4.2, "Semantic relatedness": features as for MSRP, "the method in Tai et al.
    (2015)", "the cross-entropy loss". Tai et al. have a hidden layer and a KL divergence of the same gradient; one
    softmax layer alone is skip-thoughts' (Kiros et al. 2015, section 3.2), with whose numbers table 5 compares.
    Deviations: neither paper states optimiser, batches or when training ends. They are those of the released
    skip-thoughts code: Adam at .001, uniform initial weights in $\pm\sqrt{6 / (2F + K)}$ and biases of 0, batches of
    128 in an order drawn once, blocks of 100 epochs (defaults of its library) until trial Pearson's r stops rising.
    The code sets no largest number of blocks; here it is ``protocol.blocks``.

    Args:
        train: what W and b are trained on.
        trial: what ends the training.
        test: what is predicted; its scores enter `Predicted.value` alone.
        seed: of the initial weights and of the order of training pairs.

    Raises:
        ValueError: shapes that do not fit, no pair, or a score outside [1, K].
        NumericalError: a vector or a score is NaN or infinite, or training diverges.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> first, second = rng.normal(size=(2, 40, 3))
        >>> pairs = PairVectors(first, second, 5 - np.minimum(np.abs(first - second).mean(axis=1), 4))
        >>> relatedness(pairs, pairs, pairs, seed=1).value() > 0.9
        True
    """
    (rows, gold), (trial_rows, trial_gold), (test_rows, test_gold) = (
        _checked(part, protocol.classes, device) for part in (train, trial, test)
    )
    if not rows.shape[1] == trial_rows.shape[1] == test_rows.shape[1]:
        raise ValueError("The vectors of training, trial and test pairs differ in width.")
    generator = torch.Generator().manual_seed(seed)
    bound = math.sqrt(6 / (rows.shape[1] + protocol.classes))
    weight = torch.empty(protocol.classes, rows.shape[1]).uniform_(-bound, bound, generator=generator).to(device)
    parameters = [weight.requires_grad_(), torch.zeros(protocol.classes, device=device, requires_grad=True)]
    order = torch.randperm(len(rows), generator=generator).to(device)
    target = sparse_target(torch.from_numpy(gold).float(), protocol.classes).to(device)
    batches = list(zip(rows[order].split(protocol.batch_size), target[order].split(protocol.batch_size), strict=True))
    optimiser = torch.optim.Adam(parameters, lr=protocol.learning_rate)
    history: list[float] = []
    kept: list[Tensor] = []
    for _ in range(protocol.blocks):
        for _ in range(protocol.epochs):
            for part, wanted in batches:
                optimiser.zero_grad()
                functional.cross_entropy(functional.linear(part, *parameters), wanted).backward()
                optimiser.step()
        history.append(pearson(_expected(trial_rows, parameters), trial_gold))
        if len(history) > 1 and history[-1] <= max(history[:-1]):
            break
        kept = [parameter.detach().clone() for parameter in parameters]
    return Predicted(
        protocol,
        test_gold,
        _expected(test_rows, kept),
        _expected(trial_rows, kept),
        (1 + int(np.argmax(history))) * protocol.epochs,
        tuple(history),
    )


@torch.no_grad()
def _expected(rows: Tensor, parameters: list[Tensor]) -> Array:
    """(N,) expectations r . p of (N, 2F) features."""
    likely = torch.softmax(functional.linear(rows, *parameters).double(), dim=1).cpu().numpy()
    scores: Array = likely @ np.arange(1, likely.shape[1] + 1)
    if not np.isfinite(scores).all():
        raise NumericalError("The relatedness head diverged; lower the protocol's learning rate or scale the vectors.")
    return scores


def _checked(pairs: PairVectors, classes: int, device: str | torch.device) -> tuple[Tensor, Array]:
    """(N, 2F) features and (N,) scores."""
    first, second, gold = (np.asarray(part) for part in pairs)
    if first.ndim != 2 or first.shape != second.shape or gold.shape != first.shape[:1] or not len(gold):
        raise ValueError(f"Vectors {first.shape} and {second.shape} and scores {gold.shape} do not fit.")
    gold = gold.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        rows = torch.from_numpy(pair_features(first, second)).to(device)
    if not (np.isfinite(gold).all() and bool(torch.isfinite(rows).all())):
        raise NumericalError(
            "A sentence vector or a score is NaN or infinite; train the encoder again at a lower rate."
        )
    if gold.min() < 1 or gold.max() > classes:
        raise ValueError(f"Relatedness scores must lie in [1, {classes}].")
    return rows, gold
