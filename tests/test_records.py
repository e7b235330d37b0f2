from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from samples import run
from sentbook import records
from sentbook.io import ConfigError
from sentbook.records import Scores, rounded

NAME = "cse/table1"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(records, "root", lambda: tmp_path)
    return tmp_path


ALIKE = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_a_run_reaches_results_with_its_scores_when_it_is_recorded_alone(checkout: Path) -> None:
    scores = Scores({"x": np.arange(3)}, {("CSE", 1, "x"): np.ones(3)})
    records.write(run(), scores)
    assert records.read(NAME) is None and records.read_scores(NAME) is None
    path = records.commit(NAME, "small")
    assert path == checkout / "results" / "small" / "cse" / "table1.json" and records.read(NAME) == run()
    assert records.read_scores(NAME) is not None
    records.write(run())  # a run without scores leaves none of an earlier one
    records.commit(NAME, "small")
    assert [file.name for file in path.parent.iterdir()] == ["table1.json"]
    for profile in ("demo", "paper", "custom/abc"):
        if profile != "paper":
            records.write(run().model_copy(update={"profile": profile}))
        with pytest.raises(ConfigError, match="No run of "):
            records.commit(NAME, profile)


names = st.text(min_size=1, max_size=12)


@st.composite
def scored(draw: st.DrawFn) -> Scores:
    """Scores of some methods on some data sets, not all on all, with or without folds."""
    sizes = draw(st.dictionaries(names, st.integers(1, 9), min_size=1, max_size=3))
    numbers = st.floats(-5, 5, width=32)
    gold = {name: draw(arrays(np.float32, size, elements=numbers)) for name, size in sizes.items()}
    keys = draw(st.sets(st.tuples(names, st.none() | st.integers(0, 9), st.sampled_from(list(sizes))), max_size=6))
    predictions = {
        key: draw(arrays(np.float64, sizes[key[2]], elements=st.floats(-5, 5))) for key in sorted(keys, key=str)
    }
    folded = draw(st.sets(st.sampled_from(list(sizes))))
    folds = {name: draw(arrays(np.int64, sizes[name], elements=st.integers(0, 9))) for name in folded}
    return Scores(gold, predictions, folds, {"means": {"avg": list(sizes)}})


@ALIKE
@given(scores=scored())
def test_scores_are_read_as_they_were_written(checkout: Path, scores: Scores) -> None:
    """Rounded once, to 16 bits; read and written again they are the same bytes."""
    path = checkout / "x.npz"
    scores.save(path)
    first, found = path.read_bytes(), Scores.load(path)
    for ours, read in ((scores.gold, found.gold), (scores.predictions, found.predictions), (scores.folds, found.folds)):
        assert ours.keys() == read.keys() and all(np.array_equal(ours[key], read[key]) for key in ours)
    assert found.layout == scores.layout
    assert all(np.array_equal(rounded(kept), kept) for kept in scores.predictions.values())
    found.save(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", ["findings", "extra"])
def test_a_number_that_a_file_cannot_hold_is_refused(name: str) -> None:
    given = run().model_dump() | {name: {"gains": [1.0, {"SICK": float("nan")}]}}
    with pytest.raises(ValueError, match=f"{name}\n.*not JSON compliant"):
        records.Run.model_validate(given)


def test_scores_of_two_protocols_share_a_record() -> None:
    """Each keeps its data sets, folds and means; the second ones' names take on the words of their protocol."""

    def of(values: list[float], fold: int) -> Scores:
        layout = {"means": {"avg": ["x"]}, "measures": {"x": ["accuracy"], "avg": ["accuracy"]}}
        return Scores({"x": np.ones(2)}, {("A", 1, "x"): np.array(values)}, {"x": np.array([fold, fold])}, layout)

    found = of([1, 0], 0).joined({"SentEval": of([1, 1], 1)})
    assert {key: list(row) for key, row in found.predictions.items()} == {
        ("A", 1, "x"): [1, 0],
        ("A", 1, "x, SentEval"): [1, 1],
    }
    assert list(found.folds["x, SentEval"]) == [1, 1] and list(found.gold) == ["x", "x, SentEval"]
    assert found.layout["means"] == {"avg": ["x"], "avg, SentEval": ["x, SentEval"]}
    assert found.layout["measures"]["avg, SentEval"] == ["accuracy"]
