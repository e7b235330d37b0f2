"""Where two encoders err: the paper's four groups found by rule, and the pairs on which they differ most.

Sentences are shown when a notebook runs and are kept in no record: `examples` gives HTML, and its frame holds
numbers only. All text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sentbook.evaluation.error_groups import WORD, Array, MapName, Thresholds, both, jaccard, mapped, words
from sentbook.report import numbers
from sentbook.report.marks import Recorded, run_name
from sentbook.report.markup import Fragment, esc, pipes, table

MAP_WORDS: dict[str, str] = {
    "paper": "2.5 (cos + 1)",
    "affine": "fitted line",
    "isotonic": "fitted monotone curve",
    "identity": "the encoder, trained on the gold scale",
}
_LONGEST = 400  # characters of a sentence that are shown


def groups_table(
    frame: pd.DataFrame,
    *,
    a: str,
    b: str,
    caption: str = "Mean absolute error by group",
    run: Recorded | None = None,
) -> Fragment:
    """The frame of `sentbook.evaluation.error_groups.groups`, of ``run``, as a table: a body for each map."""
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
        run=run_name(run),
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
    for match in WORD.finditer(text):
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
    run: Recorded | None = None,
) -> Fragment:
    """The pairs of each group on which the errors of A and B differ most, side by side with the gold score.

    Of each group's ``per_group`` pairs half are A's best and half B's (A has one more if the number is odd), so that
    the table shows both sides. Scores are means over seeds. Common words are marked; the smaller error is bold.

    Args:
        first, second, gold, scores, a, b: as `sentbook.evaluation.error_groups.groups`.
        how: the map from cosines to 0-5.
        run: whose scores they are.

    Returns:
        A table; its frame holds pair numbers and scores, no sentence, and so does its Markdown.
    """
    both(scores, a, b)
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
            gold_cell = f'<td class="sb-data" title="of the data set">{numbers.plain(float(target[index]), 1)}</td>'
            body += f'<tr><td class="sb-pair sb-data">{pair}</td>{cells}{gold_cell}</tr>'
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
        run=run_name(run),
    )


def _pick(gain: Array, inside: NDArray[np.intp], count: int) -> list[int]:
    """``count`` of the pairs ``inside``: the greatest gains and the greatest losses in equal parts, gains first."""
    order = inside[np.argsort(-gain[inside], kind="stable")]
    ahead = min(len(order), (count + 1) // 2)
    behind = min(len(order) - ahead, count - ahead)
    return [*map(int, order[:ahead]), *map(int, order[len(order) - behind :][::-1] if behind else [])]
