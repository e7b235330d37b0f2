"""Training corpora by name: mixing, shuffling, cutting, cleaning, and phrases from alignment."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest

from sentbook.data import corpora, sources, suites
from sentbook.data.text import Tokenisation, Vocabulary
from sentbook.data.types import LabelledPairs, ParaphrasePairs, ScoredPairs
from sentbook.io import ConfigError
from sentbook.training.objectives import SimilarityTraining


def numbered(name: str, size: int) -> ParaphrasePairs:
    return ParaphrasePairs.of(name, [(f"{name} {row}", f"other {row}") for row in range(size)])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two corpora of 60 and 40 pairs in place of the real ones."""
    made = {"left": 60, "right": 40}
    monkeypatch.setattr(corpora, "CORPORA", made)
    monkeypatch.setattr(corpora, "read", lambda name, seed, path: numbered(name, made[name]))


def rows(pairs: ParaphrasePairs) -> list[tuple[str, str]]:
    return list(zip(pairs.first, pairs.second, strict=True))


def test_corpora_are_mixed_shuffled_cut_and_cleaned(made: None) -> None:
    both = ["left", "right"]
    one, again, other = (corpora.load(both, seed=seed) for seed in (1, 1, 2))
    assert len(one) == 100 and one.name == "left+right"
    assert rows(one) == rows(again) != rows(other) and sorted(rows(one)) == sorted(rows(other))
    drawn = corpora.load(both, seed=1, limit=10)
    assert len(drawn) == 10 and set(rows(drawn)) <= set(rows(one))
    assert rows(drawn) != rows(corpora.load(both, seed=2, limit=10))
    cleaned = corpora.load(both, seed=1, exclude=frozenset({"left 3", "other 7"}))  # on either side
    assert len(cleaned) == 100 - 3 and "left 3" not in cleaned.first and "other 7" not in cleaned.second
    with pytest.raises(ConfigError, match="Unknown corpus 'captoins'; choose among left, right"):
        corpora.load(["left", "captoins"])


def test_every_corpus_goes_with_every_tokenisation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What has no token under the tokenisation in use is left out, and counted."""
    (tmp_path / "mine.tsv").write_text("a cat\ta dog\n...\ta bird\nhe said -\t?!\n")
    labelled = LabelledPairs("NLI", ["*", "a man", "a cat"], ["a man", "a dog", "!"], np.arange(3), ("a", "b", "c"))
    monkeypatch.setattr(corpora, "all_nli", lambda part: labelled)
    answers = ScoredPairs("CR pairs", ["*", "fine", "bad"], ["good", "good", "good"], np.array([0.0, 1, 0]), (0, 1))
    monkeypatch.setattr("sentbook.training.objectives.scored.pairs", lambda name, split: answers)
    for tokenisation, left in {"words": 1, "ptb": 3, "content": 3, "stems": 3, "whitespace": 3}.items():
        names = {"tokenisation": cast(Tokenisation, tokenisation)}
        pairs = corpora.load(["file"], path=str(tmp_path / "mine.tsv"), **names)
        train, held_out = corpora.inference("all-nli", **names)
        scored = SimilarityTraining(dataset="cr").load(1, "sts", **names)
        assert (len(pairs), len(train), len(held_out)) == (left, left, left)
        assert (len(scored["train"]), len(scored["test"])) == (2 if left == 1 else 3, 3)  # test sets stay whole
        Vocabulary(["a"]).encode([*pairs.first, *pairs.second, *train.first, *train.second], **names)
        said = capsys.readouterr().out
        assert ("file: 2 of 3 pairs are left out: no token (tokenisation words)" in said) == (left == 1)
        assert ("CR pairs: 1 of 3 pairs" in said) == (left == 1) and bool(said) == (left == 1)


def test_replaced_spans() -> None:
    first, second = ["the", "old", "man", "sat", "on", "a", "chair"], ["the", "aged", "man", "sat", "on", "a", "stool"]
    spans = [("old", "aged"), ("the old man", "the aged man"), ("chair", "stool"), ("a chair", "a stool")]
    assert list(corpora.replaced_spans(first, second)) == spans
    long = [*"abcdef"]
    assert list(corpora.replaced_spans(["x", *long, "y"], ["x", "z", "y"])) == []  # six words are no phrase


@pytest.mark.real_data
def test_phrases_of_the_real_corpora(mirror: Path, cache: Path, forgetful: None) -> None:
    pairs = corpora.read("phrases")
    assert len(pairs) == 524_410 and len(set(zip(pairs.first, pairs.second, strict=True))) == len(pairs)
    assert max(len(side.split()) for side in [*pairs.first, *pairs.second]) <= corpora.LONGEST_SPAN + 2
    assert set(corpora.CORPORA["phrases"].files) <= set(sources.used())


@pytest.mark.real_data
def test_no_test_sentence_is_left_in_training(mirror: Path) -> None:
    keys = suites.excluded("sts")

    def shared(*sets: ParaphrasePairs | LabelledPairs) -> set[str]:
        return {suites.key(text) for pairs in sets for text in (*pairs.first, *pairs.second)} & keys

    assert len(shared(corpora.load(["captions"], seed=1))) > 1000  # the same photographs' captions
    assert not shared(corpora.load(["captions"], seed=1, exclude=keys))
    train, held = corpora.inference("nli", exclude=keys)
    assert not shared(train, held) and train.classes == held.classes == ("contradiction", "neutral", "entailment")
    assert len(held) == round(corpora.HELD_OUT * (len(train) + len(held)))
