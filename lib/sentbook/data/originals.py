"""What a paper used where this book has a substitute: data in ``papers/<paper>/originals.yaml``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from sentbook.io import parse_yaml


@cache
def _originals(paper: str) -> dict[str, str]:
    path = files("sentbook") / "papers" / paper / "originals.yaml"
    return dict(parse_yaml(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def original(paper: str, kind: Literal["vectors", "sentences"]) -> str:
    """Name the word vectors or the sentence pairs that a paper used; empty where its folder does not say.

    Example:
        >>> original("cse", "vectors")
        'PARAGRAM-SL999'
    """
    return _originals(paper).get(kind, "")
