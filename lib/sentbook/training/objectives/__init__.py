"""Objectives: what a training asks of an encoder, one file each; settings, data, loss and validation in one class."""

from sentbook.training.objectives.base import Batch, Objective, Rows, Sentences, Start
from sentbook.training.objectives.classifier import ClassifierTraining, Division, Labelled
from sentbook.training.objectives.entailment import EntailmentTraining
from sentbook.training.objectives.generation import GenerationTraining, Text
from sentbook.training.objectives.head import HeadTraining, RelatednessTraining
from sentbook.training.objectives.paper import Grid, Paper
from sentbook.training.objectives.paraphrase import MarginTraining
from sentbook.training.objectives.similarity import DirectTransfer, SimilarityTraining

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

__all__ = [
    "AnyObjective",
    "Batch",
    "ClassifierTraining",
    "DirectTransfer",
    "Division",
    "EntailmentTraining",
    "GenerationTraining",
    "Grid",
    "HeadTraining",
    "Labelled",
    "MarginTraining",
    "Objective",
    "Paper",
    "RelatednessTraining",
    "Rows",
    "Sentences",
    "SimilarityTraining",
    "Start",
    "Text",
]
