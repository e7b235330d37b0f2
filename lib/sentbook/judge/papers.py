"""What the book calls its papers: their order, names and addresses, from ``papers/papers.yaml``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sentbook.io import parse_yaml
from sentbook.records import Record


class Paper(Record):
    """A paper, or a folder of the book's own experiments, which has a name alone."""

    name: str
    authors: str = ""
    year: int = 0
    title: str = ""
    address: str = ""
    colours: tuple[str, ...] = ()

    @property
    def citation(self) -> str:
        """``Jiao et al. (2018)``; the name alone where no paper is cited."""
        return f"{self.authors} ({self.year})" if self.authors else self.name


@cache
def catalogue() -> dict[str, Paper]:
    """Read every folder's paper, in the order of the book."""
    entries = parse_yaml((files("sentbook") / "papers" / "papers.yaml").read_text(encoding="utf-8"))
    return {folder: Paper.model_validate(entry) for folder, entry in entries.items()}


@cache
def papers() -> tuple[str, ...]:
    """Name the folders of the papers whose claims are judged, in the order of the book."""
    return tuple(folder for folder, paper in catalogue().items() if paper.authors)


def paper_of(folder: str) -> Paper:
    """The paper of a folder; one that is called as its folder where none is listed."""
    return catalogue().get(folder, Paper(name=folder))
