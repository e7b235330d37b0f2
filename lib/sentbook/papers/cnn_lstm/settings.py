"""Settings of the experiments of Gan et al. 2017."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sentbook.config import Seeds, TrainingShare
from sentbook.data.tasks import TASKS, Task
from sentbook.data.vectors import Vectors
from sentbook.models.cnn import CNNEncoder
from sentbook.training.settings import ClassifierTraining, GenerationTraining, Paper, RankingTraining


class Settings(Paper):
    """Every experiment of Gan et al. 2017. ``vectors`` are those of +emb, and what the linear map starts from."""

    seeds: Seeds = (1,)
    ablation_seeds: Seeds = (1,)
    vectors: Vectors = Vectors(name="word2vec-300d-expanded")
    encoder: CNNEncoder = CNNEncoder()
    pretraining: GenerationTraining = GenerationTraining()
    hierarchical: GenerationTraining = GenerationTraining(model="hierarchical", batch_size=8)
    classification: tuple[Task, ...] = Field(TASKS, min_length=1)
    ranking: RankingTraining = RankingTraining()
    relatedness: Literal["sick", "miniworld"] = "sick"
    classifier: ClassifierTraining = ClassifierTraining()
    runs: int = Field(10, ge=1, description="of fine-tuning, each with another division of the sentences")
    shares: tuple[TrainingShare, ...] = Field((0.1, 0.25, 0.5, 0.75, 1.0), min_length=1)
    queries: int = Field(8, ge=1, description="sentences whose nearest one is shown")
    candidates: int = Field(1_000_000, ge=10, description="at most so many sentences to retrieve from")
    modern: tuple[Literal["all-minilm-l6-v2", "universal-sentence-encoder"], ...] = (
        "all-minilm-l6-v2",
        "universal-sentence-encoder",
    )
