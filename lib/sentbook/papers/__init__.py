"""The papers, a folder each, and what reads them alike: the encoders that notebooks share, variants of one choice."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

if TYPE_CHECKING:
    from sentbook.study import Study
    from sentbook.training.recipes import Recipe


class Change(Protocol):
    """A variant that says in a sentence what it changes."""

    @property
    def change(self) -> str: ...


def describe(variants: Mapping[str, Change]) -> pd.DataFrame:
    """What each variant changes."""
    return pd.DataFrame(
        {"variant": list(variants), "what it changes": [variant.change for variant in variants.values()]}
    )


def shared_recipes(paper: str, changes: Mapping[str, Any]) -> tuple[Study, dict[str, list[Recipe]]]:
    """The encoders that several notebooks of a paper start from, by their names in tables, and who trains them."""
    from sentbook import config  # from here on torch is imported, which is time and memory of a job
    from sentbook.study import Study

    study = Study(f"{paper}/encoders", config.load(paper, changes))
    return study, import_module(f"sentbook.papers.{paper}.experiments").pretrained(study, study.settings)
