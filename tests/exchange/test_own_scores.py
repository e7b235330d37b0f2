"""`sentbook protocols`: a reader's own scores under every protocol, and every way to give them wrongly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from sentbook.data.types import ScoredPairs
from sentbook.exchange import own_scores
from sentbook.io import ConfigError, DataError, SentbookError

GOLD = {"deft-forum": [1.0, 2.0, 3.0, 5.0], "images": [0.0, 4.0, 2.0]}
SCORES = {"deft-forum": [0.2, 0.1, 0.7, 0.8], "images": [-0.5, 0.4, 0.9]}


@pytest.fixture
def sets() -> list[ScoredPairs]:
    return [
        ScoredPairs(f"STS2014/{name.replace('-', ' ')}", ["x"] * len(g), ["y"] * len(g), np.array(g), (0, 5), name)
        for name, g in GOLD.items()
    ]


def rows(names: bool = True) -> list[str]:
    return [f"{name},{value}" if names else str(value) for name, found in SCORES.items() for value in found]


@pytest.mark.parametrize("lines", [["set,score", *rows()], ["score", *rows(False)], rows(False)])
def test_scores_are_read_with_names_or_without(lines: list[str], sets: list[ScoredPairs], tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("\n".join(lines) + "\n")
    found = own_scores.read(tmp_path / "s.csv", sets)
    assert {name: values.tolist() for name, values in found.items()} == {
        "STS2014/deft forum": SCORES["deft-forum"], "STS2014/images": SCORES["images"],
    }  # fmt: skip


def test_named_sets_may_stand_in_any_order_and_under_either_name(sets: list[ScoredPairs], tmp_path: Path) -> None:
    lines = ["set,score", *reversed(rows())]
    (tmp_path / "s.csv").write_text("\n".join(lines).replace("deft-forum", "deft forum"))
    found = own_scores.read(tmp_path / "s.csv", sets)
    assert found["STS2014/deft forum"].tolist() == SCORES["deft-forum"][::-1]


def test_the_table_is_brute_force(sets: list[ScoredPairs]) -> None:
    found = {pairs.name: np.array(SCORES[pairs.domain]) for pairs in sets}
    lines = own_scores.table(found, sets)
    for column, measure in ((-2, pearsonr), (-1, spearmanr)):
        each = [measure(SCORES[name], GOLD[name])[0] for name in GOLD]
        pooled = measure(*([value for part in parts.values() for value in part] for parts in (SCORES, GOLD)))[0]
        expected = [*each, sum(each) / 2, (4 * each[0] + 3 * each[1]) / 7, pooled]
        printed = [float(line.split()[column]) for line in lines[1:] if line]
        assert printed == pytest.approx([100 * value for value in expected], abs=0.051)
    assert [line.split("  ")[0] for line in lines[4:]] == ["mean of sets", "size-weighted mean of sets", "pooled pairs"]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", ConfigError, "cannot be read as CSV"),
        ("a,b,c\n1,2,3\n", ConfigError, "other columns than 'set,score'"),
        ("score\n0,123\n0,2\n", ConfigError, "a decimal point, not a comma"),
        ("score\n1\n2\n", DataError, "2 scores for 7 scored pairs: deft-forum 4, images 3"),
        ("set,score\ndeft-forum,1\n", DataError, "1 scores of STS2014/deft forum"),
        ("set,score\nheadlines,1\n", DataError, "names the set 'headlines'"),
        ("score\n1\nnan\n", DataError, "Score 2 of .* is 'nan'"),
        ("score\n1\nhigh\n", DataError, "Score 2 of .* is 'high'"),
        ("score\n1\ninf\n", DataError, "Score 2 of .* is 'inf'"),
    ],
)
def test_what_cannot_be_scored_is_said(
    text: str, error: type[SentbookError], words: str, sets: list[ScoredPairs], tmp_path: Path
) -> None:
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(error, match=words):
        own_scores.read(tmp_path / "s.csv", sets)
    with pytest.raises(ConfigError, match="FileNotFoundError"):
        own_scores.read(tmp_path / "none.csv", sets)


@pytest.mark.real_data
def test_the_command(mirror: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sentbook import cli
    from sentbook.data.readers import sts

    lines = [str(value) for pairs in sts(2014) for value in pairs.gold]
    (tmp_path / "gold.csv").write_text("\n".join(lines))
    cli.protocols(tmp_path / "gold.csv", 2014)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[-2:] for line in printed[1:] if line] == [["100.0", "100.0"]] * 9
