"""Images and sentences: ranks by hand and by sorting, the loss by hand, worlds whose answer is known, intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sentbook.evaluation.features import Features
from sentbook.evaluation.predictions import INTERVALS
from sentbook.io import ConfigError, DataError, NumericalError
from sentbook.papers.cnn_lstm import ranking
from sentbook.papers.cnn_lstm.ranking import (
    DATASETS,
    Captions,
    Ranked,
    RankingProblem,
    captioned,
    difference,
    intervals,
    measures,
    part_ranks,
    parts,
    protocol,
    ranked,
    ranks,
)
from sentbook.papers.cnn_lstm.settings import RankingTraining, Settings
from sentbook.runs import printed as reported
from sentbook.training.loop import fit

WORLD = np.random.default_rng(5).normal(size=(8, 12)).astype(np.float32)


def unit(table: NDArray[Any]) -> NDArray[np.float32]:
    return np.float32(table / np.linalg.norm(table, axis=1, keepdims=True))


# -- ranks -------------------------------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    scores = [
        [0.9, 0.1, 0.2, 0.3, 0.0, 0.0],  # its first caption is the best of all
        [0.8, 0.7, 0.1, 0.6, 0.5, 0.4],  # two wrong ones before its second caption
        [0.5, 0.6, 0.7, 0.8, 0.3, 0.2],  # four wrong ones before its first
    ]
    annotation, search = ranks(scores, [0, 0, 1, 1, 2, 2])
    assert annotation.tolist() == [1, 3, 5]
    # By column: the first caption's own image scores .9, the best; the second's .1, the worst; and so on.
    assert search.tolist() == [1, 3, 3, 2, 2, 2]
    found = measures(annotation[None], search[None])
    assert found["annotation_R@1"] == pytest.approx(1 / 3) and found["annotation_R@5"] == 1
    assert found["search_R@1"] == pytest.approx(1 / 6) and found["search_R@10"] == 1
    assert (found["annotation_MedR"], found["search_MedR"]) == (3, 2)


def test_ties_find_nothing() -> None:
    same, owner = np.ones((4, 20)), np.repeat(np.arange(4), 5)
    assert [set(found.tolist()) for found in ranks(same, owner)] == [{16}, {4}]  # after every wrong answer
    own = same + (owner == np.arange(4)[:, None])  # captions of one image may tie with each other
    assert [set(found.tolist()) for found in ranks(own, owner)] == [{1}, {1}]


@given(images=st.integers(1, 8), captions=st.integers(1, 5), seed=st.integers(0, 9999))
def test_without_ties_ranks_are_places_in_the_sorted_order(images: int, captions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.repeat(np.arange(images), captions))
    scores = rng.permutation(images * len(owner)).reshape(images, -1) / 7
    annotation, search = ranks(scores, owner)
    by_image = [np.flatnonzero(owner[np.argsort(-row)] == image)[0] + 1 for image, row in enumerate(scores)]
    assert annotation.tolist() == by_image
    assert search.tolist() == [list(np.argsort(-scores[:, at])).index(owner[at]) + 1 for at in range(len(owner))]


def test_parts_are_random_and_disjoint_and_each_is_ranked_alone() -> None:
    found = parts("coco", 5000)
    assert [len(part) for part in found] == [1000] * 5 and len(np.unique(np.concatenate(found))) == 5000
    assert all((np.diff(part) > 0).all() for part in found)
    assert len(parts("coco", 4999)) == 1 and protocol("coco", 4999) == "cosine of two linear maps, all images"
    rng, owner = np.random.default_rng(0), np.repeat(np.arange(500), 2)
    images = rng.normal(size=(500, 6))
    both = unit(images), unit(images[owner] + rng.normal(size=(1000, 6)))
    annotation, search = part_ranks("miniworld-scenes", *both, owner)
    for number, part in enumerate(parts("miniworld-scenes", 500)):
        mine = np.flatnonzero(np.isin(owner, part))
        one, other = ranks(both[0][part] @ both[1][mine].T, np.searchsorted(part, owner[mine]))
        assert annotation[number].tolist() == one.tolist() and search[number].ravel().tolist() == other.tolist()
    each = [measures(annotation[[number]], search[[number]]) for number in range(5)]
    means = {name: np.mean([values[name] for values in each]) for name in each[0]}
    assert measures(annotation, search) == pytest.approx(means)


def test_what_cannot_be_ranked() -> None:
    for scores, owner in ((np.ones((3, 2)), [0, 1]), (np.ones((2, 3)), [0, 1, 2]), (np.ones((2, 3)), [0, 1])):
        with pytest.raises(DataError, match="Every image needs a sentence"):
            ranks(scores, owner)
    with pytest.raises(NumericalError, match="NaN or infinite"):
        ranks([[np.nan]], [0])
    for image_of in ([0, 1, 0, 1], [0, 0, 1]):
        with pytest.raises(DataError, match="as many captions"):
            part_ranks("coco", np.eye(2), np.eye(len(image_of)), np.array(image_of))  # type: ignore[arg-type]


# -- training the maps -------------------------------------------------------------------------------------------------


def linear(images: int, seed: int, noise: float = 0.1) -> Captions:
    """Five captions an image, each its features through one matrix, and noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(images, 8)).astype(np.float32)
    image_of = np.repeat(np.arange(images), 5)
    vectors = features[image_of] @ WORLD + noise * rng.normal(size=(5 * images, 12))
    return Captions(features, vectors.astype(np.float32), image_of)


def problem(train: Captions | None = None, seed: int = 1, **changes: Any) -> RankingProblem:
    values = {"corpus": "miniworld-scenes", "dimension": 16, "epochs": 12, "batch_size": 50, "learning_rate": 0.01}
    settings = RankingTraining.model_validate(values | changes)
    return RankingProblem(settings, train or linear(40, 0), linear(60, 1), seed=seed)


@pytest.mark.parametrize("faithful", [False, True])
def test_the_loss_is_the_formula(faithful: bool) -> None:
    """Of features and vectors of length one, whatever their length was."""
    given = linear(40, 0)
    scaled = Captions(np.float32(100) * given.images, given.vectors / np.float32(100), given.image_of)
    found = problem(scaled, contrasts=None, margin=0.3, faithful=faithful)
    found.maps.train()
    rows = np.array([0, 1, 7, 60, 199, 12])
    owner = rows // 5

    def mapped(layer: torch.nn.Linear, values: NDArray[np.float32]) -> NDArray[np.float64]:
        weight, bias = (value.detach().double().numpy() for value in (layer.weight, layer.bias))
        return np.asarray(unit(values).astype(float) @ weight.T + bias)

    x = mapped(found.maps.image, given.images[owner])
    x, y = x if faithful else unit(x), unit(mapped(found.maps.sentence, given.vectors[rows]))
    hinge = [
        max(0.0, 0.3 - x[n] @ y[n] + x[n] @ y[m]) + max(0.0, 0.3 - x[n] @ y[n] + x[m] @ y[n])
        for n in range(len(rows))
        for m in range(len(rows))
        if owner[n] != owner[m]
    ]
    assert found.loss(rows, np.random.default_rng(0)).item() == pytest.approx(sum(hinge) / len(rows), rel=1e-4)
    of_one_image = found.loss(np.array([5, 7, 9]), np.random.default_rng(0))
    of_one_image.backward()
    assert of_one_image.item() == 0
    assert all(value.grad is None or not value.grad.any() for value in found.maps.parameters())


@pytest.mark.parametrize(("shuffled", "least", "most"), [(False, 0.95, 1.0), (True, 0.0, 0.06)])
def test_captions_that_tell_their_image_find_it_and_others_do_not(shuffled: bool, least: float, most: float) -> None:
    train = linear(300, 10)
    vectors = train.vectors[np.random.default_rng(0).permutation(1500)] if shuffled else train.vectors
    found = problem(Captions(train.images, vectors, train.image_of), epochs=3 if shuffled else 12)
    before = found.validate()
    history = fit(found, found.settings, seed=1, device="cpu", report=lambda line: None)
    assert found.validate() == history.best >= before and found.maps.training is False
    values = measures(*found.ranks(linear(60, 12)))
    assert all(least <= values[name] <= most for name in ("annotation_R@1", "search_R@1"))
    np.testing.assert_array_equal(found.train.vectors, vectors)  # the maps alone are trained


def test_the_seed_decides_the_maps_and_the_global_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    one, same, other = (problem(seed=seed).maps.sentence.weight for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, same) and not torch.equal(one, other)
    assert [item[1:] for item in problem(composition_decay=0.25).penalties()] == [(0.25, None)] * 4


def test_a_step_reads_nothing_back_from_its_device(waits: list[bool]) -> None:
    """On ``meta``, whose tensors hold no values that a host could wait for."""
    found = problem(contrasts=2)
    found.maps.to("meta").train()
    waits.clear()
    found.loss(np.array([0, 1, 7, 60, 199, 12]), np.random.default_rng(0)).backward()
    assert waits == [False] * 3 and all(value.grad is not None for value in found.maps.parameters())


@pytest.mark.usefixtures("artifacts")
def test_vectors_and_maps_are_made_on_the_device_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def vectors(row: Features, sentences: list[str], device: str) -> NDArray[np.float32]:
        seen.append(device)
        return np.random.default_rng(0).normal(size=(len(sentences), 3)).astype(np.float32)

    monkeypatch.setattr(Features, "vectors", vectors)
    monkeypatch.setattr(ranking, "fit", lambda *given, device, **named: seen.append(device))
    ranked(Settings(device="cuda", ranking=RankingTraining(corpus="miniworld-scenes")), [Features("any", 1, ("any",))])
    assert seen == ["cuda"] * 4


def test_captions_that_cannot_be_trained_on() -> None:
    with pytest.raises(DataError, match="at least two"):
        problem(linear(1, 0))
    few = linear(3, 0)
    with pytest.raises(DataError, match="not of one width"):
        problem(Captions(few.images[:, :5], few.vectors, few.image_of))
    assert len(captioned(RankingTraining(corpus="miniworld-scenes"), "test")) == 500


def test_coco_is_asked_for_before_anything_is_trained(artifacts: Path, originals: Path) -> None:
    inside: dict[str, Any] = {}
    cells = nbformat.read(Path(__file__).parents[2] / "notebooks" / "cnn_lstm" / "table4.ipynb", as_version=4).cells
    with pytest.raises(ConfigError, match=r"ORIGINALS/coco, let ranking\.path name a folder"):
        for cell in cells:
            if cell.cell_type == "code":
                exec(cell.source, inside)
                inside["ranking"] = {"corpus": "coco"}
    assert "scenes" not in inside and not artifacts.exists()


# -- rows and intervals ------------------------------------------------------------------------------------------------


def drawn(seed: int, share: float, method: str = "a") -> Ranked:
    """Rank 1 for a share of the queries, else 20; captions of an image are right or wrong together."""
    right = np.random.default_rng(seed).random((2, 150)) < share
    annotation = np.where(right, 1, 20)
    return Ranked(method, seed, "coco", annotation, annotation[:, :, None].repeat(5, axis=2))


def test_rows_of_the_ledger_are_named_as_the_papers() -> None:
    every = np.ones((5, 1000), dtype=np.int64)
    rows = Ranked("combine+emb.", 1, "coco", every, every[:, :, None]).metric_rows()
    assert {(row.dataset, row.n, row.protocol) for row in rows} == {("COCO-1k", 5000, protocol("coco", 5000))}
    assert set(reported.table("cnn_lstm", "table4")["metric"]) <= {row.metric for row in rows}


def test_an_interval_holds_its_value_and_is_as_wide_as_the_images_are_few() -> None:
    runs = [drawn(seed, 0.4) for seed in range(3)]
    one, three = (intervals([some])[INTERVALS] for some in (runs[:1], runs))
    for metric in ("annotation_R@1", "search_R@1"):  # five captions that agree are one image, not five
        (low, high), value = one[metric]["COCO-1k"]["a"], runs[0].values[metric]
        assert low < value < high
        assert high - low == pytest.approx(2 * 1.96 * (value * (1 - value) / 300) ** 0.5, rel=0.1)
        pooled = three[metric]["COCO-1k"]["a"]
        assert pooled[0] < np.mean([run.values[metric] for run in runs]) < pooled[1]
        assert pooled[1] - pooled[0] < high - low


def test_an_interval_of_medians_is_that_of_the_repeated_ranks() -> None:
    rng = np.random.default_rng(3)
    ranks = rng.integers(1, 90, size=(1, 9, 4))
    made = Ranked("a", 1, "coco", ranks.min(axis=2), ranks)
    counts = np.random.default_rng([0, 0]).multinomial(9, np.full(9, 1 / 9), size=300)
    by_hand = [np.floor(np.median(np.repeat(ranks[0], row, axis=0))) for row in counts]
    ends = intervals([[made]], 300)[INTERVALS]["search_MedR"]["COCO-1k"]["a"]
    assert ends == np.percentile(by_hand, [2.5, 97.5]).tolist()


def test_a_difference_is_paired() -> None:
    one = drawn(0, 0.4)
    for metric in one.values:
        found = difference([one], [one], metric, resamples=200)
        assert (found.estimate, found.low, found.high, found.p) == (0, 0, 0, 1)
    # Right wherever the other is, and at one image in ten besides.
    more = one.annotation.copy()
    more[:, ::10] = 1
    better = Ranked("b", 1, "coco", more, more[:, :, None].repeat(5, axis=2))
    found = difference([better], [one], "search_R@1")
    assert 0 < found.low < found.estimate < found.high and found.p is not None and found.p < 0.01
    assert (found.kind, found.a, found.b, found.dataset) == ("paired bootstrap", "b", "a", DATASETS["coco"])
    low, high = intervals([[one]])[INTERVALS]["search_R@1"]["COCO-1k"]["a"]
    assert found.high - found.low < high - low
    with pytest.raises(ValueError, match="same images under one protocol"):
        difference([one], [Ranked("c", 1, "coco", more[:, :100], better.search[:, :100])], "search_R@1")
