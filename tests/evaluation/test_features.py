"""Frozen vectors as features: their order, what stands beside what, and outcomes that are found and not made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sentbook.data.tasks import ClassificationTask, Examples, task
from sentbook.data.text import TOKENISERS
from sentbook.data.vectors import Vectors
from sentbook.evaluation import classification, features
from sentbook.evaluation.classification import Classified, pair_features
from sentbook.evaluation.features import Family, Features, classify, combined, protocol_of
from sentbook.models import encode
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.system.errors import CheckpointError, DataError, NumericalError
from sentbook.training.recipes import Recipe, load
from sentbook.training.settings import GenerationTraining

AVERAGE, RANDOM_CNN = AverageEncoder(), CNNEncoder(filters=4, bound=0.1)
SENTENCES = ["the dog sees a cat .", "the cook", "the dog sees a cat .", "a small dog runs", "the cook"]
# One of each way: no test set, a test set, pairs.
WAYS = ("miniworld/sentiment", "miniworld/question", "miniworld/paraphrase")
FAMILIES: tuple[Family, ...] = ("skip-thoughts", "SentEval")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    features._loaded.cache_clear()
    yield tmp_path / "artifacts"
    features._loaded.cache_clear()


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


def assert_same(one: Classified, other: Classified) -> None:
    assert one.protocol == other.protocol
    for name in ("gold", "predicted", "fold", "inner", "chosen"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def outcomes(folder: Path) -> list[Path]:
    return sorted(folder.rglob("outcome.safetensors"))


def fail(*given: Any) -> dict[str, NDArray[Any]]:
    raise AssertionError("this was made before")


# -- vectors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", [AVERAGE, RANDOM_CNN])
def test_vectors_keep_the_order_and_repeated_sentences(encoder: Encoder) -> None:
    found = of(recipe(encoder)).vectors(SENTENCES)
    assert found.dtype == np.float32 and len(found) == len(SENTENCES)
    np.testing.assert_array_equal(found[[2, 4]], found[[0, 1]])
    alone = np.concatenate([encoded(recipe(encoder), [sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(found, alone, atol=1e-6)
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_combined_vectors_stand_beside_each_other() -> None:
    first, second = of(recipe(RANDOM_CNN), method="random CNN", seed=3), of()
    both = combined("combine", first, second)
    assert (both.method, both.seed, both.parts) == ("combine", 3, (*first.parts, *second.parts))
    expected = np.hstack([first.vectors(SENTENCES), second.vectors(SENTENCES)])
    np.testing.assert_array_equal(both.vectors(SENTENCES), expected)
    assert expected.shape == (5, 12 + 50)
    three = combined("three", both, first)
    np.testing.assert_array_equal(three.vectors(SENTENCES)[:, -12:], first.vectors(SENTENCES))


def test_a_later_encoder_is_a_part_like_another(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, list[str]]] = []

    def made(name: str, sentences: list[str]) -> NDArray[np.float32]:
        asked.append((name, sentences))
        return np.arange(2 * len(sentences), dtype=np.float32).reshape(-1, 2)

    monkeypatch.setattr(features.modern, "sentence_vectors", made)
    found = of("all-minilm-l6-v2", recipe()).vectors(SENTENCES)
    assert asked == [("all-minilm-l6-v2", [SENTENCES[0], SENTENCES[1], SENTENCES[3]])]
    np.testing.assert_array_equal(found[:, :2], [[0, 1], [2, 3], [0, 1], [4, 5], [2, 3]])
    np.testing.assert_array_equal(found[:, 2:], of().vectors(SENTENCES))


def test_the_key_is_of_the_parts_and_their_order() -> None:
    one, other = recipe(), recipe(RANDOM_CNN)
    keys = [
        of(one).key(),
        of(other).key(),
        of(one, other).key(),
        of(other, one).key(),
        of(recipe(RANDOM_CNN, seed=2)).key(),
        of("all-minilm-l6-v2").key(),
        of("universal-sentence-encoder").key(),
    ]
    assert len(set(keys)) == len(keys)
    assert of(recipe(method="another name"), method="x", seed=7).key() == keys[0]


def test_an_encoder_without_artifact_and_an_empty_sentence_are_one_sentence() -> None:
    stage = GenerationTraining(corpus="miniworld-stories", books=5)
    with pytest.raises(CheckpointError):
        of(recipe(RANDOM_CNN, stages=(stage,))).vectors(SENTENCES)
    with pytest.raises(DataError):
        of().vectors(["the cook", "  "])


# -- classification ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "protocols"),
    [
        ("miniworld/sentiment", (classification.SKIP_THOUGHTS_NESTED, classification.SENTEVAL_NESTED)),
        ("miniworld/question", (classification.SKIP_THOUGHTS_TREC, classification.SENTEVAL_ONE_TEST)),
        ("miniworld/paraphrase", (classification.SKIP_THOUGHTS_MSRP, classification.SENTEVAL_ONE_TEST)),
    ],
)
def test_a_family_has_a_protocol_for_each_task(name: str, protocols: tuple[object, object]) -> None:
    assert tuple(protocol_of(task(name), family) for family in FAMILIES) == protocols


def direct(found: ClassificationTask, family: Family) -> Classified:
    """The evaluation without anything of `sentbook.evaluation.features` but its tolerance."""

    def table(part: Examples) -> NDArray[np.float32]:
        if part.second is None:
            return encoded(recipe(), part.first)
        vectors = encoded(recipe(), [*part.first, *part.second])
        return pair_features(vectors[: len(part)], vectors[len(part) :])

    def count(sentences: list[str]) -> list[int]:
        return [len(TOKENISERS["ptb"](sentence)) for sentence in sentences]

    train = found.train
    lengths = np.array(count(train.first) if train.second is None else [count(train.first), count(train.second)]).T
    options: dict[str, Any] = {"lengths": lengths, "tolerance": features._TOLERANCE}
    if found.test is None:
        nested = {"skip-thoughts": classification.SKIP_THOUGHTS_NESTED, "SentEval": classification.SENTEVAL_NESTED}
        return classification.nested(table(train), train.labels, nested[family], **options)
    one_test = classification.SKIP_THOUGHTS_MSRP if found.pairs else classification.SKIP_THOUGHTS_TREC
    protocol = classification.SENTEVAL_ONE_TEST if family == "SentEval" else one_test
    parts = table(train), train.labels, table(found.test), found.test.labels
    return classification.train_and_test(*parts, protocol, **options)


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_are_those_of_the_evaluation_itself(
    family: Family, few: Callable[[str], ClassificationTask], folder: Path
) -> None:
    found = classify([of()], WAYS, family=family, device="cpu")
    assert [(one, name) for one, name, _ in found] == [(of(), name) for name in WAYS]
    for _, name, classified in found:
        assert_same(classified, direct(few(name), family))
        assert 0 < classified.right.mean() < 1
    assert len(outcomes(folder)) == 3


def test_an_outcome_is_found_again(
    few: Callable[[str], ClassificationTask], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, names = [of(), of(recipe(RANDOM_CNN), method="random CNN")], WAYS[1:]
    made = classify(wanted, names, device="cpu")
    assert [(one.method, name) for one, name, _ in made] == [
        (method, name) for method in ("average of words", "random CNN") for name in names
    ]
    monkeypatch.setattr(features, "_classify", fail)
    for (one, name, before), (other, same, after) in zip(made, classify(wanted, names, device="cpu"), strict=True):
        assert (one, name) == (other, same)
        assert_same(before, after)
    # Another name for the same vectors is no other outcome.
    again = classify([of(recipe(method="x"), method="x", seed=5)], names, device="cpu")
    assert again[0][0].method == "x"
    assert_same(again[0][2], made[0][2])
    assert len(outcomes(folder)) == 4
    others: list[tuple[Features, str, Family]] = [
        (of(), names[0], "SentEval"),
        (of(), WAYS[0], "skip-thoughts"),
        (of(recipe(RANDOM_CNN, seed=2)), names[0], "skip-thoughts"),
        (combined("both", *wanted), names[0], "skip-thoughts"),
    ]
    for one, name, family in others:
        with pytest.raises(AssertionError, match="made before"):
            classify([one], [name], family=family, device="cpu")
    monkeypatch.setattr(features, "OUTCOME_VERSION", features.OUTCOME_VERSION + 1)
    with pytest.raises(AssertionError, match="made before"):
        classify([of()], names, device="cpu")


def test_where_rounding_stops_a_descent_double_precision_goes_on(
    few: Callable[[str], ClassificationTask], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    tried: list[str] = []
    evaluate = classification.train_and_test

    def stalled(*given: Any, precision: str, **named: Any) -> Classified:
        tried.append(precision)
        if precision == "float32":
            raise NumericalError("A regression does not converge.")
        return evaluate(*given, precision="float64", **named)

    monkeypatch.setattr(classification, "train_and_test", stalled)
    [(_, _, found)] = classify([of()], WAYS[2:], device="cpu")
    assert tried == ["float32", "float64"]
    assert found.right.mean() > 0.4

    def never(*given: Any, precision: str, **named: Any) -> Classified:
        raise NumericalError("A feature is NaN or infinite.")

    monkeypatch.setattr(classification, "train_and_test", never)
    with pytest.raises(NumericalError, match="NaN"):
        classify([of()], WAYS[1:2], device="cpu")
    assert len(outcomes(folder)) == 1
