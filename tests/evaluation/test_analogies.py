"""Sums of vectors: measures by hand, marks of chance, retrieval with and without the inputs, ties, a real decoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sentbook.data.analogies import Analogies, template_analogies
from sentbook.data.text import UNKNOWN, Vocabulary, tokenise_ptb
from sentbook.models import Average
from sentbook.models.cnn import CNN
from sentbook.models.decoders import DecoderOptions, Generated, LSTMDecoder
from sentbook.models.encode import encode_ids
from sentbook.models.encoder_decoder import EncoderDecoder, Kind
from sentbook.papers.cnn_lstm.arithmetic import MEASURES, SUMS, Outcome, generation, metric_rows, retrieval
from sentbook.system.errors import ConfigError, NumericalError
from sentbook.training.problems.generation import text, word_table

GIVEN = template_analogies(80)
WORDS = sorted({word for column in (GIVEN.a, GIVEN.b, GIVEN.c, GIVEN.d) for s in column for word in tokenise_ptb(s)})
VOCABULARY = Vocabulary(WORDS)
ONE = Analogies("one", ["he saw me"], ["he heard me"], ["we heard me"], ["we saw me"], ["subject and verb"])


def model(kind: Kind = "autoencoder", vocabulary: Vocabulary = VOCABULARY, average: bool = False) -> EncoderDecoder:
    table = word_table(vocabulary, 24, bound=1.0, seed=1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = Average(table) if average else CNN(table, filters=4, bound=0.3)
    return EncoderDecoder(encoder, kind, DecoderOptions(hidden=6, bound=0.5), seed=2)


def bags(sentences: Sequence[str]) -> NDArray[np.float32]:
    """Averages of words, a dimension a word."""
    table = np.array([[tokenise_ptb(s).count(word) for word in WORDS] for s in sentences], dtype=np.float32)
    return table / table.sum(axis=1, keepdims=True)


def saying(monkeypatch: pytest.MonkeyPatch, *sentences: str) -> None:
    """A decoder that says these, whatever it is given."""
    vocabulary = Vocabulary(["he", "we", "saw", "heard", "me"])

    def said(self: LSTMDecoder, table: object, codes: torch.Tensor, *options: object) -> list[Generated]:
        return [Generated([vocabulary.id(word) for word in each.split()], 0.0) for each in sentences]

    monkeypatch.setattr(LSTMDecoder, "beam", said)


@pytest.mark.parametrize(
    ("said", "exact", "changed", "gone"),
    [
        ("we saw me", 1, 1, 1),
        ("me saw we", 0, 1, 1),
        ("we heard me", 0, 0.5, 0.5),  # C
        ("he saw me", 0, 0.5, 0.5),  # A
        ("he heard me", 0, 0, 0),  # B
        ("we saw he", 0, 1, 0.5),
        ("", 0, 0, 1),
    ],
)
def test_measures_by_hand(
    monkeypatch: pytest.MonkeyPatch, said: str, exact: float, changed: float, gone: float
) -> None:
    saying(monkeypatch, said)
    vocabulary = Vocabulary(["he", "we", "saw", "heard", "me"])
    found = generation(model(vocabulary=vocabulary), vocabulary, ONE, ["A - B + C"])
    assert [each.values.tolist() for each in found.outcomes] == [[exact], [changed], [gone]]
    assert [each.measure for each in found.outcomes] == list(MEASURES)
    assert found.sentences == {"A - B + C": [said]}


def test_a_decoder_that_finds_the_nearest_sentence_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """With averages of words the sum is D's vector, so that it is found; A and C alone give themselves."""
    made = model(average=True)
    every = [s for column in (GIVEN.a, GIVEN.b, GIVEN.c, GIVEN.d) for s in column]
    tokens = VOCABULARY.encode(every)
    table = torch.from_numpy(encode_ids(made.encoder, tokens))

    def near(
        self: LSTMDecoder, words: object, codes: torch.Tensor, beam: int, limit: int, forbidden: Sequence[int]
    ) -> list[Generated]:
        assert (beam, limit, list(forbidden)) == (5, 40, [UNKNOWN])
        rows = torch.cdist(codes, table).argmin(dim=1).tolist()
        return [Generated(tokens.flat[slice(*tokens.offsets[row : row + 2])].tolist(), 0.0) for row in rows]

    monkeypatch.setattr(LSTMDecoder, "beam", near)
    found = generation(made, VOCABULARY, GIVEN)
    means = {(each.of, each.measure): each.mean for each in found.outcomes}
    assert means["A - B + C", "exact match"] == means["D", "exact match"] == 1
    assert means["A", "exact match"] == means["C", "exact match"] == 0
    assert means["A - B + C", "changed words present"] == means["A - B + C", "other words gone"] == 1
    for alone in ("A", "C"):
        assert 0.3 < means[alone, "changed words present"] < 0.7  # type: ignore[index]
    assert found.sentences["A"] == [" ".join(tokenise_ptb(sentence)) for sentence in GIVEN.a]
    assert list(found.sentences) == list(SUMS) and len(found.outcomes) == 12


@pytest.mark.parametrize("kind", ["autoencoder", "composite"])
def test_it_is_the_decoder_of_the_same_sentence_that_writes(kind: Kind) -> None:
    made = model(kind)
    made.train()
    found = generation(made, VOCABULARY, GIVEN, beam=3, limit=7)
    assert made.training and made.encoder.training
    vectors = [encode_ids(made.encoder, VOCABULARY.encode(c)) for c in (GIVEN.a, GIVEN.b, GIVEN.c, GIVEN.d)]
    codes = torch.from_numpy(vectors[0] - vectors[1] + vectors[2])
    decoder = made.decoders["same"]
    assert isinstance(decoder, LSTMDecoder)
    by_hand = decoder.beam(made.encoder.embedding, codes, 3, 7, [UNKNOWN])
    assert found.sentences["A - B + C"] == [text(each.words, VOCABULARY) for each in by_hand]
    assert not any("<unk>" in sentence for sentences in found.sentences.values() for sentence in sentences)
    assert found.outcomes[0].protocol == "beam of 3, at most 7 steps"


# -- retrieval ---------------------------------------------------------------------------------------------------------


def test_averages_of_words_find_d() -> None:
    found = {(each.of, each.measure, "left out" in each.protocol): each for each in retrieval(bags, GIVEN)}
    assert len(found) == 3 * 2 * 2
    assert found["A - B + C", "nearest", True].mean == found["A - B + C", "nearest", False].mean == 1
    assert found["C", "nearest", False].mean == found["A", "nearest", False].mean == 0  # C finds itself
    assert found["C", "reciprocal rank", False].values.max() <= 0.5
    assert found["C", "nearest", True].mean < 0.2  # two of its others are as near


def test_one_sentence_alone_finds_d_no_more_often_than_its_others() -> None:
    """Sums of words: C is as near to D as to two others, whichever words are longer, and so is A."""
    given = template_analogies(300)
    rng = np.random.default_rng(0)
    columns = (given.a, given.b, given.c, given.d, *given.others)
    directions = {word: rng.normal(size=60) for column in columns for s in column for word in tokenise_ptb(s)}

    def encode(sentences: Sequence[str]) -> NDArray[np.float64]:
        return np.array([sum(directions[word] for word in tokenise_ptb(s)) for s in sentences])

    found = {(each.of, each.protocol[-3:]): each.mean for each in retrieval(encode, given)[::2]}
    assert found["A - B + C", "out"] == found["A - B + C", "ept"] == 1
    assert 0.05 < found["C", "out"] < 0.4 and 0.05 < found["A", "out"] < 0.4
    bare = Analogies("x", *(column[:30] for column in (given.a, given.b, given.c, given.d, given.kinds)))  # type: ignore[arg-type]
    assert retrieval(encode, bare, ["C"])[0].mean > 0.5  # why there are others


def test_ranks_by_hand() -> None:
    given = Analogies("x", ["a"], ["b"], ["c"], ["d"], ["k"])
    table = {"a": [1.0, 0.2], "b": [0.0, 1.0], "c": [0.1, 1.0], "d": [1.0, 0.0]}
    found = retrieval(lambda sentences: [table[s] for s in sentences], given, ["A - B + C"])
    # The sum is (1.1, .2); A has cosine .9998 with it and D .9839.
    assert [each.values.tolist() for each in found] == [[1.0], [1.0], [0.0], [0.5]]
    assert [each.protocol for each in found[::2]] == [
        "cosine among 4 sentences, A, B and C left out",
        "cosine among 4 sentences, inputs kept",
    ]


def test_equal_vectors_find_nothing() -> None:
    found = retrieval(lambda sentences: np.ones((len(sentences), 3)), GIVEN)
    assert all(each.mean == 0 for each in found if each.measure == "nearest")
    assert all(
        each.mean == 0 for each in retrieval(lambda s: np.zeros((len(s), 3)), GIVEN) if each.measure == "nearest"
    )


def test_sentences_of_the_same_words_are_one() -> None:
    given = Analogies("x", ["A b.", "q"], ["c", "r"], ["d", "s"], ["e", "a b ."], ["k", "k"])
    asked: list[str] = []

    def encode(sentences: Sequence[str]) -> NDArray[np.float64]:
        asked.extend(sentences)
        return np.random.default_rng(0).normal(size=(len(sentences), 8))

    retrieval(encode, given)
    assert sorted(asked) == ["A b.", "c", "d", "e", "q", "r", "s"]


# -- rows --------------------------------------------------------------------------------------------------------------


def test_intervals_and_rows() -> None:
    right = Outcome("A", "exact match", "p", np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), ["a"] * 4 + ["b"] * 6)
    found = right.estimate()
    assert (found.estimate, round(found.low, 4), round(found.high, 4)) == (0.1, 0.0179, 0.4042)  # Wilson's
    none = Outcome("A", "exact match", "p", np.zeros(10), ["a"] * 10).estimate()
    assert none.low == 0 and 0.2 < none.high < 0.3
    shares = Outcome("A", "changed words present", "p", np.tile([0.0, 0.5, 0.5, 1.0], 50), ["a"] * 200).estimate()
    half = 1.96 * np.sqrt(0.125 / 200)
    assert shares.low == pytest.approx(0.5 - half, abs=0.01) and shares.high == pytest.approx(0.5 + half, abs=0.01)
    (row,) = metric_rows([right], "autoencoder", "frames", 3)
    assert (row.method, row.metric, row.protocol, row.value, row.n, row.seed) == (
        "autoencoder", "exact match", "z = A, p", 0.1, 10, 3,
    )  # fmt: skip


def test_mistakes_are_clear() -> None:
    for kind in ("future predictor", "hierarchical"):
        with pytest.raises(ConfigError, match="does not write its own sentence"):
            generation(model(kind), VOCABULARY, GIVEN)
    with pytest.raises(NumericalError, match="NaN"):
        retrieval(lambda sentences: np.full((len(sentences), 2), np.nan), GIVEN)
