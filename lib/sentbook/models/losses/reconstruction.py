"""Cross-entropy over a large vocabulary, whose logits never exist all at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

IGNORED = -100
# Logits held at a time, by the kind of device: 32 MiB of float32 on a CPU, whose caches they pass through, and as many
# on CUDA as keep all its units at work.
CELLS = {"cpu": 2**23, "cuda": 2**27}


class _TokenLosses(torch.autograd.Function):
    """Sum and single losses; the gradients are made with the losses, while a chunk's logits are at hand."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, target: Tensor, floor: float
    ) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad)
        size = max(1, CELLS["cpu" if states.device.type == "cpu" else "cuda"] // weight.shape[0])
        wide = torch.promote_types(states.dtype, torch.float32)
        losses = torch.zeros(len(target), dtype=wide, device=states.device)
        d_states, d_bias = torch.zeros_like(states), torch.zeros_like(bias, dtype=wide)
        d_weight = weight.new_zeros(weight.shape if wanted else 0, dtype=wide)
        half = states.dtype if states.dtype != wide else _autocast(states)
        with torch.autocast(states.device.type, enabled=False):
            table = weight.to(half) if half is not None else weight
            for start in range(0, len(target), size):
                part, words = states[start : start + size].to(table.dtype), target[start : start + size]
                logits = _logits(part, table, bias).to(wide)
                kept = words != IGNORED
                places = torch.where(kept, words, 0).unsqueeze(1)
                # log p = (logit - largest) + log(largest p), where neither part is lost however small p is.
                chosen = logits.gather(1, places) - logits.amax(dim=1, keepdim=True)
                error = torch.softmax(logits, dim=1, out=logits)
                chosen = (chosen + error.amax(dim=1, keepdim=True).log()).squeeze(1)
                if floor:
                    likely = chosen.exp()
                    losses[start : start + size] = -torch.log(likely + floor) * kept
                    scale = kept * likely / (likely + floor)
                else:
                    losses[start : start + size] = -chosen * kept
                    scale = kept.to(logits.dtype)
                if not wanted:
                    continue
                error.scatter_add_(1, places, error.new_full(places.shape, -1.0))
                d_bias += scale @ error
                error, scale = error.to(table.dtype), scale.unsqueeze(1)  # scaled where it is small: beside h
                d_states[start : start + size] = (error @ table) * scale
                part = part * scale.to(table.dtype)
                if half is None:
                    d_weight.addmm_(error.T, part)
                else:
                    d_weight += error.T @ part
        ctx.mark_non_differentiable(losses)
        ctx.save_for_backward(d_states, d_weight, d_bias)
        return losses.sum(), losses

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        d_states, d_weight, d_bias = ctx.saved_tensors
        return d_states * gradient.to(d_states.dtype), d_weight * gradient, d_bias * gradient, None, None


def _logits(part: Tensor, table: Tensor, bias: Tensor) -> Tensor:
    """(N, words) V h + b; the bias in the same pass where its type allows."""
    if bias.dtype == table.dtype:
        return torch.addmm(bias, part, table.T)
    return (part @ table.T).to(bias.dtype).add_(bias)


def _autocast(states: Tensor) -> torch.dtype | None:
    """Find the narrow type of products where a step asks for one."""
    kind = states.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None


def reconstruction_loss(states: Tensor, weight: Tensor, bias: Tensor, target: Tensor, *, floor: float = 0.0) -> Tensor:
    r"""Sum $-\sum_t \log \mathrm{softmax}(V h_t + b)_{w_t}$ over N tokens, at most `CELLS` logits at a time.

    The logits of a chunk are computed once, and its gradients, $(\mathrm{softmax}(V h_t + b) - e_{w_t})$ times $V$ and
    $h_t$, straight from them: three matrix products, as many as with all logits, and no chunk is computed twice. What
    is kept for the backward pass has the sizes of h, V and b, whatever the vocabulary. Products run in the narrow type
    where a training step asks for one; sums, logarithms and the gradient of V are float32.

    Source: Gan et al. 2017, equations 1 and 7 ("bias terms are omitted for simplicity"); the released code has
    $-\log(p + 10^{-6})$ (``floor``).
    Deviations: none known. It is the sum of the text; the callers divide it by tokens, as the released code, or by
    sentences.

    Args:
        states: (N, H).
        weight: V, (words, H).
        bias: (words,).
        target: (N,) int64 words; `IGNORED` (-100) counts for nothing.
        floor: added to each probability.

    Returns:
        A scalar, in nats.

    Example:
        >>> states, weight, bias = torch.zeros(3, 2), torch.zeros(8, 2), torch.zeros(8)
        >>> round(reconstruction_loss(states, weight, bias, torch.tensor([1, 7, IGNORED])).item() / 2, 4)  # ln 8
        2.0794
    """
    if not torch.is_grad_enabled():
        return token_losses(states, weight, bias, target, floor=floor).sum()
    total: Tensor = _TokenLosses.apply(states, weight, bias, target, floor)[0]
    return total


@torch.no_grad()
def token_losses(states: Tensor, weight: Tensor, bias: Tensor, target: Tensor, *, floor: float = 0.0) -> Tensor:
    """Compute (N,) losses of single tokens, 0 for ignored ones; without a gradient."""
    single: Tensor = _TokenLosses.apply(states.detach(), weight.detach(), bias.detach(), target, floor)[1]
    return single
