"""The nearest sentences by cosine, by exact search over as many vectors as one likes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sentbook.data.text import TokenIds, batches_by_tokens
from sentbook.models.base import SentenceEncoder
from sentbook.system.errors import NumericalError

Rows = NDArray[np.int64]
Vectors = NDArray[Any] | Tensor
Block = tuple[Rows, Vectors]

# Decimals of a cosine: float64 is that exact in whatever order it adds, so that equal vectors have equal cosines.
_DIGITS = 12


@dataclass(frozen=True)
class Nearest:
    """The k best of each query, best first; of equals the lowest row first.

    Attributes:
        rows: (Q, k) of the collection; -1 where there are fewer than k.
        cosines: (Q, k), NaN where there is none.
    """

    rows: Rows
    cosines: NDArray[np.float64]


@torch.inference_mode()
def search(
    blocks: Iterable[Block],
    queries: Vectors,
    k: int = 1,
    exclude: Sequence[Rows] | None = None,
    *,
    device: str | torch.device = "cpu",
) -> Nearest:
    r"""Find the ``k`` vectors with the largest cosine to each query, in a collection that comes block by block.

    $$\cos(q, x) = \frac{q \cdot x}{\lVert q \rVert \lVert x \rVert}$$

    in float64, rounded to twelve decimals: a result depends neither on the cut into blocks nor on their order.
    Cost: 2 N Q F floating-point operations. Memory: a block with its (Q, b) cosines; nothing else of it is kept.

    Source: Gan et al. 2017, section 4.1 and table 2: "nearest neighbors are scored by cosine similarity".

    Args:
        blocks: (b,) rows and their (b, F) vectors; each row once, in any order.
        queries: (Q, F).
        k: how many.
        exclude: for each query the rows that it must not find; see `excluded`.
        device: where cosines are computed. It needs float64.

    Raises:
        ValueError: shapes do not fit, or ``k`` is below 1.
        NumericalError: a vector is NaN or infinite. A vector of zeros has cosine 0 with all.

    Example:
        >>> found = search([(np.array([7, 9]), np.array([[0.0, 2.0], [3.0, 3.0]]))], np.array([[1.0, 0.0]]), k=2)
        >>> found.rows.tolist(), found.cosines.round(4).tolist()
        ([[9, 7]], [[0.7071, 0.0]])
    """
    if k < 1 or (exclude is not None and len(exclude) != len(queries)):
        raise ValueError(f"{k} nearest vectors of {len(queries)} queries, with rows to leave out of {exclude}.")
    asked = _units(queries, device)
    rows = np.full((len(asked), k), -1)
    cosines = np.full((len(asked), k), -np.inf)
    for part, vectors in blocks:
        if vectors.ndim != 2 or len(part) != len(vectors) or vectors.shape[1] != asked.shape[1]:
            raise ValueError(f"{len(part)} rows, vectors {tuple(vectors.shape)} and queries {asked.shape} do not fit.")
        found = (asked @ _units(vectors, device).T).cpu().numpy().round(_DIGITS)
        for query, barred in enumerate(exclude or ()):
            found[query, np.isin(part, barred)] = -np.inf
        candidates = np.concatenate([rows, np.broadcast_to(part, found.shape)], axis=1)
        scores = np.concatenate([cosines, found], axis=1)
        best = np.lexsort((candidates, -scores))[:, :k]
        rows, cosines = np.take_along_axis(candidates, best, 1), np.take_along_axis(scores, best, 1)
    there = cosines > -np.inf
    return Nearest(np.where(there, rows, -1), np.where(there, cosines, np.nan))


def _units(vectors: Vectors, device: str | torch.device) -> Tensor:
    """(n, F) vectors of length 1 in float64; a vector of zeros stays."""
    values = torch.as_tensor(np.array(vectors) if isinstance(vectors, np.ndarray) else vectors)
    values = values.to(device, torch.float64)
    if not bool(torch.isfinite(values).all()):
        raise NumericalError("A sentence vector is NaN or infinite; train the encoder with a lower learning rate.")
    # First by the largest element, so that no square is too large or too small for its float.
    values = values / values.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
    return functional.normalize(values)


@torch.inference_mode()
def encoded(
    encoder: SentenceEncoder, tokens: TokenIds, rows: Rows, max_tokens: int | None = None
) -> Iterator[tuple[Rows, Tensor]]:
    """Blocks for `search`: sentences ``rows`` encoded batch by batch, in the order of their lengths.

    No vector is kept. ``tokens.flat`` may be a memory map of any integer type.

    Raises:
        ValueError: the encoder's vectors depend on the batch.
    """
    if encoder.batch_dependent:
        raise ValueError("Vectors that depend on their batch have no nearest ones; use the encoder's clean form.")
    device = encoder.embedding.weight.device
    lengths = tokens.offsets[rows + 1] - tokens.offsets[rows]
    training, _ = encoder.training, encoder.eval()
    try:
        for batch in batches_by_tokens(lengths, max_tokens or encoder.tokens_per_batch):
            ids, counts = tokens.padded(rows[batch], encoder.minimum_length)
            wide = torch.from_numpy(ids.astype(np.int64)).to(device)
            yield rows[batch], encoder(wide, torch.from_numpy(counts).to(device))
    finally:
        encoder.train(training)


# -- which sentences are no answer -------------------------------------------------------------------------------------


def distinct(tokens: TokenIds, rows: Rows) -> Rows:
    """Those of ``rows`` that are the first with their words, in the order given: a collection without repeats.

    Memory: about 100 bytes and its ids a sentence.

    Example:
        >>> distinct(TokenIds(np.array([5, 6, 5, 6, 5]), np.array([0, 2, 4, 5])), np.arange(3)).tolist()
        [0, 2]
    """
    first: dict[bytes, int] = {}
    for row in rows.tolist():
        first.setdefault(_key(tokens, row), row)
    return np.fromiter(first.values(), dtype=np.int64, count=len(first))


def excluded(tokens: TokenIds, queries: Rows, rows: Rows, around: int = 0) -> list[Rows]:
    """For each query what it must not find: itself, the same words elsewhere, and what stands near it in the text.

    Args:
        tokens: all sentences.
        queries: (Q,) which of them ask.
        rows: which of them the collection holds.
        around: so many sentences on either side of the query are left out as well, in whatever book.

    Returns:
        Q rising arrays.
    """
    wanted: dict[bytes, list[int]] = {_key(tokens, row): [] for row in queries.tolist()}
    lengths = {int(tokens.offsets[row + 1] - tokens.offsets[row]) for row in queries.tolist()}
    like = np.isin(tokens.offsets[rows + 1] - tokens.offsets[rows], list(lengths))
    for row in rows[like].tolist():
        same = wanted.get(_key(tokens, row))
        if same is not None:
            same.append(row)
    found = []
    for row in queries.tolist():
        near = range(max(0, row - around), min(len(tokens), row + around + 1))
        found.append(np.array(sorted({*near, *wanted[_key(tokens, row)]}), dtype=np.int64))
    return found


def _key(tokens: TokenIds, row: int) -> bytes:
    return tokens.flat[tokens.offsets[row] : tokens.offsets[row + 1]].tobytes()
