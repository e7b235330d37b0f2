"""What several notebooks of the paper start from, and `sentbook train` trains ahead of them."""

from __future__ import annotations

from sentbook.papers.cse.settings import Settings
from sentbook.study import Study
from sentbook.training.recipes import Recipe


def pretrained(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """The encoders of table 2: after phrase pairs, and on top of that after sentence pairs."""
    stages = settings.phrase, settings.sentence
    return {
        "PP": study.recipes("PP", settings.pp, *stages),
        "CSE": study.recipes("CSE", settings.cse, *stages),
    }
