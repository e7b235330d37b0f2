"""What several notebooks of the paper start from, and `sentbook train` trains ahead of them."""

from __future__ import annotations

from sentbook.papers.cse.settings import Settings
from sentbook.training.recipes import Recipe, recipes


def pretrained(settings: Settings) -> dict[str, list[Recipe]]:
    """Return the encoders of table 2: after phrase pairs, and on top of that after sentence pairs."""
    made = {
        "PP": recipes(settings, "PP", settings.pp, *settings.stages("PP")),
        "CSE": recipes(settings, "CSE", settings.cse, *settings.stages("CSE")),
    }
    if "GRAN" in settings.further_encoders:
        made["GRAN"] = recipes(settings, "GRAN", settings.gran, *settings.stages("GRAN"), seeds=settings.ablation_seeds)
    return made
