from __future__ import annotations

from importlib.resources import files

import pytest

from sentbook.judge import printed as reported

PAPERS = {"cse": "CSE", "cnn_lstm": "CNN-LSTM", "wsv": "WSV", "dnt": "DNT"}
TABLES = [
    (paper, entry.name.removesuffix(".csv"))
    for paper in PAPERS for entry in (files("sentbook.papers") / paper / "printed").iterdir()
]  # fmt: skip
SHARES = ("pearson", "spearman", "accuracy", "f1")


@pytest.mark.parametrize(("paper", "name"), sorted(TABLES))
def test_every_table_reads_in_units_of_the_house(paper: str, name: str) -> None:
    frame = reported.table(paper, name)
    columns = ["paper", "table", "method", "dataset", "metric", "value"]
    assert [name for name in frame.columns if name not in ("note", "setting")] == columns
    assert len(frame) and set(frame["paper"]) == {PAPERS[paper]}
    assert not frame.duplicated(["method", "dataset", "metric"]).any()
    assert not frame["metric"].str.contains("x100|points").any()
    assert frame["value"].notna().all()
    shares = frame["metric"].isin(SHARES) | frame["metric"].str.contains("R@")
    assert frame.loc[shares, "value"].astype(float).between(-1, 1).all()


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (("cse", "table1", "PP", "STS2012/MSRpar"), 0.426),
        (("cse", "table3", "CSE_universal", "SICK2014-test", "mse"), 0.2480),
        (("cnn_lstm", "table3", "combine+emb.", "MSRP", "f1"), 0.8376),
        (("cnn_lstm", "table4", "combine+emb.", "COCO-1k", "search_MedR"), 4),
        (("cnn_lstm", "fig3_text_numbers", "training", "-", "vocab_words"), 22_154),
    ],
)
def test_values_as_printed(cell: tuple[str, ...], value: float) -> None:
    """What is printed in percent is a share; ranks and counts are not."""
    assert reported.value(*cell) == pytest.approx(value)


def test_the_wins_counted_in_the_text_stand_in_the_tables() -> None:
    """14 of 20 against PP; 10 of 19 against both others only where the tie on deft news counts."""
    for name, others, total, least in (("table1", ["PP"], 20, (14, 14)), ("table2", ["GRAN", "ATT-CCG"], 19, (9, 10))):
        frame = reported.table("cse", name)
        sets = frame[~frame["dataset"].str.endswith("avg")].pivot(index="dataset", columns="method", values="value")
        sets = sets[sets.notna().all(axis=1)]
        assert len(sets) == total
        best = sets[others].max(axis=1)
        assert ((sets["CSE"] > best).sum(), (sets["CSE"] >= best).sum()) == least
