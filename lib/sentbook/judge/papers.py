"""What the book calls its papers: their order, names and addresses, from ``papers/papers.yaml``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sentbook.io import parse_yaml
from sentbook.records import Record


class Front(Record):
    """The figure at the top of a paper's page, the first paper's on the front page too: A against B on some rows."""

    experiment: str
    a: str
    b: str
    rows: list[str]
    caption: str
    metric: str = "pearson"
    protocol: str | None = None


class Minute(Record):
    """What a reader should know of a paper in a minute.

    Attributes:
        claim: the claim that the page opens with.
        quote: its sentence as the paper has it, to the letter.
        section: where the paper has it.
        found: what came of it; each number is one of a claim that the sentence names.
        different: what is not as in the paper.
    """

    claim: str
    quote: str
    section: str
    found: str
    different: str


class Paper(Record):
    """A paper, or a folder of the book's own experiments, which has a name alone."""

    name: str
    authors: str = ""
    year: int = 0
    title: str = ""
    address: str = ""
    colours: tuple[str, ...] = ()
    front: Front | None = None
    minute: Minute | None = None

    @property
    def citation(self) -> str:
        """``Jiao et al. (2018)``; the name alone where no paper is cited."""
        return f"{self.authors} ({self.year})" if self.authors else self.name

    @property
    def heading(self) -> str:
        """``CSE (Jiao et al. 2018)``."""
        return f"{self.name} ({self.authors} {self.year})" if self.authors else self.name


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
