"""Settings of the two pages across the papers."""

from typing import Literal, get_args

from pydantic import Field, field_validator

from sentbook.config import OwnPath, Seeds
from sentbook.data.modern import ModernName
from sentbook.data.suites import TASK_OF, TRANSFER, Dataset, PairedTask, Suite
from sentbook.data.text import Tokenisation
from sentbook.training.objectives import Paper


class Settings(Paper):
    """Across the papers: every encoder in every setting on every data set, and one encoder under every protocol.

    Encoders, their pre-training and the grids of transfer are those of ``dnt`` and ``cnn_lstm`` in the same profile.
    """

    suite: Suite = "dnt"
    seeds: Seeds = Field((1, 2, 3), description="of the encoder under every protocol: those that dnt trains it with")
    ablation_seeds: Seeds = Field((1,), description="of the nine encoders in every setting")
    datasets: tuple[Dataset, ...] = Field((*TRANSFER, "msrp"), min_length=1)
    classification: tuple[PairedTask, ...] = Field(("MR", "CR", "SUBJ", "MPQA", "TREC"), min_length=1)
    cnn_lstm: Literal[
        "autoencoder+emb.", "future predictor+emb.", "hierarchical model+emb.", "composite model+emb.",
        "autoencoder", "future predictor", "hierarchical model", "composite model",
    ] = "autoencoder+emb."  # fmt: skip
    label_pairs: int = Field(
        10_000, ge=100, le=20_000, description="pairs of labelled sentences for direct transfer to a task"
    )
    timed: int = Field(2_000, ge=10, description="sentences whose encoding is timed")
    rounds: int = Field(3, ge=1, description="of timing")
    encoder: Literal["InferSent", "BiLSTM-Avg", "GRAN", "PP", "CSE", "WSV"] = Field(
        "BiLSTM-Avg", description="is scored under every protocol"
    )
    own_scores: OwnPath = Field("", description="a CSV file with columns set and score, scored under every protocol")
    tokenisations: tuple[Tokenisation, ...] = Field(
        ("ptb", "ptb-cased", "words", "whitespace", "content", "stems"), min_length=1
    )
    modern: tuple[ModernName, ...] = get_args(ModernName)

    @field_validator("datasets")
    @classmethod
    def _scored(cls, datasets: tuple[str, ...]) -> tuple[str, ...]:
        if named := [name for name in datasets if name in TASK_OF]:
            raise ValueError(f"holds {named[0]}, whose sentences have classes; name its task under classification")
        if set(datasets) <= {"msrp", "miniworld-paraphrase"}:
            raise ValueError("holds no scored pairs; add sick, for example")
        return datasets
