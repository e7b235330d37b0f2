"""What several notebooks of the paper start from, and `sentbook train` trains ahead of them."""

from sentbook.papers.cse.settings import Settings
from sentbook.training.recipes import Recipe, recipes


def pretrained(settings: Settings) -> dict[str, list[Recipe]]:
    """Return the encoders of table 2: after phrase pairs, and on top of that after sentence pairs."""
    made = {}
    for method, encoder in {"PP": settings.pp, "CSE": settings.cse}.items():
        made[method] = recipes(settings, method, encoder, *settings.stages(method))
        made[f"{method} as printed"] = recipes(settings, method, encoder, *settings.stages_as_printed())
    if settings.further_encoders:
        made["GRAN"] = recipes(settings, "GRAN", settings.gran, *settings.stages("GRAN"), seeds=settings.ablation_seeds)
    return made
