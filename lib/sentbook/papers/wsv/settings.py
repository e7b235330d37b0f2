"""Settings of the experiments of Yao et al. 2018."""

from typing import Annotated

from pydantic import Field

from sentbook.config import Rate, Section
from sentbook.data.vectors import VectorName, Vectors
from sentbook.models.wsv import WSVEncoder
from sentbook.training.objectives import Paper, SimilarityTraining


class Dimension(Section):
    """A row of table 2: its filters, the first of ``vectors`` that is available here, and a note that sets it apart."""

    vectors: tuple[VectorName, ...] = Field(min_length=1)
    filters: int = Field(ge=1)
    note: str = ""


class LayerMeasurement(Section):
    """Time and memory of the exact first layer against the convolution of the map."""

    dimension: int = Field(300, ge=1)
    filters: int = Field(600, ge=1)
    batch_size: int = Field(20, ge=1)
    lengths: tuple[Annotated[int, Field(ge=2, le=200)], ...] = Field((4, 8, 12, 16, 20, 24, 28, 32, 40), min_length=1)
    rounds: int = Field(5, ge=1)


class Settings(Paper):
    """Every experiment of Yao et al. 2018; ``vectors`` are those of all but table 2 and figure 5."""

    vectors: Vectors = Vectors(name="glove-6b-50d")
    wsv: WSVEncoder = WSVEncoder(filters=200)
    dimensions: tuple[Dimension, ...] = Field(
        (
            Dimension(vectors=("glove-6b-300d", "glove-840b-300d-sick"), filters=600),
            Dimension(vectors=("glove-6b-200d", "glove-840b-sick-pca-200d"), filters=400),
            Dimension(vectors=("glove-6b-100d", "glove-840b-sick-pca-100d"), filters=300),
            Dimension(vectors=("glove-6b-50d",), filters=200),
            Dimension(vectors=("glove-840b-sick-pca-50d",), filters=200, note="GloVe 840B"),
        ),
        min_length=1,
    )
    sick: SimilarityTraining = SimilarityTraining()
    long: SimilarityTraining = SimilarityTraining(epochs=40)
    msrp: SimilarityTraining = SimilarityTraining(dataset="msrp", loss="cross-entropy")
    rates: tuple[Rate, ...] = Field(
        (3e-4, 1e-3, 3e-3), min_length=1, description="learning rates of both sides, where two trainings are compared"
    )
    larger: Vectors | None = Field(None, description="of figure 7, beside its own; None: its own alone")
    layer: LayerMeasurement = LayerMeasurement()
