"""Steps of every objective: a GPU would be waited for at checks alone, and what a loss reads is there before it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.decoders import Kind
from sentbook.models.recurrent import BiLSTMEncoder, GRANEncoder, LSTMEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.training import runs
from sentbook.training.objectives import (
    AnyObjective,
    DirectTransfer,
    EntailmentTraining,
    GenerationTraining,
    HeadTraining,
    Objective,
    RelatednessTraining,
    SimilarityTraining,
)
from sentbook.training.train import LazyAdam, optimisers, penalise, prepared, train
from trainings import PHRASE, STORIES, recipe

SHORT = {"epochs": 1, "checks_per_epoch": 1, "keep": "last", "clip": 1.0, "dropout": 0.1, "pull_back_words": 1e-3}
SMALL = {"dataset": "miniworld", "hidden": 5}


def bound(stage: AnyObjective, options: Encoder | None = None) -> Objective:
    """Bind a stage that makes one check to the mini-world and an encoder with lazy words, where it may have them."""
    encoder = options or CSEEncoder(filters=3)
    update = "dense" if isinstance(stage, GenerationTraining) else "lazy"
    if stage.embedding_update == "frozen":
        update = "frozen"
    objective = runs.prepare_stage(recipe(stage.changed(**SHORT, embedding_update=update), encoder=encoder))
    assert isinstance(objective, Objective)
    return objective


MAKERS: dict[str, Callable[[], Objective]] = {
    "PP": partial(bound, PHRASE, AverageEncoder()),
    "CSE": partial(bound, PHRASE),
    "CSE by sides": partial(bound, PHRASE, CSEEncoder(filters=3, windows="batch")),
    "CNN": partial(bound, PHRASE, CNNEncoder(filters=3)),
    "WSV": partial(bound, SimilarityTraining(dataset="miniworld"), WSVEncoder(filters=4)),
    "InferSent": partial(bound, PHRASE, BiLSTMEncoder(hidden=3)),
    "GRAN": partial(bound, PHRASE, GRANEncoder(hidden=3)),
    "LSTM": partial(bound, PHRASE, LSTMEncoder(hidden=3)),
    "direct transfer": partial(bound, DirectTransfer(dataset="miniworld")),
    "relatedness": partial(bound, RelatednessTraining(**SMALL)),
    "a head": partial(bound, HeadTraining(**SMALL)),
    "a head alone": partial(bound, HeadTraining(**SMALL, frozen=True, embedding_update="frozen")),
    "entailment": partial(bound, EntailmentTraining(corpus="miniworld-entailment", hidden=4)),
    **{
        kind: partial(bound, STORIES.changed(model=kind, batch_size=8), CNNEncoder(filters=3))
        for kind in get_args(Kind)
    },
}
every = pytest.mark.parametrize("name", MAKERS)


READS = {"_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_dim", "repeat_interleave"}


class Waits(TorchDispatchMode):
    """Note operations that the host of a GPU waits for: a value is read, or a shape depends on values; and copies."""

    def __init__(self) -> None:
        super().__init__()
        self.found, self.copies = list[str](), list[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.removeprefix("aten::").rstrip("_")
        reads = name in READS
        if name in ("index", "index_put", "_index_put_impl"):
            reads = any(one is not None and one.dtype in (torch.bool, torch.uint8) for one in args[1])
        if reads:
            self.found.append(name)
        result = func(*args, **(kwargs or {}))
        if name == "_to_copy" and result.device != args[0].device:
            self.copies.append(str(result.device))
        return result


@every
def test_a_step_reads_no_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a training in the ways that a GPU takes, the mean loss at the check alone is read.

    Torch's LSTM reads sizes of packed batches, on the host.
    """
    objective = MAKERS[name]()
    monkeypatch.setattr(Objective, "fused", True)
    monkeypatch.setattr(Tensor, "is_cuda", True)
    monkeypatch.setattr(Tensor, "is_cpu", False)
    object.__setattr__(objective, "judge", lambda: 0.0)
    with Waits() as mode:
        history = train(objective, seed=1, device="cpu", report=lambda line: None)
    steps = history.examples // objective.batch_size
    assert steps > 1
    assert mode.found == ["_local_scalar_dense"] * (1 + (2 * steps if name == "LSTM" else 0))


@every
def test_a_step_copies_nothing_to_its_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On ``meta``, whose tensors hold no values that could be read; it knows no autocast.

    Only LSTMs copy, without a wait: the order of a batch that is packed by its lengths, which are on the host.
    """
    monkeypatch.setattr(torch, "autocast", lambda *given, **named: nullcontext())
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *given: False)
    objective = MAKERS[name]()
    words = objective.encoder.embedding
    modules = nn.ModuleList([objective.encoder, objective.head]).to("meta").train()
    found = optimisers(objective, modules.parameters())
    first, second = prepared(objective, [np.arange(6)] * 2, np.random.default_rng(0))
    if isinstance(objective, HeadTraining) and objective._frozen is not None:
        objective._frozen.table = objective._frozen.table.to("meta")
    for distinct, batch in (first, second):  # constants are copied once
        with Waits() as mode:
            words.gather(distinct)
            objective.compute_loss(batch).backward()
            penalise(words, 1e-3, words.weight.detach(), [])
            for optimiser in found:
                if isinstance(optimiser, LazyAdam):
                    optimiser.step()
    assert bool(mode.copies) == (objective.packs or objective.encoder.packs)
