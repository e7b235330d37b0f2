"""An encoder with the decoders that train it: the four CNN-LSTM models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sentbook.data.text import TokenIds
from sentbook.models.base import SentenceEncoder, to_device
from sentbook.models.decoders import DecoderOptions, Forced, Generated, HierarchicalDecoder, LSTMDecoder
from sentbook.models.decoders.lstm import PUBLISHED
from sentbook.models.encode import padded
from sentbook.models.losses.reconstruction import token_losses

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

    def __init__(
        self,
        encoder: SentenceEncoder,
        kind: Kind,
        options: DecoderOptions = PUBLISHED,
        *,
        seed: int,
    ) -> None:
        super().__init__()
        self.encoder, self.kind = encoder, kind
        vocabulary, words = encoder.embedding.weight.shape
        names = {"autoencoder": ["same"], "composite": ["same", "next"]}.get(kind, ["next"])
        made = HierarchicalDecoder if kind == "hierarchical" else LSTMDecoder
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.decoders = nn.ModuleDict()
            for name in names:
                self.decoders[name] = made(vocabulary, words, encoder.dimension, options)

    def encode(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (S, T) ids and (S,) lengths to (S, F) vectors."""
        codes: Tensor = self.encoder(ids, lengths)
        return codes

    def forward(self, batch: Batch) -> dict[str, Forced]:
        """Predict by each decoder, see `sentbook.models.losses.reconstruction`."""
        table = self.encoder.embedding
        if batch.counts is not None:
            # The last sentence of a paragraph is predicted but tells of no other.
            known = torch.ones(len(batch.ids), dtype=torch.bool)
            known[batch.counts.cumsum(0) - 1] = False
            rows = known.nonzero().squeeze(1)
            codes = self._codes_of(batch.ids, batch.lengths, rows)
            return {"next": self.decoders["next"](table, batch.ids, batch.lengths, codes, batch.counts)}
        codes = self.encode(batch.ids, batch.lengths)
        found = {}
        if "same" in self.decoders:
            found["same"] = self.decoders["same"](table, batch.ids, batch.lengths, codes)
        if batch.following is not None:
            found["next"] = self.decoders["next"](table, *batch.following, codes)
        return found

    def _codes_of(self, ids: Tensor, lengths: Tensor, rows: Tensor) -> Tensor:
        if not len(rows):  # paragraphs of one sentence alone
            return self.encoder.embedding.weight.new_zeros(0, self.encoder.dimension)
        return self.encode(ids[to_device(rows, ids.device)], lengths[rows])

    @torch.inference_mode()
    def log_probabilities(self, batch: Batch) -> dict[str, Tensor]:
        """Compute the (S,) log-probability of each sentence, its end included, by each decoder."""
        found = {}
        for name, forced in self(batch).items():
            single = token_losses(forced.features, forced.rows, forced.bias, forced.target)
            found[name] = single.new_zeros(len(batch.ids)).index_add_(0, forced.sentences, -single)
        return found

    @torch.inference_mode()
    def continuation(
        self,
        sentences: Sequence[Sequence[int]],
        count: int,
        beam: int = 5,
        limit: int = 40,
        forbidden: Sequence[int] = (),
    ) -> list[Generated]:
        """Write ``count`` further sentences of a paragraph, each read again before the next is written.

        It stops early at an empty sentence.

        Raises:
            ValueError: the model is not hierarchical, or no sentence is given.
        """
        decoder = self.decoders["next"] if self.kind == "hierarchical" else None
        if not isinstance(decoder, HierarchicalDecoder) or not sentences:
            raise ValueError("A paragraph is continued by a hierarchical model, from one sentence or more.")
        training, _ = self.training, self.eval()
        told, written = [list(words) for words in sentences], list[Generated]()
        for _ in range(count):
            tokens = TokenIds(np.concatenate(told), np.cumsum([0, *map(len, told)]))
            ids, lengths = padded(tokens, np.arange(len(told)), self.encoder)
            state = decoder.next_state(self.encode(ids, lengths).unsqueeze(0))
            written += decoder.sentence.beam(self.encoder.embedding, state, beam, limit, forbidden)
            if not written[-1].words:
                break
            told.append(written[-1].words)
        self.train(training)
        return written
