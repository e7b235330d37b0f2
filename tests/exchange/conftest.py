"""Trained encoders of the mini-world, one of each kind, and small ones with drawn weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kept import forget
from sentbook.data.text import Vocabulary
from sentbook.exchange.portable import Description, Portable
from sentbook.models import build
from sentbook.models.average import AverageEncoder
from sentbook.models.bilstm import BiLSTMEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.gran import GRANEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.training import recipes
from sentbook.training.settings import SimilarityTraining, Stage
from trainings import PHRASE, STORIES, recipe

PAIRS = SimilarityTraining(dataset="miniworld", epochs=1)

Stages = tuple[Stage, ...]
TRAINED: dict[str, tuple[Encoder, Stages]] = {
    "average": (AverageEncoder(), (PHRASE,)),
    "cse": (CSEEncoder(filters=4), (PHRASE, PHRASE.model_copy(update={"corpora": ("miniworld-sentences",)}))),
    "gran": (GRANEncoder(hidden=6), (PHRASE,)),
    "bilstm": (BiLSTMEncoder(hidden=6), (PHRASE,)),
    "wsv": (WSVEncoder(filters=6), (PAIRS,)),
    "cnn": (CNNEncoder(filters=4, bound=0.1), (STORIES,)),
    "cnn fixed": (CNNEncoder(filters=4, bound=0.1), (STORIES.model_copy(update={"embedding_update": "frozen"}),)),
}
BATCHES: dict[str, Encoder] = {
    "faithful": CSEEncoder(filters=4, windows="batch"),
    "no bias": CSEEncoder(filters=4, windows="batch", bias=False),
    "first release": BiLSTMEncoder(hidden=6, padding="zeros"),
}


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, recipes.Trained]]:
    """A trained encoder of each kind, by its name, and those of `BATCHES`, which depend on theirs."""
    folder = tmp_path_factory.mktemp("exchange")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_CACHE", str(folder / "cache"))
        patch.setenv("SENTBOOK_ARTIFACTS", str(folder / "artifacts"))
        forget()
        trained = TRAINED | {name: (encoder, (PHRASE,)) for name, encoder in BATCHES.items()}
        wanted = [recipe(*stages, method=name, encoder=encoder) for name, (encoder, stages) in trained.items()]
        found = recipes.obtain(wanted, device="cpu")
        yield {item.method: recipes.from_file(recipes.StageTraining(item.recipe).path) for item in found}
        forget()


@pytest.fixture
def trained(artifacts: dict[str, recipes.Trained], request: pytest.FixtureRequest) -> recipes.Trained:
    return artifacts[request.param]


def small(encoder: Encoder, words: list[str], **changes: Any) -> Portable:
    """An encoder over ``words`` with drawn weights, biases too."""
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(len(words) + 2, 5, generator=generator)
    weight[0] = 0
    made = build(encoder, weight, seed=1).eval()
    with torch.no_grad():
        for parameter in made.composition():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    given = {
        "tokenisation": "whitespace",
        "origin": {"key": "0" * 16, "method": "drawn", "seed": 1, "words": len(words)},
    }
    description = Description(
        encoder=encoder, dimension=made.dimension, word_dimension=5, words=len(words), **given | changes
    )
    return Portable(made, Vocabulary(words), description)


@pytest.fixture(scope="session")
def drawn() -> Any:
    """`small`, for tests of other files."""
    return small


@pytest.fixture(scope="session")
def exported(artifacts: dict[str, recipes.Trained], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each trained encoder that can be exported."""
    from sentbook.exchange.export import export

    place = tmp_path_factory.mktemp("exported")
    folders = {name: place / name for name in TRAINED}
    for name, folder in folders.items():
        file = artifacts[name].file
        assert file is not None
        export(file.parent, folder)
    return folders
