"""Training corpora by name, mixed, cleaned of test sentences, shuffled and cut by a seed."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from sentbook.data import alignment, sources, text
from sentbook.data.originals import original
from sentbook.data.overlap import remove
from sentbook.data.readers import paraphrases, published
from sentbook.data.readers.tables import one_of
from sentbook.data.types import ParaphrasePairs

MINIWORLD_PAIRS = 8_000


@dataclass(frozen=True)
class Corpus:
    """A training corpus of pairs.

    Attributes:
        substitute: what stands in for what, in words.
        files: that it is read from, registered.
        read: its pairs by the seed, which only those use that pair at random.
    """

    substitute: str
    files: tuple[str, ...]
    read: Callable[[int], ParaphrasePairs]


# Of inference, see `sentbook.data.inference`; of encoder-decoders, see `sentbook.data.novels`.
_OTHERS = {
    "nli": "inference pairs of SNLI's dev and test, CAD, ConjNLI and SICK train for SNLI and MultiNLI",
    "miniworld-entailment": "generated inference pairs of the mini-world",
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
    words = CORPORA[name].substitute if name in CORPORA else _OTHERS.get(name, "")
    ours, _, theirs = words.rpartition(" for ")
    sentences = original(paper, "sentences")
    return f"{ours} for {sentences}" if sentences and theirs == "Simple Wikipedia pairs" else words


def describe(name: str) -> dict[str, str]:
    """What a data card says of a corpus: ``name``, ``substitute`` (what for what), ``licence``, ``paper``, ``files``.

    Raises:
        ConfigError: an unknown corpus.
    """
    corpus = one_of("corpus", name, CORPORA)
    entries = [sources.registry()[file] for file in corpus.files]
    return {
        "name": name,
        "substitute": corpus.substitute,
        "licence": "; ".join(dict.fromkeys(entry["licence"] for entry in entries)) or "generated, no licence needed",
        "paper": "; ".join(dict.fromkeys(entry["paper"] for entry in entries)),
        "files": ", ".join(corpus.files),
    }


def _align() -> ParaphrasePairs:
    return alignment.phrase_pairs([*map(paraphrases.aligned, PHRASES), paraphrases.bible()])


@lru_cache(maxsize=1)
def _phrases() -> ParaphrasePairs:
    """Aligned once (7 s) and kept in the cache; its name there is a digest of the inputs and of the code."""
    identity = hashlib.sha256()
    for file in CORPORA["phrases"].files:
        sources.path(file)  # also records that this process used it
        identity.update(sources.sha256(file).encode())
    for module in (alignment, text, paraphrases):
        identity.update(Path(str(module.__file__)).read_bytes())
    return sources.kept(f"phrases-{identity.hexdigest()[:16]}.tsv.gz", _align, _read, _write)


def _read(file: Path) -> ParaphrasePairs:
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    return ParaphrasePairs.of("phrases", [(row[0], row[1]) for row in rows])


def _write(file: Path, pairs: ParaphrasePairs) -> None:
    with gzip.open(file, "wt", compresslevel=3, encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{one}\t{other}\n" for one, other in zip(pairs.first, pairs.second, strict=True))


@lru_cache(maxsize=2)
def _miniworld(kind: str) -> ParaphrasePairs:
    from sentbook.data.miniworld import World  # only the demo needs it

    found: ParaphrasePairs = getattr(World(), f"{kind}s")(MINIWORLD_PAIRS)
    return found


def _always(read: Callable[[], ParaphrasePairs]) -> Callable[[int], ParaphrasePairs]:
    """The same pairs by every seed."""
    return lambda seed: read()


# Of these and of Bible versions phrases are aligned.
PHRASES = ("rewrites", "simple-wikipedia", "wikisplit", "onestop")
CORPORA: dict[str, Corpus] = {
    "ppdb": Corpus(
        "PPDB lexical pairs (words only) for the phrase pairs of PPDB XL",
        tuple(sorted(paraphrases.PPDB)),
        _always(paraphrases.ppdb_lexical),
    ),
    "phrases": Corpus(
        "phrases aligned in simplifications and Bible versions for the phrase pairs of PPDB XL",
        (*(paraphrases.ALIGNED[name].file for name in PHRASES), paraphrases.BIBLE),
        _always(_phrases),
    ),
    "captions": Corpus(
        "Flickr30k captions of one photo for Simple Wikipedia pairs", paraphrases.CAPTIONS, paraphrases.captions
    ),
    **{
        name: Corpus(found.substitute, (found.file,), _always(partial(paraphrases.aligned, name)))
        for name, found in paraphrases.ALIGNED.items()
    },
    "bible": Corpus("Bible versions for Simple Wikipedia pairs", (paraphrases.BIBLE,), _always(paraphrases.bible)),
    **{
        f"miniworld-{kind}s": Corpus(
            f"generated {kind} pairs of the mini-world", (), _always(partial(_miniworld, kind))
        )
        for kind in ("phrase", "sentence")
    },
}
# The papers' own, which stand in for nothing.
_ORIGINALS = {name: Corpus("", (), _always(partial(published.paraphrases, name))) for name in published.PARAPHRASES}


def load(
    names: Sequence[str],
    *,
    seed: int = 0,
    limit: int | None = None,
    exclude: frozenset[str] = frozenset(),
    path: str = "",
) -> ParaphrasePairs:
    """The pairs of all ``names``, shuffled by ``seed``; ``file`` is the user's own, at ``path``.

    Args:
        limit: keep at most so many, drawn by the seed.
        exclude: keys (`sentbook.data.overlap.key`) of test sentences; pairs that hold one are dropped.

    Raises:
        ConfigError: an unknown corpus.
        DataError: a file is missing or damaged.
    """
    known = CORPORA | _ORIGINALS | {"file": Corpus("", (), lambda seed: published.pairs(published.own_pairs(path)))}
    corpora = {name: one_of("corpus", name, known) for name in names}
    rows: list[tuple[str, str, str]] = []
    for name, corpus in corpora.items():
        pairs = remove(corpus.read(seed), exclude)
        rows += zip(pairs.first, pairs.second, [name] * len(pairs), strict=True)
    order = np.random.default_rng([seed, 1]).permutation(len(rows))[:limit]
    # Marks alone (a lone bullet, say) leave no token.
    chosen = [rows[index] for index in order if text.tokenise_ptb(rows[index][0]) and text.tokenise_ptb(rows[index][1])]
    return ParaphrasePairs("+".join(names), *([row[column] for row in chosen] for column in range(3)))
