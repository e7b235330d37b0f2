from __future__ import annotations

import dataclasses
import itertools

import pytest

from sentbook.evaluation.protocols import COSINE_PEARSON, Aggregation, Measure, Protocol, Score


def test_every_protocol_has_a_header_of_its_own() -> None:
    choices = itertools.product(Score, Measure, Aggregation, ("ptb", "whitespace"))
    protocols = [Protocol(*choice) for choice in choices]  # type: ignore[arg-type]
    assert len({str(protocol) for protocol in protocols}) == len(set(protocols)) == len(protocols)


def test_a_detail_comes_last_and_only_where_there_is_one() -> None:
    plain = Protocol(Score.TRAINED_COSINE, Measure.F1, Aggregation.PER_SET)
    detailed = dataclasses.replace(plain, detail="threshold .5")
    assert str(plain) == "trained cosine, f1, per set, ptb tokens"
    assert str(detailed) == f"{plain}, threshold .5"


def test_header_and_immutability() -> None:
    assert str(COSINE_PEARSON) == "cosine, pearson, mean of sets, ptb tokens"
    with pytest.raises(dataclasses.FrozenInstanceError):
        COSINE_PEARSON.measure = Measure.MSE  # type: ignore[misc]
