"""Readers: cells and sizes by hand; on the mirror official sizes and scales."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sentbook.data import corpora, readers, sources
from sentbook.io import DataError

Put = Callable[[str, bytes], str]


def test_cells_are_never_quoted_and_lines_end_at_line_feeds(put: Put) -> None:
    text = '\ufeffhead\r\none\u2028still one\t"b\r\nc\t\r\n'.encode()
    for name, content in {"a.txt": text, "a.txt.gz": gzip.compress(text), "a.xz": lzma.compress(text)}.items():
        found = readers.table(put(name, content), (0, 1), 2, header=True)
        assert found.to_numpy().tolist() == [["one\u2028still one", '"b'], ["c", ""]]
    text = put("b.txt", b"caf\xe9\x0c\r\n two  \n\n")
    assert [*sources.lines(sources.path(text), "latin-1")] == ["caf\u00e9\x0c", " two  ", ""]


@pytest.mark.usefixtures("forgetful")
def test_a_set_of_another_size_is_named(put: Put) -> None:
    put("eval/msrp/msr_paraphrase_test.txt", b"\xef\xbb\xbfhead\r\n1\t2\t3\tone\ttwo\r\n")
    with pytest.raises(DataError, match=r"msr_paraphrase_test\.txt has 1 items, not 1,725"):
        readers.scored("msrp", "test")
    put("eval/mr/rt-polarity.neg", b"bad\n\n")
    with pytest.raises(DataError, match="MR negative has 1 items, not 5,331"):
        readers.binary("MR")


@pytest.mark.usefixtures("forgetful")
def test_scores_of_activities_are_on_the_published_scales(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    name = put("eval/pairs", b"one\ttwo\t1.0\t2.4\t5\t1.375\r\na\tb\t3\t1.33333\t1\t5\r\n")
    monkeypatch.setitem(readers.RELEASES["sim"].files, "trial", (name, 2))
    assert {set_: readers.scored(set_, "trial").gold.tolist() for set_ in ("sim", "rel", "ma", "pac")} == {
        "sim": [0, 2], "rel": [1.4, 0.33333], "ma": [4, 0], "pac": [-1.625, 2],
    }  # fmt: skip


# -- the real files ----------------------------------------------------------------------------------------------------


@pytest.mark.real_data
def test_sts(mirror: Path) -> None:
    assert [sum(map(len, readers.sts(year))) for year in range(2012, 2017)] == [3108, 1500, 3750, 3000, 1186]
    table = (files("sentbook") / "papers" / "cse" / "printed" / "table2.csv").read_text(encoding="utf-8")
    printed = dict.fromkeys(line.split(",")[3] for line in table.splitlines()[1:])
    names = [name for name in printed if name.startswith("STS2") and not name.endswith("/avg")]
    assert [pairs.name for pairs in readers.sts_all()] == names  # joined by name, so they must be spelt alike
    assert [len(pairs) for pairs in readers.sts2012_train()] == [750, 750, 734]
    gold = (mirror / "eval/sts2015/STS.gs.answers-forums.txt").read_text("utf-8").split("\n")[:-1]
    zeros = sum(bool(line.strip()) and float(line) == 0 for line in gold)  # a blank line is no score, not a 0
    assert len(gold) == 2000 and (readers.sts(2015)[0].gold == 0).sum() == zeros


@pytest.mark.real_data
def test_pairs_with_a_score_or_a_class(mirror: Path) -> None:
    train, test = readers.scored("msrp", "train"), readers.scored("msrp", "test")
    assert (len(train), train.gold.sum(), len(test), test.gold.sum()) == (4076, 2753, 1725, 1147)
    assert any(sentence.count('"') % 2 for sentence in train.first)  # unbalanced quotes survived
    assert not any(sentence.endswith("\r") for sentence in test.second)
    pool = readers.nli()
    assert len(pool) == 46_619 + 4500 and tuple(np.bincount(pool.labels[-4500:])) == (665, 2536, 1299)  # SICK's
    for name in ("sim", "rel", "ma", "pac"):
        for split in ("train", "trial", "test"):
            found = readers.scored(name, split)
            low, high = found.scale  # every dimension reaches its upper limit, and all but PAC the lower one
            assert found.gold.max() == high and (found.gold.min() == low or name == "pac")
    answers, questions = readers.graded_answers()
    assert len(answers) == len(questions) == 2273 and len(set(questions)) == 81
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
