"""Training corpora of pairs by name, mixed, cleaned of test sentences, shuffled and cut by a seed.

The number of rows of every file is asserted. Then repeated pairs, pairs of equal sides and rows with an empty side (28,
all in PPDB) are dropped: they teach nothing. Pairs left: PPDB 207,932, captions 57,990 (seed 0), rewrites 31,870,
Simple Wikipedia 3,652, WikiSplit 12,000, OneStop 4,736, Quora 53,986, Twitter 11,109, ParaSCI 40,162, Bible 91,675.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentbook.data import alignment, published, sources, text
from sentbook.data.miniworld import World
from sentbook.data.overlap import remove
from sentbook.data.published import original
from sentbook.data.tables import Row, one_of, rows
from sentbook.data.types import ParaphrasePairs

Pairs = Iterable[tuple[str, str]]
SIDES = ("first", "second")
_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-LRB-": "(", "-RRB-": ")"}
# Pairs of English versions of the Bible.
VERSIONS = (("BBE", "WEB"), ("LEB", "KJV"), ("DRA", "WEB"))
# Raised when phrases are to be aligned again.
_ALIGNMENT = 1


def _first_two(tables: list[list[Row]], seed: int) -> Pairs:
    return ((row[0], row[1]) for row in tables[0])


def _judged(tables: list[list[Row]], seed: int) -> Pairs:
    return ((row[0], row[1]) for row in tables[0] if row[2] == "1")


def _plain_brackets(tables: list[list[Row]], seed: int) -> Pairs:
    """Make the Treebank's brackets plain."""
    sides = ([" ".join(_BRACKETS.get(word, word) for word in row[at].split(" ")) for row in tables[0]] for at in (0, 1))
    return zip(*sides, strict=True)


def _unordered(tables: list[list[Row]], seed: int) -> Pairs:
    return ((min(row[:2]), max(row[:2])) for table in tables for row in table)


def _captions(tables: list[list[Row]], seed: int) -> Pairs:
    """Pair four of each photo's captions, shuffled by ``seed``: the files sort them by length."""
    rng = random.Random(seed)
    for photo in zip(*tables, strict=True):
        captions = [row[0] for row in photo]
        rng.shuffle(captions)
        yield captions[0], captions[1]
        yield captions[2], captions[3]


def _versions(tables: list[list[Row]], seed: int) -> Pairs:
    """Pair each verse in two English versions."""
    [[head, *verses]] = tables
    sides = (tuple(map(head.index, versions)) for versions in VERSIONS)
    return ((row[one], row[other]) for one, other in sides for row in verses)


@dataclass(frozen=True)
class Corpus:
    """A training corpus of pairs.

    Attributes:
        substitute: what stands in for what, in words.
        files: registered, each with its official number of rows, a header included.
        pairs: its pairs from the rows of each file, and by the seed, which only captions use.
    """

    substitute: str
    files: dict[str, int]
    pairs: Callable[[list[list[Row]], int], Pairs] = _first_two


_WIKIPEDIA, _FOLDER = "for Simple Wikipedia pairs", "train/simplification"
# Of these phrases are aligned.
_ALIGNED = {
    "rewrites": {f"{_FOLDER}/turk_asset_tune.tsv.gz": 36_000},
    "simple-wikipedia": {f"{_FOLDER}/wiki_simple_aligned_small.tsv.gz": 3_656},
    "wikisplit": {f"{_FOLDER}/wikisplit_googlecomp.tsv.gz": 12_000},
    "onestop": {f"{_FOLDER}/onestopenglish_aligned.tsv.gz": 5_994},
    "bible": {"train/bible/bible_8_versions.tsv.xz": 31_100},
}
CORPORA: dict[str, Corpus] = {
    # Word pairs of PPDB 1.0 (M, XXXL) and 2.0 (XXL equivalence): no phrases (Ganitkevitch et al. 2013). Either order
    # counts as the same pair.
    "ppdb": Corpus(
        "PPDB lexical pairs (words only) for the phrase pairs of PPDB XL",
        {
            "train/ppdb/ppdb-2.0-xxl-lexical.equivalence.tsv.gz": 50_154,
            "train/ppdb/ppdb-1.0-m-lexical.pairs.tsv.gz": 69_704,
            "train/ppdb/ppdb-1.0-xxxl-lexical.uniquepairs.tsv.gz": 210_372,
        },
        _unordered,
    ),
    "phrases": Corpus(
        "phrases aligned in simplifications and Bible versions for the phrase pairs of PPDB XL",
        {file: size for files in _ALIGNED.values() for file, size in files.items()},
    ),
    # Two disjoint pairs of captions for each of 29,000 Flickr30k photos (Young et al. 2014, in Multi30k). Captions of a
    # photo describe one scene and need not be paraphrases.
    "captions": Corpus(
        f"Flickr30k captions of one photo {_WIKIPEDIA}",
        {f"train/captions/train.{column}.en.gz": 29_000 for column in range(1, 6)},
        _captions,
    ),
    # Crowd-written simplifications of 2,000 Wikipedia sentences, by 8 writers (Xu et al. 2016) and 10 (Alva-Manchego
    # et al. 2020).
    "rewrites": Corpus(f"TurkCorpus and ASSET rewrites {_WIKIPEDIA}", _ALIGNED["rewrites"]),
    # Of Wikipedia and Simple Wikipedia: validation and test parts of other work.
    "simple-wikipedia": Corpus(
        "3,656 Simple Wikipedia pairs for 167,689", _ALIGNED["simple-wikipedia"], _plain_brackets
    ),
    # Sentences and their split (Botha et al. 2018) or compressed (Filippova and Altun 2013) forms.
    "wikisplit": Corpus(f"WikiSplit and compressed sentences {_WIKIPEDIA}", _ALIGNED["wikisplit"]),
    # News sentences at two reading levels (Vajjala and Lucic 2018).
    "onestop": Corpus(f"OneStopEnglish reading levels {_WIKIPEDIA}", _ALIGNED["onestop"]),
    # Questions marked as duplicates.
    "quora": Corpus(
        f"Quora duplicate questions {_WIKIPEDIA}", {"train/quora/quora_duplicate_pairs_54k.tsv.gz": 54_000}
    ),
    # Tweets judged paraphrases, of pairs that share an address (Lan et al. 2017).
    "twitter": Corpus(
        f"tweets judged paraphrases {_WIKIPEDIA}", {"train/twitter_url/twitter_url_51k.tsv.gz": 51_524}, _judged
    ),
    # Scientific paraphrases found automatically (Dong et al. 2021).
    "parasci": Corpus(f"ParaSCI {_WIKIPEDIA}", {"train/parasci/parasci.tsv.gz": 40_210}),
    # The same verse in two English versions; a verse absent from one is left out.
    "bible": Corpus(f"Bible versions {_WIKIPEDIA}", _ALIGNED["bible"], _versions),
    "miniworld-phrases": Corpus("generated phrase pairs of the mini-world", {}),
    "miniworld-sentences": Corpus("generated sentence pairs of the mini-world", {}),
}
# Of inference, see `sentbook.data.inference`; of encoder-decoders, see `sentbook.data.novels`.
_OTHERS = {
    "nli": "inference pairs of SNLI's dev and test, CAD, ConjNLI and SICK train for SNLI and MultiNLI",
    "miniworld-entailment": "generated inference pairs of the mini-world",
    "novels": "100 English novels (774,485 sentences, every fifth book held out) for BookCorpus (70 million sentences)",
    "folder": "your own books for BookCorpus (70 million sentences)",
    "miniworld-stories": "generated stories of the mini-world",
}


def substitute(name: str, paper: str) -> str:
    """Say what a corpus stands in for in ``paper``; empty where it is unknown.

    Example:
        >>> substitute("onestop", "dnt")
        'OneStopEnglish reading levels for ParaNMT-50M and Simple Wikipedia'
    """
    words = CORPORA[name].substitute if name in CORPORA else _OTHERS.get(name, "")
    ours, _, theirs = words.rpartition(" for ")
    sentences = original(paper, "sentences")
    return f"{ours} for {sentences}" if sentences and theirs == "Simple Wikipedia pairs" else words


def describe(name: str) -> dict[str, str]:
    """Return ``name``, ``substitute`` (what for what), ``licence``, ``paper`` and ``files`` of a corpus."""
    corpus = one_of("corpus", name, CORPORA)
    entries = [sources.registry()[file] for file in corpus.files]
    return {
        "name": name,
        "substitute": corpus.substitute,
        "licence": "; ".join(dict.fromkeys(entry["licence"] for entry in entries)) or "generated, no licence needed",
        "paper": "; ".join(dict.fromkeys(entry["paper"] for entry in entries)),
        "files": ", ".join(corpus.files),
    }


def read(name: str, seed: int = 0) -> ParaphrasePairs:
    """Return the pairs of one of `CORPORA`: distinct ones in file order, no side empty or like the other."""
    if name.startswith("miniworld"):
        return World().phrases() if name == "miniworld-phrases" else World().sentences()
    if name == "phrases":
        return _phrases()
    corpus = CORPORA[name]
    found = corpus.pairs([rows(file, size) for file, size in corpus.files.items()], seed)
    kept = dict.fromkeys((one, other) for one, other in found if one.strip() and other.strip() and one != other)
    return ParaphrasePairs.of(name, kept)


@lru_cache(maxsize=1)
def _phrases() -> ParaphrasePairs:
    """Align phrases once (7 s); they are kept in the cache."""
    identity = hashlib.sha256(str(_ALIGNMENT).encode())
    for file in CORPORA["phrases"].files:
        sources.path(file)  # also records that this process used it
        identity.update(sources.sha256(file).encode())
    kept = sources.kept(f"phrases-{identity.hexdigest()[:16]}", _align)
    return ParaphrasePairs.of("phrases", zip(*(sources.unpacked(kept[side]) for side in SIDES), strict=True))


def _align() -> dict[str, NDArray[Any]]:
    pairs = alignment.phrase_pairs([*map(read, _ALIGNED)])
    return {side: sources.packed(getattr(pairs, side)) for side in SIDES}


def load(
    names: Sequence[str],
    *,
    seed: int = 0,
    limit: int | None = None,
    exclude: frozenset[str] = frozenset(),
    path: str = "",
) -> ParaphrasePairs:
    """Return the pairs of all ``names``, shuffled by ``seed``.

    Args:
        names: of `CORPORA`, of `published.PARAPHRASES`, or ``file``: the user's own, at ``path``.
        limit: keep at most so many, drawn by the seed.
        exclude: keys (`sentbook.data.overlap.key`) of test sentences; pairs that hold one are dropped.
    """
    for name in names:
        one_of("corpus", name, CORPORA | dict.fromkeys([*published.PARAPHRASES, "file"]))
    found: list[tuple[str, str, str]] = []
    for name in dict.fromkeys(names):
        if name == "file":
            pairs = published.pairs(published.own_pairs(path))
        else:
            pairs = read(name, seed) if name in CORPORA else published.paraphrases(name)
        pairs = remove(pairs, exclude)
        found += zip(pairs.first, pairs.second, [name] * len(pairs), strict=True)
    order = np.random.default_rng([seed, 1]).permutation(len(found))[:limit]
    # Marks alone (a lone bullet, say) leave no token.
    chosen = [found[at] for at in order if text.tokenise_ptb(found[at][0]) and text.tokenise_ptb(found[at][1])]
    return ParaphrasePairs("+".join(names), *([row[column] for row in chosen] for column in range(3)))
