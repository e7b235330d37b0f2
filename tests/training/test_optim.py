"""Lazy Adam is torch's SparseAdam on the rows of a batch; the pull-back is a gradient; padding never moves."""

import pytest
import torch
from torch import Tensor, nn

from sentbook.models.base import WordEmbedding
from sentbook.training.train import LazyAdam, clip, penalise

RATE = 0.05


def table(seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    weight = torch.randn(12, 4, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    weight[0] = 0
    return weight


def batches(steps: int) -> list[list[Tensor]]:
    """For each step the ids of one or two calls of the encoder, words repeated within and between them."""
    generator = torch.Generator().manual_seed(3)
    return [[torch.randint(0, 12, (3, 5), generator=generator) for _ in range(1 + step % 2)] for step in range(steps)]


def begin(words: WordEmbedding, *calls: Tensor) -> None:
    """Gather the words of a step, padding first."""
    words.gather(torch.cat([torch.zeros(1, dtype=torch.int64), *(ids.ravel() for ids in calls)]).unique())


def loss_of(vectors: Tensor, ids: Tensor, step: int) -> Tensor:
    """A loss that depends on the values, with padding masked as the encoders do."""
    target = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(step), dtype=vectors.dtype)
    return ((vectors - target) ** 2 * (ids != 0).unsqueeze(-1)).sum()


@pytest.mark.parametrize("strength", [0.0, 0.7])
def test_lazy_equals_sparse_adam_and_the_pull_back_is_half_the_squared_distance_of_touched_rows(
    strength: float,
) -> None:
    """The same term written into SparseAdam's loss, once for each distinct word, gives the same steps."""
    words, initial = WordEmbedding(table()), table(9)
    lazy = LazyAdam(words, RATE)
    reference = nn.Embedding.from_pretrained(table(), freeze=False, sparse=True, padding_idx=0)
    sparse = torch.optim.SparseAdam(list(reference.parameters()), lr=RATE)
    for step, calls in enumerate(batches(30)):
        begin(words, *calls)
        sum(loss_of(words(ids), ids, step) for ids in calls).backward()  # type: ignore[union-attr]
        penalise(words, strength, initial, [])
        lazy.step()
        sparse.zero_grad()
        touched = torch.cat(calls).unique()
        distance = ((reference(touched) - initial[touched]) ** 2).sum()
        (sum(loss_of(reference(ids), ids, step) for ids in calls) + strength / 2 * distance).backward()
        sparse.step()
        torch.testing.assert_close(words.weight.data, reference.weight.data, atol=1e-6, rtol=0)
    assert not torch.allclose(words.weight.data[1:], table()[1:], atol=0.1)


def test_padding_and_untouched_rows_stay_bit_for_bit() -> None:
    words = WordEmbedding(table())
    lazy = LazyAdam(words, RATE)
    for ids in ([[0, 3, 0]], [[0, 0, 0]], [[5, 0, 3]]):
        begin(words, torch.tensor(ids))
        words(torch.tensor(ids)).sum().backward()  # not masked: padding has a gradient
        penalise(words, 0.1, table(9).index_fill(0, torch.tensor(0), 0), [])
        lazy.step()
    changed = (words.weight.data != table()).any(dim=1)
    assert changed.nonzero().flatten().tolist() == [3, 5]
    assert not lazy.first[0].any()


@pytest.mark.parametrize("lazy", [True, False])
def test_clipping_and_falling_rates_reach_the_words_too(lazy: bool) -> None:
    """Of a lazy step as of a dense one: the norm of all gradients is the largest that is allowed."""
    modules = nn.ModuleDict({"words": WordEmbedding(table()), "head": nn.Linear(4, 1)})
    words, ids = modules["words"], torch.tensor([[3, 5, 3]])
    assert isinstance(words, WordEmbedding)
    optimiser = LazyAdam(words, RATE) if lazy else torch.optim.Adam([words.weight], RATE)
    begin(words, ids)
    (1e6 * modules["head"](words(ids))).sum().backward()
    clip(modules, words, 1e-3)
    found = [words.rows if lazy else words.weight, *modules["head"].parameters()]
    assert torch.cat([one.grad.ravel() for one in found]).norm() == pytest.approx(1e-3, rel=1e-3)
    for group in optimiser.param_groups:
        group["lr"] = 0.0
    optimiser.step()
    assert torch.equal(words.weight.data, table())
