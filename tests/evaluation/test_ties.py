"""Letters say exactly what the test said, and the test is wrong about equals as often as it claims."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sentbook.evaluation import ties

Table = NDArray[np.bool_]


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[list[float], Table]:
    """Any answers to all pairs, also such as no test would give: "different" need not follow the values."""
    size = draw(st.integers(1, 12))
    points = draw(st.lists(st.floats(-1, 1), min_size=size, max_size=size))
    table = np.zeros((size, size), dtype=bool)
    upper = np.triu_indices(size, 1)
    table[upper] = draw(st.lists(st.booleans(), min_size=len(upper[0]), max_size=len(upper[0])))
    return points, table | table.T


@given(comparisons())
def test_two_methods_share_a_letter_exactly_where_they_are_not_different(found: tuple[list[float], Table]) -> None:
    points, different = found
    letters = [set(word) for word in ties.letters(points, different)]
    assert all(letters)
    for one in range(len(points)):
        for other in range(one):
            assert bool(letters[one] & letters[other]) != different[one, other]


@given(comparisons())
def test_no_letter_is_superfluous_and_the_first_is_the_bests(found: tuple[list[float], Table]) -> None:
    points, different = found
    letters = ties.letters(points, different)
    assert "a" in letters[int(np.argmax(points))]
    used = sorted(set("".join(letters)))
    assert used == list(ties.LETTERS[: len(used)])
    for letter in used:  # its holders, and no other letter's holders among which all of them are
        mine = {m for m, word in enumerate(letters) if letter in word}
        others = [{m for m, word in enumerate(letters) if other in word} for other in used if other != letter]
        assert not any(mine <= group for group in others)


def test_letters_of_known_tables() -> None:
    def table(size: int, pairs: list[tuple[int, int]]) -> Table:
        made = np.zeros((size, size), dtype=bool)
        for one, other in pairs:
            made[one, other] = made[other, one] = True
        return made

    assert ties.letters([3, 2, 1], table(3, [])) == ["a", "a", "a"]
    assert ties.letters([3, 2, 1], table(3, [(0, 1), (0, 2), (1, 2)])) == ["a", "b", "c"]
    assert ties.letters([1, 2, 3], table(3, [(0, 2)])) == ["b", "ab", "a"]
    assert ties.letters([4, 3, 2, 1], table(4, [(0, 2), (0, 3), (1, 3)])) == ["a", "ab", "bc", "c"]
    assert ties.letters([], table(0, [])) == []


@pytest.mark.parametrize("wrong", [np.ones((2, 2)), np.array([[0, 1], [0, 0]]), np.zeros((3, 3)), np.zeros(2)], ids=str)
def test_wrong_tables_and_shapes_are_refused(wrong: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="2 methods need a symmetric table"):
        ties.letters([1.0, 2.0], wrong)
    with pytest.raises(ValueError, match="do not fit"):
        ties.all_pairs([1.0, 2.0], np.zeros((3, 10)))


def test_of_equal_methods_any_is_called_different_in_one_table_of_twenty() -> None:
    """Eight methods, 28 pairs: a test that is not corrected calls a pair of equals different in most tables."""
    rng = np.random.default_rng(3)
    wrong = plain = 0
    for _ in range(200):
        items = rng.normal(size=(8, 60))
        counts = rng.multinomial(60, np.full(60, 1 / 60), size=400)
        sampled = items @ counts.T / 60
        wrong += bool((ties.all_pairs(items.mean(axis=1), sampled) < ties.LEVEL).any())
        one, other = np.triu_indices(8, 1)
        drawn = sampled[one] - sampled[other]
        plain += bool(((drawn > 0).mean(axis=1) > 0.975).any() or ((drawn < 0).mean(axis=1) > 0.975).any())
    assert wrong / 200 <= 0.1
    assert plain / 200 > 0.3


def test_real_differences_are_found_and_order_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    items = rng.normal(size=(4, 200)) * 0.3 + np.array([[0.0], [0.0], [0.5], [1.0]])
    counts = rng.multinomial(200, np.full(200, 1 / 200), size=500)
    points, sampled = items.mean(axis=1), items @ counts.T / 200
    p = ties.all_pairs(points, sampled)
    assert p[0, 1] > 0.05 > p[0, 2] and p[2, 3] < 0.05
    assert (p == p.T).all() and (p.diagonal() == 1).all()
    turned = [2, 0, 3, 1]
    np.testing.assert_array_equal(ties.all_pairs(points[turned], sampled[turned]), p[np.ix_(turned, turned)])
    assert p[p < 1].min() == pytest.approx(1 / 501)
