"""Classification tasks by name, what is trained on and judged; and pairs of their sentences, half of one class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kept import forget
from sentbook.data import suites
from sentbook.data.miniworld import World
from sentbook.data.suites import TASKS, ClassificationTask, task

SPLITS = ("train", "trial", "test")


def majority(found: ClassificationTask) -> float:
    """Return the share of judged examples that are of the training examples' most frequent class."""
    return float((found.judged.labels == np.bincount(found.train.labels).argmax()).mean())


def test_tasks_of_folds_pool_the_generated_splits_and_others_have_a_test_set() -> None:
    for kind in ("sentiment", "product", "subjectivity", "polarity"):
        found, parts = task(f"miniworld/{kind}"), [World().classification(kind, split) for split in SPLITS]
        assert found.test is None and not found.pairs and found.classes == parts[0].classes
        assert found.train.sentences == [sentence for part in parts for sentence in part.sentences]
        np.testing.assert_array_equal(found.train.labels, np.concatenate([part.labels for part in parts]))
        assert len(set(found.train.first)) == 1000 and majority(found) == 0.5  # classes of equal size
    questions, pairs, told = task("miniworld/question"), task("miniworld/paraphrase"), World().paraphrase("test")
    assert questions.test is not None and pairs.test is not None
    assert (len(questions.train), len(questions.test), len(questions.classes)) == (600, 300, 6)
    assert (pairs.test.first, pairs.test.second, len(pairs.train)) == (told.first, told.second, 450)
    assert pairs.pairs and not questions.pairs and majority(pairs) == told.gold.mean() > 0.5


@pytest.mark.parametrize("dataset", ["miniworld-sentiment", "miniworld-question"])
@pytest.mark.parametrize("split", SPLITS)
def test_a_pair_has_one_class_exactly_where_its_score_is_1(dataset: str, split: str) -> None:
    examples = suites.divided(suites.TASK_OF[dataset])[split]
    label = dict(zip(examples.first, examples.labels.tolist(), strict=True))
    pairs = suites.pairs(dataset, split)
    assert len(pairs) == suites.SIZES[split] and pairs.gold.mean() == 0.5
    same = [label[a] == label[b] for a, b in zip(pairs.first, pairs.second, strict=True)]
    np.testing.assert_array_equal(same, pairs.gold == 1)
    assert all(a != b for a, b in zip(pairs.first, pairs.second, strict=True))
    met = {*pairs.first, *pairs.second}
    assert met <= set(examples.first) and len(met) > 0.9 * len(examples)
    forget()
    again = suites.class_pairs(dataset, split)
    assert (pairs.first, pairs.second) == (again.first, again.second)


@pytest.mark.parametrize("name", ["miniworld/sentiment", "miniworld/question"])
def test_a_division_holds_every_sentence_once_and_the_classes_alike(name: str) -> None:
    found, parts = task(name), suites.divided(name)
    rest = parts["train"].first + parts["trial"].first
    whole = [*found.train.first, *(found.test.first if found.test else [])]
    assert sorted(rest + parts["test"].first) == sorted(whole)
    if found.test is None:
        assert len(parts["test"]) == round(0.2 * len(found.train))
    else:
        assert parts["test"] is found.test
    shares = [np.bincount(part.labels) / len(part) for part in parts.values()]
    assert all(np.abs(share - shares[0]).max() < 0.02 for share in shares)


# Examples to train on, test examples or 0, classes, share of the most frequent class where labels are judged: 5331 of
# 10,662 reviews, 2405 of 3771, 5000 of 10,000, 7292 of 10,603; 94 of 500 questions ask for an entity, 1147 of 1725
# pairs are paraphrases.
OFFICIAL = {
    "MR": (10_662, 0, 2, 5331 / 10_662),
    "CR": (3771, 0, 2, 2405 / 3771),
    "SUBJ": (10_000, 0, 2, 0.5),
    "MPQA": (10_603, 0, 2, 7292 / 10_603),
    "TREC": (5452, 500, 6, 94 / 500),
    "MSRP": (4076, 1725, 2, 1147 / 1725),
}


@pytest.mark.real_data
def test_the_papers_tasks_have_their_official_sizes(mirror: Path) -> None:
    assert tuple(OFFICIAL) == TASKS
    for name, (train, test, classes, share) in OFFICIAL.items():
        found = task(name)
        assert (len(found.train), len(found.test or ()), len(found.classes)) == (train, test, classes), name
        assert majority(found) == share and found.pairs == (name == "MSRP"), name
        assert all(sentence.strip() for sentence in found.train.first)
        if not found.pairs:
            sizes = {split: len(part) for split, part in suites.divided(name).items()}
            assert sizes["test"] == (test or pytest.approx(0.2 * train, abs=1))
            assert sizes["trial"] == pytest.approx(0.1 * (sizes["train"] + sizes["trial"]), abs=3)
