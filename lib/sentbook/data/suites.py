"""The test sets of a profile, real STS and SICK or the mini-world's; the pairs to train on, by data set; and tasks.

Tasks are classifications of frozen sentence vectors: five of single sentences and one of pairs. Pairs of their
sentences are data sets too, so that the cosine can be trained towards the labels.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal, TypeVar, get_args

import numpy as np

from sentbook.data import readers
from sentbook.data.miniworld import World
from sentbook.data.text import TOKENISERS, Tokenisation, one_of, tokenise_words
from sentbook.data.types import SPLITS, Examples, LabelledPairs, ParaphrasePairs, ScoredPairs, held_out_share

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
Task = Literal[
    "MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP", "miniworld/sentiment", "miniworld/product", "miniworld/subjectivity",
    "miniworld/polarity", "miniworld/question", "miniworld/paraphrase",
]  # fmt: skip
# Of Gan et al. 2017, in the order of table 3.
TASKS: tuple[Task, ...] = ("MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP")
# Tasks whose sentences are paired; data set of pairs, such as "miniworld-question" -> the task.
PairedTask = Literal["MR", "CR", "SUBJ", "MPQA", "TREC", "miniworld/sentiment", "miniworld/question"]
TASK_OF = {task.lower().replace("/", "-"): task for task in get_args(PairedTask)}
# Of a task without an official test set; and of the training sentences, those that choose epochs.
TEST_SHARE, TRIAL_SHARE = 0.2, 0.1
# More than a training takes: it draws its share of them by its seed.
SIZES = {"train": 20_000, "trial": 1_000, "test": 1_000}


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


# -- classification tasks ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassificationTask:
    """A task as the papers evaluate it.

    Attributes:
        train: all examples, where there is no test set: they are predicted fold by fold.
        test: None, or the official test set.
    """

    name: str
    classes: tuple[str, ...]
    train: Examples
    test: Examples | None

    @property
    def pairs(self) -> bool:
        """Whether an item is a pair of sentences."""
        return self.train.second is not None

    @property
    def judged(self) -> Examples:
        """Return the examples whose labels are predicted."""
        return self.train if self.test is None else self.test


@cache
def task(name: str) -> ClassificationTask:
    """Return a task by its name in tables.

    MR, CR, SUBJ and MPQA have no official test set. The mini-world's likenesses of them pool its three splits; those of
    TREC and of MSRP have its training and its test split.

    Example:
        >>> found = task("miniworld/question")
        >>> len(found.train), len(found.test)
        (600, 300)
    """
    read = one_of("task", name, _READERS)
    if name in _TESTED:
        train, test = read("train"), read("test")
        return ClassificationTask(name, train.classes, train, test)
    whole = Examples.joined([read(split) for split in SPLITS]) if name.startswith("miniworld") else read()
    return ClassificationTask(name, whole.classes, whole, None)


def _paraphrases(read: Callable[[str], ScoredPairs], negative: str, split: str) -> Examples:
    found = read(split)
    return Examples(found.first, found.second, found.gold.astype(np.int64), classes=(negative, "paraphrase"))


_READERS: dict[str, Callable[..., Examples]] = {
    **{name: partial(readers.binary, name) for name in readers.BINARY},
    "TREC": readers.trec,
    "MSRP": partial(_paraphrases, partial(readers.scored, "msrp"), "different"),
    **{f"miniworld/{kind}": partial(World().classification, kind) for kind in World.TASKS},
    "miniworld/paraphrase": partial(_paraphrases, World().paraphrase, "not paraphrase"),
}
# With a test set; the others are predicted fold by fold.
_TESTED = {"TREC", "MSRP", "miniworld/question", "miniworld/paraphrase"}


# -- pairs of labelled sentences ---------------------------------------------------------------------------------------


@cache
def divided(name: str) -> dict[str, Examples]:
    """Return a task's sentences: ``train``, ``trial``, ``test``.

    The test sentences are the official ones or else a fifth of all, the trial sentences a tenth of the others; both are
    drawn at random (seed 0), of each class alike.

    Example:
        >>> {split: len(examples) for split, examples in divided("miniworld/sentiment").items()}
        {'train': 720, 'trial': 80, 'test': 200}
    """
    found = task(name)
    rest, test = found.train, found.test
    if test is None:
        held = held_out_share(rest.labels, TEST_SHARE)
        rest, test = rest.take(~held), rest.take(held)
    trial = held_out_share(rest.labels, TRIAL_SHARE)
    return {"train": rest.take(~trial), "trial": rest.take(trial), "test": test}


@cache
def class_pairs(dataset: str, split: str) -> ScoredPairs:
    """Return pairs within a split of a task's sentences: score 1 where both have one class, else 0; half of them each.

    A pair's first sentence is drawn from all, its second from the others of the class or of other classes (seed 0).

    Source: none; Zhang et al. 2018 define direct network transfer for scored pairs alone.

    Example:
        >>> made = class_pairs("miniworld-question", "trial")
        >>> len(made), made.gold.mean()
        (1000, np.float64(0.5))
    """
    examples, size = divided(TASK_OF[dataset])[split], SIZES[split]
    rng = np.random.default_rng([0, SPLITS.index(split)])
    first = rng.integers(len(examples), size=size)
    gold = rng.permutation(np.arange(size) % 2)
    second = np.empty_like(first)
    for label in np.unique(examples.labels):
        members = np.flatnonzero(examples.labels == label)
        others = np.flatnonzero(examples.labels != label)
        same, different = (np.flatnonzero((examples.labels[first] == label) & (gold == wanted)) for wanted in (1, 0))
        # So many places further round the class: never the sentence itself.
        steps = rng.integers(1, len(members), size=len(same))
        second[same] = members[(np.searchsorted(members, first[same]) + steps) % len(members)]
        second[different] = others[rng.integers(len(others), size=len(different))]
    one, other = (examples.take(rows).first for rows in (first, second))
    return ScoredPairs(f"{TASK_OF[dataset]} pairs", one, other, gold.astype(np.float64), (0, 1))


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
    **{name: (f"{task} pairs", partial(class_pairs, name)) for name, task in TASK_OF.items()},
}
TEST_NAMES = {dataset: name for dataset, (name, _) in _SETS.items()}
