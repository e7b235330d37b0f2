"""What encoders and decoders do with sentences: analogies, generated text, and nearest neighbours.

Sentences are shown when a notebook runs and are kept in no record: frames and Markdown hold numbers only. All text is
escaped, that of a decoder too, since it was learned from text of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sentbook.data.analogies import Analogies
from sentbook.data.text import tokenise_ptb
from sentbook.evaluation.error_groups import words
from sentbook.report import numbers
from sentbook.report.examples import marked
from sentbook.report.marks import Recorded, run_name
from sentbook.report.markup import Fragment, esc, pipes, simple, table
from sentbook.system.errors import ConfigError

_KIND = "sentbook-table sentbook-wide sentbook-generated"
_LONGEST = 12  # sentences of a paragraph, or neighbours of a query, that are shown


def analogies(
    given: Analogies,
    written: Mapping[str, Sequence[str]],
    *,
    target: str = "given",
    caption: str = "",
    first: int | None = None,
    run: Recorded | None = None,
) -> Fragment:
    """A, B, C and D in rows, an analogy a column, as in the paper's table; below them what was generated for D.

    The words of a generated sentence that D has are marked, and it says so where all are the same.

    Source: Gan et al. 2017, table 1.

    Args:
        written: a name such as ``autoencoder`` and N sentences, of each of which there is a row.
        target: what the row of the analogies' own D is called, such as ``printed``.
        first: the first so many analogies alone; None: all.
        run: whose decoders wrote.

    Raises:
        ConfigError: not as many sentences as analogies.

    Returns:
        A table; its frame and its Markdown say how many of the columns are as D, and hold no sentence.
    """
    _as_many(written, len(given), "analogies")
    shown = range(len(given) if first is None else min(first, len(given)))
    rows = [
        [esc(name), *(_cell(column[at]) for at in shown)]
        for name, column in (("A", given.a), ("B", given.b), ("C", given.c), (f"D, {target}", given.d))
    ]
    records = []
    for name, sentences in written.items():
        cells, equal = [], 0
        for at in shown:
            same = _same(sentences[at], given.d[at])
            equal += same
            note = f' <span class="sb-soft">(as {esc(target)})</span>' if same else ""
            cells.append(marked(sentences[at], words(sentences[at]) & words(given.d[at])) + note)
        rows.append([f"D, {esc(name)}", *cells])
        records.append({"written by": name, "as given": equal, "of": len(shown)})
    several = len(set(given.kinds)) > 1
    heads = ["Sentence", *(f"{at + 1}. {given.kinds[at]}" if several else str(at + 1) for at in shown)]
    note = "z* = z(A) \u2212 z(B) + z(C) \u00b7 words of D marked"
    return _rows(heads, rows, caption, note, records, run)


def samples(
    sentences: Sequence[str],
    written: Mapping[str, Sequence[str]],
    *,
    head: str = "Sentence",
    caption: str = "",
    run: Recorded | None = None,
) -> Fragment:
    """Sentences and what decoders wrote from their vectors, a column each, such as ``greedy``, ``beam of 5``, ``next``.

    The words that a written sentence has in common with the first column are marked.

    Raises:
        ConfigError: not as many written sentences as given ones.

    Returns:
        A table; its frame and its Markdown hold, for each column, how many are the sentence itself, and no sentence.
    """
    _as_many(written, len(sentences), "sentences")
    rows = [
        [_cell(sentence), *(marked(each[at], words(each[at]) & words(sentence)) for each in written.values())]
        for at, sentence in enumerate(sentences)
    ]
    records = [
        {
            "written": name,
            "as given": sum(_same(one, other) for one, other in zip(each, sentences, strict=True)),
            "of": len(sentences),
        }
        for name, each in written.items()
    ]
    return _rows([head, *written], rows, caption, "words of the given sentence marked", records, run)


def paragraphs(
    told: Sequence[Sequence[str]],
    written: Sequence[Sequence[str]],
    book: Sequence[Sequence[str]] | None = None,
    *,
    caption: str = "",
    run: Recorded | None = None,
) -> Fragment:
    """Paragraphs as they begin, how a decoder goes on, and how the book does.

    Args:
        told: the sentences that the decoder read.
        written: those that it wrote.
        book: those that truly follow.
        run: whose decoder wrote.

    Raises:
        ConfigError: not as many continuations as beginnings.

    Returns:
        A table, a body a paragraph; its frame and its Markdown count sentences and words, and hold none.
    """
    parts = {"Told": told, "Written": written} | ({} if book is None else {"In the book": book})
    _as_many(parts, len(told), "paragraphs")
    bodies, records = [], []
    for number in range(len(told)):
        body = ""
        for name, paragraph in parts.items():
            lines = [line for line in paragraph[number] if line.strip()]
            text = "".join(f"<span>{_cell(line)}</span>" for line in lines[:_LONGEST])
            more = len(lines) - _LONGEST
            text += f'<span class="sb-soft">and {more} more</span>' if more > 0 else ""
            text = text or '<em class="sb-soft">(nothing)</em>'
            body += f'<tr><th scope="row" class="sb-first">{name}</th><td class="sb-pair sb-data">{text}</td></tr>'
            counted = sum(len(line.split()) for line in lines)
            records.append({"paragraph": number + 1, "part": name.lower(), "sentences": len(lines), "words": counted})
        bodies.append(body)
    head = '<tr><th scope="col" class="sb-first">Part</th><th scope="col" class="sb-left">Sentences</th></tr>'
    return Fragment(
        table(head, bodies, _top(caption, ""), label=caption or "Paragraphs"),
        kind=_KIND,
        markdown=_counts(records),
        frame=pd.DataFrame.from_records(records),
        run=run_name(run),
    )


def neighbours(
    queries: Sequence[str],
    found: Sequence[Sequence[str]],
    cosines: ArrayLike,
    *,
    caption: str = "",
    note: str = "",
    run: Recorded | None = None,
) -> Fragment:
    """Queries and their nearest sentences, a body each, with cosines; common words are marked.

    Source: Gan et al. 2017, table 2, which shows the nearest one and no cosine.

    Args:
        found: for each of Q queries the nearest sentences, best first.
        cosines: (Q, k) of `sentbook.evaluation.nearest`; where fewer are found the rest is not looked at.
        note: how they were searched for, such as ``among 100,000 sentences of held-out novels``.
        run: whose encoder found them.

    Raises:
        ConfigError: the numbers of queries, sentences and cosines do not fit.

    Returns:
        A table; its frame and its Markdown hold numbers of queries, cosines and shares of common words, no sentence.
    """
    values = np.asarray(cosines, dtype=np.float64)
    if values.ndim != 2 or not len(queries) == len(found) == len(values):
        raise ConfigError(f"{len(queries)} queries, {len(found)} answers and cosines {values.shape} do not fit.")
    bodies, records = [], []
    for number, (query, near, scores) in enumerate(zip(queries, found, values, strict=True)):
        if len(near) > len(scores):
            raise ConfigError(f"Query {number + 1} has {len(near)} sentences and {len(scores)} cosines.")
        body = '<tr><th scope="row" class="sb-first">Query</th>'
        body += f'<td class="sb-text sb-data">{_cell(query)}</td><td></td></tr>'
        for place, (sentence, cosine) in enumerate(zip(near[:_LONGEST], scores.tolist(), strict=False)):
            common = words(query) & words(sentence)
            name = "Nearest" if len(near) == 1 else f"{place + 1}."
            shown = f'<td class="sb-text sb-data">{marked(sentence, common)}</td>'
            body += f'<tr><th scope="row" class="sb-first">{name}</th>{shown}'
            body += f"<td>{numbers.plain(cosine, 3)}</td></tr>"
            every = words(query) | words(sentence)
            share = len(common) / len(every) if every else 0.0
            records.append({"query": number + 1, "place": place + 1, "cosine": cosine, "common words": share})
        if not near:
            nothing = '<td class="sb-text"><em class="sb-soft">(nothing)</em></td><td></td>'
            body += f'<tr><th scope="row" class="sb-first">Nearest</th>{nothing}</tr>'
        bodies.append(body)
    head = "".join(
        f'<th scope="col" class="{style}">{name}</th>'
        for name, style in (("Rank", "sb-first"), ("Sentence", "sb-left"), ("Cosine", ""))
    )
    how = " \u00b7 ".join(filter(None, (note, "common words marked")))
    return Fragment(
        table(f"<tr>{head}</tr>", bodies, _top(caption, how), label=caption or "Nearest sentences"),
        kind=_KIND,
        markdown=_counts(records),
        frame=pd.DataFrame.from_records(records),
        run=run_name(run),
    )


# -- small hands -------------------------------------------------------------------------------------------------------


def _rows(
    heads: Sequence[str],
    rows: list[list[str]],
    caption: str,
    note: str,
    records: list[dict[str, object]],
    run: Recorded | None,
) -> Fragment:
    """A table of running text, the head of each row included."""
    html = simple(
        heads,
        rows,
        _top(caption, note),
        left=len(heads),
        label=caption or "Generated sentences",
        text=frozenset(range(1, len(heads))),
        wrap=True,
        of_data=True,
    )
    frame = pd.DataFrame.from_records(records)
    return Fragment(html, kind=_KIND, markdown=_counts(records), frame=frame, run=run_name(run))


def _top(caption: str, note: str) -> str:
    title = f"<strong>{esc(caption)}</strong>" if caption else ""
    return title + (f'<span class="sb-how">{esc(note)}</span>' if note else "")


def _cell(sentence: str) -> str:
    """A sentence as safe HTML, the end of a very long one left out."""
    return marked(sentence, frozenset())


def _same(one: str, other: str) -> bool:
    return tokenise_ptb(one) == tokenise_ptb(other)


def _counts(records: Sequence[Mapping[str, object]]) -> str:
    """Markdown of rows of numbers."""
    if not records:
        return "Nothing was generated."
    lines = [[numbers.plain(v, 3) if isinstance(v, float) else str(v) for v in row.values()] for row in records]
    return pipes(list(records[0]), lines)


def _as_many(given: Mapping[str, Sequence[object]], count: int, what: str) -> None:
    for name, each in given.items():
        if len(each) != count:
            raise ConfigError(f"'{name}' has {len(each)} entries for {count} {what}; give one for each.")
