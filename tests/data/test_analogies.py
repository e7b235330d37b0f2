"""Analogies: two factors with two values each, so that the words of D are A - B + C; no training core among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from sentbook.data.analogies import Analogies, miniworld_analogies, paper_analogies, template_analogies
from sentbook.data.miniworld import World
from sentbook.data.text import Vocabulary, tokenise_ptb
from sentbook.io import DataError

Maker = Callable[[int, int], Analogies]
MADE = pytest.mark.parametrize("make", [template_analogies, miniworld_analogies])


def bag(sentence: str) -> Counter[str]:
    return Counter(tokenise_ptb(sentence))


def columns(given: Analogies) -> list[tuple[str, str, str, str]]:
    return list(zip(given.a, given.b, given.c, given.d, strict=True))


@MADE
def test_words_of_d_and_others(make: Maker) -> None:
    given = make(240)
    assert len(set(columns(given))) == 240 and len(set(given.kinds)) > 10
    for (a, b, c, d), more in zip(columns(given), given.others, strict=True):
        total = bag(a)
        total.subtract(bag(b))
        total.update(bag(c))
        assert +total == bag(d) and min(total.values()) >= 0, (a, b, c, d)
        assert len(more) == 4 and len({a, b, c, d, *more}) == 8
        # Each of the others keeps what D has from one factor.
        for pair, kept in ((more[:2], c), (more[2:], a)):
            assert all(not (bag(d) - bag(kept)) - bag(other) and bag(other) != bag(d) for other in pair)


@MADE
def test_a_longer_set_begins_with_the_shorter_one(make: Maker) -> None:
    short, long = make(20), make(60)
    assert columns(long)[:20] == columns(short) and long.kinds[:20] == short.kinds


def test_generated_ones_are_told_as_the_stories_are_but_not_in_them() -> None:
    given = miniworld_analogies(200)
    sentences = {sentence for four in columns(given) for sentence in four}
    stories = [line for story in World().stories(3000).stories for line in story]
    words = {word for sentence in sentences for word in tokenise_ptb(sentence)}
    unmet = words - {word for line in stories for word in tokenise_ptb(line)}
    assert len(unmet) <= 0.02 * len(words)
    assert not {sentence.lower() for sentence in sentences} & {line.lower() for line in stories}


def test_the_papers_four() -> None:
    given = paper_analogies()
    assert len(given) == 4
    assert columns(given)[1] == ("this is great.", "this is awesome.", "you are awesome.", "you are great.")


def test_analogies_of_known_words() -> None:
    given = template_analogies(60)
    every = sorted({word for four in columns(given) for sentence in four for word in tokenise_ptb(sentence)})
    assert given.known(Vocabulary(every)).tolist() == list(range(60))
    missing = tokenise_ptb(given.b[7])[1]
    kept = given.take(given.known(Vocabulary([word for word in every if word != missing])))
    assert 0 < len(kept) < 60 and set(kept.others) <= set(given.others)
    assert not any(missing in tokenise_ptb(sentence) for four in columns(kept) for sentence in four)


def test_mistakes_are_clear() -> None:
    for kinds, others in (([], []), (["k"], [("e",), ("f",)])):
        with pytest.raises(DataError, match="misaligned"):
            Analogies("x", ["a"], ["b"], ["c"], ["d"], kinds, others)
    with pytest.raises(DataError, match="analogy 1 of x are the same"):
        Analogies("x", ["a"], ["b"], ["c"], ["d"], ["k"], [("e", "a")])
    with pytest.raises(DataError, match="5000 different"):
        template_analogies(5001)
