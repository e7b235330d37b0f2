"""Semantic Textual Similarity, SemEval 2012-2016, and the STS Benchmark."""

from __future__ import annotations

from functools import cache

import numpy as np

from sentbook.data.readers.tables import Format, expect, rows, scored
from sentbook.data.types import ScoredPairs
from sentbook.io import ConfigError

# Per year: (name in the papers' tables, name in the release, scored pairs), in the order of the papers' tables.
SETS: dict[int, tuple[tuple[str, str, int], ...]] = {
    2012: (("MSRpar", "MSRpar", 750), ("MSRvid", "MSRvid", 750), ("SMT-eur", "SMTeuroparl", 459),
           ("OnWN", "surprise.OnWN", 750), ("SMT-news", "surprise.SMTnews", 399)),
    2013: (("headline", "headlines", 750), ("OnWN", "OnWN", 561), ("FNWN", "FNWN", 189)),
    2014: (("deft forum", "deft-forum", 450), ("deft news", "deft-news", 300), ("headline", "headlines", 750),
           ("images", "images", 750), ("OnWN", "OnWN", 750), ("tweet news", "tweet-news", 750)),
    2015: (("answers-forums", "answers-forums", 375), ("answers-students", "answers-students", 750),
           ("belief", "belief", 375), ("headline", "headlines", 750), ("images", "images", 750)),
    2016: (("answer", "answer-answer", 254), ("headlines", "headlines", 249), ("plagiarism", "plagiarism", 230),
           ("postediting", "postediting", 244), ("question", "question-question", 209)),
}  # fmt: skip
# Read without quoting: a default CSV reader joins lines at unbalanced quotes and loses rows.
BENCHMARK = Format(
    "STS-B",
    "eval/stsbenchmark",
    {"train": ("sts-train.csv", 5749), "dev": ("sts-dev.csv", 1500), "test": ("sts-test.csv", 1379)},
    columns=7,
)


def _read(name: str, folder: str, release: str, official: int, prefix: str = "STS") -> ScoredPairs:
    pairs = rows(f"eval/{folder}/{prefix}.input.{release}.txt", 2)
    gold = rows(f"eval/{folder}/{prefix}.gs.{release}.txt", 1)
    expect(f"{name} (gold lines)", len(gold), len(pairs))
    # A blank gold line means that the pair was not scored; it is not a 0.
    given = [(pair, score.number(0, (0, 5))) for pair, score in zip(pairs, gold, strict=True) if score[0].strip()]
    expect(name, len(given), official)
    first, second = ([pair[side] for pair, _ in given] for side in (0, 1))
    return ScoredPairs(name, first, second, np.array([score for _, score in given]), (0, 5), release)


@cache
def sts(year: int) -> list[ScoredPairs]:
    """The test sets of a year, in the papers' order; 2013 without the licensed SMT set, as in the papers.

    Source: Agirre et al. 2012-2016.

    Raises:
        ConfigError: another year.
        DataError: a file is missing, or a set has not its official size.
    """
    if year not in SETS:
        raise ConfigError(f"There is no STS {year} here; choose a year from {min(SETS)} to {max(SETS)}.")
    prefix = "STS2016" if year == 2016 else "STS"
    return [_read(f"STS{year}/{name}", f"sts{year}", release, size, prefix) for name, release, size in SETS[year]]


def sts_all() -> list[ScoredPairs]:
    """All 24 sets, 12,544 scored pairs; with SICK they are the 25 of the papers' tables."""
    return [pairs for year in SETS for pairs in sts(year)]


def sts2012_train() -> list[ScoredPairs]:
    """The training pairs of 2012: MSRpar 750, MSRvid 750, SMTeuroparl 734."""
    sizes = {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 734}
    return [_read(f"STS2012-train/{name}", "sts2012-train", name, size) for name, size in sizes.items()]


def stsbenchmark(split: str) -> ScoredPairs:
    """STS Benchmark, ``train`` 5749, ``dev`` 1500 or ``test`` 1379 pairs (Cer et al. 2017).

    Raises:
        ConfigError: an unknown split.
        DataError: the file is missing or damaged, or has not its official size.
    """
    return scored(f"STSB-{split}", BENCHMARK.rows(split), (5, 6), 4, (0, 5))
