"""Training an encoder by what decoders can write from its vectors: the four CNN-LSTM models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentbook.data.novels import PARAGRAPH, Books, Limits, Part
from sentbook.data.text import TokenIds, Vocabulary, batches_by_tokens
from sentbook.io import DataError
from sentbook.models.encode import padded
from sentbook.models.encoder_decoder import Batch, EncoderDecoder, Kind
from sentbook.models.losses.reconstruction import reconstruction_loss
from sentbook.training.problem import Problem, Rows
from sentbook.training.settings import Per

# Cells of a batch of held-out text.
_CELLS = 8_000
# Rows looked at together.
_ROWS = 1 << 20


@dataclass(frozen=True)
class OrderedSentences:
    """Which sentences of books are used, and which stand together; nothing crosses a book.

    Attributes:
        tokens: all sentences in their order; ``flat`` may be a memory map of any integer type.
        sentences: (N,) rows of those that are used.
        firsts: rows of those whose next one is used too, in the same book.
        paragraphs: the first row of each paragraph, whose ``size`` sentences follow each other.
        size: sentences of a paragraph.

    Raises:
        DataError: a row, or the last one of a pair or a paragraph, is not among the sentences.
    """

    tokens: TokenIds
    sentences: Rows
    firsts: Rows
    paragraphs: Rows
    size: int = PARAGRAPH

    def __post_init__(self) -> None:
        for rows, reach in ((self.sentences, 0), (self.firsts, 1), (self.paragraphs, self.size - 1)):
            if len(rows) and not 0 <= rows[0] <= rows[-1] + reach < len(self.tokens):
                raise DataError("A pair or a paragraph goes beyond the last sentence; cut the text again.")

    def __len__(self) -> int:
        return len(self.sentences)

    @classmethod
    def of(
        cls, books: Books, part: Part, limits: Limits, size: int = PARAGRAPH, kind: Kind | None = None
    ) -> OrderedSentences:
        """Those of a part of ``books`` that are within the limits.

        Args:
            kind: of the model that they are for, so that no more is held than it needs (70 million numbers are half a
                gigabyte); None: for all.

        Source: Gan et al. 2017, section 4: "each paragraph is composed of 8 sentences".
        """
        none = np.empty(0, dtype=np.int64)
        sentences = books.rows(part, limits) if kind in (None, "autoencoder") else none
        firsts = books.pairs(part, limits) if kind in (None, "future predictor", "composite") else none
        paragraphs = books.paragraphs(part, size, limits) if kind in (None, "hierarchical") else none
        return cls(books.tokens, sentences, firsts, paragraphs, size)

    def at_most(self, count: int | None, rng: np.random.Generator) -> OrderedSentences:
        """A sample of so many sentences, pairs, and paragraphs of as many sentences together; None: all of them.

        Every kind of model is then trained on about as much text.
        """
        if count is None:
            return self
        sentences, firsts, paragraphs = (
            np.sort(rng.permutation(rows)[:most])
            for rows, most in (
                (self.sentences, count),
                (self.firsts, count),
                (self.paragraphs, max(1, count // self.size)),
            )
        )
        return OrderedSentences(self.tokens, sentences, firsts, paragraphs, self.size)


def examples(ordered: OrderedSentences, kind: Kind) -> Rows:
    """The first sentence of each example of a kind of model.

    Raises:
        DataError: there is none.
    """
    kinds = {"autoencoder": ordered.sentences, "hierarchical": ordered.paragraphs}
    rows = kinds.get(kind, ordered.firsts)
    if not len(rows):
        raise DataError(f"The text has no example for the {kind} model; give more or longer books, or raise longest.")
    return rows


def text(words: Sequence[int], vocabulary: Vocabulary) -> str:
    """Ids as words with spaces between, an unknown one as ``<unk>``."""
    return " ".join(vocabulary.words[word - 2] if word > 1 else "<unk>" for word in words)


def word_table(vocabulary: Vocabulary, dimension: int = 300, bound: float = 0.01, *, seed: int) -> Tensor:
    """(V, D) word vectors to be learned, uniform in [-bound, bound]; padding's is 0.

    Source: Gan et al. 2017, section 4, for all weights; the released code starts word vectors at .05.
    """
    generator = torch.Generator().manual_seed(seed)
    table = torch.empty(len(vocabulary), dimension).uniform_(-bound, bound, generator=generator)
    table[0] = 0
    return table


class GenerationProblem(Problem):
    """One of the four models over ordered sentences, judged by the held-out likelihood.

    An example is a sentence (autoencoder), a sentence with a next one in its book (future predictor, composite) or a
    paragraph (hierarchical). The losses of a composite model are added, one to one.

    Source: Gan et al. 2017, sections 2 and 4.
    Deviations: the text sums log-probabilities over pairs; the loss is their mean per predicted word, ends included, as
    in the released code (``per="token"``), or per predicted sentence (``per="sentence"``). The weights of the
    composite's parts are not stated.

    Args:
        model: its encoder is kept, its decoders are the head.
        train, held_out: text.
        per: what a loss is the mean over.
        floor: added to each probability in training, 1e-6 in the released code.

    Raises:
        DataError: no example, since no book has two sentences.
    """

    metric = "log-likelihood per token"

    def __init__(
        self,
        model: EncoderDecoder,
        train: OrderedSentences,
        held_out: OrderedSentences,
        *,
        per: Per = "token",
        floor: float = 0.0,
    ) -> None:
        self.model, self.encoder, self.per, self.floor = model, model.encoder, per, floor
        self.head: nn.Module = model.decoders
        self._texts = {"train": train, "held out": held_out}
        self._rows = {name: examples(ordered, model.kind) for name, ordered in self._texts.items()}
        self.lengths = self._lengths("train")
        # Nats of each predicted word, by decoder, at the last validation.
        self.losses: dict[str, float] = {}

    # -- examples ----------------------------------------------------------------------------------------------------

    def _words(self, name: str, rows: Rows) -> dict[str, NDArray[np.int64]]:
        """Of each decoder, how many words it predicts in the examples that begin at ``rows``, ends left out."""
        ordered = self._texts[name]
        offsets = ordered.tokens.offsets
        if self.model.kind == "hierarchical":
            return {"next": offsets[rows + ordered.size] - offsets[rows]}
        same, following = offsets[rows + 1] - offsets[rows], offsets[np.minimum(rows + 2, len(offsets) - 1)]
        words = {"same": same, "next": following - offsets[rows + 1]}
        return {part: words[part] for part in self.model.decoders}

    def _lengths(self, name: str) -> NDArray[np.int64]:
        """What batches are sorted by: words of a sentence, of the longer one of a pair, or of a paragraph."""
        rows, offsets = self._rows[name], self._texts[name].tokens.offsets
        found = np.empty(len(rows), dtype=np.int64)
        for at in range(0, len(rows), _ROWS):  # 70 million numbers are half a gigabyte, and so is each sum of them
            part = rows[at : at + _ROWS]
            if self.model.kind == "future predictor":
                words = [offsets[part + 1] - offsets[part], offsets[part + 2] - offsets[part + 1]]
            else:
                words = list(self._words(name, part).values())
            found[at : at + _ROWS] = np.maximum.reduce(words)
        return found

    def batch(self, name: str, examples: NDArray[np.int64]) -> Batch:
        """Examples of ``train`` or ``held out`` as tensors."""
        ordered, rows = self._texts[name], self._rows[name][examples]
        tokens = ordered.tokens
        if self.model.kind == "hierarchical":
            sentences = (rows[:, None] + np.arange(ordered.size)).ravel()
            counts = torch.full((len(rows),), ordered.size)
            return Batch(*padded(tokens, sentences, self.encoder), counts=counts)
        following = None if self.model.kind == "autoencoder" else padded(tokens, rows + 1, self.encoder)
        return Batch(*padded(tokens, rows, self.encoder), following)

    def counts(self, examples: NDArray[np.int64]) -> dict[str, int]:
        """Of each decoder, over how much the loss of these examples is a mean: words and ends, or sentences."""
        each = self._texts["train"].size if self.model.kind == "hierarchical" else 1
        ends = len(examples) * each
        if self.per == "sentence":
            return dict.fromkeys(self.model.decoders, ends)
        return {
            part: int(words.sum()) + ends for part, words in self._words("train", self._rows["train"][examples]).items()
        }

    # -- the problem -------------------------------------------------------------------------------------------------

    def totals(self, name: str, examples: NDArray[np.int64]) -> dict[str, tuple[Tensor, int]]:
        """Of each decoder: the sum of losses, and how many words, ends included, were predicted."""
        floor = self.floor if name == "train" else 0.0
        return {
            part: (
                reconstruction_loss(forced.features, forced.rows, forced.bias, forced.target, floor=floor),
                len(forced.target),
            )
            for part, forced in self.model(self.batch(name, examples)).items()
        }

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        """The mean loss of the examples ``rows``."""
        counts = self.counts(rows)
        return torch.stack([total / counts[part] for part, (total, _) in self.totals("train", rows).items()]).sum()

    @torch.inference_mode()
    def validate(self) -> float:
        sums: dict[str, tuple[float, int]] = {}
        for examples in batches_by_tokens(self._lengths("held out"), _CELLS):
            for part, (total, words) in self.totals("held out", examples).items():
                before = sums.get(part, (0.0, 0))
                sums[part] = before[0] + float(total), before[1] + words
        self.losses = {part: total / words for part, (total, words) in sums.items()}
        return -sum(self.losses.values())

    def watch(self) -> list[dict[str, Any]]:
        """The held-out perplexity of each decoder."""
        return [
            {"split": "validation", "metric": f"perplexity of the {part} sentence", "value": math.exp(loss)}
            for part, loss in self.losses.items()
        ]

    def kept(self) -> dict[str, nn.Module]:
        return {"decoders": self.head}
