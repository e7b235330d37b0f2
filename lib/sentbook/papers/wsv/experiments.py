"""What several pages of Yao et al. 2018 train and score: the rows of table 2, and what others start from."""

from collections.abc import Sequence
from typing import Literal

from sentbook.data import vectors
from sentbook.data.vectors import Vectors
from sentbook.evaluation.predictions import Predictions, relatedness_predictions
from sentbook.io import DataError
from sentbook.papers.wsv.settings import Settings
from sentbook.training.recipes import Recipe, recipes
from sentbook.training.runs import Trained


def pretrained(settings: Settings) -> dict[str, list[Recipe]]:
    """Return the encoders that several notebooks start from: the paper's own configuration, trained on SICK."""
    return {"WSV-SCNN-SV": recipes(settings, "WSV-SCNN-SV", settings.wsv, settings.sick)}


def dimension_recipes(settings: Settings) -> list[list[Recipe]]:
    """Return a group for each row of table 2, named as in the paper, of the first of its vector sets that is here.

    The row of the paper's own configuration has all seeds, the others those of ablations.

    Raises:
        DataError: none of a row's vector sets is here.
    """
    groups = []
    for row in settings.dimensions:
        name = next((name for name in row.vectors if vectors.available(name)), None)
        if name is None:
            raise DataError(f"None of {', '.join(row.vectors)} is here; put one of them among the originals.")
        own = name == settings.vectors.name and row.filters == settings.wsv.filters
        size = vectors.load(name).dimension
        groups.append(
            recipes(
                settings,
                f"WSV-SCNN-SV d={size} L={settings.wsv.layers}{row.note and f', {row.note}'}",
                settings.wsv.model_copy(update={"filters": row.filters}),
                settings.sick,
                seeds=settings.seeds if own else settings.ablation_seeds,
                vectors=Vectors(name=name),
            )
        )
    return groups


def scored(trained: Sequence[Trained], state: Literal["best", "last"] = "best") -> Predictions:
    """Score the test pairs that encoders were trained for, on the gold scale: y = low + (high - low) s.

    Args:
        state: ``best`` on the trial pairs, or after the ``last`` epoch.

    Raises:
        ValueError: the encoders were trained on several data sets, or not on scored pairs.
    """
    (dataset,) = {name for item in trained for stage in item.recipe.stages[-1:] for name in stage.texts()}
    book = relatedness_predictions(dataset)
    (name,) = book.names
    low, high = book.pairs[name].scale
    for item in trained:
        book.add(item.method, item.seed, name, low + (high - low) * item.scores("test", state))
    return book
