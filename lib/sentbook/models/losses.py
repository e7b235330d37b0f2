"""Losses and heads: what a training makes small, and what turns two sentence vectors into a prediction."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

# -- margin: paraphrase pairs with negatives from the batch ------------------------------------------------------------

Selection = Literal["max", "random", "mix"]
Candidates = Literal["one side", "both sides"]


def choose_negatives(similarities: Tensor, selection: Selection = "max", candidates: Candidates = "one side") -> Tensor:
    """Choose the row of each sentence's negative among the 2B sentences of the batch, first members before second ones.

    Args:
        similarities: (2B, 2B) cosines without gradient.
        selection: ``max``: the most similar candidate; ``random``: a uniform one; ``mix``: a fair coin decides.
        candidates: ``one side``: a first member's negative is a first member (the paper's formula); ``both sides``: any
            sentence of another pair (the released code).

    Returns:
        (2B,) int64 rows; never the sentence itself nor its partner.

    Raises:
        ValueError: the batch holds a single pair, so that there is no negative.
    """
    size = similarities.shape[0]
    pairs = size // 2
    if pairs < 2:
        raise ValueError("A batch of one pair has no negative; use a batch size and data of at least 2 pairs.")
    at = torch.arange(size, device=similarities.device)
    forbidden = (at.unsqueeze(1) - at.unsqueeze(0)) % pairs == 0
    if candidates == "one side":
        forbidden = forbidden | ((at.unsqueeze(1) < pairs) != (at.unsqueeze(0) < pairs))
    hardest = similarities.masked_fill(forbidden, float("-inf")).argmax(dim=1)
    if selection == "max":
        return hardest
    noise = torch.rand(size, size, device=similarities.device).masked_fill_(forbidden, -1.0)
    uniform = noise.argmax(dim=1)
    if selection == "random":
        return uniform
    return torch.where(torch.rand(size, device=similarities.device) < 0.5, hardest, uniform)


def margin_loss(
    first: Tensor,
    second: Tensor,
    margin: float = 0.4,
    selection: Selection = "max",
    candidates: Candidates = "one side",
) -> Tensor:
    r"""Compute the hinge of each pair against its two negatives, averaged over the batch.

    $$\frac{1}{B} \sum_{\langle s_1, s_2 \rangle} \max(0, \delta - \cos(s_1, s_2) + \cos(s_1, t_1))
      + \max(0, \delta - \cos(s_1, s_2) + \cos(s_2, t_2))$$

    Negatives are searched in one matrix product of the 2B normalised vectors, which takes no gradient.

    Source: Jiao et al. 2018, equation 5 without its regularisers (`sentbook.training.train` adds them), section 3.2,
    "Selecting Negative Examples"; Wieting et al. 2016.
    Deviations: negatives are chosen with the representations of the step, dropout included; the released code
    computes them once more without dropout.

    Args:
        first, second: (B, F) vectors of the pairs' members, B >= 2.
        margin: delta.
        selection, candidates: see `choose_negatives`.

    Returns:
        A scalar.

    Raises:
        ValueError: B is 1.

    Example:
        >>> first = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> round(margin_loss(first, first, margin=0.4).item(), 4)  # cos(s1, s2) = 1, cos to any negative = 0
        0.0
        >>> round(margin_loss(first, first.flip(0), margin=0.4).item(), 4)
        0.8
    """
    vectors = functional.normalize(torch.cat([first, second]), dim=1, eps=1e-5)
    found = vectors.detach()
    chosen = choose_negatives(found @ found.T, selection, candidates)
    positive = (vectors[: len(first)] * vectors[len(first) :]).sum(1)
    negative = (vectors * vectors.index_select(0, chosen)).sum(1)
    return functional.relu(margin - positive.repeat(2) + negative).sum() / len(first)


# -- similarity: scores of pairs against gold, all in [0, 1] -----------------------------------------------------------

PairScore = Literal["cosine", "euclidean", "manhattan"]
Falling = Literal["f1", "f2", "f2 as printed", "f3"]
ScoreLoss = Literal["mse", "kl", "cross-entropy"]

# Under the root of the Euclidean distance, whose slope at 0 is infinite.
_EPSILON = 1e-12

FALLING: dict[Falling, Callable[[Tensor], Tensor]] = {
    "f1": lambda x: torch.exp(-x),
    "f2": lambda x: 2 * torch.sigmoid(-x),
    "f2 as printed": torch.sigmoid,
    "f3": lambda x: 1 / (1 + x),
}


def pair_score(first: Tensor, second: Tensor, score: PairScore = "cosine", falling: Falling = "f1") -> Tensor:
    r"""Score the similarity of two sentence vectors.

    $\cos(u, v)$, or $f(\lVert u - v \rVert_p)$ with p = 2 (euclidean) or 1 (manhattan) and $f_1(x) = e^{-x}$,
    $f_2(x) = 2 / (1 + e^{x})$ or $f_3(x) = 1 / (1 + x)$.

    Source: Yao et al. 2018, section 3.5, equation 10.
    Deviations: $f_2$ is printed as $1 / (1 + e^{-x})$ (``f2 as printed``), which rises with the distance from .5 to 1,
    against the text's "monotone decreasing function"; here it falls from 1 to 0.

    Args:
        first, second: (B, F).
        falling: f, for the distances.

    Returns:
        (B,), in [0, 1] for distances and for the cosine of vectors without negative elements; the cosine with a vector
        of zeros is 0, and its gradient there of size 1e8.

    Example:
        >>> u, v = torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 0.0]])
        >>> pair_score(u, v, "euclidean", "f3")
        tensor([0.1667])
    """
    if score == "cosine":
        return functional.cosine_similarity(first, second, dim=1)
    gap = first - second
    distance = gap.abs().sum(dim=1) if score == "manhattan" else (gap.square().sum(dim=1) + _EPSILON).sqrt()
    return FALLING[falling](distance)


def mse_loss(score: Tensor, gold: Tensor) -> Tensor:
    r"""Compute $\frac{1}{m} \sum_i (s_i - q_i)^2$ of (B,) scores and gold. Source: Yao et al. 2018, equation 12."""
    return functional.mse_loss(score, gold)


def kl_loss(score: Tensor, gold: Tensor, smoothing: float = 0.01) -> Tensor:
    r"""Compute the KL divergence of two Bernoulli distributions, with $0 \log 0 = 0$.

    $\frac{1}{m} \sum_i q \log \frac{q}{p} + (1 - q) \log \frac{1 - q}{1 - p}$, $p = (s + \epsilon) / (1 + 2 \epsilon)$.

    Source: Yao et al. 2018, equation 13; "Laplace smoothing" of p, its $\epsilon$ unstated. A score outside [0, 1], as
    a cosine can be, counts as the nearer end, so that no gradient pulls together two vectors that point apart.

    Args:
        score, gold: (B,).
        smoothing: $\epsilon$; it bounds the slope at a score of 0 or 1 by $1/\epsilon$.
    """
    return cross_entropy_loss(score, gold, smoothing) - (_entropy(gold) + _entropy(1 - gold)).mean()


def cross_entropy_loss(score: Tensor, gold: Tensor, smoothing: float = 0.01) -> Tensor:
    r"""Compute the binary cross-entropy of (B,) scores and gold, $-\frac{1}{m} \sum_i q \log p + (1 - q) \log (1 - p)$.

    p is that of `kl_loss`, from which it differs by the entropy of q: not at all for labels.

    Source: Yao et al. 2018, section 4.2.
    """
    p = (score.clamp(0, 1) + smoothing) / (1 + 2 * smoothing)
    return -(gold * p.log() + (1 - gold) * (1 - p).log()).mean()


def _entropy(q: Tensor) -> Tensor:
    return -torch.special.xlogy(q, q)


def score_loss(name: ScoreLoss, score: Tensor, gold: Tensor, smoothing: float) -> Tensor:
    """Compute the loss ``name`` of (B,) scores and (B,) gold in [0, 1]; the squared error takes no ``smoothing``."""
    if name == "mse":
        return mse_loss(score, gold)
    return (kl_loss if name == "kl" else cross_entropy_loss)(score, gold, smoothing)


# -- relatedness: a distribution over integer scores, Tai's head -------------------------------------------------------


def sparse_target(scores: Tensor, classes: int) -> Tensor:
    r"""Find the sparsest distribution p over 1..K with expectation y.

    $p_i = y - \lfloor y \rfloor$ for $i = \lfloor y \rfloor + 1$, $\lfloor y \rfloor - y + 1$ for
    $i = \lfloor y \rfloor$, else 0.

    Source: Tai et al. 2015, section 4.2; Jiao et al. 2018, section 4.2.

    Args:
        scores: (B,) in [1, K].
        classes: K.

    Returns:
        (B, K) rows that sum to 1.

    Raises:
        ValueError: a score outside [1, K].

    Example:
        >>> sparse_target(torch.tensor([3.6, 5.0]), 5)
        tensor([[0.0000, 0.0000, 0.4000, 0.6000, 0.0000],
                [0.0000, 0.0000, 0.0000, 0.0000, 1.0000]])
    """
    if scores.numel() and (scores.min() < 1 or scores.max() > classes):
        raise ValueError(f"Relatedness scores must lie in [1, {classes}]; shift the scale before building targets.")
    levels = torch.arange(1, classes + 1, dtype=scores.dtype, device=scores.device)
    return (1 - (scores.unsqueeze(1) - levels).abs()).clamp(min=0)


class RelatednessHead(nn.Module):
    r"""Two sentence vectors to a distribution over the scores 1..K.

    $h_\times = u \odot v$, $h_+ = |u - v|$, $h_s = \sigma(W^{(\times)} h_\times + W^{(+)} h_+ + b^{(h)})$,
    $\hat p = \mathrm{softmax}(W^{(p)} h_s + b^{(p)})$, $\hat y = r^\top \hat p$ with $r = (1, \ldots, K)$.

    Source: Tai et al. 2015, equation 15; Jiao et al. 2018, section 4.2 (their circled plus in $h_*$ is read as the
    element-wise product, as in Tai's text and the released code).

    Args:
        dimension: F, width of u and v.
        classes: K.
        hidden: width of $h_s$; None for no hidden layer (as SentEval).
        normalise: scale u and v to length one first (the released code does; the paper is silent).

    Attributes:
        unit: u and v are divided by it before anything else; 1 where they are taken as they are. It is a part of the
            head's state, so that a head that was trained on vectors of another size predicts from vectors as they are.
    """

    unit: Tensor

    def __init__(self, dimension: int, classes: int = 5, hidden: int | None = 300, normalise: bool = True) -> None:
        super().__init__()
        self.classes, self.normalise = classes, normalise
        self.register_buffer("unit", torch.tensor(1.0))
        if hidden is None:
            self.layers: nn.Module = nn.Linear(2 * dimension, classes)
        else:
            self.layers = nn.Sequential(nn.Linear(2 * dimension, hidden), nn.Sigmoid(), nn.Linear(hidden, classes))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Classify (B, F) and (B, F): (B, K) log-probabilities."""
        first, second = first / self.unit, second / self.unit
        if self.normalise:
            first = functional.normalize(first, dim=1, eps=1e-5)
            second = functional.normalize(second, dim=1, eps=1e-5)
        features = torch.cat([first * second, (first - second).abs()], dim=1)
        return torch.log_softmax(self.layers(features), dim=1)

    def expectation(self, log_probabilities: Tensor) -> Tensor:
        """Compute (B,) expected scores, in [1, K]."""
        levels = torch.arange(1, self.classes + 1, dtype=log_probabilities.dtype, device=log_probabilities.device)
        return log_probabilities.exp() @ levels


def relatedness_loss(log_probabilities: Tensor, target: Tensor, smoothing: float = 0.0) -> Tensor:
    r"""Compute $\frac{1}{BK} \sum_b \mathrm{KL}(p^{(b)} \| \hat p^{(b)})$, with $0 \log 0 = 0$.

    Source: Jiao et al. 2018, equation 6; its $\frac{\lambda}{2}\|\theta\|^2$ is added by the trainer. The released code
    divides by K as well and adds 1e-6 to the targets (``smoothing``) without renormalising.

    Args:
        log_probabilities: (B, K).
        target: (B, K) rows that sum to 1.
        smoothing: added to every target probability.
    """
    target = target + smoothing
    return (torch.special.xlogy(target, target) - target * log_probabilities).sum() / target.numel()


def squared_error_loss(log_probabilities: Tensor, target: Tensor) -> Tensor:
    r"""Compute $\frac{1}{BK} \sum_b \lVert p^{(b)} - \hat p^{(b)} \rVert^2$, the mean over batch and classes.

    Source: Zhang et al. 2018, equation 2 with the loss of SentEval, which hands both vectors to torch's `MSELoss`.

    Args:
        log_probabilities: (B, K).
        target: (B, K) rows that sum to 1.
    """
    return functional.mse_loss(log_probabilities.exp(), target)


def score_error(predicted: Tensor, gold: Tensor, kind: Literal["squared", "absolute"]) -> Tensor:
    r"""Compute $\frac{1}{B} \sum_b (\hat y_b - y_b)^2$ or $\frac{1}{B} \sum_b |\hat y_b - y_b|$ of (B,) scores.

    Source: Jiao et al. 2018, footnote 3 ("significantly better than squared or absolute error"), after Tai et al. 2015.
    """
    gap = predicted - gold
    return gap.square().mean() if kind == "squared" else gap.abs().mean()


# -- entailment: three classes from two vectors ------------------------------------------------------------------------


class EntailmentHead(nn.Module):
    r"""A premise's vector u and a hypothesis's v to the classes, by $[u, v, |u - v|, u \odot v]$ and linear layers.

    Source: Conneau et al. 2017, section 3.1 and figure 1; two layers of 512 without a non-linearity between, as their
    released training has it by default (the text speaks of fully connected layers).

    Args:
        dimension: F, width of u and v.
        classes: K.
        hidden: width of both layers.

    Shapes: (B, F) and (B, F) to (B, K).

    Example:
        >>> EntailmentHead(4, classes=3, hidden=5)(torch.zeros(2, 4), torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(self, dimension: int, classes: int = 3, hidden: int = 512) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(4 * dimension, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, classes)
        )

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Classify (B, F) and (B, F): (B, K) logits."""
        features: Tensor = self.layers(torch.cat([first, second, (first - second).abs(), first * second], dim=1))
        return features


def entailment_loss(logits: Tensor, labels: Tensor) -> Tensor:
    r"""Compute $-\frac{1}{B} \sum_b \log \mathrm{softmax}(z^{(b)})_{y_b}$ of (B, K) logits and (B,) classes.

    Source: Conneau et al. 2017, section 3.1 (a 3-class softmax).
    """
    return functional.cross_entropy(logits, labels)


# -- reconstruction: cross-entropy over a large vocabulary, whose logits never exist all at once -----------------------

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
