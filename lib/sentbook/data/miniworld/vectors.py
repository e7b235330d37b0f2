r"""Word vectors that know much and confuse some, as GloVe does.

$$x_w = \sum_c a_{wc} (t_c + \sum_l p_{cl} + e_c) + m_w + f_w u + n_w$$

over the concepts c that word w names: t the domain's topic, p the kinds on c's path in the taxonomy, e what is c's own; m the
inflection, f u a direction that grows with frequency, n noise. Opposites share topic and kinds, hence are close. A word
of an idiom has a vector of its own with only a trace of the idiom. Some rarer words have none.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sentbook.data.miniworld import concepts, lexicon
from sentbook.data.miniworld.lexicon import Concept, VerbForm
from sentbook.data.miniworld.pairs import DOMAINS
from sentbook.data.miniworld.randomness import numbers, stable_hash
from sentbook.data.text import tokenise_ptb

FUNCTION_WORDS = """
    the a an is are was were will be being been not n't to of by in at on who that this one some two several many there
    no it do does did fail fails failed going wo has had and or but with for from up down off out over under into after
    before than as so very i you he she they his her their its my your our we
""".split()

TOPIC, KINDS, OWN = 0.7, (0.45, 0.55, 0.6, 0.5), 0.6
NOISE, INFLECTION, FREQUENCY, FUNCTION, IDIOM = 0.75, 0.35, 0.16, 0.5, 0.2
MISSING = 61


def _weighted(concept: Concept) -> Iterator[tuple[str, str, str, float]]:
    """(word, lemma, inflection, weight) of each word of each surface."""
    for surface in concept.surfaces:
        if isinstance(surface, VerbForm):
            single = not (surface.before or surface.after)
            forms = {
                "base": surface.base, "third": surface.third, "past": surface.past,
                "participle": surface.participle, "gerund": surface.gerund,
            }  # fmt: skip
            for kind, form in forms.items():
                yield form, surface.base, kind, 1.0 if single else IDIOM
            for word in tokenise_ptb(f"{surface.before} {surface.after}"):
                yield word, word, "base", IDIOM
            continue
        for kind, text in zip(("base", "plural"), surface if isinstance(surface, tuple) else (surface,), strict=False):
            words = tokenise_ptb(text)
            lemmas = tokenise_ptb(surface[0]) if isinstance(surface, tuple) else words
            for word, lemma in zip(words, lemmas, strict=True):
                yield word, lemma, kind if word != lemma else "base", 1.0 if len(words) == 1 else IDIOM


class _Space:
    """Random directions by name, each of expected length 1."""

    def __init__(self, seed: int, dim: int) -> None:
        self.seed, self.dim, self.known = seed, dim, {}

    def direction(self, *name: object) -> NDArray[np.float64]:
        if name not in self.known:
            self.known[name] = numbers(self.seed, "direction", *name).normal(size=self.dim) / math.sqrt(self.dim)
        return self.known[name]

    def concept(self, concept: Concept, topic: str) -> NDArray[np.float64]:
        vector = TOPIC * self.direction("topic", topic) + OWN * self.direction("concept", concept.name)
        for level, scale in enumerate(KINDS[: len(concept.path)]):
            vector = vector + scale * self.direction("kind", *concept.path[: level + 1])
        return vector


def missing(word: str) -> bool:
    """Whether the word has no vector: one in `MISSING`, function words excepted."""
    return word not in FUNCTION_WORDS and stable_hash("missing", word) % MISSING == 0


def build(seed: int, dim: int, extra: dict[str, tuple[str, ...]]) -> tuple[list[str], NDArray[np.float32]]:
    """All words, frequent ones first, and their (V, dim) vectors.

    Args:
        extra: further words by the name of what they share.
    """
    space = _Space(seed, dim)
    weights: dict[str, list[tuple[float, NDArray[np.float64]]]] = defaultdict(list)
    lemma_of: dict[str, tuple[str, str]] = {}
    order: dict[str, int] = {word: -1 for word in FUNCTION_WORDS}
    for name in DOMAINS:
        for concept in lexicon.domain(name).concepts.values():
            topic = name if concept.path[0] not in ("attribute", "manner") else concept.path[0]
            vector = space.concept(concept, topic)
            for word, lemma, kind, weight in _weighted(concept):
                weights[word].append((weight, vector))
                if word not in lemma_of or kind == "base":
                    lemma_of[word] = (lemma, kind)
                order[word] = min(order.get(word, concept.rank), concept.rank)
    for path, text in concepts.HYPERNYMS.items():
        kinds = ("noun", *path.split("/"))
        general = sum(scale * space.direction("kind", *kinds[: i + 1]) for i, scale in zip(range(len(kinds)), KINDS, strict=False))
        for word in tokenise_ptb(text.replace(",", " ")):
            if word not in weights:
                weights[word].append((1.0, np.asarray(general)))
                order.setdefault(word, 12)
    for kind, group in extra.items():
        for word in group:
            if word not in weights:
                weights[word].append((1.0, space.direction("extra", kind)))
                order.setdefault(word, 14)
    words = sorted((word for word in order if not missing(word)), key=lambda word: (order[word], stable_hash(word)))
    rows = [_vector(space, word, weights.get(word, []), lemma_of.get(word, (word, "base")), at) for at, word in enumerate(words)]
    return words, np.asarray(rows, dtype=np.float32)


def _vector(
    space: _Space, word: str, parts: list[tuple[float, NDArray[np.float64]]], form: tuple[str, str], rank: int
) -> NDArray[np.float64]:
    lemma, kind = form
    frequency = FREQUENCY * max(0.0, 7.5 - math.log(rank + 1.5)) * space.direction("frequency")
    if word in FUNCTION_WORDS:
        return FUNCTION * (space.direction("function") + space.direction("word", word)) + frequency
    vector = NOISE * (0.85 * space.direction("word", lemma) + 0.5 * space.direction("form", word)) + frequency
    if kind != "base":
        vector = vector + INFLECTION * space.direction("inflection", kind)
    whole = [part for weight, part in parts if weight == 1.0]
    traces = [weight * part for weight, part in parts if weight != 1.0]
    if whole:
        vector = vector + np.mean(whole, axis=0)
    else:
        vector = vector + space.direction("literal", lemma)
    if traces:
        vector = vector + np.mean(traces, axis=0)
    return vector
