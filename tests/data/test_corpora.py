"""Training corpora by name: mixing, shuffling, cutting, cleaning, and phrases from alignment."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sentbook.data import alignment, corpora, overlap, readers, sources
from sentbook.data.types import ParaphrasePairs
from sentbook.system.errors import ConfigError


def numbered(name: str, size: int) -> ParaphrasePairs:
    return ParaphrasePairs(
        name, [f"{name} {i}" for i in range(size)], [f"other {i}" for i in range(size)], [name] * size
    )


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two corpora of 60 and 40 pairs in place of the real ones."""
    made = {
        name: corpora.Corpus("", (), lambda seed, name=name, size=size: numbered(name, size))
        for name, size in (("left", 60), ("right", 40))
    }
    monkeypatch.setattr(corpora, "CORPORA", made)


def rows(pairs: ParaphrasePairs) -> list[tuple[str, str, str]]:
    return list(zip(pairs.first, pairs.second, pairs.source, strict=True))


def test_mixed_and_shuffled_by_the_seed(made: None) -> None:
    one, again, other = (corpora.load(["left", "right"], seed=seed) for seed in (1, 1, 2))
    assert len(one) == 100 and one.name == "left+right"
    assert rows(one) == rows(again) != rows(other)
    assert sorted(rows(one)) == sorted(rows(other))
    assert {source for *_, source in rows(one)} == {"left", "right"}
    assert all(first.startswith(source) for first, _, source in rows(one))


def test_limit_draws_a_sample(made: None) -> None:
    drawn = corpora.load(["left", "right"], seed=1, limit=10)
    assert len(drawn) == 10
    assert set(rows(drawn)) <= set(rows(corpora.load(["left", "right"], seed=1)))
    assert rows(drawn) != rows(corpora.load(["left", "right"], seed=2, limit=10))
    assert len(corpora.load(["left"], seed=1, limit=1000)) == 60


def test_excluded_sentences_are_gone_from_either_side(made: None) -> None:
    loaded = corpora.load(["left", "right"], seed=1, exclude=frozenset({"left 3", "other 7"}))
    assert len(loaded) == 100 - 3
    assert "left 3" not in loaded.first and "other 7" not in loaded.second


def test_unknown_corpus(made: None) -> None:
    with pytest.raises(ConfigError, match="Unknown corpus 'captoins'; choose among left, right"):
        corpora.load(["left", "captoins"])


def test_every_corpus_is_described_with_its_licence() -> None:
    for name in corpora.CORPORA:
        card = corpora.describe(name)
        assert card["substitute"] and card["licence"]
        assert bool(card["paper"]) == bool(card["files"]) == (not name.startswith("miniworld"))
    with pytest.raises(ConfigError):
        corpora.describe("typo")


def test_replaced_spans() -> None:
    first = ["the", "old", "man", "sat", "on", "a", "chair"]
    second = ["the", "aged", "man", "sat", "on", "a", "stool"]
    assert list(alignment.replaced_spans(first, second)) == [
        ("old", "aged"),
        ("the old man", "the aged man"),
        ("chair", "stool"),
        ("a chair", "a stool"),
    ]
    long = [*"abcdef"]
    assert list(alignment.replaced_spans(["x", *long, "y"], ["x", "z", "y"])) == []  # six words are no phrase


def test_phrases_are_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def align() -> ParaphrasePairs:
        calls.append(1)
        return ParaphrasePairs("phrases", ["old", "the\u2028old man"], ["aged", "the aged man"], ["phrases"] * 2)

    monkeypatch.setenv("SENTBOOK_CACHE", str(tmp_path))
    monkeypatch.setattr(sources, "path", lambda name: tmp_path / name)
    monkeypatch.setattr(corpora, "_align", align)
    monkeypatch.setattr(corpora, "_phrases", corpora._phrases.__wrapped__)
    built, read = corpora._phrases(), corpora._phrases()
    assert built == read and calls == [1]
    (kept,) = (tmp_path / "derived").iterdir()
    for damage in (kept.read_bytes()[:-9], b"not gzip", gzip.compress(b"one cell\n")):
        kept.write_bytes(damage)
        assert corpora._phrases() == built
    assert calls == [1] * 4
    monkeypatch.setattr(sources, "sha256", lambda name: "another input")
    corpora._phrases()
    assert len(calls) == 5 and len(list((tmp_path / "derived").iterdir())) == 2


def test_a_cache_that_cannot_be_written_does_not_stop_phrases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SENTBOOK_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(sources, "path", lambda name: tmp_path / name)
    monkeypatch.setattr(corpora, "_align", lambda: numbered("phrases", 3))
    assert len(corpora._phrases.__wrapped__()) == 3


@pytest.mark.real_data
def test_phrases_of_the_real_corpora(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_CACHE", str(tmp_path))
    pairs = corpora._phrases.__wrapped__()
    assert len(pairs) == 524_410 and len(set(zip(pairs.first, pairs.second, strict=True))) == len(pairs)
    assert max(len(side.split()) for side in [*pairs.first, *pairs.second]) <= alignment.LONGEST_SPAN + 2
    assert set(corpora.CORPORA["phrases"].files) <= set(sources.used())


@pytest.mark.real_data
def test_no_test_sentence_is_left_in_training(mirror: Path) -> None:
    tests = [*readers.sts_all(), readers.sick("test")]
    keys = overlap.test_keys(tests)
    before = corpora.load(["captions"], seed=1)
    after = corpora.load(["captions"], seed=1, exclude=keys)
    shared = {row["test"]: row["sentences"] for row in overlap.report([before], tests)}
    assert shared["STS2015/images"] > 900 and shared["SICK2014"] > 100  # the same photographs' captions
    assert len(after) < len(before) and overlap.report([after], tests) == []
