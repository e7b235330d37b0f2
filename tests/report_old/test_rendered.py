"""What a reader sees of the recorded runs: every table as text, against a stored digest and its first lines.

After a change that is meant, ``python tests/report_old/test_rendered.py`` writes ``rendered.txt`` again, and git shows
what changed; with the name of a page, such as ``cse/table1``, it prints that page's whole text.
"""

from __future__ import annotations

import hashlib
import html
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sentbook.papers.cnn_lstm import experiments as cnn_lstm
from sentbook.papers.cnn_lstm import tables as cnn_lstm_tables
from sentbook.papers.wsv.tables import ranking
from sentbook.records import Run
from sentbook.report_old import summary, tables
from sentbook.runs import ledger

STORED = Path(__file__).parent / "rendered.txt"
_FIRST = 6  # lines of a table that are stored
STARTS = ["random-init", "pretrained-composite"]
BY_START: dict[str, Any] = {
    "rows": ["MR", "CR", "SUBJ", "MPQA", "TREC", "total_avg", *(f"TREC-{share}%-labels" for share in (10, 25, 50))],
    "methods": STARTS, "metric": "accuracy", "pair": STARTS[::-1], "caption": "Accuracy by start",
}  # fmt: skip
YEARS = [f"STS{year}/avg" for year in range(2012, 2016)]
SICK = {"dataset": "SICK2014-test"}
TWO_PLACES = {"pearson": 2, "spearman": 2}
SYSTEMS: dict[str, Any] = {"ours": ["ours"], "metrics": ("pearson", "spearman", "mse"), **SICK}
PARAPHRASES: dict[str, Any] = {
    "ours": [f"{name}{more}" for name in ("WSV-SCNN-SV", "cosine") for more in ("", ", pre-trained on SICK")],
    "dataset": "MSRP", "metrics": ["accuracy", "f1"], "protocol": "threshold tuned",
}  # fmt: skip


def show(draw: Callable[..., Any], **options: Any) -> Callable[[Run, Any], Any]:
    return lambda run, printed: draw(run, **({"reported": printed} if printed is not None else {}), **options)


# Experiment -> the tables of its page; those of any page (claims, tests, cost, substitutions) are drawn of every run.
SHOWN: Mapping[str, tuple[Callable[[Run, Any], Any], ...]] = {
    "cse/table1": (show(tables.comparison, pair=("CSE", "PP"), notes={"STS2016": "validation"}),),
    "cse/table2": (show(tables.comparison, methods=["GRAN", "ATT-CCG", "PP", "CSE"]),),
    "cse/table3": (show(tables.by_metric, **SICK),),
    "cse/table4": (show(tables.comparison, rows=YEARS, pair=("CSE_cumulative", "CSE_sentence")),),
    "cse/table5": (show(tables.comparison, rows=[*YEARS, "total_avg"], pair=("combined", "1-gram"), places=2),),
    "cse/ambiguities": (show(tables.comparison, rows=[*YEARS, "total_avg"], interval="half"),),
    "cnn_lstm/figure3": (show(tables.comparison, **BY_START),),
    "cnn_lstm/table3": (
        show(
            cnn_lstm_tables.methods_table,
            columns=cnn_lstm_tables.classification_columns,
            protocol=cnn_lstm.SKIP_THOUGHTS,
        ),
    ),
    "cnn_lstm/table5": (show(cnn_lstm_tables.methods_table, columns=cnn_lstm_tables.relatedness_columns),),
    "wsv/table1": (),
    "wsv/table2": (
        show(tables.by_metric, protocol="after the last epoch", interval="half", places=TWO_PLACES, **SICK),
    ),
    "wsv/figure5": (show(ranking, **SYSTEMS),),
    "wsv/figure7": (show(ranking, **PARAPHRASES),),
    "cross/matrix": (),
    "cross/protocols": (),
}
PRINTED_AS = {"cnn_lstm/figure3": "fig3_text_numbers"}


def texts_of(name: str) -> list[str]:
    """The tables of a page as text: a line a row, cells between strokes, bold between stars, tooltips in braces."""
    paper, experiment = name.split("/")
    run = ledger.read(paper, experiment, "small")
    assert run is not None
    stem = PRINTED_AS.get(name, experiment)
    has_printed = (Path(summary.__file__).parents[1] / "papers" / paper / "printed" / f"{stem}.csv").is_file()
    printed = summary.reported(paper, stem) if has_printed else None
    pieces = [draw(run, printed) for draw in SHOWN.get(name, ())]
    pieces += [draw(run) for draw in (tables.claims, tables.tests, tables.cost, tables.substitutions)]
    return [as_text(piece.html(style=False)) for piece in pieces if piece]


def abridged(name: str) -> str:
    """The page's tables, each by the digest of its text and its first lines."""
    parts = [f"## {name}"]
    for text in texts_of(name):
        lines = text.splitlines()
        rest = f"... {len(lines) - _FIRST} lines more" if len(lines) > _FIRST else ""
        first = [line[:120] for line in lines[:_FIRST]]
        parts.append("\n".join(["# " + hashlib.sha256(text.encode()).hexdigest()[:12], *first, *filter(None, [rest])]))
    return "\n\n".join(parts) + "\n"


def as_text(shown: str) -> str:
    shown = re.sub(r'<ul class="sb-badges".*?</ul>', "", shown)
    shown = re.sub(r'<td[^>]*title="([^"]*)"[^>]*>', r"{\1} ", shown)
    shown = re.sub(r'<strong class="sb-best">(.*?)</strong>', r"*\1*", shown)
    shown = re.sub(r"</t[dh]>", " | ", re.sub(r"</(?:p|div|li|tr|ul)>", "\n", shown))
    lines = html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"</?(?:span|small)\b[^>]*>", " ", shown))).split("\n")
    return "\n".join(filter(None, (re.sub(r"[ \t]+", " ", line).strip() for line in lines)))


@pytest.mark.parametrize("name", SHOWN)
def test_a_recorded_run_reads_as_it_did(name: str) -> None:
    stored = {part.partition("\n")[0]: f"## {part}" for part in STORED.read_text(encoding="utf-8").split("## ")[1:]}
    assert abridged(name) == stored[name].rstrip("\n") + "\n"


if __name__ == "__main__":
    if sys.argv[1:]:
        print("\n\n".join(texts_of(sys.argv[1])))
    else:
        STORED.write_text("\n".join(map(abridged, SHOWN)), encoding="utf-8")
