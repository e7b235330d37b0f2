"""Decoders: sentence vectors in, words out; a sentence word by word, a paragraph sentence by sentence.

And an encoder with the decoders that train it: the four CNN-LSTM models.
"""

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
from sentbook.models.base import SentenceEncoder, WordEmbedding
from sentbook.models.recurrent import Packing, initialise, recurrence, run

Kind = Literal["autoencoder", "future predictor", "composite", "hierarchical"]
# Nothing is predicted beyond an end, so that the id of padding is free to be the end's among the predicted words.
END = PADDING

# Continuations that a search looks at together.
_CANDIDATES = 2**23


class DecoderOptions(Section):
    """What decides an untrained decoder beside its widths and its seed.

    Defaults are those of Gan et al. 2017, but for dropout, whose rate they do not state.
    """

    hidden: int = Field(600, ge=1, description="of every LSTM")
    start: Literal["zero", "code"] = "zero"
    output: Literal["full", "tied"] = "full"
    bound: float = Field(0.01, gt=0, description="weights of decoders and learned words start in [-bound, bound]")
    dropout: Share = Field(0.0, description="on elements of the word vectors")


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
        options: ``hidden`` H; ``start`` ``zero`` or ``code``; ``output`` ``full`` (V is vocabulary x H) or ``tied``;
            ``bound``: weights start uniform in [-bound, bound], recurrent ones orthogonal, the forget gate's bias at 3;
            ``dropout`` on elements of word vectors, z and h, while training, where the released code has it.

    Shapes: ids (B, T), lengths (B,), codes (B, F).
    Parameters (zero, full): 4 H (D + F + H + 1) + D + vocabulary x (H + 1).
    """

    def __init__(self, vocabulary: int, words: int, codes: int, options: DecoderOptions) -> None:
        super().__init__()
        hidden, bound = options.hidden, options.bound
        self.words, self.hidden, self.dropout = words, hidden, options.dropout
        self.lstm = nn.LSTM(words + codes, hidden, batch_first=True)
        initialise(self.lstm, bound)

        def uniform(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))

        self.opening = uniform(words) if options.start == "zero" else None
        self.first = nn.Linear(codes, hidden) if options.start == "code" else None
        if self.first is not None:
            nn.init.uniform_(self.first.weight, -bound, bound)
            nn.init.zeros_(self.first.bias)
        # Tied: h to the space of word vectors, and a vector of the end's own, as padding's is held at 0.
        self.output_weight = uniform(vocabulary, hidden) if options.output == "full" else uniform(words, hidden)
        self.end = uniform(words) if options.output == "tied" else None
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

    def _states(self, inputs: Tensor, codes: Tensor, rows: Tensor, initial: Tensor, sizes: list[int]) -> Tensor:
        """Compute (N, H) states of packed (N, D) word vectors."""
        if inputs.is_cuda:  # cuDNN's LSTM multiplies z again with each word, but waits for no step
            both = torch.cat([inputs, codes[rows].to(inputs.dtype)], dim=1)
            start = initial.to(self._inputs.dtype).unsqueeze(0)
            return run(self.lstm, PackedSequence(both, torch.tensor(sizes)), (start, torch.zeros_like(start)))[0].data
        gates = functional.linear(inputs, self._inputs[:, : self.words]) + self._conditioned(codes)[rows]
        return recurrence(gates, self._recurrent, initial, sizes)

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

    def _step(self, inputs: Tensor, hidden: Tensor, cell: Tensor, conditioned: Tensor) -> tuple[Tensor, Tensor]:
        """Go on by one word of (B, D) vectors; ``conditioned`` is the share of the codes in the gates."""
        gates = functional.linear(inputs, self._inputs[:, : self.words]) + conditioned
        gates = gates + functional.linear(hidden, self._recurrent)
        enter, forget, new, out = gates.chunk(4, dim=1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        return torch.sigmoid(out) * torch.tanh(cell), cell

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
            forbidden: words never chosen, e.g. the unknown one, but not the end. Probabilities are not rescaled.
        """
        together = max(1, _CANDIDATES // (beam * len(self.output_bias)))
        found: list[Generated] = []
        for part in codes.to(table.weight.device).split(together):
            found += self._search(table, part, beam, limit, list(forbidden))
        return found

    def _search(
        self, table: WordEmbedding, codes: Tensor, beam: int, limit: int, forbidden: list[int]
    ) -> list[Generated]:
        count, device = len(codes), codes.device
        hidden, conditioned = self._initial(codes), self._conditioned(codes)
        cell = torch.zeros_like(hidden)
        if self.opening is not None:
            hidden, cell = self._step(self.opening.expand(count, -1), hidden, cell, conditioned)
        logits = self._logits(table, hidden).repeat_interleave(beam, dim=0)
        scores = torch.full((count, beam), -torch.inf, device=device)
        scores[:, 0] = 0  # one sentence, still empty; the others' places are free
        hidden, cell, conditioned = (part.repeat_interleave(beam, dim=0) for part in (hidden, cell, conditioned))
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
            came = (first + parents).flatten()
            inputs, conditioned = functional.embedding(word.flatten(), table.weight), conditioned[came]
            hidden, cell = self._step(inputs, hidden[came], cell[came], conditioned)
            logits = self._logits(table, hidden)
        scores, place = scores.max(dim=1)
        chosen_words = words[torch.arange(count, device=device), place].tolist()
        return [
            Generated(ids[: ids.index(END)] if END in ids else ids, score)
            for ids, score in zip(chosen_words, scores.tolist(), strict=True)
        ]


class HierarchicalDecoder(nn.Module):
    r"""$p(D) = \prod_{\ell=1}^{L} p(s_\ell \mid h_\ell)$ with $h_\ell = \mathrm{LSTM}_p(h_{\ell-1}, z_{\ell-1})$.

    An LSTM over the vectors $z$ of a paragraph's sentences, and one `LSTMDecoder` that writes each sentence conditioned
    on its state. $h_0 = 0$, and the last sentence's vector is never used.

    Source: Gan et al. 2017, section 2.2, equations 2-8.
    Deviations: none known. $s_0$ is "a special start-of-the-paragraph token"; it is read as a learned vector $z_0$ in
    place of a convolution over one token. All but $s_0$ are predicted, the first sentence from $z_0$ alone.

    Args:
        vocabulary, words: see `LSTMDecoder`.
        codes: F, the width of a sentence's vector.
        options: see `LSTMDecoder`; ``hidden`` is the H of both LSTMs, and dropout is on z too.

    Shapes: P paragraphs of L sentences each; codes (P, L - 1, F) to states (P, L, H).
    """

    def __init__(self, vocabulary: int, words: int, codes: int, options: DecoderOptions) -> None:
        super().__init__()
        self.dropout = options.dropout
        self.opening = nn.Parameter(torch.empty(codes).uniform_(-options.bound, options.bound))
        self.paragraph = nn.LSTM(codes, options.hidden, batch_first=True)
        initialise(self.paragraph, options.bound)
        self.sentence = LSTMDecoder(vocabulary, words, options.hidden, options)

    def states(self, codes: Tensor) -> Tensor:
        """Run over (P, L - 1, F) vectors of all sentences but the last: (P, L, H)."""
        opening = self.opening.expand(len(codes), 1, -1)
        codes = functional.dropout(torch.cat([opening, codes], dim=1), self.dropout, self.training)
        return run(self.paragraph, codes)[0]

    def forward(self, table: WordEmbedding, ids: Tensor, lengths: Tensor, codes: Tensor) -> Forced:
        """Predict every word and end of all sentences from the words and the sentences before.

        Args:
            ids, lengths: (P L, T) and (P L,) all sentences, paragraph by paragraph.
            codes: (P, L - 1, F) vectors of each paragraph's sentences but its last.
        """
        forced: Forced = self.sentence(table, ids, lengths, self.states(codes).flatten(0, 1))
        return forced


# -- the four models ---------------------------------------------------------------------------------------------------

# Token ids on the device, (S, T), and their lengths on the CPU, (S,).
Sentences = tuple[Tensor, Tensor]


class EncoderDecoder(nn.Module):
    r"""An encoder and the decoders that train it.

    | kind             | decoders      | predicts                                                                |
    |------------------|---------------|-------------------------------------------------------------------------|
    | autoencoder      | same          | the sentence itself, $p(s \mid z(s))$                                   |
    | future predictor | next          | the sentence behind it in the book, $p(s_{i+1} \mid z(s_i))$            |
    | composite        | same and next | both from one vector, by two LSTMs                                      |
    | hierarchical     | next          | each sentence of a paragraph from those before, $p(s_\ell \mid h_\ell)$ |

    Source: Gan et al. 2017, section 2 and figure 1.
    Deviations: see the encoder and the decoders.

    Args:
        encoder: what is trained; the decoders read its word vectors and are thrown away with the training.
        kind: of model.
        options: of the decoders.
        seed: of the decoders' initial values.
    """

    def __init__(self, encoder: SentenceEncoder, kind: Kind, options: DecoderOptions, *, seed: int) -> None:
        super().__init__()
        self.encoder, self.kind = encoder, kind
        vocabulary, words = encoder.embedding.weight.shape
        names = {"autoencoder": ["same"], "composite": ["same", "next"]}.get(kind, ["next"])
        made = HierarchicalDecoder if kind == "hierarchical" else LSTMDecoder
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            decoders = {name: made(vocabulary, words, encoder.dimension, options) for name in names}
        self.decoders = nn.ModuleDict(decoders)

    def forward(self, sentences: Sentences, following: Sentences | None = None, size: int = 2) -> dict[str, Forced]:
        """Predict by each decoder, see `sentbook.models.losses`.

        Args:
            sentences: for the hierarchical model those of all paragraphs, one after another.
            following: each one's next sentence, where a model predicts it.
            size: sentences of a paragraph, at least 2.
        """
        table, (ids, lengths) = self.encoder.embedding, sentences
        if self.kind == "hierarchical":
            # The last sentence of a paragraph is predicted but tells of no other.
            before = ids.view(-1, size, ids.shape[1])[:, :-1].flatten(0, 1), lengths.view(-1, size)[:, :-1].flatten()
            codes = self.encoder(*before).view(len(ids) // size, size - 1, -1)
            return {"next": self.decoders["next"](table, ids, lengths, codes)}
        codes = self.encoder(ids, lengths)
        told = {"same": sentences, "next": following}
        return {name: decoder(table, *pair, codes) for name, decoder in self.decoders.items() if (pair := told[name])}
