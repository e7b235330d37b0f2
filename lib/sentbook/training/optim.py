"""What updates parameters: torch's optimisers, Adam of the word vectors of a batch alone, and penalties."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from sentbook.io import ConfigError
from sentbook.models.base import WordEmbedding
from sentbook.training.objectives.base import Objective, Penalty


def optimisers(objective: Objective, parameters: Iterable[nn.Parameter]) -> list[torch.optim.Optimizer | LazyAdam]:
    """Make what updates ``parameters``, by torch's defaults (Adam: .9, .999, 1e-8).

    The encoder's composition may have a learning rate of its own. Lazy words are `LazyAdam`'s.

    Raises:
        ConfigError: lazy updates are asked of another optimiser than Adam.
    """
    words, rate, found = objective.encoder.embedding, objective.learning_rate, list[torch.optim.Optimizer | LazyAdam]()
    words.lazy = objective.embedding_update == "lazy"
    words.weight.requires_grad_(objective.embedding_update == "dense")
    own = {id(one) for one in objective.encoder.composition()} if objective.composition_rate else set()
    trained = [one for one in parameters if one.requires_grad]
    groups = [
        {"params": [one for one in trained if (id(one) in own) == inside], "lr": lr}
        for inside, lr in ((False, rate), (True, objective.composition_rate))
    ]
    groups = [group for group in groups if group["params"]]
    if groups and objective.optimiser == "sgd":
        found.append(torch.optim.SGD(groups))
    elif groups:  # in one pass over a parameter in place of ten, on CUDA and where asked; it rounds otherwise
        found.append(torch.optim.Adam(groups, fused=True if objective.fused or words.weight.is_cuda else None))
    if words.lazy:
        if objective.optimiser != "adam":
            raise ConfigError("embedding_update 'lazy' is Adam's; set it to 'dense' for another optimiser.")
        found.append(LazyAdam(words, rate))
    return found


@torch.no_grad()
def penalise(words: WordEmbedding, pull_back: float, initial: Tensor | None, penalties: Iterable[Penalty]) -> None:
    """Add the gradients of penalties, half a coefficient times a squared distance, and none of padding.

    Args:
        pull_back: coefficient of the distance of the word vectors to the ``initial`` ones, in a lazy step of its words.
    """
    table = words.weight if words.rows is None else words.rows
    if table.grad is not None:
        table.grad[0] = 0
        if initial is not None:
            before = initial if words.rows is None or words.words is None else initial.index_select(0, words.words)
            table.grad.add_(table - before, alpha=pull_back)
    for parameter, coefficient, anchor in penalties:
        if parameter.grad is not None:
            parameter.grad.add_(parameter if anchor is None else parameter - anchor, alpha=coefficient)


def clip(modules: nn.Module, words: WordEmbedding, largest: float) -> None:
    """Scale all gradients, those of a lazy step's words included, so that their norm is at most ``largest``."""
    rows = [] if words.rows is None else [words.rows]
    nn.utils.clip_grad_norm_([*modules.parameters(), *rows], largest)


class LazyAdam:
    r"""Adam over the rows of a word-embedding table that a batch touches.

    For a touched row with gradient $g_t$: $m = \beta_1 m + (1-\beta_1) g_t$, $v = \beta_2 v + (1-\beta_2) g_t^2$,
    $W \mathrel{-}= \eta\, \hat m / (\sqrt{\hat v} + \epsilon)$, with the bias corrections of the global step t.
    Untouched rows and their moments stay as they are, whereas dense Adam goes on moving them by the decaying momentum;
    the pull-back $\lambda (W - W_0)$ of `penalise` likewise acts on a row only when it is touched.
    Cost: O(touched rows x D), not O(V D).

    Attributes:
        touched: (V,) whether a row was ever updated; all other rows are as they began.

    Args:
        embedding: the table; its `lazy` flag is set, so that `WordEmbedding.gather` begins a step.
        learning_rate: $\eta$; $\beta_1 = .9$, $\beta_2 = .999$, $\epsilon = 10^{-8}$.

    Source: Kingma and Ba 2015, algorithm 1; the sparse semantics of `LazyAdam` and torch's `SparseAdam`.
    """

    def __init__(self, embedding: WordEmbedding, learning_rate: float) -> None:
        embedding.lazy = True
        embedding.weight.requires_grad_(False)
        # As torch's optimisers have it; what these wrap around `step` would take as long as the step.
        self.param_groups = [{"lr": learning_rate}]
        self.embedding, self.steps = embedding, 0
        self.first, self.second = torch.zeros_like(embedding.weight), torch.zeros_like(embedding.weight)
        self.touched = torch.zeros(len(embedding.weight), dtype=torch.bool, device=embedding.weight.device)

    @torch.no_grad()
    def step(self) -> None:
        """Update the rows of the present step; padding, whose gradient is 0, does not move."""
        self.steps += 1
        rate = self.param_groups[0]["lr"] / (1 - 0.9**self.steps)
        correction = (1 - 0.999**self.steps) ** 0.5
        words, rows = self.embedding.words, self.embedding.rows
        assert words is not None and rows is not None, "no words were gathered"
        if (gradient := rows.grad) is None:
            return
        self.touched.index_fill_(0, words, True)
        moment = self.first.index_select(0, words).lerp_(gradient, 1 - 0.9)
        square = self.second.index_select(0, words).mul_(0.999).addcmul_(gradient, gradient, value=1 - 0.999)
        self.first.index_copy_(0, words, moment)
        self.second.index_copy_(0, words, square)
        change = square.sqrt_().div_(correction).add_(1e-8)
        self.embedding.weight.data.index_copy_(0, words, rows - moment.mul_(rate).div_(change))

    def state_dict(self) -> dict[str, Any]:
        """Return the count of steps, the rows touched and their moments, as torch's optimisers have it."""
        moments = {"first": self.first[self.touched], "second": self.second[self.touched]}
        state = {0: {**moments, "touched": self.touched, "step": torch.tensor(self.steps)}}
        return {"state": state, "param_groups": self.param_groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up a state; rows that it had not touched keep the moments of a beginning, zero."""
        self.param_groups, state = state_dict["param_groups"], state_dict["state"][0]
        self.touched.copy_(state["touched"])
        self.first[self.touched] = state["first"].to(self.first.device)
        self.second[self.touched] = state["second"].to(self.second.device)
        self.steps = int(state["step"])
