"""Images and sentences ranked for each other: recall among the first K, and the median rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook import records as results
from sentbook.system.errors import DataError, NumericalError

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


def measures(scores: ArrayLike, image_of: ArrayLike) -> dict[str, float]:
    """R@1, R@5, R@10 in [0, 1] and the median rank, of annotation (sentences for an image) and search (the reverse).

    Example:
        >>> found = measures(np.eye(12), np.arange(12))
        >>> found["annotation_R@1"], found["search_MedR"], len(found)
        (1.0, 1.0, 8)
    """
    found: dict[str, float] = {}
    for name, ranks in (
        ("annotation", annotation_ranks(scores, image_of)),
        ("search", search_ranks(scores, image_of)),
    ):
        found |= {f"{name}_R@{first}": recall(ranks, first) for first in RECALLS}
        found[f"{name}_MedR"] = median_rank(ranks)
    return found


def rank(
    images: ArrayLike, sentences: ArrayLike, image_of: ArrayLike, protocol: RankingProtocol = COCO_1K
) -> dict[str, float]:
    """`measures` of cosines, each the mean over the protocol's parts of the images.

    Source: Gan et al. 2017, section 4.2: "5 random sets of 1000 images", each image with all its sentences.

    Args:
        images: (I, d) vectors in the common space, of `sentbook.models.losses.ranking.RankingMaps`.
        sentences: (S, d).
        image_of: (S,) the image of each sentence.

    Raises:
        DataError: fewer images than the protocol needs, or as `annotation_ranks`.
    """
    one, other, owner = _unit(images), _unit(sentences), np.asarray(image_of)
    found = []
    for part in parts(len(one), protocol):
        kept = np.isin(owner, part)
        place = np.full(len(one), -1)
        place[part] = np.arange(len(part))
        found.append(measures(one[part] @ other[kept].T, place[owner[kept]]))
    return {name: float(np.mean([values[name] for values in found])) for name in found[0]}


def parts(images: int, protocol: RankingProtocol) -> list[Ranks]:
    """The images of each part, in rising order; no image is in two."""
    size = images // protocol.splits if protocol.images is None else protocol.images
    if size < 1 or size * protocol.splits > images:
        raise DataError(
            f"{images} images do not make {protocol.splits} parts of {max(size, 1)}; take fewer or smaller parts."
        )
    order = np.random.default_rng(protocol.seed).permutation(images)
    return [np.sort(order[number * size : (number + 1) * size]) for number in range(protocol.splits)]


def metric_rows(
    values: dict[str, float], method: str, dataset: str, seed: int | None, protocol: RankingProtocol, n: int
) -> list[results.Metric]:
    """The ledger's rows of what `rank` found on ``n`` images."""
    return [
        results.Metric(method=method, dataset=dataset, metric=name, protocol=str(protocol), seed=seed, value=value, n=n)
        for name, value in values.items()
    ]


def _unit(vectors: ArrayLike) -> NDArray[np.float32]:
    table = np.asarray(vectors, dtype=np.float32)
    return table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)


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
