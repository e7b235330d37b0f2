"""The encoders of the playground's page: one of each kind, over word vectors that may be given away."""

from __future__ import annotations

from sentbook import config
from sentbook.data.miniworld import World
from sentbook.exchange import playground
from sentbook.export import Portable
from sentbook.papers.cnn_lstm import experiments as cnn_lstm
from sentbook.study import Study
from sentbook.training.recipes import Recipe

# Under the PDDL. The recorded runs of three of the papers begin with vectors whose licence is not stated.
FREE = {"name": "glove-6b-50d"}
EXAMPLES = (
    ("a dog bites a man", "a man bites a dog"),
    ("a man is playing the guitar", "someone plays an instrument"),
    ("the cat sat on the mat", "the kitten was sitting on the rug"),
    ("there is no dog in the park", "there is a dog in the park"),
    ("the stock market fell on monday", "a woman slices an onion"),
)


def recipes(profile: str) -> list[tuple[Study, Recipe]]:
    """PP and CSE by the training of their variants' page, WSV by its paper's, and the CNN as an autoencoder's encoder.

    On real data all have `FREE` vectors, which the recorded runs of WSV alone have; and the CNN reads 6,000 sentences,
    which is enough to look into it and makes the file in minutes.
    """
    free = {} if profile == "demo" else {"vectors": FREE}
    less = {} if profile == "demo" else {"pretraining": {"books": 4, "limit": 6_000, "vocabulary": 3_000, "hidden": 64}}
    cse = Study("cse/playground", config.load("cse", {"profile": profile, "seeds": [1], **free}))
    wsv = Study("wsv/playground", config.load("wsv", {"profile": profile, "seeds": [1]}))
    cnn = Study("cnn_lstm/playground", config.load("cnn_lstm", {"profile": profile, "seeds": [1], **free, **less}))
    name = f"autoencoder{cnn_lstm.FIXED}"
    return [
        (cse, cse.recipes("PP", cse.settings.pp, cse.settings.ablation)[0]),
        (cse, cse.recipes("CSE", cse.settings.cse, cse.settings.ablation)[0]),
        (wsv, wsv.recipes("WSV", wsv.settings.wsv, wsv.settings.sick)[0]),
        (cnn, cnn_lstm.recipes(cnn, cnn.settings, [cnn_lstm.FIXED])[name][0].model_copy(update={"method": "CNN"})),
    ]


def packed(profile: str, words: int = 10_000, sentences: int = 300) -> playground.Packed:
    """Train what is missing, and pack all for the page.

    Args:
        words: of each encoder, the most frequent ones and those of the mini-world.
        sentences: of the mini-world, among which the page looks for neighbours.
    """
    models = {recipe.method: Portable.of(study.train([recipe], jobs=1)[0]) for study, recipe in recipes(profile)}
    world = World().relatedness("test")
    texts = list(dict.fromkeys(text for pair in zip(world.first, world.second, strict=True) for text in pair))
    return playground.pack(models, texts[:sentences], EXAMPLES, words=words, profile=profile)
