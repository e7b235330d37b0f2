"""The table of parts: ours, and the paper's where they differ."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.report import data_splits
from sentbook.system.errors import ConfigError

Check = Callable[[str], ET.Element]
DNT = ("stsb", "sick", "sts12", "sim", "rel", "ma", "pac", "sag")


def test_the_miniworld_stands_beside_no_paper(well_formed: Check) -> None:
    made = data_splits.splits_table(["miniworld", "miniworld-answers"], caption="Parts <1>")
    frame = made.to_frame()
    assert list(frame["data set"]) == ["Mini-world relatedness", "Mini-world answers"]
    assert frame[["train", "dev", "test"]].to_numpy().tolist() == [[450, 50, 500]] * 2
    assert list(frame["scale"]) == ["1 to 5", "0 to 5"] and set(frame["measure"]) == {"pearson"}
    html = made.html()
    well_formed(html)
    assert "Parts &lt;1&gt;" in html and "Why" not in html and ">paper" not in html


def test_other_sizes_than_the_papers_are_explained(monkeypatch: pytest.MonkeyPatch, well_formed: Check) -> None:
    sizes = {"stsb": (5749, 1500, 1379), "sick": (4500, 500, 4927), "pac": (1000, 375, 1000), "sts12": (2000, 1, 1959)}

    def pairs(dataset: str, split: str) -> ScoredPairs:
        size = sizes[dataset][("train", "trial", "test").index(split)]
        return ScoredPairs("x", ["a"] * size, ["b"] * size, np.zeros(size), (-2, 2) if dataset == "pac" else (0, 5))

    monkeypatch.setattr(suites, "pairs", pairs)
    made = data_splits.splits_table(sizes)
    frame = made.to_frame().set_index("data set")
    assert (frame.loc["SICK", "train"], frame.loc["SICK", "train, paper"]) == (4500, 4439)
    assert list(frame["why"] == "") == [True, False, False, False]
    assert frame.loc["STS 2012", "why"] == data_splits.UNEXPLAINED  # never silent
    pac = frame.loc[data_splits.NAMES["pac"]]
    assert (pac["scale"], pac["measure"]) == ("\u22122 to 2", "spearman")
    html, markdown = made.html(), made.to_markdown()
    well_formed(html)
    assert '375<span class="sb-ci">paper 373</span>' in html and html.count("paper 5") == 0
    assert "375 (paper 373)" in markdown and "Spearman\u2019s \u03c1" in markdown


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(ConfigError, match="Name the data sets"):
        data_splits.splits_table([])
    with pytest.raises(ConfigError, match="Unknown data set 'quora'"):
        data_splits.splits_table(["quora"])


@pytest.mark.real_data
def test_the_papers_eight(mirror: Path, well_formed: Check) -> None:
    suites.pairs.cache_clear()
    made = data_splits.splits_table(DNT)
    frame = made.to_frame().set_index("data set")
    same = [frame[part] == frame[f"{part}, paper"] for part in ("train", "dev", "test")]
    differ = frame[~np.logical_and.reduce(same)]
    assert list(differ.index) == [data_splits.NAMES[name] for name in ("sick", "sim", "rel", "ma", "pac", "sag")]
    assert not (differ["why"] == data_splits.UNEXPLAINED).any() and (frame["why"] != "").sum() == len(differ)
    well_formed(made.html())
