"""The nearest sentences by cosine, by exact search over as many vectors as one likes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentbook.data.text import TokenIds, batches_by_tokens
from sentbook.models.base import SentenceEncoder
from sentbook.system.errors import DataError, NumericalError

Rows = NDArray[np.int64]
Vectors = NDArray[Any] | Tensor
Block = tuple[Rows, Vectors]

# Elements of unit vectors become multiples of 2^-25. Products of two are then whole multiples of 2^-50 and any sum of
# them is hardly above 1 in size, so that float64 adds them without rounding, in whatever order.
_SCALE = 2.0**25
# Numbers of a block in float64, and of its cosines: 32 MB each.
_CELLS = 2**22


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
    r"""The ``k`` vectors with the largest cosine to each query, of a collection that comes block by block.

    $$\cos(q, x) = \hat q \cdot \hat x, \qquad
      \hat x_i = 2^{-25} \, \mathrm{round}(2^{25} \, x_i / \lVert x \rVert).$$

    The elements of unit vectors are rounded to $2^{-25}$, as fine as float32 is; their products are then added in
    float64 without any error. A result thus depends neither on the cut into blocks nor on their order, and equal
    vectors have equal cosines. A cosine is off by $F^{1/2} 2^{-25}$ at most, 1.5e-6 for F = 2400.

    Cost: 2 N Q F floating-point operations in float64, for N = 1e6, Q = 100 and F = 2400 half a teraflop.
    Memory beyond the block at hand: 8 Q F bytes of queries, 16 Q k of what was found, and about 200 MB; blocks of
    any size are cut for it. Of the N vectors no more is kept.

    Source: Gan et al. 2017, section 4.1 and table 2: "nearest neighbors are scored by cosine similarity".

    Args:
        blocks: (b,) rows and their (b, F) vectors; each row once, in any order. A memory map will do.
        queries: (Q, F).
        k: how many.
        exclude: for each query the rows that it must not find; see `excluded`.
        device: where cosines are computed. It needs float64.

    Raises:
        ValueError: shapes do not fit, or ``k`` is below 1.
        DataError: a block has a row twice.
        NumericalError: a vector is NaN or infinite. A vector of zeros has cosine 0 with all.

    Example:
        >>> found = search([(np.array([7, 9]), np.array([[0.0, 2.0], [3.0, 3.0]]))], np.array([[1.0, 0.0]]), k=2)
        >>> found.rows.tolist(), found.cosines.round(4).tolist()
        ([[9, 7]], [[0.7071, 0.0]])
    """
    if k < 1:
        raise ValueError(f"{k} nearest vectors cannot be found.")
    if exclude is not None and len(exclude) != len(queries):
        raise ValueError(f"Rows to leave out are given for {len(exclude)} of {len(queries)} queries.")
    asked = _units(queries, torch.device(device))
    barred = _Barred(exclude or [])
    best = Nearest(np.full((len(asked), k), -1), np.full((len(asked), k), -np.inf))
    step = max(1, _CELLS // max(len(asked), asked.shape[1], 1))
    for rows, vectors in blocks:
        if vectors.ndim != 2 or len(rows) != len(vectors) or vectors.shape[1] != asked.shape[1]:
            raise ValueError(f"{len(rows)} rows, vectors {tuple(vectors.shape)} and queries {asked.shape} do not fit.")
        for at in range(0, len(rows), step):
            part = np.asarray(rows[at : at + step], dtype=np.int64)
            cosines = asked @ _units(vectors[at : at + step], asked.device).T / _SCALE**2
            best = _better(best, part, barred.strike(cosines, part))
    return Nearest(best.rows, np.where(best.rows < 0, np.nan, best.cosines))


def nearest(
    vectors: Vectors,
    queries: Vectors,
    k: int = 1,
    exclude: Sequence[Rows] | None = None,
    *,
    device: str | torch.device = "cpu",
) -> Nearest:
    """`search` over the rows of one (N, F) array, which may be a memory map."""
    return search([(np.arange(len(vectors)), vectors)], queries, k, exclude, device=device)


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


# -- the search --------------------------------------------------------------------------------------------------------


def _units(vectors: Vectors, device: torch.device) -> Tensor:
    """(n, F) unit vectors times 2^25, rounded, in float64."""
    # A memory map may be read-only, which torch warns of: the copy is one block.
    values = vectors if isinstance(vectors, Tensor) else torch.from_numpy(np.array(vectors, dtype=np.float64))
    values = values.to(device, torch.float64)
    if not bool(torch.isfinite(values).all()):
        raise NumericalError("A sentence vector is NaN or infinite; train the encoder with a lower learning rate.")
    # First by the largest element, so that no square is too large or too small for its float.
    values = values / values.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
    norms = torch.linalg.vector_norm(values, dim=1, keepdim=True).clamp(min=0.5)  # of zeros 0, of others 1 or more
    return (values / norms * _SCALE).round()


class _Barred:
    """Pairs of a query and a row that must not be found."""

    def __init__(self, exclude: Sequence[Rows]) -> None:
        self.rows = np.concatenate([np.asarray(rows, dtype=np.int64) for rows in exclude] or [np.zeros(0, np.int64)])
        self.queries = np.repeat(np.arange(len(exclude)), [len(rows) for rows in exclude])

    def strike(self, cosines: Tensor, rows: Rows) -> Tensor:
        """(Q, b) cosines with minus infinity for the barred pairs."""
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        if (ordered[1:] == ordered[:-1]).any():
            raise DataError("A block has a row twice; give every sentence once.")
        place = np.minimum(np.searchsorted(ordered, self.rows), len(ordered) - 1)
        here = ordered[place] == self.rows
        at = (torch.from_numpy(self.queries[here]), torch.from_numpy(order[place[here]]))
        cosines[tuple(index.to(cosines.device) for index in at)] = -torch.inf
        return cosines


def _better(best: Nearest, rows: Rows, cosines: Tensor) -> Nearest:
    """The best of what was found and of a block: all that reach both k-th places, then sorted by cosine and row."""
    count, k = best.rows.shape
    reach = torch.from_numpy(best.cosines[:, -1]).to(cosines.device)
    if len(rows) > k:
        reach = torch.maximum(reach, cosines.topk(k, dim=1).values[:, -1])
    good = (cosines >= reach.unsqueeze(1)) & (cosines > -torch.inf)
    query, column = good.nonzero(as_tuple=True)
    scores = np.concatenate([best.cosines.ravel(), cosines[query, column].cpu().numpy()])
    found = np.concatenate([best.rows.ravel(), rows[column.cpu().numpy()]])
    owner = np.concatenate([np.repeat(np.arange(count), k), query.cpu().numpy()])
    order = np.lexsort((found, -scores, owner))
    # Of each query's candidates, which are together now, the first k.
    starts = np.searchsorted(owner[order], np.arange(count))
    kept = order[(starts[:, None] + np.arange(k)).ravel()]
    return Nearest(found[kept].reshape(count, k), scores[kept].reshape(count, k))
