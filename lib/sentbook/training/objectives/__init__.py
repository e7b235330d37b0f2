"""Objectives: what a training asks of an encoder; settings, data, loss and validation in one class."""

from sentbook.training.objectives.base import Batch as Batch
from sentbook.training.objectives.base import Grid as Grid
from sentbook.training.objectives.base import Objective as Objective
from sentbook.training.objectives.base import Paper as Paper
from sentbook.training.objectives.base import Start as Start
from sentbook.training.objectives.generation import GenerationTraining as GenerationTraining
from sentbook.training.objectives.generation import Text as Text
from sentbook.training.objectives.pairs import EntailmentTraining as EntailmentTraining
from sentbook.training.objectives.pairs import MarginTraining as MarginTraining
from sentbook.training.objectives.scored import DirectTransfer as DirectTransfer
from sentbook.training.objectives.scored import HeadTraining as HeadTraining
from sentbook.training.objectives.scored import RelatednessTraining as RelatednessTraining
from sentbook.training.objectives.scored import SimilarityTraining as SimilarityTraining

# What a recipe may hold. Values of a `RelatednessTraining` fit a `HeadTraining` too: the first that fits is taken.
AnyObjective = (
    MarginTraining
    | SimilarityTraining
    | DirectTransfer
    | RelatednessTraining
    | HeadTraining
    | EntailmentTraining
    | GenerationTraining
)
