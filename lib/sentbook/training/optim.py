"""Optimisers by name, and Adam that touches only a batch's word vectors."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from sentbook.models.base import WordEmbedding

OPTIMISERS = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adagrad": torch.optim.Adagrad,
    "adadelta": torch.optim.Adadelta,
    "sgd": torch.optim.SGD,
}
# The rows that training has touched, in a checkpoint.
TOUCHED = "lazy.touched"


def dense(name: str, groups: Iterable[tuple[list[nn.Parameter], float]], **options: bool) -> torch.optim.Optimizer:
    """Make the optimiser ``name`` with torch's other defaults (Adam: .9, .999, 1e-8, as the papers).

    Args:
        groups: parameters, and the learning rate of each group; a group without any is left out.
        options: of the optimiser, such as torch's ``fused``.
    """
    made = [{"params": parameters, "lr": rate} for parameters, rate in groups if parameters]
    return OPTIMISERS[name](made, **options)


class LazyAdam:
    r"""Adam over the rows of a word-embedding table that a batch touches.

    For a touched row with gradient $g_t$: $m = \beta_1 m + (1-\beta_1) g_t$, $v = \beta_2 v + (1-\beta_2) g_t^2$,
    $W \mathrel{-}= \eta\, \hat m / (\sqrt{\hat v} + \epsilon)$, with the bias corrections of the global step t.
    Untouched rows and their moments stay as they are, whereas dense Adam goes on moving them by the decaying momentum;
    the pull-back $\lambda (W - W_0)$ likewise acts on a row only when it is touched.
    Cost: O(touched rows x D), not O(V D).

    Attributes:
        touched: (V,) whether a row was ever updated; all other rows are as they began.

    Args:
        embedding: the table; its `lazy` flag is set.
        learning_rate, betas, epsilon: Adam's.
        pull_back: $\lambda_w$ of the term $\frac{\lambda_w}{2} \|W - W_0\|^2$.
        initial: (V, D) $W_0$; needed when ``pull_back`` > 0.

    Source: Kingma and Ba 2015, algorithm 1; the sparse semantics of `LazyAdam` and torch's `SparseAdam`.
    """

    def __init__(
        self,
        embedding: WordEmbedding,
        learning_rate: float,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        pull_back: float = 0.0,
        initial: Tensor | None = None,
    ) -> None:
        embedding.lazy = True
        embedding.weight.requires_grad_(False)
        self.embedding, self.learning_rate, self.betas, self.epsilon = embedding, learning_rate, betas, epsilon
        self.pull_back, self.initial = pull_back, initial
        self.step_count = 0
        self.first = torch.zeros_like(embedding.weight)
        self.second = torch.zeros_like(embedding.weight)
        self.touched = torch.zeros(len(embedding.weight), dtype=torch.bool, device=embedding.weight.device)

    @torch.no_grad()
    def step(self) -> None:
        """Update the rows touched since the last call; padding (row 0) is never moved."""
        self.step_count += 1
        beta1, beta2 = self.betas
        rate = self.learning_rate / (1 - beta1**self.step_count)
        correction = (1 - beta2**self.step_count) ** 0.5
        for words, rows, gradient in self._gradients():
            self.touched[words] = True
            moment = self.first.index_select(0, words).lerp_(gradient, 1 - beta1)
            square = self.second.index_select(0, words).mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            self.first.index_copy_(0, words, moment)
            self.second.index_copy_(0, words, square)
            change = square.sqrt_().div_(correction).add_(self.epsilon)
            self.embedding.weight.data.index_copy_(0, words, rows - moment.mul_(rate).div_(change))

    def _gradients(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Distinct (words, current rows, gradient with pull-back), padding left out."""
        touched = [
            (words, rows.detach(), rows.grad) for words, rows in self.embedding.take_touched() if rows.grad is not None
        ]
        if len(touched) > 1:  # the encoder ran more than once this step: add the gradients of a word up
            ids = torch.cat([words for words, _, _ in touched])
            words, places = torch.unique(ids, return_inverse=True)
            gradient = torch.zeros(
                len(words), self.embedding.dimension, dtype=self.first.dtype, device=self.first.device
            )
            gradient.index_add_(0, places, torch.cat([part for _, _, part in touched if part is not None]))
            touched = [(words, self.embedding.weight.data[words], gradient)]
        result = []
        for words, rows, gradient in touched:
            assert gradient is not None
            if len(words) and int(words[0]) == 0:  # unique ids are sorted: padding comes first
                words, rows, gradient = words[1:], rows[1:], gradient[1:]
            if self.pull_back and self.initial is not None:
                gradient = gradient.add(rows - self.initial[words], alpha=self.pull_back)
            result.append((words, rows, gradient))
        return result

    def state(self) -> dict[str, Tensor]:
        """Return the count of steps, the rows touched, and these rows' moments."""
        moments = {"lazy.first": self.first[self.touched], "lazy.second": self.second[self.touched]}
        return {**moments, TOUCHED: self.touched, "lazy.step": torch.tensor(self.step_count)}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take up a state; rows that it had not touched keep the moments of a beginning, zero."""
        self.touched.copy_(state[TOUCHED])
        self.first[self.touched] = state["lazy.first"].to(self.first.device)
        self.second[self.touched] = state["lazy.second"].to(self.second.device)
        self.step_count = int(state["lazy.step"])
