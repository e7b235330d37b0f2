"""Pairs of labelled sentences: inside one split, half of one class, never a sentence with itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sentbook.data import label_pairs, suites
from sentbook.data.tasks import task
from sentbook.system.errors import ConfigError

SPLITS = ("train", "trial", "test")


@pytest.mark.parametrize("dataset", ["miniworld-sentiment", "miniworld-question"])
@pytest.mark.parametrize("split", SPLITS)
def test_a_pair_has_one_class_exactly_where_its_score_is_1(dataset: str, split: str) -> None:
    examples = label_pairs.divided(label_pairs.TASK_OF[dataset])[split]
    label = dict(zip(examples.first, examples.labels.tolist(), strict=True))
    pairs = suites.pairs(dataset, split)
    assert len(pairs) == label_pairs.SIZES[split] and pairs.gold.mean() == 0.5
    same = [label[a] == label[b] for a, b in zip(pairs.first, pairs.second, strict=True)]
    np.testing.assert_array_equal(same, pairs.gold == 1)
    assert all(a != b for a, b in zip(pairs.first, pairs.second, strict=True))
    met = {*pairs.first, *pairs.second}
    assert met <= set(examples.first) and len(met) > 0.9 * len(examples)


@pytest.mark.parametrize("name", ["miniworld/sentiment", "miniworld/question"])
def test_a_division_holds_every_sentence_once_and_the_classes_alike(name: str) -> None:
    found, parts = task(name), label_pairs.divided(name)
    rest = parts["train"].first + parts["trial"].first
    whole = [*found.train.first, *(found.test.first if found.test else [])]
    assert sorted(rest + parts["test"].first) == sorted(whole)
    assert label_pairs.training(name).first == rest
    if found.test is None:
        assert len(parts["test"]) == round(0.2 * len(found.train))
    else:
        assert parts["test"] is found.test
    shares = [np.bincount(part.labels) / len(part) for part in parts.values()]
    assert all(np.abs(share - shares[0]).max() < 0.02 for share in shares)


def test_pairs_are_the_same_every_time() -> None:
    first = suites.pairs("miniworld-question", "train")
    label_pairs._pairs.cache_clear()
    label_pairs.divided.cache_clear()
    again = label_pairs.pairs("miniworld-question", "train")
    assert (first.first, first.second) == (again.first, again.second)
    assert suites.pairs("miniworld-question", "trial").first != again.first[:1000]


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ConfigError, match="label pairs split 'dev'"):
        label_pairs.pairs("miniworld-question", "dev")


@pytest.mark.real_data
def test_the_divisions_of_the_real_tasks(mirror: Path) -> None:
    sizes = {
        name: [len(label_pairs.divided(name)[split]) for split in SPLITS]
        for name in ("MR", "CR", "SUBJ", "MPQA", "TREC")
    }
    assert sizes["TREC"][0] + sizes["TREC"][1] == 5452 and sizes["TREC"][2] == 500
    for name, (train, trial, test) in sizes.items():
        if name != "TREC":
            assert test == pytest.approx(0.2 * (train + trial + test), abs=1)
        assert trial == pytest.approx(0.1 * (train + trial), abs=3)
