"""Frozen sentence vectors as features of a task: which encoders make them, and the tasks' outcomes, found or made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sentbook.config import digest
from sentbook.data import modern
from sentbook.data.tasks import ClassificationTask, Examples, task
from sentbook.data.text import TOKENISERS, Vocabulary
from sentbook.evaluation import classification
from sentbook.evaluation.classification import ClassificationProtocol, Classified, pair_features
from sentbook.io import NumericalError
from sentbook.models import SentenceEncoder, encode
from sentbook.training.devices import device_of
from sentbook.training.recipes import Recipe, load
from sentbook.training.store import Arrays, outcomes

# Raise when a change to the code changes outcomes.
OUTCOME_VERSION = 1
# Nats a training row. A tenth of it moves no mean over inner folds by more than .0005, and takes a quarter longer.
_TOLERANCE = 1e-6
Family = Literal["skip-thoughts", "SentEval"]


@dataclass(frozen=True)
class Features:
    """Sentences to vectors, by one encoder or by several whose vectors stand beside each other.

    Attributes:
        method: as tables spell it.
        parts: recipes of encoders whose artifacts are there, or names of `sentbook.data.modern`.

    Source: Gan et al. 2017, section 4.2, for "combine": "concatenating the feature vectors".
    """

    method: str
    seed: int
    parts: tuple[Recipe | str, ...]

    def key(self) -> str:
        """A digest of all that decides the vectors."""
        return digest({"parts": [part if isinstance(part, str) else part.key() for part in self.parts]})

    def vectors(self, sentences: Sequence[str], device: str = "cpu") -> NDArray[np.float32]:
        """(N, F) vectors of N sentences.

        Raises:
            CheckpointError: an encoder has no artifact.
            DataError: a sentence is empty, or an optional package is missing.
        """
        distinct = list(dict.fromkeys(sentences))
        rows = {sentence: row for row, sentence in enumerate(distinct)}
        found = np.concatenate([_part(part, distinct, device) for part in self.parts], axis=1)
        return found[[rows[sentence] for sentence in sentences]]


def combined(method: str, first: Features, second: Features) -> Features:
    """Both vectors beside each other."""
    return Features(method, first.seed, (*first.parts, *second.parts))


def _part(part: Recipe | str, sentences: Sequence[str], device: str) -> NDArray[np.float32]:
    if isinstance(part, str):
        return modern.sentence_vectors(part, sentences)
    encoder, vocabulary = _loaded(part, device)
    return encode(encoder, vocabulary, sentences, part.tokenisation)


@lru_cache(maxsize=2)  # combined features have two
def _loaded(recipe: Recipe, device: str) -> tuple[SentenceEncoder, Vocabulary]:
    trained = load(recipe)
    return trained.encoder(device), trained.vocabulary


# -- classification ----------------------------------------------------------------------------------------------------


def protocol_of(found: ClassificationTask, family: Family) -> ClassificationProtocol:
    """How a family of protocols evaluates a task."""
    if found.test is None:
        nested = {"skip-thoughts": classification.SKIP_THOUGHTS_NESTED, "SentEval": classification.SENTEVAL_NESTED}
        return nested[family]
    if family == "SentEval":
        return classification.SENTEVAL_ONE_TEST
    return classification.SKIP_THOUGHTS_MSRP if found.pairs else classification.SKIP_THOUGHTS_TREC


def classify(
    features: Sequence[Features],
    tasks: Sequence[str],
    *,
    family: Family = "skip-thoughts",
    device: str = "auto",
    jobs: int = 1,
) -> list[tuple[Features, str, Classified]]:
    """Every task's labels from every kind of features, method by method; what was found before is not made again.

    Args:
        tasks: names of `sentbook.data.tasks`.
        jobs: evaluations side by side, each in a process of its own with one thread.
    """
    cells = [(one, name) for one in features for name in tasks]
    keys = [
        digest(
            {
                "version": OUTCOME_VERSION,
                "features": one.key(),
                "task": name,
                "protocol": str(protocol_of(task(name), family)),
            }
        )
        for one, name in cells
    ]
    made = outcomes(_classify, [(*cell, family, device) for cell in cells], keys, jobs)
    return [
        (one, name, Classified(protocol_of(task(name), family), **found))
        for (one, name), found in zip(cells, made, strict=True)
    ]


def _classify(one: Features, name: str, family: Family, device: str) -> Arrays:
    found, on = task(name), device_of(device)
    protocol = protocol_of(found, family)
    train, labels = _table(one, found.train, device), found.train.labels
    lengths = None if protocol.order == "shuffled" else _lengths(found.train)
    if found.test is None:
        made = _descended(partial(classification.nested, train, labels, protocol, lengths=lengths, device=on))
    else:
        given = (train, labels, _table(one, found.test, device), found.test.labels)
        made = _descended(partial(classification.train_and_test, *given, protocol, lengths=lengths, device=on))
    return {name: getattr(made, name) for name in ("gold", "predicted", "fold", "inner", "chosen")}


def regressed(
    train: NDArray[np.float32],
    labels: NDArray[np.int64],
    test: NDArray[np.float32],
    test_labels: NDArray[np.int64],
    device: str = "auto",
) -> Classified:
    """The labels of any test sentences by a regression on any training sentences, as Gan et al. 2017 do on TREC."""
    given, protocol = (train, labels, test, test_labels), classification.SKIP_THOUGHTS_TREC
    return _descended(partial(classification.train_and_test, *given, protocol, device=device_of(device)))


def _descended(evaluate: Callable[..., Classified]) -> Classified:
    try:
        return evaluate(precision="float32", tolerance=_TOLERANCE)
    except NumericalError:  # rounding stopped the descent
        return evaluate(precision="float64", tolerance=_TOLERANCE)


def _table(one: Features, examples: Examples, device: str) -> NDArray[np.float32]:
    vectors = one.vectors(examples.sentences, device)
    return vectors if examples.second is None else pair_features(*np.split(vectors, 2))


def _lengths(examples: Examples) -> NDArray[np.int64]:
    """(N,) tokens of each sentence, or (N, 2) of each pair's."""
    counts = np.array([len(TOKENISERS["ptb"](sentence)) for sentence in examples.sentences])
    return counts if examples.second is None else counts.reshape(2, -1).T
