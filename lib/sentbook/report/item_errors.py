"""Who errs where: errors by length, overlap, negation and numbers, and the items on which two methods differ most.

A record holds no bulk text, so a notebook describes errors when it records, see `describe_errors`. Sentences are quoted
only from data sets whose terms allow it, at most ten of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from markupsafe import Markup, escape
from numpy.typing import ArrayLike, NDArray

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.errors import HIGH, LOW, WORD, cross_fitted, jaccard, words
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.statistics import mean_bootstrap
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.html import Shown, below
from sentbook.report.table import table

if TYPE_CHECKING:
    from sentbook.report.page import Page

How = Literal["isotonic", "identity", "labels"]
QUOTED = 10
_NEGATION = re.compile(r"\b(?:not|no|never|nobody|nothing|none|without|cannot)\b|n['\u2019]t\b", re.IGNORECASE)
# Data sets of which a few items may be quoted, and what is named next to them; see data/eval/MANIFEST.json.
_TERMS = {
    r"SICK": "SICK (Marelli et al. 2014), CC BY-NC-SA 3.0",
    r"STS20\d\d/images": "image descriptions of PASCAL VOC-2008 and Flickr, CC BY-SA",
    r"STS20\d\d/headlines?$": "Europe Media Monitor",
    r"STS2016/postediting": "EAMT11 post-editing data, CC BY 4.0",
    r"STS2015/answers-forums|STS2016/(answer|question)$": "Stack Exchange, CC BY-SA 3.0",
    r"miniworld": "generated sentences",
}


def terms_of(dataset: str) -> str | None:
    """Return the source and licence to name next to quoted items; None where none may be quoted."""
    return next((terms for pattern, terms in _TERMS.items() if re.match(pattern, dataset)), None)


# -- what is recorded --------------------------------------------------------------------------------------------------


def errors_of(scores: Predictions, a: str, b: str, dataset: str = "", *, known: Any = ()) -> list[dict[str, Any]]:
    """Describe the errors of A and B on a data set of pairs, the first where there is no ``dataset``.

    ``study.record(scores, ..., findings={"errors": report.errors_of(scores, "CSE", "PP", "SICK2014")})``. Nothing is
    described of methods that have no scores. ``known`` as in `describe_errors`.
    """
    name = dataset if dataset in scores.names else scores.names[0]
    said = {method: scores.stacked(method, name) for method in (a, b) if scores.has(method, name)}
    return [describe_errors(scores.pairs[name], said, a, b, known=known)] if len(said) == 2 else []


def describe_errors(
    pairs: ScoredPairs, scores: Mapping[str, ArrayLike], a: str, b: str, *, how: How = "isotonic", known: Any = ()
) -> dict[str, Any]:
    """Describe the errors of A and B on a data set, for ``findings={"errors": [...]}`` of `Study.record`.

    Args:
        pairs: items with their gold; of single sentences each second one is empty.
        scores: method -> (N,) or (S, N) scores, a row per seed.
        how: ``isotonic``: scores are mapped to the gold scale, see `cross_fitted`; ``identity``: they are on it;
            ``labels``: a score is a label, and right or wrong.
        known: the words that have a vector, such as ``set(study.vocabulary.words)``; empty: not counted.

    Returns:
        Mean errors of each group of items, and the items on which the two differ most; their text only where the terms
        of the data set allow it.
    """
    said = {name: np.atleast_2d(np.asarray(scores[name], dtype=np.float64)) for name in (a, b)}
    if how == "isotonic":
        said = {name: np.stack([cross_fitted(row, pairs.gold) for row in held]) for name, held in said.items()}
    wrong = [np.abs(held - pairs.gold) for held in said.values()]
    # Means over seeds; a label is right or wrong.
    first, second = ((one > 0 if how == "labels" else one).mean(axis=0) for one in wrong)
    rows = []
    for group, mask in _groups(pairs, known).items():
        if mask.sum() > 1:
            gap = mean_bootstrap((first - second)[mask], 2000, [0])
            row = {"errors": [float(one[mask].mean()) for one in (first, second)], "n": int(mask.sum())}
            rows.append({"group": group, "difference": [gap.estimate, gap.low, gap.high], **row})
    order = np.argsort(first - second, kind="stable")
    half = min(QUOTED // 2, len(order) // 2)
    examples = []
    for at in map(int, [*order[::-1][:half], *order[:half]]):
        said_of = {"scores": [float(held[:, at].mean()) for held in said.values()], "gold": float(pairs.gold[at])}
        texts = {"first": pairs.first[at], "second": pairs.second[at]} if terms_of(pairs.name) else {}
        examples.append({"item": at, "errors": [float(first[at]), float(second[at])], **said_of, **texts})
    return {"dataset": pairs.name, "methods": [a, b], "how": how, "rows": rows, "examples": examples}


def _groups(pairs: ScoredPairs, known: Any) -> dict[str, NDArray[np.bool_]]:
    """Return which items belong to each group, by its name."""
    texts, paired = list(zip(pairs.first, pairs.second, strict=True)), any(pairs.second)
    length = np.array([len(WORD.findall(f"{one} {two}")) / (1 + paired) for one, two in texts])
    overlap, middle = jaccard(pairs.first, pairs.second), float(np.median(length))
    negated = [bool(_NEGATION.search(one)) != bool(_NEGATION.search(two)) for one, two in texts]
    digits = [set(re.findall(r"\d+", one)) != set(re.findall(r"\d+", two)) for one, two in texts]
    unknown = [bool(known) and any(word not in known for word in words(f"{one} {two}")) for one, two in texts]
    shared = {
        f"word overlap: {LOW:g} or less": overlap <= LOW,
        "word overlap: between": (overlap > LOW) & (overlap < HIGH),
        f"word overlap: {HIGH:g} or more": overlap >= HIGH,
    }
    return {
        "all": np.ones(len(texts), dtype=bool),
        f"length: up to {middle:g} words": length <= middle,
        f"length: more than {middle:g} words": length > middle,
        **(shared if paired else {}),
        "negation in one sentence" if paired else "negation": np.array(negated),
        "numbers differ" if paired else "a number": np.array(digits),
        "unknown words": np.array(unknown),
    }


# -- what is shown -----------------------------------------------------------------------------------------------------


def errors(page: Page, a: str, b: str, *, dataset: str = "", caption: str = "", run: Run | None = None) -> Shown:
    """Show on which items A and B err: statistics by length, overlap, negation and numbers, and the worst items.

    Args:
        dataset: empty: the first that its notebook described, see `describe_errors`; so where ``run`` has no such.
    """
    parts = []
    for one, title in page.runs(run, caption):
        held = [found for found in one.findings.get("errors", ()) if found["methods"] == [a, b]]
        same = [found for found in held if found["dataset"] == dataset] or ([] if dataset and one is page.run else held)
        parts += [_shown(page, found, title) for found in same[:1]]
    nothing = [page.missing(f"No errors of {page.name} are recorded.")] if page.run or run else []
    return page.together(parts or nothing)


def _shown(page: Page, found: Mapping[str, Any], caption: str) -> Shown:
    """Show described errors: a table by group of items, and the items on which the two differ most."""
    a, b = map(page.label, found["methods"])
    dataset, terms = page.label(found["dataset"]), terms_of(found["dataset"])
    labels, rows, pairs = found["how"] == "labels", [], []
    metric, what = ("share", "Share wrong × 100") if labels else ("mae", "Mean absolute error")
    shown = partial(numbers.shown, metric=metric)
    for row in found["rows"]:
        words = "{} [{}, {}]".format(*(shown(end, signed=True) for end in row["difference"]))
        rows.append([row["group"], row["n"], *row["errors"], words])
    for one in found["examples"][:QUOTED]:
        # A mean of labels would say nothing.
        said = [Markup(shown(score) if labels else f"{score:.3g}") for score in one["errors" if labels else "scores"]]
        closer = int(one["errors"][1] < one["errors"][0])
        said[closer] = Markup("<b>{}</b>").format(said[closer])
        sides = [one.get(side, "") for side in ("first", "second")]
        texts = [marked(*both) for both in (sides, sides[::-1]) if both[0]] or [Markup(f"item {one['item'] + 1:,}")]
        pairs.append([Markup("<br>").join(texts), f"{one['gold']:.3g}", *said])
    note = f"{what}, {dataset}; in brackets the 95 % interval over items. Below 0 is better for {a}."
    statistics = pd.DataFrame(rows, columns=["Items", "n", a, b, page.difference(*found["methods"])])
    examples = pd.DataFrame(pairs, columns=["Item", "Gold", a, b], dtype=object)
    source = f"Source: {terms}." if terms else "Its text is not quoted; the numbers count its items."
    told = "share of runs that are wrong × 100; bold: fewer" if labels else "bold: nearer to gold"
    said_of = f"{dataset}: where the errors differ most; {told}. {source}"
    means = table(statistics, caption=caption, note=note, formats={a: shown, b: shown, statistics.columns[-1]: str})
    return below(means, table(examples, note=said_of))


def marked(text: str, other: str = "") -> Markup:
    """Write a sentence as safe HTML, its words in common with ``other`` marked.

    Example:
        >>> str(marked("A <b> dog", "the dog"))
        'A &lt;b&gt; <mark>dog</mark>'
    """
    common, mark = words(text) & words(other), Markup("<mark>{}</mark>")
    pieces = re.split(f"({WORD.pattern})", text)
    return Markup("").join(mark.format(one) if one.lower() in common else escape(one) for one in pieces)
