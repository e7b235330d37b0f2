"""Published sets with a score, a grade or a class, as typed data."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np

from sentbook.data import published, sources
from sentbook.data.tables import expect, labelled, lines, one_of, rows, scored
from sentbook.data.types import Examples, GradedAnswers, LabelledPairs, ScoredPairs

# Of each split its file and its official number of rows.
SICK = {
    "train": ("eval/sick2014/SICK_train.txt", 4500),
    "trial": ("eval/sick2014/SICK_trial.txt", 500),
    "test": ("eval/sick2014/SICK_test_annotated.txt", 4927),
}
MSRP = {
    "train": ("eval/msrp/msr_paraphrase_train.txt", 4076),
    "test": ("eval/msrp/msr_paraphrase_test.txt", 1725),
}
ACTIVITIES = {
    "train": ("eval/human-activity/activities-train-all.sick", 1000),
    "dev": ("eval/human-activity/activities-dev-all.sick", 375),
    "test": ("eval/human-activity/activities-test-all.sick", 1000),
}
BENCHMARK = {
    "train": ("eval/stsbenchmark/sts-train.csv", 5749),
    "dev": ("eval/stsbenchmark/sts-dev.csv", 1500),
    "test": ("eval/stsbenchmark/sts-test.csv", 1379),
}
TREC = {"train": ("eval/trec/train_5500.label", 5452), "test": ("eval/trec/TREC_10.label", 500)}
TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
# Of each class its name, its file and its sentences (CR has 2 + 2 blank lines, MPQA 1 + 2).
BINARY: dict[str, tuple[tuple[str, str, int], ...]] = {
    "MR": (("negative", "mr/rt-polarity.neg", 5331), ("positive", "mr/rt-polarity.pos", 5331)),
    "CR": (("negative", "cr/custrev.neg", 1366), ("positive", "cr/custrev.pos", 2405)),
    "SUBJ": (("objective", "subj/subj.objective", 5000), ("subjective", "subj/subj.subjective", 5000)),
    "MPQA": (("negative", "mpqa/mpqa.neg", 7292), ("positive", "mpqa/mpqa.pos", 3311)),
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
NLI_CLASSES = ("contradiction", "neutral", "entailment")
# Sizes by source and split. JOCI and DNC are in the file too, but their labels are ordinal or two-way.
NLI_PARTS = {
    ("snli", "dev"): 9842, ("snli", "test"): 9824, ("cad_nli", "train"): 8330, ("cad_nli", "dev"): 1000,
    ("cad_nli", "test"): 2000, ("conjnli", "train"): 15_000, ("conjnli", "dev"): 623,
}  # fmt: skip
# Of each dimension of activities its column, and the limits of its published scale.
DIMENSIONS = {"SIM": (2, (0, 4)), "REL": (3, (0, 4)), "MA": (4, (0, 4)), "PAC": (5, (-2, 2))}
# With the six questions that the authors left out.
ANSWERS = "eval/short-answer-grading/sag_v2_flat.tsv", 2442


@cache
def sick(split: str) -> ScoredPairs:
    """Return relatedness on 1-5: ``train`` 4500, ``trial`` 500 or ``test`` 4927 pairs (Marelli et al. 2014)."""
    found = rows(*one_of("SICK split", split, SICK), header=True)
    return scored("SICK2014", found, (1, 2), 3, (1, 5), "captions")


def sick_entailment(split: str) -> LabelledPairs:
    """Return the same pairs with their entailment labels."""
    found = rows(*one_of("SICK split", split, SICK), header=True)
    return labelled(f"SICK2014-E-{split}", found, (1, 2), 4, tuple(map(str.upper, NLI_CLASSES)))


def stsbenchmark(split: str) -> ScoredPairs:
    """Return ``train`` 5749, ``dev`` 1500 or ``test`` 1379 pairs of the STS Benchmark (Cer et al. 2017)."""
    return scored(f"STSB-{split}", rows(*one_of("STS-B split", split, BENCHMARK)), (5, 6), 4, (0, 5))


def msrp(split: str) -> LabelledPairs:
    """Return ``train`` 4076 or ``test`` 1725 pairs, paraphrase or not, untokenised (Dolan and Brockett 2005)."""
    found = rows(*one_of("MSRP split", split, MSRP), header=True)
    return labelled("MSRP", found, (3, 4), 0, ("different", "paraphrase"), "01")


def activities(split: str) -> dict[str, ScoredPairs]:
    """Return similarity, relatedness, motivational alignment and perceived actor congruence of pairs of activities.

    ``test`` holds the 1000 pairs of Wilson and Mihalcea 2017; ``train`` (1000) and ``dev`` (375) are the additional
    pairs of Zhang, Wilson and Mihalcea 2018. All scores are on 1-5 in these files; here they are back on the published
    scales, 0 to 4 and, for PAC, -2 to 2.

    Returns:
        ``SIM``, ``REL``, ``MA`` and ``PAC``, each over the same pairs.
    """
    cells, found = rows(*one_of("activities split", split, ACTIVITIES)), {}
    for name, (column, scale) in DIMENSIONS.items():
        pairs = scored(name, cells, (0, 1), column, scale, "activities")
        # The files have five decimals; rounded, 2.4 - 1 is 1.4, and equal means stay ties.
        pairs.gold[:] = np.round(pairs.gold + (scale[0] - 1), 5)
        found[name] = pairs
    return found


@cache
def sts(year: int) -> list[ScoredPairs]:
    """Return the test sets of a year, in the papers' order; 2013 without the licensed SMT set, as in the papers.

    Source: Agirre et al. 2012-2016.
    """
    prefix = "STS2016" if year == 2016 else "STS"
    sets = one_of("year of STS", str(year), {str(known): found for known, found in STS.items()})
    return [_sts(f"STS{year}/{name}", f"eval/sts{year}/{prefix}", release, size) for name, release, size in sets]


def _sts(name: str, stem: str, release: str, official: int) -> ScoredPairs:
    pairs, gold = lines(f"{stem}.input.{release}.txt"), lines(f"{stem}.gs.{release}.txt")
    # A blank gold line means that the pair was not scored; it is not a 0.
    found = [[*pair.split("\t")[:2], score] for pair, score in zip(pairs, gold, strict=True) if score.strip()]
    return scored(name, expect(name, found, official), (0, 1), 2, (0, 5), release)


def sts_all() -> list[ScoredPairs]:
    """Return all 24 sets, 12,544 scored pairs; with SICK they are the 25 of the papers' tables."""
    return [pairs for year in STS for pairs in sts(year)]


def sts2012_train() -> list[ScoredPairs]:
    """Return the training pairs of 2012: MSRpar 750, MSRvid 750, SMTeuroparl 734."""
    return [_sts(f"STS2012-train/{name}", "eval/sts2012-train/STS", name, size) for name, size in STS2012_TRAIN]


def nli() -> LabelledPairs:
    """Return premise and hypothesis with one of three labels; 46,619 pairs, in place of SNLI and MultiNLI.

    No training pair of SNLI or MultiNLI is here. ``snli`` is its dev and test parts (Bowman et al. 2015): who trains on
    them may not report SNLI. ``cad_nli`` is SNLI items and human edits of them (Kaushik et al. 2020); ``conjnli`` is
    conjunctions, its train part made automatically (Saha et al. 2020).
    """
    cells = (line.split("\t") for line in lines("train/nli/nli_pool.tsv.gz"))
    found = [row for row in cells if (row[0], row[1]) in NLI_PARTS]
    sizes = Counter((row[0], row[1]) for row in found)
    for part, size in NLI_PARTS.items():
        expect(f"NLI {' '.join(part)}", range(sizes[part]), size)
    return labelled("NLI", found, (2, 3), 4, NLI_CLASSES)


def short_answers() -> GradedAnswers:
    """Return the 2273 published answers with their mean grade on 0-5 (Mohler, Bunescu and Mihalcea 2011).

    169 answers to the six questions that the authors left out are dropped. There is no official split: hold out whole
    questions (81 of them), or assignments (the number before the first dot of ``question``). ``<br>`` tags remain in
    245 answers. Where the flat file is not here, the unpacked archive is read from the folder of the originals.
    """
    archived = None if sources.find(ANSWERS[0]) else published.answers()
    found = expect("short answers", [row for row in archived or rows(*ANSWERS, header=True) if row[1] == "1"], 2273)
    questions = [row[0].rpartition(".")[0] for row in found]
    references, answers = ([row[column] for row in found] for column in (3, 4))
    return GradedAnswers("SAG", questions, references, answers, np.array([float(row[7]) for row in found]), (0, 5))


def binary(task: str) -> Examples:
    """Return a task of two classes, without an official split, in the text that published SentEval numbers use.

    ``MR``: film reviews, 5331 negative and 5331 positive sentences (Pang and Lee 2005). ``CR``: customer reviews, 1366
    and 2405 (Hu and Liu 2004). ``SUBJ``: 5000 objective and 5000 subjective sentences (Pang and Lee 2004). ``MPQA``:
    opinion phrases, 7292 negative and 3311 positive (Wiebe, Wilson and Cardie 2005); many repeat, and 98 carry both
    labels. Accented letters of MR and SUBJ are mangled in these files. Blank lines are dropped.
    """
    classes = one_of("task", task, BINARY)
    sentences: list[str] = []
    for name, file, size in classes:
        sentences += expect(f"{task} {name}", [line for line in lines(f"eval/{file}", "utf-8") if line.strip()], size)
    labels = np.repeat(np.arange(2), [size for *_, size in classes])
    return Examples(sentences, None, labels, task, tuple(name for name, *_ in classes))


def trec(split: str) -> Examples:
    """Return questions by the six coarse types of answer: ``train`` 5452 or ``test`` 500 (Li and Roth 2002).

    SentEval's text, which lost every apostrophe. Ten distinct questions occur in both splits.
    """
    name, size = one_of("TREC split", split, TREC)
    # A type, coarse and fine, stands before the first space.
    found = [line.partition(" ")[::2] for line in expect(name, lines(name, "latin-1"), size)]
    labels = np.array([TREC_CLASSES.index(kind.partition(":")[0]) for kind, _ in found], dtype=np.int64)
    return Examples([text for _, text in found], None, labels, "TREC", TREC_CLASSES)
