"""What several notebooks of the paper start from, and `sentbook train` trains ahead of them."""

from sentbook.papers.dnt.settings import Settings
from sentbook.papers.dnt.transfers import NAMES, encoders
from sentbook.training.recipes import Recipe


def pretrained(settings: Settings) -> dict[str, list[Recipe]]:
    """Return all pre-trained encoders: of table 4, of the page on the paper's future work and of the matrix."""
    return encoders(settings, NAMES)
