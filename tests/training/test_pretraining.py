"""Books before and after training: who is held out, which words are learned, and vectors for all other words."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentbook import config
from sentbook.data import novels, vectors
from sentbook.data.corpora import substitute
from sentbook.data.miniworld import World
from sentbook.data.novels import Books, Part
from sentbook.data.text import TOKENISERS
from sentbook.data.vectors import WordVectors
from sentbook.io import DataError
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.models.encoder_decoder import Kind
from sentbook.training.objectives import GenerationTraining, Start, Text
from sentbook.training.objectives.generation import expand, word_table
from sentbook.training.recipes import Recipe

STAGE = GenerationTraining(
    corpus="miniworld-stories", books=60, vocabulary=200, hidden=8, paragraph=4, held_out=64, bound=0.1
)


pytestmark = pytest.mark.usefixtures("forgetful", "cache")


@pytest.fixture
def found() -> Books:
    return STAGE.read("ptb")


@pytest.fixture(scope="module")
def known() -> WordVectors:
    return vectors.load("miniworld")


def changed(**changes: Any) -> GenerationTraining:
    return GenerationTraining(**STAGE.model_dump() | changes)


def shelf(folder: Path, books: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in books.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


# -- which books -------------------------------------------------------------------------------------------------------


def test_every_corpus_has_its_books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []
    monkeypatch.setattr(novels, "novels", lambda count: asked.append(count) or "novels")  # type: ignore[func-returns-value]
    assert [GenerationTraining(books=count).collection() for count in (None, 7)] == ["novels", "novels"]
    assert asked == [None, 7]
    stories = STAGE.collection()
    assert len(stories.books) == 60
    assert stories.books["000003"] == World().stories(60)[3]
    own = changed(corpus="folder", path=str(shelf(tmp_path / "shelf", dict.fromkeys("edcba", "One.")))).collection()
    assert list(own.books) == [*"abcde"]


def test_bookcorpus_is_missed_before_any_training_and_novels_are_read_where_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENTBOOK_ORIGINALS", str(tmp_path))
    settings = config.load("cnn_lstm", {"profile": "paper", "vectors": {"name": "miniworld"}})
    for stage in (settings.pretraining, settings.hierarchical):
        recipe = Recipe(method="m", seed=1, vectors=settings.vectors, encoder=settings.encoder, stages=(stage,))
        with pytest.raises(DataError, match=r"bookcorpus holds 0 \.txt files; .* 'novels'"):
            recipe.key()
    shelf(tmp_path / "bookcorpus", dict.fromkeys("abcde", "one of mr .\ntwo"))
    stage = settings.pretraining
    assert stage.collection().layout == "lines" and stage.digests()
    assert not substitute("bookcorpus", "cnn_lstm")
    monkeypatch.setenv("SENTBOOK_ORIGINALS", "none")
    settings = config.load("cnn_lstm", {"profile": "paper"})
    for stage in (settings.pretraining, settings.hierarchical):
        assert [substitute(text, "cnn_lstm") for text in stage.texts()] == [substitute("novels", "cnn_lstm")] != [""]


def test_learned_words_are_the_most_frequent_ones_of_the_books_to_train_on(found: Books) -> None:
    counts: Counter[str] = Counter()
    for held, story in zip(found.held, World().stories(60), strict=True):
        if not held:
            counts.update(word for sentence in story for word in TOKENISERS["ptb"](sentence))
    words = found.vocabulary.words
    assert len(words) == min(200, len(counts)) and found.held.sum() == 12
    times = [counts[word] for word in words]
    assert times == sorted(counts.values(), reverse=True)[: len(words)]


# -- which sentences ---------------------------------------------------------------------------------------------------


def test_held_out_sentences_are_of_other_books_and_the_same_for_every_seed(found: Books) -> None:
    limited = changed(limit=100)
    (train, held), (again, _), (other, same) = (limited.load(seed, "miniworld") for seed in (1, 1, 2))
    book_of = np.searchsorted(found.offsets, np.arange(len(found)), side="right") - 1
    assert found.held[book_of[held.rows]].all()
    assert not found.held[book_of[train.rows]].any()
    np.testing.assert_array_equal(held.rows, same.rows)
    np.testing.assert_array_equal(train.rows, again.rows)
    assert len(train.rows) == len(other.rows) == 100 and len(held.rows) == 64
    assert not np.array_equal(train.rows, other.rows)


@pytest.mark.parametrize("kind", ["autoencoder", "future predictor", "composite", "hierarchical"])
def test_a_model_is_given_its_kind_of_examples_within_the_limits(kind: Kind, found: Books) -> None:
    limits, size = novels.Limits(longest=10), {"autoencoder": 1, "hierarchical": 4}.get(kind, 2)
    texts = changed(longest=10, held_out=None, model=kind).load(1, "miniworld")
    parts: list[tuple[Part, Text]] = [("train", texts[0]), ("held out", texts[1])]
    for part, text in parts:
        rows = {1: found.rows(part, limits), 2: found.pairs(part, limits), 4: found.paragraphs(part, 4, limits)}
        np.testing.assert_array_equal(text.rows, rows[size])
        assert 0 < found.tokens.lengths[text.rows[:, None] + np.arange(size)].max() <= 10
    # Where a sample is drawn, it is of as much text whatever the model is.
    sampled, _ = changed(limit=80, model=kind).load(1, "miniworld")
    assert len(sampled.rows) == (20 if kind == "hierarchical" else 80)


# -- words -------------------------------------------------------------------------------------------------------------


def test_learned_words_begin_as_noise_and_all_others_as_zeros(found: Books, known: WordVectors) -> None:
    vocabulary, table = STAGE.lexicon(found, known, seed=3)
    own = found.vocabulary.words
    assert vocabulary.words[: len(own)] == own
    assert vocabulary.words[len(own) :] == [word for word in known.words if word not in set(own)]
    np.testing.assert_array_equal(table[: 2 + len(own)], word_table(found.vocabulary, 50, 0.1, seed=3))
    assert not table[0].any() and not table[2 + len(own) :].any()
    assert 0.09 < table.abs().max() <= 0.1
    assert not torch.equal(table, STAGE.lexicon(found, known, seed=4)[1])


def test_fixed_words_are_the_pre_trained_vectors_bit_for_bit(found: Books, known: WordVectors) -> None:
    some = WordVectors(known.words[::2], known.matrix[::2])
    vocabulary, table = changed(embedding_update="frozen").lexicon(found, some, seed=3)
    assert table.dtype == torch.float32
    assert vocabulary.words == STAGE.lexicon(found, some, seed=3)[0].words
    row = {word: at for at, word in enumerate(some.words)}
    mean = some.matrix.mean(axis=0)
    strangers = 0
    for word, vector in zip(vocabulary.words, table[2:].numpy(), strict=True):
        strangers += word not in row
        np.testing.assert_array_equal(vector, some.matrix[row[word]] if word in row else mean)
    assert strangers > 10
    assert not table[0].any()
    np.testing.assert_array_equal(table[1], mean)
    assert torch.equal(table, changed(embedding_update="frozen").lexicon(found, some, seed=4)[1])


def test_other_words_get_what_the_least_squares_map_gives(found: Books, known: WordVectors) -> None:
    vocabulary, table = STAGE.lexicon(found, known, seed=1)
    own = found.vocabulary.words
    generator = torch.Generator().manual_seed(0)
    table[2 : 2 + len(own)] = torch.randn(len(own), 50, generator=generator)
    table[1] = 7.0
    learned = table[: 2 + len(own)].clone()
    expand(table, found, known)
    assert torch.equal(table[: 2 + len(own)], learned)
    index = {word: row for row, word in enumerate(known.words)}
    shared = [(index[word], at) for at, word in enumerate(own, start=2) if word in index]
    x, y = known.matrix[[row for row, _ in shared]], learned.numpy()[[at for _, at in shared]]
    mapping = np.linalg.lstsq(x.astype(np.float64), y.astype(np.float64), rcond=None)[0]
    others = known.matrix[[index[word] for word in vocabulary.words[len(own) :]]]
    np.testing.assert_array_equal(table[2 + len(own) :].numpy(), (others @ mapping).astype(np.float32))


def test_vectors_that_cannot_be_mapped_are_one_sentence(found: Books, known: WordVectors) -> None:
    few = WordVectors(known.words[:40], known.matrix[:40])
    _, table = STAGE.lexicon(found, few, seed=1)
    with pytest.raises(DataError, match="fewer than the 50 dimensions"):
        expand(table, found, few)
    _, table = STAGE.lexicon(found, known, seed=1)
    with pytest.raises(DataError, match="not those that the encoder was trained with; train it again"):
        expand(table[:-1], found, known)


# -- models ------------------------------------------------------------------------------------------------------------


def encoder(found: Books, seed: int = 1) -> CNN:
    table = word_table(found.vocabulary, 6, 0.1, seed=seed)
    torch.manual_seed(seed)
    return CNN(table, CNNEncoder(filters=4, bound=0.1))


def test_text_without_an_example_is_one_sentence(tmp_path: Path) -> None:
    books = {f"book {number}": "A short one.\n" for number in range(6)}
    own = changed(corpus="folder", path=str(shelf(tmp_path / "shelf", books)), books=None, model="future predictor")
    read = own.read("ptb")
    with pytest.raises(DataError, match="no example for the future predictor model; give more or longer books"):
        own.bind(Start(encoder(read), read.vocabulary, 1))
