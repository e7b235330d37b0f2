"""Graded relatedness from frozen sentence vectors by one softmax over the scores 1..K: table 5 of Gan et al. 2017."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional

from sentbook.data import suites
from sentbook.evaluation.classification import pair_features
from sentbook.evaluation.features import Features
from sentbook.evaluation.predictions import Predictions, relatedness_predictions
from sentbook.io import NumericalError
from sentbook.models.losses.relatedness import sparse_target
from sentbook.papers.cnn_lstm.experiments import outcomes_of
from sentbook.papers.cnn_lstm.settings import Settings
from sentbook.training.correlation import pearson
from sentbook.training.devices import device_of
from sentbook.training.store import Arrays

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Protocol:
    """One way to a relatedness number; `str` is what table headers print.

    Training goes on in blocks of epochs until a block ends no better on the trial pairs than the best before; that
    best one's weights are kept.

    Attributes:
        classes: K, the highest score; the lowest is 1.
        epochs: of a block.
        batch_size: pairs of a step; their order is drawn once by the seed and stays.
        learning_rate: Adam's.
        blocks: training ends after so many in any case.

    Example:
        >>> str(SKIP_THOUGHTS)
        'skip-thoughts, softmax over scores 1..5, Adam .001, batches of 128, blocks of 100 epochs by trial pearson'
    """

    classes: int = 5
    epochs: int = 100
    batch_size: int = 128
    learning_rate: float = 1e-3
    blocks: int = 30

    def __str__(self) -> str:
        rate = f"{self.learning_rate:g}".lstrip("0")
        return (
            f"skip-thoughts, softmax over scores 1..{self.classes}, Adam {rate}, "
            f"batches of {self.batch_size}, blocks of {self.epochs} epochs by trial pearson"
        )


SKIP_THOUGHTS = Protocol()


class PairVectors(NamedTuple):
    """N pairs: (N, F) vectors of the first and of the second sentences, and (N,) scores in [1, K]."""

    first: ArrayLike
    second: ArrayLike
    gold: ArrayLike

    @classmethod
    def of(cls, row: Features, dataset: str, split: str, device: str = "cpu") -> PairVectors:
        """The pairs of a split of ``sick`` or ``miniworld`` under the encoder of a table's row."""
        pairs = suites.pairs(dataset, split)
        first, second = np.split(row.vectors([*pairs.first, *pairs.second], device), 2)
        return cls(first, second, pairs.gold)


class Predicted(NamedTuple):
    """(N,) scores of the test pairs, (M,) of the trial pairs, and the trial pairs' Pearson's r after each block."""

    test: Array
    trial: Array
    history: list[float]


def softmax_scores(
    train: PairVectors,
    trial: PairVectors,
    test: PairVectors,
    protocol: Protocol = SKIP_THOUGHTS,
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
        test: what is predicted; its scores are not looked at.
        seed: of the initial weights and the order of the training pairs.
        device: where W and b are trained.

    Raises:
        ValueError: a training score outside [1, K].
        NumericalError: the predictions are NaN or infinite.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> first, second = rng.normal(size=(2, 40, 3))
        >>> pairs = PairVectors(first, second, 5 - np.minimum(np.abs(first - second).mean(axis=1), 4))
        >>> pearson(softmax_scores(pairs, pairs, pairs, seed=1).test, pairs.gold) > 0.9
        True
    """
    rows, trial_rows, test_rows = (
        torch.from_numpy(pair_features(part.first, part.second)).to(device) for part in (train, trial, test)
    )
    classes, size = protocol.classes, protocol.batch_size
    generator = torch.Generator().manual_seed(seed)
    bound = math.sqrt(6 / (rows.shape[1] + classes))
    weight = torch.empty(classes, rows.shape[1]).uniform_(-bound, bound, generator=generator).to(device)
    parameters = [weight.requires_grad_(), torch.zeros(classes, device=device, requires_grad=True)]
    order = torch.randperm(len(rows), generator=generator).to(device)
    target = sparse_target(torch.as_tensor(np.asarray(train.gold)).float(), classes).to(device)
    batches = list(zip(rows[order].split(size), target[order].split(size), strict=True))
    optimiser = torch.optim.Adam(parameters, lr=protocol.learning_rate)
    history: list[float] = []
    kept = parameters
    for _ in range(protocol.blocks):
        for _ in range(protocol.epochs):
            for part, wanted in batches:
                optimiser.zero_grad()
                functional.cross_entropy(functional.linear(part, *parameters), wanted).backward()
                optimiser.step()
        history.append(pearson(_expected(trial_rows, parameters), np.asarray(trial.gold)))
        if len(history) > 1 and history[-1] <= max(history[:-1]):
            break
        kept = [parameter.detach().clone() for parameter in parameters]
    return Predicted(_expected(test_rows, kept), _expected(trial_rows, kept), history)


@torch.no_grad()
def _expected(rows: Tensor, parameters: list[Tensor]) -> Array:
    """(N,) expectations r . p of (N, 2F) features."""
    likely = torch.softmax(functional.linear(rows, *parameters).double(), dim=1).cpu().numpy()
    scores: Array = likely @ np.arange(1, likely.shape[1] + 1)
    if not np.isfinite(scores).all():
        raise NumericalError(
            "A relatedness score is NaN or infinite; train the encoder, or the softmax, at a lower learning rate."
        )
    return scores


def related(settings: Settings, rows: Sequence[Features]) -> Predictions:
    """Scores of relatedness from a softmax on every row's vectors."""
    book = relatedness_predictions(settings.relatedness)
    given = {"dataset": settings.relatedness, "protocol": str(SKIP_THOUGHTS)}
    for row, found in outcomes_of(_relate, rows, settings, **given):
        book.add(row.method, row.seed, book.names[0], found["test"])
    return book


def _relate(row: Features, settings: Settings) -> Arrays:
    train, trial, test = (
        PairVectors.of(row, settings.relatedness, split, settings.device) for split in ("train", "trial", "test")
    )
    return {"test": softmax_scores(train, trial, test, seed=row.seed, device=device_of(settings.device)).test}
