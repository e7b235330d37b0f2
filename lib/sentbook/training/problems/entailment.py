"""Training an encoder on natural-language inference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentbook.data.text import Tokenisation, Vocabulary, batches_by_tokens
from sentbook.data.types import LabelledPairs
from sentbook.models import SentenceEncoder
from sentbook.models.losses.entailment import EntailmentHead, entailment_loss
from sentbook.training.settings import EntailmentTraining


class EntailmentProblem:
    """A `sentbook.training.loop.Problem`: three classes from a premise and a hypothesis, judged by accuracy.

    Source: Conneau et al. 2017, section 3.

    Args:
        encoder: what is trained; its head is thrown away.
        train, held_out: labelled pairs over the same classes.
    """

    metric = "accuracy"
    patience: int | None = None

    def __init__(
        self,
        encoder: SentenceEncoder,
        vocabulary: Vocabulary,
        settings: EntailmentTraining,
        train: LabelledPairs,
        held_out: LabelledPairs,
        *,
        seed: int,
        tokenisation: Tokenisation = "ptb",
    ) -> None:
        self.encoder, self.settings = encoder, settings
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head = EntailmentHead(encoder.dimension, classes=len(train.classes), hidden=settings.hidden)
        self._tokens = {
            name: vocabulary.encode([*pairs.first, *pairs.second], tokenisation)
            for name, pairs in (("train", train), ("held out", held_out))
        }
        self._labels = {"train": train.labels, "held out": held_out.labels}
        self.lengths = self._tokens["train"].lengths.reshape(2, len(train)).max(axis=0)

    def _logits(self, name: str, rows: NDArray[np.int64]) -> Tensor:
        device = self.encoder.embedding.weight.device
        tokens = self._tokens[name]
        both = np.concatenate([rows, rows + len(tokens) // 2])
        ids, lengths = tokens.padded(both, self.encoder.minimum_length)
        vectors = self.encoder(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))
        first, second = vectors.chunk(2)
        return self.head(first, second)

    def loss(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        logits = self._logits("train", rows)
        return entailment_loss(logits.float(), torch.from_numpy(self._labels["train"][rows]).to(logits.device))

    @torch.inference_mode()
    def validate(self) -> float:
        tokens, labels = self._tokens["held out"], self._labels["held out"]
        longest = tokens.lengths.reshape(2, len(labels)).max(axis=0)
        right = 0
        for rows in batches_by_tokens(longest, 20_000):
            found = self._logits("held out", rows).argmax(dim=1).cpu().numpy()
            right += int((found == labels[rows]).sum())
        return right / len(labels)

    def watch(self) -> list[dict[str, Any]]:
        return []

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        return iter(())
