"""Images and sentences ranked for each other: recall among the first K, and the median rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook import records as results
from sentbook.data.images import Split, divided
from sentbook.data.types import CaptionedScenes
from sentbook.evaluation.predictions import KIND
from sentbook.evaluation.statistics import Array, Estimate, from_bootstrap, percentiles, resample_counts
from sentbook.papers.cnn_lstm.ranking_maps import Captions, RankingProblem
from sentbook.papers.cnn_lstm.settings import RankingTraining
from sentbook.system.errors import DataError, NumericalError
from sentbook.training.loop import fit

Ranks = NDArray[np.int64]
RECALLS = (1, 5, 10)


@dataclass(frozen=True)
class RankingProtocol:
    """One way to a retrieval number; `str` is what table headers print.

    Attributes:
        splits: parts of the test images, each ranked alone; values are means over them.
        images: of each part; None: all images in equal parts.
        seed: of the parts.

    Example:
        >>> str(RankingProtocol())
        'cosine of two linear maps, mean of 5 random parts of 1000 images, seed 0'
    """

    splits: int = 5
    images: int | None = 1000
    seed: int = 0

    def __str__(self) -> str:
        if self.splits == 1 and self.images is None:
            return "cosine of two linear maps, all images"
        size = "" if self.images is None else f" of {self.images} images"
        return f"cosine of two linear maps, mean of {self.splits} random parts{size}, seed {self.seed}"


# Gan et al. 2017, section 4.2.
COCO_1K = RankingProtocol()
SCENES_100 = RankingProtocol(splits=5, images=100)
ALL_AT_ONCE = RankingProtocol(splits=1, images=None)
DATASETS = {"coco": "COCO-1k", "miniworld-scenes": "miniworld/scenes"}


def annotation_ranks(scores: ArrayLike, image_of: ArrayLike) -> Ranks:
    """(I,) for each image the rank, from 1, of the best of its own sentences among all sentences.

    A wrong sentence with the same score comes first, so that equal scores for everything find nothing.

    Args:
        scores: (I, S) of images and sentences, larger where they fit better.
        image_of: (S,) the image, 0..I-1, that each sentence describes.

    Raises:
        DataError: an image has no sentence, or a sentence no image.
        NumericalError: a score is NaN or infinite.

    Example:
        >>> annotation_ranks([[0.9, 0.8, 0.7, 0.1], [0.2, 0.2, 0.2, 0.2]], [0, 1, 0, 1]).tolist()
        [1, 3]
    """
    table, own = _checked(scores, image_of)
    best = np.where(own, table, -np.inf).max(axis=1, keepdims=True)
    return 1 + ((table >= best) & ~own).sum(axis=1)


def search_ranks(scores: ArrayLike, image_of: ArrayLike) -> Ranks:
    """(S,) for each sentence the rank, from 1, of its image among all images. Ties, Args, Raises: `annotation_ranks`.

    Example:
        >>> search_ranks([[0.9, 0.8, 0.7, 0.1], [0.2, 0.2, 0.2, 0.2]], [0, 1, 0, 1]).tolist()
        [1, 2, 1, 1]
    """
    table, own = _checked(scores, image_of)
    right = table[np.asarray(image_of), np.arange(table.shape[1])]
    return 1 + ((table >= right) & ~own).sum(axis=0)


def _checked(scores: ArrayLike, image_of: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The scores, and (I, S) whether each sentence is the image's own."""
    table, owner = np.asarray(scores), np.asarray(image_of)
    if table.ndim != 2 or owner.shape != table.shape[1:]:
        raise ValueError(f"Scores {table.shape} and the images of {owner.shape} sentences do not fit.")
    if not np.isfinite(table).all():
        raise NumericalError("A score is NaN or infinite; train the maps again with a lower learning rate.")
    if not np.array_equal(np.unique(owner), np.arange(len(table))):
        raise DataError("Every image needs a sentence of its own, and every sentence one of the images.")
    return table, owner == np.arange(len(table))[:, None]


def recall(ranks: Ranks, first: int) -> float:
    """R@K: the share of queries whose rank is at most ``first``, in [0, 1]."""
    return float((ranks <= first).mean())


def median_rank(ranks: Ranks) -> float:
    """The median; between two ranks the lower, as in the released skip-thoughts code.

    Example:
        >>> median_rank(np.array([1, 2, 3, 8]))
        2.0
    """
    return float(np.floor(np.median(ranks)))


def measures(annotation: Ranks, search: Ranks) -> dict[str, float]:
    """R@1, R@5, R@10 in [0, 1] and the median rank, of annotation (sentences for an image) and search (the reverse).

    Args:
        annotation, search: (P, ...) ranks of P parts; each number is the mean over them.

    Example:
        >>> found = measures(np.array([[1, 1, 2]]), np.array([[1, 3, 4]]))
        >>> round(found["annotation_R@1"], 2), found["search_MedR"], len(found)
        (0.67, 3.0, 8)
    """
    found: dict[str, float] = {}
    for name, ranks in (("annotation", annotation), ("search", search)):
        found |= {f"{name}_R@{first}": float(np.mean([recall(part, first) for part in ranks])) for first in RECALLS}
        found[f"{name}_MedR"] = float(np.mean([median_rank(part) for part in ranks]))
    return found


def parts(images: int, protocol: RankingProtocol) -> list[Ranks]:
    """The images of each part, in rising order; no image is in two."""
    size = images // protocol.splits if protocol.images is None else protocol.images
    if size < 1 or size * protocol.splits > images:
        raise DataError(
            f"{images} images do not make {protocol.splits} parts of {max(size, 1)}; take fewer or smaller parts."
        )
    order = np.random.default_rng(protocol.seed).permutation(images)
    return [np.sort(order[number * size : (number + 1) * size]) for number in range(protocol.splits)]


def part_ranks(
    images: NDArray[np.float32],
    sentences: NDArray[np.float32],
    image_of: NDArray[np.int64],
    protocol: RankingProtocol = COCO_1K,
) -> tuple[Ranks, Ranks]:
    """(P, I) annotation and (P, I, C) search ranks of cosines, in P parts of I images with C sentences each.

    Source: Gan et al. 2017, section 4.2: "5 random sets of 1000 images", each image with all its sentences.

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
    for part in parts(len(images), protocol):
        scores = images[part] @ by_image[part].reshape(len(part) * each, -1).T
        owner = np.repeat(np.arange(len(part)), each)
        annotation.append(annotation_ranks(scores, owner))
        search.append(search_ranks(scores, owner).reshape(len(part), each))
    return np.stack(annotation), np.stack(search)


# -- training the maps -------------------------------------------------------------------------------------------------


def captioned(settings: RankingTraining, split: Split) -> CaptionedScenes:
    """The images and captions of a split; raises as `sentbook.data.images.divided`.

    Example:
        >>> captioned(RankingTraining(corpus="miniworld-scenes"), "dev").name
        'miniworld/scenes/dev'
    """
    return divided(settings.corpus, settings.path)[split]


def protocol_of(settings: RankingTraining, images: int) -> RankingProtocol:
    """The paper's 5 parts of 1000 images; 5 of 100 generated scenes; one part where there are no more images than that.

    Source: Gan et al. 2017, section 4.2, for development and test images alike. The released archive of Kiros et al.
    has 1000 of each.
    """
    wanted = COCO_1K if settings.corpus == "coco" else SCENES_100
    assert wanted.images is not None
    return wanted if images >= wanted.splits * wanted.images else ALL_AT_ONCE


@dataclass(frozen=True)
class Ranked:
    """What one method's vectors reach on the test images.

    Attributes:
        dataset: its name in tables.
        protocol: how the test images are parted; there are P parts of I images, with C captions each.
        annotation: (P, I) rank of the best of each image's captions.
        search: (P, I, C) rank of the image, for each of its captions.
        parameters: of both maps.
    """

    dataset: str
    protocol: RankingProtocol
    annotation: Ranks
    search: Ranks
    parameters: int

    @cached_property
    def values(self) -> dict[str, float]:
        """Means over the parts, by the names of `measures`."""
        return measures(self.annotation, self.search)

    @property
    def images(self) -> int:
        """Test images that are ranked."""
        return self.annotation.size

    def metric_rows(self, method: str, seed: int | None) -> list[results.Metric]:
        """The ledger's rows."""
        return [
            results.Metric(
                method=method,
                dataset=self.dataset,
                metric=name,
                protocol=str(self.protocol),
                seed=seed,
                value=value,
                n=self.images,
            )
            for name, value in self.values.items()
        ]


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
    of_dev, of_test = (protocol_of(settings, len(captions.images)) for captions in (dev, test))

    def mean_recall(images: NDArray[np.float32], sentences: NDArray[np.float32], image_of: NDArray[np.int64]) -> float:
        found = measures(*part_ranks(images, sentences, image_of, of_dev))
        return float(np.mean([value for name, value in found.items() if "_R@" in name]))

    problem = RankingProblem(settings, train, dev, mean_recall, seed=seed)
    fit(problem, settings, seed=seed, device=device, key=key, folder=folder, report=report)
    annotation, search = part_ranks(*problem.common(test), test.image_of, of_test)
    parameters = sum(value.numel() for value in problem.maps.parameters())
    return Ranked(DATASETS[settings.corpus], of_test, annotation, search, parameters)


# -- intervals ---------------------------------------------------------------------------------------------------------


def interval(runs: Sequence[Ranked], metric: str = "annotation_R@1", resamples: int = 2000) -> Estimate:
    """One method's value, mean over seeds, with its percentile interval by the bootstrap over images.

    Images are drawn within each part, with all their captions.

    Args:
        runs: the method's, one a seed.
        metric: any of `measures`.

    Raises:
        ValueError: no run, or runs of different protocols.

    Assumptions: images are independent draws. The other images of a part stay those that an image is ranked among.
    """
    sampled = _resampled(runs, metric, resamples)  # which refuses what is no set of runs
    return percentiles(_point(runs, metric), sampled)


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
    return results.Test.of(found, kind=KIND, a=names[0], b=names[1], dataset=a[0].dataset, metric=metric)


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
    """(R,) `median_rank` of the (I, C) ranks, each image's taken ``counts`` times."""
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
