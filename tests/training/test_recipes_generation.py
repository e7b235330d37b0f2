"""Training with decoders as a stage of a recipe: its key, its artifact, and the two encoders that come back from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentbook.data import vectors
from sentbook.data.text import UNKNOWN
from sentbook.data.vectors import Vectors
from sentbook.models import encode
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.encode import encode_ids
from sentbook.models.encoder_decoder import Kind
from sentbook.system.errors import CheckpointError, ConfigError, DataError
from sentbook.training import checkpoint, pretraining, recipes
from sentbook.training.problems.generation import GenerationProblem
from sentbook.training.recipes import Recipe, Trained, from_file, load, obtain, over_books, prepare_stage
from sentbook.training.settings import GenerationTraining, MarginTraining, SimilarityTraining, Stage

STAGE = GenerationTraining(
    corpus="miniworld-stories", books=60, vocabulary=200, hidden=8, epochs=1, checks_per_epoch=2, paragraph=4,
    held_out=64, bound=0.1, learning_rate=0.01,
)  # fmt: skip
FIXED: dict[str, Any] = {"embedding_update": "frozen"}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Books and artifacts of this module: what one test trains, the next one finds."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("generation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_CACHE", str(folder / "cache"))
        patch.setenv("SENTBOOK_ARTIFACTS", str(folder / "artifacts"))
        forget()
        yield folder
        forget()
    torch.set_num_threads(threads)


def forget() -> None:
    pretraining._prepared.cache_clear()
    recipes._book_words.cache_clear()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of artifacts of the test's own."""
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    return tmp_path / "artifacts"


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of trainings that are really run, in their order."""
    found: list[str] = []
    fit = recipes.fit

    def counted(*given: Any, **named: Any) -> Any:
        found.append(named["key"])
        return fit(*given, **named)

    monkeypatch.setattr(recipes, "fit", counted)
    return found


def recipe(*more: Stage, seed: int = 1, encoder: Encoder | None = None, **changes: Any) -> Recipe:
    stage = GenerationTraining(**STAGE.model_dump() | changes)
    return Recipe(
        method=f"{stage.model} model",
        seed=seed,
        vectors=Vectors(name="miniworld"),
        encoder=encoder or CNNEncoder(filters=8, bound=0.1),
        stages=(stage, *more),
        suite="miniworld",
    )


def trained(wanted: Recipe) -> Trained:
    [found] = obtain([wanted], device="cpu")
    return found


def artifact(wanted: Recipe) -> Path:
    return recipes._artifact(wanted)


def tensors(wanted: Recipe, file: str = "encoder") -> dict[str, torch.Tensor]:
    return checkpoint.load(artifact(wanted).with_name(f"{file}.safetensors"), wanted.key())[0]


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def shelf(folder: Path, count: int = 12) -> Path:
    """A folder of books from the mini-world's stories."""
    folder.mkdir()
    stories = pretraining.collection(STAGE)
    for name in stories.books[:count]:
        (folder / f"{name}.txt").write_text("\n".join(stories.read(name)) + "\n", encoding="utf-8")
    return folder


# -- the key -----------------------------------------------------------------------------------------------------------

OTHER: dict[str, Any] = {
    "epochs": 3, "batch_size": 21, "optimiser": "adamw", "learning_rate": 0.02, "embedding_update": "frozen",
    "pull_back_words": 0.5, "composition_decay": 0.5, "dropout": 0.2, "clip": None, "bucket": False,
    "checks_per_epoch": 1, "keep": "last", "precision": "bf16", "accumulate": 2, "model": "composite",
    "corpus": "novels", "path": "somewhere", "books": 61, "limit": 100, "held_out": None, "vocabulary": 201,
    "longest": 37, "paragraph": 5, "hidden": 9, "start": "code", "output": "tied", "bound": 0.2,
    "per": "sentence", "floor": 1e-6,
}  # fmt: skip
OTHER_CNN: dict[str, Any] = {"kind": None, "widths": (3, 4), "filters": 9, "padding": "released", "bound": 0.2}


def test_the_key_depends_on_every_field_that_decides_numbers() -> None:
    assert set(OTHER) == set(GenerationTraining.model_fields), "a new setting must be in this test"
    assert set(OTHER_CNN) == set(CNNEncoder.model_fields)
    stage = recipe().stages[0]
    variants = [recipe(), recipe(seed=2), recipe(STAGE)]
    variants += [
        recipe().model_copy(update={"stages": (stage.model_copy(update={name: value}),)})
        for name, value in OTHER.items()
    ]
    variants += [
        recipe(encoder=CNNEncoder(filters=8, bound=0.1).model_copy(update={name: value}))
        for name, value in OTHER_CNN.items() if name != "kind"
    ]  # fmt: skip
    keys = [variant.key() for variant in variants]
    assert len(set(keys)) == len(keys)
    assert recipe(SimilarityTraining(dataset="miniworld")).key(1) == recipe().key()


def test_the_key_of_novels_needs_no_novel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path))
    assert recipe(corpus="novels").key() != recipe().key()


def test_the_contents_of_a_folder_decide_the_key(tmp_path: Path) -> None:
    folder = shelf(tmp_path / "shelf")
    wanted = recipe(corpus="folder", path=str(folder), books=None)
    key, book = wanted.key(), folder / "000003.txt"
    text = book.read_text(encoding="utf-8")
    book.write_text(text + "The end.\n", encoding="utf-8")
    longer = wanted.key()
    book.rename(folder / "again.txt")
    renamed = wanted.key()
    (folder / "again.txt").unlink()
    fewer = wanted.key()
    assert len({key, longer, renamed, fewer}) == 4
    book.write_text(text, encoding="utf-8")
    (folder / "notes.md").write_text("not a book", encoding="utf-8")
    assert wanted.key() == key
    for file in folder.glob("*.txt"):
        file.unlink()
    with pytest.raises(DataError, match=r"holds no \.txt file; name a folder with one book a file"):
        wanted.key()


# -- the artifact ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["autoencoder", "future predictor", "composite", "hierarchical"])
def test_every_model_leaves_an_encoder_and_its_decoders(kind: Kind) -> None:
    wanted = recipe(model=kind)
    found = trained(wanted)
    names = {path.name for path in artifact(wanted).parent.iterdir()}
    assert names - {"lock"} == {"encoder.safetensors", "decoders.safetensors"}
    generator, vocabulary = found.generator()
    assert generator.kind == kind and not generator.training
    assert_same(dict(generator.decoders.state_dict()), tensors(wanted, "decoders"))
    problem = prepare_stage(wanted)
    assert isinstance(problem, GenerationProblem)
    assert found.metadata["pairs"] == len(problem.lengths)
    assert found.metadata["parameters"] == found.encoder().parameter_count()
    # Book words alone are stored: all of them were moved by the softmax.
    rows = tensors(wanted)["embedding.rows"]
    assert 0 < len(rows) == found.metadata["moved_words"] and rows.max() < len(vocabulary)
    # The state that is kept is the one that was best, decoders included.
    problem.model.load_state_dict(generator.state_dict())
    problem.model.eval()
    assert problem.validate() == found.metadata["history"]["best"]
    metrics = {point.metric for point in found.curve() if point.split == "validation"}
    assert metrics == {
        "log-likelihood per token", *(f"perplexity of the {part} sentence" for part in generator.decoders)
    }  # fmt: skip


def test_nothing_is_trained_twice_and_the_seed_decides(trainings: list[str], own: Path) -> None:
    wanted = [recipe(seed=1), recipe(seed=2), recipe(seed=1)]
    obtain(wanted, device="cpu")
    obtain(wanted, device="cpu")
    assert trainings == [recipe(seed=1).key(), recipe(seed=2).key()]
    one, other = (tensors(recipe(seed=seed), "decoders") for seed in (1, 2))
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_training_begins_with_the_untrained_encoder_over_its_books(monkeypatch: pytest.MonkeyPatch, own: Path) -> None:
    began: list[dict[str, torch.Tensor]] = []
    fit = recipes.fit

    def watched(problem: Any, *given: Any, **named: Any) -> Any:
        began.append({name: value.clone() for name, value in problem.encoder.state_dict().items()})
        return fit(problem, *given, **named)

    monkeypatch.setattr(recipes, "fit", watched)
    trained(recipe())
    assert_same(began[0], dict(over_books(recipe()).state_dict()))
    assert len(began[0]["embedding.weight"]) == 202


def test_a_folder_of_books_is_trained_on(tmp_path: Path, trainings: list[str], own: Path) -> None:
    folder = shelf(tmp_path / "shelf", 30)
    wanted = recipe(corpus="folder", path=str(folder), books=None)
    found = trained(wanted)
    generator, vocabulary = found.generator()
    read = pretraining.books(found.recipe.stages[0], "ptb")  # type: ignore[arg-type]
    assert read.names == tuple(f"{number:06}" for number in range(30))
    assert generator.encoder.embedding.weight.shape == (len(vocabulary), 50)
    trained(wanted)
    assert trainings == [wanted.key()]
    (folder / "000004.txt").write_text("The dog ran.\nThe cat sat.\n", encoding="utf-8")
    with pytest.raises(CheckpointError):  # of other books
        load(wanted)


# -- fixed words -------------------------------------------------------------------------------------------------------


def test_fixed_words_stay_the_pre_trained_vectors_bit_for_bit() -> None:
    wanted = recipe(**FIXED)
    found, known = trained(wanted), vectors.load("miniworld")
    assert found.metadata["moved_words"] == 0 and not len(tensors(wanted)["embedding.moved"])
    weight = found.encoder().embedding.weight.detach().numpy()
    generator, words = found.generator()
    row = {word: at for at, word in enumerate(known.words)}
    vocabulary = found.vocabulary
    assert set(vocabulary.words) == {*known.words, *words.words}
    for at, word in enumerate(vocabulary.words, start=2):
        if word in row:
            np.testing.assert_array_equal(weight[at], known.matrix[row[word]])
    np.testing.assert_array_equal(generator.encoder.embedding.weight.detach(), weight[: len(words)])
    # Filters were trained all the same.
    filters = [value.detach() for value in over_books(wanted).composition()]
    assert not any(torch.equal(old, new) for old, new in zip(filters, generator.encoder.composition(), strict=True))


# -- learned words -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, FIXED], ids=["learned", "fixed"])
def test_both_encoders_give_a_sentence_of_book_words_the_same_vector(changes: dict[str, Any]) -> None:
    found = trained(recipe(**changes))
    generator, words = found.generator()
    stage = found.recipe.generation
    assert stage is not None
    books = pretraining.books(stage, "ptb")
    flat, offsets = books.tokens.flat, books.tokens.offsets
    rows = [row for row in range(len(books)) if (flat[offsets[row] : offsets[row + 1]] != UNKNOWN).all()][:40]
    said = [books.text(row) for row in rows]
    expected = encode_ids(generator.encoder, words.encode(said, "whitespace"))
    np.testing.assert_array_equal(encode(found.encoder(), found.vocabulary, said, "whitespace"), expected)
    assert expected.std(axis=0).min() > 0
    # The training's own text gives it too.
    ids, lengths = books.tokens.padded(np.array(rows), generator.encoder.minimum_length)
    with torch.inference_mode():
        codes = generator.encode(torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(lengths))
    np.testing.assert_allclose(codes.numpy(), expected, atol=1e-6)


def test_other_words_are_mapped_from_their_pre_trained_vectors() -> None:
    found, known = trained(recipe()), vectors.load("miniworld")
    generator, words = found.generator()
    weight, learned = found.encoder().embedding.weight.detach().numpy(), generator.encoder.embedding.weight.detach()
    own = len(words)
    np.testing.assert_array_equal(weight[:own], learned)
    row = {word: at for at, word in enumerate(known.words)}
    shared = [(row[word], at) for at, word in enumerate(words.words, start=2) if word in row]
    x, y = known.matrix[[at for at, _ in shared]], learned.numpy()[[at for _, at in shared]]
    mapping = np.linalg.lstsq(x.astype(np.float64), y.astype(np.float64), rcond=None)[0]
    others = found.vocabulary.words[own - 2 :]
    assert others == [word for word in known.words if word not in set(words.words)]
    expected = (known.matrix[[row[word] for word in others]] @ mapping).astype(np.float32)
    np.testing.assert_array_equal(weight[own:], expected)
    assert np.abs(expected).max() > 0.01
    # So a sentence of other words has a vector, which without the map would be that of zeros.
    zeros = found.encoder()
    with torch.no_grad():
        zeros.embedding.weight[own:] = 0
    said = [" ".join(others[:6])]
    assert np.abs(encode(found.encoder(), found.vocabulary, said) - encode(zeros, found.vocabulary, said)).max() > 1e-3


def test_an_artifact_is_an_encoder_wherever_it_lies() -> None:
    wanted = recipe()
    found, said = from_file(artifact(wanted).parent), ["the dog sees a cat", "the cook"]
    assert found.recipe == wanted
    expected = encode(trained(wanted).encoder(), load(wanted).vocabulary, said)
    np.testing.assert_array_equal(encode(found.encoder(), found.vocabulary, said), expected)


# -- stages ------------------------------------------------------------------------------------------------------------


def test_a_stage_with_decoders_must_be_the_first(trainings: list[str], own: Path) -> None:
    before = MarginTraining(corpora=("miniworld-phrases",), validation="miniworld")
    stage = recipe().stages[0]
    for stages in ((before, stage), (stage, stage)):
        with pytest.raises(ConfigError, match=r"^Training with decoders starts an encoder; make it the first stage\.$"):
            prepare_stage(recipe().model_copy(update={"stages": stages}))
    assert trainings == []


def test_a_later_stage_goes_on_from_all_words(monkeypatch: pytest.MonkeyPatch, own: Path) -> None:
    """Words beyond the books are mapped once: what the later stage then learns of them stays."""
    later = SimilarityTraining(dataset="miniworld", epochs=1, learning_rate=0.01)
    first = trained(recipe())
    states: list[dict[str, torch.Tensor]] = []
    fit = recipes.fit

    def watched(problem: Any, *given: Any, **named: Any) -> Any:
        states.append({name: value.clone() for name, value in problem.encoder.state_dict().items()})
        history = fit(problem, *given, **named)
        states.append({name: value.clone() for name, value in problem.encoder.state_dict().items()})
        return history

    monkeypatch.setattr(recipes, "fit", watched)
    second = trained(recipe(later))
    assert_same(states[0], dict(first.encoder().state_dict()))
    assert not torch.equal(states[0]["embedding.weight"][202:], states[1]["embedding.weight"][202:])
    assert_same(states[1], dict(second.encoder().state_dict()))


# -- decoders that are not there ---------------------------------------------------------------------------------------


def test_missing_and_truncated_decoders_are_one_sentence(own: Path) -> None:
    wanted = recipe()
    found = trained(wanted)
    file = artifact(wanted).with_name("decoders.safetensors")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=r"is truncated or not a checkpoint; delete it and run again\.$"):
        found.generator()
    file.unlink()
    sentence = r"^The decoders beside .*encoder\.safetensors are missing; delete the folder and run again\.$"
    with pytest.raises(CheckpointError, match=sentence):
        found.generator()
    found.encoder()  # needs none


def test_an_encoder_without_decoders_is_one_sentence() -> None:
    later = SimilarityTraining(dataset="miniworld")
    untrained = recipe().model_copy(update={"stages": (), "method": "random CNN"})
    for wanted in (untrained, recipe().model_copy(update={"stages": (later,), "method": "random CNN"})):
        with pytest.raises(CheckpointError, match=r"^random CNN was not trained with a decoder; choose a CNN-LSTM"):
            Trained(wanted, {}).generator()
    with pytest.raises(CheckpointError, match="was not trained with a decoder"):
        Trained(recipe(later), {}).generator()
