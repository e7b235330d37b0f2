"""What several pages of Yao et al. 2018 train: the rows of table 2, and the encoders that others start from."""

from __future__ import annotations

import re

from sentbook.data import vectors
from sentbook.data.vectors import Vectors
from sentbook.papers.wsv.settings import Settings
from sentbook.study import Study
from sentbook.system.errors import DataError
from sentbook.training.recipes import Recipe


def pretrained(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """The encoders that several notebooks start from: the paper's own configuration, trained on SICK."""
    return {"WSV-SCNN-SV": study.recipes("WSV-SCNN-SV", settings.wsv, settings.sick)}


def dimension_of(method: str) -> int | None:
    """Read the d of a row's name.

    Example:
        >>> dimension_of("WSV-SCNN-SV d=300 L=1"), dimension_of("ours")
        (300, None)
    """
    found = re.search(r"\bd=(\d+)", method)
    return int(found.group(1)) if found else None


def dimension_recipes(study: Study, settings: Settings) -> list[list[Recipe]]:
    """A group for each row of table 2, named as in the paper; the first of a row's vector sets that is here is taken.

    The row of the paper's own configuration has all seeds, the others those of ablations.

    Raises:
        DataError: none of a row's vector sets is here.
    """
    groups = []
    for row in settings.dimensions:
        name = next((name for name in row.vectors if vectors.available(name)), None)
        if name is None:
            raise DataError(f"None of {', '.join(row.vectors)} is here; run `sentbook data fetch` for one of them.")
        own = name == settings.vectors.name and row.filters == settings.wsv.filters
        size = vectors.load(name).dimension
        groups.append(
            study.recipes(
                f"WSV-SCNN-SV d={size} L={settings.wsv.layers}{row.note and f', {row.note}'}",
                settings.wsv.model_copy(update={"filters": row.filters}),
                settings.sick,
                seeds=settings.seeds if own else settings.ablation_seeds,
                vectors=Vectors(name=name),
            )
        )
    return groups
