"""An encoder with the decoders that train it: the four CNN-LSTM models."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from sentbook.models.base import SentenceEncoder, to_device
from sentbook.models.decoders import DecoderOptions, Forced, HierarchicalDecoder, LSTMDecoder

Kind = Literal["autoencoder", "future predictor", "composite", "hierarchical"]


class Batch(NamedTuple):
    """What a model reads: ids on its device, lengths and counts on the CPU.

    Attributes:
        ids, lengths: (S, T) and (S,) sentences; for the hierarchical model those of all paragraphs, one after another.
        following: ids and lengths of each one's next sentence, where a model predicts it.
        counts: (P,) sentences of each paragraph, for the hierarchical model.
    """

    ids: Tensor
    lengths: Tensor
    following: tuple[Tensor, Tensor] | None = None
    counts: Tensor | None = None


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

    def forward(self, batch: Batch) -> dict[str, Forced]:
        """Predict by each decoder, see `sentbook.models.losses.reconstruction`."""
        table = self.encoder.embedding
        if batch.counts is not None:
            # The last sentence of a paragraph is predicted but tells of no other.
            known = torch.ones(len(batch.ids), dtype=torch.bool)
            known[batch.counts.cumsum(0) - 1] = False
            rows = known.nonzero().squeeze(1)
            codes = table.weight.new_zeros(0, self.encoder.dimension)  # of paragraphs of one sentence alone
            if len(rows):
                codes = self.encoder(batch.ids[to_device(rows, batch.ids.device)], batch.lengths[rows])
            return {"next": self.decoders["next"](table, batch.ids, batch.lengths, codes, batch.counts)}
        codes = self.encoder(batch.ids, batch.lengths)
        told = {"same": (batch.ids, batch.lengths), "next": batch.following}
        return {name: decoder(table, *pair, codes) for name, decoder in self.decoders.items() if (pair := told[name])}
