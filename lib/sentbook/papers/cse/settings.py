"""Settings of the experiments of Jiao et al. 2018."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from sentbook.config import Rate, Section, Seeds
from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.recurrent import GRANEncoder
from sentbook.training.objectives import MarginTraining, Paper, RelatednessTraining

# One small grid: values by the name of a setting of `MarginTraining`.
Step = Annotated[
    dict[str, Annotated[tuple[bool | int | float, ...], Field(min_length=1)]], Field(min_length=1, max_length=4)
]
MARGIN: Step = {"margin": (0.4, 0.6, 0.8)}
PULL: Step = {"pull_back_words": (1e-4, 1e-5, 1e-6)}
BATCH: Step = {"batch_size": (32, 64, 128, 256)}
RATES: tuple[Step, ...] = ({"learning_rate": (3e-4, 1e-3), "composition_rate": (1e-3, 1e-4, 1e-5)},)
PP: tuple[Step, ...] = (BATCH, MARGIN, PULL, {"learning_rate": (3e-4, 1e-3, 3e-3, 1e-2)})
CSE: tuple[Step, ...] = (BATCH, MARGIN, PULL, {"composition_decay": (1e-5, 1e-6, 1e-7, 0.0)})


class Tuning(Section):
    """How the settings of PP and CSE are chosen, on both stages alike.

    The paper's grid (section 4.1) of margin, lambda_w, lambda_c and batch size is 144 points; it is searched here
    setting by setting. Its one learning rate is a setting like the others: see the page *tuning*.
    """

    phrase: MarginTraining = Field(MarginTraining(epochs=1), description="where the search on phrase pairs begins")
    sentence: MarginTraining = Field(
        MarginTraining(corpora=("simple-wikipedia",), epochs=1, dropout=0.1), description="and that on sentence pairs"
    )
    word_rates: tuple[Rate, ...] = Field((1e-3, 3e-4), min_length=1, description="of the page's first table")
    filter_rates: tuple[Rate, ...] = Field((1e-3, 1e-4, 1e-5), min_length=1, description="of the page's first table")
    phrase_steps: dict[str, tuple[Step, ...]] = Field(
        {"PP": PP, "CSE": CSE}, description="small grids of each side, one after the other"
    )
    sentence_steps: dict[str, tuple[Step, ...]] = Field({"PP": PP, "CSE": CSE})
    variant_steps: dict[str, tuple[Step, ...]] = Field(
        {"PP": ({"learning_rate": (1e-4, 3e-4, 1e-3, 3e-3)},), "CSE": RATES},
        description="of each variant on the pages of table 5 and of ambiguities",
    )

    relatedness_steps: dict[str, tuple[Step, ...]] = Field(
        {
            "PP": ({"learning_rate": (3e-4, 1e-3, 3e-3), "pull_back_words": (1e-2, 1e-3, 1e-4, 1e-5)},),
            "CSE": ({"learning_rate": (3e-4, 1e-3, 3e-3), "composition_rate": (3e-3, 1e-3, 1e-4, 1e-5)},),
        },
        description="of each row on the page of table 3, on the trial pairs of SICK",
    )

    @model_validator(mode="after")
    def _is_fair(self) -> Tuning:
        for steps in (self.phrase_steps, self.sentence_steps, self.variant_steps, self.relatedness_steps):
            if not {"PP", "CSE"} <= set(steps) <= {"PP", "CSE", "GRAN"}:
                raise ValueError("has steps for PP and for CSE, and for no other but GRAN")
        return self


class Settings(Paper):
    """Every experiment of Jiao et al. 2018."""

    pp: AverageEncoder = AverageEncoder()
    cse: CSEEncoder = CSEEncoder()
    gran: GRANEncoder = GRANEncoder()
    further_encoders: tuple[Literal["GRAN"], ...] = Field(("GRAN",), description="of tables 2 and 3, beside PP and CSE")
    phrase: MarginTraining = MarginTraining()
    sentence: MarginTraining = MarginTraining(corpora=("simple-wikipedia",), dropout=0.1)
    as_printed: dict[str, bool | float | None] = Field(
        {"learning_rate": 1e-3, "composition_rate": None, "margin": 0.6, "pull_back_words": 1e-6, "bucket": False},
        description="the text's rate and batches, the released code's margin and penalty, for those of a search",
    )
    pp_phrase: MarginTraining | None = Field(None, description="PP's own; None: as CSE's")
    pp_sentence: MarginTraining | None = None
    gran_phrase: MarginTraining | None = Field(None, description="GRAN's own; None: as CSE's")
    gran_sentence: MarginTraining | None = None
    filter_sizes: MarginTraining = MarginTraining(corpora=("simple-wikipedia",))
    filter_seeds: Seeds = Field((1, 2, 3, 4, 5), description="of table 5 and the variants, whose trainings are short")
    ablation: MarginTraining = MarginTraining(corpora=("simple-wikipedia",))
    relatedness: RelatednessTraining = RelatednessTraining()
    tuning: Tuning = Tuning()

    def stages(self, method: str) -> tuple[MarginTraining, MarginTraining]:
        """Return the trainings on phrase and on sentence pairs of ``PP``, ``GRAN``, or of CSE."""
        own = {"PP": (self.pp_phrase, self.pp_sentence), "GRAN": (self.gran_phrase, self.gran_sentence)}
        phrase, sentence = own.get(method, (None, None))
        return phrase or self.phrase, sentence or self.sentence

    def stages_as_printed(self) -> tuple[MarginTraining, MarginTraining]:
        """Return the trainings on phrase and on sentence pairs by the paper's own values, of CSE and of PP alike."""
        phrase, sentence = (stage.changed(**self.as_printed) for stage in (self.phrase, self.sentence))
        return phrase, sentence.changed(dropout=0.1)
