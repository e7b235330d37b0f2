"""Books for the encoder-decoders: their sentences, the words that are learned, and vectors for all other words."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from sentbook.config import digest
from sentbook.data import novels
from sentbook.data.miniworld import World
from sentbook.data.novels import HELD_OUT_EVERY, LAST_PART, Books, Collection, Limits
from sentbook.data.published import bookcorpus
from sentbook.data.text import Tokenisation, Vocabulary
from sentbook.data.vectors import WordVectors, linear_map
from sentbook.io import DataError
from sentbook.models import SentenceEncoder
from sentbook.models.encoder_decoder import EncoderDecoder
from sentbook.training.problems.generation import GenerationProblem, OrderedSentences, word_table
from sentbook.training.settings import GenerationTraining

MINIWORLD_STORIES = 3_000
# Words of a file's mean sentence from which on it has no marks where sentences end.
_NO_PROSE = 100


def folder(stage: GenerationTraining) -> Path | None:
    """The user's own books of a stage: those that it names, or BookCorpus of the originals; None: books of this book.

    Raises:
        DataError: BookCorpus is not there.
    """
    if stage.corpus == "bookcorpus":
        return bookcorpus()
    return Path(stage.path) if stage.corpus == "folder" else None


def collection(stage: GenerationTraining) -> Collection:
    """The books that a stage reads.

    Raises:
        DataError: a novel or BookCorpus is missing, or a book is damaged, or a folder holds none.
    """
    if (own := folder(stage)) is not None:
        return novels.folder(own, stage.layout if stage.corpus == "folder" else "lines")
    if stage.corpus != "miniworld-stories":
        return novels.novels(stage.books)
    return novels.stories(World().stories(stage.books or MINIWORLD_STORIES))


def identity(stage: GenerationTraining) -> str:
    """Of a user's own books a digest of their contents, which may change while their folder's name does not.

    So few books that a part of each is held out have one too, with which they were once held out whole.
    """
    if folder(stage) is None and (stage.books or HELD_OUT_EVERY) >= HELD_OUT_EVERY:
        return ""
    found = collection(stage)
    return found.identity if len(found.books) >= HELD_OUT_EVERY else digest([found.identity, LAST_PART])


@lru_cache(maxsize=2)
def _prepared(stage: GenerationTraining, tokenisation: Tokenisation, identity: str) -> Books:
    return novels.prepare(collection(stage), words=stage.vocabulary, tokenisation=tokenisation)


def books(stage: GenerationTraining, tokenisation: Tokenisation) -> Books:
    """The books as token ids, and their vocabulary. What decides no id does not make them again."""
    names = ("corpus", "path", "layout", "books", "vocabulary")
    only = GenerationTraining(**{name: getattr(stage, name) for name in names})
    return _prepared(only, tokenisation, identity(stage))


def tell(stage: GenerationTraining, tokenisation: Tokenisation) -> None:
    """Print what is used of the books, what is held out and what is left out, in one line.

    Another line names files whose sentences are so long that each line must be one.
    """
    found, limits = books(stage, tokenisation), Limits(longest=stage.longest)
    names = list(dict.fromkeys(name.removesuffix(LAST_PART) for name in found.names))
    whole = len(names) == len(found.names)
    how = f"{found.held.sum()} of {len(names):,} books" if whole else f"the last fifth of {', '.join(names)}"
    left = {f"of more than {stage.longest} words": int((found.tokens.lengths > stage.longest).sum()), **found.counts}
    lines = left.pop("lines")
    words, sentences = np.diff(found.tokens.offsets[found.offsets]), np.diff(found.offsets)
    long = [name for name, absurd in zip(found.names, words > _NO_PROSE * sentences, strict=True) if absurd]
    print(
        f"{lines:,} lines: {len(found.rows('train', limits)):,} sentences to train on, "
        f"{len(found.rows('held out', limits)):,} held out ({how}); left out: "
        + ", ".join(f"{count:,} {what}" for what, count in left.items())
    )
    if long and (stage.corpus, stage.layout) == ("folder", "prose"):
        print(
            f"There are sentences of more than {_NO_PROSE} words on average in {', '.join(long)}: where every line is "
            "a sentence, set pretraining.layout to lines."
        )


def texts(stage: GenerationTraining, found: Books, seed: int) -> tuple[OrderedSentences, OrderedSentences]:
    """The sentences to train on, and those that are held out: of other books, or parts of them, whatever the seed."""
    limits = Limits(longest=stage.longest)
    # A sample is drawn of all kinds of examples in turn; where there is none, only those of the model are held.
    kinds = [stage.model if most is None else None for most in (stage.limit, stage.held_out)]
    train = OrderedSentences.of(found, "train", limits, stage.paragraph, kinds[0])
    held = OrderedSentences.of(found, "held out", limits, stage.paragraph, kinds[1])
    return train.at_most(stage.limit, np.random.default_rng([seed, 1])), held.at_most(
        stage.held_out, np.random.default_rng(0)
    )


def lexicon(stage: GenerationTraining, found: Books, known: WordVectors, seed: int) -> tuple[Vocabulary, Tensor]:
    """The words of the books, then the other words of ``known``; and their (V, D) vectors before training.

    With fixed vectors (+emb) every word has its own of ``known``, and a word without one the mean of all. Learned
    vectors start from noise, and those of other words are 0 until `expand` finds them.

    Source: Gan et al. 2017, section 4: the two "methods of considering words not in the training set".
    """
    own = found.vocabulary.words
    index = {word: row for row, word in enumerate(known.words)}
    have = set(own)
    others = [word for word in known.words if word not in have]
    vocabulary = Vocabulary([*own, *others])
    if stage.embedding_update == "dense":
        table = word_table(found.vocabulary, known.dimension, stage.bound, seed=seed)
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


def model(encoder: SentenceEncoder, stage: GenerationTraining, seed: int) -> EncoderDecoder:
    """The encoder with the stage's untrained decoders."""
    return EncoderDecoder(encoder, stage.model, stage, seed=seed)


def problem(encoder: SentenceEncoder, stage: GenerationTraining, found: Books, seed: int) -> GenerationProblem:
    """The training of ``encoder`` over the books' words."""
    train, held = texts(stage, found, seed)
    return GenerationProblem(model(encoder, stage, seed), train, held, per=stage.per, floor=stage.floor)
