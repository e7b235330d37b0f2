"""Settings of the experiments of Jiao et al. 2018."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from sentbook.config import Rate, Section
from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.training.settings import MarginTraining, Paper, RelatednessTraining

# One small grid: values by the name of a setting of `MarginTraining`.
Step = Annotated[
    dict[str, Annotated[tuple[bool | int | float, ...], Field(min_length=1)]], Field(min_length=1, max_length=3)
]
MARGIN: Step = {"margin": (0.4, 0.6, 0.8)}
PULL: Step = {"pull_back_words": (1e-4, 1e-5, 1e-6)}
BATCH: Step = {"batch_size": (32, 64, 128, 256)}


class Tuning(Section):
    """How the settings of PP and CSE are chosen, on both stages alike.

    The paper's grid (section 4.1) of margin, lambda_w, lambda_c and batch size is 144 points; it is searched here
    setting by setting. Its one learning rate is a setting like the others: see the page *tuning*.
    """

    epochs: int = Field(1, ge=1, description="of each training of the search")
    word_rates: tuple[Rate, ...] = Field((1e-3, 3e-4), min_length=1, description="of the page's first table")
    filter_rates: tuple[Rate, ...] = Field((1e-3, 1e-4, 1e-5), min_length=1, description="of the page's first table")
    steps: dict[str, tuple[Step, ...]] = Field(
        {
            "PP": (BATCH, MARGIN, PULL, {"learning_rate": (3e-4, 1e-3, 3e-3, 1e-2)}),
            "CSE": (BATCH, MARGIN, PULL, {"composition_decay": (1e-5, 1e-6, 1e-7, 0.0)}),
        },
        description="small grids of PP and of CSE, one after the other",
    )

    @model_validator(mode="after")
    def _is_fair(self) -> Tuning:
        if set(self.steps) != {"PP", "CSE"}:
            raise ValueError("has steps for PP and for CSE, and for no other")
        return self


class Settings(Paper):
    """Every experiment of Jiao et al. 2018."""

    pp: AverageEncoder = AverageEncoder()
    cse: CSEEncoder = CSEEncoder()
    phrase: MarginTraining = MarginTraining()
    sentence: MarginTraining = MarginTraining(corpora=("simple-wikipedia",), dropout=0.1)
    pp_phrase: MarginTraining | None = Field(None, description="PP's own; None: as CSE's")
    pp_sentence: MarginTraining | None = None
    words: MarginTraining = MarginTraining(corpora=("ppdb",))
    filter_sizes: MarginTraining = MarginTraining(corpora=("simple-wikipedia",))
    ablation: MarginTraining = MarginTraining(corpora=("simple-wikipedia",))
    relatedness: RelatednessTraining = RelatednessTraining()
    tuning: Tuning = Tuning()

    def stages(self, method: str) -> tuple[MarginTraining, MarginTraining]:
        """Return the trainings on phrase and on sentence pairs of ``PP``, or of CSE."""
        if method == "PP":
            return self.pp_phrase or self.phrase, self.pp_sentence or self.sentence
        return self.phrase, self.sentence
