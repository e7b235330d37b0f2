"""Published files to typed data, with their official sizes asserted. One file a family of data sets."""

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
    "bible",
    "captions",
    "onestop",
    "parasci",
    "ppdb_lexical",
    "quora",
    "rewrites",
    "sick",
    "sick_entailment",
    "simple_wikipedia",
    "sts",
    "sts2012_train",
    "sts_all",
    "stsbenchmark",
    "twitter",
    "wikisplit",
]
