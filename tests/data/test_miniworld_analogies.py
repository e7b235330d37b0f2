"""Controlled analogies of scenes: only the words of two elements change, and no core of a training corpus occurs."""

from __future__ import annotations

import collections

import pytest

from sentbook.data.miniworld import World
from sentbook.data.miniworld import analogies as module
from sentbook.data.miniworld.analogies import CELLS, FACTORS, STORY_FACTORS, Factor, miniworld_analogies
from sentbook.data.miniworld.scene import CORPUS_CELLS, SPLIT_CELLS, Scene, cell
from sentbook.data.text import tokenise_ptb
from sentbook.system.errors import ConfigError


def bag(sentence: str) -> collections.Counter[str]:
    return collections.Counter(tokenise_ptb(sentence))


@pytest.mark.parametrize("factors", [STORY_FACTORS, FACTORS])
def test_the_words_of_d_are_a_minus_b_plus_c(factors: tuple[Factor, ...]) -> None:
    given = miniworld_analogies(300, 3, factors)
    for a, b, c, d in zip(given.a, given.b, given.c, given.d, strict=True):
        assert len({a, b, c, d}) == 4
        total = bag(a)
        total.subtract(bag(b))
        total.update(bag(c))
        assert +total == bag(d) and min(total.values()) >= 0, (a, b, c, d)
        # Nothing but a short piece changes at a time.
        for one, other in ((a, b), (d, c), (a, d), (b, c)):
            gone, new = sum((bag(one) - bag(other)).values()), sum((bag(other) - bag(one)).values())
            assert 0 < max(gone, new) <= 5


def test_others_are_d_but_for_one_factor() -> None:
    for factors, counts in ((STORY_FACTORS, {4}), (FACTORS, {1, 2, 3, 4})):
        given = miniworld_analogies(108, 4, factors)
        assert {len(more) for more in given.others} == counts
        for row, more in enumerate(given.others):
            four = (given.a[row], given.b[row], given.c[row], given.d[row])
            assert len({*four, *more}) == 4 + len(more)
            d = bag(given.d[row])
            for other in more:
                assert 0 < max(sum((d - bag(other)).values()), sum((bag(other) - d).values())) <= 5
            if len(more) == 4:
                kept = [d - bag(given.c[row])] * 2 + [d - bag(given.a[row])] * 2
                assert not any(words - bag(other) for words, other in zip(kept, more, strict=True))


def test_every_pair_of_factors_comes_as_often() -> None:
    given = miniworld_analogies(150)
    assert set(collections.Counter(given.kinds).values()) == {10}
    assert len(set(given.kinds)) == 15 and "verb and patient" in given.kinds
    assert len(set(miniworld_analogies(36, factors=FACTORS).kinds)) == 36
    assert set(miniworld_analogies(20, factors=("tense", "negation")).kinds) == {"tense and negation"}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> dict[str, Scene]:
    """The scene of each sentence that is said."""
    found: dict[str, Scene] = {}

    class Listening(module.Speaker):
        def say(self, scene: Scene) -> str:
            sentence = super().say(scene)
            found[f"{sentence}."] = scene
            return sentence

    monkeypatch.setattr(module, "Speaker", Listening)
    return found


def test_they_are_told_as_the_stories_are(said: dict[str, Scene]) -> None:
    given = miniworld_analogies(200)
    sentences = [sentence for column in (given.a, given.b, given.c, given.d) for sentence in column]
    assert all(sentence[0].isupper() for sentence in sentences)
    scenes = [said[sentence] for sentence in sentences]
    assert {(scene.tense, scene.negated, scene.manner) for scene in scenes} == {("past", False, None)}
    known = {word for story in World().stories(3000).stories for line in story for word in tokenise_ptb(line)}
    words = {word for sentence in sentences for word in tokenise_ptb(sentence)}
    assert len(words - known) <= 0.02 * len(words)


def test_no_core_is_that_of_a_training_corpus(said: dict[str, Scene]) -> None:
    assert not CELLS & (CORPUS_CELLS | SPLIT_CELLS["train"])
    given = miniworld_analogies(300, 5)
    columns = (given.a, given.b, given.c, given.d, *given.others)
    sentences = {sentence for column in columns for sentence in column}
    assert {cell(said[sentence]) for sentence in sentences} == CELLS
    told = {line.lower() for story in World().stories(3000).stories for line in story}
    assert len(sentences) > 1000 and not {sentence.lower() for sentence in sentences} & told


def test_a_longer_set_begins_with_the_shorter_one() -> None:
    short, long = miniworld_analogies(20), miniworld_analogies(60)
    assert (long.a[:20], long.d[:20], long.kinds[:20]) == (short.a, short.d, short.kinds)
    assert len(set(long.d)) == 60
    assert miniworld_analogies(20, seed=1).d != short.d
    assert len(miniworld_analogies(0)) == 0


def test_mistakes_are_clear() -> None:
    with pytest.raises(ConfigError, match="no factor 'colour'"):
        miniworld_analogies(1, factors=("agent", "colour"))  # type: ignore[arg-type]
    for factors in ((), ("agent",), ("agent", "agent")):
        with pytest.raises(ConfigError, match="two or more different"):
            miniworld_analogies(1, factors=factors)  # type: ignore[arg-type]
