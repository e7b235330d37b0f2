"""Frozen vectors as features: their order, which columns are neighbours, and outcomes that are not made again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sentbook.data.suites import ClassificationTask, Examples, task
from sentbook.data.text import TOKENISERS
from sentbook.data.vectors import Vectors
from sentbook.evaluation import classification, features
from sentbook.evaluation.classification import ClassificationProtocol, pair_features
from sentbook.evaluation.features import Family, Features, classify
from sentbook.models import encode
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.training.recipes import Recipe
from sentbook.training.runs import Outcome, load

pytestmark = pytest.mark.usefixtures("artifacts")
AVERAGE, RANDOM_CNN = AverageEncoder(), CNNEncoder(filters=4, bound=0.1)
SENTENCES = ["the dog sees a cat .", "the cook", "the dog sees a cat .", "a small dog runs", "the cook"]
# One of each way: no test set, a test set, pairs.
FAMILIES: tuple[Family, ...] = ("skip-thoughts", "SentEval")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ClassificationTask]:
    """The generated tasks with 180 examples to train on and 40 for the test."""

    def cut(part: Examples, size: int) -> Examples:
        return Examples(part.first[:size], part.second and part.second[:size], part.labels[:size])

    def made(name: str) -> ClassificationTask:
        whole = task(name)
        return ClassificationTask(name, whole.classes, cut(whole.train, 180), whole.test and cut(whole.test, 40))

    monkeypatch.setattr(features, "task", made)
    return made


def recipe(encoder: Encoder = AVERAGE, seed: int = 1, method: str = "average of words", **changes: Any) -> Recipe:
    values: dict[str, Any] = {"vectors": Vectors(name="miniworld"), "suite": "miniworld"}
    return Recipe(method=method, seed=seed, encoder=encoder, **values | changes)


def of(*given: Recipe | str, method: str = "average of words", seed: int = 1) -> Features:
    return Features(method, seed, given or (recipe(),))


def encoded(wanted: Recipe, sentences: list[str]) -> NDArray[np.float32]:
    trained = load(wanted)
    return encode(trained.encoder(), trained.vocabulary, sentences)


@pytest.mark.parametrize("encoder", [AVERAGE, RANDOM_CNN])
def test_vectors_keep_the_order_and_repeated_sentences(encoder: Encoder) -> None:
    found = of(recipe(encoder)).vectors(SENTENCES)
    assert found.dtype == np.float32 and len(found) == len(SENTENCES)
    np.testing.assert_array_equal(found[[2, 4]], found[[0, 1]])
    alone = np.concatenate([encoded(recipe(encoder), [sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(found, alone, atol=1e-6)
    assert np.abs(found[0] - found[1]).max() > 1e-3
    both = of(recipe(encoder), recipe()).vectors(SENTENCES)
    np.testing.assert_array_equal(both, np.hstack([found, of().vectors(SENTENCES)]))


def test_the_key_is_of_the_parts_and_their_order() -> None:
    one, other, later = recipe(), recipe(RANDOM_CNN), "all-minilm-l6-v2"
    every = [(one,), (other,), (one, other), (other, one), (recipe(RANDOM_CNN, seed=2),), (later,), (one, later)]
    assert len({of(*parts).key() for parts in every}) == len(every)
    assert of(recipe(method="another name"), method="x", seed=7).key() == of(one).key()


@pytest.mark.parametrize(
    ("name", "protocols"),
    [
        ("miniworld/sentiment", (classification.SKIP_THOUGHTS_NESTED, classification.SENTEVAL_NESTED)),
        ("miniworld/question", (classification.SKIP_THOUGHTS_TREC, classification.SENTEVAL_ONE_TEST)),
        ("miniworld/paraphrase", (classification.SKIP_THOUGHTS_MSRP, classification.SENTEVAL_ONE_TEST)),
    ],
)
@pytest.mark.parametrize("at", range(2), ids=FAMILIES)
def test_labels_are_those_of_the_familys_protocol_on_the_vectors(
    name: str, protocols: tuple[ClassificationProtocol, ...], at: int, few: Callable[[str], ClassificationTask]
) -> None:
    [(one, of_task, found)] = classify([of()], [name], family=FAMILIES[at], device="cpu")
    assert (one, of_task, found.protocol) == (of(), name, protocols[at])

    def table(part: Examples) -> NDArray[np.float32]:
        vectors = [encoded(recipe(), side) for side in (part.first, part.second) if side is not None]
        return vectors[0] if part.second is None else pair_features(*vectors)

    made = few(name)
    sides = [side for side in (made.train.first, made.train.second) if side is not None]
    lengths = np.array([[len(TOKENISERS["ptb"](sentence)) for sentence in side] for side in sides]).T
    given = table(made.train), made.train.labels
    test = None if made.test is None else (table(made.test), made.test.labels)
    expected = classification.evaluate(*given, protocols[at], test, lengths=lengths, precision="float32")
    for part in ("gold", "predicted", "fold", "inner", "chosen"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part), err_msg=part)
    assert 0 < (found.predicted == found.gold).mean() < 1


def test_no_two_outcomes_share_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other vectors, another task or another family."""
    keys, names = list[str](), ["miniworld/sentiment", "miniworld/product", "miniworld/question"]
    none = Outcome(dict.fromkeys(("gold", "predicted", "fold", "inner", "chosen"), np.zeros(0)), {})
    monkeypatch.setattr(features, "outcomes", lambda made, given, of, jobs: keys.extend(of) or [none] * len(of))
    for family in FAMILIES:
        classify([of(), of(recipe(RANDOM_CNN))], names, family=family)
    assert len(set(keys)) == len(keys) == 2 * 2 * 3


def test_a_sentence_is_cut_as_the_encoder_was_trained() -> None:
    found = of(recipe(tokenisation="content")).vectors(SENTENCES)
    trained = load(recipe())
    np.testing.assert_allclose(found, encode(trained.encoder(), trained.vocabulary, SENTENCES, "content"), atol=1e-6)
    assert np.abs(found - of().vectors(SENTENCES)).max() > 1e-3
