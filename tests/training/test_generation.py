"""The four models: what each predicts from what, sums of losses, and training through the one loop."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from sentbook.data import novels
from sentbook.data.text import TokenIds, Vocabulary
from sentbook.data.types import Stories
from sentbook.io import DataError
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.models.decoders import DecoderOptions
from sentbook.models.encoder_decoder import EncoderDecoder, Kind
from sentbook.training.objectives import GenerationTraining, Start
from sentbook.training.objectives.books import OrderedSentences, examples, word_table
from sentbook.training.train import train

KINDS: list[Kind] = ["autoencoder", "future predictor", "composite", "hierarchical"]
kinds = pytest.mark.parametrize("kind", KINDS)
VOCABULARY = Vocabulary([f"w{chr(97 + number)}" for number in range(10)])


def written(books: list[int], seed: int = 0, size: int = 3) -> OrderedSentences:
    """Books of so many sentences; the first word of each sentence is the last of the one before."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, sum(books))
    flat = rng.integers(1, len(VOCABULARY), lengths.sum())
    offsets = np.concatenate([[0], lengths.cumsum()])
    flat[offsets[1:-1]] = flat[offsets[1:-1] - 1]
    starts = np.cumsum([0, *books])
    rows = np.arange(sum(books))
    paragraphs = [np.arange(start, end - size + 1, size) for start, end in pairwise(starts)]
    return OrderedSentences(
        TokenIds(flat, offsets), rows, np.delete(rows, starts[1:] - 1), np.concatenate(paragraphs), size
    )


def cnn(bound: float = 0.3) -> CNN:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return CNN(word_table(VOCABULARY, 6, bound=1.0, seed=1), CNNEncoder(filters=4, bound=bound))


def model(kind: Kind, bound: float = 0.3) -> EncoderDecoder:
    return EncoderDecoder(cnn(bound), kind, DecoderOptions(hidden=5, bound=bound), seed=2)


Texts = tuple[OrderedSentences, OrderedSentences]


def problem(kind: Kind, texts: Texts | None = None, **changes: object) -> GenerationTraining:
    values = {"model": kind, "hidden": 5, "bound": 0.3, "epochs": 2, "batch_size": 4, "learning_rate": 0.01}
    settings = GenerationTraining(**values | {"checks_per_epoch": 2, **changes})  # type: ignore[arg-type]
    return settings.bind(Start(cnn(), VOCABULARY, 2), texts or (written([7, 1, 4, 9]), written([5, 3], seed=1)))


def nats(forced: object) -> Tensor:
    features, rows, bias, target, _ = forced  # type: ignore[misc]
    return functional.cross_entropy(functional.linear(features, rows, bias), target, reduction="sum")


# -- text --------------------------------------------------------------------------------------------------------------


def test_books_within_limits_are_cut_into_sentences_pairs_and_paragraphs(cache: Path) -> None:
    told = Stories("made", [["a b", "c", "d e f g", "h", "i", "j", "k"], ["l", "m", "n"], ["held out"]])
    books = novels.prepare(novels.stories(told), every=3)
    ordered = OrderedSentences.of(books, "train", novels.Limits(longest=3), size=2)
    assert ordered.sentences.tolist() == [0, 1, 3, 4, 5, 6, 7, 8, 9]
    assert ordered.firsts.tolist() == [0, 3, 4, 5, 7, 8]
    assert ordered.paragraphs.tolist() == [0, 3, 5, 7]
    some = ordered.at_most(4, np.random.default_rng(0))
    assert (len(some.sentences), len(some.firsts), len(some.paragraphs)) == (4, 4, 2)
    assert set(some.firsts) <= set(ordered.firsts) and sorted(some.firsts) == some.firsts.tolist()
    assert ordered.at_most(None, np.random.default_rng(0)) is ordered


def test_what_goes_beyond_the_last_sentence_is_refused() -> None:
    ordered = written([4, 3])
    for changes in ({"sentences": np.array([0, 7])}, {"firsts": np.array([6])}, {"paragraphs": np.array([0, 5])}):
        with pytest.raises(DataError, match="cut the text"):
            replace(ordered, **changes)


def test_a_memory_map_of_small_integers_is_read_alike(tmp_path: Path) -> None:
    ordered = written([7, 4])
    np.save(tmp_path / "flat.npy", ordered.tokens.flat.astype(np.uint16))
    mapped = replace(ordered, tokens=TokenIds(np.load(tmp_path / "flat.npy", mmap_mode="r"), ordered.tokens.offsets))
    for kind in KINDS:
        rows, rng = np.arange(3), np.random.default_rng(0)
        losses = [problem(kind, (one, one)).compute_loss(rows, rng).item() for one in (ordered, mapped)]
        assert losses[0] == losses[1]


# -- what is predicted from what ---------------------------------------------------------------------------------------


@kinds
def test_the_loss_is_that_of_sentences_one_by_one(kind: Kind) -> None:
    """The models' definitions spelt out: one sentence, one vector, one prediction at a time."""
    made = problem(kind)
    ordered, table, decoders = written([7, 1, 4, 9]), made.encoder.embedding, made._decoding.decoders

    def sentence(row: int) -> tuple[Tensor, Tensor]:
        ids, lengths = ordered.tokens.padded(np.array([row]), minimum=5)
        return torch.from_numpy(ids), torch.from_numpy(lengths)

    parts: dict[str, list[Tensor]] = {"same": [], "next": []}
    owner = np.repeat(np.arange(4), [7, 1, 4, 9])
    for row in range(len(ordered)):
        code = made.encoder(*sentence(row))
        if kind in ("composite", "future predictor") and (row + 1 == len(ordered) or owner[row] != owner[row + 1]):
            continue
        if kind in ("autoencoder", "composite"):
            parts["same"].append(nats(decoders["same"](table, *sentence(row), code)))
        if kind in ("future predictor", "composite"):
            parts["next"].append(nats(decoders["next"](table, *sentence(row + 1), code)))
    if kind == "hierarchical":
        for start in ordered.paragraphs:
            for row in range(start, start + ordered.size):
                before = [made.encoder(*sentence(other))[0] for other in range(start, row)]
                codes = torch.stack(before) if before else torch.zeros(0, made.encoder.dimension)
                state = decoders["next"].states(codes.unsqueeze(0))[:, -1]
                parts["next"].append(nats(decoders["next"].sentence(table, *sentence(row), state)))
    totals = made.totals("train", np.arange(len(made.lengths)))
    for part, losses in parts.items():
        assert (part in totals) == bool(losses)
        if losses:
            assert totals[part][0].item() == pytest.approx(sum(losses).item(), rel=1e-5)  # type: ignore[union-attr]
            assert made.counts(np.arange(len(made.lengths)))[part] == totals[part][1]
    assert len(made.lengths) == {"autoencoder": 21, "hierarchical": 6}.get(kind, 17)


@kinds
def test_a_loss_is_a_mean_per_token_or_per_sentence(kind: Kind) -> None:
    rows, rng = np.arange(5), np.random.default_rng(0)
    by_token, by_sentence = problem(kind), problem(kind, per="sentence")
    totals = by_token.totals("train", rows).values()
    sentences = 15 if kind == "hierarchical" else 5
    assert by_token.compute_loss(rows, rng).item() == pytest.approx(
        sum(one[0].item() / one[1] for one in totals), rel=1e-6
    )
    expected = sum(one[0].item() / sentences for one in totals)
    assert by_sentence.compute_loss(rows, rng).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("start", ["zero", "code"])
@pytest.mark.parametrize("output", ["full", "tied"])
@kinds
def test_gradients_reach_every_parameter_of_every_variant(kind: Kind, start: str, output: str) -> None:
    ordered = written([7, 1, 4, 9])
    made = problem(kind, (ordered, ordered), start=start, output=output)
    made.compute_loss(np.arange(6), np.random.default_rng(0)).backward()
    for name, parameter in made._decoding.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert made.encoder.embedding.weight.grad is not None and not made.encoder.embedding.weight.grad[0].any()


def test_books_of_one_sentence_have_no_pairs() -> None:
    short = written([1, 1])
    for kind in ("future predictor", "composite", "hierarchical"):
        with pytest.raises(DataError, match="no example"):
            problem(kind, (short, short))
    assert problem("autoencoder", (short, short)).judge() < 0


# -- judging -----------------------------------------------------------------------------------------------------------


@kinds
def test_validation_is_the_negative_loss_per_token(kind: Kind) -> None:
    made = problem(kind, floor=0.1)
    assert made.watched() == []
    value = made.judge()
    rows = np.arange(len(examples(written([5, 3], seed=1), kind)))
    totals = made.totals("held out", rows)
    losses = {part: total.item() / words for part, (total, words) in totals.items()}
    assert value == pytest.approx(-sum(losses.values()), rel=1e-5)
    with torch.no_grad():
        batch = made.batch("held out", rows)
        for part, forced in made._decoding(batch).items():
            assert losses[part] == pytest.approx(nats(forced).item() / len(forced.target), rel=1e-5)
    for row in made.watched():
        part = row["metric"].split()[3]
        assert (row["split"], row["value"]) == ("validation", pytest.approx(np.exp(losses[part]), rel=1e-5))
    assert len(made.watched()) == len(losses)


# -- training ----------------------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("update", ["dense", "frozen"])
def test_it_learns(kind: Kind, update: str) -> None:
    ordered = written([7, 1, 4, 9])
    made = problem(kind, (ordered, ordered), epochs=6, embedding_update=update)
    before = made.encoder.embedding.weight.detach().clone()
    first = made.judge()
    assert train(made, seed=1, device="cpu", report=lambda _: None).best > first + 0.05
    moved = not torch.equal(made.encoder.embedding.weight, before)
    assert moved == (update != "frozen")
    assert not made.encoder.embedding.weight[0].any()


def test_adam_in_one_pass_gives_the_numbers_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for fused in (True, False):
        monkeypatch.setattr(GenerationTraining, "fused", fused)
        made = problem("composite")
        train(made, seed=1, device="cpu", report=lambda _: None)
        found.append(torch.cat([value.detach().ravel() for value in made._decoding.parameters()]))
    torch.testing.assert_close(*found, atol=1e-4, rtol=0)
