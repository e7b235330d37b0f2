from __future__ import annotations

import dataclasses
import itertools

from sentbook.evaluation.protocols import Aggregation, Measure, Protocol, Score


def test_every_protocol_has_a_header_of_its_own() -> None:
    choices = itertools.product(Score, Measure, Aggregation, ("ptb", "whitespace"))
    protocols = [Protocol(*choice) for choice in choices]  # type: ignore[arg-type]
    assert len({str(protocol) for protocol in protocols}) == len(set(protocols)) == len(protocols)


def test_a_detail_comes_last_and_only_where_there_is_one() -> None:
    plain = Protocol(Score.TRAINED_COSINE, Measure.F1, Aggregation.PER_SET)
    detailed = dataclasses.replace(plain, detail="threshold .5")
    assert str(plain) == "trained cosine, f1, per set, ptb tokens"
    assert str(detailed) == f"{plain}, threshold .5"
