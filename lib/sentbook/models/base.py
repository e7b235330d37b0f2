"""What every encoder shares: the table of word vectors, dropout on it, and the contract of `forward`."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from sentbook.config import Section
from sentbook.data.text import PADDING


class EncoderOptions(Section):
    """Base of an encoder's options: what decides it untrained, beside its word vectors and its seed.

    The `kind` names its class. Names and defaults of the options are part of a trained encoder's key.
    """

    kind: str


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor where it is not yet: to a CUDA device from pinned memory, so that the host does not wait."""
    pinned = tensor.pin_memory() if device.type == "cuda" and not tensor.is_cuda else tensor
    return pinned.to(device, non_blocking=True)


class WordEmbedding(nn.Module):
    """The trained table W_w of word vectors, (V, D); row 0 is padding and stays zero, row 1 stands for unknown words.

    A dense gradient of W_w costs O(V D) a step although a batch touches a few hundred rows. With ``lazy`` set, a
    training step gathers only the batch's distinct rows into a leaf tensor; the optimiser then finds them in
    `take_touched` and updates them alone (`sentbook.training.optim.LazyAdam`).

    Args:
        weight: (V, D) float32 initial vectors, rows 0 and 1 included.
    """

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.lazy = False
        self._touched: list[tuple[Tensor, Tensor]] = []

    @property
    def dimension(self) -> int:
        return int(self.weight.shape[1])

    def forward(self, ids: Tensor) -> Tensor:
        """Look up (B, T) ids: (B, T, D) vectors."""
        return functional.embedding(*self._found(ids))

    def mean(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Average the words of (B, T) ids with (B,) lengths, and gather none of their vectors: (B, D)."""
        inside = torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)
        words, table = self._found(ids[inside])
        return functional.embedding_bag(words, table, lengths.cumsum(0) - lengths)

    def _found(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Places, shaped as ``ids``, and the rows that they count: in training with ``lazy``, of these words alone."""
        if not (self.lazy and torch.is_grad_enabled()):
            return ids, self.weight
        words, places = torch.unique(ids, return_inverse=True)
        rows = self.weight.detach().index_select(0, words).requires_grad_()
        self._touched.append((words, rows))
        return places, rows

    def extra_repr(self) -> str:
        return f"{len(self.weight)} words of {self.dimension}"

    def take_touched(self) -> list[tuple[Tensor, Tensor]]:
        """Hand over the (ids, rows with gradient) gathered since the last call; the optimiser leaves out padding."""
        touched, self._touched = self._touched, []
        return touched


class SentenceEncoder(nn.Module, ABC):
    """Padded ids (B, T) and lengths (B,) to sentence vectors (B, F).

    Padding never reaches a pool: a sentence's vector is the same alone, in a batch and in any order (to 1e-5),
    except where a `faithful` switch says otherwise.

    Args:
        weight: (V, D) word vectors, row 0 padding, row 1 unknown.
        options: None: the defaults of its class. Initial values are drawn from torch's generator; `build` seeds it.

    Attributes:
        options: as given; those of the class are the defaults.
        embedding: the word vectors; all other parameters are the composition's, W_c.
        dropout: probability of zeroing an element of a word vector while training (inverted scaling); training sets it.
        minimum_length: the padded width T that `forward` needs at least.
        tokens_per_batch: how many padded cells `encode_ids` gives at once, by what `forward` keeps of each.
        packs: `forward` packs sentences by their lengths, and finds these where they were given: best on the CPU.
    """

    options: EncoderOptions
    minimum_length = 1
    # About 60 MB of 300-d float32 word vectors a batch, whatever the lengths.
    tokens_per_batch = 50_000
    batch_dependent = packs = False

    dropout = 0.0

    def __init__(self, weight: Tensor, options: EncoderOptions | None = None) -> None:
        super().__init__()
        self.embedding = WordEmbedding(weight)
        if options is not None:
            self.options = options

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Return F, the width of a sentence vector."""

    @abstractmethod
    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids with (B,) lengths to (B, F) vectors."""

    def __call__(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Encode (B, T) padded ids; without their (B,) lengths, a sentence ends where its padding begins."""
        if lengths is None:
            lengths = (ids != PADDING).sum(dim=1)
            ids = functional.pad(ids, (0, max(0, self.minimum_length - ids.shape[1])), value=PADDING)
        found: Tensor = super().__call__(ids, lengths if self.packs else to_device(lengths, ids.device))
        return found

    def extra_repr(self) -> str:
        return f"{self.parameter_count():,} parameters besides words, to {self.dimension} numbers"

    def words(self, ids: Tensor) -> Tensor:
        """Look up (B, T, D) word vectors, after dropout while training; padded cells are zero."""
        vectors = _dropped(self.embedding(ids), self.dropout if self.training else 0.0)
        return vectors * (ids != PADDING).unsqueeze(-1)

    def composition(self) -> list[nn.Parameter]:
        """List the parameters W_c: all but the word vectors."""
        return [parameter for parameter in self.parameters() if parameter is not self.embedding.weight]

    def parameter_count(self) -> int:
        """Count the trainable numbers outside the word vectors."""
        return sum(parameter.numel() for parameter in self.composition())


def _dropped(vectors: Tensor, probability: float) -> Tensor:
    """Zero each element with ``probability``, to the nearest of 65,536 parts, and scale the others to keep the mean.

    On a CPU torch draws one number after the other, an eighth of an LSTM's training step; four are cut from each draw
    of 64 bits here.
    """
    if not probability or vectors.device.type != "cpu":
        return functional.dropout(vectors, probability)
    draws = torch.empty(-(-vectors.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    below = min(round(probability * 2**16), 2**16 - 1)  # some are kept, whatever the probability
    kept = draws.view(torch.int16)[: vectors.numel()].view(vectors.shape) >= below - 2**15
    return vectors * kept.to(vectors.dtype).mul_(2**16 / (2**16 - below))
