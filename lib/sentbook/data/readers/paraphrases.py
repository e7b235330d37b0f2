"""Training corpora of pairs taken to mean the same.

The number of rows of every file is asserted. Then repeated pairs, pairs of equal sides and rows with an empty side (28,
all in PPDB) are dropped: they teach nothing. Pairs left: PPDB 207,932, captions 57,990 (seed 0), rewrites 31,870,
Simple Wikipedia 3,652, WikiSplit 12,000, OneStop 4,736, Quora 53,986, Twitter 11,109, ParaSCI 40,162, Bible 91,675.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from sentbook.data.readers.tables import expect, lines, rows
from sentbook.data.types import ParaphrasePairs


@dataclass(frozen=True)
class Aligned:
    """A file whose lines begin with two sentences.

    Attributes:
        title: of the corpus, in messages.
        file: registered.
        size: its official number of rows.
        substitute: what for what, in words.
        columns: of each row.
        judged: the column that must be ``1``; None where every row counts.
        treebank: whether brackets are written as the Treebank does; they are made plain.
    """

    title: str
    file: str
    size: int
    substitute: str
    columns: int = 3
    judged: int | None = None
    treebank: bool = False


_FOLDER, _WIKIPEDIA = "train/simplification", "for Simple Wikipedia pairs"
ALIGNED = {
    # Crowd-written simplifications of 2,000 Wikipedia sentences, by 8 writers (Xu et al. 2016) and 10 (Alva-Manchego
    # et al. 2020).
    "rewrites": Aligned(
        "TurkCorpus and ASSET", f"{_FOLDER}/turk_asset_tune.tsv.gz", 36_000,
        f"TurkCorpus and ASSET rewrites {_WIKIPEDIA}", columns=4,
    ),
    # Of Wikipedia and Simple Wikipedia: validation and test parts of other work.
    "simple-wikipedia": Aligned(
        "Simple Wikipedia", f"{_FOLDER}/wiki_simple_aligned_small.tsv.gz", 3_656,
        "3,656 Simple Wikipedia pairs for 167,689", treebank=True,
    ),
    # Sentences and their split (Botha et al. 2018) or compressed (Filippova and Altun 2013) forms.
    "wikisplit": Aligned(
        "WikiSplit and compression", f"{_FOLDER}/wikisplit_googlecomp.tsv.gz", 12_000,
        f"WikiSplit and compressed sentences {_WIKIPEDIA}",
    ),
    # News sentences at two reading levels (Vajjala and Lucic 2018).
    "onestop": Aligned(
        "OneStopEnglish", f"{_FOLDER}/onestopenglish_aligned.tsv.gz", 5_994,
        f"OneStopEnglish reading levels {_WIKIPEDIA}",
    ),
    # Questions marked as duplicates.
    "quora": Aligned(
        "Quora duplicates", "train/quora/quora_duplicate_pairs_54k.tsv.gz", 54_000,
        f"Quora duplicate questions {_WIKIPEDIA}",
    ),
    # Tweets judged paraphrases, of pairs that share an address (Lan et al. 2017).
    "twitter": Aligned(
        "Twitter URL", "train/twitter_url/twitter_url_51k.tsv.gz", 51_524, f"tweets judged paraphrases {_WIKIPEDIA}",
        columns=4, judged=2,
    ),
    # Scientific paraphrases found automatically (Dong et al. 2021).
    "parasci": Aligned("ParaSCI", "train/parasci/parasci.tsv.gz", 40_210, f"ParaSCI {_WIKIPEDIA}"),
}  # fmt: skip
PPDB = {
    "train/ppdb/ppdb-2.0-xxl-lexical.equivalence.tsv.gz": 50_154,
    "train/ppdb/ppdb-1.0-m-lexical.pairs.tsv.gz": 69_704,
    "train/ppdb/ppdb-1.0-xxxl-lexical.uniquepairs.tsv.gz": 210_372,
}
CAPTIONS = tuple(f"train/captions/train.{column}.en.gz" for column in range(1, 6))
BIBLE = "train/bible/bible_8_versions.tsv.xz"
# Pairs of English versions of the Bible.
VERSIONS = (("BBE", "WEB"), ("LEB", "KJV"), ("DRA", "WEB"))
_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-LRB-": "(", "-RRB-": ")"}


def aligned(name: str) -> ParaphrasePairs:
    """One of `ALIGNED`."""
    corpus = ALIGNED[name]
    found = rows(corpus.file, corpus.columns)
    expect(corpus.title, len(found), corpus.size)
    kept = [row for row in found if corpus.judged is None or row[corpus.judged] == "1"]
    plain = _plain if corpus.treebank else str
    return _pairs(name, ((plain(row[0]), plain(row[1])) for row in kept))


def ppdb_lexical() -> ParaphrasePairs:
    """Word pairs of PPDB 1.0 (M, XXXL) and 2.0 (XXL equivalence): no phrases (Ganitkevitch et al. 2013).

    Either order counts as the same pair.
    """
    found: dict[tuple[str, str], None] = {}
    for file, size in PPDB.items():
        cells = rows(file, 2)
        expect(file, len(cells), size)
        found |= dict.fromkeys((min(row.cells[:2]), max(row.cells[:2])) for row in cells)
    return _pairs("ppdb", found)


def captions(seed: int = 0) -> ParaphrasePairs:
    """Two disjoint pairs of captions for each of 29,000 Flickr30k photos (Young et al. 2014, in Multi30k).

    The files sort a photo's captions by length; they are shuffled by ``seed`` before they are paired. Captions of a
    photo describe one scene and need not be paraphrases.
    """
    columns = [lines(file) for file in CAPTIONS]
    for column in columns:
        expect("Flickr30k captions", len(column), 29_000)
    rng, found = random.Random(seed), []
    for row in zip(*columns, strict=True):
        of_photo = list(row)
        rng.shuffle(of_photo)
        found += [(of_photo[0], of_photo[1]), (of_photo[2], of_photo[3])]
    return _pairs("captions", found)


def bible() -> ParaphrasePairs:
    """The same verse in two English versions, for each pair of `VERSIONS`; a verse absent from one is left out."""
    head, *verses = rows(BIBLE, 9)
    expect("Bible verses", len(verses), 31_099)
    column = {version: index for index, version in enumerate(head.cells)}
    return _pairs("bible", ((row[column[one]], row[column[other]]) for one, other in VERSIONS for row in verses))


def _pairs(name: str, found: Iterable[tuple[str, str]]) -> ParaphrasePairs:
    """Distinct pairs in file order, without those whose sides are equal or empty."""
    kept = dict.fromkeys(
        (first, second) for first, second in found if first.strip() and second.strip() and first != second
    )
    return ParaphrasePairs.of(name, kept)


def _plain(text: str) -> str:
    return " ".join(_BRACKETS.get(word, word) for word in text.split(" "))
