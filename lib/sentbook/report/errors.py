"""Who errs where: statistics of errors by length, overlap, negation and numbers, and the pairs that differ most.

A notebook describes errors when it records a run, since a record holds no bulk text; see `describe`. Sentences are
quoted only from data sets whose terms allow it, at most ten of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.error_groups import WORD, Array, MapName, Thresholds, jaccard, mapped, words
from sentbook.evaluation.statistics import mean_bootstrap
from sentbook.io import ConfigError, DataError
from sentbook.records import Run, Scores
from sentbook.report import numbers
from sentbook.report.html import Shown, both
from sentbook.report.summary import difference_name, full_name
from sentbook.report.table import table

Kind = MapName | Literal["labels"]
QUOTED = 10
_LONGEST = 400  # characters of a sentence that are shown
_NEGATION = re.compile(r"\b(?:not|no|never|nobody|nothing|none|without|cannot)\b|n['\u2019]t\b", re.IGNORECASE)
# Data sets of which a few items may be quoted, and what is named next to them; see data/eval/MANIFEST.json.
_TERMS = {
    r"SICK": "SICK, Marelli et al. 2014, CC BY-NC-SA 3.0",
    r"STS20\d\d/images": "image descriptions of STS, CC BY-SA",
    r"STS20\d\d/headlines?": "Europe Media Monitor",
    r"STS2016/postediting": "STS 2016 post-editing, CC BY 4.0",
    r"STS2015/answers-forums|STS2016/(answer|question)$": "Stack Exchange, CC BY-SA",
    r"miniworld": "generated sentences",
}


def terms_of(dataset: str) -> str | None:
    """Return the source and licence to name next to quoted items; None where none may be quoted."""
    return next((terms for pattern, terms in _TERMS.items() if re.match(pattern, dataset)), None)


# -- what is recorded --------------------------------------------------------------------------------------------------


def describe(
    pairs: ScoredPairs, scores: Mapping[str, ArrayLike], a: str, b: str, *, how: Kind = "isotonic", known: Any = None
) -> dict[str, Any]:
    """Describe the errors of A and B on one data set, for ``findings={"errors": [...]}`` of `Study.record`.

    Args:
        pairs: the items, with their gold.
        scores: method -> (N,) or (S, N) scores, a row per seed; labels where ``how`` is ``labels``.
        how: the map from scores to the gold scale, see `sentbook.evaluation.error_groups.mapped`.
        known: the words that have a vector; None: unknown words are not counted.

    Returns:
        Mean errors of each group of items, and the pairs on which the two differ most; their text only where the
        terms of the data set allow it.
    """
    said = {name: _on_gold_scale(np.atleast_2d(np.asarray(scores[name], float)), pairs.gold, how) for name in (a, b)}
    wrong = {name: _errors(values, pairs.gold, how) for name, values in said.items()}
    gain = wrong[a] - wrong[b]
    rows = []
    for name, mask in _groups(pairs, known).items():
        if mask.any():
            found = mean_bootstrap(gain[mask], 2000, [0]) if mask.sum() > 1 else None
            ends = [found.low, found.high] if found is not None else [None, None]
            means = [float(wrong[method][mask].mean()) for method in (a, b)]
            rows.append({"group": name, "n": int(mask.sum()), "errors": means, "interval": ends})
    quoted = terms_of(pairs.name) is not None
    examples = []
    for at in _most_different(gain):
        values = [float(said[method][:, at].mean()) for method in (a, b)]
        one = {
            "item": at,
            "gold": float(pairs.gold[at]),
            "scores": values,
            "errors": [float(wrong[n][at]) for n in (a, b)],
        }
        examples.append(one | ({"first": pairs.first[at], "second": pairs.second[at]} if quoted else {}))
    return {"dataset": pairs.name, "a": a, "b": b, "how": how, "rows": rows, "examples": examples}


def _on_gold_scale(values: Array, gold: Array, how: Kind) -> Array:
    return values if how == "labels" else np.stack([mapped(row, gold, how) for row in values])


def _errors(values: Array, gold: Array, how: Kind) -> Array:
    """Return the (N,) absolute errors, or the shares of seeds that are wrong, means over seeds."""
    wrong = values != gold if how == "labels" else np.abs(values - gold)
    return np.asarray(wrong, dtype=np.float64).mean(axis=0)


def _groups(pairs: ScoredPairs, known: Any) -> dict[str, NDArray[np.bool_]]:
    """Return which items belong to each group, by its name."""
    both_of = list(zip(pairs.first, pairs.second, strict=True))
    length = np.array([(len(WORD.findall(one)) + len(WORD.findall(two))) / 2 for one, two in both_of])
    overlap, limits = jaccard(pairs.first, pairs.second), Thresholds()
    middle = float(np.median(length))
    negated = np.array([bool(_NEGATION.search(one)) != bool(_NEGATION.search(two)) for one, two in both_of])
    digits = np.array([set(re.findall(r"\d+", one)) != set(re.findall(r"\d+", two)) for one, two in both_of])
    found = {
        "all pairs": np.ones(len(both_of), dtype=bool),
        f"length: up to {middle:g} words": length <= middle,
        f"length: more than {middle:g} words": length > middle,
        f"word overlap: {limits.low:g} or less": overlap <= limits.low,
        "word overlap: between": (overlap > limits.low) & (overlap < limits.high),
        f"word overlap: {limits.high:g} or more": overlap >= limits.high,
        "negation in one sentence": negated,
        "numbers differ": digits,
    }
    if known is not None:
        found["unknown words"] = np.array([any(word not in known for word in words(f"{i} {j}")) for i, j in both_of])
    return found


def _most_different(gain: Array) -> list[int]:
    """Return the items on which the errors differ most, half of them where A errs more."""
    order = np.argsort(gain, kind="stable")
    half = min(QUOTED // 2, len(order) // 2)
    return [*map(int, order[::-1][:half]), *map(int, order[:half])]


# -- from the scores of a run ------------------------------------------------------------------------------------------


def from_scores(run: Run, scores: Scores, a: str, b: str, dataset: str | None) -> dict[str, Any] | None:
    """Describe the errors of a run from its scores per item, where the text of the data set can be read here."""
    names = [name for method, _, name in scores.predictions if method == a]
    name = dataset if dataset in names else next(iter(names), None)
    pairs = None if name is None else _pairs(name, run.provenance.config.get("suite", "miniworld"))
    if name is None or pairs is None or len(pairs.first) != len(scores.gold[name]):
        return None
    tables = {
        m: np.stack([v for (who, _, on), v in scores.predictions.items() if (who, on) == (m, name)]) for m in (a, b)
    }
    return describe(pairs, tables, a, b)


def _pairs(name: str, suite: Any) -> ScoredPairs | None:
    """Read the pairs of a data set by its name in records; None where they are not on this machine."""
    try:
        sets = {one.name: one for one in suites.test_sets(suite)}
        if name not in sets:
            (dataset,) = [key for key, test in suites.TEST_NAMES.items() if test == name]
            return suites.pairs(dataset, "test")
        return sets[name]
    except (ConfigError, DataError, ValueError):
        return None


# -- what is shown -----------------------------------------------------------------------------------------------------


def shown(found: Mapping[str, Any], caption: str) -> Shown:
    """Show described errors: a table by group of items, and the pairs on which A and B differ most."""
    a, b, labels = found["a"], found["b"], found["how"] == "labels"
    places, scale = (1, 100) if labels else (2, 1)

    def printed(value: float) -> str:
        return numbers.plain(value * scale, places, signed=True)

    rows = []
    for row in found["rows"]:
        first, second = row["errors"]
        low, high = row["interval"]
        ends = "" if low is None else f" [{printed(low)}, {printed(high)}]"
        errors = {a: first * scale, b: second * scale, difference_name(a, b): printed(first - second) + ends}
        rows.append({"Pairs": row["group"], "n": row["n"], **errors})
    what = "Share wrong × 100" if labels else "Mean absolute error on the gold scale"
    note = f"{what}, {full_name(found['dataset'])}; in brackets the 95 % interval over pairs. Below 0, {a} errs less."
    statistics = table(pd.DataFrame(rows), caption=caption, note=note, places=places)
    return both(statistics, _examples(found))


def _examples(found: Mapping[str, Any]) -> Shown | None:
    a, b, terms = found["a"], found["b"], terms_of(found["dataset"])
    rows: list[dict[str, Any]] = []
    for one in found["examples"][:QUOTED]:
        pair = (
            Markup("<br>").join([marked(one["first"], one["second"]), marked(one["second"], one["first"])])
            if terms and "first" in one
            else f"pair {one['item'] + 1:,}"
        )
        closer = int(one["errors"][1] < one["errors"][0])
        said = [numbers.plain(value, 1) for value in one["scores"]]
        said[closer] = Markup("<b>{}</b>").format(said[closer])
        rows.append({"Pair": pair, "Gold": numbers.plain(one["gold"], 1), a: said[0], b: said[1]})
    note = f"Pairs on which the errors of {a} and {b} differ most; bold: nearer to gold. " + (
        f"Source: {terms}."
        if terms
        else "The terms of this data set do not allow quoting it; the number is that of the pair in its file."
    )
    return table(pd.DataFrame(rows, dtype=object), note=note) if rows else None


def marked(sentence: str, other: str = "") -> Markup:
    """Write a sentence as safe HTML, its words in common with ``other`` marked; the end of a very long one is left out.

    Example:
        >>> str(marked("A <b> dog", "the dog"))
        'A &lt;b&gt; <mark>dog</mark>'
    """
    common = words(sentence) & words(other)
    text = sentence if len(sentence) <= _LONGEST else sentence[:_LONGEST].rstrip() + " \u2026"
    pieces: Sequence[str] = re.split(f"({WORD.pattern})", text)
    mark = Markup("<mark>{}</mark>")
    return Markup("").join(mark.format(one) if one.lower() in common else one for one in pieces)
