"""Readers: lines and sizes by hand; on the mirror official sizes and scales."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sentbook.data import corpora, readers, sources, tables
from sentbook.io import ConfigError, DataError

Put = Callable[[str, bytes], str]


def test_lines_end_at_line_feeds_alone(put: Put) -> None:
    text = "\ufeffone\u2028still one\u0085\x0c\r\n two  \n\n"
    for name, content in {"a.txt": text.encode(), "a.txt.gz": gzip.compress(text.encode())}.items():
        assert tables.lines(put(name, content)) == ["one\u2028still one\u0085\x0c", " two  ", ""]
    assert tables.lines(put("a.xz", lzma.compress(b"x\n"))) == ["x"]
    assert tables.rows(put("a", b'head\na\t"b\nc\n'), 2, header=True) == [["a", '"b'], ["c"]]


@pytest.mark.usefixtures("forgetful")
def test_a_set_of_another_size_and_damaged_files_are_named(put: Put) -> None:
    put("eval/msrp/msr_paraphrase_test.txt", b"\xef\xbb\xbfhead\r\n1\t2\t3\tone\ttwo\r\n")
    with pytest.raises(DataError, match=r"msr_paraphrase_test\.txt has 1 items, not 1,725"):
        readers.msrp("test")
    put("eval/mr/rt-polarity.neg", b"bad\n\n")
    with pytest.raises(DataError, match="MR negative has 1 items, not 5,331"):
        readers.binary("MR")
    damaged = {"a": b"caf\xe9\n", "b.gz": b"\x1f\x8bnot gzip", "c.gz": gzip.compress(b"x")[:-5], "d.xz": b"no"}
    for name, content in damaged.items():
        with pytest.raises(DataError, match=f"{name} cannot be read as utf-8"):
            tables.lines(put(name, content))


ACTIVITIES = "eval/human-activity/activities-dev-all.sick"


def test_scores_of_activities_are_on_the_published_scales(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(readers.ACTIVITIES, "dev", (ACTIVITIES, 2))
    put(ACTIVITIES, b"one\ttwo\t1.0\t2.4\t5\t1.375\r\na\tb\t3\t1.33333\t1\t5\r\n")
    found = readers.activities("dev")
    assert {name: pairs.gold.tolist() for name, pairs in found.items()} == {
        "SIM": [0, 2], "REL": [1.4, 0.33333], "MA": [4, 0], "PAC": [-1.625, 2],
    }  # fmt: skip


@pytest.mark.parametrize("read", ["sick", "stsbenchmark", "msrp", "trec", "activities", "binary", "sts"])
def test_unknown_splits_are_refused(read: str) -> None:
    with pytest.raises(ConfigError, match="choose among"):
        getattr(readers, read)(2017 if read == "sts" else "validation")


# -- the real files ----------------------------------------------------------------------------------------------------


@pytest.mark.real_data
def test_sts(mirror: Path) -> None:
    assert [sum(map(len, readers.sts(year))) for year in range(2012, 2017)] == [3108, 1500, 3750, 3000, 1186]
    table = (files("sentbook") / "papers" / "cse" / "printed" / "table2.csv").read_text(encoding="utf-8")
    printed = dict.fromkeys(line.split(",")[3] for line in table.splitlines()[1:])
    names = [name for name in printed if name.startswith("STS2") and not name.endswith("/avg")]
    assert [pairs.name for pairs in readers.sts_all()] == names  # joined by name, so they must be spelt alike
    assert [len(pairs) for pairs in readers.sts2012_train()] == [750, 750, 734]
    assert [len(readers.stsbenchmark(split)) for split in ("train", "dev", "test")] == [5749, 1500, 1379]
    gold = (mirror / "eval/sts2015/STS.gs.answers-forums.txt").read_text("utf-8").split("\n")[:-1]
    zeros = sum(bool(line.strip()) and float(line) == 0 for line in gold)  # a blank line is no score, not a 0
    assert len(gold) == 2000 and (readers.sts(2015)[0].gold == 0).sum() == zeros


@pytest.mark.real_data
def test_labelled_pairs(mirror: Path) -> None:
    for split, counts in {"train": (665, 2536, 1299), "trial": (74, 282, 144), "test": (720, 2793, 1414)}.items():
        labelled = readers.sick_entailment(split)
        assert tuple(np.bincount(labelled.labels)) == counts and len(readers.sick(split)) == sum(counts)
    train, test = readers.msrp("train"), readers.msrp("test")
    assert (len(train), train.labels.sum(), len(test), test.labels.sum()) == (4076, 2753, 1725, 1147)
    assert any(sentence.count('"') % 2 for sentence in train.first)  # unbalanced quotes survived
    assert not any(sentence.endswith("\r") for sentence in test.second)
    assert len(readers.nli()) == 46_619


@pytest.mark.real_data
def test_activities_and_answers(mirror: Path) -> None:
    for split, size in {"train": 1000, "dev": 375, "test": 1000}.items():
        for name, found in readers.activities(split).items():
            low, high = found.scale
            assert len(found) == size and (low, high) == ((-2, 2) if name == "PAC" else (0, 4))
            # The files' shift: every dimension reaches its upper limit, and all but PAC the lower one.
            assert found.gold.max() == high and (found.gold.min() == low or name == "PAC")
    answers = readers.short_answers()
    assert len(answers) == 2273 and len(set(answers.question)) == 81
    assert answers.gold.mean() == pytest.approx(4.18, abs=0.01) and (answers.gold == 5).sum() == 1121


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "size"),
    {
        "ppdb": 207_932, "captions": 57_990, "rewrites": 31_870, "simple-wikipedia": 3_652, "wikisplit": 12_000,
        "onestop": 4_736, "quora": 53_986, "twitter": 11_109, "parasci": 40_162, "bible": 91_675,
    }.items(),
)  # fmt: skip
def test_training_corpora(mirror: Path, forgetful: None, name: str, size: int) -> None:
    found = corpora.read(name)
    assert set(sources.used()) == set(corpora.CORPORA[name].files)
    sides = list(zip(found.first, found.second, strict=True))
    assert len(sides) == len(set(sides)) == size
    assert all(one.strip() and other.strip() and one != other for one, other in sides)


@pytest.mark.real_data
def test_captions_are_paired_by_the_seed(mirror: Path) -> None:
    one, again, other = (corpora.read("captions", seed) for seed in (1, 1, 2))
    assert one == again and one.first != other.first
    longer = sum(len(first) > len(second) for first, second in zip(one.first, one.second, strict=True)) / len(one)
    assert 0.47 < longer < 0.53  # the files sort a photo's captions by length
