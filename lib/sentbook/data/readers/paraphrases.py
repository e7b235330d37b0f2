"""Training corpora of pairs taken to mean the same.

The number of rows of every file is asserted. Then repeated pairs, pairs of equal sides and rows with an empty side (28,
all in PPDB) are dropped: they teach nothing. Pairs left: PPDB 207,932, captions 57,990 (seed 0), rewrites 31,870,
Simple Wikipedia 3,652, WikiSplit 12,000, OneStop 4,736, Quora 53,986, Twitter 11,109, ParaSCI 40,162, Bible 91,675.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from sentbook.data.readers.tables import expect, lines, rows
from sentbook.data.types import ParaphrasePairs


def _pairs(name: str, found: Iterable[tuple[str, str]]) -> ParaphrasePairs:
    """Distinct pairs in file order, without those whose sides are equal or empty."""
    kept = dict.fromkeys(
        (first, second) for first, second in found if first.strip() and second.strip() and first != second
    )
    return ParaphrasePairs(name, [first for first, _ in kept], [second for _, second in kept], [name] * len(kept))


def ppdb_lexical() -> ParaphrasePairs:
    """Word pairs of PPDB 1.0 (M, XXXL) and 2.0 (XXL equivalence): no phrases (Ganitkevitch et al. 2013).

    Either order counts as the same pair.
    """
    found: dict[tuple[str, str], None] = {}
    sizes = {
        "2.0-xxl-lexical.equivalence": 50_154,
        "1.0-m-lexical.pairs": 69_704,
        "1.0-xxxl-lexical.uniquepairs": 210_372,
    }
    for release, size in sizes.items():
        cells = list(rows(f"train/ppdb/ppdb-{release}.tsv.gz", 2))
        expect(f"PPDB {release}", len(cells), size)
        found |= dict.fromkeys((min(row[:2]), max(row[:2])) for row in cells)
    return _pairs("ppdb", found)


def captions(seed: int = 0) -> ParaphrasePairs:
    """Two disjoint pairs of captions for each of 29,000 Flickr30k photos (Young et al. 2014, in Multi30k).

    The files sort a photo's captions by length; they are shuffled by ``seed`` before they are paired. Captions of a
    photo describe one scene and need not be paraphrases.
    """
    columns = [lines(f"train/captions/train.{column}.en.gz") for column in range(1, 6)]
    for column in columns:
        expect("Flickr30k captions", len(column), 29_000)
    rng, found = random.Random(seed), []
    for row in zip(*columns, strict=True):
        of_photo = list(row)
        rng.shuffle(of_photo)
        found += [(of_photo[0], of_photo[1]), (of_photo[2], of_photo[3])]
    return _pairs("captions", found)


def rewrites() -> ParaphrasePairs:
    """Crowd-written simplifications of 2,000 Wikipedia sentences.

    Source: TurkCorpus (Xu et al. 2016), 8 writers; ASSET (Alva-Manchego et al. 2020), 10 writers.
    """
    cells = list(rows("train/simplification/turk_asset_tune.tsv.gz", 4))
    expect("TurkCorpus and ASSET", len(cells), 36_000)
    return _pairs("rewrites", ((row[0], row[1]) for row in cells))


def simple_wikipedia() -> ParaphrasePairs:
    """Aligned Wikipedia and Simple Wikipedia sentences: 3,656 of them, from validation and test parts of other work."""
    cells = list(rows("train/simplification/wiki_simple_aligned_small.tsv.gz", 3))
    expect("Simple Wikipedia", len(cells), 3_656)
    brackets = {"-lrb-": "(", "-rrb-": ")", "-LRB-": "(", "-RRB-": ")"}

    def plain(text: str) -> str:
        return " ".join(brackets.get(word, word) for word in text.split(" "))

    return _pairs("simple-wikipedia", ((plain(row[0]), plain(row[1])) for row in cells))


def wikisplit() -> ParaphrasePairs:
    """Sentences and their split (WikiSplit, Botha et al. 2018) or compressed (Filippova and Altun 2013) forms."""
    cells = list(rows("train/simplification/wikisplit_googlecomp.tsv.gz", 3))
    expect("WikiSplit and compression", len(cells), 12_000)
    return _pairs("wikisplit", ((row[0], row[1]) for row in cells))


def onestop() -> ParaphrasePairs:
    """News sentences at two reading levels (OneStopEnglish, Vajjala and Lucic 2018)."""
    cells = list(rows("train/simplification/onestopenglish_aligned.tsv.gz", 3))
    expect("OneStopEnglish", len(cells), 5_994)
    return _pairs("onestop", ((row[0], row[1]) for row in cells))


def quora() -> ParaphrasePairs:
    """Questions marked as duplicates."""
    cells = list(rows("train/quora/quora_duplicate_pairs_54k.tsv.gz", 3))
    expect("Quora duplicates", len(cells), 54_000)
    return _pairs("quora", ((row[0], row[1]) for row in cells))


def twitter() -> ParaphrasePairs:
    """Tweets judged paraphrases, of pairs that share an address (Lan et al. 2017)."""
    cells = list(rows("train/twitter_url/twitter_url_51k.tsv.gz", 4))
    expect("Twitter URL", len(cells), 51_524)
    return _pairs("twitter", ((row[0], row[1]) for row in cells if row[2] == "1"))


def parasci() -> ParaphrasePairs:
    """Scientific paraphrases found automatically (ParaSCI, Dong et al. 2021)."""
    cells = list(rows("train/parasci/parasci.tsv.gz", 3))
    expect("ParaSCI", len(cells), 40_210)
    return _pairs("parasci", ((row[0], row[1]) for row in cells))


def bible(versions: tuple[tuple[str, str], ...] = (("BBE", "WEB"), ("LEB", "KJV"), ("DRA", "WEB"))) -> ParaphrasePairs:
    """The same verse in two English versions, for each pair of ``versions``; a verse absent from one is left out."""
    table = list(rows("train/bible/bible_8_versions.tsv.xz", 9))
    expect("Bible verses", len(table) - 1, 31_099)
    column = {version: index for index, version in enumerate(table[0])}
    return _pairs("bible", ((row[column[one]], row[column[other]]) for one, other in versions for row in table[1:]))
