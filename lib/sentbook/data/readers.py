"""Published sets with a score or a class, as typed data with their official sizes asserted, and their parts.

Cells are separated by tabs and never quoted; a default CSV reader joins lines at unbalanced quotes and loses rows.
Registered files are verified before they are read (`sentbook.data.sources.path`), so that a line of one needs no check.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd

from sentbook.data import sources
from sentbook.data.text import one_of
from sentbook.data.types import SPLITS, Examples, LabelledPairs, ScoredPairs, held_out, held_out_share
from sentbook.io import DataError


@dataclass(frozen=True)
class Release:
    """A released set of scored pairs.

    Attributes:
        name: spelt as in ``papers/*.csv``.
        files: of each split its file and its official number of rows.
        columns: of both sentences and of the score.
        scale: the limits of the published scale.
        header: whether the first line names the columns.
    """

    name: str
    files: dict[str, tuple[str, int]]
    columns: tuple[int, int, int]
    scale: tuple[float, float] = (0, 5)
    header: bool = False


def _files(pattern: str, **splits: tuple[str, int]) -> dict[str, tuple[str, int]]:
    return {split: (pattern.format(name), official) for split, (name, official) in splits.items()}


# Relatedness (Marelli et al. 2014); the STS Benchmark (Cer et al. 2017); paraphrase or not, untokenised (Dolan and
# Brockett 2005); similarity, relatedness, motivational alignment and perceived actor congruence of human activities,
# whose test pairs are of Wilson and Mihalcea 2017, the others of Zhang, Wilson and Mihalcea 2018.
_SICK = _files("eval/sick2014/SICK_{}.txt", train=("train", 4500), trial=("trial", 500), test=("test_annotated", 4927))
_STSB = _files("eval/stsbenchmark/sts-{}.csv", train=("train", 5749), trial=("dev", 1500), test=("test", 1379))
_MSRP = _files("eval/msrp/msr_paraphrase_{}.txt", train=("train", 4076), test=("test", 1725))
_ACTIVITIES = _files(
    "eval/human-activity/activities-{}-all.sick", train=("train", 1000), trial=("dev", 375), test=("test", 1000)
)
RELEASES = {
    "sick": Release("SICK2014", _SICK, (1, 2, 3), (1, 5), header=True),
    "stsb": Release("STSB", _STSB, (5, 6, 4)),
    "msrp": Release("MSRP", _MSRP, (3, 4, 0), (0, 1), header=True),
    "sim": Release("SIM", _ACTIVITIES, (0, 1, 2), (0, 4)),
    "rel": Release("REL", _ACTIVITIES, (0, 1, 3), (0, 4)),
    "ma": Release("MA", _ACTIVITIES, (0, 1, 4), (0, 4)),
    "pac": Release("PAC", _ACTIVITIES, (0, 1, 5), (-2, 2)),
}
# Per year the name in the papers' tables, the name in the release and the scored pairs, in the order of the tables.
STS: dict[int, tuple[tuple[str, str, int], ...]] = {
    2012: (("MSRpar", "MSRpar", 750), ("MSRvid", "MSRvid", 750), ("SMT-eur", "SMTeuroparl", 459),
           ("OnWN", "surprise.OnWN", 750), ("SMT-news", "surprise.SMTnews", 399)),
    2013: (("headline", "headlines", 750), ("OnWN", "OnWN", 561), ("FNWN", "FNWN", 189)),
    2014: (("deft forum", "deft-forum", 450), ("deft news", "deft-news", 300), ("headline", "headlines", 750),
           ("images", "images", 750), ("OnWN", "OnWN", 750), ("tweet news", "tweet-news", 750)),
    2015: (("answers-forums", "answers-forums", 375), ("answers-students", "answers-students", 750),
           ("belief", "belief", 375), ("headline", "headlines", 750), ("images", "images", 750)),
    2016: (("answer", "answer-answer", 254), ("headlines", "headlines", 249), ("plagiarism", "plagiarism", 230),
           ("postediting", "postediting", 244), ("question", "question-question", 209)),
}  # fmt: skip
STS2012_TRAIN = (("MSRpar", 750), ("MSRvid", 750), ("SMTeuroparl", 734))
# The three-way sources of the pool; JOCI and DNC are in the file too, but their labels are ordinal or two-way.
NLI_SOURCES = ("snli", "cad_nli", "conjnli")
CLASSES = ("contradiction", "neutral", "entailment")
# Of each class its name, its file and its sentences (CR has 2 + 2 blank lines, MPQA 1 + 2).
BINARY: dict[str, tuple[tuple[str, str, int], ...]] = {
    "MR": (("negative", "mr/rt-polarity.neg", 5331), ("positive", "mr/rt-polarity.pos", 5331)),
    "CR": (("negative", "cr/custrev.neg", 1366), ("positive", "cr/custrev.pos", 2405)),
    "SUBJ": (("objective", "subj/subj.objective", 5000), ("subjective", "subj/subj.subjective", 5000)),
    "MPQA": (("negative", "mpqa/mpqa.neg", 7292), ("positive", "mpqa/mpqa.pos", 3311)),
}
TREC = {"train": ("eval/trec/train_5500.label", 5452), "test": ("eval/trec/TREC_10.label", 500)}
TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
# Of MSRP's training pairs: those that choose epochs and thresholds.
MSRP_TRIAL = 0.1
# The sources of 2012 with training pairs; the other two are surprise sets.
STS2012_SOURCES = ("MSRpar", "MSRvid", "SMT-eur")
# Of each source its share of the 234 trial pairs.
STS2012_TRIAL = {0: 79, 1: 78, 2: 77}
# Short answers: questions 11.x and 12.x are the two exams.
EXAMS = ("11", "12")
ANSWERS_TRAIN, ANSWERS_TEST = 1460, 552


def table(name: str, columns: Sequence[int], official: int, *, header: bool = False) -> pd.DataFrame:
    """Return ``columns`` of a registered file of ``official`` rows, as text; .gz and .xz are unpacked."""
    found = pd.read_csv(
        sources.path(name),
        sep="\t",
        header=None,
        skiprows=int(header),
        usecols=list(columns),
        dtype=object,
        keep_default_na=False,
        quoting=csv.QUOTE_NONE,
        encoding="utf-8-sig",
    )
    expect(name, len(found), official)
    return found


def expect(name: str, found: int, official: int) -> None:
    """Raise a `DataError` with both numbers where a data set has not its official size."""
    if found != official:
        raise DataError(f"{name} has {found:,} items, not {official:,}; replace it by the whole set.")


@cache
def scored(dataset: str, split: str) -> ScoredPairs:
    """Return ``train``, ``trial`` or ``test`` pairs of one of `RELEASES` with their scores.

    Scores of human activities are on 1-5 in the files; here they are back on the published scales, 0 to 4 and, for PAC,
    -2 to 2. The files have five decimals; rounded, 2.4 - 1 is 1.4, and equal means stay ties.
    """
    release = RELEASES[dataset]
    name, official = one_of(f"{dataset} split", split, release.files)
    found = table(name, release.columns, official, header=release.header)
    first, second, scores = (found[column] for column in release.columns)
    gold = scores.to_numpy(float)
    if release.files is _ACTIVITIES:
        gold = np.round(gold + (release.scale[0] - 1), 5)
    return ScoredPairs(release.name, first.tolist(), second.tolist(), gold, release.scale)


@cache
def sts(year: int) -> list[ScoredPairs]:
    """Return the test sets of a year, in the papers' order; 2013 without the licensed SMT set, as in the papers.

    Source: Agirre et al. 2012-2016.
    """
    prefix = "STS2016" if year == 2016 else "STS"
    return [_sts(f"STS{year}/{name}", f"eval/sts{year}/{prefix}", release, size) for name, release, size in STS[year]]


def _sts(name: str, stem: str, release: str, official: int) -> ScoredPairs:
    scores = list(sources.lines(sources.path(f"{stem}.gs.{release}.txt")))
    pairs = table(f"{stem}.input.{release}.txt", (0, 1), len(scores))
    # A blank gold line means that the pair was not scored; it is not a 0.
    pairs = pairs.assign(gold=scores)[[bool(score.strip()) for score in scores]]
    expect(name, len(pairs), official)
    return ScoredPairs(name, pairs[0].tolist(), pairs[1].tolist(), pairs["gold"].to_numpy(float), (0, 5))


def sts_all() -> list[ScoredPairs]:
    """Return all 24 sets, 12,544 scored pairs; with SICK they are the 25 of the papers' tables."""
    return [pairs for year in STS for pairs in sts(year)]


def sts2012_train() -> list[ScoredPairs]:
    """Return the training pairs of 2012: MSRpar 750, MSRvid 750, SMTeuroparl 734."""
    return [_sts(f"STS2012-train/{name}", "eval/sts2012-train/STS", name, size) for name, size in STS2012_TRAIN]


def nli() -> LabelledPairs:
    """Return premise and hypothesis with one of three labels, in place of SNLI and MultiNLI: 51,119 pairs.

    No training pair of SNLI or MultiNLI is here. ``snli`` is its dev and test parts (Bowman et al. 2015): who trains on
    them may not report SNLI. ``cad_nli`` is SNLI items and human edits of them (Kaushik et al. 2020); ``conjnli`` is
    conjunctions, its train part made automatically (Saha et al. 2020). Last come the 4,500 training pairs of SICK.
    """
    found = table("train/nli/nli_pool.tsv.gz", (0, 2, 3, 4), 122_095)
    found = found[found[0].isin(NLI_SOURCES)][[2, 3, 4]]
    expect("NLI", len(found), 46_619)
    sick = table("eval/sick2014/SICK_train.txt", (1, 2, 4), 4500, header=True)
    first, second, labels = np.concatenate([found, sick]).T.tolist()
    classes = np.array([CLASSES.index(label.lower()) for label in labels], dtype=np.int64)
    return LabelledPairs("NLI", first, second, classes, CLASSES)


def graded_answers() -> tuple[ScoredPairs, list[str]]:
    """Return reference and student's answer with a mean grade on 0-5 (Mohler, Bunescu and Mihalcea 2011): 2273 pairs.

    169 answers to the six questions that the authors left out are dropped. There is no official split: hold out whole
    questions (81 of them), or assignments. ``<br>`` tags remain in 245 answers.

    Returns:
        The pairs, and of each its question, ``<assignment>.<number>``.
    """
    found = table("eval/short-answer-grading/sag_v2_flat.tsv", (0, 1, 3, 4, 7), 2442, header=True)
    found = found[found[1] == "1"]
    expect("short answers", len(found), 2273)
    pairs = ScoredPairs("SAG", found[3].tolist(), found[4].tolist(), found[7].to_numpy(float), (0, 5))
    return pairs, found[0].str.rpartition(".")[0].tolist()


def binary(task: str) -> Examples:
    """Return a task of two classes, without an official split, in the text that published SentEval numbers use.

    ``MR``: film reviews, 5331 negative and 5331 positive sentences (Pang and Lee 2005). ``CR``: customer reviews, 1366
    and 2405 (Hu and Liu 2004). ``SUBJ``: 5000 objective and 5000 subjective sentences (Pang and Lee 2004). ``MPQA``:
    opinion phrases, 7292 negative and 3311 positive (Wiebe, Wilson and Cardie 2005); many repeat, and 98 carry both
    labels. Accented letters of MR and SUBJ are mangled in these files. Blank lines are dropped.
    """
    classes, sentences = BINARY[task], list[str]()
    for name, file, size in classes:
        found = [line for line in sources.lines(sources.path(f"eval/{file}")) if line.strip()]
        expect(f"{task} {name}", len(found), size)
        sentences += found
    labels = np.repeat(np.arange(2), [size for *_, size in classes])
    return Examples(sentences, None, labels, tuple(name for name, *_ in classes))


def trec(split: str) -> Examples:
    """Return questions by the six coarse types of answer: ``train`` 5452 or ``test`` 500 (Li and Roth 2002).

    SentEval's text, which lost every apostrophe. Ten distinct questions occur in both splits.
    """
    name, size = TREC[split]
    # A type, coarse and fine, stands before the first space.
    found = [line.partition(" ")[::2] for line in sources.lines(sources.path(name), "latin-1")]
    expect(name, len(found), size)
    labels = np.array([TREC_CLASSES.index(kind.partition(":")[0]) for kind, _ in found], dtype=np.int64)
    return Examples([text for _, text in found], None, labels, TREC_CLASSES)


# -- parts that no release defines, the same every time ----------------------------------------------------------------


def msrp(split: str) -> ScoredPairs:
    """Return MSRP with a ``trial`` part: a tenth of its training pairs, of each label alike; a paraphrase scores 1."""
    if split == "test":
        return scored("msrp", "test")
    everything = scored("msrp", "train")
    trial = held_out_share(everything.gold.astype(np.int64), MSRP_TRIAL)
    return everything.take(trial if split == "trial" else ~trial)


def sts2012_tests() -> list[ScoredPairs]:
    """Return the three test sets of 2012 that have training pairs: MSRpar 750, MSRvid 750 and SMT-eur 459."""
    named = {pairs.name: pairs for pairs in sts(2012)}
    return [replace(named[f"STS2012/{source}"], name=f"STS12/{source}") for source in STS2012_SOURCES]


def sts2012(split: str) -> ScoredPairs:
    """Return STS 2012 as one set named ``STS12``: ``train`` 2000, ``trial`` 234 or ``test`` 1959 pairs.

    The trial pairs are drawn at random (seed 0) from the 2234 training pairs, of each source by its share.

    Source: Zhang et al. 2018, section 4.1, which gives the sizes; how its development pairs were chosen, and that the
    surprise sets are left out of the test, is not said (750 + 750 + 459 = 1959).
    """
    if split == "test":
        return ScoredPairs.joined(sts2012_tests(), name="STS12")
    sets = sts2012_train()
    trial = held_out(np.repeat(np.arange(len(sets)), [len(pairs) for pairs in sets]), STS2012_TRIAL)
    return ScoredPairs.joined(sets, name="STS12").take(trial if split == "trial" else ~trial)


def short_answers(split: str) -> ScoredPairs:
    """Return short answers: ``train`` 1460 and ``trial`` 261 of the assignments, ``test`` 552 of the exams.

    The trial answers are drawn at random (seed 0), so their questions are met in training too. Of the 19 questions of
    the exams two repeat an assignment's question (12.1 and 6.1, 12.6 and 9.1), and 12.7 has the reference of 8.2.

    Source: Zhang et al. 2018, section 4.1.
    Deviations: the paper states 500 development answers, but the assignments hold 1721, not 1960; its 1460 are kept.
    """
    answers, questions = graded_answers()
    exam = np.array([question.split(".")[0] in EXAMS for question in questions])
    trial = held_out(exam, {0: int((~exam).sum()) - ANSWERS_TRAIN})
    return answers.take({"train": ~exam & ~trial, "trial": trial, "test": exam}[split])


def short_answers_at_random(split: str) -> ScoredPairs:
    """Return the same answers and sizes, divided at random (seed 0): every question is met in training.

    Source: none; whether the exams are the paper's 552 test answers is inferred from their number.
    """
    answers, _ = graded_answers()
    order = np.random.default_rng(0).permutation(len(answers))
    parts = np.split(order, [ANSWERS_TRAIN, len(answers) - ANSWERS_TEST])
    return answers.take(np.sort(parts[SPLITS.index(split)]))
