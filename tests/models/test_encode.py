"""Sentences to vectors: the same alone, in a batch and in any order; bad input is one sentence."""

import numpy as np
import pytest
import torch

from sentbook.data.text import Vocabulary
from sentbook.models import SentenceEncoder, build, encode, encode_ids
from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.system.errors import DataError, NumericalError

WORDS = ["a", "red", "cat", "sees", "one", "dog", "and", "runs"]
VOCABULARY = Vocabulary(WORDS)
CONFIGS = [AverageEncoder(), CSEEncoder(filters=3), CSEEncoder(filters=3, activation="tanh", pooling="mean")]


def encoder(config: AverageEncoder | CSEEncoder, **changes: object) -> SentenceEncoder:
    weight = torch.randn(len(VOCABULARY), 5, generator=torch.Generator().manual_seed(1))
    weight[0] = 0
    return build(config, weight, seed=1, **changes)  # type: ignore[arg-type]


def sentences(count: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 30))) for _ in range(count)]


@pytest.mark.parametrize("config", CONFIGS)
def test_alone_in_a_batch_and_in_any_order(config: AverageEncoder | CSEEncoder) -> None:
    model, texts = encoder(config), sentences(40)
    together = encode(model, VOCABULARY, texts)
    assert together.dtype == np.float32
    assert together.shape == (40, model.dimension)
    alone = np.vstack([encode(model, VOCABULARY, [text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    order = np.random.default_rng(1).permutation(40)
    np.testing.assert_allclose(encode(model, VOCABULARY, [texts[row] for row in order]), together[order], atol=1e-5)


@pytest.mark.parametrize("max_tokens", [1, 7, 100])
def test_memory_bounds_the_batch_and_not_the_vectors(max_tokens: int) -> None:
    model = encoder(CSEEncoder(filters=3))
    tokens = VOCABULARY.encode(sentences(30))
    cells: list[tuple[int, int]] = []
    forward = model.forward

    def spy(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        cells.append((ids.shape[0], int(lengths.max())))
        return forward(ids, lengths)

    model.forward = spy  # type: ignore[method-assign]
    bounded = encode_ids(model, tokens, max_tokens)
    assert all(rows == 1 or rows * longest <= max_tokens for rows, longest in cells)
    model.forward = forward  # type: ignore[method-assign]
    np.testing.assert_allclose(bounded, encode_ids(model, tokens), atol=1e-5)


def test_the_faithful_encoder_sees_a_hundred_sentences_in_file_order() -> None:
    """Its vectors depend on the longest sentence of their hundred, and on no other hundred."""
    model = encoder(CSEEncoder(filters=3, windows="batch"))
    with torch.no_grad():
        for bias in model.biases:  # type: ignore[union-attr]
            bias.fill_(0.5)
    texts = [*["one cat"] * 100, *["a dog"] * 99, " ".join(WORDS * 4)]
    found = encode(model, VOCABULARY, texts)
    np.testing.assert_array_equal(found[:100], encode(model, VOCABULARY, texts[:100]))
    short = encode(model, VOCABULARY, ["a dog"])
    assert np.abs(found[100] - short[0]).min() > 1  # 29 more windows, half a unit each


def test_the_mode_is_put_back_and_dropout_is_off() -> None:
    model = encoder(CSEEncoder(filters=3), dropout=0.9)
    model.train()
    first, second = encode(model, VOCABULARY, ["a red cat"]), encode(model, VOCABULARY, ["a red cat"])
    np.testing.assert_array_equal(first, second)
    assert model.training


@pytest.mark.parametrize("empty", ["", "   ", "\t"])
def test_an_empty_sentence_is_named(empty: str) -> None:
    with pytest.raises(DataError, match=r"^Sentence 2 is empty after 'ptb' tokenisation; remove or fill it\.$"):
        encode(encoder(AverageEncoder()), VOCABULARY, ["a cat", empty, "a dog", ""])


def test_no_sentence_gives_no_vector() -> None:
    assert encode(encoder(CSEEncoder(filters=3)), VOCABULARY, []).shape == (0, 9)


@pytest.mark.parametrize("config", CONFIGS)
def test_only_unknown_words_and_very_long_sentences_work(config: AverageEncoder | CSEEncoder) -> None:
    model = encoder(config)
    long = " ".join(np.random.default_rng(0).choice(WORDS, 10_000))
    unknown, other, far = encode(model, VOCABULARY, ["xyzzy", "plugh", long])
    np.testing.assert_array_equal(unknown, other)
    assert np.isfinite(far).all()
    if config.kind == "average":
        np.testing.assert_allclose(unknown, model.embedding.weight[1].detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_vectors_that_are_not_finite_are_one_sentence(value: float) -> None:
    model = encoder(AverageEncoder())
    with torch.no_grad():
        model.embedding.weight[VOCABULARY.id("cat")] = value
    assert np.isfinite(encode(model, VOCABULARY, ["a dog"])).all()
    with pytest.raises(NumericalError, match="train it again with a lower learning rate"):
        encode(model, VOCABULARY, ["a dog", "a cat"])
