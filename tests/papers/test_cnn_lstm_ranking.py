"""Image-sentence ranking: the loss by hand, training on worlds whose answer is known, ranks and their intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sentbook.data import images as corpora
from sentbook.data.types import CaptionedScenes
from sentbook.papers.cnn_lstm import ranking
from sentbook.papers.cnn_lstm.ranking import (
    COCO_1K,
    Ranked,
    RankingProtocol,
    captioned,
    compare,
    interval,
    measures,
    median_rank,
    part_ranks,
    rank_images,
)
from sentbook.papers.cnn_lstm.ranking_maps import Captions, RankingProblem
from sentbook.papers.cnn_lstm.settings import RankingTraining
from sentbook.system.errors import DataError, NumericalError
from sentbook.training.loop import History, fit

SIZES: dict[corpora.Split, int] = {"train": 300, "dev": 60, "test": 60}
TWENTIES = RankingProtocol(splits=3, images=20)
WORLD = np.random.default_rng(5).normal(size=(8, 12)).astype(np.float32)


def linear(images: int, seed: int, noise: float = 0.1) -> Captions:
    """Five captions an image, each its features through one matrix, and noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(images, 8)).astype(np.float32)
    image_of = np.repeat(np.arange(images), 5)
    vectors = features[image_of] @ WORLD + noise * rng.normal(size=(5 * images, 12))
    return Captions(features, vectors.astype(np.float32), image_of)


def settings_of(**changes: object) -> RankingTraining:
    values = {"corpus": "miniworld-scenes", "dimension": 16, "epochs": 12, "batch_size": 50, "learning_rate": 0.01}
    return RankingTraining.model_validate(values | changes)


def problem(seed: int = 1, train: Captions | None = None, **changes: object) -> RankingProblem:
    return RankingProblem(settings_of(**changes), train or linear(40, 0), linear(60, 1), mean_recall, seed=seed)


def mean_recall(images: NDArray[np.float32], sentences: NDArray[np.float32], image_of: NDArray[np.int64]) -> float:
    values = measures(*part_ranks(images, sentences, image_of, TWENTIES))
    return sum(value for name, value in values.items() if "_R@" in name) / 6


def trained(found: RankingProblem, **options: object) -> History:
    return fit(found, found.settings, seed=1, device="cpu", report=lambda line: None, **options)  # type: ignore[arg-type]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> dict[str, NDArray[np.float32]]:
    """The linear world as a corpus of captions, and the vector of each caption."""
    table: dict[str, NDArray[np.float32]] = {}
    found: dict[corpora.Split, CaptionedScenes] = {}
    for at, (split, size) in enumerate(SIZES.items()):
        captions = linear(size, 10 + at)
        names = [[f"{split} {image} {number}" for number in range(5)] for image in range(size)]
        table |= dict(zip([name for group in names for name in group], captions.vectors, strict=True))
        found[split] = CaptionedScenes(split, captions.images, names)
    monkeypatch.setattr(ranking, "divided", lambda corpus, path: found)
    monkeypatch.setattr(ranking, "SCENES_100", TWENTIES)
    return table


# -- the problem -------------------------------------------------------------------------------------------------------


def unit(table: NDArray[np.float64]) -> NDArray[np.float64]:
    return table / np.linalg.norm(table, axis=1, keepdims=True)


@pytest.mark.parametrize("faithful", [False, True])
def test_the_loss_is_the_formula(faithful: bool) -> None:
    found = problem(contrasts=None, margin=0.3, faithful=faithful)
    found.maps.train()
    rows = np.array([0, 1, 7, 60, 199, 12])
    owner = rows // 5

    def mapped(layer: torch.nn.Linear, values: NDArray[np.float32]) -> NDArray[np.float64]:
        weight, bias = (value.detach().double().numpy() for value in (layer.weight, layer.bias))
        return np.asarray(unit(values.astype(np.float64)) @ weight.T + bias)

    x = mapped(found.maps.image, found.train.images[owner])
    x = x if faithful else unit(x)
    y = unit(mapped(found.maps.sentence, found.train.vectors[rows]))
    expected = 0.0
    for n in range(len(rows)):
        for m in range(len(rows)):
            if owner[n] != owner[m]:
                expected += max(0.0, 0.3 - x[n] @ y[n] + x[n] @ y[m]) + max(0.0, 0.3 - x[n] @ y[n] + x[m] @ y[n])
    assert found.loss(rows, np.random.default_rng(0)).item() == pytest.approx(expected / len(rows), rel=1e-4)


def test_a_batch_of_one_image_teaches_nothing() -> None:
    found = problem()
    loss = found.loss(np.array([5, 7, 9]), np.random.default_rng(0))
    loss.backward()
    assert loss.item() == 0
    assert all(value.grad is None or not value.grad.any() for value in found.maps.parameters())


def test_lengths_of_features_and_vectors_do_not_matter() -> None:
    plain, train = problem(contrasts=None), linear(40, 0)
    scaled = problem(
        train=Captions(np.float32(100) * train.images, train.vectors / np.float32(100), train.image_of), contrasts=None
    )
    losses = [found.loss(np.arange(30), np.random.default_rng(0)).item() for found in (plain, scaled)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_validation_is_of_vectors_of_length_one() -> None:
    found = problem(faithful=True)
    found.maps.train()  # in which images would keep their length
    images, sentences = found.common(found.dev)
    assert images.shape == (60, 16) and sentences.shape == (300, 16) and found.maps.training
    for table in (images, sentences):
        np.testing.assert_allclose(np.linalg.norm(table, axis=1), 1, rtol=1e-5)
    assert found.validate() == pytest.approx(mean_recall(images, sentences, found.dev.image_of))


def test_the_seed_decides_the_maps_and_the_global_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    one, same, other = (problem(seed=seed).maps.sentence.weight for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_only_the_maps_move_and_checkpoints_hold_no_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentbook.training.loop.CHECKPOINT_SECONDS", -1.0)
    found = problem(epochs=2)
    vectors, start = found.train.vectors.copy(), found.maps.image.weight.detach().clone()
    trained(found, folder=tmp_path)
    np.testing.assert_array_equal(found.train.vectors, vectors)
    assert (found.maps.image.weight - start).abs().max() > 1e-3
    numbers = sum(value.numel() for value in found.maps.parameters())
    # The maps, their best state and two moments of Adam, and at most 20 kB about them.
    assert (tmp_path / "checkpoint.safetensors").stat().st_size < 4 * 4 * numbers + 20_000


def test_decay_pulls_the_maps_to_zero() -> None:
    found = problem(composition_decay=0.25)
    assert [(item[1], item[2]) for item in found.penalties()] == [(0.25, None)] * 4


def test_captions_that_cannot_be_ranked() -> None:
    good = linear(3, 0)
    with pytest.raises(ValueError, match="do not fit"):
        Captions(good.images, good.vectors[1:], good.image_of)
    with pytest.raises(NumericalError, match="vector of a sentence is NaN"):
        Captions(good.images, np.where(good.vectors > 1, np.float32(np.nan), good.vectors), good.image_of)
    with pytest.raises(DataError, match="at least two"):
        problem(train=linear(1, 0))
    with pytest.raises(DataError, match="not of one width"):
        problem(train=Captions(good.images[:, :5], good.vectors, good.image_of))


# -- from vectors to ranks ---------------------------------------------------------------------------------------------


def test_vectors_that_are_linear_in_the_features_find_their_images(world: dict[str, NDArray[np.float32]]) -> None:
    found = rank_images(
        lambda sentences: np.stack([world[sentence] for sentence in sentences]),
        settings_of(),
        seed=1,
        report=lambda line: None,
    )
    assert found.values["annotation_R@1"] > 0.97 and found.values["search_R@1"] > 0.95
    assert found.values["search_MedR"] == 1
    assert found.annotation.shape == (3, 20) and found.search.shape == (3, 20, 5) and found.images == 60
    assert found.protocol == TWENTIES and found.parameters == 16 * (8 + 1) + 16 * (12 + 1)
    rows = found.metric_rows("average of words", 1)
    assert {(row.dataset, row.n, row.protocol) for row in rows} == {("miniworld/scenes", 60, str(TWENTIES))}
    assert {row.metric: row.value for row in rows} == found.values


def test_vectors_of_other_images_find_what_chance_finds(world: dict[str, NDArray[np.float32]]) -> None:
    order = np.random.default_rng(0).permutation(len(world))
    shuffled = dict(zip(world, np.stack(list(world.values()))[order], strict=True))
    found = rank_images(
        lambda sentences: np.stack([shuffled[sentence] for sentence in sentences]),
        settings_of(epochs=3),
        seed=1,
        report=lambda line: None,
    )
    # Of 20 images a random rank is among the first K for K / 20: four standard errors of a share of 300 captions.
    for name, share in (("search_R@1", 1 / 20), ("search_R@10", 10 / 20)):
        assert abs(found.values[name] - share) < 4 * (share * (1 - share) / 300) ** 0.5 + 0.01
    assert abs(found.values["search_MedR"] - 10) <= 2


def test_the_same_seed_gives_the_same_ranks(world: dict[str, NDArray[np.float32]]) -> None:
    def run(seed: int) -> Ranked:
        return rank_images(
            lambda sentences: [world[sentence].tolist() for sentence in sentences],
            settings_of(epochs=1),
            seed=seed,
            report=lambda line: None,
        )

    one, same, other = run(1), run(1), run(2)
    np.testing.assert_array_equal(one.search, same.search)
    assert one.values == same.values and not np.array_equal(one.search, other.search)


def test_the_generated_scenes_are_split_and_parted() -> None:
    found = settings_of()
    sizes = {split: len(captioned(found, split)) for split in ("train", "dev", "test")}
    assert sizes == corpora.SCENES
    assert str(ranking.protocol_of(found, sizes["test"])) == (
        "cosine of two linear maps, mean of 5 random parts of 100 images, seed 0"
    )
    coco = RankingTraining(path="somewhere")
    assert ranking.protocol_of(coco, 5000) is COCO_1K
    assert ranking.protocol_of(coco, 1000) == RankingProtocol(splits=1, images=None)


def test_ranks_are_those_behind_the_values() -> None:
    rng = np.random.default_rng(2)
    images = rng.normal(size=(60, 5)).astype(np.float32)
    image_of = np.repeat(np.arange(60), 5)
    sentences = images[image_of] + 2 * rng.normal(size=(300, 5)).astype(np.float32)
    images, sentences = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in (images, sentences))
    annotation, search = part_ranks(images, sentences, image_of, TWENTIES)
    values = measures(annotation, search)
    assert (annotation <= 5).mean() == pytest.approx(values["annotation_R@5"])
    assert (search == 1).mean() == pytest.approx(values["search_R@1"])
    assert np.mean([median_rank(part) for part in search]) == values["search_MedR"]
    with pytest.raises(DataError, match="as many captions as the others"):
        part_ranks(images, sentences, np.roll(image_of, 1), TWENTIES)
    with pytest.raises(DataError, match="as many captions as the others"):
        part_ranks(images, sentences[:-1], image_of[:-1], TWENTIES)


# -- intervals ---------------------------------------------------------------------------------------------------------


def ranked(annotation: NDArray[np.int64], search: NDArray[np.int64], dataset: str = "COCO-1k") -> Ranked:
    return Ranked(dataset, RankingProtocol(), annotation, search, 0)


def drawn(seed: int, share: float, parts: int = 2, images: int = 150) -> Ranked:
    """Rank 1 for a share of the queries, else 20; captions of an image are right or wrong together."""
    right = np.random.default_rng(seed).random((parts, images)) < share
    return ranked(np.where(right, 1, 20), np.where(right, 1, 20)[:, :, None].repeat(5, axis=2))


def test_an_interval_holds_its_value_and_is_as_wide_as_the_images_are_few() -> None:
    run = drawn(0, 0.4)
    for metric in ("annotation_R@1", "search_R@1"):  # five captions that agree are one image, not five
        found = interval([run], metric)
        standard = (found.estimate * (1 - found.estimate) / 300) ** 0.5
        assert found.low < found.estimate == run.values[metric] < found.high and found.p is None
        assert found.high - found.low == pytest.approx(2 * 1.96 * standard, rel=0.1)


def test_resampled_medians_are_those_of_the_repeated_ranks() -> None:
    rng = np.random.default_rng(3)
    ranks = rng.integers(1, 30, size=(9, 4))
    counts = rng.multinomial(9, np.full(9, 1 / 9), size=300).astype(np.float32)
    found = ranking._medians(counts, ranks)
    expected = [median_rank(np.repeat(ranks, row.astype(int), axis=0)) for row in counts]
    np.testing.assert_array_equal(found, expected)
    run = ranked(rng.integers(1, 9, size=(2, 50)), rng.integers(1, 90, size=(2, 50, 5)))
    estimate = interval([run], "search_MedR", resamples=300)
    assert estimate.low <= run.values["search_MedR"] <= estimate.high and estimate.low < estimate.high


def test_a_method_does_not_differ_from_itself() -> None:
    run = drawn(0, 0.4)
    for metric in run.values:
        found = compare([run], [run], ("a", "b"), metric, resamples=200)
        assert (found.estimate, found.low, found.high, found.p) == (0, 0, 0, 1)
        twice = compare([run], [run, run], ("a", "b"), metric, resamples=200)
        assert (twice.estimate, twice.low, twice.high) == pytest.approx((0, 0, 0), abs=1e-12)
    assert (found.kind, found.a, found.b, found.dataset) == ("paired bootstrap", "a", "b", "COCO-1k")


def test_a_paired_difference_is_narrower_than_two_intervals() -> None:
    one = drawn(0, 0.4)
    # Right wherever the other is, and at one image in ten besides.
    more = one.annotation.copy()
    more[:, ::10] = 1
    other = ranked(more, np.where(np.arange(150) % 10 == 0, 1, one.search[:, :, 0])[:, :, None].repeat(5, axis=2))
    found = compare([other], [one], ("other", "one"))
    assert 0 < found.low < found.estimate < found.high and found.p is not None and found.p < 0.01
    assert found.estimate == pytest.approx(other.values["annotation_R@1"] - one.values["annotation_R@1"])
    alone = interval([one])
    assert found.high - found.low < alone.high - alone.low


def test_seeds_are_pooled() -> None:
    seeds = [drawn(seed, 0.4) for seed in range(3)]
    found = interval(seeds)
    assert found.estimate == pytest.approx(np.mean([run.values["annotation_R@1"] for run in seeds]))
    assert found.high - found.low < (single := interval(seeds[:1])).high - single.low


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="same images under one protocol"):
        compare([drawn(0, 0.4)], [drawn(0, 0.4, images=100)], ("a", "b"))
    with pytest.raises(ValueError, match="one run or more"):
        interval([])
    other = ranked(drawn(0, 0.4).annotation, drawn(0, 0.4).search, "miniworld/scenes")
    with pytest.raises(ValueError, match="same images"):
        compare([drawn(0, 0.4)], [other], ("a", "b"))
