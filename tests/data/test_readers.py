"""Readers: every format with hostile lines, each named in one sentence; on the mirror official sizes and scales."""

from __future__ import annotations

import gzip
import lzma
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentbook.data import readers, sources
from sentbook.data.corpora import CORPORA
from sentbook.data.readers import pairs, paraphrases, tables
from sentbook.io import ConfigError, DataError

Put = Callable[[str, bytes], str]


def test_lines_end_at_line_feeds_alone(put: Put) -> None:
    text = "\ufeffone\u2028still one\u0085\x0c\r\n two  \n\n"
    for name, content in {"a.txt": text.encode(), "a.txt.gz": gzip.compress(text.encode())}.items():
        assert tables.lines(put(name, content)) == ["one\u2028still one\u0085\x0c", " two  ", ""]
    assert tables.lines(put("a.xz", lzma.compress(b"x\n"))) == ["x"]
    assert [row.cells for row in tables.rows(put("a", b'head\na\t"b\nc\n'), 1, header=True)] == [["a", '"b'], ["c"]]


SICK, MSRP = "eval/sick2014/SICK_trial.txt", "eval/msrp/msr_paraphrase_test.txt"
ACTIVITIES, STS = "eval/human-activity/activities-dev-all.sick", "eval/sts2012-train/STS.{}.MSRpar.txt"
PARASCI = "train/parasci/parasci.tsv.gz"
HEAD = b"head\n1\ta\tb\t5\tNEUTRAL\n"
sick, entailment = lambda: readers.sick("trial"), lambda: readers.sick_entailment("trial")
msrp, parasci = lambda: readers.msrp("test"), lambda: paraphrases.aligned("parasci")
# Of each format: its files, each a good line with its header, then a hostile one; how it is read; what is said.
HOSTILE: list[tuple[dict[str, bytes], Callable[[], Any], str]] = [
    ({SICK: HEAD + b"2\ta\tb\n"}, sick, "line 3: 3 cells where 5"),
    ({SICK: HEAD + b"2\ta\tb\t5.5\tN\n"}, sick, "'5.5' is no number from 1 to 5"),
    ({SICK: HEAD + b"2\ta\tb\t1\tno\n"}, entailment, "line 3: 'no' is"),
    ({MSRP: b"head\n1\t2\t3\ta\tb\r\nx\t2\t3\ta\tb\r\n"}, msrp, "line 3: 'x' is none of 0, 1"),
    ({ACTIVITIES: b"a\tb\t1\t1\t1\t1\na\tb\t1\t0.9\t1\t1\n"}, lambda: readers.activities("dev"), "line 2: '0.9' is no"),
    ({STS.format("input"): b"a\tb\nonly one\n", STS.format("gs"): b"1\n2\n"}, readers.sts2012_train,
     r"STS\.input\.MSRpar\.txt, line 2: 1 cells where 2"),
    ({STS.format("input"): b"a\tb\na\tb\n", STS.format("gs"): b"1\nnan\n"}, readers.sts2012_train,
     r"STS\.gs\.MSRpar\.txt, line 2: 'nan' is no number from 0 to 5"),
    ({"eval/stsbenchmark/sts-dev.csv": b"a\tb\tc\td\t5\tx\ty\na\tb\tc\td\t<b>\tx\ty\n"},
     lambda: readers.stsbenchmark("dev"), "line 2: '<b>' is no number"),
    ({"eval/trec/TREC_10.label": b"NUM:dist How far?\nWHY Why?\n"}, lambda: readers.trec("test"), "2: 'WHY' is none"),
    ({PARASCI: gzip.compress(b"a\tb\tc\na\tb\n")}, parasci, "line 2: 2 cells where 3"),
    ({"eval/mr/rt-polarity.neg": b"bad\n\n"}, lambda: readers.binary("MR"), "MR negative has 1 items, not 5,331"),
    ({MSRP: b"\xef\xbb\xbfhead\r\n1\t2\t3\tone\ttwo\r\n"}, msrp, "MSRP test has 1 items, not 1,725"),
    ({SICK: b"caf\xe9\n"}, sick, "SICK_trial.txt cannot be read as utf-8"),
    ({PARASCI: b"\x1f\x8bnot gzip"}, parasci, "gz cannot be read"),
    ({PARASCI: gzip.compress(b"x" * 99, mtime=0)[:-5]}, parasci, "gz cannot be read"),
    ({paraphrases.BIBLE: b"no"}, paraphrases.bible, "xz cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "read", "said"), HOSTILE)
@pytest.mark.usefixtures("forgetful")
def test_hostile_lines_are_named(
    put: Put, monkeypatch: pytest.MonkeyPatch, content: dict[str, bytes], read: Callable[[], Any], said: str
) -> None:
    for name, body in content.items():
        put(name, body)
    if "items" not in said:
        for module in ("tables", "sts", "classification", "paraphrases"):  # two lines are not the official size
            monkeypatch.setattr(sys.modules[f"sentbook.data.readers.{module}"], "expect", lambda *sizes: None)
    with pytest.raises(DataError, match=said) as error:
        read()
    assert "\n" not in str(error.value) and str(error.value).endswith("fetch it again.")


def test_scores_of_activities_are_on_the_published_scales(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pairs.ACTIVITIES.parts, "dev", ("activities-dev-all.sick", 2))  # type: ignore[arg-type]
    put(ACTIVITIES, b"one\ttwo\t1.0\t2.4\t5\t1.375\r\na\tb\t3\t1.33333\t1\t5\r\n")
    found = readers.activities("dev")
    assert {name: pairs.gold.tolist() for name, pairs in found.items()} == {
        "SIM": [0, 2], "REL": [1.4, 0.33333], "MA": [4, 0], "PAC": [-1.625, 2],
    }  # fmt: skip


@pytest.mark.parametrize("read", ["sick", "stsbenchmark", "msrp", "trec", "activities", "binary", "sts"])
def test_unknown_splits_are_refused(read: str) -> None:
    with pytest.raises(ConfigError, match=r"choose (among|a year)"):
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
    found = CORPORA[name].read(0)
    assert set(sources.used()) == set(CORPORA[name].files)
    sides = list(zip(found.first, found.second, strict=True))
    assert len(sides) == len(set(sides)) == size
    assert all(one.strip() and other.strip() and one != other for one, other in sides)


@pytest.mark.real_data
def test_captions_are_paired_by_the_seed(mirror: Path) -> None:
    one, again, other = paraphrases.captions(1), paraphrases.captions(1), paraphrases.captions(2)
    assert one == again and one.first != other.first
    longer = sum(len(first) > len(second) for first, second in zip(one.first, one.second, strict=True)) / len(one)
    assert 0.47 < longer < 0.53  # the files sort a photo's captions by length
