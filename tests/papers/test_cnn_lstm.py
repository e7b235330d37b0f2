"""The rows of Gan et al.'s tables, and what the cells of their pages compute."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from cells import of_page
from sentbook import config
from sentbook import records as results
from sentbook.evaluation.classification import pair_features
from sentbook.io import ConfigError
from sentbook.papers.cnn_lstm import experiments
from sentbook.papers.cnn_lstm.settings import Settings

SMALL = {"books": 60, "vocabulary": 400, "hidden": 8, "epochs": 1, "held_out": 64}
NAMES = ["autoencoder", "future predictor", "hierarchical model", "composite model"]
CHANGES: dict[str, Any] = {
    "device": "cpu", "resamples": 200, "encoder": {"filters": 8}, "pretraining": SMALL, "hierarchical": SMALL,
    "classification": ["miniworld/question", "miniworld/paraphrase"],
}  # fmt: skip


def paper(**changes: Any) -> Settings:
    return config.load("cnn_lstm", {"profile": "demo", **config.merge(CHANGES, changes)})


def test_a_row_is_trained_as_its_name_says(tmp_path: Path) -> None:
    s = paper(rates={"composite model+emb.": 0.03})
    made = experiments.models(s)
    assert list(made) == NAMES + [f"{name}+emb." for name in NAMES]
    kinds = ["autoencoder", "future predictor", "hierarchical", "composite"]
    for (name, [recipe]), kind in zip(made.items(), kinds * 2, strict=True):
        base = s.hierarchical if kind == "hierarchical" else s.pretraining
        own = {"model": kind, "embedding_update": "frozen" if name.endswith("+emb.") else "dense"}
        own |= {"learning_rate": 0.03} if name == "composite model+emb." else {}
        assert recipe.stages[0].model_dump() == base.model_dump() | own
        assert (recipe.method, recipe.seed, recipe.encoder) == (name, 1, s.encoder)
    joined = {one.method: one.parts for one in experiments.features(made)}
    assert joined["combine"] == (made["hierarchical model"][0], made["composite model"][0])
    assert [experiments.random_start(s, fixed=fixed).bound for fixed in (True, False)] == [0.07, 0.07 / 25]
    [(name, [alone])] = experiments.variants(paper(word_kinds=["fixed"], seeds=[2])).items()
    assert (name, alone.seed) == (experiments.WIDE, 2)
    with pytest.raises(ConfigError, match="all models read one text, so set"):
        paper(hierarchical={"corpus": "folder", "path": str(tmp_path), "layout": "lines"})
    with pytest.raises(ConfigError, match=r"^Parameter 'pretraining' in .*: corpus 'folder' and the path .* together"):
        paper(pretraining={"corpus": "folder"})


def test_a_gain_is_that_of_the_last_quarter_of_the_checks_over_tasks_and_seeds() -> None:
    given = {"dataset": "TREC", "metric": "accuracy", "protocol": "p", "n": 500}
    values = {1: (0.5, 0.7, 0.6, 0.75), 2: (0.7, 0.7, 0.7, 0.7)}
    rows = [
        results.Metric(method=f"autoencoder{experiments.CHECK}{at}", seed=seed, value=value, **given)
        for seed, of_seed in values.items()
        for at, value in enumerate(of_seed, start=1)
    ]
    assert experiments.task_gains(rows) == {"autoencoder": pytest.approx(0.025)}
    assert experiments.task_gains([rows[0].model_copy(update={"method": "autoencoder"})]) == {}


def test_a_sum_is_of_the_four_vectors_and_a_sentence_is_measured_by_its_words() -> None:
    page = of_page("cnn_lstm/table1", "SUMS", "summed", "likeness")
    four = np.random.default_rng(0).normal(size=(4, 5, 3))
    np.testing.assert_allclose(page["summed"](four, "A - B + C"), four[0] - four[1] + four[2])
    np.testing.assert_array_equal(page["summed"](four, "D"), four[3])
    analogy = ("the old man ran.", "the old dog ran.", "the big dog ran.", "the big man ran.")
    assert page["likeness"]("the big man ran .", *analogy) == (1.0, 1.0, 1.0)
    assert page["likeness"]("the old man ran .", *analogy) == (0.0, 0.5, 0.5)
    assert page["likeness"]("", *analogy) == (0.0, 0.0, 1.0)


def test_the_gru_of_skip_thoughts_is_counted_as_torch_has_it() -> None:
    gru = torch.nn.GRU(5, 7)  # which has a second bias for each gate
    counted = of_page("cnn_lstm/pretraining", "of_gru")["of_gru"](5, 7)
    assert counted == sum(part.numel() for part in gru.parameters()) - 3 * 7


def test_a_division_of_data() -> None:
    divide = of_page("cnn_lstm/figure3", "Division", "divide")["divide"]
    labels = np.zeros(203, dtype=np.int64)
    for run in (1, 4, 13):
        division = divide(labels, run)
        assert sorted(np.concatenate(division)) == list(range(203))
        assert len(division.trial) == (203 - len(division.test)) // 10
    tests = [divide(labels, run).test for run in range(1, 12)]
    assert sorted(np.concatenate(tests[:10])) == list(range(203))
    assert not np.array_equal(tests[10], tests[0])  # fold 1 of another division
    one, other = (divide(labels, run, tested=50) for run in (1, 2))
    assert one.test.tolist() == other.test.tolist() == list(range(153, 203)) and set(one.trial) != set(other.trial)
    shares = [divide(labels, 3, share, tested=103) for share in (0.1, 0.25, 0.5, 1.0)]
    for small, large in itertools.pairwise(shares):
        assert set(small.train) < set(large.train) and set(small.trial) < set(large.trial)
    assert [len(part.train) + len(part.trial) for part in shares] == [10, 25, 50, 100]


def test_ranks_by_hand() -> None:
    page = of_page("cnn_lstm/table4", "ranks", "measures")
    scores = [
        [0.9, 0.1, 0.2, 0.3, 0.0, 0.0],  # its first caption is the best of all
        [0.8, 0.7, 0.1, 0.6, 0.5, 0.4],  # two wrong ones before its second caption
        [0.5, 0.6, 0.7, 0.8, 0.3, 0.2],  # four wrong ones before its first
    ]
    annotation, search = page["ranks"](scores, [0, 0, 1, 1, 2, 2])
    assert annotation.tolist() == [1, 3, 5] and search.tolist() == [1, 3, 3, 2, 2, 2]
    found = page["measures"](annotation[None], search[None])
    assert found["annotation_R@1"] == pytest.approx(1 / 3) and found["annotation_R@5"] == 1
    assert (found["annotation_MedR"], found["search_MedR"]) == (3, 2)
    same = page["ranks"](np.ones((4, 20)), np.repeat(np.arange(4), 5))  # ties find nothing
    assert [set(one.tolist()) for one in same] == [{16}, {4}]


ranks = of_page("cnn_lstm/table4", "ranks")["ranks"]


@given(images=st.integers(1, 8), captions=st.integers(1, 5), seed=st.integers(0, 9999))
def test_without_ties_ranks_are_places_in_the_sorted_order(images: int, captions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.repeat(np.arange(images), captions))
    scores = rng.permutation(images * len(owner)).reshape(images, -1) / 7
    annotation, search = ranks(scores, owner)
    by_image = [np.flatnonzero(owner[np.argsort(-row)] == image)[0] + 1 for image, row in enumerate(scores)]
    assert annotation.tolist() == by_image
    assert search.tolist() == [list(np.argsort(-scores[:, at])).index(owner[at]) + 1 for at in range(len(owner))]


def test_medians_are_those_of_repeated_ranks() -> None:
    ranks = np.random.default_rng(3).integers(1, 90, size=(9, 4))
    counts = np.random.default_rng(0).multinomial(9, np.full(9, 1 / 9), size=300)
    by_hand = [np.floor(np.median(np.repeat(ranks, row, axis=0))) for row in counts]
    assert of_page("cnn_lstm/table4", "medians")["medians"](counts, ranks).tolist() == by_hand


PAGE5 = ("CLASSES", "expected", "softmax_scores")


def test_whole_scores_give_the_softmax_of_scikit_learn() -> None:
    page, rng = of_page("cnn_lstm/table5", *PAGE5), np.random.default_rng(1)
    page |= {"EPOCHS": 800, "BATCH": 1000, "RATE": 0.01, "BLOCKS": 1}
    first, second = rng.normal(size=(2, 200, 2))
    pairs = (first, second, rng.integers(1, 6, 200))
    found, _ = page["softmax_scores"](pairs, pairs, pairs, 3)
    model = LogisticRegression(C=1e6, tol=1e-8, max_iter=5000).fit(pair_features(first, second), pairs[2])
    np.testing.assert_allclose(found, model.predict_proba(pair_features(first, second)) @ np.arange(1, 6), atol=0.02)


def test_the_best_block_is_kept_and_test_scores_are_not_read() -> None:
    page = of_page("cnn_lstm/table5", *PAGE5)
    page.update(EPOCHS=3, BATCH=32, RATE=0.01)
    rng = np.random.default_rng(0)
    train, trial, test = ((*rng.normal(size=(2, n, 60)), rng.uniform(1, 5, n)) for n in (40, 50, 60))
    before = torch.random.get_rng_state()
    found, history = page["softmax_scores"](train, trial, test, 1)
    assert torch.equal(torch.random.get_rng_state(), before)
    best = int(np.argmax(history))
    assert len(history) == best + 2  # one block that is no better ends it
    page.update(BLOCKS=best + 1)
    again, _ = page["softmax_scores"](train, trial, (*test[:2], np.full(60, np.nan)), 1)
    np.testing.assert_array_equal(again, found)
    assert ((found > 1) & (found < 5)).all()
