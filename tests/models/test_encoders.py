"""What every encoder promises: padding never reaches a pool, a seed decides it, and bad input is one sentence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sentbook.data.text import PADDING, UNKNOWN, TokenIds, Vocabulary
from sentbook.data.vectors import WordVectors, embedding_matrix
from sentbook.io import DataError, NumericalError
from sentbook.models import (
    CSE,
    GRAN,
    WSV,
    Average,
    FrozenVectors,
    SentenceEncoder,
    build,
    encode,
    encode_ids,
    similarity,
)
from sentbook.models.average import AverageEncoder
from sentbook.models.base import EncoderOptions
from sentbook.models.build import ENCODERS
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.recurrent import BiLSTMEncoder, GRANEncoder, LSTMEncoder
from sentbook.models.wsv import WSVEncoder

WORDS = ["a", "red", "cat", "sees", "one", "dog", "and", "runs"]
VOCABULARY = Vocabulary(WORDS)
ROWS, DEPTH = len(VOCABULARY), 5
OPTIONS: dict[str, EncoderOptions] = {
    "PP": AverageEncoder(),
    "CSE": CSEEncoder(filters=3),
    "CSE, tanh, mean": CSEEncoder(filters=3, widths=(1, 4), activation="tanh", pooling="mean", bias=False),
    "WSV": WSVEncoder(filters=4),
    "WSV, three layers": WSVEncoder(filters=4, layers=3, k=5, bias=True, selection="smallest"),
    "BiLSTM-max": BiLSTMEncoder(hidden=4),
    "BiLSTM-mean": BiLSTMEncoder(hidden=4, pool="mean"),
    "WSV, sigmoid": WSVEncoder(filters=4, layers=2, activation="sigmoid"),
    "GRAN": GRANEncoder(hidden=6),
    "LSTM": LSTMEncoder(hidden=5),
    "CNN": CNNEncoder(filters=3, bound=0.5),
    "CNN, released": CNNEncoder(filters=3, bound=0.5, padding="released"),
}
every = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def made(options: EncoderOptions, dropout: float = 0.0) -> SentenceEncoder:
    weight = torch.randn(ROWS, DEPTH, generator=torch.Generator().manual_seed(1))
    weight[0] = 0
    encoder = build(options, weight, seed=1).eval()
    encoder.dropout = dropout
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if name.startswith("biases"):  # they start at 0
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return encoder


def corpus(sentences: list[list[int]]) -> TokenIds:
    return TokenIds(np.array(list(itertools.chain(*sentences))), np.cumsum([0, *map(len, sentences)]))


SENTENCES = st.lists(st.lists(st.integers(1, ROWS - 1), min_size=1, max_size=25), min_size=2, max_size=6)


def test_every_encoder_is_here() -> None:
    assert {options.kind for options in OPTIONS.values()} == set(ENCODERS)


@every
@settings(max_examples=15)
@given(sentences=SENTENCES, most=st.sampled_from([1, 60, None]), seed=st.integers(0, 99))
def test_a_sentence_is_the_same_alone_in_a_batch_in_any_order_and_beside_any_padding(
    options: EncoderOptions, sentences: list[list[int]], most: int | None, seed: int
) -> None:
    encoder, tokens = made(options), corpus(sentences)
    encoder.tokens_per_batch = most or encoder.tokens_per_batch
    together = encode_ids(encoder, tokens)
    assert together.shape == (len(sentences), encoder.dimension)
    assert together.dtype == np.float32
    alone = np.concatenate([encode_ids(encoder, corpus([words])) for words in sentences])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    order = np.random.default_rng(seed).permutation(len(sentences))
    ids, lengths = map(torch.from_numpy, tokens.padded(order, minimum=40))
    with torch.no_grad():
        np.testing.assert_allclose(encoder(ids, lengths).numpy(), together[order], atol=1e-5)
        assert torch.equal(encoder(ids), encoder(ids, lengths))


@pytest.mark.parametrize(
    "options",
    [CSEEncoder(filters=3, windows="batch"), CSEEncoder(filters=3, windows="batch", bias=False),
     BiLSTMEncoder(hidden=4, padding="zeros")],
)  # fmt: skip
def test_faithful_variants_say_that_they_depend_on_their_batch(options: EncoderOptions) -> None:
    """A hundred sentences in the order of the file, as the released evaluation has it."""
    encoder = made(options)
    assert encoder.batch_dependent and not made(CSEEncoder()).batch_dependent
    sentences = [*[[2, 3]] * 100, *[[4, 5]] * 99, list(range(1, ROWS)) * 2]
    found = encode_ids(encoder, corpus(sentences))
    np.testing.assert_array_equal(found[:100], encode_ids(encoder, corpus(sentences[:100])))
    assert np.abs(found[100] - encode_ids(encoder, corpus([[4, 5]]))[0]).max() > 1e-2


@every
@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_a_row_without_a_word_is_zero_and_a_vector_has_the_type_of_the_weights(
    options: EncoderOptions, kind: torch.dtype
) -> None:
    encoder, wide, ids = (
        made(options).to(kind),
        made(options),
        torch.tensor([[2, 3, 4, 5, 6], [0] * 5, [7, 0, 0, 0, 0]]),
    )
    found = encoder(ids)
    assert found.dtype == kind and not found[1].any()
    torch.testing.assert_close(found.float(), wide(ids), atol=0.05, rtol=0.05)
    others = torch.tensor([0, 2])
    torch.testing.assert_close(found[others], encoder(ids[others], torch.tensor([5, 1])))
    for width in (0, 1, 7):  # alone
        assert not encoder(torch.zeros(2, width, dtype=torch.int64)).any()
    assert not encode_ids(encoder, corpus([[], []])).any()
    inner = encoder.forward(ids[others], torch.tensor([5, 1])).dtype
    assert inner == (torch.float32 if encoder.computes == "float32" and kind != torch.float64 else kind)
    found.float().square().sum().backward()
    assert all(one.grad is None or one.grad.isfinite().all() for one in encoder.parameters())


@every
def test_unknown_words_and_long_texts_have_finite_vectors(options: EncoderOptions) -> None:
    length = 200 if options.kind == "wsv" else 2_000  # layers above the first are of the map
    long = " ".join(np.random.default_rng(0).choice(WORDS, length))
    unknown, other, far = encode(made(options), VOCABULARY, ["xyzzy", "plugh", long])
    np.testing.assert_array_equal(unknown, other)
    assert np.isfinite(far).all()


@every
def test_every_parameter_learns_and_padding_does_not(options: EncoderOptions) -> None:
    encoder = made(options)
    ids, lengths = map(torch.from_numpy, corpus([[2, 3, 4], [5, 6, 7, 8, 2, 3, 4, 9]]).padded(np.arange(2), 5))
    direction = torch.randn(2, encoder.dimension, generator=torch.Generator().manual_seed(0))
    (encoder(ids, lengths) * direction).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), name
    dense = encoder.embedding.weight.grad
    assert dense is not None and not dense[PADDING].any()
    lazy = made(options)
    lazy.embedding.lazy, words = True, ids.unique()
    lazy.embedding.gather(words)
    (lazy(ids, lengths) * direction).sum().backward()
    rows = lazy.embedding.rows
    assert rows is not None and rows.grad is not None and lazy.embedding.weight.grad is None
    torch.testing.assert_close(rows.grad[1:], dense[words[1:]])
    lazy.embedding.release()
    (lazy(ids, lengths) * direction).sum().backward()
    torch.testing.assert_close(lazy.embedding.weight.grad, dense)


@every
def test_dropout_is_in_training_alone(options: EncoderOptions) -> None:
    encoder, clean = made(options, dropout=0.5), made(options)
    ids = torch.tensor([[2, 3, 4, 5, 6]])
    assert torch.equal(encoder(ids), clean(ids))
    assert not torch.equal(encoder.train()(ids), clean(ids))
    assert np.array_equal(*(encode(encoder, VOCABULARY, ["a red cat"]) for _ in range(2)))
    assert encoder.training  # encoding puts the mode back


def test_an_average_with_dropout_is_over_the_words_alone() -> None:
    encoder = build(AverageEncoder(), torch.tensor([[0.0], [0.0], [2.0], [2.0]]), seed=1).train()
    encoder.dropout = 1e-9  # computed in another way than without
    found = encoder(torch.tensor([[2, 3, 0, 0], [2, 2, 2, 2]]))
    torch.testing.assert_close(found, torch.full((2, 1), 2.0))


@given(probability=st.floats(0.01, 0.99), seed=st.integers(0, 9))
@settings(max_examples=20)
def test_dropout_zeroes_that_share_of_elements_and_scales_the_others(probability: float, seed: int) -> None:
    """Within five standard deviations; and no element is zeroed with another more often than chance has it."""
    encoder = build(AverageEncoder(), torch.ones(3, 301), seed=1).train()
    encoder.dropout = probability
    torch.manual_seed(seed)
    found = encoder.words(torch.full((40, 25), 2)).detach()
    kept = (found != 0).float()
    noise = 5 * (probability * (1 - probability) / found.numel()) ** 0.5
    assert abs(float(kept.mean()) - (1 - probability)) < noise
    torch.testing.assert_close(found[found != 0].mean(), torch.tensor(1 / (1 - probability)), rtol=1e-3, atol=0)
    encoder.dropout = 1 - 1e-6
    assert torch.isfinite(encoder.words(torch.full((40, 25), 2))).all()
    rest = 1 - probability
    # An element is in two products.
    noise = 5 * ((rest**2 - rest**4 + 2 * rest**3 * probability) / found.numel()) ** 0.5
    for apart in (1, 2, 3, 4):  # four come from one draw
        flat = kept.flatten()
        both = float((flat[apart:] * flat[:-apart]).mean())
        assert abs(both - rest**2) < noise


@every
def test_the_seed_decides_the_composition_alone(options: EncoderOptions) -> None:
    weight, before = torch.randn(9, DEPTH), torch.get_rng_state()
    one, same, other = (build(options, weight, seed=seed) for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, same.state_dict()[name]) for name, value in one.state_dict().items())
    assert torch.equal(other.embedding.weight, weight)
    if one.composition():
        assert any(not torch.equal(*pair) for pair in zip(one.composition(), other.composition(), strict=True))
    with torch.no_grad():
        one.embedding.weight[3] = 99
    assert not torch.equal(weight[3], one.embedding.weight[3])  # a copy


def words(depth: int) -> Tensor:
    return torch.zeros(3, depth)


@pytest.mark.parametrize(
    ("encoder", "dimension", "count"),
    [
        (Average(words(300)), 300, 0),
        (CSE(words(300)), 300, 180_300),
        (WSV(words(200), WSVEncoder(filters=400)), 400, 720_002),  # table 2 of Yao et al.
        (WSV(words(100), WSVEncoder(filters=300)), 300, 270_002),
        (WSV(words(50), WSVEncoder(filters=200)), 200, 90_002),
        (WSV(words(7), WSVEncoder(filters=4, layers=3, bias=True)), 4, 9 * 7 * 4 + 2 * 9 * 16 + 12 + 2),
        (WSV(words(7), WSVEncoder(filters=4, layers=2, map_weights="fixed")), 4, 9 * 7 * 4 + 9 * 16),
        (GRAN(words(7), GRANEncoder(hidden=4)), 7, 4 * 4 * (7 + 4 + 2) + 7 * (7 + 4 + 1)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, SentenceEncoder) else str(value),
)
def test_published_counts(encoder: SentenceEncoder, dimension: int, count: int) -> None:
    assert (encoder.dimension, encoder.parameter_count()) == (dimension, count)
    assert f"{count:,} parameters" in repr(encoder)


def test_rows_are_padding_unknown_then_the_words() -> None:
    vectors = np.array([[1, 2], [3, 6], [5, 1]], dtype=np.float32)
    weight = embedding_matrix(WordVectors(["cat", "dog", "emu"], vectors))
    assert (weight.dtype, weight.tolist()) == (np.float32, [[0, 0], [3, 3], *vectors.tolist()])  # [3, 3] is the mean
    assert embedding_matrix(WordVectors(["cat", "dog", "emu"], vectors, vectors[1]))[UNKNOWN].tolist() == [3, 6]


@pytest.mark.parametrize("most", [1, 7, 100])
def test_memory_bounds_the_batch(most: int) -> None:
    encoder, tokens = made(CSEEncoder(filters=3)), corpus([[2] * (1 + at % 9) for at in range(30)])
    shapes: list[tuple[int, ...]] = []
    encoder.register_forward_pre_hook(lambda module, given: shapes.append(tuple(given[0].shape)))
    encoder.tokens_per_batch = most
    encode_ids(encoder, tokens)
    # As wide as the widest filter at least.
    assert all(rows == 1 or rows * (width if width > encoder.minimum_length else 1) <= most for rows, width in shapes)


def test_two_sentences_are_compared_by_their_cosine() -> None:
    encoder = made(CSEEncoder(filters=3))
    one, other = encode(encoder, VOCABULARY, ["a red cat", "one dog"]).astype(np.float64)
    expected = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert similarity(encoder, VOCABULARY, "a red cat", "one dog") == pytest.approx(expected)
    assert similarity(encoder, VOCABULARY, "a red cat", "a red cat") == pytest.approx(1)


@pytest.mark.parametrize("empty", ["", "   ", "\t"])
def test_an_empty_sentence_is_named(empty: str) -> None:
    with pytest.raises(DataError, match=r"^Sentence 2, '.*', is empty; remove or fill it .*'ptb'\)\.$"):
        encode(made(AverageEncoder()), VOCABULARY, ["a cat", empty, "a dog", ""])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_vectors_that_are_not_finite_are_one_sentence(value: float) -> None:
    encoder = made(AverageEncoder())
    with torch.no_grad():
        encoder.embedding.weight[VOCABULARY.id("cat")] = value
    assert np.isfinite(encode(encoder, VOCABULARY, ["a dog"])).all()
    with pytest.raises(NumericalError, match="train it again with a lower learning rate"):
        encode(encoder, VOCABULARY, ["a dog", "a cat"])


@settings(max_examples=25)
@given(first=SENTENCES, second=SENTENCES)
def test_frozen_vectors_are_the_encoders_each_sentence_once(first: list[list[int]], second: list[list[int]]) -> None:
    encoder = made(CSEEncoder(filters=3))
    frozen, seen = FrozenVectors(encoder), []
    encoder.register_forward_pre_hook(lambda module, given: seen.append(len(given[0])))
    for sentences in (first, second, first):
        places = frozen.places(corpus(sentences))
        np.testing.assert_allclose(
            frozen.table[places].numpy(), encode_ids(made(CSEEncoder(filters=3)), corpus(sentences)), atol=1e-5
        )
    assert len({tuple(sentence) for sentence in first + second}) == len(frozen.table) == sum(seen)
