"""Tokenisation, vocabulary, padding and batches."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data.text import (
    TOKENISERS,
    TokenIds,
    Tokenisation,
    Vocabulary,
    batches_by_tokens,
    bucketed_batches,
    shuffled_batches,
    texts,
    tokenise_content,
    tokenise_ptb,
    tokenise_ptb_cased,
    tokenise_sentence,
)
from sentbook.io import ConfigError, DataError
from sentbook.models import build, encode, similarity
from sentbook.models.average import AverageEncoder


@pytest.mark.parametrize(
    ("tokenise", "sentence", "tokens"),
    [
        (tokenise_ptb, "I can't go.", "i ca n't go ."),
        (tokenise_ptb, "We’ll see John's dog", "we 'll see john 's dog"),
        (tokenise_ptb, "It costs $1,000.50 -- or 3/4!", "it costs $ 1,000.50 -- or 3/4 !"),
        (tokenise_ptb, "a well-known U.S. man...", "a well-known u.s. man ..."),
        (tokenise_ptb, "#hash @you <b>x</b>", "#hash @you < b > x < / b >"),
        (tokenise_ptb, "naïve café", "naïve café"),
        (tokenise_ptb, '"quoted" (text)', '" quoted " ( text )'),
        (tokenise_content, "A man is well-fed; he eats 3 apples!", "man well-fed eats 3 apples"),
        (tokenise_content, "It is what it is.", "it is what it is"),  # nothing would be left
        (tokenise_content, "?!", "? !"),
        (tokenise_content, "The boy is playing a guitar.", "boy playing guitar"),
        (tokenise_content, "The boy isn't playing the guitar", "boy playing guitar"),  # a denial becomes what it denies
        (tokenise_content, "They can't swim and won't dive", "swim dive"),
    ],
)
def test_tokens(tokenise: Callable[[str], list[str]], sentence: str, tokens: str) -> None:
    assert tokenise(sentence) == tokens.split()


@given(st.text())
def test_ptb_loses_no_visible_character(text: str) -> None:
    """Tokens joined are the text without white space, lower-cased (but for quotes and dashes made plain)."""
    plain = text.translate(str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"})).lower()
    assert "".join(tokenise_ptb(text)) == "".join(character for character in plain if not character.isspace())


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_case_is_all_that_the_cased_tokens_differ_in(sentence: str) -> None:
    tokens = tokenise_ptb_cased(sentence)
    assert [token.lower() for token in tokens] == tokenise_ptb(sentence)
    assert tokenise_ptb_cased(sentence.lower()) == tokenise_ptb(sentence)
    assert all(token in sentence for token in tokens)


@given(st.text(alphabet=st.one_of(st.sampled_from(" \t\u00a0\u2028.'-naAtTsS1,#_"), st.characters(codec="utf-8"))))
@pytest.mark.parametrize("name", TOKENISERS)
def test_a_sentence_is_encoded_as_it_is_tokenised_and_empty_as_by_ptb(name: Tokenisation, sentence: str) -> None:
    """Though what stands between two spaces is tokenised by itself."""
    tokens = TOKENISERS[name](sentence)
    vocabulary = Vocabulary(sorted(set(tokens)))
    if tokens:
        assert vocabulary.encode([sentence], name).flat.tolist() == [vocabulary.id(token) for token in tokens]
    assert all(tokens) and (bool(tokens) == bool(tokenise_ptb(sentence)) or name in ("words", "whitespace"))


def test_a_sentence_as_one_token() -> None:
    assert tokenise_sentence("\tA man isn't here. \n") == ["A man isn't here."]
    assert tokenise_sentence(" \n ") == []
    vocabulary = Vocabulary(["A man isn't here.", "Dogs"])
    tokens = vocabulary.encode([" Dogs ", "A man isn't here.\n"], "sentence")
    assert (tokens.flat.tolist(), tokens.lengths.tolist()) == ([3, 2], [1, 1])
    with pytest.raises(DataError, match=r"Sentence 2, .* is empty; remove or fill it"):
        vocabulary.encode(["Dogs", "  \t"], "sentence")
    with pytest.raises(DataError, match=r"Sentence 2, .* has no vector of its own"):  # the mean would be the sentence's
        vocabulary.encode(["Dogs", "dogs"], "sentence")
    with pytest.raises(ConfigError, match="Unknown tokenisation 'word'; choose among ptb, "):
        vocabulary.encode(["Dogs"], "word")  # type: ignore[arg-type]


def test_vocabulary_ids_and_unknowns() -> None:
    vocabulary = Vocabulary(["cat", "dog"])
    tokens = vocabulary.encode(["Dog cat", "#cat zebra"])
    assert len(vocabulary) == 4
    assert tokens.flat.tolist() == [3, 2, 2, 1]  # a hashtag is looked up once more without its mark
    assert tokens.lengths.tolist() == [2, 2]
    with pytest.raises(DataError, match="twice"):
        Vocabulary(["cat", "cat"])


@pytest.mark.parametrize(
    "sentences",
    [("a cat", "dogs"), np.array(["a cat", "dogs"]), np.array(["a cat", "dogs"], dtype=object),
     pd.Series(["a cat", "dogs"], index=[7, 9]), iter(["a cat", np.str_("dogs")])],
)  # fmt: skip
def test_columns_of_strings_are_sentences_and_one_string_is_one(sentences: Iterable[str]) -> None:
    vocabulary = Vocabulary(["a", "cat", "dogs"])
    assert vocabulary.encode(sentences).lengths.tolist() == [2, 1]
    for one in ("a cat", np.str_("a cat")):
        assert vocabulary.encode(one).flat.tolist() == [2, 3]


@pytest.mark.parametrize(
    "wrong",
    [None, float("nan"), 7, True, b"dogs", np.bytes_(b"dogs"), np.float64("nan"), pd.NA, ["dogs"], ("dogs",),
     {"text": "dogs"}, np.array(["dogs"]), np.array("dogs")],
)  # fmt: skip
def test_what_is_no_text_is_named_and_refused_everywhere(wrong: object) -> None:
    encoder = build(AverageEncoder(), torch.ones(5, 2), seed=1)
    vocabulary = Vocabulary(["a", "cat", "dogs"])
    kind = type(wrong).__name__
    for call in (
        lambda: texts(["a cat", wrong]),  # type: ignore[list-item]
        lambda: vocabulary.encode(["a cat", wrong]),  # type: ignore[list-item]
        lambda: encode(encoder, vocabulary, ["a cat", wrong]),  # type: ignore[list-item]
        lambda: similarity(encoder, vocabulary, "a cat", wrong),  # type: ignore[arg-type]
    ):
        with pytest.raises(DataError, match=rf"^Sentence 2 is no text but .*\({kind}\); give a string\.$"):
            call()


@pytest.mark.parametrize(
    "wrong",
    [None, 7, float("nan"), b"dogs", {"a cat": 1}, {"a cat"}, pd.DataFrame({"a cat": ["dogs"]}), np.array("dogs"),
     np.array([["a cat", "dogs"]])],
)  # fmt: skip
def test_what_holds_no_sentences_is_refused(wrong: object) -> None:
    with pytest.raises(DataError, match=r"^Sentences are no text but .*; give a string or a list of strings\.$"):
        Vocabulary(["a", "cat"]).encode(wrong)  # type: ignore[arg-type]


def test_padding_and_order() -> None:
    tokens = TokenIds(np.array([5, 6, 7, 8]), np.array([0, 1, 4]))
    ids, lengths = tokens.padded(np.array([1, 0]))
    assert (ids.tolist(), lengths.tolist()) == ([[6, 7, 8], [5, 0, 0]], [3, 1])
    assert tokens.padded(np.array([0]), minimum=3)[0].tolist() == [[5, 0, 0]]
    keys = np.array([[0.9, 0.1, 0.5, 0.0], [0.9, 0.0, 0.0, 0.0]])
    assert tokens.padded(np.array([1, 0]), order=keys)[0].tolist() == [[7, 8, 6], [5, 0, 0]]  # padding stays at the end


@given(st.integers(1, 300), st.integers(2, 40), st.integers(0, 5))
def test_batches_hold_every_example_once(size: int, batch: int, seed: int) -> None:
    lengths = np.random.default_rng(seed).integers(1, 30, size)
    for batches in (
        shuffled_batches(size, batch, np.random.default_rng(seed)),
        bucketed_batches(lengths, batch, np.random.default_rng(seed)),
    ):
        assert sorted(np.concatenate(batches).tolist()) == list(range(size))
        assert max(map(len, batches)) <= batch
    spans = sorted((min(lengths[rows]), max(lengths[rows])) for rows in batches)  # of buckets
    assert size > 50 * batch or all(one[1] <= other[0] for one, other in pairwise(spans))


@given(st.lists(st.integers(1, 90), min_size=1, max_size=60), st.integers(50, 400))
def test_token_batches_are_bounded(lengths: list[int], most: int) -> None:
    array = np.array(lengths)
    batches = list(batches_by_tokens(array, most))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert all(len(rows) == 1 or len(rows) * array[rows].max() <= most for rows in batches)
