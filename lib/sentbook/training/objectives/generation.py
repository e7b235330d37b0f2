"""Training an encoder by what decoders can write from its vectors: the four CNN-LSTM models."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from sentbook.config import Coefficient, OwnPath, Rate
from sentbook.data import novels
from sentbook.data.miniworld import World
from sentbook.data.novels import PARAGRAPH, WORDS, Books, Collection, Layout, Limits, Part
from sentbook.data.suites import Suite
from sentbook.data.text import TokenIds, Tokenisation, Vocabulary, batches_by_tokens
from sentbook.data.vectors import WordVectors, linear_map
from sentbook.io import DataError, originals
from sentbook.models.decoders import DecoderOptions, EncoderDecoder, Kind
from sentbook.models.losses import reconstruction_loss
from sentbook.training.objectives.base import Batch, Objective, Rows, added

# Cells of a batch of held-out text.
_CELLS = 8_000


class Text(NamedTuple):
    """All sentences of books in their order, and the first one of each example; no example goes beyond its book."""

    tokens: TokenIds
    rows: Rows


class GenerationTraining(Objective, DecoderOptions):
    """One of the four models over ordered sentences, judged by the held-out likelihood.

    An example is a sentence (autoencoder), a sentence with a next one in its book (future predictor, composite) or a
    paragraph (hierarchical). The losses of a composite model are added, one to one. With ``embedding_update: frozen``
    the words keep their pre-trained vectors (+emb); else they are learned from noise.

    Source: Gan et al. 2017, sections 2 and 4.
    Deviations: the text sums log-probabilities over pairs; the loss is their mean per predicted word, ends included, as
    in the released code (``per="token"``), or per predicted sentence (``per="sentence"``). The weights of the
    composite's parts are not stated.
    """

    epochs: int = Field(8, ge=1)
    batch_size: int = Field(64, ge=2, description="sentences, or paragraphs of the hierarchical model (the paper: 8)")
    learning_rate: Rate = 2e-4
    fused: ClassVar[bool] = True
    keeps_head_as: ClassVar[str] = "decoders"
    metric: ClassVar[str] = "log-likelihood per token"
    packs: ClassVar[bool] = True  # decoders do
    embedding_update: Literal["dense", "frozen"] = "dense"  # type: ignore[assignment]
    pull_back_words: Coefficient = 0.0
    clip: Annotated[float, Field(gt=0)] | None = 5.0
    model: Kind = "autoencoder"
    corpus: Literal["novels", "bookcorpus", "folder", "miniworld-stories"] = "novels"
    path: OwnPath = Field("", description="of a folder of .txt books, with corpus: folder")
    layout: Layout = added("prose", "of a folder's books: running text, or lines, each a sentence (BookCorpus)")
    books: int | None = Field(None, ge=5, description="the first so many books; None: all")
    limit: int | None = Field(None, ge=64, description="at most so many sentences in training, drawn by the seed")
    held_out: int | None = Field(None, ge=64, description="at most so many sentences for the held-out likelihood")
    vocabulary: int = Field(WORDS, ge=2, description="words that are learned and predicted")
    longest: int = Field(38, ge=1, description="longer sentences are left out")
    paragraph: int = Field(PARAGRAPH, ge=2, description="sentences of a paragraph")
    per: Literal["token", "sentence"] = "token"
    floor: Coefficient = Field(0.0, description="added to probabilities in training (the released code: 1e-6)")

    _decoding: EncoderDecoder
    # What is trained on, and what is held out.
    _texts: tuple[Text, Text]
    # Nats of each predicted word, by decoder, at the last validation.
    _nats: dict[str, float]

    @model_validator(mode="after")
    def _has_its_folder(self) -> GenerationTraining:
        if (self.corpus == "folder") != bool(self.path):
            raise ValueError("corpus 'folder' and the path of a folder of .txt books go together")
        if self.layout == "lines" and not self.path:
            raise ValueError("layout 'lines' goes with corpus 'folder' and its path")
        return self

    def texts(self) -> tuple[str, ...]:
        return (self.corpus,)

    # -- books -------------------------------------------------------------------------------------------------------

    def collection(self) -> Collection:
        """Find the books."""
        match self.corpus:
            case "folder":
                return novels.folder(self.path, self.layout)
            case "bookcorpus":
                return novels.folder(originals() / "bookcorpus", "lines")
            case "miniworld-stories":
                return novels.stories(World().stories(self.books))
        return novels.novels(self.books)

    def digests(self) -> dict[str, str]:
        return {"path": self.collection().identity} if self.corpus in ("folder", "bookcorpus") else {}

    def read(self, tokenisation: Tokenisation) -> Books:
        """Return the books as token ids, and their vocabulary."""
        return novels.prepare(self.collection(), words=self.vocabulary, tokenisation=tokenisation)

    def lexicon(self, books: Books, known: WordVectors, seed: int) -> tuple[Vocabulary, Tensor]:
        """Return the words of the books, then the other words of ``known``; and their (V, D) vectors before training.

        With fixed vectors (+emb) every word has its own of ``known``, and a word without one that of unknown words.
        Learned vectors start from noise, and those of other words are 0 until `expand` finds them.

        Source: Gan et al. 2017, section 4: the two "methods of considering words not in the training set".
        """
        own, place = books.vocabulary.words, {word: row for row, word in enumerate(known.words)}
        have = set(own)
        others = [word for word in known.words if word not in have]
        vocabulary = Vocabulary([*own, *others])
        if self.embedding_update == "dense":
            table = word_table(books.vocabulary, known.dimension, self.bound, seed=seed)
            return vocabulary, torch.cat([table, torch.zeros(len(others), known.dimension)])
        unknown = known.unknown_vector
        rows = [known.matrix[place[word]] if word in place else unknown for word in vocabulary.words]
        return vocabulary, torch.from_numpy(np.vstack([np.zeros_like(unknown), unknown, *rows]).astype(np.float32))

    # -- examples ----------------------------------------------------------------------------------------------------

    def load(self, seed: int, suite: Suite, tokenisation: Tokenisation = "ptb") -> tuple[Text, Text]:
        """Read the sentences to train on, and those of other books that are held out, the same ones for every seed."""
        books = self.read(tokenisation)
        train = self._examples(books, "train", self.limit, np.random.default_rng([seed, 1]))
        return train, self._examples(books, "held out", self.held_out, np.random.default_rng(0))

    def _examples(self, books: Books, part: Part, most: int | None, rng: np.random.Generator) -> Text:
        """Find the examples of a part of the books, of about as much text for every kind of model.

        Args:
            most: a sample of so many sentences, pairs, or paragraphs of as many sentences together; None: all.
        """
        limits, size = Limits(longest=self.longest), self.paragraph if self.model == "hierarchical" else 1
        if self.model == "hierarchical":
            rows = books.paragraphs(part, self.paragraph, limits)
        else:
            rows = (books.rows if self.model == "autoencoder" else books.pairs)(part, limits)
        if most is not None:
            rows = np.sort(rng.permutation(rows)[: max(1, most // size)])
        return Text(books.tokens, rows)

    def prepare(self, data: tuple[Text, Text]) -> None:
        if not all(len(text.rows) for text in data):
            raise DataError(
                f"The text has no example for the {self.model} model; give more or longer books, or raise longest."
            )
        self._decoding = EncoderDecoder(self.encoder, self.model, self, seed=self._start.seed)
        self._head, self._texts, self._nats = self._decoding.decoders, data, {}
        self._lengths = self._words(data[0])

    def _words(self, text: Text) -> Rows:
        """What batches are sorted by: words of a sentence, of the longer one of a pair, or of a paragraph."""
        rows, offsets = text.rows, text.tokens.offsets
        found: Rows = offsets[rows + (self.paragraph if self.model == "hierarchical" else 1)] - offsets[rows]
        if self.model in ("autoencoder", "hierarchical"):
            return found
        return np.maximum(found, offsets[rows + 2] - offsets[rows + 1])

    def batch(self, rows: Rows, rng: np.random.Generator | None = None, part: int = 0) -> Batch:
        tokens, first = self._texts[part].tokens, self._texts[part].rows[rows]
        if self.model == "hierarchical":
            return Batch(self.padded(tokens, (first[:, None] + np.arange(self.paragraph)).ravel()))
        following = () if self.model == "autoencoder" else self.padded(tokens, first + 1)
        return Batch(self.padded(tokens, first) + following)

    # -- loss and validation -----------------------------------------------------------------------------------------

    def totals(self, batch: Batch, floor: float = 0.0) -> dict[str, tuple[Tensor, int]]:
        """Of each decoder: the sum of losses, and how many words, ends included, were predicted."""
        return {
            part: (
                reconstruction_loss(forced.features, forced.rows, forced.bias, forced.target, floor=floor),
                len(forced.target),
            )
            for part, forced in self._decoding(*batch.sentences, size=self.paragraph).items()
        }

    def compute_loss(self, batch: Batch) -> Tensor:
        sentences = len(batch.sentences[0].ids)
        totals = self.totals(batch, self.floor).values()
        return torch.stack([total / (words if self.per == "token" else sentences) for total, words in totals]).sum()

    @torch.inference_mode()
    def judge(self) -> float:
        batches = batches_by_tokens(self._words(self._texts[1]), _CELLS)
        found = [self.totals(self.to_device(self.batch(rows, part=1))) for rows in batches]
        for part in found[0]:
            totals, words = zip(*(one[part] for one in found), strict=True)
            self._nats[part] = sum(map(float, totals)) / sum(words)
        return -sum(self._nats.values())

    def watched(self) -> list[dict[str, Any]]:
        """Return the held-out perplexity of each decoder, at most e^700, near the largest number there is."""
        return [
            {"split": "validation", "metric": f"perplexity of the {part} sentence", "value": math.exp(min(loss, 700))}
            for part, loss in self._nats.items()
        ]


def word_table(vocabulary: Vocabulary, dimension: int = 300, bound: float = 0.01, *, seed: int) -> Tensor:
    """(V, D) word vectors to be learned, uniform in [-bound, bound]; padding's is 0.

    Source: Gan et al. 2017, section 4, for all weights; the released code starts word vectors at .05.
    """
    generator = torch.Generator().manual_seed(seed)
    table = torch.empty(len(vocabulary), dimension).uniform_(-bound, bound, generator=generator)
    table[0] = 0
    return table


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
    weight[2 + len(own) :] = torch.from_numpy((known.matrix[others] @ mapping).astype(np.float32))
