"""Analogies: two factors with two values each, so that the words of D are A - B + C; no training core among them."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

from sentbook.data.miniworld import World
from sentbook.data.text import tokenise_ptb


def bag(sentence: str) -> Counter[str]:
    return Counter(tokenise_ptb(sentence))


def test_words_of_d_and_others() -> None:
    given = SimpleNamespace(**World().analogies(240))
    fours = list(zip(given.a, given.b, given.c, given.d, strict=True))
    assert len(set(fours)) == 240 and len(set(given.kinds)) > 10
    for (a, b, c, d), more in zip(fours, given.others, strict=True):
        total = bag(a)
        total.subtract(bag(b))
        total.update(bag(c))
        assert +total == bag(d) and min(total.values()) >= 0, (a, b, c, d)
        assert len(more) == 4 and len({a, b, c, d, *more}) == 8
        # Each of the others keeps what D has from one factor.
        for pair, kept in ((more[:2], c), (more[2:], a)):
            assert all(not (bag(d) - bag(kept)) - bag(other) and bag(other) != bag(d) for other in pair)


def test_they_are_told_as_the_stories_are_but_not_in_them() -> None:
    given = SimpleNamespace(**World().analogies(200))
    sentences = {*given.a, *given.b, *given.c, *given.d}
    stories = [line for story in World().stories(3000) for line in story]
    words = {word for sentence in sentences for word in tokenise_ptb(sentence)}
    unmet = words - {word for line in stories for word in tokenise_ptb(line)}
    assert len(unmet) <= 0.02 * len(words)
    assert not {sentence.lower() for sentence in sentences} & {line.lower() for line in stories}
