"""The exact first layer against the convolution of the map itself: values, gradients, ties and the size of tensors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kept import forget
from sentbook.models.additive import (
    FIRST,
    INTERIOR,
    LAST,
    MISSING,
    cells,
    k_max,
    k_max_of_map,
    projections,
    row_and_column_terms,
)

DIMENSION, FILTERS = 5, 4


def leaves(seed: int, words: int, dtype: torch.dtype = torch.float64, filters: int = FILTERS) -> list[Tensor]:
    """Word vectors with padding first, a kernel and map weights, all wanting gradients."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(words + 1, DIMENSION, generator=generator, dtype=torch.float64)
    table[0] = 0
    kernel = torch.randn(3, 3, DIMENSION, filters, generator=generator, dtype=torch.float64)
    weights = torch.softmax(torch.randn(2, generator=generator, dtype=torch.float64), 0)
    return [leaf.to(dtype).requires_grad_() for leaf in (table, kernel, weights)]


def integers(seed: int, words: int, dtype: torch.dtype) -> list[Tensor]:
    """The same of whole numbers and weights of a half: every sum is exact, and many are equal."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randint(-1, 2, (words + 1, DIMENSION), generator=generator)
    table[0] = 0
    kernel = torch.randint(-1, 2, (3, 3, DIMENSION, FILTERS), generator=generator)
    return [leaf.to(dtype).requires_grad_() for leaf in (table, kernel, torch.tensor([0.5, 0.5]))]


def batch(seed: int, lengths: list[int], words: int) -> tuple[Tensor, Tensor]:
    """(B, T) places of random words, which occur several times, and the lengths."""
    generator = torch.Generator().manual_seed(seed)
    places = torch.randint(1, words + 1, (len(lengths), max(lengths)), generator=generator)
    places[torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]] = 0
    return places, torch.tensor(lengths)


def terms_of(inputs: list[Tensor], places: Tensor) -> Tensor:
    words, kernel, weights = inputs
    return row_and_column_terms(projections(words, kernel), weights, places)


def exact(inputs: list[Tensor], places: Tensor, lengths: Tensor, k: int) -> Tensor:
    return k_max(terms_of(inputs, places), lengths, k)


def plain(inputs: list[Tensor], places: Tensor, lengths: Tensor, k: int) -> Tensor:
    """Each sentence's own map, convolved."""
    words, kernel, weights = inputs
    return torch.cat(
        [
            k_max_of_map(words[row[:length]].unsqueeze(0), kernel, weights, k)
            for row, length in zip(places, lengths.tolist(), strict=True)
        ],
        dim=1,
    )


def gradients(values: Tensor, inputs: list[Tensor], seed: int) -> list[Tensor]:
    """Of a random sum of the values that are there; the padding's own gradient is nobody's."""
    weight = torch.randn(values.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    held = torch.where(values > MISSING / 2, values, 0)
    words, *others = torch.autograd.grad((held * weight.to(values.dtype)).sum(), inputs)
    return [words[1:], *others]


def assert_close(one: Tensor, other: Tensor, bound: float) -> None:
    """To ``bound``, relative to the largest number that is there."""
    missing = other < MISSING / 2
    assert torch.equal(one < MISSING / 2, missing)
    scale = max(1.0, float(other.detach()[~missing].abs().max()))
    torch.testing.assert_close(one[~missing], other[~missing], atol=bound * scale, rtol=0)


# -- against the convolution of the map --------------------------------------------------------------------------------

lengths_strategy = st.lists(st.integers(2, 40), min_size=1, max_size=5)


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@settings(max_examples=30)
@given(lengths_strategy, st.integers(1, 5), st.integers(1, 30), st.integers(0, 10_000))
def test_cells_and_gradients_equal_those_of_the_map(
    dtype: torch.dtype, bound: float, lengths: list[int], k: int, words: int, seed: int
) -> None:
    inputs, (places, sizes) = leaves(seed, words, dtype), batch(seed, lengths, words)
    one, other = exact(inputs, places, sizes, k), plain(inputs, places, sizes, k)
    assert one.shape == (k, len(lengths), FILTERS) and one.dtype == dtype
    assert_close(one, other, bound)
    with torch.no_grad():  # without indices to keep, the same numbers
        assert torch.equal(exact(inputs, places, sizes, k), one)
    if dtype == torch.float32:  # rounding may choose another cell of nearly equal ones
        return
    for got, expected in zip(gradients(one, inputs, seed), gradients(other, inputs, seed), strict=True):
        assert_close(got, expected, 1e-10)


@settings(max_examples=30)
@given(lengths_strategy, st.integers(1, 5), st.integers(0, 10_000))
def test_a_cpus_network_and_topk_find_the_same_cells(lengths: list[int], k: int, seed: int) -> None:
    """Of whole numbers, no two sums of which are equal; float64 has no bits left for places."""
    rng, longest = np.random.default_rng(seed), max(lengths)
    drawn = rng.permuted(np.tile(np.arange(3 * longest), (len(lengths), FILTERS, 2, 1)), axis=3)
    drawn = np.moveaxis(drawn.reshape(len(lengths), FILTERS, 6, longest), (2, 3), (0, 1))
    terms = torch.tensor(drawn * np.repeat([1024, 1], 3)[:, None, None, None], dtype=torch.float32).requires_grad_()
    sides = [k_max(kind, torch.tensor(lengths), k).float() for kind in (terms, terms.double())]
    assert torch.equal(*sides)
    assert torch.equal(*(torch.autograd.grad((side.clamp(min=0) ** 2).sum(), terms)[0] for side in sides))


def test_under_autocast_products_alone_are_narrow() -> None:
    words, kernel, weights = leaves(0, 3, torch.float32)
    places, _ = batch(0, [4, 2], 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (words @ kernel.flatten(0, 1)).dtype == torch.bfloat16
        projected = projections(words, kernel)
        found = row_and_column_terms(projected, weights, places)
    assert projected.dtype == found.dtype == torch.float32
    assert torch.equal(found, row_and_column_terms(projected, weights, places))


# -- ties --------------------------------------------------------------------------------------------------------------


def chosen_cells(terms: Tensor, sizes: Tensor, k: int) -> tuple[Tensor, list[Tensor]]:
    """The values and, for each of the k, the gradient (6, T, B, F) that a one in its place sends to the terms."""
    leaf = terms.detach().requires_grad_()
    values = k_max(leaf, sizes, k)
    ones = torch.eye(k, dtype=terms.dtype)[:, :, None, None].expand(k, *values.shape)
    return values, [torch.autograd.grad(values, leaf, one, retain_graph=True)[0] for one in ones]


def class_of(at: int, length: int) -> int:
    return FIRST if at == 0 else LAST if at == length - 1 else INTERIOR


@settings(max_examples=30)
@given(
    st.lists(st.integers(2, 9), min_size=1, max_size=3), st.integers(1, 5), st.integers(1, 6), st.integers(0, 10_000),
    st.sampled_from([torch.float32, torch.float64]),
)  # fmt: skip
def test_of_equal_cells_each_is_taken_once(
    lengths: list[int], k: int, words: int, seed: int, dtype: torch.dtype
) -> None:
    inputs, (places, sizes) = integers(seed, words, dtype), batch(seed, lengths, words)
    assert torch.equal(exact(inputs, places, sizes, k), plain(inputs, places, sizes, k))
    terms = terms_of(inputs, places)
    values, sent = chosen_cells(terms, sizes, k)
    for row, length in enumerate(lengths):
        for feature in range(FILTERS):
            cells_taken = set()
            for rank, gradient in enumerate(sent):
                rows, columns = gradient[:3, :, row, feature], gradient[3:, :, row, feature]
                if rank >= length * length:  # fewer cells than k
                    assert not rows.any() and not columns.any()
                    continue
                [[q, i]], [[p, j]] = rows.nonzero().tolist(), columns.nonzero().tolist()
                assert rows.sum() == columns.sum() == 1
                assert (q, p) == (class_of(j, length), class_of(i, length))
                assert terms[q, i, row, feature] + terms[3 + p, j, row, feature] == values[rank, row, feature]
                cells_taken.add((i, j))
            assert len(cells_taken) == min(k, length * length)


# -- which sums can be among the largest -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_largest_sums_are_found_wherever_they_lie(k: int) -> None:
    """One sequence may lie far above the others, be far more or less spread, and have its ends far from the rest."""
    rng, length, shape = np.random.default_rng(k), k + 3, (6, 1, 4000, 1)
    drawn = rng.normal(size=(6, length, 4000, 1)) * rng.choice([0.02, 1.0], shape) + rng.choice([0.0, 5.0], shape)
    drawn[:, [0, -1]] += rng.choice([-8.0, 0.0, 8.0], (6, 2, 4000, 1))
    terms, sizes = torch.from_numpy(drawn), torch.full((4000,), length)
    expected = cells(terms, sizes).flatten(2).topk(k, dim=2).values.permute(2, 0, 1)
    torch.testing.assert_close(k_max(terms, sizes, k), expected, atol=0, rtol=0)


# -- padding -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_terms_beyond_the_end_of_a_sentence_do_not_leak(k: int, dtype: torch.dtype) -> None:
    """Not into the cells, and no gradient goes there."""
    lengths = [2, 7, 3, 5]
    inputs, (places, sizes) = leaves(3, 8, dtype), batch(3, lengths, 8)
    terms = terms_of(inputs, places).detach()
    outside = torch.arange(max(lengths))[:, None] >= sizes
    hostile = terms.clone()
    hostile[:, outside] = 1e6
    assert (terms[:, outside] != hostile[:, outside]).any()
    leaf = hostile.requires_grad_()
    values = k_max(leaf, sizes, k)
    assert torch.equal(values, k_max(terms, sizes, k))
    [gradient] = torch.autograd.grad(torch.where(values > MISSING / 2, values, 0).sum(), leaf)
    assert not gradient[:, outside].any()
    assert gradient.sum() == 2 * FILTERS * sum(min(k, length**2) for length in lengths)
    one, other = cells(terms, sizes), cells(hostile, sizes)
    for row, length in enumerate(lengths):
        assert torch.equal(one[row, :, :length, :length], other[row, :, :length, :length])


# -- the size of what is made ------------------------------------------------------------------------------------------


def largest(meter: type[Any], side: Any, length: int, filters: int = 8) -> int:
    """Of two sentences of distinct words."""
    inputs = leaves(0, 2 * length, torch.float32, filters)
    places = torch.arange(1, 2 * length + 1).view(2, length)
    with meter() as seen:
        side(inputs, places, torch.full((2,), length), 3).sum().backward()
    assert all(leaf.grad is not None for leaf in inputs)
    return int(seen.numbers)


def test_tensors_grow_with_the_sentence_and_not_with_its_map(meter: type[Any]) -> None:
    sizes = {side: [largest(meter, side, length) for length in (40, 80, 160)] for side in (exact, plain)}
    for shorter, longer in itertools.pairwise(sizes[exact]):
        assert longer <= 2.1 * shorter
    for shorter, longer in itertools.pairwise(sizes[plain]):  # what the recorder sees where there is a map
        assert longer >= 3.9 * shorter
    assert sizes[exact][-1] < 160 * 160 * 8 <= sizes[plain][-1]


def test_encoding_first_does_not_hinder_training() -> None:
    """What is kept between calls is made without inference mode."""
    forget()
    inputs, (places, sizes) = leaves(0, 6, torch.float32), batch(0, [4, 6], 6)
    with torch.inference_mode():
        k_max(terms_of([leaf.detach() for leaf in inputs], places), sizes, 3)
    k_max(terms_of(inputs, places), sizes, 3).sum().backward()
    assert inputs[1].grad is not None
