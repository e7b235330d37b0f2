"""What decoders write and which sentences lie nearest: the pages that show text, each with a measure beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from sentbook import records as results
from sentbook.data import vectors as word_vectors
from sentbook.data.analogies import Analogies, miniworld_analogies, template_analogies
from sentbook.data.novels import Books, Limits, Rows
from sentbook.data.text import UNKNOWN, TokenIds, Vocabulary
from sentbook.evaluation.predictions import KIND
from sentbook.evaluation.statistics import mean_bootstrap
from sentbook.models import SentenceEncoder
from sentbook.models.average import Average
from sentbook.models.decoders import LSTMDecoder
from sentbook.models.encode import encode, encode_ids
from sentbook.models.encoder_decoder import EncoderDecoder
from sentbook.papers.cnn_lstm import arithmetic, nearest
from sentbook.papers.cnn_lstm.experiments import random_start
from sentbook.papers.cnn_lstm.settings import Settings
from sentbook.training.pretraining import books, texts
from sentbook.training.problems.generation import examples, text
from sentbook.training.recipes import Trained, over_books

# -- pre-training ------------------------------------------------------------------------------------------------------


def perplexities(trained: Iterable[Trained]) -> list[results.Metric]:
    """The held-out perplexity of each decoder at the best check."""
    rows = []
    for item in trained:
        history = item.metadata["history"]
        points = [
            point
            for point in history["curve"]
            if point["step"] == history["best_step"] and str(point["metric"]).startswith("perplexity")
        ]
        stage = item.recipe.generation
        assert stage is not None
        found = books(stage, item.recipe.tokenisation)
        rows += [
            results.Metric(
                method=item.method,
                dataset=stage.corpus,
                metric=point["metric"],
                protocol=f"held-out books, sentences of at most {stage.longest} words, {stage.vocabulary:,} words",
                seed=item.seed,
                value=point["value"],
                n=len(examples(texts(stage, found, item.seed)[1], stage.model)),
            )
            for point in points
        ]
    return rows


def perplexity_frame(run: results.Run | None) -> pd.DataFrame:
    """A row a model, the mean over seeds."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in run.metrics if run is not None else ():
        name = row.metric.removeprefix("perplexity of the ")
        found.setdefault(row.method, {}).setdefault(name, []).append(row.value)
    return pd.DataFrame(
        [
            {"model": name, **{part: f"{np.mean(values):.1f}" for part, values in parts.items()}}
            for name, parts in found.items()
        ]
    ).fillna("")


def text_size(found: Books, trained: Sequence[Trained]) -> dict[str, object]:
    """How much text was read, and how much of it was trained on."""
    return {
        "books": len(found.names),
        "held-out books": int(found.held.sum()),
        "sentences": len(found),
        "words outside the vocabulary": found.unknown_share(),
        "held-out words outside the vocabulary": found.unknown_share("held out"),
        "examples": {item.method: item.metadata["pairs"] for item in trained},
    }


def spread(rows: Rows, count: int) -> Rows:
    """``count`` of the rows at equal distances."""
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.int64)]


def encodable(found: Books, known: Sequence[str]) -> int:
    """Words that have a vector after the vocabulary's expansion."""
    return len({*found.vocabulary.words, *known})


def held_out(found: Books, *, words: int = 12) -> Rows:
    """Held-out sentences of learned words, short enough to read, in the order of the books."""
    rows = found.rows("held out", Limits(4, words))
    flat, offsets = found.tokens.flat, found.tokens.offsets
    return np.array([row for row in rows if (flat[offsets[row] : offsets[row + 1]] != UNKNOWN).all()], dtype=np.int64)


def ids_of(found: Books, rows: Rows) -> list[list[int]]:
    """The ids of each of the sentences ``rows``."""
    flat, offsets = found.tokens.flat, found.tokens.offsets
    return [flat[offsets[row] : offsets[row + 1]].tolist() for row in rows]


@torch.inference_mode()
def codes(model: EncoderDecoder, tokens: TokenIds, rows: Rows | None = None) -> torch.Tensor:
    """(N, F) vectors of the sentences ``rows``; None: of all."""
    ids, lengths = tokens.padded(np.arange(len(tokens)) if rows is None else rows, model.encoder.minimum_length)
    return model.encode(torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(lengths))


def written(
    models: Mapping[str, EncoderDecoder],
    vocabulary: Vocabulary,
    tokens: TokenIds,
    rows: Rows | None = None,
    *,
    limit: int = 25,
) -> dict[str, list[str]]:
    """What each decoder of each model writes from the vectors of sentences, by a title for the column."""
    columns = {}
    for name, model in models.items():
        vectors = codes(model, tokens, rows)
        for part, decoder in model.decoders.items():
            assert isinstance(decoder, LSTMDecoder)
            for how, beam in (("greedy", 1), ("beam of 5", 5)):
                if part == "next" and how == "greedy":
                    continue
                made = decoder.beam(model.encoder.embedding, vectors, beam, limit, [UNKNOWN])
                columns[f"{name}: {part}, {how}"] = [text(one.words, vocabulary) for one in made]
    return columns


def paragraphs(
    model: EncoderDecoder, found: Books, count: int, *, told: int = 4, more: int = 3
) -> tuple[list[list[str]], list[list[str]], list[list[str]]]:
    """Held-out paragraphs: their first sentences, what the hierarchical model goes on with, and what the book says."""
    starts = found.paragraphs("held out", told + more, Limits(longest=20))
    begun, went_on, truth = [], [], []
    for row in spread(starts, count):
        begun.append([found.text(at) for at in range(row, row + told)])
        truth.append([found.text(at) for at in range(row + told, row + told + more)])
        went_on.append(_continued(model, found.vocabulary, ids_of(found, np.arange(row, row + told)), more))
    return begun, went_on, truth


def _continued(
    model: EncoderDecoder, vocabulary: Vocabulary, sentences: Sequence[Sequence[int]], more: int
) -> list[str]:
    made = model.continuation(sentences, more, limit=25, forbidden=[UNKNOWN])
    return [text(one.words, vocabulary) for one in made]


# Sentences of this book's own, so that what the recorded models write from them can be recorded with them.
OWN = (
    "she closed the door and went out into the garden .",
    "he did not know what to say to her .",
    "the old man sat by the fire and looked at the child .",
    "what do you want of me ?",
    "in the morning they walked down to the river .",
    "the ship was lost in the storm , and no one came back .",
    "i am sure that you are right , said he .",
    "nobody in the house had heard the clock .",
)
OWN_PARAGRAPH = (
    "the rain had stopped at last .",
    "she put on her hat and took her coat .",
    "her mother stood at the window and said nothing .",
    "the road was wet and quite empty .",
)


def own_text(
    models: Mapping[str, EncoderDecoder], hierarchical: EncoderDecoder, vocabulary: Vocabulary
) -> dict[str, Any]:
    """What the decoders write from ``OWN``, and how the hierarchical model goes on with ``OWN_PARAGRAPH``."""
    paragraph = vocabulary.encode(OWN_PARAGRAPH, "whitespace")
    sentences = [paragraph.flat[a:b].tolist() for a, b in pairwise(paragraph.offsets)]
    return {
        "sentences": list(OWN),
        "columns": written(models, vocabulary, vocabulary.encode(OWN, "whitespace")),
        "paragraph": list(OWN_PARAGRAPH),
        "continued": _continued(hierarchical, vocabulary, sentences, 3),
    }


def recorded_text(run: results.Run | None) -> dict[str, Any]:
    """`own_text` of a recorded run; empty where there is none."""
    empty: dict[str, Any] = {"sentences": [], "columns": {}, "paragraph": [], "continued": []}
    return empty if run is None else run.extra.get("written", empty)


# -- table 1 -----------------------------------------------------------------------------------------------------------


def successes(
    outcomes: Sequence[arithmetic.Outcome], method: str, dataset: str, resamples: int = 2000
) -> list[results.Test]:
    """A - B + C minus A alone and minus C alone, of each measure: paired bootstrap over analogies."""
    found = {(each.of, each.measure, each.protocol): each for each in outcomes}
    tests = []
    for (of_, measure, protocol), each in found.items():
        if of_ != "A - B + C":
            continue
        for mark in ("A", "C"):
            other = found.get((mark, measure, protocol))
            if other is None:
                continue
            tests.append(
                paired(
                    each.values - other.values,
                    (f"{method}: A - B + C", f"{method}: {mark}"),
                    f"{dataset}, {protocol}",
                    "accuracy" if measure in WHOLE else measure,
                    resamples,
                )
            )
    return tests


# Measures that are right or wrong for each analogy.
WHOLE = ("exact match", "nearest")


def rates_frame(run: results.Run | None, method: str) -> pd.DataFrame:
    """Each measure in percent: a row a measure and protocol, a column a sum of vectors.

    Of what is right or wrong with Wilson's 95 % interval.
    """
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for row in run.metrics if run is not None else ():
        if row.method == method:
            of, _, how = row.protocol.partition(", ")
            words = f"{100 * row.value:.1f}"
            if row.metric in WHOLE:
                found = arithmetic.share(round(row.value * row.n), row.n)
                words += f" [{100 * found.low:.1f}, {100 * found.high:.1f}]"
            rows.setdefault((row.metric, how), {})[of] = words
    return pd.DataFrame([{"measure, %": name, "how": how, **row} for (name, how), row in rows.items()]).fillna("")


def written_right(tests: Sequence[results.Test]) -> list[results.Test]:
    """Those that judge the claim: the sentence is written in every word."""
    return [test for test in tests if test.metric == "accuracy" and "beam" in test.dataset]


def controlled(settings: Settings) -> Analogies:
    """Analogies with known answers, of the world that the model was trained on."""
    if settings.pretraining.corpus == "miniworld-stories":
        return miniworld_analogies(240)
    return template_analogies(240)


def own_vectors(model: EncoderDecoder, vocabulary: Vocabulary) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """Sentences to vectors over the words of the model's books."""
    return lambda sentences: encode_ids(model.encoder, vocabulary.encode(sentences))


def known(analogies: Analogies, vocabulary: Vocabulary) -> Analogies:
    """Those whose words the decoder can write."""
    return analogies.take(analogies.known(vocabulary))


# -- table 2 -----------------------------------------------------------------------------------------------------------

MEASURED = 500


@dataclass(frozen=True)
class Searched:
    """Queries and the sentences among which their nearest is searched, rows of ``books``.

    Attributes:
        queries: (Q,) drawn by a fixed seed from those of at most 16 words.
        rows: distinct held-out sentences.
    """

    books: Books
    queries: Rows
    rows: Rows

    def text(self, at: int) -> str:
        """The words of a query."""
        return self.books.text(self.queries[at])


def searched(trained: Trained, settings: Settings) -> Searched:
    """Held-out sentences of five words and more, and queries among them."""
    stage = trained.recipe.generation
    assert stage is not None
    found = books(stage, trained.recipe.tokenisation)
    rows = nearest.distinct(found.tokens, found.rows("held out", Limits(min(5, stage.longest), stage.longest)))
    rng = np.random.default_rng(0)
    if len(rows) > settings.candidates:
        rows = np.sort(rng.choice(rows, settings.candidates, replace=False))
    offsets = found.tokens.offsets
    short = rows[offsets[rows + 1] - offsets[rows] <= 16]
    return Searched(found, rng.permutation(short)[: max(MEASURED, settings.queries)], rows)


def nearest_of(what: Searched, encoder: SentenceEncoder) -> nearest.Nearest:
    """The nearest sentence of each query, itself and its repetitions left out."""
    tokens = what.books.tokens
    blocks = list(nearest.encoded(encoder, tokens, what.queries))
    order = np.concatenate([rows for rows, _ in blocks])
    place = {row: at for at, row in enumerate(order.tolist())}
    asked = torch.cat([vectors for _, vectors in blocks])[[place[row] for row in what.queries.tolist()]]
    return nearest.search(
        nearest.encoded(encoder, tokens, what.rows), asked, 1, nearest.excluded(tokens, what.queries, what.rows)
    )


def untrained_encoder(trained: Trained, settings: Settings) -> SentenceEncoder:
    """The same encoder over the same words before its training, with filters of a common size."""
    return over_books(trained.recipe.model_copy(update={"encoder": random_start(settings, fixed=True)})).eval()


def likeness(
    what: Searched, found: Mapping[str, nearest.Nearest], settings: Settings
) -> dict[str, NDArray[np.float64]]:
    """(Q,) cosines of each query and what was found for it, by the averages of their pre-trained words.

    Beside what was found stands a random sentence, of as many words as the query.
    """
    known = word_vectors.load(settings.vectors.name, settings.vectors.path)
    judge, vocabulary = Average(torch.from_numpy(word_vectors.embedding_matrix(known))), Vocabulary(known.words)
    offsets = what.books.tokens.offsets
    lengths, rng = offsets[what.rows + 1] - offsets[what.rows], np.random.default_rng(1)
    by_length = {length: what.rows[lengths == length] for length in np.unique(lengths)}

    def other(row: int) -> int:
        alike = by_length[offsets[row + 1] - offsets[row]]
        alike = alike[alike != row] if len(alike) > 1 else alike
        return int(rng.choice(alike))

    chosen = {name: one.rows[:, 0] for name, one in found.items()}
    chosen["random sentence"] = np.array([other(row) for row in what.queries])

    def unit(rows: Rows) -> NDArray[np.float64]:
        table = encode(judge, vocabulary, [what.books.text(row) for row in rows], "whitespace").astype(np.float64)
        return np.asarray(table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12))

    asked = unit(what.queries)
    return {name: (asked * unit(rows)).sum(axis=1) for name, rows in chosen.items()}


JUDGED = "cosine of averaged word vectors"


def likeness_metrics(found: Mapping[str, NDArray[np.float64]], what: Searched) -> list[results.Metric]:
    """The mean over queries."""
    protocol = f"{JUDGED}, of a query and one of {len(what.rows):,} sentences"
    return [
        results.Metric(
            method=name,
            dataset=what.books.name,
            metric="likeness",
            protocol=protocol,
            seed=None,
            value=float(values.mean()),
            n=len(values),
        )
        for name, values in found.items()
    ]


def likeness_frame(run: results.Run | None) -> pd.DataFrame:
    """What was found, and how like the query it is."""
    rows = run.metrics if run is not None else []
    return pd.DataFrame(
        [{"found": row.method, "likeness": round(row.value, 3), "queries": row.n, "how": row.protocol} for row in rows]
    )


def likeness_tests(found: Mapping[str, NDArray[np.float64]], resamples: int) -> list[results.Test]:
    """What the trained encoder finds against each mark: paired bootstrap over queries."""
    return [
        paired(found["nearest"] - values, ("nearest", name), "held-out sentences", "likeness", resamples)
        for name, values in found.items()
        if name != "nearest"
    ]


def paired(
    difference: NDArray[np.float64], names: tuple[str, str], dataset: str, metric: str, resamples: int
) -> results.Test:
    """The mean of (N,) differences with its interval and p-value, by the bootstrap over items."""
    found = mean_bootstrap(difference, resamples, [0])
    return results.Test.of(found, kind=KIND, a=names[0], b=names[1], dataset=dataset, metric=metric)
