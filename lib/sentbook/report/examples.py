"""Where two encoders err: the paper's four groups found by rule, and the pairs on which they differ most.

Sentences are shown when a notebook runs and are kept in no record: `examples` gives HTML, and its frame holds
numbers only. All text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import IsotonicRegression

from sentbook.errors import ConfigError
from sentbook.report import numbers
from sentbook.report.markup import Fragment, esc, pipes, table

Array = NDArray[np.float64]
MapName = Literal["paper", "affine", "isotonic", "identity"]
MAP_WORDS = {
    "paper": "2.5 (cos + 1)",
    "affine": "fitted line",
    "isotonic": "fitted monotone curve",
    "identity": "the encoder, trained on the gold scale",
}
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_LONGEST = 400  # characters of a sentence that are shown


# -- overlap and groups ----------------------------------------------------------------------------------------------


def words(sentence: str) -> frozenset[str]:
    """The lower-cased words of a sentence."""
    return frozenset(word.lower() for word in _WORD.findall(sentence))


def jaccard(first: Sequence[str], second: Sequence[str]) -> Array:
    """Word overlap of each pair.

    Equation:
        ``|A & B| / |A | B|`` of the two sets of lower-cased words; 0 where both are empty.

    Returns:
        (N,) in [0, 1].
    """
    sets = [(words(a), words(b)) for a, b in zip(first, second, strict=True)]
    return np.array([len(a & b) / len(a | b) if a | b else 0.0 for a, b in sets])


@dataclass(frozen=True)
class Thresholds:
    """What counts as high and low word overlap (Jaccard), and as close and far meaning (gold, on 0-5)."""

    high: float = 0.5
    low: float = 0.25
    close: float = 4.0
    far: float = 1.5

    def members(self, overlap: ArrayLike, gold: ArrayLike) -> dict[str, NDArray[np.bool_]]:
        """The paper's four groups, in its order: name -> (N,) mask.

        Source: Jiao et al. (2018), section 5.3 and table 6 (the thresholds are ours; the paper gives none).
        """
        share, target = np.asarray(overlap, dtype=float), np.asarray(gold, dtype=float)
        high, low = share >= self.high, share <= self.low
        close, far = target >= self.close, target <= self.far
        return {
            "low overlap, close": low & close,
            "high overlap, close": high & close,
            "high overlap, far": high & far,
            "low overlap, far": low & far,
        }


# -- from cosine to the gold scale -----------------------------------------------------------------------------------


def paper_map(cosine: ArrayLike) -> Array:
    """The paper's map to [0, 5]: ``2.5 (cos + 1)``. A cosine of 0 thus counts as half similar."""
    return 2.5 * (np.asarray(cosine, dtype=np.float64) + 1.0)


def affine_map(cosine: ArrayLike, gold: ArrayLike) -> Callable[[ArrayLike], Array]:
    """The line ``a cos + b`` with the least squared error on these pairs, cut to the range of their gold scores.

    Args:
        cosine, gold: (N,).
    """
    x, y = np.asarray(cosine, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    low, high = float(y.min()), float(y.max())
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / spread) if spread > 0 else 0.0
    offset = float(y.mean() - slope * x.mean())
    return lambda new: np.clip(slope * np.asarray(new, dtype=np.float64) + offset, low, high)


def isotonic_map(cosine: ArrayLike, gold: ArrayLike) -> Callable[[ArrayLike], Array]:
    """The monotone step curve with the least squared error on these pairs; beyond them it stays constant."""
    curve = IsotonicRegression(out_of_bounds="clip", increasing=True)
    curve.fit(np.asarray(cosine, dtype=np.float64), np.asarray(gold, dtype=np.float64))
    return lambda new: np.asarray(curve.predict(np.asarray(new, dtype=np.float64)), dtype=np.float64)


def mapped(cosine: ArrayLike, gold: ArrayLike, how: MapName, *, folds: int = 10, seed: int = 0) -> Array:
    """Cosines on the gold scale. A fitted map is fitted on other pairs: each fold's scores come from the other folds.

    Args:
        cosine, gold: (N,).

    Raises:
        ConfigError: ``how`` is no map, or there are fewer pairs than folds.
    """
    x, y = np.asarray(cosine, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    if how == "paper":
        return paper_map(x)
    if how == "identity":
        return x
    if how not in MAP_WORDS:
        raise ConfigError(f"The map {how!r} is unknown; choose one of {list(MAP_WORDS)}.")
    if not 2 <= folds <= len(x):
        raise ConfigError(f"{len(x)} pairs cannot be split into {folds} folds; give more pairs or fewer folds.")
    fit = affine_map if how == "affine" else isotonic_map
    fold = np.random.default_rng(seed).permutation(np.arange(len(x)) % folds)
    scores = np.empty_like(x)
    for number in range(folds):
        inside = fold == number
        scores[inside] = fit(x[~inside], y[~inside])(x[inside])
    return scores


def errors(cosine: ArrayLike, gold: ArrayLike, how: MapName, *, folds: int = 10, seed: int = 0) -> Array:
    """Absolute errors on the gold scale, one row a seed.

    Args:
        cosine: (N,) or (S, N), one row for each training seed.
        gold: (N,).

    Returns:
        (S, N).
    """
    rows = np.atleast_2d(np.asarray(cosine, dtype=np.float64))
    target = np.asarray(gold, dtype=np.float64)
    if rows.shape[1] != len(target):
        raise ConfigError(f"The cosines have shape {rows.shape}, the gold {target.shape}; they must agree.")
    return np.stack([np.abs(mapped(row, target, how, folds=folds, seed=seed) - target) for row in rows])


# -- the analysis ----------------------------------------------------------------------------------------------------


def groups(
    first: Sequence[str],
    second: Sequence[str],
    gold: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    a: str,
    b: str,
    maps: Sequence[MapName] = ("paper", "isotonic"),
    thresholds: Thresholds | None = None,
    folds: int = 10,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Mean absolute error of each method in each of the four groups, and how often A is the closer one.

    Intervals are 95 % percentile intervals of a paired bootstrap over pairs; seeds are averaged within a pair.

    Args:
        first, second: N sentences each.
        gold: (N,) on 0-5.
        scores: method -> cosines (N,) or (S, N).
        a, b: the two methods compared; ``difference`` is the error of A minus that of B, so below 0 A is better.

    Returns:
        One row a group and map: group, map, n, ``<method>`` with low and high for each, difference with low and high,
        closer (the share of pairs on which A errs less; ties count half) with low and high.

    Raises:
        ConfigError: ``a`` or ``b`` has no scores, or shapes disagree.
    """
    _both(scores, a, b)
    target = np.asarray(gold, dtype=np.float64)
    members = (thresholds or Thresholds()).members(jaccard(first, second), target)
    members["all pairs"] = np.ones(len(target), dtype=bool)
    rows: list[dict[str, object]] = []
    for how in maps:
        found = {name: errors(values, target, how, folds=folds, seed=seed) for name, values in scores.items()}
        per_pair = {name: values.mean(axis=0) for name, values in found.items()}
        closer = _closer(found[a], found[b])
        for group, mask in members.items():
            row: dict[str, object] = {"group": group, "map": how, "n": int(mask.sum())}
            columns = {name: values[mask] for name, values in per_pair.items()}
            columns["difference"] = columns[a] - columns[b]
            columns["closer"] = closer[mask]
            for name, (middle, low, high) in _bootstrap(columns, resamples, seed).items():
                row |= {name: middle, f"{name} low": low, f"{name} high": high}
            rows.append(row)
    return pd.DataFrame(rows)


def _both(scores: Mapping[str, ArrayLike], a: str, b: str) -> None:
    missing = [name for name in (a, b) if name not in scores]
    if missing:
        raise ConfigError(f"There are no scores of {missing}; scores are given for {list(scores)}.")


def _closer(first: Array, second: Array) -> Array:
    """The share of seeds in which the first errs less, pair by pair; ties count half.

    Seeds are paired where both methods have as many; else their mean errors are compared.
    """
    if len(first) != len(second):
        first, second = first.mean(axis=0, keepdims=True), second.mean(axis=0, keepdims=True)
    return ((first < second) + 0.5 * (first == second)).mean(axis=0)


def _bootstrap(columns: Mapping[str, Array], resamples: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Mean and 95 % percentile interval of each column, all over the same resampled pairs."""
    n = len(next(iter(columns.values())))
    if n == 0:
        return dict.fromkeys(columns, (np.nan, np.nan, np.nan))
    matrix = np.stack(list(columns.values()), axis=1)
    random = np.random.default_rng(seed)
    means = np.empty((resamples, matrix.shape[1]))
    for number in range(resamples):
        # How often each pair is drawn, times its values: one product in place of an (n, columns) copy.
        means[number] = np.bincount(random.integers(0, n, n), minlength=n) @ matrix / n
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return {name: (float(matrix[:, i].mean()), float(low[i]), float(high[i])) for i, name in enumerate(columns)}


def groups_table(frame: pd.DataFrame, *, a: str, b: str, caption: str = "Mean absolute error by group") -> Fragment:
    """The frame of `groups` as a table: a body for each map."""
    methods = [name.removesuffix(" low") for name in frame.columns if name.endswith(" low")]
    methods = [name for name in methods if name not in ("difference", "closer")]
    heads = ["Pairs", "n", *methods, f"{a} {numbers.MINUS} {b}", f"{a} closer, %"]
    head = "<tr>" + "".join(
        f'<th scope="col" class="{"sb-first" if i == 0 else ""}">{esc(text)}</th>' for i, text in enumerate(heads)
    )
    bodies, flat = [], []
    for how, part in frame.groupby("map", sort=False):
        words_of_map = MAP_WORDS.get(str(how), str(how))
        body = (
            f'<tr class="sb-group"><th scope="rowgroup" class="sb-first">{esc(words_of_map)}</th>'
            f'<td colspan="{len(heads) - 1}"></td></tr>'
        )
        for row in part.to_dict("records"):
            cells = [(numbers.count(row["n"]), "")]
            best = min((round(row[m], 2) for m in methods if np.isfinite(row[m])), default=None)
            for method in methods:
                cells.append(_with_interval(row, method, 2, bold=round(row[method], 2) == best and len(methods) > 1))
            cells.append(_with_interval(row, "difference", 2, signed=True))
            cells.append(_with_interval(row, "closer", 0, scale=100.0))
            whole = row["group"] == "all pairs"
            body += '<tr class="sb-average">' if whole else "<tr>"
            body += f'<th scope="row" class="sb-first">{esc(str(row["group"]).capitalize())}</th>'
            body += "".join(
                f"<td>{value}" + (f'<span class="sb-ci">{around}</span></td>' if around else "</td>")
                for value, around in cells
            )
            body += "</tr>"
            plain = [re.sub(r"<[^>]+>", "", value) + (f" {around}" if around else "") for value, around in cells]
            flat.append([f"{row['group']} ({words_of_map})", *plain])
        bodies.append(body)
    scale = "error on the 0\u20135 scale"
    how_words = f"{scale} \u00b7 95 % intervals by paired bootstrap \u00b7 fitted maps are fitted on other pairs"
    top = f'<strong>{esc(caption)}</strong><span class="sb-how">{esc(how_words)}</span>'
    return Fragment(
        table(head + "</tr>", bodies, top, label=caption),
        markdown=f"**{caption}** ({how_words})\n\n{pipes(heads, flat)}",
        frame=frame,
    )


def _with_interval(
    row: Mapping[Hashable, Any], name: str, places: int, *, scale: float = 1.0, signed: bool = False, bold: bool = False
) -> tuple[str, str]:
    value, low, high = (float(row[key]) * scale for key in (name, f"{name} low", f"{name} high"))
    text = numbers.plain(value, places, signed=signed)
    around = ""
    if np.isfinite(low) and np.isfinite(high):
        around = f"[{numbers.plain(low, places, signed=signed)}, {numbers.plain(high, places, signed=signed)}]"
    return (f'<strong class="sb-best">{text}</strong>' if bold else text), around


# -- the pairs themselves --------------------------------------------------------------------------------------------


def marked(sentence: str, common: frozenset[str]) -> str:
    """The sentence as safe HTML, the common words marked; the end of a very long one is left out."""
    text = sentence if len(sentence) <= _LONGEST else sentence[:_LONGEST].rstrip() + " \u2026"
    pieces, at = [], 0
    for match in _WORD.finditer(text):
        word = match.group()
        pieces.append(esc(text[at : match.start()]))
        pieces.append(f"<mark>{esc(word)}</mark>" if word.lower() in common else esc(word))
        at = match.end()
    return "".join([*pieces, esc(text[at:])]) or '<em class="sb-soft">(empty)</em>'


def examples(
    first: Sequence[str],
    second: Sequence[str],
    gold: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    a: str,
    b: str,
    how: MapName = "paper",
    per_group: int = 2,
    thresholds: Thresholds | None = None,
    caption: str = "",
    folds: int = 10,
    seed: int = 0,
) -> Fragment:
    """The pairs of each group on which the errors of A and B differ most, side by side with the gold score.

    Of each group's ``per_group`` pairs half are A's best and half B's (A has one more if the number is odd), so that
    the table shows both sides. Scores are means over seeds. Common words are marked; the smaller error is bold.

    Args:
        first, second, gold, scores, a, b: as `groups`.
        how: the map from cosines to 0-5.

    Returns:
        A table; its frame holds pair numbers and scores, no sentence, and so does its Markdown.
    """
    _both(scores, a, b)
    target = np.asarray(gold, dtype=np.float64)
    means = {
        name: np.stack(
            [
                mapped(row, target, how, folds=folds, seed=seed)
                for row in np.atleast_2d(np.asarray(scores[name], dtype=float))
            ]
        ).mean(axis=0)
        for name in (a, b)
    }
    gain = np.abs(means[b] - target) - np.abs(means[a] - target)  # above 0: A is closer
    overlap = jaccard(first, second)
    bodies, records = [], []
    for group, mask in (thresholds or Thresholds()).members(overlap, target).items():
        picked = _pick(gain, np.flatnonzero(mask), per_group)
        body = f'<tr class="sb-group"><th scope="rowgroup" class="sb-left" colspan="4">{esc(group.capitalize())}'
        body += f' <span class="sb-soft">({numbers.count(int(mask.sum()))} pairs)</span></th></tr>'
        for index in picked:
            common = words(first[index]) & words(second[index])
            pair = f"<span>{marked(first[index], common)}</span><span>{marked(second[index], common)}</span>"
            cells = ""
            for name, other in ((a, b), (b, a)):
                text = numbers.plain(float(means[name][index]), 2)
                nearer = abs(means[name][index] - target[index]) < abs(means[other][index] - target[index])
                cells += f'<td><strong class="sb-best">{text}</strong></td>' if nearer else f"<td>{text}</td>"
            body += f'<tr><td class="sb-pair">{pair}</td>{cells}<td>{numbers.plain(float(target[index]), 1)}</td></tr>'
            records.append(
                {
                    "group": group,
                    "pair": int(index),
                    "overlap": float(overlap[index]),
                    a: float(means[a][index]),
                    b: float(means[b][index]),
                    "gold": float(target[index]),
                }
            )
        bodies.append(body)
    head = "<tr>" + "".join(
        f'<th scope="col" class="{"sb-left" if i == 0 else ""}">{esc(text)}</th>'
        for i, text in enumerate(("Pair", a, b, "Gold"))
    )
    note = f"scores by {MAP_WORDS[how]} \u00b7 common words marked \u00b7 bold: nearer to gold"
    top = (f"<strong>{esc(caption)}</strong>" if caption else "") + f'<span class="sb-how">{esc(note)}</span>'
    frame = pd.DataFrame.from_records(records)
    lines = [[numbers.plain(v, 2) if isinstance(v, float) else str(v) for v in record.values()] for record in records]
    return Fragment(
        table(head + "</tr>", bodies, top, label=caption or "Examples"),
        kind="sentbook-table sentbook-examples",
        markdown=pipes([*frame.columns], lines) if records else "No pair falls into a group.",
        frame=frame,
    )


def _pick(gain: Array, inside: NDArray[np.intp], count: int) -> list[int]:
    """``count`` of the pairs ``inside``: the greatest gains and the greatest losses in equal parts, gains first."""
    order = inside[np.argsort(-gain[inside], kind="stable")]
    ahead = min(len(order), (count + 1) // 2)
    behind = min(len(order) - ahead, count - ahead)
    return [*map(int, order[:ahead]), *map(int, order[len(order) - behind :][::-1] if behind else [])]
