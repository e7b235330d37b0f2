"""Training an encoder by what decoders can write from its vectors: the four CNN-LSTM models."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator
from torch import Tensor, nn

from sentbook.config import Coefficient, Rate
from sentbook.data import novels
from sentbook.data.miniworld import World
from sentbook.data.novels import PARAGRAPH, WORDS, Books, Collection, Limits
from sentbook.data.prose import Layout
from sentbook.data.text import Tokenisation, Vocabulary, batches_by_tokens
from sentbook.data.vectors import WordVectors
from sentbook.io import originals
from sentbook.models import SentenceEncoder
from sentbook.models.decoders import DecoderOptions
from sentbook.models.encode import padded
from sentbook.models.encoder_decoder import Batch, EncoderDecoder, Kind
from sentbook.models.losses.reconstruction import reconstruction_loss
from sentbook.training.objectives.base import Objective, Rows
from sentbook.training.objectives.books import OrderedSentences, examples, lexicon

Per = Literal["token", "sentence"]

# Words of a file's mean sentence from which on it has no marks where sentences end.
_NO_PROSE = 100
# Cells of a batch of held-out text.
_CELLS = 8_000
# Rows looked at together.
_ROWS = 1 << 20


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
    begins: ClassVar[bool] = True
    fused: ClassVar[bool] = True
    embedding_update: Literal["dense", "frozen"] = "dense"  # type: ignore[assignment]
    pull_back_words: Coefficient = 0.0
    clip: Annotated[float, Field(gt=0)] | None = 5.0
    accumulate: int = Field(1, ge=1, le=1, description="parts of a batch: no choice any more, but part of keys")
    model: Kind = "autoencoder"
    corpus: Literal["novels", "bookcorpus", "folder", "miniworld-stories"] = "novels"
    path: str = Field("", description="of a folder of .txt books, with corpus: folder")
    layout: Layout = Field(
        "prose",
        description="of a folder's books: running text, or lines, each a sentence (BookCorpus)",
        exclude_if=lambda layout: layout == "prose",  # as composition_rate
    )
    books: int | None = Field(None, ge=2, description="the first so many books; None: all")
    limit: int | None = Field(None, ge=64, description="at most so many sentences in training, drawn by the seed")
    held_out: int | None = Field(None, ge=64, description="at most so many sentences for the held-out likelihood")
    vocabulary: int = Field(WORDS, ge=2, description="words that are learned and predicted")
    longest: int = Field(38, ge=1, description="longer sentences are left out")
    paragraph: int = Field(PARAGRAPH, ge=2, description="sentences of a paragraph")
    per: Per = "token"
    floor: Coefficient = Field(0.0, description="added to probabilities in training (the released code: 1e-6)")

    _decoding: EncoderDecoder
    _texts: dict[str, OrderedSentences]
    _rows: dict[str, Rows]
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

    def check(self) -> None:
        """Look for its books."""
        self.collection()

    def digests(self) -> dict[str, str]:
        return {"books_digest": found} if (found := self.identity()) else {}

    def summary(self) -> str:
        learned = "learned" if self.embedding_update == "dense" else "fixed"
        return f"text ({self.corpus}) that decoders write, {self.model}; word vectors {learned}; no decoder is here"

    # -- books -------------------------------------------------------------------------------------------------------

    def _folder(self) -> Path | None:
        """The user's own books: those that ``path`` names, or BookCorpus of the originals; None: books of this book."""
        if self.corpus == "bookcorpus":
            return originals() / "bookcorpus"
        return Path(self.path) if self.corpus == "folder" else None

    def collection(self) -> Collection:
        """Find the books.

        Raises:
            DataError: a novel or BookCorpus is missing, or a book is damaged, or a folder holds none.
        """
        if (own := self._folder()) is not None:
            return novels.folder(own, self.layout if self.corpus == "folder" else "lines")
        if self.corpus != "miniworld-stories":
            return novels.novels(self.books)
        return novels.stories(World().stories(self.books))

    def identity(self) -> str:
        """Digest the contents of a user's own books, which may change while their folder's name does not."""
        return self.collection().identity if self._folder() is not None else ""

    def read(self, tokenisation: Tokenisation) -> Books:
        """Return the books as token ids, and their vocabulary. What decides no id does not make them again."""
        names = ("corpus", "path", "layout", "books", "vocabulary")
        only = GenerationTraining(**{name: getattr(self, name) for name in names})
        return _prepared(only, tokenisation, self.identity())

    def describe(self, tokenisation: Tokenisation) -> None:
        """Print what is used of the books, what is held out and what is left out, in one line.

        Another line names files whose sentences are so long that each line must be one.
        """
        found, limits = self.read(tokenisation), Limits(longest=self.longest)
        print(
            f"{len(found.rows('train', limits)):,} sentences to train on, {len(found.rows('held out', limits)):,} held "
            f"out ({found.held.sum()} of {len(found.names):,} books); left out: "
            f"{(found.tokens.lengths > self.longest).sum():,} of more than {self.longest} words"
        )
        words, sentences = np.diff(found.tokens.offsets[found.offsets]), np.diff(found.offsets)
        long = [name for name, absurd in zip(found.names, words > _NO_PROSE * sentences, strict=True) if absurd]
        if long and (self.corpus, self.layout) == ("folder", "prose"):
            print(
                f"There are sentences of more than {_NO_PROSE} words on average in {', '.join(long)}: where every line "
                "is a sentence, set pretraining.layout to lines."
            )

    def split(self, found: Books, seed: int) -> tuple[OrderedSentences, OrderedSentences]:
        """Return the sentences to train on and the held-out ones: of other books, or parts, whatever the seed."""
        limits = Limits(longest=self.longest)
        # A sample is drawn of all kinds of examples in turn; where there is none, only those of the model are held.
        kinds = [self.model if most is None else None for most in (self.limit, self.held_out)]
        train = OrderedSentences.of(found, "train", limits, self.paragraph, kinds[0])
        held = OrderedSentences.of(found, "held out", limits, self.paragraph, kinds[1])
        return train.at_most(self.limit, np.random.default_rng([seed, 1])), held.at_most(
            self.held_out, np.random.default_rng(0)
        )

    def lexicon(self, found: Books, known: WordVectors, seed: int) -> tuple[Vocabulary, Tensor]:
        """Return the words of the books and of ``known``, and their vectors before training; see `books.lexicon`."""
        return lexicon(found, known, learned=self.embedding_update == "dense", bound=self.bound, seed=seed)

    # -- examples ----------------------------------------------------------------------------------------------------

    def load(self) -> tuple[OrderedSentences, OrderedSentences]:
        """Read the sentences to train on and the held-out ones."""
        return self.split(self.read(self._start.tokenisation), self._start.seed)

    def encoder_decoder(self, encoder: SentenceEncoder, seed: int) -> EncoderDecoder:
        """Return the encoder with untrained decoders."""
        return EncoderDecoder(encoder, self.model, self, seed=seed)

    def prepare(self, data: tuple[OrderedSentences, OrderedSentences]) -> None:
        self._decoding = self.encoder_decoder(self.encoder, self._start.seed)
        self._head = self._decoding.decoders
        self._texts = dict(zip(("train", "held out"), data, strict=True))
        self._rows = {name: examples(ordered, self.model) for name, ordered in self._texts.items()}
        self._lengths = self._longest("train")
        self._nats = {}

    @property
    def metric(self) -> str:
        return "log-likelihood per token"

    def _words(self, name: str, rows: Rows) -> dict[str, NDArray[np.int64]]:
        """Of each decoder, how many words it predicts in the examples that begin at ``rows``, ends left out."""
        ordered = self._texts[name]
        offsets = ordered.tokens.offsets
        if self.model == "hierarchical":
            return {"next": offsets[rows + ordered.size] - offsets[rows]}
        same, following = offsets[rows + 1] - offsets[rows], offsets[np.minimum(rows + 2, len(offsets) - 1)]
        words = {"same": same, "next": following - offsets[rows + 1]}
        return {part: words[part] for part in self._decoding.decoders}

    def _longest(self, name: str) -> NDArray[np.int64]:
        """What batches are sorted by: words of a sentence, of the longer one of a pair, or of a paragraph."""
        rows, offsets = self._rows[name], self._texts[name].tokens.offsets
        found = np.empty(len(rows), dtype=np.int64)
        for at in range(0, len(rows), _ROWS):  # 70 million numbers are half a gigabyte, and so is each sum of them
            part = rows[at : at + _ROWS]
            if self.model == "future predictor":
                words = [offsets[part + 1] - offsets[part], offsets[part + 2] - offsets[part + 1]]
            else:
                words = list(self._words(name, part).values())
            found[at : at + _ROWS] = np.maximum.reduce(words)
        return found

    def batch(self, name: str, examples: NDArray[np.int64]) -> Batch:
        """Examples of ``train`` or ``held out`` as tensors."""
        ordered, rows = self._texts[name], self._rows[name][examples]
        tokens = ordered.tokens
        if self.model == "hierarchical":
            sentences = (rows[:, None] + np.arange(ordered.size)).ravel()
            counts = torch.full((len(rows),), ordered.size)
            return Batch(*padded(tokens, sentences, self.encoder), counts=counts)
        following = None if self.model == "autoencoder" else padded(tokens, rows + 1, self.encoder)
        return Batch(*padded(tokens, rows, self.encoder), following)

    def counts(self, examples: NDArray[np.int64]) -> dict[str, int]:
        """Of each decoder, over how much the loss of these examples is a mean: words and ends, or sentences."""
        each = self._texts["train"].size if self.model == "hierarchical" else 1
        ends = len(examples) * each
        if self.per == "sentence":
            return dict.fromkeys(self._decoding.decoders, ends)
        return {
            part: int(words.sum()) + ends for part, words in self._words("train", self._rows["train"][examples]).items()
        }

    # -- loss and validation -----------------------------------------------------------------------------------------

    def totals(self, name: str, examples: NDArray[np.int64]) -> dict[str, tuple[Tensor, int]]:
        """Of each decoder: the sum of losses, and how many words, ends included, were predicted."""
        floor = self.floor if name == "train" else 0.0
        return {
            part: (
                reconstruction_loss(forced.features, forced.rows, forced.bias, forced.target, floor=floor),
                len(forced.target),
            )
            for part, forced in self._decoding(self.batch(name, examples)).items()
        }

    def compute_loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        counts = self.counts(rows)
        return torch.stack([total / counts[part] for part, (total, _) in self.totals("train", rows).items()]).sum()

    @torch.inference_mode()
    def judge(self) -> float:
        sums: dict[str, tuple[float, int]] = {}
        for rows in batches_by_tokens(self._longest("held out"), _CELLS):
            for part, (total, words) in self.totals("held out", rows).items():
                before = sums.get(part, (0.0, 0))
                sums[part] = before[0] + float(total), before[1] + words
        self._nats = {part: total / words for part, (total, words) in sums.items()}
        return -sum(self._nats.values())

    def watched(self) -> list[dict[str, Any]]:
        """The held-out perplexity of each decoder."""
        return [
            {"split": "validation", "metric": f"perplexity of the {part} sentence", "value": math.exp(loss)}
            for part, loss in self._nats.items()
        ]

    def kept(self) -> dict[str, nn.Module]:
        return {"decoders": self._decoding.decoders}


@lru_cache(maxsize=2)
def _prepared(stage: GenerationTraining, tokenisation: Tokenisation, identity: str) -> Books:
    return novels.prepare(stage.collection(), words=stage.vocabulary, tokenisation=tokenisation)
