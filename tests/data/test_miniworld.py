"""The frozen mini-world: what is promised of its data, and that the generator still makes the same file."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sentbook.data.miniworld import FILE, World
from sentbook.data.text import tokenise_ptb

ROOT = Path(__file__).resolve().parents[2]
SPLITS = ("train", "trial", "test")
WORLD = World()


def test_its_sizes_and_scales() -> None:
    assert len(WORLD.phrases()) == len(WORLD.sentences()) == 8000
    assert [len(WORLD.relatedness(split)) for split in SPLITS] == [450, 50, 500]
    for domain in WORLD.DOMAINS:
        pairs = WORLD.similarity(domain)
        assert len(pairs) == 250 and pairs.gold.min() >= 0 and pairs.gold.max() <= 5 and pairs.gold.std() > 1
    assert WORLD.sentences(7).first == WORLD.sentences().first[:7]  # a shorter corpus is the beginning
    features, captions = WORLD.scenes()
    assert features.shape == (len(captions), 64) and {*map(len, captions)} == {5}
    words, matrix = WORLD.vectors()
    assert matrix.shape == (len(words), 50) and matrix.dtype == np.float32 and len(set(words)) == len(words)


def test_splits_share_no_sentence_and_no_test_sentence_is_in_a_corpus() -> None:
    corpus = WORLD.sentences()
    trained = {text.lower() for side in (corpus.first, corpus.second) for text in side}
    trained |= {line.rstrip(".").lower() for story in WORLD.stories() for line in story}
    tests = {text.lower() for name in WORLD.DOMAINS for text in WORLD.similarity(name).first}
    tests |= {text.lower() for text in WORLD.relatedness("test").first + WORLD.paraphrase("test").first}
    assert not tests & trained
    for read in (WORLD.relatedness, WORLD.paraphrase):
        sides = [{*read(split).first, *read(split).second} for split in SPLITS]
        assert not sides[0] & sides[1] | sides[0] & sides[2] | sides[1] & sides[2]
    for task in WORLD.TASKS:
        sets = [set(WORLD.classification(task, split).sentences) for split in SPLITS]
        assert not sets[0] & sets[1] | sets[0] & sets[2] | sets[1] & sets[2]


def test_labels_are_balanced() -> None:
    assert WORLD.paraphrase("train").gold.mean() == pytest.approx(0.6, abs=0.01)
    for made in (WORLD.entailment("train"), *(WORLD.classification(task, "train") for task in WORLD.TASKS)):
        counts = np.bincount(made.labels)
        assert len(counts) == len(made.classes) and counts.max() - counts.min() <= 1


def bag(sentence: str) -> Counter[str]:
    return Counter(tokenise_ptb(sentence))


def test_words_of_d_and_others() -> None:
    given = WORLD.analogies()
    fours = list(zip(*(given[name] for name in "abcd"), strict=True))
    assert len(set(fours)) == 240 and len(set(given["kinds"])) > 10
    for (a, b, c, d), more in zip(fours, given["others"], strict=True):
        total = bag(a)
        total.subtract(bag(b))
        total.update(bag(c))
        assert +total == bag(d) and min(total.values()) >= 0, (a, b, c, d)
        assert len(more) == 4 and len({a, b, c, d, *more}) == 8
        # Each of the others keeps what D has from one factor.
        for pair, kept in ((more[:2], c), (more[2:], a)):
            assert all(not (bag(d) - bag(kept)) - bag(other) and bag(other) != bag(d) for other in pair)
    stories = {line.lower() for story in WORLD.stories() for line in story}
    assert not {sentence.lower() for four in fours for sentence in four} & stories
    words, met = ({word for said in texts for word in tokenise_ptb(said)} for texts in (sum(fours, ()), stories))
    assert len(words - met) <= 0.02 * len(words)  # told as the stories are


@pytest.mark.long
def test_the_frozen_generator_makes_the_same_file(tmp_path: Path) -> None:
    made = tmp_path / "made.npz"
    command = [sys.executable, "-m", "miniworld.freeze", str(made)]
    subprocess.run(command, check=True, cwd=ROOT / "tools", env={"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT / 'tools'}"})
    with np.load(made) as new, np.load(FILE) as old:
        assert sorted(new) == sorted(old)
        for name in old:
            if old[name].dtype.kind == "f":  # another processor's last bit
                np.testing.assert_allclose(new[name], old[name], rtol=1e-5)
            else:
                np.testing.assert_array_equal(new[name], old[name])
