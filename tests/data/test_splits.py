"""Parts that no release defines: of the sizes stated, the same every time, and without a row in two of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data import readers, splits
from sentbook.data.types import GradedAnswers, LabelledPairs, ScoredPairs


def scored(name: str, size: int) -> ScoredPairs:
    source = name.rpartition("/")[2]
    first, second = ([f"{side} {name} {row}" for row in range(size)] for side in ("a", "b"))
    return ScoredPairs(name, first, second, np.arange(size) % 6.0, (0, 5), source)


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
    graded = GradedAnswers("SAG", question, [f"reference {name}" for name in question], answers, gold, (0, 5))
    monkeypatch.setattr(readers, "short_answers", lambda: graded)


def test_rows_are_taken_from_every_column() -> None:
    kept = np.array([False, True, True, False])
    found = scored("x", 4).take(kept)
    assert (found.name, found.scale, found.domain) == ("x", (0, 5), "x")
    assert (found.first, found.second, found.gold.tolist()) == (["a x 1", "a x 2"], ["b x 1", "b x 2"], [1.0, 2.0])
    labelled = LabelledPairs("y", list("abcd"), list("efgh"), np.arange(4), ("no", "yes"))
    others = labelled.take(~kept)
    assert (others.first, others.second, others.labels.tolist()) == (["a", "d"], ["e", "h"], [0, 3])
    assert others.classes == ("no", "yes")
    graded = GradedAnswers("z", list("abcd"), list("efgh"), list("ijkl"), np.arange(4.0), (0, 5))
    assert graded.take(kept).question == ["b", "c"] and graded.take(kept).reference == ["f", "g"]
    assert len(graded.take(np.zeros(4, dtype=bool))) == 0


@given(st.lists(st.integers(0, 3), max_size=60), st.dictionaries(st.integers(0, 4), st.integers(0, 20)), st.integers(0))
def test_held_out_rows_are_as_many_as_asked_for(groups: list[int], sizes: dict[int, int], seed: int) -> None:
    held = splits.held_out(np.array(groups, dtype=np.int64), sizes, seed)
    assert held.shape == (len(groups),)
    for group, count in Counter(groups).items():
        assert held[np.array(groups) == group].sum() == min(sizes.get(group, 0), count)
    np.testing.assert_array_equal(held, splits.held_out(np.array(groups, dtype=np.int64), sizes, seed))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=6), st.floats(0, 1))
def test_shares_are_within_one_of_proportional(counts: list[int], part: float) -> None:
    total = round(part * sum(counts))
    sizes = splits.shares(counts, total)
    assert sum(sizes) == total
    for size, count in zip(sizes, counts, strict=True):
        assert abs(size - total * count / sum(counts)) < 1 and 0 <= size <= count


def test_sets_of_two_scales_are_not_pooled() -> None:
    with pytest.raises(ValueError, match="too many values"):
        splits.pool("both", [scored("x", 2), ScoredPairs("y", ["a"], ["b"], np.ones(1), (0, 1))])


def test_parts_of_sts_2012(stand_ins: None) -> None:
    train, trial, test = (splits.sts2012(split) for split in splits.SPLITS)
    assert {pairs.name for pairs in (train, trial, test)} == {"STS12"}
    assert (len(train), len(trial), len(test)) == (2000, 234, 1959)
    whole = [text for pairs in readers.sts2012_train() for text in pairs.first]
    assert sorted(train.first + trial.first) == sorted(whole)
    assert [text for text in whole if text in set(train.first)] == train.first  # in the files' order
    sources = Counter(text.split()[1].rpartition("/")[2] for text in trial.first)
    assert sources == {"MSRpar": 79, "MSRvid": 78, "SMTeuroparl": 77}
    for pairs in (train, trial):
        assert pairs.second == [text.replace("a ", "b ", 1) for text in pairs.first]
        np.testing.assert_array_equal(pairs.gold, [int(text.split()[-1]) % 6 for text in pairs.first])
    assert splits.sts2012("trial").first == trial.first
    sets = splits.sts2012_tests()
    assert {pairs.name: len(pairs) for pairs in sets} == {
        "STS12/MSRpar": 750,
        "STS12/MSRvid": 750,
        "STS12/SMT-eur": 459,
    }
    assert test.first == [text for pairs in sets for text in pairs.first]
    np.testing.assert_array_equal(test.gold, np.concatenate([pairs.gold for pairs in sets]))


def test_parts_of_the_short_answers(stand_ins: None) -> None:
    train, trial, test = (splits.short_answers(split) for split in splits.SPLITS)
    assert (len(train), len(trial), len(test)) == (1460, 261, 552)
    whole = readers.short_answers()
    assert sorted(train.answer + trial.answer + test.answer) == sorted(whole.answer)
    assert {question.split(".")[0] for question in test.question} == {"11", "12"}
    assert not {"11", "12"} & {question.split(".")[0] for question in train.question + trial.question}
    place = {answer: row for row, answer in enumerate(whole.answer)}
    for part in (train, trial, test):
        rows = [place[answer] for answer in part.answer]
        assert rows == sorted(rows)
        assert part.question == [whole.question[row] for row in rows]
        assert part.reference == [whole.reference[row] for row in rows]
        np.testing.assert_array_equal(part.gold, whole.gold[rows])
    assert splits.short_answers("trial").answer == trial.answer


def test_short_answers_at_random_are_as_many_and_share_questions(stand_ins: None) -> None:
    parts = {split: splits.short_answers_at_random(split) for split in splits.SPLITS}
    assert [len(part) for part in parts.values()] == [1460, 261, 552]
    whole = readers.short_answers()
    assert sorted(answer for part in parts.values() for answer in part.answer) == sorted(whole.answer)
    assert set(parts["test"].question) & set(parts["train"].question)
    assert splits.short_answers_at_random("test").answer == parts["test"].answer


@given(st.integers(2, 60), st.integers(0, 5), st.lists(st.floats(0.01, 1), min_size=2, max_size=2))
def test_a_larger_share_holds_the_smaller(size: int, seed: int, shares: list[float]) -> None:
    small, large = (splits.share_of(scored("x", size), share, seed) for share in sorted(shares))
    assert set(small.first) <= set(large.first)
    assert len(large) == max(2, round(max(shares) * size))
    assert large.first == [text for text in scored("x", size).first if text in set(large.first)]  # in order
    assert splits.share_of(scored("x", size), 1.0, seed).first == scored("x", size).first


@pytest.mark.real_data
def test_parts_of_the_real_files(mirror: Path) -> None:
    assert [len(splits.sts2012(split)) for split in splits.SPLITS] == [2000, 234, 1959]
    answers = {split: splits.short_answers(split) for split in splits.SPLITS}
    assert [len(part) for part in answers.values()] == [1460, 261, 552]
    questions = [set(part.question) for part in answers.values()]
    assert [len(names) for names in questions] == [62, 60, 19]
    assert questions[1] < questions[0] and not questions[0] & questions[2]
    train, trial = (answers[split].gold.mean() for split in ("train", "trial"))
    assert trial == pytest.approx(train, abs=0.15)
