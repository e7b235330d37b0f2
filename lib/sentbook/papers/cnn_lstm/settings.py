"""Settings of the experiments of Gan et al. 2017."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, ValidationInfo, field_validator, model_validator

from sentbook.config import Coefficient, OwnPath, Rate, Section, Seeds, Share, TrainingShare
from sentbook.data.modern import ModernName
from sentbook.data.suites import TASKS, Task
from sentbook.data.vectors import Vectors
from sentbook.models.cnn import CNNEncoder
from sentbook.training.objectives import GenerationTraining, Objective, Paper

# A row of tables 3 to 5 or of the controls.
ROWS = r"^(autoencoder|future predictor|(wide )?composite model|hierarchical model( \(\d+\))?)(\+emb\.)?$"
Row = Annotated[str, Field(pattern=ROWS)]


class ClassifierTraining(Objective):
    """An encoder and a softmax on top, trained together on a classification task, section 4.2 of Gan et al. 2017.

    Optimiser, rate, dropout and batch size are unstated; these are Kim 2014's where they apply.
    """

    batch_size: int = Field(50, ge=2)
    embedding_update: Literal["dense", "lazy", "frozen"] = "frozen"
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    head_dropout: Share = Field(0.5, description="on the sentence vector")
    patience: int | None = Field(3, ge=1, description="checks without a better one after which training stops")


class RankingTraining(Objective):
    """Maps of images and sentences into one space, section 4.2 of Gan et al. 2017."""

    epochs: int = Field(30, ge=1)
    batch_size: int = Field(128, ge=2)
    embedding_update: Literal["frozen"] = "frozen"  # type: ignore[assignment]
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    corpus: Literal["coco", "miniworld-scenes"] = "coco"
    path: OwnPath = Field("", description="of COCO's folder; empty: coco among the originals")
    dimension: int = Field(1000, ge=1)
    margin: float = Field(0.1, ge=0, le=2)
    contrasts: int | None = Field(50, ge=1)
    faithful: bool = Field(False, description="images keep their length in training, as in the released code")
    patience: int | None = Field(5, ge=1, description="checks without a better one after which training stops")

    @model_validator(mode="after")
    def _has_its_folder(self) -> RankingTraining:
        if self.path and self.corpus != "coco":
            raise ValueError(f"{self.corpus} reads no path; write {{corpus: coco, path: {self.path}}}")
        return self


class Tuning(Section):
    """How the learning rate of every model is chosen, and by which tasks its training is followed."""

    rates: tuple[Rate, ...] = Field((7e-4, 2e-3, 6e-3), min_length=1, description="tried for every model alike")
    limit: int = Field(20_000, ge=64, description="sentences of each training of the search")
    tasks: tuple[Task, ...] = Field(("TREC", "CR"), min_length=1, description="scored at every check of pre-training")


class Settings(Paper):
    """Every experiment of Gan et al. 2017. ``vectors`` are those of +emb, and what the linear map starts from."""

    seeds: Seeds = (1,)
    ablation_seeds: Seeds = Field((1,), description="of variants next to the paper's models")
    vectors: Vectors = Vectors(name="word2vec-300d-expanded")
    encoder: CNNEncoder = CNNEncoder()
    pretraining: GenerationTraining = GenerationTraining()
    hierarchical: GenerationTraining = Field(
        GenerationTraining(model="hierarchical", batch_size=8),
        validate_default=True,
        description="reads the corpus, path and layout of pretraining, so that all rows of a table read one text",
    )
    rates: dict[Row, Rate] = Field({}, description="learning rates of single models, as the page on tuning chose them")
    tuning: Tuning = Tuning()
    word_kinds: tuple[Literal["learned", "fixed"], ...] = Field(
        ("learned", "fixed"), min_length=1, description="whose models tables 3 to 5 have; fixed: the rows +emb."
    )
    controls: bool = Field(True, description="also train the rows that move one suspected cause each")
    paragraphs: tuple[int, ...] = Field((2, 4), description="further sizes of the hierarchical model's paragraphs")
    classification: tuple[Task, ...] = Field(TASKS, min_length=1)
    ranking: RankingTraining = RankingTraining()
    relatedness: Literal["sick", "miniworld"] = "sick"
    classifier: ClassifierTraining = ClassifierTraining()
    runs: int = Field(10, ge=1, description="of fine-tuning, each with another division of the sentences")
    shares: tuple[TrainingShare, ...] = Field((0.1, 0.25, 0.5, 0.75, 1.0), min_length=1)
    queries: int = Field(8, ge=1, description="sentences whose nearest one is shown")
    candidates: int = Field(1_000_000, ge=10, description="at most so many sentences to retrieve from")
    modern: tuple[ModernName, ...] = get_args(ModernName)

    @field_validator("hierarchical")
    @classmethod
    def _reads_the_same_text(cls, stage: GenerationTraining, info: ValidationInfo) -> GenerationTraining:
        others: GenerationTraining | None = info.data.get("pretraining")
        if others is None:  # its own fault is told
            return stage
        own, text = ({name: getattr(one, name) for name in ("corpus", "path", "layout")} for one in (stage, others))
        if stage.path and own != text:
            raise ValueError("all models read one text, so set corpus, path and layout of pretraining alone")
        return stage.model_copy(update=text)
