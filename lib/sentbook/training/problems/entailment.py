"""Training an encoder on natural-language inference."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sentbook.data.text import Tokenisation, Vocabulary, batches_by_tokens
from sentbook.data.types import LabelledPairs
from sentbook.models import SentenceEncoder
from sentbook.models.base import to_device
from sentbook.models.losses.entailment import EntailmentHead, entailment_loss
from sentbook.training.problem import Problem, Rows
from sentbook.training.settings import EntailmentTraining


class EntailmentProblem(Problem):
    """Three classes from a premise and a hypothesis, judged by accuracy.

    Source: Conneau et al. 2017, section 3.

    Args:
        encoder: what is trained; its head is thrown away.
        train, held_out: labelled pairs over the same classes.
    """

    metric = "accuracy"

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
        self.encoder, self.settings, self.decay = encoder, settings, settings.composition_decay
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head: EntailmentHead = EntailmentHead(
                encoder.dimension, classes=len(train.classes), hidden=settings.hidden
            )
        self._tokens = {
            name: vocabulary.encode([*pairs.first, *pairs.second], tokenisation)
            for name, pairs in (("train", train), ("held out", held_out))
        }
        self._labels = {"train": train.labels, "held out": held_out.labels}
        self.lengths = self._tokens["train"].lengths.reshape(2, len(train)).max(axis=0)

    def _logits(self, name: str, rows: Rows) -> Tensor:
        logits: Tensor = self.head(*self.pair_vectors(self._tokens[name], rows))
        return logits

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        logits = self._logits("train", rows)
        labels = to_device(torch.from_numpy(self._labels["train"][rows]), logits.device)
        return entailment_loss(logits.float(), labels)

    @torch.inference_mode()
    def validate(self) -> float:
        tokens, labels = self._tokens["held out"], self._labels["held out"]
        longest = tokens.lengths.reshape(2, len(labels)).max(axis=0)
        right = 0
        for rows in batches_by_tokens(longest, 20_000):
            found = self._logits("held out", rows).argmax(dim=1).cpu().numpy()
            right += int((found == labels[rows]).sum())
        return right / len(labels)
