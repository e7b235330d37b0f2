"""Training corpora by name: pairs mixed, cleaned of test sentences, shuffled and cut by a seed; and inference pairs.

The number of rows of every file is asserted. Then repeated pairs, pairs of equal sides and rows with an empty side (28,
all in PPDB) are dropped: they teach nothing. Pairs left: PPDB 207,932, captions 57,990 (seed 0), rewrites 31,870,
Simple Wikipedia 3,652, WikiSplit 12,000, OneStop 4,736, Quora 53,986, Twitter 11,109, ParaSCI 40,162, Bible 91,675.

What a paper used, where this book has a substitute, is named in ``papers/<paper>/originals.yaml``. Whoever owns its
files puts them into the folder of the originals; they are not verified, so a line that cannot be read is named.
"""

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from sentbook.data import readers, sources
from sentbook.data.miniworld import World
from sentbook.data.suites import remove, with_tokens
from sentbook.data.text import Tokenisation, one_of, texts, tokenise_words
from sentbook.data.types import LabelledPairs, ParaphrasePairs
from sentbook.io import DataError, parse_yaml

Pairs = Iterable[tuple[str, str]]
_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-LRB-": "(", "-RRB-": ")"}
# Columns of English versions of the Bible that are paired: BBE and WEB, LEB and KJV, DRA and WEB.
VERSIONS = ((2, 7), (6, 5), (4, 7))
# The share of inference pairs that choose the epoch and shrink the learning rate.
HELD_OUT = 0.05
# Of phrases that are aligned.
LONGEST_SPAN, LONGEST_SENTENCE = 5, 40


def _first_two(tables: list[pd.DataFrame], seed: int) -> Pairs:
    return zip(tables[0][0], tables[0][1], strict=True)


def _judged(tables: list[pd.DataFrame], seed: int) -> Pairs:
    return _first_two([tables[0][tables[0][2] == "1"]], seed)


def _plain_brackets(tables: list[pd.DataFrame], seed: int) -> Pairs:
    """Make the Treebank's brackets plain."""
    plain = tables[0].map(lambda said: " ".join(_BRACKETS.get(word, word) for word in said.split(" ")))
    return _first_two([plain], seed)


def _unordered(tables: list[pd.DataFrame], seed: int) -> Pairs:
    return ((min(pair), max(pair)) for table in tables for pair in _first_two([table], seed))


def _captions(tables: list[pd.DataFrame], seed: int) -> Pairs:
    """Pair four of each photo's captions, shuffled by ``seed``: the files sort them by length."""
    rng = random.Random(seed)
    for photo in zip(*(table[0] for table in tables), strict=True):
        captions = list(photo)
        rng.shuffle(captions)
        yield captions[0], captions[1]
        yield captions[2], captions[3]


def _versions(tables: list[pd.DataFrame], seed: int) -> Pairs:
    """Pair each verse in two English versions; the first row names them."""
    verses = tables[0][1:]
    return (pair for one, other in VERSIONS for pair in zip(verses[one], verses[other], strict=True))


@dataclass(frozen=True)
class Corpus:
    """A training corpus of pairs.

    Attributes:
        substitute: what stands in for what, in words.
        files: registered, each with its official number of rows, a header included.
        pairs: its pairs from the columns of each file, and by the seed, which only captions use.
        columns: that are read.
    """

    substitute: str
    files: dict[str, int]
    pairs: Callable[[list[pd.DataFrame], int], Pairs] = _first_two
    columns: tuple[int, ...] = (0, 1)


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
        (0,),
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
        f"tweets judged paraphrases {_WIKIPEDIA}",
        {"train/twitter_url/twitter_url_51k.tsv.gz": 51_524},
        _judged,
        (0, 1, 2),
    ),
    # Scientific paraphrases found automatically (Dong et al. 2021).
    "parasci": Corpus(f"ParaSCI {_WIKIPEDIA}", {"train/parasci/parasci.tsv.gz": 40_210}),
    # The same verse in two English versions; a verse absent from one is left out.
    "bible": Corpus(f"Bible versions {_WIKIPEDIA}", _ALIGNED["bible"], _versions, (2, 4, 5, 6, 7)),
    "miniworld-phrases": Corpus("generated phrase pairs of the mini-world", {}),
    "miniworld-sentences": Corpus("generated sentence pairs of the mini-world", {}),
}
# Of inference, see `inference`; of encoder-decoders, see `sentbook.data.novels`.
_OTHERS = {
    "nli": "inference pairs of SNLI's dev and test, CAD, ConjNLI and SICK train for SNLI and MultiNLI",
    "miniworld-entailment": "generated inference pairs of the mini-world",
    "novels": "100 English novels (774,485 sentences, every fifth book held out) for BookCorpus (70 million sentences)",
    "folder": "your own books for BookCorpus (70 million sentences)",
    "miniworld-stories": "generated stories of the mini-world",
}
# Of each corpus of paraphrases the names that its file is published under.
PARAPHRASES: dict[str, tuple[str, ...]] = {
    # Ganitkevitch et al. 2013, or the distinct pairs that Wieting et al. 2016 made of it.
    "ppdb-xl-phrasal": ("ppdb-1.0-xl-phrasal", "ppdb-xl-phrasal", "phrase-training-data.txt"),
    "ppdb-xl-lexical": ("ppdb-1.0-xl-lexical", "ppdb-xl-lexical"),
    # Version 2 of Coster and Kauchak 2011, 167,689 pairs, joined by:
    # paste <(cut -f3 normal.aligned) <(cut -f3 simple.aligned) > simple-wikipedia-v2.tsv
    "simple-wikipedia-v2": ("simple-wikipedia-v2.tsv",),
    # Wieting and Gimpel 2018: the five million pairs of their encoders, or all.
    "paranmt": ("para-nmt-5m-processed.txt", "para-nmt-50m.txt"),
}
# SNLI and MultiNLI (Bowman et al. 2015; Williams et al. 2018), pooled as by Conneau et al. 2017.
INFERENCE = {
    "train": ("snli_1.0_train.jsonl", "multinli_1.0_train.jsonl"),
    "dev": ("snli_1.0_dev.jsonl", "multinli_1.0_dev_matched.jsonl"),
}
# Raised when the same file is to be read otherwise: part of the keys of what is trained on it.
_READER = 2
# Lines of a user's own pairs: names of columns, and what follows them.
_NUMBER = r" *[-+]?\d*\.?\d+(?:e[-+]?\d+)? *"
_NAMES = "first|second|source|target|premise|hypothesis|original|paraphrase|anchor|positive|query|reference|candidate"
_NAME = rf" *(?:(?:sentence|sent|text|phrase|question)[ _]?(?:[12ab]|one|two)?|{_NAMES}) *"
_HEADER = re.compile(rf"{_NAME}\t{_NAME}(?:\t *score *>=({_NUMBER}))?", re.IGNORECASE)
_SENTENCE = rf"(?!{_NUMBER}(?:\t|$))([^\t]*\S[^\t]*)"  # no number alone, which would be a label


@cache
def original(paper: str, kind: Literal["vectors", "sentences"]) -> str:
    """Name the word vectors or the sentence pairs that a paper used; empty where its folder does not say.

    Example:
        >>> original("cse", "vectors")
        'PARAGRAM-SL999'
    """
    path = files("sentbook") / "papers" / paper / "originals.yaml"
    return str(parse_yaml(path.read_text(encoding="utf-8")).get(kind, "")) if path.is_file() else ""


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


def read(name: str, seed: int = 0, path: str = "") -> ParaphrasePairs:
    """Return the pairs of a corpus, see `load`: distinct ones in file order, no side empty or like the other."""
    if name.startswith("miniworld"):
        return World().phrases() if name == "miniworld-phrases" else World().sentences()
    if name == "phrases":
        return _phrases()
    if name not in CORPORA:
        return own_pairs(sources.noted(path)) if name == "file" else paraphrases(name)
    corpus = CORPORA[name]
    tables = [readers.table(file, corpus.columns, size) for file, size in corpus.files.items()]
    pairs = corpus.pairs(tables, seed)
    kept = dict.fromkeys((one, other) for one, other in pairs if one.strip() and other.strip() and one != other)
    return ParaphrasePairs.of(name, kept)


def load(
    names: Sequence[str],
    *,
    seed: int = 0,
    limit: int | None = None,
    exclude: frozenset[str] = frozenset(),
    path: str = "",
    tokenisation: Tokenisation = "ptb",
) -> ParaphrasePairs:
    """Return the pairs of all ``names``, shuffled by ``seed``.

    Args:
        names: of `CORPORA`, of `PARAPHRASES`, or ``file``: the user's own, at ``path``.
        limit: keep at most so many, drawn by the seed.
        exclude: keys (`sentbook.data.suites.key`) of test sentences; pairs that hold one are dropped.
        tokenisation: pairs with a side without a token, a lone bullet, say, are dropped and counted.
    """
    for name in names:
        one_of("corpus", name, CORPORA | dict.fromkeys([*PARAPHRASES, "file"]))
    found = [remove(read(name, seed, path), exclude) for name in dict.fromkeys(names)]
    mixed = ParaphrasePairs.joined(found, name="+".join(names))
    return with_tokens(mixed.take(np.random.default_rng([seed, 1]).permutation(len(mixed))[:limit]), tokenisation)


def inference(
    corpus: str, *, exclude: frozenset[str] = frozenset(), tokenisation: Tokenisation = "ptb"
) -> tuple[LabelledPairs, LabelledPairs]:
    """Return training and held-out pairs of ``nli``, ``all-nli`` or ``miniworld-entailment``.

    ``nli`` is the pool of `sentbook.data.readers.nli`, in place of SNLI and MultiNLI (Bowman et al. 2015; Williams et
    al. 2018), 943,000 pairs that are not here; ``all-nli`` is these, their development pairs held out.

    Args:
        exclude: keys (`sentbook.data.suites.key`) of sentences that no pair may hold.
        tokenisation: as `load` has it.
    """
    if corpus == "miniworld-entailment":
        train, held_out = World().entailment("train"), World().entailment("trial")
    elif corpus == "all-nli":
        train, held_out = (remove(all_nli(part), exclude) for part in ("train", "dev"))
    else:
        allowed = remove(readers.nli(), exclude)
        order = np.random.default_rng(0).permutation(len(allowed))
        held_out, train = (allowed.take(rows) for rows in np.split(order, [round(HELD_OUT * len(order))]))
    return with_tokens(train, tokenisation), with_tokens(held_out, tokenisation)


# -- phrases by alignment ----------------------------------------------------------------------------------------------


def replaced_spans(first: list[str], second: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the phrase pairs of one sentence pair.

    Example:
        >>> list(replaced_spans("the old man sat down".split(), "the aged man sat down".split()))
        [('old', 'aged'), ('the old man', 'the aged man')]
    """
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        if kind != "replace" or max(end - start, other_end - other_start) > LONGEST_SPAN:
            continue
        yield " ".join(first[start:end]), " ".join(second[other_start:other_end])
        # Around a replaced span both sides agree, so one word more on each side is common to them.
        left, right = int(start > 0), int(end < len(first) and other_end < len(second))
        if left or right:
            yield " ".join(first[start - left : end + right]), " ".join(second[other_start - left : other_end + right])


@cache
def _phrases() -> ParaphrasePairs:
    """Align sentences once a process, in 7 s, and return the distinct phrase pairs in order.

    Not every reader has PPDB XL's phrase pairs. Their substitute here: two sentences of a pair are aligned word by word
    (longest matching blocks), and each replaced span of at most five words on either side is a phrase pair, once bare
    and once with the common word on its left and right.
    """

    found: dict[tuple[str, str], None] = {}
    for pairs in map(read, _ALIGNED):
        for sides in zip(pairs.first, pairs.second, strict=True):
            first, second = (tokenise_words(side)[:LONGEST_SENTENCE] for side in sides)
            found |= dict.fromkeys(replaced_spans(first, second))
    return ParaphrasePairs.of("phrases", found)


# -- originals as they were published, and a user's own pairs ----------------------------------------------------------


def digests(*corpora: str) -> dict[str, str]:
    """Digest every file of those of ``corpora`` that are originals, for the key of a training."""
    published = [PARAPHRASES[corpus] for corpus in corpora if corpus in PARAPHRASES]
    published += [(name,) for names in INFERENCE.values() for name in names if "all-nli" in corpora]
    found = [sources.owned(*names) for names in published]
    return {file.name: digest_of(file) for file in found}


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file and the version of its reader."""
    return f"{sources.file_digest(file)}-{_READER}"


def paraphrases(corpus: str) -> ParaphrasePairs:
    """Return one of `PARAPHRASES`: ``label ||| one ||| other ||| ...`` (PPDB) or a tab between, plain or as .gz.

    Distinct pairs in file order, stripped, without those whose sides are equal or empty.
    """
    file = sources.owned(*PARAPHRASES[corpus])
    return _distinct(corpus, _cells(file), file)


def own_pairs(file: Path) -> ParaphrasePairs:
    """Return the pairs of a user's own file, plain or as .gz: in each line two sentences with a tab between.

    A first line that names the two columns is left out: ``first`` and ``second``, or ``sentence1`` and ``sentence2``,
    say. It may declare a third column, of scores, and the lowest one of a pair that is kept, as ``score >= 0.8``. Blank
    lines are skipped, and repeated pairs.

    Raises:
        DataError: a line has another layout, or a number for a sentence, such as a label; the line is shown.
    """
    lines = [(number, line) for number, line in enumerate(sources.lines(file), start=1) if line.strip()]
    header = _HEADER.fullmatch(lines[0][1]) if lines else None
    least = float(header[1]) if header and header[1] else None
    pattern = rf"{_SENTENCE}\t{_SENTENCE}" + ("" if least is None else rf"\t({_NUMBER})")
    found, layout = list[tuple[str, str]](), re.compile(pattern, re.IGNORECASE)
    for number, line in lines[bool(header) :]:
        if (pair := layout.fullmatch(line)) is None:
            raise DataError(
                f"{file}, line {number}: {line[:60]!r} is not two sentences with a tab between; a third column needs "
                f"numbers, and a first line such as {'first<TAB>second<TAB>score >= 0.8'!r}, of scores to keep."
            )
        if least is None or float(pair[3]) >= least:
            found.append((pair[1], pair[2]))
    return _distinct("file", found, file)


def _cells(file: Path) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(sources.lines(file), start=1):
        cells = line.split("|||")[1:] if "|||" in line.partition("\t")[0] else line.split("\t")
        if len(cells) >= 2:
            yield cells[0], cells[1]
        elif line.strip():
            raise DataError(f"{file}, line {number}: {line[:60]!r} holds no pair; correct or remove the line.")


def _distinct(corpus: str, found: Iterable[tuple[str, str]], file: Path) -> ParaphrasePairs:
    trimmed = ((one.strip(), other.strip()) for one, other in found)
    kept = dict.fromkeys((one, other) for one, other in trimmed if one and other and one != other)
    if len(kept) < 2:  # one has no negative
        raise DataError(f"{file} holds no two pairs of sentences, or none that score high enough; correct the file.")
    return ParaphrasePairs.of(corpus, kept)


def all_nli(part: str) -> LabelledPairs:
    """Return ``train`` or ``dev`` pairs of SNLI and MultiNLI, without those that no majority labelled (``-``)."""
    found: list[tuple[str, str, int]] = []
    for file in map(sources.owned, INFERENCE[part]):
        for number, line in enumerate(sources.lines(file), start=1):
            try:
                said = json.loads(line)
                if said["gold_label"] != "-":
                    first, second = texts([said["sentence1"], said["sentence2"]])
                    found.append((first, second, readers.CLASSES.index(said["gold_label"])))
            except (ValueError, LookupError, TypeError, DataError) as error:
                raise DataError(f"{file}, line {number}: cannot be read ({error}); unpack it again.") from error
    if not found:
        raise DataError(f"{INFERENCE[part][0]} holds no pair with a label; unpack it again.")
    premises, hypotheses, labels = map(list, zip(*found, strict=True))
    return LabelledPairs("all-nli", premises, hypotheses, np.array(labels, dtype=np.int64), readers.CLASSES)
