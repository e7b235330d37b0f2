"""Ranks by hand and against sorting, ties, and the mean of random parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.papers.cnn_lstm.ranking import (
    COCO_1K,
    Ranked,
    RankingProtocol,
    annotation_ranks,
    measures,
    median_rank,
    part_ranks,
    parts,
    recall,
    search_ranks,
)
from sentbook.runs import printed as reported
from sentbook.system.errors import DataError, NumericalError

# Three images with two captions each.
OWNER = [0, 0, 1, 1, 2, 2]
SCORES = [
    [0.9, 0.1, 0.2, 0.3, 0.0, 0.0],  # its first caption is the best of all
    [0.8, 0.7, 0.1, 0.6, 0.5, 0.4],  # two wrong ones before its second caption
    [0.5, 0.6, 0.7, 0.8, 0.3, 0.2],  # four wrong ones before its first
]


def test_ranks_by_hand() -> None:
    assert annotation_ranks(SCORES, OWNER).tolist() == [1, 3, 5]
    # By column: the first caption's own image scores .9, the best; the second's .1, the worst; and so on.
    assert search_ranks(SCORES, OWNER).tolist() == [1, 3, 3, 2, 2, 2]
    found = measures(annotation_ranks(SCORES, OWNER)[None], search_ranks(SCORES, OWNER)[None])
    assert found["annotation_R@1"] == pytest.approx(1 / 3) and found["annotation_R@5"] == 1
    assert found["search_R@1"] == pytest.approx(1 / 6) and found["search_R@10"] == 1
    assert (found["annotation_MedR"], found["search_MedR"]) == (3, 2)


def test_ties_find_nothing() -> None:
    same = np.ones((4, 20))
    owner = np.repeat(np.arange(4), 5)
    assert annotation_ranks(same, owner).tolist() == [16] * 4  # after every wrong caption
    assert search_ranks(same, owner).tolist() == [4] * 20
    own = same + (owner == np.arange(4)[:, None])  # captions of one image may tie with each other
    assert annotation_ranks(own, owner).tolist() == [1] * 4 and search_ranks(own, owner).tolist() == [1] * 20


@given(images=st.integers(1, 8), captions=st.integers(1, 5), seed=st.integers(0, 9999))
def test_without_ties_ranks_are_places_in_the_sorted_order(images: int, captions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.repeat(np.arange(images), captions))
    scores = rng.permutation(images * len(owner)).reshape(images, -1) / 7
    by_image = [np.flatnonzero(owner[np.argsort(-row)] == image)[0] + 1 for image, row in enumerate(scores)]
    assert annotation_ranks(scores, owner).tolist() == by_image
    by_caption = [list(np.argsort(-scores[:, at])).index(owner[at]) + 1 for at in range(len(owner))]
    assert search_ranks(scores, owner).tolist() == by_caption


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_median_is_the_lower_of_two_and_recall_rises(ranks: list[int]) -> None:
    found = np.array(ranks)
    # As released: of ranks that begin at 0, floor(median) + 1.
    assert median_rank(found) == np.floor(np.median(found - 1)) + 1
    assert recall(found, 1) <= recall(found, 5) <= recall(found, 30) == 1


def test_parts_are_random_disjoint_and_of_the_stated_size() -> None:
    found = parts(5000, COCO_1K)
    assert [len(part) for part in found] == [1000] * 5
    assert len(np.unique(np.concatenate(found))) == 5000
    assert all((np.diff(part) > 0).all() for part in found)
    assert not np.array_equal(found[0], parts(5000, RankingProtocol(seed=1))[0])
    assert [len(part) for part in parts(17, RankingProtocol(splits=3, images=None))] == [5, 5, 5]
    assert parts(4, RankingProtocol(splits=1, images=None))[0].tolist() == [0, 1, 2, 3]
    with pytest.raises(DataError, match="4999 images do not make 5 parts of 1000"):
        parts(4999, COCO_1K)
    with pytest.raises(DataError, match="2 images do not make 3 parts"):
        parts(2, RankingProtocol(splits=3, images=None))


def test_values_are_means_over_the_parts() -> None:
    rng = np.random.default_rng(0)
    images = rng.normal(size=(20, 6)).astype(np.float32)
    owner = np.repeat(np.arange(20), 5)
    sentences = images[owner] + rng.normal(size=(100, 6)).astype(np.float32)
    unit = [table / np.linalg.norm(table, axis=1, keepdims=True) for table in (images, sentences)]
    protocol = RankingProtocol(splits=4, images=None, seed=3)
    annotation, search = part_ranks(*unit, owner, protocol)
    assert annotation.shape == (4, 5) and search.shape == (4, 5, 5)
    for number, part in enumerate(parts(20, protocol)):
        mine = [at for at in range(100) if owner[at] in part]
        scores, own = unit[0][part] @ unit[1][mine].T, [part.tolist().index(owner[at]) for at in mine]
        assert annotation[number].tolist() == annotation_ranks(scores, own).tolist()
        assert search[number].ravel().tolist() == search_ranks(scores, own).tolist()
    found = measures(annotation, search)
    each = [measures(annotation[[number]], search[[number]]) for number in range(4)]
    assert found == pytest.approx({name: np.mean([values[name] for values in each]) for name in found})
    with pytest.raises(DataError, match="as many captions"):
        part_ranks(*unit, owner[::-1], protocol)


def test_rows_of_the_ledger_are_named_as_the_papers() -> None:
    ranks = np.ones((1, 5000), dtype=np.int64)
    rows = Ranked("COCO-1k", COCO_1K, ranks, ranks[:, :, None], 7).metric_rows("combine+emb.", 1)
    assert {row.protocol for row in rows} == {str(COCO_1K)} and {row.n for row in rows} == {5000}
    assert set(reported.table("cnn_lstm", "table4")["metric"]) <= {row.metric for row in rows}
    headers = {str(RankingProtocol(splits=s, images=i, seed=d)) for s in (1, 5) for i in (None, 9) for d in (0, 1)}
    assert len(headers) == 7  # all images at once have no seed


def test_what_cannot_be_ranked() -> None:
    with pytest.raises(DataError, match="Every image needs a sentence"):
        annotation_ranks(np.ones((3, 2)), [0, 1])
    with pytest.raises(DataError, match="every sentence one of the images"):
        search_ranks(np.ones((2, 3)), [0, 1, 2])
    with pytest.raises(NumericalError, match="NaN or infinite"):
        annotation_ranks([[np.nan]], [0])
    with pytest.raises(ValueError, match="do not fit"):
        annotation_ranks(np.ones((2, 3)), [0, 1])
