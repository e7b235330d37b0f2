"""Image-sentence ranking from frozen sentence vectors: two linear maps trained on captions.

`sentbook.models.losses.ranking` has the maps and the loss, `sentbook.papers.cnn_lstm.ranking` the protocol and its
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional

from sentbook.data.types import CaptionedScenes
from sentbook.models import SentenceEncoder
from sentbook.models.losses.ranking import RankingMaps, ranking_loss
from sentbook.papers.cnn_lstm.settings import RankingTraining
from sentbook.system.errors import DataError, NumericalError
from sentbook.training.problem import Problem, Rows

Judge = Callable[[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]], float]
# Rows that are mapped together outside training.
_ROWS = 4_000


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


class RankingProblem(Problem):
    """`RankingMaps` on captions with the images that they describe.

    An example is a caption with its image; other captions of the image are no contrasts. The best state is that of the
    highest value of ``judge`` on the development images: the mean of the six recalls, under the protocol of the test.

    Features and sentence vectors are scaled to length one before the maps, each by itself: nothing is estimated from
    data, and vectors of small numbers do not lose against the maps' biases. The released code of Kiros et al. does so
    too: with VGG features (``visual-semantic-embedding``), and with sentence vectors (``skipthoughts.encode``).

    Source: Gan et al. 2017, section 4.2, "Image-sentence ranking"; Kiros et al. 2015, section 3.3, whose released code
    chooses by the sum of the six recalls.
    Deviations: see `objectives.ranking`. Patience is ours; the released code has a fixed number of epochs.

    Args:
        train, dev: captions with their images.
        judge: of images and sentences in the common space, see `common`, and the image of each sentence.
        seed: of the maps' initial values.

    Raises:
        DataError: fewer than two images, or development images of other widths.
    """

    metric = "mean recall"

    def __init__(self, settings: RankingTraining, train: Captions, dev: Captions, judge: Judge, *, seed: int) -> None:
        if len(train.images) < 2:
            raise DataError("One image has nothing to be told from; give at least two for training.")
        if (train.images.shape[1], train.vectors.shape[1]) != (dev.images.shape[1], dev.vectors.shape[1]):
            raise DataError("Training and development images, or their sentence vectors, are not of one width.")
        self.settings, self.train, self.dev, self.judge = settings, train, dev, judge
        self.patience, self.decay = settings.patience, settings.composition_decay
        self.encoder: SentenceEncoder = GivenVectors(torch.from_numpy(train.vectors))
        self._images, self._image_of = torch.from_numpy(train.images), torch.from_numpy(train.image_of)
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
        return self.judge(*self.common(self.dev), self.dev.image_of)

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        for parameter in self.maps.parameters():
            yield parameter, self.decay, None
