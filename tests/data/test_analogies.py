"""Analogies from frames and the paper's own: two factors with two values each, no sentence twice in one."""

from __future__ import annotations

import collections

import numpy as np
import pytest

from sentbook.data.analogies import FRAME_KINDS, Analogies, paper_analogies, template_analogies
from sentbook.data.text import Vocabulary, tokenise_ptb
from sentbook.system.errors import DataError


def bag(sentence: str) -> collections.Counter[str]:
    return collections.Counter(tokenise_ptb(sentence))


def columns(given: Analogies) -> list[tuple[str, str, str, str]]:
    return list(zip(given.a, given.b, given.c, given.d, strict=True))


def test_the_words_of_d_are_a_minus_b_plus_c() -> None:
    given = template_analogies(400)
    for a, b, c, d in columns(given):
        total = bag(a)
        total.subtract(bag(b))
        total.update(bag(c))
        assert +total == bag(d) and min(total.values()) >= 0, (a, b, c, d)


def test_both_factors_change_and_all_kinds_come() -> None:
    given = template_analogies()
    assert len(given) == 240 >= 200
    assert set(given.kinds) == set(FRAME_KINDS)
    assert len({row for row in columns(given)}) == 240
    for a, b, c, d in columns(given):
        assert len({a, b, c, d}) == 4
        # D shares one factor with A and the other with C, so that neither is D.
        assert bag(d) != bag(a) and bag(d) != bag(c)


def test_others_are_d_but_for_one_factor() -> None:
    given = template_analogies(300)
    for (a, b, c, d), more in zip(columns(given), given.others, strict=True):
        assert len(more) == 4 and len({a, b, c, d, *more}) == 8
        for pair, kept in ((more[:2], c), (more[2:], a)):
            for other in pair:
                assert not (bag(d) - bag(kept)) - bag(other), (a, b, c, d, other)
                assert bag(other) != bag(d)


def test_a_longer_set_begins_with_the_shorter_one_and_a_seed_is_another_set() -> None:
    short, long = template_analogies(50), template_analogies(300)
    assert columns(long)[:50] == columns(short) and long.kinds[:50] == short.kinds
    assert columns(template_analogies(50, seed=1)) != columns(short)
    assert columns(template_analogies(50)) == columns(short)
    assert len(template_analogies(0)) == 0
    assert len(set(columns(template_analogies(5000)))) == 5000


def test_first_and_second_slot_take_turns_as_f() -> None:
    """Of "subject and verb" B has another subject about as often as another verb."""
    given = template_analogies(600)
    same = [a.split()[0] == b.split()[0] for a, b, _, _ in columns(given)]
    assert 0.4 < np.mean([same[row] for row in range(600) if given.kinds[row] == "subject and verb"]) < 0.95


def test_the_papers_four() -> None:
    given = paper_analogies()
    assert len(given) == 4
    assert columns(given)[1] == ("this is great.", "this is awesome.", "you are awesome.", "you are great.")
    assert given.d[2] == "its lovely to see him." and given.c[3].startswith("i felt like to say")


def test_analogies_of_known_words() -> None:
    given = template_analogies(60)
    every = sorted({word for four in columns(given) for sentence in four for word in tokenise_ptb(sentence)})
    assert given.known(Vocabulary(every)).tolist() == list(range(60))
    missing = tokenise_ptb(given.b[7])[1]
    rows = given.known(Vocabulary([word for word in every if word != missing]))
    kept = given.take(rows)
    assert 7 not in rows and 0 < len(kept) < 60
    assert kept.d == [given.d[row] for row in rows] and kept.others == [given.others[row] for row in rows]
    assert kept.kinds == [given.kinds[row] for row in rows]
    assert not any(missing in tokenise_ptb(sentence) for four in columns(kept) for sentence in four)


def test_mistakes_are_clear() -> None:
    with pytest.raises(DataError, match="misaligned"):
        Analogies("x", ["a"], ["b"], ["c"], ["d"], [])
    with pytest.raises(DataError, match="analogy 2 of x are the same"):
        Analogies("x", ["a", "e"], ["b", "f"], ["c", "g"], ["d", "e"], ["k", "k"])
    with pytest.raises(DataError, match="5000 different"):
        template_analogies(5001)
    with pytest.raises(DataError, match="misaligned"):
        Analogies("x", ["a"], ["b"], ["c"], ["d"], ["k"], [("e",), ("f",)])
    with pytest.raises(DataError, match="analogy 1 of x are the same"):
        Analogies("x", ["a"], ["b"], ["c"], ["d"], ["k"], [("e", "a")])
    assert paper_analogies().take(np.array([2])).others == []
