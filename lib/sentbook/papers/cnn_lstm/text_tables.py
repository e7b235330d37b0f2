"""What encoders and decoders do with sentences: analogies, generated text, and nearest neighbours.

Sentences are shown when a notebook runs and are kept in no record. All text is escaped, that of a decoder too, since it
was learned from text of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from sentbook.data.analogies import Analogies
from sentbook.data.text import tokenise_ptb
from sentbook.report import numbers
from sentbook.report.examples import marked
from sentbook.report.markup import Html, Recorded, esc
from sentbook.report.table import DATA, LEFT, TEXT, Cell, Row, Table
from sentbook.system.errors import ConfigError

_KIND = "sentbook-table sentbook-wide sentbook-generated"
_LONGEST = 12  # sentences of a paragraph, or neighbours of a query, that are shown
_NOTHING = Html('<em class="sb-soft">(nothing)</em>')
_SENTENCE = f"{TEXT} {DATA}"


def analogies(
    given: Analogies,
    written: Mapping[str, Sequence[str]],
    *,
    target: str = "given",
    caption: str = "",
    first: int | None = None,
    run: Recorded | None = None,
) -> Table:
    """Show A, B, C and D in rows, an analogy a column, as in the paper's table; below them what was generated for D.

    The words of a generated sentence that D has are marked, and it says so where all are the same.

    Source: Gan et al. 2017, table 1.

    Args:
        written: a name such as ``autoencoder`` and N sentences, of each of which there is a row.
        target: what the row of the analogies' own D is called, such as ``printed``.
        first: the first so many analogies alone; None: all.
        run: whose decoders wrote.

    Raises:
        ConfigError: not as many sentences as analogies.
    """
    _as_many(written, len(given), "analogies")
    shown = range(len(given) if first is None else min(first, len(given)))
    rows = [
        Row(name, [marked(column[at]) for at in shown])
        for name, column in (("A", given.a), ("B", given.b), ("C", given.c), (f"D, {target}", given.d))
    ]
    note = Html(f' <span class="sb-soft">(as {esc(target)})</span>')
    for name, sentences in written.items():
        cells = []
        for at in shown:
            same = tokenise_ptb(sentences[at]) == tokenise_ptb(given.d[at])
            cells.append(Cell(marked(sentences[at], given.d[at]), after=note if same else ""))
        rows.append(Row(f"D, {name}", cells))
    several = len(set(given.kinds)) > 1
    heads = [f"{at + 1}. {given.kinds[at]}" if several else str(at + 1) for at in shown]
    how = "z* = z(A) \u2212 z(B) + z(C) \u00b7 words of D marked"
    return _of_sentences("Sentence", heads, rows, caption, how, run)


def samples(
    sentences: Sequence[str],
    written: Mapping[str, Sequence[str]],
    *,
    head: str = "Sentence",
    caption: str = "",
    run: Recorded | None = None,
) -> Table:
    """Show sentences and what decoders wrote from their vectors, a column each, such as ``greedy``, ``next``.

    The words that a written sentence has in common with the first column are marked.

    Raises:
        ConfigError: not as many written sentences as given ones.
    """
    _as_many(written, len(sentences), "sentences")
    rows = [
        Row(marked(sentence), [marked(each[at], sentence) for each in written.values()])
        for at, sentence in enumerate(sentences)
    ]
    return _of_sentences(head, list(written), rows, caption, "words of the given sentence marked", run)


def paragraphs(
    told: Sequence[Sequence[str]],
    written: Sequence[Sequence[str]],
    book: Sequence[Sequence[str]] | None = None,
    *,
    caption: str = "",
    run: Recorded | None = None,
) -> Table:
    """Show paragraphs as they begin, how a decoder goes on, and how the book does.

    Args:
        told: the sentences that the decoder read.
        written: those that it wrote.
        book: those that truly follow.
        run: whose decoder wrote.

    Raises:
        ConfigError: not as many continuations as beginnings.
    """
    parts = {"Told": told, "Written": written} | ({} if book is None else {"In the book": book})
    _as_many(parts, len(told), "paragraphs")
    rows = []
    for number in range(len(told)):
        for at, (name, paragraph) in enumerate(parts.items()):
            lines = [line for line in paragraph[number] if line.strip()]
            text = "".join(f"<span>{marked(line)}</span>" for line in lines[:_LONGEST])
            more = len(lines) - _LONGEST
            text += f'<span class="sb-soft">and {more} more</span>' if more > 0 else ""
            rows.append(Row(name, [Cell(Html(text or _NOTHING), data=True, kind="sb-pair")], start=not at))
    return Table("Part", ["Sentences"], rows, caption, run=run, kinds={0: LEFT}, kind=_KIND)


def neighbours(
    queries: Sequence[str],
    found: Sequence[Sequence[str]],
    cosines: ArrayLike,
    *,
    caption: str = "",
    note: str = "",
    run: Recorded | None = None,
) -> Table:
    """Show queries and their nearest sentences with cosines; common words are marked.

    Source: Gan et al. 2017, table 2, which shows the nearest one and no cosine.

    Args:
        found: for each of Q queries the nearest sentences, best first.
        cosines: (Q, k) of `sentbook.papers.cnn_lstm.nearest`; where fewer are found the rest is not looked at.
        note: how they were searched for, such as ``among 100,000 sentences of held-out novels``.
        run: whose encoder found them.

    Raises:
        ConfigError: the numbers of queries, sentences and cosines do not fit.
    """
    values = np.asarray(cosines, dtype=np.float64)
    if values.ndim != 2 or not len(queries) == len(found) == len(values):
        raise ConfigError(f"{len(queries)} queries, {len(found)} answers and cosines {values.shape} do not fit.")
    rows = []
    for number, (query, near, scores) in enumerate(zip(queries, found, values, strict=True)):
        if len(near) > len(scores):
            raise ConfigError(f"Query {number + 1} has {len(near)} sentences and {len(scores)} cosines.")
        rows.append(Row("Query", [marked(query), ""], start=True))
        for place, (sentence, cosine) in enumerate(zip(near[:_LONGEST], scores.tolist(), strict=False)):
            name = "Nearest" if len(near) == 1 else f"{place + 1}."
            rows.append(Row(name, [marked(sentence, query), numbers.plain(cosine, 3)]))
        if not near:
            rows.append(Row("Nearest", [_NOTHING, ""]))
    how = " \u00b7 ".join(filter(None, (note, "common words marked")))
    return Table("Rank", ["Sentence", "Cosine"], rows, caption, how, run=run, kinds={0: _SENTENCE}, kind=_KIND)


def _of_sentences(
    heading: str, heads: Sequence[str], rows: Sequence[Row], caption: str, how: str, run: Recorded | None
) -> Table:
    """A table of running text, the head of each row included."""
    kinds = dict.fromkeys(range(len(heads)), _SENTENCE)
    return Table(heading, heads, rows, caption, how, run=run, kinds=kinds, wrap=True, kind=_KIND)


def _as_many(given: Mapping[str, Sequence[object]], count: int, what: str) -> None:
    for name, each in given.items():
        if len(each) != count:
            raise ConfigError(f"'{name}' has {len(each)} entries for {count} {what}; give one for each.")
