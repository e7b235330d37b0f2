"""Published files to typed data, with their official sizes asserted. One file a family of data sets."""

from sentbook.data.readers.classification import binary, trec
from sentbook.data.readers.coco import coco
from sentbook.data.readers.pairs import activities, msrp, nli, short_answers, sick, sick_entailment
from sentbook.data.readers.sts import sts, sts2012_train, sts_all, stsbenchmark

__all__ = [
    "activities",
    "binary",
    "coco",
    "msrp",
    "nli",
    "short_answers",
    "sick",
    "sick_entailment",
    "sts",
    "sts2012_train",
    "sts_all",
    "stsbenchmark",
    "trec",
]
