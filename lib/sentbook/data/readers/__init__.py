"""Published files to typed data, with their official sizes asserted. One file a family of data sets."""

from sentbook.data.readers.activities import activities
from sentbook.data.readers.answers import short_answers
from sentbook.data.readers.classification import cr, mpqa, mr, subj, trec
from sentbook.data.readers.coco import coco
from sentbook.data.readers.msrp import msrp
from sentbook.data.readers.nli import nli
from sentbook.data.readers.paraphrases import (
    bible,
    captions,
    onestop,
    parasci,
    ppdb_lexical,
    quora,
    rewrites,
    simple_wikipedia,
    twitter,
    wikisplit,
)
from sentbook.data.readers.sick import sick, sick_entailment
from sentbook.data.readers.sts import sts, sts2012_train, sts_all, stsbenchmark

__all__ = [
    "activities",
    "bible",
    "captions",
    "coco",
    "cr",
    "mpqa",
    "mr",
    "msrp",
    "nli",
    "onestop",
    "parasci",
    "ppdb_lexical",
    "quora",
    "rewrites",
    "short_answers",
    "sick",
    "sick_entailment",
    "simple_wikipedia",
    "sts",
    "sts2012_train",
    "sts_all",
    "stsbenchmark",
    "subj",
    "trec",
    "twitter",
    "wikisplit",
]
