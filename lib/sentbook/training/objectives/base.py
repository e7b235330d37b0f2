"""What every objective has: settings, the encoder and data that it is bound to, a loss and a validation metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from sentbook.config import Coefficient, Rate, Section, Share
from sentbook.data import published, sources
from sentbook.data.corpora import CORPORA
from sentbook.data.splits import share_of
from sentbook.data.suites import Dataset, Suite, pairs
from sentbook.data.text import TokenIds, Tokenisation, Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.models import FrozenVectors, SentenceEncoder
from sentbook.models.encode import padded

Rows = NDArray[np.int64]
# A parameter, a coefficient, and the values that it is pulled to (None: 0).
Penalty = tuple[nn.Parameter, float, Tensor | None]


@dataclass(frozen=True)
class Start:
    """What a training begins with: the encoder as the trainings before have left it.

    Attributes:
        trained: whether there was a training before.
        frozen: gives the vectors of the encoder, which trainings on other data sets share; None: each makes its own.
    """

    encoder: SentenceEncoder
    vocabulary: Vocabulary
    seed: int = 0
    tokenisation: Tokenisation = "ptb"
    suite: Suite = "sts"
    trained: bool = False
    frozen: Callable[[], FrozenVectors] | None = None

    def encode(self, *sides: list[str]) -> TokenIds:
        """Tokenise the sentences of all ``sides``, one after another."""
        return self.vocabulary.encode([sentence for side in sides for sentence in side], self.tokenisation)


class Objective(Section):
    """The settings of a training; bound to an encoder and data by `bind`, its loss and its validation metric.

    Field names and defaults are part of a trained encoder's key. A subclass adds its fields, reads its data in `load`,
    keeps them in `prepare`, and computes its loss from them.
    """

    epochs: int = Field(10, ge=1)
    batch_size: int = Field(100, ge=2)
    optimiser: Literal["adam", "sgd"] = "adam"
    learning_rate: Rate = 1e-3
    composition_rate: Rate | None = Field(
        None,
        description="learning rate of the encoder's parameters but its word vectors; None: learning_rate",
        exclude_if=lambda rate: rate is None,  # keys and records of trainings without it are those from before it
    )
    embedding_update: Literal["dense", "lazy", "frozen"] = "lazy"
    pull_back_words: Coefficient = Field(
        1e-6, description="lambda_w of half the squared distance to the initial vectors"
    )
    composition_decay: Coefficient = Field(
        0.0, description="lambda_c, towards 0, or to the loaded values when fine-tuning"
    )
    dropout: Share = Field(0.0, description="on elements of the word vectors")
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="largest gradient norm")
    bucket: bool = Field(True, description="batches of similar length")
    checks_per_epoch: int = Field(4, ge=1, le=100)
    keep: Literal["best", "last"] = "best"
    precision: Literal["float32", "bf16"] = "float32"
    patience: int | None = Field(
        None,
        ge=1,
        description="checks without a better one after which training stops",
        exclude_if=lambda checks: checks is None,  # as composition_rate
    )
    keep_checks: bool = Field(
        False,
        description="store the encoder of every check, not the best one's alone",
        exclude_if=lambda keep: not keep,  # as composition_rate
    )
    # One pass of Adam over a parameter in place of ten, where millions of them move at each step; it rounds otherwise.
    # On CUDA it is so always.
    fused: ClassVar[bool] = False
    # Whether it learns words of its own, so that no training can stand before it.
    begins: ClassVar[bool] = False

    _start: Start
    _head: nn.Module | None = None
    _lengths: Rows

    def rate_after(self, rate: float, *, improved: bool) -> float:
        """The learning rate after a check of the validation metric."""
        return rate

    # -- what it reads -----------------------------------------------------------------------------------------------

    def texts(self) -> tuple[str, ...]:
        """Name the corpora that are no scored pairs."""
        return ()

    def datasets(self) -> tuple[str, ...]:
        """Name the data sets of scored pairs."""
        return ()

    def new_words_of(self) -> tuple[str, ...]:
        """Name the data sets whose words without a vector get one of their own."""
        return ()

    def digests(self) -> dict[str, str]:
        """Digest what a user may change without changing its name, such as originals, for the key."""
        return published.digests(*self.texts())

    def own_file(self) -> dict[str, str]:
        """Digest the file that ``path`` names, in whose place it stands in the key."""
        return {}

    def check(self) -> None:
        """Look for its corpora."""
        self.digests()
        self.own_file()
        for file in (file for name in self.texts() if name in CORPORA for file in CORPORA[name].files):
            sources.path(file)

    def sentences(self, seed: int, suite: Suite) -> Iterable[str]:
        """Return every sentence of its corpora that a training by this seed may draw."""
        return ()

    def summary(self) -> str:
        """Say in words what it trains on."""
        raise NotImplementedError

    # -- what it is bound to -----------------------------------------------------------------------------------------

    def bind(self, start: Start, data: Any = None) -> Self:
        """Return a copy that holds an encoder and examples.

        Args:
            data: what `load` returns, in place of what the settings name.

        Raises:
            DataError: a file is missing or damaged.
        """
        bound = self.model_copy()
        bound._start = start
        bound.prepare(bound.load() if data is None else data)
        return bound

    def load(self) -> Any:
        """Read the data that the settings name."""
        raise NotImplementedError

    def prepare(self, data: Any) -> None:
        """Keep ``data`` as token ids and targets, and make the head."""
        raise NotImplementedError

    @property
    def encoder(self) -> SentenceEncoder:
        """What is trained."""
        return self._start.encoder

    @property
    def head(self) -> nn.Module | None:
        """What is trained with the encoder and thrown away with it, or None."""
        return self._head

    @property
    def lengths(self) -> Rows:
        """(N,) words of each training example."""
        return self._lengths

    @property
    def metric(self) -> str:
        """Name of the validation metric; higher is better."""
        return "pearson"

    # -- loss and validation -----------------------------------------------------------------------------------------

    def compute_loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        """Return the mean loss of the examples ``rows``."""
        raise NotImplementedError

    def judge(self) -> float:
        """Return the validation metric."""
        raise NotImplementedError

    def watched(self) -> list[dict[str, Any]]:
        """Return further points of the curve at a check: split, metric and value; nothing is chosen by them."""
        return []

    def penalties(self) -> Iterator[Penalty]:
        """Yield (parameter, coefficient, anchor): half the coefficient times the squared distance to it (None: 0)."""
        for parameter in self.encoder.composition():
            yield parameter, self.composition_decay, None

    def held_out_scores(self) -> Mapping[str, NDArray[np.float64]]:
        """Return scores of pairs that were not trained on, by their split, in the present state."""
        return {}

    def kept(self) -> Mapping[str, nn.Module]:
        """Return parts of the head that are stored beside the encoder, by the name of their file."""
        return {}

    def vectors(self, tokens: TokenIds, rows: Rows, order: NDArray[np.float64] | None = None) -> Tensor:
        """Encode the sentences ``rows`` of ``tokens``, their words permuted by the sort keys ``order``; (B, F)."""
        vectors: Tensor = self.encoder(*padded(tokens, rows, self.encoder, order))
        return vectors

    def pair_vectors(
        self, tokens: TokenIds, rows: Rows, order: NDArray[np.float64] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Encode both members of the pairs ``rows``, (B, F) each; ``tokens``: N first members, then N second ones.

        One call for both has half the overhead; an encoder that sees its batch's padding gets a call for each.
        """
        sides = rows, rows + len(tokens) // 2
        if self.encoder.batch_dependent:
            keys = (None, None) if order is None else np.split(order, 2)
            first, second = (self.vectors(tokens, side, one) for side, one in zip(sides, keys, strict=True))
        else:
            first, second = self.vectors(tokens, np.concatenate(sides), order).chunk(2)
        return first, second


def longest(tokens: TokenIds) -> Rows:
    """(N,) words of the longer member of each pair; ``tokens``: N first members, then N second ones."""
    found: Rows = tokens.lengths.reshape(2, -1).max(axis=0)
    return found


def splits_of(dataset: Dataset, share: float = 1.0, seed: int = 0) -> dict[str, ScoredPairs]:
    """Return the splits of a data set, of the training pairs a share that is drawn by the seed."""
    splits = {split: pairs(dataset, split) for split in ("train", "trial", "test")}
    return splits | {"train": share_of(splits["train"], share, seed)}
