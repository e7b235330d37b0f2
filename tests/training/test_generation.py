"""The four models: books before training, what each predicts from what, sums of losses, and words after training."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from sentbook.data import vectors
from sentbook.data.novels import Books
from sentbook.data.text import TokenIds, Vocabulary
from sentbook.data.vectors import WordVectors
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.models.decoders import Kind
from sentbook.training.objectives import GenerationTraining, Start, Text
from sentbook.training.objectives.generation import expand, word_table
from sentbook.training.train import train

KINDS: list[Kind] = ["autoencoder", "future predictor", "composite", "hierarchical"]
kinds = pytest.mark.parametrize("kind", KINDS)
VOCABULARY = Vocabulary([f"w{chr(97 + number)}" for number in range(10)])
STAGE = GenerationTraining(
    corpus="miniworld-stories", books=60, vocabulary=200, hidden=8, paragraph=4, held_out=64, bound=0.1
)

pytestmark = pytest.mark.usefixtures("forgetful", "cache")


@pytest.fixture
def found() -> Books:
    return STAGE.read("ptb")


@pytest.fixture(scope="module")
def known() -> WordVectors:
    return vectors.load("miniworld")


def written(kind: Kind, books: list[int], seed: int = 0) -> Text:
    """Books of so many sentences; the first word of each sentence the last of the one before; paragraphs of 3."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, sum(books))
    flat = rng.integers(1, len(VOCABULARY), lengths.sum())
    offsets = np.concatenate([[0], lengths.cumsum()])
    flat[offsets[1:-1]] = flat[offsets[1:-1] - 1]
    starts = np.cumsum([0, *books])
    rows = np.arange(sum(books))
    paragraphs = [np.arange(start, end - 2, 3) for start, end in pairwise(starts)]
    kinds = {"autoencoder": rows, "hierarchical": np.concatenate(paragraphs)}
    return Text(TokenIds(flat, offsets), kinds.get(kind, np.delete(rows, starts[1:] - 1)))


def cnn(bound: float = 0.3) -> CNN:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return CNN(word_table(VOCABULARY, 6, bound=1.0, seed=1), CNNEncoder(filters=4, bound=bound))


def problem(kind: Kind, texts: tuple[Text, Text] | None = None, **changes: object) -> GenerationTraining:
    values = {"model": kind, "hidden": 5, "bound": 0.3, "epochs": 2, "batch_size": 4, "learning_rate": 0.01}
    values |= {"checks_per_epoch": 2, "paragraph": 3}
    settings = GenerationTraining(**values | changes)  # type: ignore[arg-type]
    texts = texts or (written(kind, [7, 1, 4, 9]), written(kind, [5, 3], seed=1))
    return settings.bind(Start(cnn(), VOCABULARY, 2), texts)


def loss(made: GenerationTraining, rows: Any) -> Tensor:
    return made.compute_loss(made.batch(rows))


def nats(forced: object) -> Tensor:
    features, rows, bias, target, _ = forced  # type: ignore[misc]
    return functional.cross_entropy(functional.linear(features, rows, bias), target, reduction="sum")


@kinds
def test_examples_lie_in_one_book_and_held_out_ones_in_other_books_for_every_seed(kind: Kind, found: Books) -> None:
    limited, length = STAGE.changed(model=kind, limit=100), {"autoencoder": 1, "hierarchical": 4}.get(kind, 2)
    (train, held), (again, _), (other, same) = (limited.load(seed, "miniworld") for seed in (1, 1, 2))
    book_of = np.searchsorted(found.offsets, np.arange(len(found)), side="right") - 1
    for rows, apart in ((train.rows, False), (held.rows, True)):
        assert (found.held[book_of[rows]] == apart).all()
        np.testing.assert_array_equal(book_of[rows], book_of[rows + length - 1])
    np.testing.assert_array_equal(held.rows, same.rows)
    np.testing.assert_array_equal(train.rows, again.rows)
    assert not np.array_equal(train.rows, other.rows)
    limits = (25, 16) if kind == "hierarchical" else (100, 64)  # paragraphs of four
    assert (len(train.rows), len(held.rows)) == limits


@kinds
def test_the_loss_is_that_of_sentences_one_by_one(kind: Kind) -> None:
    """The models' definitions spelt out: one sentence, one vector, one prediction at a time."""
    made = problem(kind)
    (tokens, rows), table, decoders = written(kind, [7, 1, 4, 9]), made.encoder.embedding, made._decoding.decoders

    def sentence(row: int) -> tuple[Tensor, Tensor]:
        ids, lengths = tokens.padded(np.array([row]), minimum=5)
        return torch.from_numpy(ids), torch.from_numpy(lengths)

    parts: dict[str, list[Tensor]] = {"same": [], "next": []}
    owner = np.repeat(np.arange(4), [7, 1, 4, 9])
    for row in range(len(tokens)):
        code = made.encoder(*sentence(row))
        if kind in ("composite", "future predictor") and (row + 1 == len(tokens) or owner[row] != owner[row + 1]):
            continue
        if kind in ("autoencoder", "composite"):
            parts["same"].append(nats(decoders["same"](table, *sentence(row), code)))
        if kind in ("future predictor", "composite"):
            parts["next"].append(nats(decoders["next"](table, *sentence(row + 1), code)))
    if kind == "hierarchical":
        for start in rows:
            for row in range(start, start + 3):
                before = [made.encoder(*sentence(other))[0] for other in range(start, row)]
                codes = torch.stack(before) if before else torch.zeros(0, made.encoder.dimension)
                state = decoders["next"].states(codes.unsqueeze(0))[:, -1]
                parts["next"].append(nats(decoders["next"].sentence(table, *sentence(row), state)))
    totals = made.totals(made.batch(np.arange(len(made.lengths))))
    for part, losses in parts.items():
        assert (part in totals) == bool(losses)
        if losses:
            assert totals[part][0].item() == pytest.approx(sum(losses).item(), rel=1e-5)  # type: ignore[union-attr]
    assert len(made.lengths) == {"autoencoder": 21, "hierarchical": 6}.get(kind, 17)


@kinds
def test_a_loss_is_a_mean_per_token_or_per_sentence(kind: Kind) -> None:
    rows = np.arange(5)
    by_token, by_sentence = problem(kind), problem(kind, per="sentence")
    totals = by_token.totals(by_token.batch(rows)).values()
    sentences = 15 if kind == "hierarchical" else 5
    assert loss(by_token, rows).item() == pytest.approx(sum(one[0].item() / one[1] for one in totals), rel=1e-6)
    expected = sum(one[0].item() / sentences for one in totals)
    assert loss(by_sentence, rows).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("start", ["zero", "code"])
@pytest.mark.parametrize("output", ["full", "tied"])
@kinds
def test_gradients_reach_every_parameter_of_every_variant(kind: Kind, start: str, output: str) -> None:
    made = problem(kind, start=start, output=output)
    loss(made, np.arange(6)).backward()
    for name, parameter in made._decoding.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert made.encoder.embedding.weight.grad is not None and not made.encoder.embedding.weight.grad[0].any()


@kinds
def test_validation_is_the_negative_loss_per_token(kind: Kind) -> None:
    made = problem(kind, floor=0.1)
    assert made.watched() == []
    value = made.judge()
    batch = made.batch(np.arange(len(written(kind, [5, 3], seed=1).rows)), part=1)
    totals = made.totals(batch)
    losses = {part: total.item() / words for part, (total, words) in totals.items()}
    assert value == pytest.approx(-sum(losses.values()), rel=1e-5)
    with torch.no_grad():
        for part, forced in made._decoding(*batch.sentences, size=3).items():
            assert losses[part] == pytest.approx(nats(forced).item() / len(forced.target), rel=1e-5)
    for row in made.watched():
        part = row["metric"].split()[3]
        assert (row["split"], row["value"]) == ("validation", pytest.approx(np.exp(losses[part]), rel=1e-5))
    assert len(made.watched()) == len(losses)


@kinds
def test_it_learns(kind: Kind) -> None:
    ordered = written(kind, [7, 1, 4, 9])
    made = problem(kind, (ordered, ordered), epochs=6)
    first = made.judge()
    assert train(made, seed=1, device="cpu", report=lambda _: None).best > first + 0.05


def test_learned_words_begin_as_noise_and_all_others_as_zeros(found: Books, known: WordVectors) -> None:
    vocabulary, table = STAGE.lexicon(found, known, seed=3)
    own = found.vocabulary.words
    assert vocabulary.words == [*own, *(word for word in known.words if word not in set(own))]
    np.testing.assert_array_equal(table[: 2 + len(own)], word_table(found.vocabulary, 50, 0.1, seed=3))
    assert not table[0].any() and not table[2 + len(own) :].any()
    assert 0.09 < table.abs().max() <= 0.1
    assert not torch.equal(table, STAGE.lexicon(found, known, seed=4)[1])


def test_fixed_words_are_the_pre_trained_vectors_bit_for_bit(found: Books, known: WordVectors) -> None:
    some = WordVectors(known.words[::2], known.matrix[::2])
    vocabulary, table = STAGE.changed(embedding_update="frozen").lexicon(found, some, seed=3)
    vectors_of = dict(zip(some.words, some.matrix, strict=True))
    mean = some.matrix.mean(axis=0)
    expected = [np.zeros(50), mean, *(vectors_of.get(word, mean) for word in vocabulary.words)]
    np.testing.assert_array_equal(table, np.stack(expected).astype(np.float32))
    assert len(vocabulary.words) > len(some.words) + 10


def test_other_words_get_what_the_least_squares_map_gives(found: Books, known: WordVectors) -> None:
    vocabulary, table = STAGE.lexicon(found, known, seed=1)
    own = found.vocabulary.words
    generator = torch.Generator().manual_seed(0)
    table[2 : 2 + len(own)] = torch.randn(len(own), 50, generator=generator)
    table[1] = 7.0
    learned = table[: 2 + len(own)].clone()
    expand(table, found, known)
    assert torch.equal(table[: 2 + len(own)], learned)
    index = {word: row for row, word in enumerate(known.words)}
    shared = [(index[word], at) for at, word in enumerate(own, start=2) if word in index]
    x, y = known.matrix[[row for row, _ in shared]], learned.numpy()[[at for _, at in shared]]
    mapping = np.linalg.lstsq(x.astype(np.float64), y.astype(np.float64), rcond=None)[0]
    others = known.matrix[[index[word] for word in vocabulary.words[len(own) :]]]
    np.testing.assert_array_equal(table[2 + len(own) :].numpy(), (others @ mapping).astype(np.float32))
