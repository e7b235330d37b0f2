"""Settings of the experiments of Zhang et al. 2018."""

from typing import Literal, get_args

from pydantic import Field, PositiveInt

from sentbook.config import TrainingShare
from sentbook.data.modern import ModernName
from sentbook.data.suites import TRANSFER, Dataset, Suite
from sentbook.data.vectors import Vectors
from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.recurrent import BiLSTMEncoder, GRANEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.training.objectives import DirectTransfer, EntailmentTraining, Grid, HeadTraining, MarginTraining, Paper


class Settings(Paper):
    """Every experiment of Zhang et al. 2018; pre-training is ``inference``, ``simple`` (GRAN) or ``paraphrase``."""

    suite: Suite = "dnt"
    infersent: BiLSTMEncoder = BiLSTMEncoder(pool="max")
    bilstm_average: BiLSTMEncoder = BiLSTMEncoder(pool="mean")
    gran: GRANEncoder = GRANEncoder()
    pp: AverageEncoder = AverageEncoder()
    cse: CSEEncoder = CSEEncoder()
    wsv: WSVEncoder = WSVEncoder()
    paraphrase_vectors: Vectors | None = Field(
        None,
        description="initial ones of all encoders but InferSent; None: vectors",
        exclude_if=lambda own: not own,
    )
    inference: EntailmentTraining = EntailmentTraining()
    paraphrase: MarginTraining = MarginTraining(
        corpora=("captions", "rewrites", "quora", "ppdb"), dropout=0.2, scramble=0.3, validation="stsb-dev"
    )
    simple: MarginTraining = MarginTraining(
        corpora=("simple-wikipedia", "rewrites", "captions"), dropout=0.2, scramble=0.3, validation="stsb-dev"
    )
    compared_encoders: tuple[Literal["InferSent", "BiLSTM-Avg", "GRAN"], ...] = Field(
        ("InferSent", "BiLSTM-Avg", "GRAN"), min_length=1, description="of table 4 and of pages that compare its rows"
    )
    datasets: tuple[Dataset, ...] = Field(TRANSFER, min_length=1)
    head: HeadTraining = HeadTraining()
    direct: DirectTransfer = DirectTransfer()
    # As many points for each setting: each chooses two of batch size, updated words and rescaled vectors.
    feature_grid: Grid = Grid(rescale=(False, True))
    network_grid: Grid = Grid(batch_sizes=(32,), rescale=(False, True))
    direct_grid: Grid = Grid()
    compared_datasets: tuple[Dataset, ...] = Field(
        ("sts12", "sim", "sag"), min_length=1, description="of pages that compare rows of a setting: one of each kind"
    )
    shares: tuple[TrainingShare, ...] = Field((0.1, 0.25, 0.5, 1.0), min_length=1)
    shared_datasets: tuple[Dataset, ...] = Field(("stsb", "sick", "sim", "sag"), min_length=1)
    widths: tuple[PositiveInt, ...] = Field(
        (50, 200), min_length=1, description="InferSent's units in each direction, on the page of widths"
    )
    wider: tuple[PositiveInt, ...] = Field((2048,), description="of more, whose signs and seconds alone are measured")
    modern: tuple[ModernName, ...] = get_args(ModernName)
