"""What training the encoders of profile ``paper`` would take on one GPU, by the operations that a step counts."""

from __future__ import annotations

from functools import cache

import torch
from torch.utils.flop_counter import FlopCounterMode

from sentbook.data.novels import PARAGRAPH
from sentbook.models.build import Encoder, build
from sentbook.models.encoder_decoder import Batch
from sentbook.models.losses.reconstruction import reconstruction_loss
from sentbook.papers import shared_recipes
from sentbook.report_old.table import Row, Table
from sentbook.runs import lineage
from sentbook.training import pretraining
from sentbook.training.settings import GenerationTraining, Stage

# Sentences of an epoch, as published: two of each pair.
SENTENCES = {
    "bookcorpus": 70_000_000,  # Gan et al. 2017, section 4
    "ppdb-xl-phrasal": 2 * 3_033_753,  # Wieting et al. 2016, section 4.1
    "simple-wikipedia-v2": 2 * 167_689,  # Coster and Kauchak 2011, version 2
    "paranmt": 2 * 5_000_000,  # Wieting and Gimpel 2018, the pairs of their encoders
    "all-nli": 2 * (550_152 + 392_702),  # Bowman et al. 2015; Williams et al. 2018
    "sick": 2 * 4_500,  # Marelli et al. 2014
}
# Floating-point operations a second of an H100 SXM in bf16 without sparsity, by its data sheet, and what is hoped for.
PEAK, SHARE = 989e12, 0.4
WORDS = 15  # of a sentence: about the mean of the novels'


@cache
def operations(
    encoder: Encoder, stage: GenerationTraining | None, *, frozen: bool = False, dimension: int = 300
) -> float:
    """Count floating-point operations of products of matrices and convolutions, forward and back, for each sentence.

    An encoder is counted alone, without the head or the loss that trains it; one with decoders is counted with them and
    their logits. Nothing is read: sentences are random words, all of `WORDS`.

    Args:
        stage: the decoders', None without any.
        frozen: the words are not trained.
        dimension: of a word vector.
    """
    size = stage.vocabulary if stage is not None else 1_000
    made = build(encoder, torch.randn(size + 2, dimension), seed=1)
    made.embedding.weight.requires_grad_(not frozen)
    ids, lengths = torch.randint(2, size + 2, (PARAGRAPH, WORDS)), torch.full((PARAGRAPH,), WORDS)
    model = None if stage is None else pretraining.model(made, stage, seed=1)
    # torch leaves out what is added in place.
    added = {torch.ops.aten.addmm_: lambda _, one, other, **_shape: 2 * one[0] * one[1] * other[1]}
    with FlopCounterMode(display=False, custom_mapping=added) as counter:
        if model is None:
            made(ids, lengths).sum().backward()
        else:
            counts = torch.tensor([PARAGRAPH]) if model.kind == "hierarchical" else None
            found = model(Batch(ids, lengths, (ids, lengths) if "next" in model.decoders else None, counts))
            losses = [reconstruction_loss(one.features, one.rows, one.bias, one.target) for one in found.values()]
            torch.stack(losses).sum().backward()
    return float(counter.get_total_flops() / PARAGRAPH)


def sentences_of(stage: Stage) -> int:
    """How many sentences a stage reads in all its epochs."""
    (corpus,) = stage.texts() or stage.datasets()
    return stage.epochs * SENTENCES[corpus]


def fragments() -> dict[str, str]:
    """Write the table of the encoders of profile ``paper``."""
    rows = []
    for paper in (name for name, known in lineage.grid().items() if "encoders" in known):
        for name, recipes in shared_recipes(paper, {"profile": "paper"})[1].items():
            recipe = recipes[0]
            frozen = all(stage.embedding_update == "frozen" for stage in recipe.stages)
            each = operations(recipe.encoder, recipe.generation, frozen=frozen)
            read = sum(map(sentences_of, recipe.stages))
            hours = len(recipes) * each * read / (PEAK * SHARE) / 3600
            corpora = ", ".join((*recipe.texts(), *recipe.datasets()))
            cells = [corpora, *map(_shown, (read / 1e6, each / 1e9, len(recipes), hours))]
            rows.append(Row(f"{paper}: {name}", cells))
    heads = ["Trained on", "10⁶ sentences, all epochs", "10⁹ operations a sentence", "Seeds", "Hours, all seeds"]
    caption = "Encoders of profile paper on one H100, projected: none of it was run"
    table = Table("Encoder", heads, rows, caption, facts=True)
    return {"projections.md": str(table.html())}


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value >= 0.01 else "< 0.01"
