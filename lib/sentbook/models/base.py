"""What every encoder shares: the table of word vectors, dropout on it, and the contract of `forward`."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

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
    training step gathers the rows of its distinct words into a leaf tensor, which has the gradient, and
    `sentbook.training.train.LazyAdam` updates them alone.

    Args:
        weight: (V, D) float32 initial vectors, rows 0 and 1 included.

    Attributes:
        words: (U,) distinct words of the present step, sorted, padding first; None between steps.
        rows: (U, D) their vectors in a step with ``lazy``.
    """

    words: Tensor | None = None
    rows: Tensor | None = None
    lazy = False
    _places: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.register_buffer("_places", torch.zeros(len(weight), dtype=torch.int64), persistent=False)

    @property
    def dimension(self) -> int:
        return int(self.weight.shape[1])

    def gather(self, words: Tensor) -> None:
        """Begin a training step over the distinct ``words``, (U,), sorted, padding first."""
        self._places.index_copy_(0, words, torch.arange(len(words), device=words.device))
        self.words, self.rows = words, None
        if self.lazy:
            self.rows = self.weight.detach().index_select(0, words).requires_grad_()

    def release(self) -> None:
        """End the last step: words are looked up in the whole table again."""
        self.words = self.rows = None

    def forward(self, ids: Tensor) -> Tensor:
        """Look up (B, T) ids: (B, T, D) vectors."""
        return functional.embedding(*self._found(ids))

    def mean(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Average the words of (B, T) ids with (B,) lengths, and gather none of their vectors: (B, D)."""
        places, table = self._found(ids)
        if not ids.is_cpu:  # the lines below would wait for a GPU
            return functional.embedding_bag(places, table, mode="mean", padding_idx=PADDING)
        inside = torch.arange(ids.shape[1]) < lengths.unsqueeze(1)
        return functional.embedding_bag(places[inside], table, lengths.cumsum(0) - lengths)

    def distinct(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Look up (U, D) vectors of distinct words, padding's first and zero, and the places of ``ids`` among them."""
        words = self.words if torch.is_grad_enabled() else None
        if words is None:
            words, places = torch.unique(torch.cat([ids.new_full((1,), PADDING), ids.reshape(-1)]), return_inverse=True)
            return self(words), places[1:].view(ids.shape)
        return self(words), self._places[ids]

    def _found(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return places, shaped as ``ids``, and the rows that they count: in a lazy step those of its words."""
        if self.rows is None or not torch.is_grad_enabled():
            return ids, self.weight
        return self._places[ids], self.rows

    def extra_repr(self) -> str:
        return f"{len(self.weight)} words of {self.dimension}"


class SentenceEncoder(nn.Module, ABC):
    """Padded ids (B, T) and lengths (B,) to sentence vectors (B, F).

    Padding never reaches a pool: a sentence's vector is the same alone, in a batch and in any order (to 1e-5),
    but for encoders with `batch_dependent`, as some released codes have it. A row without a word has the vector 0.

    A vector has the type of the encoder's weights, also after ``half()``, ``bfloat16()`` and ``double()``; only under
    autocast it may have another.

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
        computes: with weights of 16 bits, what `forward` adds up and ranks in: their own type, or float32 on a CPU,
            where states of LSTMs always are.
    """

    options: EncoderOptions
    minimum_length = 1
    # About 60 MB of 300-d float32 word vectors a batch, whatever the lengths.
    tokens_per_batch = 50_000
    batch_dependent = packs = False
    computes: ClassVar[Literal["own type", "float32"]] = "own type"

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
        if ids.shape[1] < self.minimum_length:
            ids = functional.pad(ids, (0, self.minimum_length - ids.shape[1]), value=PADDING)
        wordless = lengths == 0
        none = lengths.is_cpu and not wordless.any()  # on a GPU this would wait
        lengths = lengths if none else lengths.clamp(min=1)
        found: Tensor = super().__call__(ids, lengths if self.packs else to_device(lengths, ids.device))
        found = found if none else found.masked_fill(to_device(wordless, ids.device).unsqueeze(1), 0)
        kind = self.embedding.weight.dtype
        return found if kind == torch.float32 else found.to(kind)

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
