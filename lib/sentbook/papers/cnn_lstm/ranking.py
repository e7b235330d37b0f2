"""Images and sentences ranked for each other from frozen sentence vectors: section 4.2 and table 4 of Gan et al. 2017.

`sentbook.models.losses.ranking` has the two linear maps and their loss; here they are trained, and what they find is
counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional

from sentbook import records as results
from sentbook.data.images import Corpus, Split, digest, divided
from sentbook.data.types import CaptionedScenes
from sentbook.evaluation.features import Features
from sentbook.evaluation.predictions import INTERVALS, KIND
from sentbook.evaluation.statistics import Array, from_bootstrap, percentiles, resample_counts
from sentbook.io import DataError, NumericalError
from sentbook.models import Average
from sentbook.models.base import to_device
from sentbook.models.losses.ranking import RankingMaps, ranking_loss
from sentbook.papers.cnn_lstm.experiments import outcomes_of
from sentbook.papers.cnn_lstm.settings import RankingTraining, Settings
from sentbook.training.loop import fit, silent
from sentbook.training.problem import Problem, Rows
from sentbook.training.store import Arrays

Ranks = NDArray[np.int64]
Vectors = NDArray[np.float32]
DATASETS: dict[Corpus, str] = {"coco": "COCO-1k", "miniworld-scenes": "miniworld/scenes"}
# Test images are ranked in random parts of so many: "5 random sets of 1000 images", section 4.2.
PARTS = 5
SIZES: dict[Corpus, int] = {"coco": 1000, "miniworld-scenes": 100}
RECALLS = (1, 5, 10)
# Rows that are mapped together outside training.
_ROWS = 4_000


def captioned(settings: RankingTraining, split: Split) -> CaptionedScenes:
    """The images and captions of a split; raises as `sentbook.data.images.divided`.

    Example:
        >>> captioned(RankingTraining(corpus="miniworld-scenes"), "dev").name
        'miniworld/scenes/dev'
    """
    return divided(settings.corpus, settings.path)[split]


# -- ranks -------------------------------------------------------------------------------------------------------------


def ranks(scores: ArrayLike, image_of: ArrayLike) -> tuple[Ranks, Ranks]:
    """Rank sentences for each image (annotation), and images for each sentence (search), from 1.

    A wrong answer with the same score comes first, so that equal scores for everything find nothing.

    Args:
        scores: (I, S) of images and sentences, larger where they fit better.
        image_of: (S,) the image, 0..I-1, that each sentence describes.

    Returns:
        (I,) the rank of the best of an image's own sentences, and (S,) the rank of a sentence's image.

    Raises:
        DataError: an image has no sentence, or a sentence no image.
        NumericalError: a score is NaN or infinite.

    Example:
        >>> [found.tolist() for found in ranks([[0.9, 0.8, 0.7, 0.1], [0.2, 0.2, 0.2, 0.2]], [0, 1, 0, 1])]
        [[1, 3], [1, 2, 1, 1]]
    """
    table, owner = np.asarray(scores), np.asarray(image_of)
    if not np.isfinite(table).all():
        raise NumericalError("A score is NaN or infinite; train the maps again with a lower learning rate.")
    if owner.shape != table.shape[1:] or not np.array_equal(np.unique(owner), np.arange(len(table))):
        raise DataError("Every image needs a sentence of its own, and every sentence one of the images.")
    own = owner == np.arange(len(table))[:, None]
    best = np.where(own, table, -np.inf).max(axis=1, keepdims=True)
    right = table[owner, np.arange(len(owner))]
    return 1 + ((table >= best) & ~own).sum(axis=1), 1 + ((table >= right) & ~own).sum(axis=0)


def measures(annotation: Ranks, search: Ranks) -> dict[str, float]:
    """R@1, R@5, R@10 in [0, 1] and the median rank, of annotation and of search.

    R@K is the share of queries whose rank is at most K. Of two middle ranks the median is the lower, as in the
    released skip-thoughts code.

    Args:
        annotation, search: (P, ...) ranks of P parts; each number is the mean over them.

    Example:
        >>> found = measures(np.array([[1, 1, 2]]), np.array([[1, 3, 4]]))
        >>> round(found["annotation_R@1"], 2), found["search_MedR"], len(found)
        (0.67, 3.0, 8)
    """
    found: dict[str, float] = {}
    for name, by_part in (("annotation", annotation), ("search", search)):
        for first in RECALLS:
            found[f"{name}_R@{first}"] = float(np.mean([(part <= first).mean() for part in by_part]))
        found[f"{name}_MedR"] = float(np.mean([np.floor(np.median(part)) for part in by_part]))
    return found


def parts(corpus: Corpus, images: int) -> list[Ranks]:
    """The images of each part, in rising order; no image is in two. All in one where there are too few for the parts.

    Source: Gan et al. 2017, section 4.2, for development and test images alike. The released archive of Kiros et al.
    has 1000 of each.

    Example:
        >>> [len(part) for part in parts("miniworld-scenes", 520)], [len(part) for part in parts("coco", 1000)]
        ([100, 100, 100, 100, 100], [1000])
    """
    size = SIZES[corpus]
    if images < PARTS * size:
        return [np.arange(images)]
    order = np.random.default_rng(0).permutation(images)
    return [np.sort(order[number * size : (number + 1) * size]) for number in range(PARTS)]


def protocol(corpus: Corpus, images: int) -> str:
    """Say how images are parted, as table headers print it."""
    if images < PARTS * SIZES[corpus]:
        return "cosine of two linear maps, all images"
    return f"cosine of two linear maps, mean of {PARTS} random parts of {SIZES[corpus]} images, seed 0"


def part_ranks(corpus: Corpus, images: Vectors, sentences: Vectors, image_of: Ranks) -> tuple[Ranks, Ranks]:
    """(P, I) annotation and (P, I, C) search ranks of cosines, in P parts of I images with C sentences each.

    Args:
        images, sentences: (N, d) and (S, d) of length one.
        image_of: (S,) the image of each sentence, in rising order.

    Raises:
        DataError: images have different numbers of captions.
    """
    each, rest = divmod(len(sentences), len(images))
    if rest or not np.array_equal(image_of, np.repeat(np.arange(len(images)), each)):
        raise DataError("Every test image needs as many captions as the others, one after another.")
    by_image = sentences.reshape(len(images), each, -1)
    annotation, search = [], []
    for part in parts(corpus, len(images)):
        scores = images[part] @ by_image[part].reshape(len(part) * each, -1).T
        of_images, of_sentences = ranks(scores, np.repeat(np.arange(len(part)), each))
        annotation.append(of_images)
        search.append(of_sentences.reshape(len(part), each))
    return np.stack(annotation), np.stack(search)


# -- training the maps -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Captions:
    """(I, F) features of images, (S, D) vectors of their captions, and (S,) the image of each caption."""

    images: Vectors
    vectors: Vectors
    image_of: Ranks

    @classmethod
    def of(cls, scenes: CaptionedScenes, row: Features, device: str = "cpu") -> Captions:
        """``scenes``, their captions encoded by the encoder of ``row``."""
        image_of = np.repeat(np.arange(len(scenes)), [len(captions) for captions in scenes.captions])
        vectors = row.vectors([caption for captions in scenes.captions for caption in captions], device)
        # Writable and in one piece, as torch wants what it shares.
        images, sentences = (np.require(table, np.float32, ["C", "W"]) for table in (scenes.features, vectors))
        return cls(images, sentences, image_of)


class RankingProblem(Problem):
    """`RankingMaps` on captions with the images that they describe.

    An example is a caption with its image; other captions of the image are no contrasts. The best state is that of the
    highest mean of the six recalls on the development images, under the protocol of the test.

    Features and sentence vectors are scaled to length one before the maps, each by itself: nothing is estimated from
    data, and vectors of small numbers do not lose against the maps' biases. The released code of Kiros et al. does so
    too: with VGG features (``visual-semantic-embedding``), and with sentence vectors (``skipthoughts.encode``).

    Source: Gan et al. 2017, section 4.2, "Image-sentence ranking"; Kiros et al. 2015, section 3.3, whose released code
    chooses by the sum of the six recalls.
    Deviations: see `sentbook.models.losses.ranking`. Patience is ours; the released code has a fixed number of epochs.

    Args:
        train, dev: captions with their images.
        seed: of the maps' initial values.

    Raises:
        DataError: fewer than two images, or development images of other widths.
    """

    metric = "mean recall"

    def __init__(self, settings: RankingTraining, train: Captions, dev: Captions, *, seed: int) -> None:
        if len(train.images) < 2:
            raise DataError("One image has nothing to be told from; give at least two for training.")
        if (train.images.shape[1], train.vectors.shape[1]) != (dev.images.shape[1], dev.vectors.shape[1]):
            raise DataError("Training and development images, or their sentence vectors, are not of one width.")
        self.settings, self.train, self.dev = settings, train, dev
        self.patience, self.decay = settings.patience, settings.composition_decay
        self.encoder = Average(torch.zeros(1, 1))  # of no words: the vectors are there already
        self._images, self._image_of = torch.from_numpy(train.images), torch.from_numpy(train.image_of)
        self._vectors = torch.from_numpy(train.vectors)
        self.lengths = np.ones(len(train.vectors), dtype=np.int64)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.maps = RankingMaps(
                train.images.shape[1], train.vectors.shape[1], settings.dimension, faithful=settings.faithful
            )
        self.head: nn.Module = self.maps

    @property
    def _device(self) -> torch.device:
        return self.maps.image.weight.device

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        captions = torch.from_numpy(rows)
        owners = self._image_of[captions]
        if bool((owners == owners[0]).all()):  # the last, short batch of an epoch may be of one image
            return self.maps.image.bias.sum() * 0.0
        # All vectors stay in the memory of the CPU; a batch of them goes to the device.
        vectors = to_device(self._vectors[captions], self._device)
        vectors = functional.dropout(vectors, self.encoder.dropout, self.maps.training)
        features = to_device(self._images[owners], self._device)
        images, sentences = self.maps(functional.normalize(features), functional.normalize(vectors))
        contrasts = self.settings.contrasts
        return ranking_loss(images, sentences, margin=self.settings.margin, groups=owners, contrasts=contrasts)

    @torch.inference_mode()
    def ranks(self, captions: Captions) -> tuple[Ranks, Ranks]:
        """Rank in the common space, both sides of length one; see `part_ranks`."""
        training, _ = self.maps.training, self.maps.eval()
        images, sentences = (
            np.concatenate([
                through(functional.normalize(torch.from_numpy(table[at : at + _ROWS]).to(self._device))).cpu().numpy()
                for at in range(0, len(table), _ROWS)
            ])
            for through, table in ((self.maps.images, captions.images), (self.maps.sentences, captions.vectors))
        )  # fmt: skip
        self.maps.train(training)
        return part_ranks(self.settings.corpus, images, sentences, captions.image_of)

    def validate(self) -> float:
        found = measures(*self.ranks(self.dev))
        return float(np.mean([value for name, value in found.items() if "_R@" in name]))

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        for parameter in self.maps.parameters():
            yield parameter, self.decay, None


@dataclass(frozen=True)
class Ranked:
    """What one method's vectors reach on the test images, by one seed: ranks as of `part_ranks`."""

    method: str
    seed: int | None
    corpus: Corpus
    annotation: Ranks
    search: Ranks

    @cached_property
    def values(self) -> dict[str, float]:
        """Means over the parts, by the names of `measures`."""
        return measures(self.annotation, self.search)

    def metric_rows(self) -> list[results.Metric]:
        """The ledger's rows."""
        images = self.annotation.size
        return [
            results.Metric(
                method=self.method,
                dataset=DATASETS[self.corpus],
                metric=name,
                protocol=protocol(self.corpus, images),
                seed=self.seed,
                value=value,
                n=images,
            )
            for name, value in self.values.items()
        ]


def ranked(settings: Settings, rows: Sequence[Features]) -> dict[str, list[Ranked]]:
    """Train the maps of every row's vectors, choose the epoch on development images, rank the test images.

    Vectors of all training captions are in memory: 11 GB for COCO's 566,435 with 4800 numbers each.

    Returns:
        By method, one a seed.

    Raises:
        ConfigError, DataError: see `captioned`.
        NumericalError: a vector or the loss is not finite.
    """
    training = settings.ranking
    given = {
        "images": digest(divided(training.corpus, training.path)),
        "training": training.model_dump(mode="json", exclude={"path"}),
    }
    found: dict[str, list[Ranked]] = {}
    for row, made in outcomes_of(_rank, rows, settings, **given):
        one = Ranked(row.method, row.seed, training.corpus, made["annotation"], made["search"])
        found.setdefault(row.method, []).append(one)
    return found


def _rank(row: Features, settings: Settings) -> Arrays:
    training, device = settings.ranking, settings.device
    train, dev, test = (Captions.of(captioned(training, split), row, device) for split in ("train", "dev", "test"))
    problem = RankingProblem(training, train, dev, seed=row.seed)
    fit(problem, training, seed=row.seed, device=device, report=silent)
    annotation, search = problem.ranks(test)
    return {"annotation": annotation, "search": search}


# -- intervals ---------------------------------------------------------------------------------------------------------


def intervals(found: Sequence[Sequence[Ranked]], resamples: int = 2000) -> dict[str, Any]:
    """Each method's percentile interval by the bootstrap over images, for a run's ``extra``.

    Images are drawn within each part, with all their captions; seeds are pooled. The names are those of
    `sentbook.evaluation.predictions.Predictions.intervals`.

    Assumptions: images are independent draws. The other images of a part stay those that an image is ranked among.
    """
    by_measure: dict[str, dict[str, dict[str, list[float]]]] = {}
    for measure in ("annotation_R@1", "search_R@1", "annotation_MedR", "search_MedR"):
        for runs in found:
            ends = percentiles(_mean(runs, measure), _resampled(runs, measure, resamples))
            by_set = by_measure.setdefault(measure, {}).setdefault(DATASETS[runs[0].corpus], {})
            by_set[runs[0].method] = [ends.low, ends.high]
    return {INTERVALS: by_measure}


def difference(a: Sequence[Ranked], b: Sequence[Ranked], metric: str, resamples: int = 2000) -> results.Test:
    """A - B by the paired bootstrap over images; see `intervals`.

    Args:
        a, b: runs of two methods on the same test images, one a seed; their numbers of seeds may differ.
        metric: any of `measures`.

    Raises:
        ValueError: the runs are of different images.
    """
    if len({(run.corpus, run.search.shape) for run in (*a, *b)}) != 1:
        raise ValueError("Ranks are compared on the same images under one protocol.")
    sampled = _resampled(a, metric, resamples) - _resampled(b, metric, resamples)
    found = from_bootstrap(_mean(a, metric) - _mean(b, metric), sampled)
    dataset = DATASETS[a[0].corpus]
    return results.Test.of(found, kind=KIND, a=a[0].method, b=b[0].method, dataset=dataset, metric=metric)


def _mean(runs: Sequence[Ranked], metric: str) -> float:
    return float(np.mean([run.values[metric] for run in runs]))


def _resampled(runs: Sequence[Ranked], metric: str, resamples: int) -> Array:
    """(R,) values over resamples of images, means over parts and seeds; the resamples are the same for every method."""
    way, kind = metric.split("_", 1)
    total = np.zeros(resamples)
    for part, images in enumerate(runs[0].annotation):
        counts = resample_counts(len(images), resamples, [0, part])
        for run in runs:
            found = run.annotation[part][:, None] if way == "annotation" else run.search[part]
            if kind == "MedR":
                total += _medians(counts, found)
            else:
                total += counts @ (found <= int(kind.removeprefix("R@"))).mean(axis=1) / len(images)
    return total / (len(runs) * len(runs[0].annotation))


def _medians(counts: NDArray[np.float32], found: Ranks) -> Array:
    """(R,) the lower median of the (I, C) ranks, each image's taken ``counts`` times."""
    flat = found.ravel()
    order = np.argsort(flat, kind="stable")
    values, owner = flat[order], order // found.shape[1]
    medians = np.empty(len(counts))
    for start in range(0, len(counts), 250):  # bounds the memory of the (R, S) sums
        upto = np.cumsum(counts[start : start + 250, owner], axis=1)
        total = upto[:, -1]
        middle = [values[(upto > at[:, None]).argmax(axis=1)] for at in ((total - 1) // 2, total // 2)]
        medians[start : start + 250] = np.floor((middle[0] + middle[1]) / 2)
    return medians
