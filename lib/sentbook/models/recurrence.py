"""The recurrent half of an LSTM over packed sequences, with its gradients by hand, and an LSTM's initial values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from sentbook.models.base import to_device


@dataclass(frozen=True)
class Packing:
    """The N cells of a padded batch that hold something, time by time, longest sequence first.

    Attributes:
        order: (B,) sequences by falling length.
        sizes: how many sequences are that long, for each time.
        rows, times: (N,) sequence and time of each cell.
    """

    order: Tensor
    sizes: Tensor
    rows: Tensor
    times: Tensor

    @classmethod
    def of(cls, lengths: Tensor, device: torch.device) -> Packing:
        """Pack (B,) lengths of at least 1; on the CPU they cost a CUDA device no wait."""
        lengths = lengths.cpu()
        ordered, order = torch.sort(lengths, descending=True, stable=True)
        clock = torch.arange(int(ordered[0]))
        sizes = (ordered.unsqueeze(1) > clock).sum(dim=0)
        times = torch.repeat_interleave(clock, sizes)
        places = torch.arange(len(times)) - (sizes.cumsum(0) - sizes)[times]
        return cls(to_device(order, device), sizes, *(to_device(part, device) for part in (order[places], times)))


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, recurrent: Tensor, initial: Tensor, sizes: list[int]) -> Tensor:
        width = recurrent.shape[1]
        active, cells = torch.empty_like(gates), gates.new_empty(len(gates), width)
        states = torch.empty_like(cells)
        hidden, cell, at = initial, torch.zeros_like(initial), 0
        for size in sizes:
            part = slice(at, at + size)
            torch.addmm(gates[part], hidden[:size], recurrent.T, out=active[part])
            active[part, : 2 * width].sigmoid_()
            active[part, 2 * width : 3 * width].tanh_()
            active[part, 3 * width :].sigmoid_()
            enter, forget, new, out = active[part].chunk(4, dim=1)
            torch.mul(forget, cell[:size], out=cells[part])
            cells[part].addcmul_(enter, new)
            torch.mul(out, torch.tanh(cells[part]), out=states[part])
            hidden, cell, at = states[part], cells[part], at + size
        ctx.save_for_backward(active, cells, states, recurrent, initial)
        ctx.sizes = sizes
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_states: Tensor) -> tuple[Tensor | None, ...]:
        active, cells, states, recurrent, initial = ctx.saved_tensors
        d_gates, before = torch.empty_like(active), torch.empty_like(states)
        d_hidden, d_cell = torch.zeros_like(initial), torch.zeros_like(initial)
        at = len(active)
        for step in reversed(range(len(ctx.sizes))):
            size = ctx.sizes[step]
            at -= size
            part = slice(at, at + size)
            if step:
                earlier = slice(at - ctx.sizes[step - 1], at - ctx.sizes[step - 1] + size)
                before[part], old = states[earlier], cells[earlier]
            else:
                before[part], old = initial[:size], torch.zeros_like(initial)
            enter, forget, new, out = active[part].chunk(4, dim=1)
            d_enter, d_forget, d_new, d_out = d_gates[part].chunk(4, dim=1)
            risen, d_now = torch.tanh(cells[part]), d_states[part] + d_hidden[:size]
            change = d_cell[:size] + d_now * out * (1 - risen.square())
            d_out.copy_(d_now * risen * out * (1 - out))
            d_enter.copy_(change * new * enter * (1 - enter))
            d_forget.copy_(change * old * forget * (1 - forget))
            d_new.copy_(change * enter * (1 - new.square()))
            d_cell[:size] = change * forget
            d_hidden[:size] = d_gates[part] @ recurrent
        d_recurrent = d_gates.T @ before if ctx.needs_input_grad[1] else None
        return d_gates, d_recurrent, d_hidden if ctx.needs_input_grad[2] else None, None


def recurrence(gates: Tensor, recurrent: Tensor, initial: Tensor, sizes: Tensor) -> Tensor:
    r"""Compute states of an LSTM whose inputs' share of the gates is known.

    $i, f, o = \sigma(a_t + U_{\cdot} h_{t-1})$, $g = \tanh(a_t + U_g h_{t-1})$,
    $c_t = f \odot c_{t-1} + i \odot g$, $h_t = o \odot \tanh(c_t)$, $c_0 = 0$.

    A part of the input that stays the same at every step (a sentence's vector) so costs one product a sentence, where a
    library's LSTM wants it again at each word; and the gradient of U is one product over all steps.

    Source: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000. Gates in torch's order:
    i, f, g, o.

    Args:
        gates: (N, 4 H) $a_t$ of packed cells, see `Packing`.
        recurrent: (4 H, H) U.
        initial: (B, H) $h_0$, in the packing's order.
        sizes: sequences at each time; their sum is N.

    Returns:
        (N, H) states in the order of ``gates``.
    """
    kind = torch.promote_types(gates.dtype, torch.float32)
    with torch.autocast(gates.device.type, enabled=False):
        states: Tensor = _Recurrence.apply(gates.to(kind), recurrent.to(kind), initial.to(kind), sizes.tolist())
    return states


@torch.no_grad()
def initialise(lstm: nn.LSTM, bound: float = 0.01, forget: float = 3.0) -> None:
    """Draw uniform input weights, an orthogonal recurrent matrix for each gate, biases of 0 and ``forget``.

    torch keeps two biases a gate, whose sum alone counts: the second stays at 0 and is not trained.

    Source: Gan et al. 2017, section 4, "For training"; a bias of 3 as Sutskever et al. have it.
    """
    width = lstm.hidden_size
    inputs, recurrent, bias, second = (
        lstm.get_parameter(name) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    )
    nn.init.uniform_(inputs, -bound, bound)
    for gate in range(4):
        nn.init.orthogonal_(recurrent[gate * width : (gate + 1) * width])
    bias.zero_()
    bias[width : 2 * width] = forget
    second.zero_()
    second.requires_grad_(False)
