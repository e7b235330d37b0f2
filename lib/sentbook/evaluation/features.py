"""Frozen sentence vectors as features of a task: which encoders make them, and the tasks' outcomes, found or made."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sentbook.config import digest
from sentbook.data import modern
from sentbook.data.suites import ClassificationTask, Examples, task
from sentbook.data.text import TOKENISERS, Vocabulary
from sentbook.evaluation import classification
from sentbook.evaluation.classification import ClassificationProtocol, Classified, pair_features
from sentbook.models import SentenceEncoder, encode
from sentbook.training.devices import device_of
from sentbook.training.recipes import Recipe
from sentbook.training.runs import Outcome, load, outcomes

# Raise when a change to the code changes outcomes.
OUTCOME_VERSION = 1
Family = Literal["skip-thoughts", "SentEval"]


@dataclass(frozen=True)
class Features:
    """Sentences to vectors, by one encoder or by several whose vectors are joined.

    Attributes:
        method: as tables spell it.
        parts: recipes of encoders whose artifacts are there, or names of `sentbook.data.modern`.

    Source: Gan et al. 2017, section 4.2, for "combine": "concatenating the feature vectors".
    """

    method: str
    seed: int
    parts: tuple[Recipe | str, ...]

    def key(self) -> str:
        """Return a digest of all that decides the vectors."""
        return digest({"parts": [part if isinstance(part, str) else part.key() for part in self.parts]})

    def vectors(self, sentences: Sequence[str], device: str = "cpu") -> NDArray[np.float32]:
        """Return (N, F) vectors of N sentences.

        Raises:
            CheckpointError: an encoder has no artifact.
            DataError: a sentence is empty, or an optional package is missing.
        """
        distinct = list(dict.fromkeys(sentences))
        rows = {sentence: row for row, sentence in enumerate(distinct)}
        found = np.concatenate([_part(part, distinct, device) for part in self.parts], axis=1)
        return found[[rows[sentence] for sentence in sentences]]


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
    """Return how a family of protocols evaluates a task."""
    if family == "SentEval":
        return classification.SENTEVAL_NESTED if found.test is None else classification.SENTEVAL_ONE_TEST
    if found.test is None:
        return classification.SKIP_THOUGHTS_NESTED
    return classification.SKIP_THOUGHTS_MSRP if found.pairs else classification.SKIP_THOUGHTS_TREC


def classify(
    features: Sequence[Features],
    tasks: Sequence[str],
    *,
    family: Family = "skip-thoughts",
    device: str = "auto",
    jobs: int = 1,
) -> list[tuple[Features, str, Classified]]:
    """Predict every task's labels from every kind of features, method by method; what is cached is not made again.

    Args:
        tasks: names of `sentbook.data.suites`.
        jobs: evaluations side by side, each in a process of its own with one thread.
    """
    protocols = {name: protocol_of(task(name), family) for name in tasks}
    cells = [(one, name) for one in features for name in tasks]
    parts = [{"features": one.key(), "task": name, "protocol": str(protocols[name])} for one, name in cells]
    keys = [digest({"version": OUTCOME_VERSION, **part}) for part in parts]
    made = outcomes(_classify, [(*cell, family, device) for cell in cells], keys, jobs)
    return [(*cell, Classified(protocols[cell[1]], **found.arrays)) for cell, found in zip(cells, made, strict=True)]


def _classify(one: Features, name: str, family: Family, device: str) -> Outcome:
    found = task(name)
    protocol, train = protocol_of(found, family), _table(one, found.train, device)
    test = None if found.test is None else (_table(one, found.test, device), found.test.labels)
    lengths = None if protocol.order == "shuffled" else _lengths(found.train)
    on = device_of(device)
    made = classification.evaluate(train, found.train.labels, protocol, test, lengths=lengths, device=on)
    return Outcome({name: getattr(made, name) for name in ("gold", "predicted", "fold", "inner", "chosen")}, {})


def _table(one: Features, examples: Examples, device: str) -> NDArray[np.float32]:
    vectors = one.vectors(examples.sentences, device)
    return vectors if examples.second is None else pair_features(*np.split(vectors, 2))


def _lengths(examples: Examples) -> NDArray[np.int64]:
    """(N,) tokens of each sentence, or (N, 2) of each pair's."""
    counts = np.array([len(TOKENISERS["ptb"](sentence)) for sentence in examples.sentences])
    return counts if examples.second is None else counts.reshape(2, -1).T
