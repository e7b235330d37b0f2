"""An encoder with the decoders that train it: the four CNN-LSTM models."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from sentbook.models.base import SentenceEncoder
from sentbook.models.decoders import DecoderOptions, Forced, HierarchicalDecoder, LSTMDecoder

Kind = Literal["autoencoder", "future predictor", "composite", "hierarchical"]


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
