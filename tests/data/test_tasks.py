"""Classification tasks by name: what is trained on, what is judged, and the most frequent class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sentbook.data.miniworld import World
from sentbook.data.tasks import TASKS, ClassificationTask, Examples, task
from sentbook.system.errors import ConfigError

SINGLE = ("sentiment", "product", "subjectivity", "polarity")


def examples(labels: list[int], *, pairs: bool = False) -> Examples:
    said = [f"sentence {number}" for number in range(len(labels))]
    return Examples(said, [f"{one}, again" for one in said] if pairs else None, np.array(labels))


# -- what a task holds -------------------------------------------------------------------------------------------------


def test_without_a_test_set_all_examples_are_judged() -> None:
    found = ClassificationTask("folds", ("no", "yes"), examples([0, 1, 1]), None)
    assert found.judged is found.train
    assert found.majority == 2 / 3
    assert not found.pairs


def test_the_majority_is_the_training_examples_class_on_the_test_examples() -> None:
    """Class 1 is the most frequent one of the test examples, which nothing may be learned from."""
    found = ClassificationTask("official", ("no", "yes"), examples([0, 0, 1], pairs=True), examples([0, 1, 1, 1]))
    assert found.majority == 0.25
    assert found.judged is found.test
    assert found.pairs


# -- the generated tasks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SINGLE)
def test_tasks_of_folds_pool_the_generated_splits(kind: str) -> None:
    found, parts = task(f"miniworld/{kind}"), [World().classification(kind, at) for at in ("train", "trial", "test")]
    assert found.test is None and not found.pairs
    assert found.train.sentences == [sentence for part in parts for sentence in part.sentences]
    np.testing.assert_array_equal(found.train.labels, np.concatenate([part.labels for part in parts]))
    assert found.classes == parts[0].classes
    assert len(set(found.train.first)) == len(found.train) == 1000
    assert found.majority == 0.5  # classes of equal size


def test_questions_and_paraphrases_have_a_test_set() -> None:
    questions, pairs = task("miniworld/question"), task("miniworld/paraphrase")
    assert questions.test is not None and pairs.test is not None
    assert questions.test.sentences == World().classification("question", "test").sentences
    assert not set(questions.train.first) & set(questions.test.first)
    assert (len(questions.train), len(questions.test), len(questions.classes)) == (600, 300, 6)
    told = World().paraphrase("test")
    assert (pairs.test.first, pairs.test.second) == (told.first, told.second)
    assert (len(pairs.train), len(pairs.test)) == (450, 500)
    assert pairs.pairs and not questions.pairs
    assert pairs.majority == (told.labels == 1).mean() > 0.5


@pytest.mark.parametrize("name", ["mr", "miniworld", "miniworld/entailment", ""])
def test_an_unknown_name_is_one_sentence(name: str) -> None:
    with pytest.raises(ConfigError, match=r"^Unknown task"):
        task(name)


# -- the real ones -----------------------------------------------------------------------------------------------------

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
    for name, (train, test, classes, majority) in OFFICIAL.items():
        found = task(name)
        assert (len(found.train), len(found.test or ()), len(found.classes)) == (train, test, classes), name
        assert found.majority == majority, name
        assert found.pairs == (name == "MSRP")
