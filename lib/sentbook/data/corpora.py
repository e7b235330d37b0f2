"""Training corpora by name, mixed, cleaned of test sentences, shuffled and cut by a seed."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from sentbook.data import alignment, readers, sources, text
from sentbook.data.originals import original
from sentbook.data.overlap import remove
from sentbook.data.types import ParaphrasePairs
from sentbook.system.errors import ConfigError

MINIWORLD_PAIRS = 8_000

FILES: dict[str, tuple[str, ...]] = {
    "ppdb": (
        "train/ppdb/ppdb-1.0-m-lexical.pairs.tsv.gz",
        "train/ppdb/ppdb-1.0-xxxl-lexical.uniquepairs.tsv.gz",
        "train/ppdb/ppdb-2.0-xxl-lexical.equivalence.tsv.gz",
    ),
    "phrases": (
        "train/simplification/turk_asset_tune.tsv.gz",
        "train/simplification/wiki_simple_aligned_small.tsv.gz",
        "train/simplification/wikisplit_googlecomp.tsv.gz",
        "train/simplification/onestopenglish_aligned.tsv.gz",
        "train/bible/bible_8_versions.tsv.xz",
    ),
    "captions": tuple(f"train/captions/train.{column}.en.gz" for column in range(1, 6)),
    "rewrites": ("train/simplification/turk_asset_tune.tsv.gz",),
    "simple-wikipedia": ("train/simplification/wiki_simple_aligned_small.tsv.gz",),
    "wikisplit": ("train/simplification/wikisplit_googlecomp.tsv.gz",),
    "onestop": ("train/simplification/onestopenglish_aligned.tsv.gz",),
    "quora": ("train/quora/quora_duplicate_pairs_54k.tsv.gz",),
    "twitter": ("train/twitter_url/twitter_url_51k.tsv.gz",),
    "parasci": ("train/parasci/parasci.tsv.gz",),
    "bible": ("train/bible/bible_8_versions.tsv.xz",),
    "miniworld-phrases": (),
    "miniworld-sentences": (),
}
"""The registered files that each corpus is read from."""

SUBSTITUTES: dict[str, str] = {
    "ppdb": "PPDB lexical pairs (words only) for the phrase pairs of PPDB XL",
    "phrases": "phrases aligned in simplifications and Bible versions for the phrase pairs of PPDB XL",
    "captions": "Flickr30k captions of one photo for Simple Wikipedia pairs",
    "rewrites": "TurkCorpus and ASSET rewrites for Simple Wikipedia pairs",
    "simple-wikipedia": "3,656 Simple Wikipedia pairs for 167,689",
    "wikisplit": "WikiSplit and compressed sentences for Simple Wikipedia pairs",
    "onestop": "OneStopEnglish reading levels for Simple Wikipedia pairs",
    "quora": "Quora duplicate questions for Simple Wikipedia pairs",
    "twitter": "tweets judged paraphrases for Simple Wikipedia pairs",
    "parasci": "ParaSCI for Simple Wikipedia pairs",
    "bible": "Bible versions for Simple Wikipedia pairs",
    "miniworld-phrases": "generated phrase pairs of the mini-world",
    "miniworld-sentences": "generated sentence pairs of the mini-world",
}


# Of inference, see `sentbook.data.inference`.
_INFERENCE = {
    "nli": "inference pairs of SNLI's dev and test, CAD, ConjNLI and SICK train for SNLI and MultiNLI",
    "miniworld-entailment": "generated inference pairs of the mini-world",
}
# Of encoder-decoders, see `sentbook.data.novels`.
_BOOKS = {
    "novels": "100 English novels (774,485 sentences, every fifth book held out) for BookCorpus (70 million sentences)",
    "folder": "your own books for BookCorpus (70 million sentences)",
    "miniworld-stories": "generated stories of the mini-world",
}


def substitute(name: str, paper: str) -> str:
    """What a corpus stands in for in ``paper``, in words; empty where it is unknown.

    Example:
        >>> substitute("onestop", "dnt")
        'OneStopEnglish reading levels for ParaNMT-50M and Simple Wikipedia'
    """
    words = {**SUBSTITUTES, **_INFERENCE, **_BOOKS}.get(name, "")
    ours, _, theirs = words.rpartition(" for ")
    sentences = original(paper, "sentences")
    return f"{ours} for {sentences}" if sentences and theirs == "Simple Wikipedia pairs" else words


def describe(name: str) -> dict[str, str]:
    """What a data card says of a corpus: ``name``, ``substitute`` (what for what), ``licence``, ``paper``, ``files``.

    Raises:
        ConfigError: an unknown corpus.
    """
    _check([name])
    entries = [sources.registry()[file] for file in FILES[name]]
    return {
        "name": name,
        "substitute": SUBSTITUTES[name],
        "licence": "; ".join(dict.fromkeys(entry["licence"] for entry in entries)) or "generated, no licence needed",
        "paper": "; ".join(dict.fromkeys(entry["paper"] for entry in entries)),
        "files": ", ".join(FILES[name]),
    }


def _align() -> ParaphrasePairs:
    return alignment.phrase_pairs(
        [readers.rewrites(), readers.simple_wikipedia(), readers.wikisplit(), readers.onestop(), readers.bible()]
    )


@lru_cache(maxsize=1)
def _phrases() -> ParaphrasePairs:
    """Aligned once (7 s) and kept in the cache; its name there is a digest of the inputs and of the code."""
    identity = hashlib.sha256()
    for file in FILES["phrases"]:
        sources.path(file)  # also records that this process used it
        identity.update(sources.sha256(file).encode())
    for module in (alignment, text, readers.paraphrases):
        identity.update(Path(str(module.__file__)).read_bytes())
    kept = sources.cache_folder() / "derived" / f"phrases-{identity.hexdigest()[:16]}.tsv.gz"
    try:
        with gzip.open(kept, "rt", encoding="utf-8", newline="\n") as stream:
            rows = [line.rstrip("\n").split("\t") for line in stream]
        return ParaphrasePairs("phrases", [row[0] for row in rows], [row[1] for row in rows], ["phrases"] * len(rows))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, IndexError):  # not there, or damaged: align again
        pairs = _align()
    temporary = kept.with_name(f"{kept.name}.{os.getpid()}.part")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(temporary, "wt", compresslevel=3, encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{one}\t{other}\n" for one, other in zip(pairs.first, pairs.second, strict=True))
        temporary.replace(kept)
    except OSError:
        pass  # a cache that cannot be written costs seconds, not the run
    return pairs


@lru_cache(maxsize=2)
def _miniworld(kind: str) -> ParaphrasePairs:
    from sentbook.data.miniworld import World  # only the demo needs it

    world = World()
    return world.phrases(MINIWORLD_PAIRS) if kind == "phrases" else world.sentences(MINIWORLD_PAIRS)


# Each takes the seed, which only those use that pair or generate at random.
CORPORA: dict[str, Callable[[int], ParaphrasePairs]] = {
    "ppdb": lambda seed: readers.ppdb_lexical(),
    "phrases": lambda seed: _phrases(),
    "captions": readers.captions,
    "rewrites": lambda seed: readers.rewrites(),
    "simple-wikipedia": lambda seed: readers.simple_wikipedia(),
    "wikisplit": lambda seed: readers.wikisplit(),
    "onestop": lambda seed: readers.onestop(),
    "quora": lambda seed: readers.quora(),
    "twitter": lambda seed: readers.twitter(),
    "parasci": lambda seed: readers.parasci(),
    "bible": lambda seed: readers.bible(),
    "miniworld-phrases": lambda seed: _miniworld("phrases"),
    "miniworld-sentences": lambda seed: _miniworld("sentences"),
}


def _check(names: Sequence[str]) -> None:
    for name in names:
        if name not in CORPORA:
            raise ConfigError(f"Unknown corpus '{name}'; choose among {', '.join(CORPORA)}.")


def load(
    names: Sequence[str], *, seed: int = 0, limit: int | None = None, exclude: frozenset[str] = frozenset()
) -> ParaphrasePairs:
    """The pairs of all ``names``, shuffled by ``seed``.

    Args:
        limit: keep at most so many, drawn by the seed.
        exclude: keys (`sentbook.data.overlap.key`) of test sentences; pairs that hold one are dropped.

    Raises:
        ConfigError: an unknown corpus.
        DataError: a file is missing or damaged.
    """
    _check(names)
    rows: list[tuple[str, str, str]] = []
    for name in names:
        pairs, _ = remove(CORPORA[name](seed), exclude) if exclude else (CORPORA[name](seed), 0)
        rows += zip(pairs.first, pairs.second, [name] * len(pairs), strict=True)
    order = np.random.default_rng([seed, 1]).permutation(len(rows))[:limit]
    # Marks alone (a lone bullet, say) leave no token.
    chosen = [rows[index] for index in order if text.tokenise_ptb(rows[index][0]) and text.tokenise_ptb(rows[index][1])]
    return ParaphrasePairs("+".join(names), *([row[column] for row in chosen] for column in range(3)))
