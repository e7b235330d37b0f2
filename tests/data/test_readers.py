"""Readers: cells and sizes by hand; on the mirror official sizes and scales."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data import corpora, readers, sources
from sentbook.data.types import SPLITS, LabelledPairs, ScoredPairs, held_out, share_of
from sentbook.io import DataError

Put = Callable[[str, bytes], str]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Write a file into a mirror of its own, registered with the digest it has."""
    table: dict[str, dict] = {}
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "registry", lambda: table)

    def write(name: str, content: bytes) -> str:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
        table[name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "url": None}
        return name

    return write


def test_cells_are_never_quoted_and_lines_end_at_line_feeds(put: Put) -> None:
    text = '\ufeffhead\r\none\u2028still one\t"b\r\nc\t\r\n'.encode()
    for name, content in {"a.txt": text, "a.txt.gz": gzip.compress(text), "a.xz": lzma.compress(text)}.items():
        found = readers.table(put(name, content), (0, 1), 2, header=True)
        assert found.to_numpy().tolist() == [["one\u2028still one", '"b'], ["c", ""]]
    text = put("b.txt", b"caf\xe9\x0c\r\n two  \n\n")
    assert [*sources.lines(sources.path(text), "latin-1")] == ["caf\u00e9\x0c", " two  ", ""]


@pytest.mark.usefixtures("forgetful")
def test_scores_of_activities_are_on_the_published_scales(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    name = put("eval/pairs", b"one\ttwo\t1.0\t2.4\t5\t1.375\r\na\tb\t3\t1.33333\t1\t5\r\n")
    monkeypatch.setitem(readers.RELEASES["sim"].files, "trial", (name, 2))
    assert {set_: readers.scored(set_, "trial").gold.tolist() for set_ in ("sim", "rel", "ma", "pac")} == {
        "sim": [0, 2], "rel": [1.4, 0.33333], "ma": [4, 0], "pac": [-1.625, 2],
    }  # fmt: skip


def numbered(size: int) -> ScoredPairs:
    first, second = ([f"{side} {row}" for row in range(size)] for side in ("a", "b"))
    return ScoredPairs("x", first, second, np.arange(size) % 6.0, (0, 5))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=5), st.integers(0, 9))
def test_rows_are_taken_from_and_joined_in_every_column(sizes: list[int], seed: int) -> None:
    parts = [LabelledPairs(f"{at}", *([f"{side}{at}.{row}" for row in range(size)] for side in "ab"),
                           np.arange(size), ("no", "yes")) for at, size in enumerate(sizes)]  # fmt: skip
    whole = LabelledPairs.joined(parts, name="all")
    assert (whole.name, whole.classes, len(whole)) == ("all", ("no", "yes"), sum(sizes))
    rows = np.random.default_rng(seed).permutation(len(whole))[: len(whole) // 2]
    for chosen in (rows, np.isin(np.arange(len(whole)), rows)):
        taken = whole.take(chosen)
        assert taken.second == [text.replace("a", "b") for text in taken.first] and len(taken) == len(rows)
        assert taken.labels.tolist() == [int(text.split(".")[1]) for text in taken.first]
    assert whole.take(rows).first == [whole.first[row] for row in rows]
    with pytest.raises(DataError, match=r"LabelledPairs with columns of \[1, 2\] rows"):
        LabelledPairs("both", ["a"], ["b"], np.arange(2), ("no", "yes"))


@given(st.lists(st.integers(0, 3), max_size=60), st.dictionaries(st.integers(0, 4), st.integers(0, 20)), st.integers(0))
def test_held_out_rows_are_as_many_as_asked_for(groups: list[int], sizes: dict[int, int], seed: int) -> None:
    held = held_out(np.array(groups, dtype=np.int64), sizes, seed)
    assert held.shape == (len(groups),)
    for group, count in Counter(groups).items():
        assert held[np.array(groups) == group].sum() == min(sizes.get(group, 0), count)
    np.testing.assert_array_equal(held, held_out(np.array(groups, dtype=np.int64), sizes, seed))


@given(st.integers(2, 60), st.integers(0, 5), st.lists(st.floats(0.01, 1), min_size=2, max_size=2))
def test_a_larger_share_holds_the_smaller(size: int, seed: int, shares: list[float]) -> None:
    small, large = (share_of(numbered(size), share, seed) for share in sorted(shares))
    assert set(small.first) <= set(large.first)
    assert len(large) == max(2, round(max(shares) * size))
    assert large.first == [text for text in numbered(size).first if text in set(large.first)]  # in order
    assert share_of(numbered(size), 1.0, seed).first == numbered(size).first


@pytest.mark.real_data
def test_sts(mirror: Path) -> None:
    assert [sum(map(len, readers.sts(year))) for year in range(2012, 2017)] == [3108, 1500, 3750, 3000, 1186]
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


@pytest.mark.real_data
@pytest.mark.parametrize("divided", [readers.sts2012, readers.short_answers, readers.short_answers_at_random])
def test_parts_hold_every_pair_once_in_the_files_order(mirror: Path, divided: Callable[[str], ScoredPairs]) -> None:
    sets = [readers.graded_answers()[0]]
    if divided is readers.sts2012:
        sets = [*readers.sts2012_train(), *readers.sts2012_tests()]
    whole = [pair for pairs in sets for pair in zip(pairs.first, pairs.second, strict=True)]
    parts = [list(zip(part.first, part.second, strict=True)) for part in map(divided, SPLITS)]
    assert sorted(parts[0] + parts[1] + parts[2]) == sorted(whole)
    assert divided("trial").second == [second for _, second in parts[1]]
    left = iter(whole)
    assert all(pair in left for pair in parts[0])


@pytest.mark.real_data
def test_test_parts_are_the_published_ones(mirror: Path) -> None:
    sets = readers.sts2012_tests()
    assert [pairs.name for pairs in sets] == ["STS12/MSRpar", "STS12/MSRvid", "STS12/SMT-eur"]
    assert readers.sts2012("test").first == [text for pairs in sets for text in pairs.first]
    whole, questions = readers.graded_answers()
    asked = zip(whole.first, questions, strict=True)
    exams = {said for said, question in asked if question.split(".")[0] in ("11", "12")}
    assert {*readers.short_answers("test").first} == exams != {*readers.short_answers_at_random("test").first}
