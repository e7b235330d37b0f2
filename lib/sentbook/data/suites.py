"""The test sets of a profile, real STS and SICK or the mini-world's; and the pairs to train on, by data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Literal, TypeVar

import numpy as np

from sentbook.data import readers, tasks
from sentbook.data.miniworld import World
from sentbook.data.readers import one_of
from sentbook.data.text import TOKENISERS, Tokenisation, tokenise_words
from sentbook.data.types import SPLITS, LabelledPairs, ParaphrasePairs, ScoredPairs

Pairs = TypeVar("Pairs", ParaphrasePairs, LabelledPairs, ScoredPairs)
Suite = Literal["sts", "dnt", "miniworld"]
Dataset = Literal[
    "sick", "msrp", "miniworld", "miniworld-paraphrase", "stsb", "sts12", "sim", "rel", "ma", "pac", "sag",
    "sag-random", "miniworld-answers", "mr", "cr", "subj", "mpqa", "trec", "miniworld-sentiment",
    "miniworld-question",
]  # fmt: skip
# The eight of Zhang et al. 2018, in the order of table 4.
TRANSFER: tuple[Dataset, ...] = ("stsb", "sick", "sts12", "sim", "rel", "ma", "pac", "sag")
# The four dimensions in which pairs of human activities are scored.
ACTIVITIES = ("sim", "rel", "ma", "pac")
STSB_DEV = "STSB-dev"


# -- sentences that two sets share -------------------------------------------------------------------------------------


def key(sentence: str) -> str:
    """Return a sentence without case, punctuation and spacing.

    Example:
        >>> key("A man, is   playing!") == key("a man is playing")
        True
    """
    return " ".join(tokenise_words(sentence))


def test_keys(tests: Iterable[ScoredPairs]) -> frozenset[str]:
    """Return the keys of every sentence of the test sets; one of marks alone has none."""
    return frozenset(key(sentence) for pairs in tests for sentence in (*pairs.first, *pairs.second)) - {""}


def remove(pairs: Pairs, keys: frozenset[str]) -> Pairs:
    """Return ``pairs`` without those that hold a sentence of ``keys``."""
    kept = [
        key(one) not in keys and key(other) not in keys for one, other in zip(pairs.first, pairs.second, strict=True)
    ]
    return pairs.take(np.array(kept, dtype=np.bool_))


def with_tokens(pairs: Pairs, tokenisation: Tokenisation) -> Pairs:
    """Return ``pairs`` without those of which a side has no token, such as marks alone; print how many these were."""
    tokenise, sides = TOKENISERS[tokenisation], zip(pairs.first, pairs.second, strict=True)
    kept = np.array([bool(tokenise(one) and tokenise(other)) for one, other in sides], dtype=np.bool_)
    if count := np.count_nonzero(~kept):
        print(f"{pairs.name}: {count:,} of {len(kept):,} pairs are left out: no token (tokenisation {tokenisation})")
    return pairs.take(kept)


# -- sets by name ------------------------------------------------------------------------------------------------------


@cache
def test_sets(suite: Suite) -> list[ScoredPairs]:
    """Return the test sets in the paper's order: 25 of STS and SICK, those of transfer, or the mini-world's."""
    if suite == "sts":
        return [*readers.sts_all(), pairs("sick", "test")]
    if suite == "dnt":
        return transfer_sets(TRANSFER)
    world = World()
    return [world.similarity(domain) for domain in world.DOMAINS]


@cache
def validation_sets(name: str) -> list[ScoredPairs]:
    """Return the pairs that choose the epoch of a pre-training.

    ``sts2016``: its five sets, as Jiao et al. validate; ``miniworld``: the trial split of its relatedness pairs;
    ``stsb-dev``: STS-B's development pairs that hold no sentence of a test set, since most are of STS 2012 to 2016.
    """
    if name == "sts2016":
        return readers.sts(2016)
    if name == "miniworld":
        return [pairs(name, "trial")]
    tests = [*readers.sts_all(), *(pairs(dataset, "test") for dataset in TRANSFER)]
    return [remove(pairs("stsb", "trial"), test_keys(tests))]


@cache
def excluded(suite: Suite) -> frozenset[str]:
    """Return keys of all test sentences, which no pair of a pre-training may hold; of transfer, trial sentences too.

    See `key`. Training pairs of transfer may be met: the encoder is trained on them afterwards.
    """
    if suite == "dnt":
        return test_keys(pairs(dataset, split) for dataset in TRANSFER for split in ("trial", "test"))
    return test_keys(test_sets(suite)) if suite == "sts" else frozenset()


@cache
def pairs(dataset: str, split: str) -> ScoredPairs:
    """Return ``train``, ``trial`` or ``test`` pairs for training by similarity, on the published scale.

    Labels are scores of 0 and 1; of a graded answer the pair is the reference answer and the student's. Parts that no
    release defines are those of `sentbook.data.readers`.
    """
    _, read = one_of("data set", dataset, _SETS)
    one_of(f"{dataset} split", split, dict.fromkeys(SPLITS))
    return read(split)


def parts(dataset: str) -> tuple[ScoredPairs, ...]:
    """Return the test sets that ``pairs(dataset, "test")`` pools; of most data sets this is that set alone.

    STS 2012 has three, so that the mean over them can be reported beside the pooled number.
    """
    return tuple(readers.sts2012_tests()) if dataset == "sts12" else (pairs(dataset, "test"),)


def transfer_sets(datasets: Sequence[str]) -> list[ScoredPairs]:
    """Return the test pairs of each data set under its name in tables.

    STS-B's development pairs come before its test pairs, and after STS12's pooled pairs the sets that it pools, whose
    mean ``STS12/avg`` is reported beside the pooled number.
    """
    sets: list[ScoredPairs] = []
    for dataset in datasets:
        if dataset == "stsb":
            sets.append(replace(pairs(dataset, "trial"), name=STSB_DEV))
        sets.append(replace(pairs(dataset, "test"), name=test_name(dataset)))
        if dataset == "sts12":
            sets += parts(dataset)
    return sets


def measure_of(dataset: str) -> Literal["pearson", "spearman"]:
    """Return what a data set's authors ask for: Spearman's rho for the human activities, else Pearson's r.

    Source: Zhang et al. 2018, section 4.1.

    Example:
        >>> measure_of("pac"), measure_of("sag")
        ('spearman', 'pearson')
    """
    return "spearman" if dataset in ACTIVITIES else "pearson"


def test_name(dataset: str) -> str:
    """Return the test set's name as tables spell it, for the ``dataset`` of a metric.

    Example:
        >>> test_name("stsb"), test_name("sick")
        ('STSB-test', 'SICK')
    """
    return one_of("data set", dataset, TEST_NAMES)


# Of each data set its test set's name in the papers' tables, ``papers/dnt_table4.csv`` first, and its pairs by split.
_SETS: dict[str, tuple[str, Callable[[str], ScoredPairs]]] = {
    "stsb": ("STSB-test", partial(readers.scored, "stsb")),
    "sick": ("SICK", partial(readers.scored, "sick")),
    "sts12": ("STS12", readers.sts2012),
    **{name: (name.upper(), partial(readers.scored, name)) for name in ACTIVITIES},
    "sag": ("SAG", readers.short_answers),
    "sag-random": ("SAG at random", readers.short_answers_at_random),
    "msrp": ("MSRP", readers.msrp),
    "miniworld": ("miniworld/relatedness", World().relatedness),
    "miniworld-paraphrase": ("miniworld/paraphrase", World().paraphrase),
    "miniworld-answers": ("miniworld/answers", World().graded_answers),
    **{name: (f"{task} pairs", partial(tasks.pairs, name)) for name, task in tasks.TASK_OF.items()},
}
TEST_NAMES = {dataset: name for dataset, (name, _) in _SETS.items()}
