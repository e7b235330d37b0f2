"""Lazy Adam is torch's SparseAdam on the rows of a batch; the pull-back is a gradient; padding never moves."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from sentbook.models.base import WordEmbedding
from sentbook.training import checkpoint
from sentbook.training.optim import LazyAdam, clip, penalise

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


def test_lazy_equals_sparse_adam_step_by_step() -> None:
    words = WordEmbedding(table())
    lazy = LazyAdam(words, RATE)
    reference = nn.Embedding.from_pretrained(table(), freeze=False, sparse=True, padding_idx=0)
    sparse = torch.optim.SparseAdam(list(reference.parameters()), lr=RATE)
    for step, calls in enumerate(batches(30)):
        begin(words, *calls)
        sum(loss_of(words(ids), ids, step) for ids in calls).backward()  # type: ignore[union-attr]
        lazy.step()
        sparse.zero_grad()
        sum(loss_of(reference(ids), ids, step) for ids in calls).backward()  # type: ignore[union-attr]
        sparse.step()
        torch.testing.assert_close(words.weight.data, reference.weight.data, atol=1e-6, rtol=0)
    assert not torch.allclose(words.weight.data[1:], table()[1:], atol=0.1)


@pytest.mark.parametrize("calls", [1, 2])
def test_the_pull_back_is_the_gradient_of_half_the_squared_distance_of_touched_rows(calls: int) -> None:
    """The same term written into SparseAdam's loss, once for each distinct word, gives the same steps."""
    strength, initial = 0.7, table(9)
    words = WordEmbedding(table())
    lazy = LazyAdam(words, RATE)
    reference = nn.Embedding.from_pretrained(table(), freeze=False, sparse=True, padding_idx=0)
    sparse = torch.optim.SparseAdam(list(reference.parameters()), lr=RATE)
    for step, (ids, *_) in enumerate(batches(12)):
        parts = ids.split(2) if calls == 2 else (ids,)
        begin(words, ids)
        sum(loss_of(words(part), part, step) for part in parts).backward()  # type: ignore[union-attr]
        penalise(words, strength, initial, [])
        lazy.step()
        sparse.zero_grad()
        touched = ids.unique()
        distance = ((reference(touched) - initial[touched]) ** 2).sum()
        (sum(loss_of(reference(part), part, step) for part in parts) + strength / 2 * distance).backward()
        sparse.step()
        torch.testing.assert_close(words.weight.data, reference.weight.data, atol=1e-6, rtol=0)


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


def test_state_goes_through_a_file_and_on_bit_for_bit(tmp_path: Path) -> None:
    def advance(words: WordEmbedding, lazy: LazyAdam, steps: range) -> None:
        for step in steps:
            begin(words, *batches(20)[step])
            for ids in batches(20)[step]:
                loss_of(words(ids), ids, step).backward()
            lazy.step()

    whole = WordEmbedding(table())
    advance(whole, LazyAdam(whole, RATE), range(20))
    half = WordEmbedding(table())
    lazy = LazyAdam(half, RATE)
    advance(half, lazy, range(8))
    kept = lazy.state_dict()
    checkpoint.save(tmp_path / "x", {"words": half.weight.data, **kept["state"][0]}, {"key": "k"})
    tensors, _ = checkpoint.load(tmp_path / "x", "k")
    again = WordEmbedding(tensors.pop("words"))
    resumed = LazyAdam(again, 1.0)
    resumed.load_state_dict({"state": {0: tensors}, "param_groups": kept["param_groups"]})
    advance(again, resumed, range(8, 20))
    assert torch.equal(again.weight.data, whole.weight.data)


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
