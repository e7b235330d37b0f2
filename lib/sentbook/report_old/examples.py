"""Sentences in tables: on which pairs two encoders differ most, and what decoders write.

Sentences are shown when a notebook runs and are kept in no record. All text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.evaluation.error_groups import WORD, Array, MapName, Thresholds, both, jaccard, mapped, words
from sentbook.report_old import numbers
from sentbook.report_old.markup import Html, Recorded, esc
from sentbook.report_old.table import DATA, LEFT, TEXT, Cell, Row, Table

MAP_WORDS: dict[str, str] = {
    "paper": "2.5 (cos + 1)",
    "affine": "fitted line",
    "isotonic": "fitted monotone curve",
    "identity": "the encoder, trained on the gold scale",
}
_LONGEST = 400  # characters of a sentence that are shown


def marked(sentence: str, other: str = "") -> Html:
    """Write a sentence as safe HTML, its words in common with ``other`` marked; the end of a very long one is left out.

    Example:
        >>> str(marked("A <b> dog", "the dog"))
        'A &lt;b&gt; <mark>dog</mark>'
    """
    common = words(sentence) & words(other)
    text = sentence if len(sentence) <= _LONGEST else sentence[:_LONGEST].rstrip() + " \u2026"
    pieces = re.split(f"({WORD.pattern})", text)
    shown = (f"<mark>{esc(one)}</mark>" if one.lower() in common else esc(one) for one in pieces)
    return Html("".join(shown) or '<em class="sb-soft">(empty)</em>')


def below(*lines: str) -> Cell:
    """Put sentences below each other in one cell; they are of a data set, or a decoder wrote them."""
    return Cell(Html("".join(f"<span>{esc(line)}</span>" for line in lines)), data=True, kind="sb-pair")


def sentences(
    heading: str,
    columns: Sequence[str],
    rows: Sequence[Row],
    caption: str = "",
    how: str = "",
    *,
    numeric: Sequence[str] = (),
    run: Recorded | None = None,
) -> Table:
    """Show rows of running text, such as what decoders write from vectors.

    Args:
        rows: of plain text, or `marked`.
        numeric: the columns that hold numbers.
        run: whose encoders and decoders made them.
    """
    kinds = {at: f"{TEXT} {DATA}" for at, column in enumerate(columns) if column not in numeric}
    kind = "sentbook-table sentbook-wide sentbook-generated"
    return Table(heading, columns, rows, caption, how, run=run, kinds=kinds, wrap=True, kind=kind)


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
    seed: int = 0,
    run: Recorded | None = None,
) -> Table:
    """Show the pairs of each group on which the errors of A and B differ most, side by side with the gold score.

    Of each group's ``per_group`` pairs half are A's best and half B's (A has one more if the number is odd), so that
    the table shows both sides. Scores are means over seeds. Common words are marked; the smaller error is bold.

    Args:
        first, second, gold, scores, a, b: as `sentbook.evaluation.error_groups.groups`.
        how: the map from cosines to 0-5.
        run: whose scores they are.
    """
    both(scores, a, b)
    target = np.asarray(gold, dtype=np.float64)
    means = {
        name: np.stack(
            [mapped(row, target, how, seed=seed) for row in np.atleast_2d(np.asarray(scores[name], dtype=float))]
        ).mean(axis=0)
        for name in (a, b)
    }
    errors = {name: np.abs(mean - target) for name, mean in means.items()}
    rows = []
    for group, mask in (thresholds or Thresholds()).members(jaccard(first, second), target).items():
        rows.append(Row(group.capitalize(), head=True, note=f"{numbers.count(int(mask.sum()))} pairs"))
        # Where the gain is above 0, A is closer.
        for at in _pick(errors[b] - errors[a], np.flatnonzero(mask), per_group):
            cells = [below(marked(first[at], second[at]), marked(second[at], first[at]))]
            for name, other in ((a, b), (b, a)):
                cells.append(Cell(numbers.plain(float(means[name][at]), 2), best=errors[name][at] < errors[other][at]))
            cells.append(Cell(numbers.plain(float(target[at]), 1), data=True, title="of the data set"))
            rows.append(Row("", cells))
    note = f"scores by {MAP_WORDS[how]} \u00b7 common words marked \u00b7 bold: nearer to gold"
    kind = "sentbook-table sentbook-examples"
    return Table(None, ["Pair", a, b, "Gold"], rows, caption, note, run=run, kinds={0: LEFT}, kind=kind)


def _pick(gain: Array, inside: NDArray[np.intp], count: int) -> list[int]:
    """``count`` of the pairs ``inside``: the greatest gains and the greatest losses in equal parts, gains first."""
    order = inside[np.argsort(-gain[inside], kind="stable")]
    ahead = min(len(order), (count + 1) // 2)
    behind = min(len(order) - ahead, count - ahead)
    return [*map(int, order[:ahead]), *map(int, order[len(order) - behind :][::-1] if behind else [])]
