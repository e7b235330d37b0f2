"""PP is the mean of the word vectors, whatever the padding; lazy gradients equal dense ones."""

import numpy as np
import torch

from sentbook.data.text import TokenIds
from sentbook.models import Average, encode_ids


def test_mean_without_padding() -> None:
    weight = torch.arange(12.0).reshape(4, 3)
    weight[0] = 0
    encoder = Average(weight)
    tokens = TokenIds(np.array([1, 2, 2, 3]), np.array([0, 3, 4]))
    np.testing.assert_allclose(encode_ids(encoder, tokens), [[5, 6, 7], [9, 10, 11]], rtol=1e-6)


def test_no_parameters_but_the_words() -> None:
    assert Average(torch.zeros(5, 3)).parameter_count() == 0


def test_lazy_rows_have_the_dense_gradient() -> None:
    torch.manual_seed(0)
    weight = torch.randn(6, 4)
    weight[0] = 0
    ids, lengths = torch.tensor([[2, 3, 0], [2, 5, 2]]), torch.tensor([2, 3])
    dense, lazy = Average(weight), Average(weight)
    lazy.embedding.lazy = True
    target = torch.randn(2, 4)
    (dense(ids, lengths) * target).sum().backward()
    (lazy(ids, lengths) * target).sum().backward()
    [(words, rows)] = lazy.embedding.take_touched()
    assert words.tolist() == [0, 2, 3, 5]
    torch.testing.assert_close(rows.grad[1:], dense.embedding.weight.grad[words[1:]])
    assert lazy.embedding.weight.grad is None
    assert lazy.embedding.take_touched() == []
