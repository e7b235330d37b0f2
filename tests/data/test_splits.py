"""Parts that no release defines: of the sizes stated, the same every time, and without a row in two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data import readers
from sentbook.data.types import SPLITS, LabelledPairs, ScoredPairs, held_out, share_of
from sentbook.io import DataError


def scored(name: str, size: int, scale: tuple[float, float] = (0, 5)) -> ScoredPairs:
    first, second = ([f"{side} {name} {row}" for row in range(size)] for side in ("a", "b"))
    return ScoredPairs(name, first, second, np.arange(size) % 6.0, scale)


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the official sizes."""
    train = {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 734}
    tests = {"MSRpar": 750, "MSRvid": 750, "SMT-eur": 459, "OnWN": 750, "SMT-news": 399}
    monkeypatch.setattr(readers, "sts2012_train", lambda: [scored(f"STS2012-train/{k}", n) for k, n in train.items()])
    monkeypatch.setattr(readers, "sts", lambda year: [scored(f"STS{year}/{k}", n) for k, n in tests.items()])
    questions = [f"{row % 10 + 1}.{row % 6 + 1}" for row in range(1721)]
    exams = [f"{11 + row % 2}.{row % 10 + 1}" for row in range(552)]
    question = [*exams[:100], *questions, *exams[100:]]  # in no order that a split could rely on
    answers = [f"answer {row}" for row in range(2273)]
    gold = np.arange(2273) % 11 / 2
    graded = ScoredPairs("SAG", question, answers, gold, (0, 5))
    monkeypatch.setattr(readers, "graded_answers", lambda: (graded, question))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=5), st.integers(0, 9))
def test_rows_are_taken_from_and_joined_in_every_column(sizes: list[int], seed: int) -> None:
    parts = [LabelledPairs(f"{at}", *([f"{side}{at}.{row}" for row in range(size)] for side in "ab"),
                           np.arange(size), ("no", "yes")) for at, size in enumerate(sizes)]  # fmt: skip
    whole = LabelledPairs.joined(parts, name="all")
    assert (whole.name, whole.classes, len(whole)) == ("all", ("no", "yes"), sum(sizes))
    rows = np.random.default_rng(seed).permutation(len(whole))[: len(whole) // 2]
    for chosen in (rows, np.isin(np.arange(len(whole)), rows)):
        taken = whole.take(chosen)
        assert taken.second == [text.replace("a", "b") for text in taken.first] and len(taken) == len(rows)
        assert taken.labels.tolist() == [int(text.split(".")[1]) for text in taken.first]
    assert whole.take(rows).first == [whole.first[row] for row in rows]
    with pytest.raises(DataError, match=r"LabelledPairs with columns of \[1, 2\] rows"):
        LabelledPairs("both", ["a"], ["b"], np.arange(2), ("no", "yes"))


@given(st.lists(st.integers(0, 3), max_size=60), st.dictionaries(st.integers(0, 4), st.integers(0, 20)), st.integers(0))
def test_held_out_rows_are_as_many_as_asked_for(groups: list[int], sizes: dict[int, int], seed: int) -> None:
    held = held_out(np.array(groups, dtype=np.int64), sizes, seed)
    assert held.shape == (len(groups),)
    for group, count in Counter(groups).items():
        assert held[np.array(groups) == group].sum() == min(sizes.get(group, 0), count)
    np.testing.assert_array_equal(held, held_out(np.array(groups, dtype=np.int64), sizes, seed))


def test_parts_of_sts_2012(stand_ins: None) -> None:
    train, trial, test = (readers.sts2012(split) for split in SPLITS)
    assert {pairs.name for pairs in (train, trial, test)} == {"STS12"}
    assert (len(train), len(trial), len(test)) == (2000, 234, 1959)
    whole = [text for pairs in readers.sts2012_train() for text in pairs.first]
    assert sorted(train.first + trial.first) == sorted(whole)
    assert [text for text in whole if text in set(train.first)] == train.first  # in the files' order
    sources = Counter(text.split()[1].rpartition("/")[2] for text in trial.first)
    assert sources == {"MSRpar": 79, "MSRvid": 78, "SMTeuroparl": 77}
    assert readers.sts2012("trial").first == trial.first
    sets = readers.sts2012_tests()
    assert [pairs.name for pairs in sets] == ["STS12/MSRpar", "STS12/MSRvid", "STS12/SMT-eur"]
    assert test.first == [text for pairs in sets for text in pairs.first]


@pytest.mark.parametrize("divided", [readers.short_answers, readers.short_answers_at_random])
def test_parts_of_the_short_answers(stand_ins: None, divided: Callable[[str], ScoredPairs]) -> None:
    train, trial, test = (divided(split) for split in SPLITS)
    assert (len(train), len(trial), len(test)) == (1460, 261, 552)
    whole, _ = readers.graded_answers()
    assert sorted(train.second + trial.second + test.second) == sorted(whole.second)
    for part in (train, trial, test):
        rows = [int(answer.split()[1]) for answer in part.second]
        assert rows == sorted(rows) and part.first == [whole.first[row] for row in rows]
    assert divided("trial").second == trial.second
    exams = {question.split(".")[0] for question in test.first}
    if divided is readers.short_answers:
        assert exams == {"11", "12"} and not set(train.first + trial.first) & set(test.first)
    else:
        assert set(test.first) & set(train.first)


@given(st.integers(2, 60), st.integers(0, 5), st.lists(st.floats(0.01, 1), min_size=2, max_size=2))
def test_a_larger_share_holds_the_smaller(size: int, seed: int, shares: list[float]) -> None:
    small, large = (share_of(scored("x", size), share, seed) for share in sorted(shares))
    assert set(small.first) <= set(large.first)
    assert len(large) == max(2, round(max(shares) * size))
    assert large.first == [text for text in scored("x", size).first if text in set(large.first)]  # in order
    assert share_of(scored("x", size), 1.0, seed).first == scored("x", size).first
