"""Sums and differences of sentence vectors: what a decoder writes from them, and which sentence lies nearest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from sentbook import records as results
from sentbook.data.analogies import Analogies
from sentbook.data.text import TOKENISERS, UNKNOWN, Tokenisation, Vocabulary
from sentbook.evaluation.statistics import Estimate, mean_bootstrap
from sentbook.models.decoders import LSTMDecoder
from sentbook.models.encode import encode_ids
from sentbook.models.encoder_decoder import EncoderDecoder
from sentbook.system.errors import ConfigError, NumericalError
from sentbook.training.problems.generation import text

Array = NDArray[np.float64]
Encode = Callable[[Sequence[str]], ArrayLike]
Sum = Literal["A - B + C", "A", "C", "D"]
# What is multiplied by z(A), z(B), z(C) and z(D). A and C alone are marks of chance, D is the most that can be reached.
SUMS: dict[Sum, tuple[int, int, int, int]] = {
    "A - B + C": (1, -1, 1, 0),
    "A": (1, 0, 0, 0),
    "C": (0, 0, 1, 0),
    "D": (0, 0, 0, 1),
}
MEASURES = ("exact match", "changed words present", "other words gone")

# Cosines closer than this are equal: they come from vectors in float32.
_EQUAL = 1e-6


@dataclass(frozen=True)
class Outcome:
    """How well one sum of vectors did on each of N analogies.

    Attributes:
        of: the sum of sentence vectors.
        measure: what is counted, see `generation` and `retrieval`.
        protocol: how, as table headers print it.
        values: (N,) in [0, 1], 0 or 1 where an analogy is right or wrong.
        kinds: N names of the analogies' factors.
    """

    of: Sum
    measure: str
    protocol: str
    values: Array
    kinds: list[str]

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    def estimate(self, resamples: int = 2000, seed: int = 0) -> Estimate:
        """The mean with its 95 % interval: Wilson's for right and wrong, else of the bootstrap over analogies."""
        if np.isin(self.values, (0.0, 1.0)).all():
            return share(int(self.values.sum()), len(self.values))
        return replace(mean_bootstrap(self.values, resamples, [seed]), p=None)


def share(right: int, count: int) -> Estimate:
    """How many of ``count`` are right, with Wilson's 95 % interval.

    Example:
        >>> found = share(9, 10)
        >>> round(found.estimate, 2), round(found.low, 2), round(found.high, 2)
        (0.9, 0.6, 0.98)
    """
    from scipy import stats  # a second to load

    found = stats.binomtest(right, count).proportion_ci(0.95, method="wilson")
    return Estimate(right / count, float(found.low), float(found.high))


@dataclass(frozen=True)
class Written:
    """What was generated.

    Attributes:
        sentences: of each sum N sentences, words with spaces between. They are for showing and belong in no record.
        outcomes: a row for each sum and measure.
    """

    sentences: dict[Sum, list[str]]
    outcomes: list[Outcome]


def combined(vectors: Sequence[NDArray[np.float32]], of: Sum) -> NDArray[np.float32]:
    """(N, F) sums of four times (N, F) vectors of A, B, C and D."""
    total = sum(weight * each for weight, each in zip(SUMS[of], vectors, strict=True))
    return np.asarray(total, dtype=np.float32)


def generation(
    model: EncoderDecoder,
    vocabulary: Vocabulary,
    analogies: Analogies,
    sums: Sequence[Sum] = tuple(SUMS),
    *,
    beam: int = 5,
    limit: int = 40,
    tokenisation: Tokenisation = "ptb",
) -> Written:
    r"""Sentences that the decoder of the same sentence writes from $z^* = z(A) - z(B) + z(C)$, and how like D they are.

    | measure               | of one analogy                                                                         |
    |-----------------------|----------------------------------------------------------------------------------------|
    | exact match           | 1 where the words are those of D, in their order                                       |
    | changed words present | share of the words of D that are not both in A and in C, which the sentence has        |
    | other words gone      | share of the words of A and of C that D has not, which the sentence has not either     |

    A sentence without any word has all other words gone: the last two are to be read together. Where there is no such
    word the share is 1. The marks are the same from z(C) and z(A) alone (half of the changed words are theirs), and
    from z(D), which is plain reconstruction.

    Source: Gan et al. 2017, section 4.1 and table 1; width 5 and 40 steps in the released code. The paper prints four
    examples and measures nothing.
    Deviations: the unknown word is never written.

    Args:
        analogies: those whose D has an unknown word cannot be matched; see `Analogies.known`.

    Raises:
        ConfigError: the model has no decoder of the same sentence.
    """
    if "same" not in model.decoders:
        raise ConfigError(f"A {model.kind} model does not write its own sentence; take an autoencoder or a composite.")
    decoder = model.decoders["same"]
    assert isinstance(decoder, LSTMDecoder)
    ids = [vocabulary.encode(column, tokenisation) for column in _columns(analogies)]
    words = [[each.flat[a:b].tolist() for a, b in zip(each.offsets, each.offsets[1:], strict=False)] for each in ids]
    vectors = [encode_ids(model.encoder, each) for each in ids]
    table = model.encoder.embedding
    protocol = f"beam of {beam}, at most {limit} steps"
    written, outcomes = dict[Sum, list[str]](), list[Outcome]()
    for of in sums:
        codes = torch.from_numpy(combined(vectors, of)).to(table.weight.device)
        found = [each.words for each in decoder.beam(table, codes, beam, limit, [UNKNOWN])]
        written[of] = [text(each, vocabulary) for each in found]
        values = np.array([_likeness(each, *four) for each, four in zip(found, zip(*words, strict=True), strict=True)])
        outcomes += [
            Outcome(of, measure, protocol, column, analogies.kinds)
            for measure, column in zip(MEASURES, values.reshape(-1, len(MEASURES)).T, strict=True)
        ]
    return Written(written, outcomes)


def _likeness(found: list[int], a: list[int], b: list[int], c: list[int], d: list[int]) -> tuple[float, float, float]:
    changed, other = set(d) - (set(a) & set(c)), (set(a) | set(c)) - set(d)
    present, left = changed & set(found), other & set(found)
    return (
        float(found == d),
        len(present) / len(changed) if changed else 1.0,
        1 - len(left) / len(other) if other else 1.0,
    )


def retrieval(
    encode: Encode,
    analogies: Analogies,
    sums: Sequence[Sum] = ("A - B + C", "A", "C"),
    *,
    tokenisation: Tokenisation = "ptb",
) -> list[Outcome]:
    r"""Whether D is the nearest to $z^* = z(A) - z(B) + z(C)$ by cosine, among the sentences of all the analogies.

    All A, B, C and D take part, and their `others`. Without others and without A, B and C nothing but D would be left
    of the same scene or frame, and z(C) alone would find it; with two for either factor chance is about a third.
    Sentences of the same words are one. The analogy's own A, B and C are left out, as is the custom with analogies of
    words, or not (``inputs kept``); then they are often nearer than D. A wrong sentence whose cosine is equal (to 1e-6)
    comes first, so that equal vectors for everything find nothing.

    | measure         | of one analogy                            |
    |-----------------|-------------------------------------------|
    | nearest         | 1 where D has rank 1                      |
    | reciprocal rank | 1 / the rank of D among those not left out |

    It asks for vectors alone, so that any encoder can be measured. An average of words finds D by construction where
    the words of D are A - B + C, unless another sentence has the same words: that mark says how easy the analogies are.

    Source: Gan et al. 2017, section 4.1, for the sum; the search is that of Mikolov et al. 2013 for words.

    Args:
        encode: N sentences to (N, F) vectors.

    Raises:
        NumericalError: a vector is NaN or infinite.
    """
    tokenise = TOKENISERS[tokenisation]
    place: dict[tuple[str, ...], int] = {}
    first: list[str] = []
    columns = []
    for column in (*_columns(analogies), [sentence for more in analogies.others for sentence in more]):
        rows = []
        for sentence in column:
            words = tuple(tokenise(sentence))
            if words not in place:
                first.append(sentence)
            rows.append(place.setdefault(words, len(place)))
        columns.append(np.array(rows, dtype=np.int64))
    columns.pop()  # the others take part and are not asked for
    vectors = np.asarray(encode(first), dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise NumericalError("A sentence vector is NaN or infinite; train the encoder with a lower learning rate.")
    outcomes = []
    for of in sums:
        asked = combined([vectors[rows] for rows in columns], of)
        for left_out, how in ((True, "A, B and C left out"), (False, "inputs kept")):
            ranks = _ranks(vectors, asked, columns, left_out)
            protocol = f"cosine among {len(first)} sentences, {how}"
            outcomes += [
                Outcome(of, "nearest", protocol, (ranks == 1).astype(np.float64), analogies.kinds),
                Outcome(of, "reciprocal rank", protocol, 1 / ranks, analogies.kinds),
            ]
    return outcomes


def _ranks(
    vectors: NDArray[np.float32], asked: NDArray[np.float32], columns: list[NDArray[np.int64]], left: bool
) -> Array:
    """(N,) the rank of D, from 1."""
    table, wanted = _unit(vectors), columns[3]
    ranks = np.empty(len(asked))
    for at in range(0, len(asked), 256):
        part = slice(at, at + 256)
        cosines = _unit(asked[part]) @ table.T
        line = np.arange(len(cosines))
        right = cosines[line, wanted[part]].copy()
        if left:
            for column in columns[:3]:
                cosines[line, column[part]] = -np.inf
        cosines[line, wanted[part]] = -np.inf
        ranks[part] = 1 + (cosines >= right[:, None] - _EQUAL).sum(axis=1)
    return ranks


def _unit(vectors: NDArray[np.float32]) -> Array:
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12))


def _columns(analogies: Analogies) -> tuple[list[str], list[str], list[str], list[str]]:
    return analogies.a, analogies.b, analogies.c, analogies.d


def metric_rows(outcomes: Sequence[Outcome], method: str, dataset: str, seed: int | None) -> list[results.Metric]:
    """The ledger's rows; the sum of vectors is part of the protocol."""
    return [
        results.Metric(
            method=method,
            dataset=dataset,
            metric=each.measure,
            protocol=f"z = {each.of}, {each.protocol}",
            seed=seed,
            value=each.mean,
            n=len(each.values),
        )
        for each in outcomes
    ]
