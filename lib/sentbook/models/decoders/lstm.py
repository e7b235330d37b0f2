"""The LSTM decoder: a sentence, word by word, from a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from sentbook.config import Section, Share
from sentbook.data.text import PADDING
from sentbook.io import ConfigError
from sentbook.models.base import WordEmbedding
from sentbook.models.recurrent import Packing, initialise, recurrence, run

# Nothing is predicted beyond an end, so that the id of padding is free to be the end's among the predicted words.
END = PADDING

# Continuations that a search looks at together.
_CANDIDATES = 2**23

Start = Literal["zero", "code"]
Output = Literal["full", "tied"]


class DecoderOptions(Section):
    """What decides an untrained decoder beside its widths and its seed; defaults are those of Gan et al. 2017."""

    hidden: int = Field(600, ge=1, description="of every LSTM")
    start: Start = "zero"
    output: Output = "full"
    bound: float = Field(0.01, gt=0, description="weights of decoders and learned words start in [-bound, bound]")
    dropout: Share = Field(0.0, description="on elements of the word vectors")


PUBLISHED = DecoderOptions()


class Forced(NamedTuple):
    """N predictions under teacher forcing, as `reconstruction_loss` reads them: the logits are features . rows + bias.

    Attributes:
        features: (N, K).
        rows: (vocabulary, K).
        bias: (vocabulary,).
        target: (N,) the words that should be predicted, `END` at each sentence's end.
        sentences: (N,) the row of the batch that each belongs to.
    """

    features: Tensor
    rows: Tensor
    bias: Tensor
    target: Tensor
    sentences: Tensor


class DecoderState(NamedTuple):
    """Between two words: (B, H) hidden and cell state, and the (B, 4 H) share of the sentence vectors in the gates."""

    hidden: Tensor
    cell: Tensor
    conditioned: Tensor

    def take(self, rows: Tensor) -> DecoderState:
        """Take the state of sentences ``rows``."""
        return DecoderState(self.hidden[rows], self.cell[rows], self.conditioned[rows])


class Generated(NamedTuple):
    """A sentence's ids, its end left out, and its log-probability, its end included where it has one."""

    words: list[int]
    log_probability: float


class LSTMDecoder(nn.Module):
    r"""A sentence's words one after the other, each from the one before and the sentence's vector.

    $$p(s \mid z) = \prod_{t=1}^{T} \mathrm{softmax}(V h_t + b)_{w_t}, \qquad
      h_t = \mathrm{LSTM}(y_{t-1}, h_{t-1}, z).$$

    The vector $z$ enters every gate at every step beside the word before, as $a_t = W y_{t-1} + C z + b$; the rest is
    `recurrence`. $y_0$ is a learned vector that stands for the start; a sentence of n words has n + 1 predictions, the
    last one its end. $h_0$ is 0.

    The word vectors are the encoder's, $y_t = W_e[w_t]$; every method takes that table as its first argument, so that
    it belongs to one module alone.

    Source: Gan et al. 2017, section 2.1, equation 1, and section 4. How z enters $\mathcal{H}$ is not printed; added to
    all gates is the released code's way.
    Deviations: the released code has $h_0 = \tanh(C_0 z + b_0)$ and predicts the first word from it, without a start
    (``start="code"``); its V is factored and tied to the word vectors, $V = W_e^\top V_h$ (``output="tied"``); and its
    weights start in [-.05, .05] (``bound``).

    Args:
        vocabulary: rows of the table of word vectors, padding included, whose row here predicts the end.
        words: D.
        codes: F, the width of z.
        options: ``hidden`` H; ``start`` ``zero`` or ``code``; ``output`` ``full`` (V is H x vocabulary) or ``tied``;
            ``bound``: weights start uniform in [-bound, bound], recurrent ones orthogonal, the forget gate's bias at 3;
            ``dropout`` on elements of word vectors, z and h, while training, where the released code has it.

    Shapes: ids (B, T), lengths (B,), codes (B, F).
    Parameters (zero, full): 4 H (D + F + H + 1) + D + vocabulary x (H + 1).
    """

    def __init__(
        self,
        vocabulary: int,
        words: int,
        codes: int,
        options: DecoderOptions = PUBLISHED,
    ) -> None:
        super().__init__()
        hidden, start, output, bound = options.hidden, options.start, options.output, options.bound
        self.start, self.output, self.dropout = start, output, options.dropout
        self.words, self.codes, self.hidden = words, codes, hidden
        self.lstm = nn.LSTM(words + codes, hidden, batch_first=True)
        initialise(self.lstm, bound)

        def uniform(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))

        self.opening = uniform(words) if start == "zero" else None
        self.first = nn.Linear(codes, hidden) if start == "code" else None
        if self.first is not None:
            nn.init.uniform_(self.first.weight, -bound, bound)
            nn.init.zeros_(self.first.bias)
        # Tied: h to the space of word vectors, and a vector of the end's own, as padding's is held at 0.
        self.output_weight = uniform(vocabulary, hidden) if output == "full" else uniform(words, hidden)
        self.end = uniform(words) if output == "tied" else None
        self.output_bias = nn.Parameter(torch.zeros(vocabulary))

    # -- teacher forcing ---------------------------------------------------------------------------------------------

    def forward(self, table: WordEmbedding, ids: Tensor, lengths: Tensor, codes: Tensor) -> Forced:
        """Predict every word and end of (B, T) ids with (B,) lengths (best on the CPU) from (B, F) vectors."""
        packing = Packing.of(lengths + 1, ids.device)
        count = len(ids)  # the packing's first cells: every sentence's first prediction
        before = self._drop(table(ids[packing.rows[count:], packing.times[count:] - 1]))
        codes = self._drop(codes)
        if self.opening is not None:
            inputs, rows, sizes = torch.cat([self.opening.to(before.dtype).expand(count, -1), before]), 0, 0
        else:
            inputs, rows, sizes = before, count, 1
        initial = self._initial(codes)[packing.order]
        states = self._states(inputs, codes, packing.rows[rows:], initial, packing.sizes[sizes:])
        if self.opening is None:
            states = torch.cat([initial.to(states.dtype), states])
        target = functional.pad(ids, (0, 1), value=END)[packing.rows, packing.times]
        features, weight = self.predictors(table, self._drop(states))
        return Forced(features, weight, self.output_bias, target, packing.rows)

    def _drop(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.dropout, self.training)

    @property
    def _inputs(self) -> Tensor:
        """(4 H, D + F) [W, C]."""
        return self.lstm.get_parameter("weight_ih_l0")

    @property
    def _recurrent(self) -> Tensor:
        """(4 H, H) U."""
        return self.lstm.get_parameter("weight_hh_l0")

    def _initial(self, codes: Tensor) -> Tensor:
        """(B, H) h_0."""
        return torch.tanh(self.first(codes)) if self.first is not None else codes.new_zeros(len(codes), self.hidden)

    def _conditioned(self, codes: Tensor) -> Tensor:
        """(B, 4 H) C z + b."""
        return functional.linear(codes, self._inputs[:, self.words :], self.lstm.get_parameter("bias_ih_l0"))

    def _states(self, inputs: Tensor, codes: Tensor, rows: Tensor, initial: Tensor, sizes: Tensor) -> Tensor:
        """Compute (N, H) states of packed (N, D) word vectors."""
        if inputs.is_cuda:
            return self._library_states(inputs, codes, rows, initial, sizes)
        gates = functional.linear(inputs, self._inputs[:, : self.words]) + self._conditioned(codes)[rows]
        return recurrence(gates, self._recurrent, initial, sizes)

    def _library_states(self, inputs: Tensor, codes: Tensor, rows: Tensor, initial: Tensor, sizes: Tensor) -> Tensor:
        """Do the same by torch's LSTM, on CUDA cuDNN's: it multiplies z again with each word, but waits for no step."""
        both = torch.cat([inputs, codes[rows].to(inputs.dtype)], dim=1)
        start = initial.to(self._inputs.dtype).unsqueeze(0)
        found: Tensor = run(self.lstm, PackedSequence(both, sizes), (start, torch.zeros_like(start)))[0].data
        return found

    def predictors(self, table: WordEmbedding, states: Tensor) -> tuple[Tensor, Tensor]:
        """Make (N, K) features and (vocabulary, K) rows whose products and `output_bias` are the logits of ``states``.

        Raises:
            ConfigError: tied to a table that is updated by rows, which this gradient touches all of.
        """
        if self.end is None:
            return states, self.output_weight
        if table.lazy and torch.is_grad_enabled():
            raise ConfigError("A tied output moves every word vector; set embedding_update to 'dense' or 'frozen'.")
        return functional.linear(states, self.output_weight), torch.cat([self.end.unsqueeze(0), table.weight[1:]])

    # -- word by word ------------------------------------------------------------------------------------------------

    def begin(self, table: WordEmbedding, codes: Tensor) -> tuple[Tensor, DecoderState]:
        """Begin with (B, F) vectors: the (B, vocabulary) logits of each first word, and the state to go on from."""
        hidden = self._initial(codes)
        state = DecoderState(hidden, torch.zeros_like(hidden), self._conditioned(codes))
        if self.opening is not None:
            return self._step(table, self.opening.expand(len(codes), -1), state)
        return self._logits(table, hidden), state

    def advance(self, table: WordEmbedding, words: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Compute the logits of the next word after (B,) ``words``."""
        return self._step(table, functional.embedding(words, table.weight), state)

    def _step(self, table: WordEmbedding, inputs: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        gates = functional.linear(inputs, self._inputs[:, : self.words]) + state.conditioned
        gates = gates + functional.linear(state.hidden, self._recurrent)
        enter, forget, new, out = gates.chunk(4, dim=1)
        cell = torch.sigmoid(forget) * state.cell + torch.sigmoid(enter) * torch.tanh(new)
        hidden = torch.sigmoid(out) * torch.tanh(cell)
        return self._logits(table, hidden), DecoderState(hidden, cell, state.conditioned)

    def _logits(self, table: WordEmbedding, hidden: Tensor) -> Tensor:
        features, rows = self.predictors(table, hidden)
        return functional.linear(features, rows, self.output_bias)

    @torch.inference_mode()
    def beam(
        self, table: WordEmbedding, codes: Tensor, beam: int = 5, limit: int = 40, forbidden: Sequence[int] = ()
    ) -> list[Generated]:
        """Search with a beam for the likeliest sentence of each of (B, F) vectors.

        A finished sentence keeps its place in the beam. Scores are log-probabilities, not divided by length. The search
        ends where no unfinished sentence can overtake the best finished one any more.

        Source: Gan et al. 2017, table 1; width 5 and 40 steps in the released code.

        Args:
            beam: sentences kept at each step.
            limit: steps, that of the end included; a sentence without an end by then is cut.
            forbidden: words never chosen, e.g. the unknown one. Probabilities are not rescaled.

        Raises:
            ValueError: ``beam`` or ``limit`` below 1, or the end is forbidden.
        """
        if beam < 1 or limit < 1 or END in forbidden:
            raise ValueError("A search needs a beam and a limit of at least 1, and an end that is not forbidden.")
        training, _ = self.training, self.eval()
        together = max(1, _CANDIDATES // (beam * len(self.output_bias)))
        found: list[Generated] = []
        for part in codes.to(table.weight.device).split(together):
            found += self._search(table, part, beam, limit, list(forbidden))
        self.train(training)
        return found

    def _search(
        self, table: WordEmbedding, codes: Tensor, beam: int, limit: int, forbidden: list[int]
    ) -> list[Generated]:
        count, device = len(codes), codes.device
        logits, state = self.begin(table, codes)
        scores = torch.full((count, beam), -torch.inf, device=device)
        scores[:, 0] = 0  # one sentence, still empty; the others' places are free
        state = state.take(torch.arange(count, device=device).repeat_interleave(beam))
        logits = logits.repeat_interleave(beam, dim=0)
        words = torch.empty(count, beam, 0, dtype=torch.int64, device=device)
        done = torch.zeros(count, beam, dtype=torch.bool, device=device)
        first = torch.arange(count, device=device).unsqueeze(1) * beam
        for step in range(limit):
            likely = torch.log_softmax(logits.float(), dim=1)
            likely[:, forbidden] = -torch.inf
            likely = likely.view(count, beam, -1)
            likely[done] = -torch.inf  # an end follows an end, at no cost
            likely[..., END] = torch.where(done, 0.0, likely[..., END])
            scores, chosen = (scores.unsqueeze(2) + likely).flatten(1).topk(beam, dim=1)
            parents, word = chosen // likely.shape[2], chosen % likely.shape[2]
            words = torch.cat([words.gather(1, parents.unsqueeze(2).expand(-1, -1, step)), word.unsqueeze(2)], dim=2)
            done = word == END
            best = torch.where(done, scores, -torch.inf).amax(dim=1)
            if step + 1 == limit or bool((best >= torch.where(done, -torch.inf, scores).amax(dim=1)).all()):
                break
            logits, state = self.advance(table, word.flatten(), state.take((first + parents).flatten()))
        scores, place = scores.max(dim=1)
        chosen_words = words[torch.arange(count, device=device), place].tolist()
        return [
            Generated(ids[: ids.index(END)] if END in ids else ids, score)
            for ids, score in zip(chosen_words, scores.tolist(), strict=True)
        ]
