r"""The exact first layer of WSV-SCNN-SV: 3x3 convolution and k-max over the n x n map of word sets, in O(n).

The map is additive, $M_{ij} = \lambda_1 w_i + \lambda_2 w_j$, so its 'same' convolution splits into a term of the row
and a term of the column,

$$Y_{ij} = \sum_{a,b} K_{ab} (\lambda_1 w_{i+a} + \lambda_2 w_{j+b}) = R^{c(j)}_i + C^{c(i)}_j,$$

$$R^q_i = \lambda_1 \sum_a \Big(\sum_{b \in q} K_{ab}\Big) w_{i+a}, \qquad
  C^p_j = \lambda_2 \sum_b \Big(\sum_{a \in p} K_{ab}\Big) w_{j+b},$$

with $w = 0$ outside the sentence. The class $c$ of an index (interior, first, last) says which taps of the kernel stay
inside the map. Within a class the k largest of the sums $x_i + y_j$ lie among the ranks $(r, s)$ of rows and columns
with $r s \le k$: each of the other pairs has k better ones. So n words cost 9 products with $K$ each, where the map
costs $n^2$, and no tensor of n x n x F is made. Words that occur several times in a batch are multiplied once.

Shapes: B sentences, T words each at most, U distinct words, D and F channels, six sequences: R and C of three classes.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

INTERIOR, FIRST, LAST = range(3)
# Which of a kernel's three taps stay inside the map, by the class of the index that they look around.
_INSIDE = ((1.0, 1.0, 1.0), (0.0, 1.0, 1.0), (1.0, 1.0, 0.0))
# Below any sum of words; -inf would become NaN when a place is packed beside it.
MISSING = -1e30
# A place takes the lowest 20 of the 29 bits that a float32 leaves free in a float64.
_PLACES = 1 << 20


def projections(words: Tensor, kernel: Tensor) -> Tensor:
    """Multiply, (9, U, F), every distinct word under each of the kernel's nine taps; the layer's one large product.

    Args:
        words: (U, D).
        kernel: (3, 3, D, F), row tap and column tap first.
    """
    product = words @ kernel.flatten(0, 1)
    # Where autocast multiplies in bf16: the sums and ranks that follow are not products.
    return product.float() if product.dtype in (torch.bfloat16, torch.float16) else product


def row_and_column_terms(projected: Tensor, weights: Tensor, places: Tensor) -> Tensor:
    r"""Sum up $R^q_i$ and $C^p_j$ of every sentence, as (6, T, B, F): R of the classes interior, first, last, then C.

    Args:
        projected: (9, U, F) from `projections`; row 0 of U is padding and zero.
        weights: (2,) $\lambda_1, \lambda_2$.
        places: (B, T) rows of U; 0 beyond a sentence's end.
    """
    taps, size, features = projected.shape
    # (6 sequences x 3 neighbours, 9 taps): which taps a neighbour's term sums up. A tiny matrix over a large table.
    rows, columns = _tap_sums(projected.device, projected.dtype)
    sums = torch.cat([weights[0] * rows, weights[1] * columns])
    with torch.autocast(projected.device.type, enabled=False):  # these are sums
        table = (sums @ projected.reshape(taps, -1)).view(6, 3 * size, features)
    around = functional.pad(places.T, (0, 0, 1, 1))
    length = places.shape[1]
    neighbours = torch.stack([around[a : a + length].reshape(-1) + a * size for a in range(3)], dim=1)
    terms = torch.stack([functional.embedding_bag(neighbours, part, mode="sum") for part in table])
    return terms.view(6, length, len(places), features)


@cache
def _tap_sums(device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Write down (9, 9) each for rows and for columns: sequence and neighbour by tap (a, b)."""
    with torch.inference_mode(False):  # kept for later calls, which may want gradients
        inside, one = torch.tensor(_INSIDE), torch.eye(3)
        rows = torch.einsum("na,qb->qnab", one, inside).reshape(9, 9)
        columns = torch.einsum("nb,pa->pnab", one, inside).reshape(9, 9)
        return rows.to(device, dtype), columns.to(device, dtype)


class _Candidate(NamedTuple):
    """One of the sums that can be among the k largest: a row sequence and a column sequence (classes), and of each
    the rank of its interior elements, or k for its first and k + 1 for its last element."""

    row_class: int
    row: int
    column_class: int
    column: int


def candidates(k: int) -> list[_Candidate]:
    """List all of them: the interior's ranks with r s <= k, k on each of the four edges, the four corners.

    Example:
        >>> len(candidates(3)), len(candidates(1))
        (21, 9)
    """
    ranks, first, last = range(k), k, k + 1
    interior = [_Candidate(INTERIOR, r, INTERIOR, s) for r in ranks for s in ranks if (r + 1) * (s + 1) <= k]
    # The row term of an edge row has the interior's class of column, and the other way round.
    edges = [_Candidate(INTERIOR, first, FIRST, s) for s in ranks]
    edges += [_Candidate(INTERIOR, last, LAST, s) for s in ranks]
    edges += [_Candidate(FIRST, r, INTERIOR, first) for r in ranks]
    edges += [_Candidate(LAST, r, INTERIOR, last) for r in ranks]
    corners = [
        _Candidate(column, end_row, row, end_column)
        for row, end_row in ((FIRST, first), (LAST, last))
        for column, end_column in ((FIRST, first), (LAST, last))
    ]
    return interior + edges + corners


def _k_largest(values: Tensor, k: int) -> Tensor:
    """Find the places, (k, ...), of the k largest of (N, ...) values along their first dimension, in falling order.

    On a CPU a network of maxima and minima ranks fewer than a million float32 values, five times as fast as `topk`.
    Their places travel in the bits that float32 leaves free in float64, so that the order is exact and no element is
    taken twice.
    """
    if not values.is_cpu or values.dtype == torch.float64:
        return torch.topk(values, k, dim=0).indices
    tops = [torch.full_like(values[0], -torch.inf, dtype=torch.float64) for _ in range(k)]
    for place, part in enumerate(values):
        value = part.double()
        value.view(torch.int64).bitwise_or_(place)
        for rank, top in enumerate(tops):
            tops[rank] = torch.maximum(top, value)
            if rank < k - 1:
                value = torch.minimum(top, value)
    return torch.stack(tops).view(torch.int64).bitwise_and_(_PLACES - 1)


def k_max(terms: Tensor, lengths: Tensor, k: int) -> Tensor:
    r"""Find the k largest cells $Y_{ij}$, $0 \le i, j < n$, of every sentence and filter, in falling order.

    Where a sentence has fewer than k cells, the rest is `MISSING`. Of equal cells any may carry the gradient.

    Args:
        terms: (6, T, B, F) from `row_and_column_terms`.
        lengths: (B,) n, from 2 to T: a single word has no border classes.

    Returns:
        (k, B, F).
    """
    ends = lengths - 1
    terms = functional.pad(terms, (0, 0, 0, 0, 0, k - terms.shape[1])) if terms.shape[1] < k else terms
    terms = terms.transpose(0, 1)
    at = torch.arange(len(terms), device=terms.device).unsqueeze(1)
    with torch.no_grad():
        interior = ((at > 0) & (at < ends))[:, None, :, None]
        ranks = _k_largest(torch.where(interior, terms, MISSING), k)
        end = ends.unsqueeze(1).expand_as(ranks[:1])
        places = torch.cat([ranks, torch.zeros_like(end), end])
    # (k + 2, 6, B, F): the ranks of the interior, the first and the last element of every sequence.
    options = terms.gather(0, places)
    ranked = torch.where((at[:k] < ends - 1)[:, None, :, None], options[:k], MISSING)
    parts = torch.cat([ranked, options[k:]]).flatten(0, 1).unbind()
    sums = torch.stack(
        [parts[6 * c.row + c.row_class] + parts[6 * c.column + 3 + c.column_class] for c in candidates(k)]
    )
    values = sums.gather(0, _k_largest(sums.detach(), k))
    return torch.where(values > MISSING / 2, values, MISSING)  # what is missing sends no gradient on


def cells(terms: Tensor, lengths: Tensor) -> Tensor:
    """Sum up, (B, F, T, T), the convolution itself, for layers above it; cells outside a sentence are not meaningful.

    Args:
        terms: (6, T, B, F) from `row_and_column_terms`.
        lengths: (B,) from 2 to T.
    """
    length, size = terms.shape[1:3]
    at = torch.arange(length, device=terms.device)
    classes = torch.where(at == 0, FIRST, torch.where(at == (lengths - 1).unsqueeze(1), LAST, INTERIOR))  # (B, T)
    each = torch.arange(size, device=terms.device).view(-1, 1, 1)
    rows = terms[classes.unsqueeze(1), at.view(1, -1, 1), each]  # (B, T, T, F): i, j
    columns = terms[3 + classes.unsqueeze(2), at.view(1, 1, -1), each]
    return (rows + columns).permute(0, 3, 1, 2)


# -- the layer as the paper computes it, map and all: what the above is held equal to ---------------------------------


def word_set_map(words: Tensor, weights: Tensor) -> Tensor:
    r"""Draw the (B, D, n, n) map $\lambda_1 w_i + \lambda_2 w_j$ of (B, n, D) words: Yao et al. 2018, algorithm 1."""
    rows, columns = words.transpose(1, 2).unsqueeze(3), words.transpose(1, 2).unsqueeze(2)
    return weights[0] * rows + weights[1] * columns


def k_max_of_map(words: Tensor, kernel: Tensor, weights: Tensor, k: int) -> Tensor:
    """Take the (k, B, F) largest cells of the convolved map of sentences of one length, in falling order.

    Args:
        words: (B, n, D).
        kernel: (3, 3, D, F).
        weights: (2,).
    """
    convolved = functional.conv2d(word_set_map(words, weights), kernel.permute(3, 2, 0, 1), padding=1).flatten(2)
    missing = max(0, k - convolved.shape[2])
    padded = functional.pad(convolved, (0, missing), value=MISSING)
    return torch.topk(padded, k, dim=2).values.permute(2, 0, 1)
