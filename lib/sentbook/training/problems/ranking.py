"""Image-sentence ranking from frozen sentence vectors: two linear maps trained on captions, and their ranks on a test.

`sentbook.models.losses.ranking` has the maps and the loss, `sentbook.evaluation.ranking` the protocol and its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional

from sentbook import records as results
from sentbook.data import images as corpora
from sentbook.data.images import Split
from sentbook.data.types import CaptionedScenes
from sentbook.evaluation import ranking
from sentbook.evaluation.ranking import COCO_1K, RECALLS, RankingProtocol, Ranks
from sentbook.evaluation.statistics import Array, Estimate, from_bootstrap, resample_counts
from sentbook.models import SentenceEncoder
from sentbook.models.losses.ranking import RankingMaps, ranking_loss
from sentbook.system.errors import DataError, NumericalError
from sentbook.training.loop import History, fit
from sentbook.training.settings import RankingTraining

SCENES_100 = RankingProtocol(splits=5, images=100)
ALL_AT_ONCE = RankingProtocol(splits=1, images=None)
DATASETS = {"coco": "COCO-1k", "miniworld-scenes": "miniworld/scenes"}
# Rows that are mapped together outside training.
_ROWS = 4_000


# -- data --------------------------------------------------------------------------------------------------------------


def captioned(settings: RankingTraining, split: Split) -> CaptionedScenes:
    """The images and captions of a split; raises as `sentbook.data.images.divided`.

    Example:
        >>> captioned(RankingTraining(corpus="miniworld-scenes"), "dev").name
        'miniworld/scenes/dev'
    """
    return corpora.divided(settings.corpus, settings.path)[split]


def protocol_of(settings: RankingTraining, images: int) -> RankingProtocol:
    """The paper's 5 parts of 1000 images; 5 of 100 generated scenes; one part where there are no more images than that.

    Source: Gan et al. 2017, section 4.2, for development and test images alike. The released archive of Kiros et al.
    has 1000 of each.
    """
    wanted = COCO_1K if settings.corpus == "coco" else SCENES_100
    assert wanted.images is not None
    return wanted if images >= wanted.splits * wanted.images else ALL_AT_ONCE


@dataclass(frozen=True)
class Captions:
    """Images and their captions as numbers.

    Attributes:
        images: (I, F) features.
        vectors: (S, D) of sentences.
        image_of: (S,) the image of each.

    Raises:
        ValueError: the shapes do not fit.
        NumericalError: a feature or a vector is NaN or infinite.
    """

    images: NDArray[np.float32]
    vectors: NDArray[np.float32]
    image_of: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.images.ndim != 2 or self.vectors.ndim != 2 or self.image_of.shape != self.vectors.shape[:1]:
            raise ValueError(
                f"Features {self.images.shape}, vectors {self.vectors.shape} and the images of {self.image_of.shape} "
                "captions do not fit."
            )
        for name, table in (("image", self.images), ("sentence", self.vectors)):
            if not all(np.isfinite(table[at : at + _ROWS]).all() for at in range(0, len(table), _ROWS)):
                raise NumericalError(f"A vector of a {name} is NaN or infinite; make the vectors again.")

    @classmethod
    def of(cls, scenes: CaptionedScenes, vectors: Callable[[list[str]], ArrayLike]) -> Captions:
        """``scenes``, their captions encoded by ``vectors``."""
        sentences = [caption for captions in scenes.captions for caption in captions]
        image_of = np.repeat(np.arange(len(scenes)), [len(captions) for captions in scenes.captions])
        # Writable and in one piece, as torch wants what it shares.
        tables = [np.require(table, np.float32, ["C", "W"]) for table in (scenes.features, vectors(sentences))]
        return cls(tables[0], tables[1], image_of)


# -- training ----------------------------------------------------------------------------------------------------------


class GivenVectors(SentenceEncoder):
    """Vectors that are there already in the place of an encoder: a sentence is one token, the number of its row.

    They are no parameters and lie in the memory of the CPU; a batch of them goes to the device.

    Args:
        table: (S, D).

    Example:
        >>> GivenVectors(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))(torch.tensor([[1]]), torch.tensor([1])).tolist()
        [[3.0, 4.0]]
    """

    def __init__(self, table: Tensor) -> None:
        super().__init__(torch.zeros(1, 1))  # no words
        self.embedding.weight.requires_grad_(False)
        self.table = table

    @property
    def dimension(self) -> int:
        return int(self.table.shape[1])

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(B, 1) rows to (B, D)."""
        found = self.table[ids[:, 0].cpu()].to(self.embedding.weight.device)
        return functional.dropout(found, self.dropout, self.training)


class RankingProblem:
    """A `sentbook.training.loop.Problem`: `RankingMaps` on captions with the images that they describe.

    An example is a caption with its image; other captions of the image are no contrasts. The best state is that of the
    highest mean of the six recalls on the development images, under the protocol of the test.

    Features and sentence vectors are scaled to length one before the maps, each by itself: nothing is estimated from
    data, and vectors of small numbers do not lose against the maps' biases. The released code of Kiros et al. does so
    too: with VGG features (``visual-semantic-embedding``), and with sentence vectors (``skipthoughts.encode``).

    Source: Gan et al. 2017, section 4.2, "Image-sentence ranking"; Kiros et al. 2015, section 3.3, whose released code
    chooses by the sum of the six recalls.
    Deviations: see `objectives.ranking`. Patience is ours; the released code has a fixed number of epochs.

    Args:
        train, dev: captions with their images.
        protocol: of the recalls on ``dev``.
        seed: of the maps' initial values.

    Raises:
        DataError: fewer than two images, or development images of other widths.
    """

    metric = "mean recall"

    def __init__(
        self, settings: RankingTraining, train: Captions, dev: Captions, protocol: RankingProtocol, *, seed: int
    ) -> None:
        if len(train.images) < 2:
            raise DataError("One image has nothing to be told from; give at least two for training.")
        if (train.images.shape[1], train.vectors.shape[1]) != (dev.images.shape[1], dev.vectors.shape[1]):
            raise DataError("Training and development images, or their sentence vectors, are not of one width.")
        self.settings, self.train, self.dev, self.protocol = settings, train, dev, protocol
        self.patience = settings.patience
        self.encoder: SentenceEncoder = GivenVectors(torch.from_numpy(train.vectors))
        self._images, self._image_of = torch.from_numpy(train.images), torch.from_numpy(train.image_of)
        self.lengths = np.ones(len(train.vectors), dtype=np.int64)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.maps = RankingMaps(
                train.images.shape[1], train.vectors.shape[1], settings.dimension, faithful=settings.faithful
            )

    @property
    def head(self) -> nn.Module:
        return self.maps

    @property
    def _device(self) -> torch.device:
        return self.maps.image.weight.device

    def loss(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        captions = torch.from_numpy(rows)
        owners = self._image_of[captions]
        if bool((owners == owners[0]).all()):  # the last, short batch of an epoch may be of one image
            return self.maps.image.bias.sum() * 0.0
        vectors = self.encoder(captions.unsqueeze(1), torch.ones_like(captions))
        features = self._images[owners].to(self._device)
        images, sentences = self.maps(functional.normalize(features), functional.normalize(vectors))
        return ranking_loss(
            images,
            sentences,
            margin=self.settings.margin,
            groups=owners,
            contrasts=self.settings.contrasts,
        )

    @torch.inference_mode()
    def common(self, captions: Captions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(I, d) and (S, d): images and sentences in the common space, of length one."""
        training, _ = self.maps.training, self.maps.eval()
        images = self._mapped(self.maps.images, captions.images)
        sentences = self._mapped(self.maps.sentences, captions.vectors)
        self.maps.train(training)
        return images, sentences

    def _mapped(self, through: Callable[[Tensor], Tensor], table: NDArray[np.float32]) -> NDArray[np.float32]:
        blocks = (torch.from_numpy(table[at : at + _ROWS]).to(self._device) for at in range(0, len(table), _ROWS))
        return np.concatenate([through(functional.normalize(block)).float().cpu().numpy() for block in blocks])

    def validate(self) -> float:
        found = ranking.rank(*self.common(self.dev), self.dev.image_of, self.protocol)
        return float(np.mean([value for name, value in found.items() if "_R@" in name]))

    def watch(self) -> list[dict[str, Any]]:
        return []

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        for parameter in self.maps.parameters():
            yield parameter, self.settings.composition_decay, None


# -- evaluation --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranked:
    """What one method's vectors reach on the test images.

    Attributes:
        dataset: its name in tables.
        protocol: how the test images are parted; there are P parts of I images, with C captions each.
        values: means over the parts, by the names of `sentbook.evaluation.ranking.measures`.
        annotation: (P, I) rank of the best of each image's captions.
        search: (P, I, C) rank of the image, for each of its captions.
        history: of the training.
        parameters: of both maps.
    """

    dataset: str
    protocol: RankingProtocol
    values: dict[str, float]
    annotation: Ranks
    search: Ranks
    history: History
    parameters: int

    @property
    def images(self) -> int:
        """Test images that are ranked."""
        return self.annotation.size

    def metric_rows(self, method: str, seed: int | None) -> list[results.Metric]:
        """The ledger's rows."""
        return ranking.metric_rows(self.values, method, self.dataset, seed, self.protocol, self.images)


def rank_images(
    vectors: Callable[[list[str]], ArrayLike],
    settings: RankingTraining,
    *,
    seed: int,
    device: str = "cpu",
    key: str = "",
    folder: Path | None = None,
    report: Callable[[str], None] = print,
) -> Ranked:
    """Train the maps on the training images, choose the epoch on the development images, rank the test images.

    Vectors of all training captions are in memory: 11 GB for COCO's 566,435 with 4800 numbers each.

    Args:
        vectors: N sentences to (N, D) frozen vectors; called once a split.
        seed: of the maps, the order of captions and the contrasts.
        device, key, folder, report: see `sentbook.training.loop.fit`.

    Raises:
        ConfigError, DataError: see `captioned`.
        NumericalError: a vector or the loss is not finite.
    """
    train, dev, test = (Captions.of(captioned(settings, split), vectors) for split in ("train", "dev", "test"))
    problem = RankingProblem(settings, train, dev, protocol_of(settings, len(dev.images)), seed=seed)
    history = fit(problem, settings, seed=seed, device=device, key=key, folder=folder, report=report)
    protocol = protocol_of(settings, len(test.images))
    images, sentences = problem.common(test)
    annotation, search = part_ranks(images, sentences, test.image_of, protocol)
    return Ranked(
        DATASETS[settings.corpus],
        protocol,
        ranking.rank(images, sentences, test.image_of, protocol),
        annotation,
        search,
        history,
        sum(value.numel() for value in problem.maps.parameters()),
    )


def part_ranks(
    images: NDArray[np.float32], sentences: NDArray[np.float32], image_of: NDArray[np.int64], protocol: RankingProtocol
) -> tuple[Ranks, Ranks]:
    """(P, I) and (P, I, C) ranks behind `sentbook.evaluation.ranking.rank`, for tests over images.

    Args:
        images, sentences: (N, d) and (S, d) of length one.
        image_of: (S,) the image of each sentence, in rising order.

    Raises:
        DataError: images have different numbers of captions, or there are fewer images than the protocol needs.
    """
    each, rest = divmod(len(sentences), len(images))
    if rest or not np.array_equal(image_of, np.repeat(np.arange(len(images)), each)):
        raise DataError("Every test image needs as many captions as the others, one after another.")
    by_image = sentences.reshape(len(images), each, -1)
    annotation, search = [], []
    for part in ranking.parts(len(images), protocol):
        scores = images[part] @ by_image[part].reshape(len(part) * each, -1).T
        owner = np.repeat(np.arange(len(part)), each)
        annotation.append(ranking.annotation_ranks(scores, owner))
        search.append(ranking.search_ranks(scores, owner).reshape(len(part), each))
    return np.stack(annotation), np.stack(search)


def floor(images: int, captions: int = 5) -> dict[str, float]:
    r"""What random ranks are expected to reach on a part of so many images: the floor that any method must beat.

    With S sentences, C of them an image's own, $R@K = 1 - \prod_{j<K} \frac{S - C - j}{S - j}$ for annotation; with I
    images $R@K = K / I$ for search. Medians are those of the ranks' distributions.

    Example:
        >>> found = floor(images=1000)
        >>> {name: round(value, 4) for name, value in found.items() if "R@1" not in name}
        {'annotation_R@5': 0.005, 'annotation_MedR': 647.0, 'search_R@5': 0.005, 'search_MedR': 500.0}
    """
    found: dict[str, float] = {}
    for name, own, among in (("annotation", captions, images * captions), ("search", 1, images)):
        drawn = np.arange(among)
        within = 1 - np.cumprod(np.maximum(among - own - drawn, 0) / (among - drawn))  # P(rank <= 1), P(rank <= 2), ...
        found |= {f"{name}_R@{first}": float(within[min(first, among) - 1]) for first in RECALLS}
        found[f"{name}_MedR"] = float(1 + np.argmax(within >= 0.5 - 1e-12))
    return found


# -- intervals ---------------------------------------------------------------------------------------------------------


def interval(runs: Sequence[Ranked], metric: str = "annotation_R@1", resamples: int = 2000) -> Estimate:
    """One method's value, mean over seeds, with its percentile interval by the bootstrap over images.

    Images are drawn within each part, with all their captions.

    Args:
        runs: the method's, one a seed.
        metric: any of `sentbook.evaluation.ranking.measures`.

    Raises:
        ValueError: no run, or runs of different protocols.

    Assumptions: images are independent draws. The other images of a part stay those that an image is ranked among.
    """
    low, high = np.percentile(_resampled(runs, metric, resamples), [2.5, 97.5])
    return Estimate(_point(runs, metric), float(low), float(high))


def compare(
    a: Sequence[Ranked],
    b: Sequence[Ranked],
    names: tuple[str, str],
    metric: str = "annotation_R@1",
    resamples: int = 2000,
) -> results.Test:
    """A - B by the paired bootstrap over images, seeds pooled; see `interval`.

    Args:
        a, b: runs of two methods on the same test images; their numbers of seeds may differ.
        names: of the methods in tables.

    Raises:
        ValueError: no run, or runs of different protocols or data sets.
    """
    _check_alike([*a, *b])
    sampled = _resampled(a, metric, resamples) - _resampled(b, metric, resamples)
    found = from_bootstrap(_point(a, metric) - _point(b, metric), sampled)
    return results.Test(
        kind="paired bootstrap",
        a=names[0],
        b=names[1],
        dataset=a[0].dataset,
        metric=metric,
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        p=found.p,
    )


def _check_alike(runs: Sequence[Ranked]) -> None:
    if len({(run.dataset, str(run.protocol), run.search.shape) for run in runs}) != 1:
        raise ValueError("Ranks are compared on the same images under one protocol, one run or more a method.")


def _point(runs: Sequence[Ranked], metric: str) -> float:
    return float(np.mean([run.values[metric] for run in runs]))


def _resampled(runs: Sequence[Ranked], metric: str, resamples: int) -> Array:
    """(R,) values over resamples of images, means over parts and seeds; the resamples are the same for every method."""
    _check_alike(runs)
    way, kind = metric.split("_", 1)
    total = np.zeros(resamples)
    for part, images in enumerate(runs[0].annotation):
        counts = resample_counts(len(images), resamples, [0, part])
        for run in runs:
            ranks = run.annotation[part][:, None] if way == "annotation" else run.search[part]
            if kind == "MedR":
                total += _medians(counts, ranks)
            else:
                total += counts @ (ranks <= int(kind.removeprefix("R@"))).mean(axis=1) / len(images)
    return total / (len(runs) * len(runs[0].annotation))


def _medians(counts: NDArray[np.float32], ranks: Ranks) -> Array:
    """(R,) `sentbook.evaluation.ranking.median_rank` of the (I, C) ranks, each image's taken ``counts`` times."""
    flat = ranks.ravel()
    order = np.argsort(flat, kind="stable")
    values, owner = flat[order], order // ranks.shape[1]
    found = np.empty(len(counts))
    for start in range(0, len(counts), 250):  # bounds the memory of the (R, S) sums
        upto = np.cumsum(counts[start : start + 250, owner], axis=1)
        total = upto[:, -1]
        middle = [values[(upto > at[:, None]).argmax(axis=1)] for at in ((total - 1) // 2, total // 2)]
        found[start : start + 250] = np.floor((middle[0] + middle[1]) / 2)
    return found
