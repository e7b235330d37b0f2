"""Readers: official sizes on the mirror, and damaged files named in one sentence."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sentbook.data import readers, sources
from sentbook.data.prose import split_sentences
from sentbook.data.readers import tables
from sentbook.data.readers.activities import SIZES
from sentbook.data.types import ParaphrasePairs
from sentbook.system.errors import ConfigError, DataError

Put = Callable[[str, bytes], str]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Writes a file into a mirror of its own, registered with the digest it has."""
    table: dict[str, dict] = {}
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "registry", lambda: table)

    def write(name: str, content: bytes) -> str:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        table[name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "url": None}
        return name

    return write


# -- lines and cells --------------------------------------------------------------------------------------------------


def test_lines_end_at_line_feeds_alone(put: Put) -> None:
    text = "\ufeffone\u2028still one\u0085\x0c\r\n two  \n\n"
    for name, content in {"a.txt": text.encode(), "a.txt.gz": gzip.compress(text.encode())}.items():
        assert tables.lines(put(name, content)) == ["one\u2028still one\u0085\x0c", " two  ", ""]
    assert tables.lines(put("a.xz", lzma.compress(b"x\n"))) == ["x"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", b"caf\xe9\n"),
        ("a.gz", b"\x1f\x8bnot gzip"),
        ("a.gz", gzip.compress(b"x" * 99, mtime=0)[:-5]),
        ("a.xz", b"no"),
    ],
)
def test_unreadable_files_are_named(put: Put, name: str, content: bytes) -> None:
    put(name, content)
    with pytest.raises(DataError, match=rf"{name} cannot be read .* `sentbook data check`"):
        tables.lines(name)


def test_short_rows_are_named_by_line(put: Put) -> None:
    put("a.tsv", b'head\na\t"b\nc\n')
    with pytest.raises(DataError, match=r"a\.tsv, line 3: 1 cells where 2 are needed"):
        list(tables.rows("a.tsv", 2, header=True))
    assert list(tables.rows("a.tsv", 1, header=True)) == [["a", '"b'], ["c"]]  # quotes mean nothing


def test_wrong_sizes_are_named() -> None:
    with pytest.raises(DataError, match=r"SICK train has 4,499 items, not 4,500"):
        tables.expect("SICK train", 4499, 4500)


def test_a_set_of_the_wrong_size(put: Put) -> None:
    put("eval/msrp/msr_paraphrase_train.txt", b"\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t1\t2\r\n1\t2\t3\tone\ttwo\r\n")
    with pytest.raises(DataError, match="MSRP train has 1 items, not 4,076"):
        readers.msrp("train")


def test_a_pair_that_lost_its_tab(put: Put) -> None:
    put("eval/sts2012-train/STS.input.MSRpar.txt", b"one\ttwo\nonly one\n")
    put("eval/sts2012-train/STS.gs.MSRpar.txt", b"1\n2\n")
    with pytest.raises(DataError, match=r"STS\.input\.MSRpar\.txt, line 2: one sentence"):
        readers.sts2012_train()


def test_scores_of_activities_are_on_the_published_scales(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "dev", 2)
    name = put(
        "eval/human-activity/activities-dev-all.sick", b"one\ttwo\t1.0\t2.4\t5\t1.375\r\na\tb\t3\t1.33333\t1\t5\r\n"
    )
    found = readers.activities("dev")
    assert {name: pairs.gold.tolist() for name, pairs in found.items()} == {
        "SIM": [0, 2], "REL": [1.4, 0.33333], "MA": [4, 0], "PAC": [-1.625, 2],
    }  # fmt: skip
    put(name, b"one\ttwo\t1\t1\t1\t1\na\tb\t1\t0.9\t1\t1\n")
    with pytest.raises(DataError, match="activities dev: a score of REL lies outside its scale"):
        readers.activities("dev")


@pytest.mark.parametrize(
    "call",
    [
        lambda: readers.sick("dev"),
        lambda: readers.sts(2017),
        lambda: readers.stsbenchmark("trial"),
        lambda: readers.msrp("dev"),
        lambda: readers.trec("dev"),
        lambda: readers.mr("original"),
        lambda: readers.activities("trial"),
        lambda: readers.nli(["mnli"]),
        lambda: readers.nli(splits=["trial"]),
    ],
)
def test_unknown_splits_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ConfigError, match=r"choose (among|a year)"):
        call()


def test_sentences_of_a_paragraph() -> None:
    text = "\u201cGo!\u201d said Mrs. J. Hill. He went (so it seemed.) Why? At 3.30 p.m. he came back"
    assert split_sentences(text) == [
        "\u201cGo!\u201d said Mrs. J. Hill.",
        "He went (so it seemed.)",
        "Why?",
        "At 3.30 p.m. he came back",
    ]
    assert split_sentences("  ") == []


# -- the real files ---------------------------------------------------------------------------------------------------


@pytest.mark.real_data
def test_sts(mirror: Path) -> None:
    sets = readers.sts_all()
    assert [len(readers.sts(year)) for year in range(2012, 2017)] == [5, 3, 6, 5, 5]
    assert [sum(map(len, readers.sts(year))) for year in range(2012, 2017)] == [3108, 1500, 3750, 3000, 1186]
    assert all(pairs.gold.min() >= 0 and pairs.gold.max() <= 5 and np.isfinite(pairs.gold).all() for pairs in sets)
    table = (files("sentbook") / "papers" / "cse" / "printed" / "table2.csv").read_text(encoding="utf-8")
    printed = dict.fromkeys(line.split(",")[3] for line in table.splitlines()[1:])
    names = [name for name in printed if name.startswith("STS2") and not name.endswith("/avg")]
    assert [pairs.name for pairs in sets] == names  # joined by name, so they must be spelt alike


@pytest.mark.real_data
def test_blank_gold_is_dropped_not_zero(mirror: Path) -> None:
    forums = readers.sts(2015)[0]
    gold = (mirror / "eval/sts2015/STS.gs.answers-forums.txt").read_text("utf-8").split("\n")[:-1]
    assert len(gold) == 2000 and len(forums) == 375
    assert (forums.gold == 0).sum() == sum(line.strip() not in ("",) and float(line) == 0 for line in gold)


@pytest.mark.real_data
def test_sts_training_and_benchmark(mirror: Path) -> None:
    assert [len(pairs) for pairs in readers.sts2012_train()] == [750, 750, 734]
    assert [len(readers.stsbenchmark(split)) for split in ("train", "dev", "test")] == [5749, 1500, 1379]


@pytest.mark.real_data
def test_sick(mirror: Path) -> None:
    assert [len(readers.sick(split)) for split in ("train", "trial", "test")] == [4500, 500, 4927]
    assert readers.sick("test").name == "SICK2014" and readers.sick("test").scale == (1, 5)
    for split, counts in {"train": (665, 2536, 1299), "trial": (74, 282, 144), "test": (720, 2793, 1414)}.items():
        labelled = readers.sick_entailment(split)
        assert labelled.classes == ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
        assert tuple(np.bincount(labelled.labels)) == counts
        assert labelled.first == readers.sick(split).first
    assert not any(sentence.endswith("\r") for sentence in readers.sick("test").second)


@pytest.mark.real_data
def test_msrp(mirror: Path) -> None:
    train, test = readers.msrp("train"), readers.msrp("test")
    assert (len(train), train.labels.sum(), len(test), test.labels.sum()) == (4076, 2753, 1725, 1147)
    assert any(sentence.count('"') % 2 for sentence in train.first)  # unbalanced quotes survived


@pytest.mark.real_data
@pytest.mark.parametrize("variant", ["senteval", "raw"])
def test_classification(mirror: Path, variant: str) -> None:
    counts = {"mr": (5331, 5331), "cr": (1366, 2405), "subj": (5000, 5000), "mpqa": (7292, 3311)}
    for task, expected in counts.items():
        data = getattr(readers, task)(variant)
        assert tuple(np.bincount(data.labels)) == expected and len(data.classes) == 2
        assert all(sentence.strip() for sentence in data.sentences)
    assert (len(readers.trec("train", variant)), len(readers.trec("test", variant))) == (5452, 500)
    assert set(readers.trec("train", variant).labels) == set(range(6))


@pytest.mark.real_data
def test_raw_variants_keep_letters_and_apostrophes(mirror: Path) -> None:
    assert any("\u00e9" in sentence for sentence in readers.mr("raw").sentences)
    assert not any("\u00e9" in sentence for sentence in readers.mr().sentences)
    assert any("'" in question for question in readers.trec("test", "raw").sentences)


@pytest.mark.real_data
def test_activities_and_answers(mirror: Path) -> None:
    for split, size in {"train": 1000, "dev": 375, "test": 1000}.items():
        scores = readers.activities(split)
        assert list(scores) == ["SIM", "REL", "MA", "PAC"]
        assert {len(pairs) for pairs in scores.values()} == {size}
        for name, pairs in scores.items():
            low, high = pairs.scale
            assert (low, high) == ((-2, 2) if name == "PAC" else (0, 4))
            # The files' shift: every dimension reaches its upper limit, and all but PAC the lower one.
            assert pairs.gold.max() == high and (pairs.gold.min() == low or name == "PAC") and pairs.gold.min() >= low
    answers = readers.short_answers()
    assert len(answers) == 2273 and len(set(answers.question)) == 81
    assert answers.gold.mean() == pytest.approx(4.18, abs=0.01) and (answers.gold == 5).sum() == 1121


@pytest.mark.real_data
def test_nli(mirror: Path) -> None:
    pool = readers.nli()
    assert len(pool) == 46_619 and pool.classes == ("contradiction", "neutral", "entailment")
    assert tuple(np.bincount(readers.nli(["snli"]).labels)) == (6515, 6454, 6697)
    assert len(readers.nli(["cad_nli", "conjnli"], ["train"])) == 8330 + 15_000


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "size"),
    {
        "ppdb_lexical": 207_932,
        "captions": 57_990,
        "rewrites": 31_870,
        "simple_wikipedia": 3_652,
        "wikisplit": 12_000,
        "onestop": 4_736,
        "quora": 53_986,
        "twitter": 11_109,
        "parasci": 40_162,
        "bible": 91_675,
    }.items(),
)
def test_training_corpora(mirror: Path, name: str, size: int) -> None:
    pairs: ParaphrasePairs = getattr(readers, name)()
    assert len(pairs) == size
    assert len(set(zip(pairs.first, pairs.second, strict=True))) == size
    assert all(
        one.strip() and other.strip() and one != other for one, other in zip(pairs.first, pairs.second, strict=True)
    )


@pytest.mark.real_data
def test_captions_are_paired_by_the_seed(mirror: Path) -> None:
    one, again, other = readers.captions(1), readers.captions(1), readers.captions(2)
    assert one == again and one.first != other.first
    longer = sum(len(first) > len(second) for first, second in zip(one.first, one.second, strict=True)) / len(one)
    assert 0.47 < longer < 0.53  # the files sort a photo's captions by length
