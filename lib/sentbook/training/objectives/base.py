"""What every objective has: settings, the encoder and data that it is bound to, a loss and a validation metric.

Beside it the settings that all papers share, and the grid of a transfer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from sentbook.config import Coefficient, Profile, Rate, Section, Seeds, Share
from sentbook.data.suites import Suite
from sentbook.data.text import TokenIds, Tokenisation, Vocabulary
from sentbook.data.vectors import Vectors
from sentbook.models import FrozenVectors, SentenceEncoder
from sentbook.models.base import to_device

Rows = NDArray[np.int64]
Array = NDArray[np.float64]
# A parameter, a coefficient, and the values that it is pulled to (None: 0).
Penalty = tuple[nn.Parameter, float, Tensor | None]


def added(default: Any, description: str, **limits: Any) -> Any:
    """Declare a setting that came later: keys and records leave it out where it has its default, as they did before."""
    return Field(default, description=description, exclude_if=lambda value: value == default, **limits)


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

    def encode(self, *sides: Sequence[str]) -> TokenIds:
        """Tokenise the sentences of all ``sides``, one after another."""
        return self.vocabulary.encode([sentence for side in sides for sentence in side], self.tokenisation)


class Sentences(NamedTuple):
    """(B, T) padded ids and their (B,) lengths: what an encoder is called with."""

    ids: Tensor
    lengths: Tensor


@dataclass(frozen=True)
class Batch:
    """What a loss reads of some examples; it is made on the CPU.

    Attributes:
        sentences: of each call of the encoder.
        tensors: whatever else the loss reads, such as targets.
    """

    sentences: tuple[Sentences, ...] = ()
    tensors: tuple[Tensor, ...] = ()


class Objective(Section):
    """The settings of a training; and, bound to an encoder and data by `bind`, its loss and its validation metric.

    A subclass adds its fields, which are part of a trained encoder's key; reads its data in `load` and keeps them in
    `prepare`; cuts them into batches by `batch`, where all random choices are made; and computes its loss from a batch
    by `compute_loss`, on the device alone: no value is read back there, and nothing is copied there.
    """

    epochs: int = Field(10, ge=1)
    batch_size: int = Field(100, ge=2)
    optimiser: Literal["adam", "sgd"] = "adam"
    learning_rate: Rate = 1e-3
    composition_rate: Rate | None = added(None, "of the encoder's parameters but its word vectors; None: learning_rate")
    embedding_update: Literal["dense", "lazy", "frozen"] = "lazy"
    pull_back_words: Coefficient = Field(1e-6, description="lambda_w of half the squared distance to the first vectors")
    composition_decay: Coefficient = Field(0.0, description="lambda_c, towards 0, or to loaded values in fine-tuning")
    dropout: Share = Field(0.0, description="on elements of the word vectors")
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="largest gradient norm")
    bucket: bool = Field(True, description="batches of similar length")
    checks_per_epoch: int = Field(4, ge=1, le=100)
    keep: Literal["best", "last"] = "best"
    precision: Literal["float32", "bf16"] = "float32"
    patience: int | None = added(None, "checks without a better one after which training stops", ge=1)
    keep_checks: bool = added(False, "store the encoder of every check, not the best one's alone")
    # One pass of Adam over a parameter in place of ten, where millions of them move at each step; it rounds otherwise.
    # On CUDA it is so always.
    fused: ClassVar[bool] = False
    # Name of the file that holds the trained head, beside the encoder's; empty: it is thrown away.
    keeps_head_as: ClassVar[str] = ""
    # The validation metric; higher is better.
    metric: ClassVar[str] = "pearson"
    # Whether what is trained packs sentences by their lengths, as encoders may: lengths on a GPU would make it wait.
    packs: ClassVar[bool] = False
    # Whether a composition that was trained before is pulled back to what it was, and not towards 0.
    anchored: ClassVar[bool] = False

    _start: Start
    _head: nn.Module | None = None
    _lengths: Rows

    # -- what it reads -----------------------------------------------------------------------------------------------

    def texts(self) -> tuple[str, ...]:
        """Name the corpora and data sets that it is trained on."""
        return ()

    def digests(self) -> dict[str, str]:
        """Digest the files that a user may change without changing their names; they go over the fields in a key."""
        return {}

    def load(self, seed: int, suite: Suite, tokenisation: Tokenisation = "ptb") -> Any:
        """Read the data that the settings name: what is trained on first.

        Raises:
            DataError: a file is missing or damaged.
        """
        raise NotImplementedError

    # -- what it is bound to -----------------------------------------------------------------------------------------

    def bind(self, start: Start, data: Any = None) -> Self:
        """Return a copy that holds an encoder and examples.

        Args:
            data: as `load` returns it; None: that of the settings.
        """
        bound = self.model_copy()
        bound._start = start
        bound.prepare(bound.load(start.seed, start.suite, start.tokenisation) if data is None else data)
        return bound

    def prepare(self, data: Any) -> None:
        """Keep ``data`` as token ids and targets, and make the head."""
        raise NotImplementedError

    @property
    def encoder(self) -> SentenceEncoder:
        """What is trained."""
        return self._start.encoder

    @property
    def head(self) -> nn.Module:
        """What is trained with the encoder and is not part of it; it may have no parameters."""
        return nn.Module() if self._head is None else self._head

    @property
    def lengths(self) -> Rows:
        """(N,) words of each training example."""
        return self._lengths

    # -- loss and validation -----------------------------------------------------------------------------------------

    def batch(self, rows: Rows, rng: np.random.Generator) -> Batch:
        """Gather what the loss reads of the examples ``rows``, on the CPU."""
        raise NotImplementedError

    def compute_loss(self, batch: Batch) -> Tensor:
        """Compute the mean loss of a batch that is on the encoder's device."""
        raise NotImplementedError

    def judge(self) -> float:
        """Return the validation metric."""
        raise NotImplementedError

    def watched(self) -> list[dict[str, Any]]:
        """Return further points of the curve at a check: split, metric and value; nothing is chosen by them."""
        return []

    def rate_after(self, rate: float, *, improved: bool) -> float:
        """Return the learning rate after a check of the validation metric."""
        return rate

    def penalties(self) -> Iterator[Penalty]:
        """Yield (parameter, coefficient, anchor): half the coefficient times the squared distance to it (None: 0).

        It is called when a training begins, so that anchors are what was trained before.
        """
        anchored = self.anchored and self._start.trained
        for parameter in self.encoder.composition():
            yield parameter, self.composition_decay, parameter.detach().clone() if anchored else None

    def held_out_scores(self) -> Mapping[str, Array]:
        """Return scores of pairs that were not trained on, by their split, in the present state."""
        return {}

    def padded(self, tokens: TokenIds, *sides: Rows, order: Array | None = None) -> tuple[Sentences, ...]:
        """Pad the sentences ``sides`` of ``tokens`` for one call of the encoder, half the overhead of a call for each.

        An encoder that sees its batch's padding gets a call for each of ``sides``.

        Args:
            order: sort keys that permute the words of the sentences of all sides, see `TokenIds.padded`.
        """
        calls = sides if self.encoder.batch_dependent else (np.concatenate(sides),)
        keys = [None] * len(calls) if order is None else np.split(order, len(calls))
        found = (tokens.padded(rows, self.encoder.minimum_length, key) for rows, key in zip(calls, keys, strict=True))
        return tuple(Sentences(torch.from_numpy(ids).long(), torch.from_numpy(lengths)) for ids, lengths in found)

    def to_device(self, batch: Batch) -> Batch:
        """Copy a batch to the encoder's device."""
        device = self.encoder.embedding.weight.device
        if device.type == "cpu":
            return batch
        packs = self.packs or self.encoder.packs
        sentences = (
            Sentences(to_device(ids, device), lengths if packs else to_device(lengths, device))
            for ids, lengths in batch.sentences
        )
        return Batch(tuple(sentences), tuple(to_device(tensor, device) for tensor in batch.tensors))

    def vectors(self, batch: Batch) -> Tensor:
        """Encode all sentences of a batch; (B, F), of pairs all first members, then all second ones."""
        found = [self.encoder(*call) for call in batch.sentences]
        return found[0] if len(found) == 1 else torch.cat(found)


# -- settings of papers ------------------------------------------------------------------------------------------------


class Grid(Section):
    """What a transfer chooses among on the development pairs: the paper's grid is the default.

    Every learning rate is trained with every batch size. The numbers of epochs need no training each: the order of an
    epoch does not depend on how many follow, so the longest run passes through the shorter ones, and the best epoch on
    the development pairs is kept.
    """

    learning_rates: tuple[Rate, ...] = Field((0.1, 0.01, 0.001, 0.0001), min_length=1)
    batch_sizes: tuple[Annotated[int, Field(ge=2)], ...] = Field((32, 64), min_length=1)
    epochs: tuple[Annotated[int, Field(ge=1)], ...] = Field((10, 30, 50), min_length=1)
    patience: int | None = Field(5, ge=1, description="epochs without a better one after which training stops")
    pairs: int | None = Field(None, ge=2, description="at most so many training pairs while the grid is searched")
    beyond: int = added(0, "steps beyond a best rate or batch at the edge", ge=0)
    rescale: tuple[bool, ...] = added((), "of heads: vectors as they are, or of size one")


class Paper(Section):
    """What the experiments of every paper have."""

    profile: Profile = "paper"
    seeds: Seeds = (1, 2, 3, 4, 5)
    ablation_seeds: Seeds = (1, 2, 3)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    jobs: int = Field(1, ge=1, le=64, description="trainings side by side, one thread each")
    suite: Suite = "sts"
    tokenisation: Tokenisation = "ptb"
    resamples: int = Field(2000, ge=100, description="of the bootstrap")
    vectors: Vectors = Vectors()
