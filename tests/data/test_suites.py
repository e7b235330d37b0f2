"""Which sets a profile is tested on, with stand-ins for the real ones; and the real ones where there is a mirror."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data import readers, suites
from sentbook.data.miniworld import World
from sentbook.data.suites import key
from sentbook.data.types import ParaphrasePairs, ScoredPairs
from sentbook.evaluation.predictions import sts_predictions
from sentbook.io import root
from sentbook.judge import printed as reported

DNT = ("stsb", "sick", "sts12", "sim", "rel", "ma", "pac", "sag")
SPLITS = ("train", "trial", "test")


pytestmark = pytest.mark.usefixtures("forgetful")


def test_the_sets_of_the_mini_world() -> None:
    assert [pairs.name for pairs in suites.test_sets("miniworld")] == [f"miniworld/{one}" for one in World.DOMAINS]
    assert suites.excluded("miniworld") == frozenset()  # the grammar keeps its splits apart
    [trial] = suites.validation_sets("miniworld")
    assert (trial.name, trial.scale, len(trial)) == ("miniworld/relatedness", (1, 5), 50)
    assert suites.parts("miniworld") == (suites.pairs("miniworld", "test"),)


def test_names_and_measures_are_those_of_the_papers_table() -> None:
    frame = reported.table("dnt", "table4")
    printed = dict(zip(frame["dataset"], frame["metric"], strict=True))
    del printed["STSB-dev"]
    assert {suites.test_name(name): str(suites.measure_of(name)) for name in DNT} == printed


@given(st.text())
def test_key_is_idempotent_and_has_no_marks(text: str) -> None:
    found = key(text)
    assert key(found) == found
    assert "  " not in found and found == found.strip()
    assert all(char.isalnum() or char == " " or not char.isascii() for char in found)


@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1), min_size=1))
def test_key_ignores_case_spacing_and_punctuation(words: list[str]) -> None:
    assert key(",  ".join(words).upper() + " !") == key(" ".join(words)) == " ".join(words).lower()


def test_pairs_that_share_a_sentence_are_removed() -> None:
    shared = [("A dog runs.", "an animal runs"), ("a cat", "The DOG sleeps"), ("a dog runs", "a cat")]
    corpus = ParaphrasePairs.of("made", [*shared, ("free of both", "as well"), ("!!", "??")])
    one = ScoredPairs("one", ["a dog runs"] * 2, ["the dog sleeps", "..."], np.zeros(2), (0, 5))
    tests = [one, ScoredPairs("two", ["nothing"], ["shared"], np.zeros(1), (0, 5))]
    kept = suites.remove(corpus, suites.test_keys(tests))
    assert kept == ParaphrasePairs.of("made", [("free of both", "as well"), ("!!", "??")])


@pytest.mark.real_data
def test_the_sets_of_transfer(mirror: Path) -> None:
    """STS-B's development pairs before its test pairs; after STS12's the sets that it pools."""
    sets = suites.transfer_sets(suites.TRANSFER)
    assert suites.TRANSFER == DNT and suites.test_sets("dnt") == sets
    assert suites.excluded("dnt") >= suites.test_keys(sets)
    parts = ["STS12/MSRpar", "STS12/MSRvid", "STS12/SMT-eur"]
    named = ["STSB-dev", "STSB-test", "SICK", "STS12", *parts, "SIM", "REL", "MA", "PAC", "SAG"]
    assert [pairs.name for pairs in sets] == named
    assert sts_predictions(sets).members("STS12/avg") == parts
    sizes = {"stsb": (5749, 1500, 1379), "sick": (4500, 500, 4927), "sts12": (2000, 234, 1959), "sag": (1460, 261, 552)}
    sizes |= dict.fromkeys(suites.ACTIVITIES, (1000, 375, 1000))
    scales = dict.fromkeys(DNT, (0, 5)) | {"sick": (1, 5), "pac": (-2, 2)} | dict.fromkeys(("sim", "rel", "ma"), (0, 4))
    for dataset in DNT:
        asked = [suites.pairs(dataset, split) for split in SPLITS]
        assert tuple(map(len, asked)) == sizes[dataset]
        low, high = scales[dataset]
        for pairs in asked:
            assert pairs.scale == (low, high) and pairs.gold.max() == high
            assert pairs.gold.min() == low or (dataset == "pac" and pairs.gold.min() > low)
            assert all(key(text) for text in pairs.first + pairs.second)


@pytest.mark.real_data
def test_pairs_that_choose_the_epoch_of_a_pre_training_hold_no_test_sentence(mirror: Path) -> None:
    [found] = suites.validation_sets("stsb-dev")
    tests = [*readers.sts_all(), *(suites.pairs(dataset, "test") for dataset in DNT)]
    assert 300 < len(found) < len(suites.pairs("stsb", "trial")) == 1500
    assert not {key(text) for text in (*found.first, *found.second)} & suites.test_keys(tests)


@pytest.mark.real_data
def test_the_real_sets_are_those_of_the_papers_tables(mirror: Path) -> None:
    sets = suites.test_sets("sts")
    frame = reported.table("cse", "table2")
    printed = list(dict.fromkeys(name for name in frame["dataset"] if not name.endswith("/avg")))
    assert [pairs.name for pairs in sets] == printed
    assert sum(map(len, sets)) == 12_544 + 4_927
    assert suites.excluded("sts") == {key(text) for pairs in sets for text in (*pairs.first, *pairs.second)}
    assert all(pairs.scale[0] <= pairs.gold.min() <= pairs.gold.max() <= pairs.scale[1] for pairs in sets)
    validated = [pairs.name for pairs in suites.validation_sets("sts2016")]
    assert validated == [name for name in printed if name.startswith("STS2016")]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("told", "sets"),
    [("SICK", ["sick"]), ("MSRP", ["msrp"]), ("STS Benchmark", ["stsb"]), ("STS 2012", ["sts12"]),
     ("human activities, each of the four", ["sim", "rel", "ma", "pac"]), ("short answers", ["sag"])],
)  # fmt: skip
def test_the_page_on_data_counts_what_parts_share(told: str, sets: list[str]) -> None:
    [row] = [line for line in (root() / "book" / "data.md").read_text().splitlines() if line.startswith(f"| {told} | ")]
    for name in sets:
        parts = {part: suites.pairs(name, part) for part in ("test", "trial", "train")}
        keys = suites.test_keys([parts["test"]])
        tests, *others = (
            [{key(x), key(y)} for x, y in zip(one.first, one.second, strict=True)] for one in parts.values()
        )
        counts = [
            (len(pairs), sum(bool(one & keys) for one in pairs), sum(one in tests for one in pairs)) for pairs in others
        ]
        assert row == f"| {told} | " + " | ".join(f"{count:,}" for part in counts for count in part) + " |"
