"""What is read of books: sentences, pairs and paragraphs, the words that are learned, and vectors for all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sentbook.data.novels import PARAGRAPH, Books, Limits, Part, Rows
from sentbook.data.text import TokenIds, Vocabulary
from sentbook.data.vectors import WordVectors, linear_map
from sentbook.io import DataError
from sentbook.models.encoder_decoder import Kind


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


def lexicon(found: Books, known: WordVectors, *, learned: bool, bound: float, seed: int) -> tuple[Vocabulary, Tensor]:
    """The words of the books, then the other words of ``known``; and their (V, D) vectors before training.

    With fixed vectors (+emb) every word has its own of ``known``, and a word without one the mean of all. ``learned``
    vectors start from noise in [-bound, bound], and those of other words are 0 until `expand` finds them.

    Source: Gan et al. 2017, section 4: the two "methods of considering words not in the training set".
    """
    own = found.vocabulary.words
    index = {word: row for row, word in enumerate(known.words)}
    have = set(own)
    others = [word for word in known.words if word not in have]
    vocabulary = Vocabulary([*own, *others])
    if learned:
        table = word_table(found.vocabulary, known.dimension, bound, seed=seed)
        return vocabulary, torch.cat([table, torch.zeros(len(others), known.dimension)])
    mean = known.matrix.mean(axis=0)
    rows = [known.matrix[index[word]] if word in index else mean for word in vocabulary.words]
    return vocabulary, torch.from_numpy(np.vstack([np.zeros_like(mean), mean, *rows]).astype(np.float32))


def expand(weight: Tensor, found: Books, known: WordVectors) -> None:
    r"""Give the words beyond those of the books their vectors, in place: $x W$ with the least-squares $W$.

    $$\min_W \sum_{w} \lVert x_w W - y_w \rVert^2$$

    over the words that have a vector x in ``known`` and a learned one y.

    Source: Gan et al. 2017, section 4, after Kiros et al. 2015 and Mikolov et al. 2013.
    Deviations: none known; Kiros et al. write no intercept, and there is none.

    Args:
        weight: (V, D) of `lexicon`, those of the books' words learned.

    Raises:
        DataError: fewer shared words than dimensions.
    """
    own = found.vocabulary.words
    learned = WordVectors(own, weight[2 : 2 + len(own)].numpy())
    mapping = linear_map(known, learned)
    have = set(own)
    others = np.array([row for row, word in enumerate(known.words) if word not in have], dtype=np.int64)
    if len(others) != len(weight) - 2 - len(own):
        raise DataError("The word vectors are not those that the encoder was trained with; train it again.")
    weight[2 + len(own) :] = torch.from_numpy((known.matrix[others] @ mapping).astype(np.float32))
