"""Recipes of every kind of stage: what their keys depend on, and what comes back from their artifacts, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
import torch
from torch import Tensor

import trainings
from kept import forget
from sentbook import config
from sentbook.config import Section
from sentbook.data import suites, vectors
from sentbook.data.text import TOKENISERS, UNKNOWN
from sentbook.data.vectors import Vectors
from sentbook.io import CheckpointError, ConfigError, DataError, artifacts
from sentbook.models import encode
from sentbook.models.average import AverageEncoder
from sentbook.models.base import EncoderOptions
from sentbook.models.build import ENCODERS
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.decoders import Kind
from sentbook.models.encode import encode_ids
from sentbook.models.wsv import WSVEncoder
from sentbook.training import checkpoint, recipes
from sentbook.training.objectives import (
    AnyObjective,
    DirectTransfer,
    EntailmentTraining,
    GenerationTraining,
    HeadTraining,
    RelatednessTraining,
    SimilarityTraining,
    Start,
)
from sentbook.training.recipes import Recipe, over_books, untrained
from sentbook.training.runs import Trained, from_file, load, obtain, prepare_stage
from sentbook.training.train import train
from trainings import PHRASE, STORIES, assert_same

SIMILARITY = SimilarityTraining(dataset="miniworld", epochs=2, batch_size=45, dropout=0.1, learning_rate=0.01)
PARAPHRASE = SimilarityTraining(dataset="miniworld-paraphrase", epochs=1, score="euclidean", loss="cross-entropy")
HEAD = HeadTraining(dataset="miniworld", epochs=1, hidden=5)
STAGES: list[AnyObjective] = [
    PHRASE, SIMILARITY, DirectTransfer(dataset="miniworld", epochs=1), HEAD, STORIES,
    EntailmentTraining(corpus="miniworld-entailment", epochs=1, hidden=5),
    RelatednessTraining(dataset="miniworld", epochs=1, hidden=5, normalise=True),
]  # fmt: skip
WSV, CNN = WSVEncoder(filters=4), CNNEncoder(filters=8, bound=0.1)
HEAD_ALONE = HEAD.model_copy(update={"frozen": True, "embedding_update": "frozen"})
SAID = ["the dog sees a cat", "the cook"]


pytestmark = pytest.mark.usefixtures("store")


def recipe(*stages: AnyObjective, **changes: Any) -> Recipe:
    return trainings.recipe(*stages, **{"encoder": WSV} | changes)


def told(*more: AnyObjective, encoder: EncoderOptions = CNN, **changes: Any) -> Recipe:
    """A model that decodes stories."""
    return recipe(STORIES.model_copy(update=changes), *more, encoder=encoder)


def trained(wanted: Recipe) -> Trained:
    [found] = obtain([wanted], device="cpu")
    return found


def folder(wanted: Recipe) -> Path:
    return artifacts() / wanted.key()


def tensors(wanted: Recipe) -> dict[str, Tensor]:
    return checkpoint.load(folder(wanted) / "encoder.safetensors", wanted.key())[0]


# -- the key -----------------------------------------------------------------------------------------------------------


def other(section: Section, name: str) -> Any:
    """Another value of a setting than the one it has."""
    value, annotation = getattr(section, name), type(section).model_fields[name].annotation
    if get_origin(annotation) is Literal:
        return next(choice for choice in get_args(annotation) if choice != value)
    if name in (known := {"corpora": ("miniworld-sentences",), "path": "somewhere"}):
        return known[name]
    if isinstance(value, tuple):
        return (value[0] + 1, *value[1:])
    if value is None:
        return 7
    return not value if isinstance(value, bool) else value + type(value)(1)


def variants(section: Section) -> list[Any]:
    return [
        section.model_copy(update={name: other(section, name)}) for name in type(section).model_fields if name != "kind"
    ]


def test_the_key_depends_on_every_setting_of_every_kind_but_the_methods_name() -> None:
    assert {type(stage) for stage in STAGES} == set(get_args(AnyObjective)), "a new kind of stage must be in this test"
    encoders = [kind.options for kind in ENCODERS.values()]
    every = [recipe(), recipe(PHRASE, SIMILARITY), recipe(SIMILARITY, PHRASE), recipe(PHRASE, PHRASE)]
    stages = [kind for stage in STAGES for kind in (stage, *variants(stage))]
    every += [recipe().model_copy(update={"stages": (kind,)}) for kind in stages]  # some go with others alone
    every += [recipe(encoder=kind) for one in encoders for kind in (one, *variants(one)) if kind != WSV]
    every += [recipe(PHRASE, **{name: value}) for name, value in {
        "seed": 2, "vectors": Vectors(name="glove-6b-50d"), "encoder": CNN, "tokenisation": "words", "suite": "sts",
        "random_words": True,
    }.items()]  # fmt: skip
    keys = {one.key(): one for one in every}
    assert len(keys) == len(every)
    assert recipe(method="other").key() == recipe().key()
    cumulative = recipe(PHRASE, SIMILARITY)
    assert cumulative.before.key() == recipe(PHRASE).key() != cumulative.key()
    assert cumulative.before.then(SIMILARITY) == cumulative


def test_a_foreign_encoder_is_refused() -> None:
    settings = config.load("cse", {})
    with pytest.raises(ConfigError, match="'encoder' in the recipe of mine"):
        recipes.recipes(settings, "mine", torch.nn.Linear(1, 1))  # type: ignore[arg-type]


def test_the_contents_of_files_decide_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def own(file: str) -> str:
        return recipe(PHRASE, vectors=Vectors(name="file", path=str(tmp_path / file))).key()

    for file, text in (("one", "cat 1 2\n"), ("same", "cat 1 2\n"), ("other", "cat 1 3\n")):
        (tmp_path / file).write_text(text)
    assert own("one") == own("same") != own("other")
    folder = tmp_path / "shelf"
    folder.mkdir()
    books = told(corpus="folder", path=str(folder), books=None)
    with pytest.raises(DataError, match=r"holds 0 \.txt files; put at least 5 books"):
        books.key()
    for name in "abcdef":
        (folder / f"{name}.txt").write_text("Two.\n")
    keys = {books.key()}
    (folder / "a.txt").write_text("One.\n")
    keys.add(books.key())
    (folder / "a.txt").rename(folder / "g.txt")
    keys.add(books.key())
    (folder / "notes.md").write_text("not a book")
    keys.add(books.key())
    keys.add(told(corpus="folder", path=str(folder.rename(tmp_path / "moved shelf")), books=None).key())
    assert len(keys) == 3
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path))
    told(corpus="novels").key()  # needs no novel


def test_the_key_changes_with_the_code_of_artifacts_and_of_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of files are pinned by their digests, not by the generator."""
    real = PHRASE.model_copy(update={"corpora": ("ppdb",), "validation": "sts2016"})
    glove: dict[str, Any] = {"vectors": Vectors(name="glove-6b-50d"), "suite": "sts"}
    every = recipe(real, **glove), recipe(PHRASE), recipe(SIMILARITY, **glove), recipe(PARAPHRASE, **glove)
    before = [one.key() for one in every]
    monkeypatch.setattr(recipes, "FINGERPRINT", "another generator")
    assert [one.key() == key for one, key in zip(every, before, strict=True)] == [True, False, False, False]
    monkeypatch.setattr(recipes, "VERSION", recipes.VERSION + 1)
    assert every[0].key() not in before


# -- what an artifact holds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted",
    [
        *(recipe(stage) for stage in STAGES if not isinstance(stage, GenerationTraining)),
        recipe(SIMILARITY.model_copy(update={"keep": "last"})),
        recipe(SIMILARITY.model_copy(update={"embedding_update": "dense"}), encoder=WSVEncoder(filters=4, layers=2)),
        recipe(SIMILARITY.model_copy(update={"new_words": "shared"}), encoder=AverageEncoder(), tokenisation="stems"),
        recipe(SIMILARITY.model_copy(update={"embedding_update": "frozen"}), random_words=True),
        recipe(PHRASE, SIMILARITY, encoder=CSEEncoder(filters=3)),
        recipe(SIMILARITY, SIMILARITY.model_copy(update={"embedding_update": "frozen"}), HEAD_ALONE),
        told(SIMILARITY),
        told(HEAD_ALONE),
    ],
)  # fmt: skip
def test_what_training_left_comes_back_bit_for_bit(wanted: Recipe, tmp_path: Path) -> None:
    """The same training by hand, on the objective on top of the stages before, leaves the same encoder."""
    found = trained(wanted)
    objective, stage = prepare_stage(wanted), wanted.stages[-1]
    began = {name: value.clone() for name, value in objective.encoder.state_dict().items()}
    if wanted.before.stages:
        start = load(wanted.before).encoder().state_dict()
        assert_same(began | {name: began[name][: len(value)] for name, value in start.items()}, start)
    train(objective, seed=wanted.seed, device="cpu", report=lambda line: None)
    elsewhere = tmp_path / "given away.safetensors"
    elsewhere.write_bytes((folder(wanted) / "encoder.safetensors").read_bytes())
    for item in (found, load(wanted), *map(from_file, (elsewhere, folder(wanted)))):
        encoder = item.encoder()
        assert item.recipe == wanted and not encoder.training
        assert_same(encoder.state_dict(), objective.encoder.state_dict())
        np.testing.assert_array_equal(
            encode(encoder, item.vocabulary, SAID), encode(objective.encoder.eval(), found.vocabulary, SAID)
        )
    # It holds the whole encoder, of the words the rows that differ from the initial ones.
    stored, after = tensors(wanted), objective.encoder.state_dict()["embedding.weight"]
    assert stored.keys() == began.keys() - {"embedding.weight"} | {"embedding.rows", "embedding.moved"}
    initial = untrained(wanted.changed(random_words=False))[0].embedding.weight.detach()[: len(after)]
    assert stored["embedding.rows"].tolist() == (after != initial).any(dim=1).nonzero().flatten().tolist()
    assert len(stored["embedding.rows"]) == found.metadata["moved_words"] < len(initial)
    # And it says what it was trained on.
    assert found.metadata["key"] == wanted.key() and Recipe.model_validate(found.metadata["recipe"]) == wanted
    assert found.metadata["pairs"] == len(objective.lengths)
    checks = [point for point in found.curve() if point.split == "validation"]
    assert len(checks) == stage.epochs * stage.checks_per_epoch


@pytest.mark.parametrize("rescale", [False, True])
def test_a_head_predicts_from_vectors_as_they_are(rescale: bool) -> None:
    """Where it was trained on vectors of size one, it divides them itself."""
    wanted = recipe(PHRASE, HEAD_ALONE.changed(rescale=rescale, epochs=2, learning_rate=0.1))
    found = trained(wanted)
    encoder, pairs, head = found.encoder(), suites.pairs("miniworld", "test"), found.head()
    with torch.inference_mode():
        both = [torch.from_numpy(encode(encoder, found.vocabulary, side)) for side in (pairs.first, pairs.second)]
        predicted = head.expectation(head(*both)).numpy()  # type: ignore[operator]
    low, high = 1, round(pairs.scale[1] - pairs.scale[0]) + 1
    np.testing.assert_allclose((predicted - low) / (high - low), found.scores("test"), atol=1e-5)
    with pytest.raises(CheckpointError, match=r"head\.safetensors cannot be read"):
        trained(recipe(PHRASE)).head()


@pytest.mark.usefixtures("forgetful")
def test_rows_of_other_words_are_not_put_on_these(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of vectors may be replaced by one with more words, or with others in its first rows."""
    wanted = recipe(PHRASE, encoder=CSEEncoder(filters=3))
    found, known = trained(wanted), vectors.load("miniworld")
    more = vectors.WordVectors([*known.words, "unheard-of"], np.vstack([known.matrix, known.matrix[:1]]))
    others = vectors.WordVectors([*known.words[1::-1], *known.words[2:]], known.matrix)
    forget()
    monkeypatch.setattr(vectors, "load", lambda **given: more)
    assert len(found.encoder().embedding.weight) == len(more.words) + 2
    forget()
    monkeypatch.setattr(vectors, "load", lambda **given: others)
    for read in (found.encoder, lambda: prepare_stage(wanted.then(HEAD))):
        with pytest.raises(CheckpointError, match="was trained with other words than miniworld has here"):
            read()


def test_no_stage_is_the_untrained_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "none"))
    changes: list[dict[str, Any]] = [{}, {"seed": 2}, {"random_words": True}]
    plain, same, random = obtain([recipe(encoder=AverageEncoder(), **change) for change in changes])
    assert not (tmp_path / "none").exists()
    words = [item.encoder().embedding.weight for item in (plain, same, random)]
    assert torch.equal(words[0], words[1]) and not torch.equal(words[0], words[2])
    assert not words[2][0].any()
    assert plain.curve() == [] and plain.cost().seconds == 0


# -- scored pairs ------------------------------------------------------------------------------------------------------


def recomputed(found: Trained, split: str) -> np.ndarray:
    stage = found.recipe.stages[-1]
    assert isinstance(stage, SimilarityTraining)
    splits = {name: suites.pairs(stage.dataset, name) for name in ("train", "trial", "test")}
    return stage.bind(Start(found.encoder(), found.vocabulary), splits).scores(split)


def test_scores_are_those_of_the_best_and_of_the_last_state() -> None:
    wild = SIMILARITY.changed(learning_rate=0.2, epochs=3, checks_per_epoch=2)
    best, last = obtain([recipe(wild), recipe(wild.changed(keep="last"))], device="cpu")
    history = best.metadata["history"]
    assert history["best_step"] < history["examples"]  # the best state is not the last
    for split in ("trial", "test"):
        np.testing.assert_allclose(best.scores(split), recomputed(best, split), atol=1e-6)
        np.testing.assert_allclose(best.scores(split, "last"), recomputed(last, split), atol=1e-6)
        assert np.abs(best.scores(split, "best") - best.scores(split, "last")).max() > 1e-2
        assert (last.scores(split, "best") == best.scores(split, "last")).all()
    gold = suites.pairs("miniworld", "trial").gold
    assert history["best"] == pytest.approx(np.corrcoef(best.scores("trial"), gold)[0, 1])
    with pytest.raises(CheckpointError, match="was not trained on scored pairs, so it has no scores of them"):
        trained(recipe(PHRASE)).scores("test")


def without_vector(dataset: str) -> list[str]:
    """The distinct words of a data set that have none, in the order met."""
    known, found = set(vectors.load("miniworld").words), dict[str, None]()
    for split in ("train", "trial", "test"):
        pairs = suites.pairs(dataset, split)
        found |= dict.fromkeys(word for said in (*pairs.first, *pairs.second) for word in TOKENISERS["ptb"](said))
    return [word for word in found if word not in known]


def test_words_without_a_vector_get_rows_of_their_own_or_share_one() -> None:
    base, wanted = vectors.load("miniworld"), recipe(SIMILARITY, PARAPHRASE)
    encoder, vocabulary = untrained(wanted)
    new = list(dict.fromkeys(without_vector("miniworld") + without_vector("miniworld-paraphrase")))
    assert len(new) > 5 and vocabulary.words == [*base.words, *new]
    weight, own = encoder.embedding.weight.detach(), len(base.words) + 2
    assert torch.equal(weight[:own], untrained(recipe())[0].embedding.weight)
    assert len(torch.unique(weight[[UNKNOWN, *range(own, len(vocabulary))]], dim=0)) == len(new) + 1
    # About as far from the mean as the words that are known.
    spread = (weight[own:] - weight[2:own].mean(0)).square().mean() / weight[2:own].std(0).square().mean()
    assert 0.4 < float(spread) < 2
    # The seed draws them; a later stage adds rows and leaves those of the stage before.
    for seed in (1, 2):
        first, words = untrained(recipe(SIMILARITY, seed=seed))
        chain, _ = untrained(recipe(SIMILARITY, PARAPHRASE, seed=seed))
        assert vocabulary.words[: len(words.words)] == words.words and len(words) < len(vocabulary)
        assert torch.equal(chain.embedding.weight[: len(words)], first.embedding.weight)
        assert torch.equal(chain.embedding.weight, weight) == (seed == 1)
    shared, fewer = untrained(recipe(SIMILARITY.model_copy(update={"new_words": "shared"})))
    assert fewer.words == list(base.words) and len(shared.embedding.weight) == len(fewer)
    assert {fewer.id(word) for word in without_vector("miniworld")} == {UNKNOWN}


# -- decoders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_model_leaves_an_encoder_and_its_decoders(kind: Kind) -> None:
    wanted = told(model=kind)
    found, problem = trained(wanted), prepare_stage(wanted)
    assert isinstance(problem, GenerationTraining)
    assert_same(problem.encoder.state_dict(), over_books(wanted).state_dict())
    history = train(problem, seed=1, device="cpu", report=lambda line: None)
    generator, vocabulary = found.generator()
    assert generator.kind == kind and not generator.training
    assert_same(generator.state_dict(), problem._decoding.state_dict())
    assert found.metadata["history"]["best"] == history.best
    # Book words alone are stored: all of them were moved by the softmax.
    rows = tensors(wanted)["embedding.rows"]
    assert 0 < len(rows) == found.metadata["moved_words"] and rows.max() < len(vocabulary)


@pytest.mark.parametrize("update", ["dense", "frozen"])
def test_both_encoders_give_a_sentence_of_book_words_the_same_vector(update: str) -> None:
    found = trained(told(embedding_update=update))
    generator, words = found.generator()
    stage = found.recipe.generation
    assert stage and found.encoder().embedding.weight[: len(words)].equal(generator.encoder.embedding.weight)
    books = stage.read("ptb")
    said = [text for row in range(len(books)) if "<unk>" not in (text := books.text(row))][:40]
    expected = encode_ids(generator.encoder, words.encode(said, "whitespace"))
    np.testing.assert_array_equal(encode(found.encoder(), found.vocabulary, said, "whitespace"), expected)
    filters = zip(over_books(found.recipe).composition(), generator.encoder.composition(), strict=True)
    assert not any(torch.equal(old, new) for old, new in filters)


def test_another_seed_draws_other_beginnings() -> None:
    """Of a composition, of random word vectors, and of an encoder over its books."""
    words = {"encoder": AverageEncoder(), "random_words": True}
    for begun in (
        lambda seed: untrained(recipe(seed=seed))[0].composition(),
        lambda seed: [untrained(recipe(seed=seed, **words))[0].embedding.weight],
        lambda seed: over_books(told().changed(seed=seed)).composition(),
    ):
        one, same, other = (list(begun(seed)) for seed in (1, 1, 2))
        assert all(map(torch.equal, one, same)) and not all(map(torch.equal, one, other))
