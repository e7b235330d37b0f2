"""Settings of the experiments of Jiao et al. 2018."""

from __future__ import annotations

from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.training.settings import MarginTraining, Paper, RelatednessTraining


class Settings(Paper):
    """Every experiment of Jiao et al. 2018."""

    pp: AverageEncoder = AverageEncoder()
    cse: CSEEncoder = CSEEncoder()
    phrase: MarginTraining = MarginTraining()
    sentence: MarginTraining = MarginTraining(corpora=("simple-wikipedia",), dropout=0.1)
    words: MarginTraining = MarginTraining(corpora=("ppdb",))
    filter_sizes: MarginTraining = MarginTraining(corpora=("simple-wikipedia",))
    ablation: MarginTraining = MarginTraining(corpora=("simple-wikipedia",))
    relatedness: RelatednessTraining = RelatednessTraining()
