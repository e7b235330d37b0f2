"""Variants of an encoder that move one choice each, and checks of what a paper says of it. One file a paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pandas as pd


class Change(Protocol):
    """A variant that says in a sentence what it changes."""

    @property
    def change(self) -> str: ...


def describe(variants: Mapping[str, Change]) -> pd.DataFrame:
    """What each variant changes."""
    return pd.DataFrame(
        {"variant": list(variants), "what it changes": [variant.change for variant in variants.values()]}
    )
