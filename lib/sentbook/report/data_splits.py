"""The parts of the data sets of scored pairs, beside those that the paper states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from sentbook.data import suites
from sentbook.report import numbers
from sentbook.report.markup import Fragment, esc, pipes, simple
from sentbook.report.summary import full_name, group_and_label
from sentbook.system.errors import ConfigError

PARTS = {"train": "train", "dev": "trial", "test": "test"}
NAMES = {
    "stsb": "STS Benchmark",
    "sick": "SICK",
    "sts12": "STS 2012",
    "sim": "Activities: similarity (SIM)",
    "rel": "Activities: relatedness (REL)",
    "ma": "Activities: motivational alignment (MA)",
    "pac": "Activities: perceived actor congruence (PAC)",
    "sag": "Short answer grading (SAG)",
}
# Zhang et al. 2018, section 4.1: train, dev, test.
PRINTED = {
    "stsb": (5749, 1500, 1379),
    "sick": (4439, 495, 4906),
    "sts12": (2000, 234, 1959),
    **dict.fromkeys(suites.ACTIVITIES, (1000, 373, 1000)),
    "sag": (1460, 500, 552),
}
WHY = {
    "sick": "the SemEval files hold 9,927 pairs; 9,840 are those of the other release (SICK.zip)",
    **dict.fromkeys(suites.ACTIVITIES, "the authors\u2019 file of dev pairs has two more than they state"),
    "sag": "the assignments hold 1,721 answers, too few for 1,460 and 500",
}
UNEXPLAINED = "not known"


def splits_table(datasets: Iterable[str], *, caption: str = "Data sets") -> Fragment:
    """Sizes of train, dev and test, scale and measure; where the paper states another size, that size and why.

    Args:
        datasets: names of `sentbook.data.suites.DATASETS`; their files are read.

    Raises:
        ConfigError: no data set, or an unknown one.
        DataError: a file is missing, or has not its official size.
    """
    records = [_record(dataset) for dataset in datasets]
    if not records:
        raise ConfigError(f"Name the data sets of the table, among {', '.join(suites.DATASETS)}.")
    frame = pd.DataFrame(records)
    reasons = bool(frame["why"].any())
    head = ["Data set", *(part.capitalize() for part in PARTS), "Scale", "Measure", *(["Why another size"] * reasons)]
    cells, lines = [], []
    for record in records:
        sizes = [(record[part], record[f"{part}, paper"]) for part in PARTS]
        rest = [record["scale"], numbers.name(record["measure"], unit=False)]
        rest += [record["why"]] if reasons else []
        shown = [(numbers.count(ours), "" if theirs in (None, ours) else _printed(theirs)) for ours, theirs in sizes]
        small = [f'{esc(size)}<span class="sb-ci">{esc(other)}</span>' if other else esc(size) for size, other in shown]
        name = record["data set"]
        cells.append([esc(name), *small, *map(esc, rest)])
        lines.append([name, *(f"{size} ({other})" if other else size for size, other in shown), *rest])
    how = "pairs; the paper\u2019s number below ours where it differs" if reasons else "pairs"
    top = f'<strong>{esc(caption)}</strong><span class="sb-how">{esc(how)}</span>'
    text = frozenset({len(head) - 1}) if reasons else frozenset()
    html = simple(head, cells, top, label=caption, text=text, wrap=True)
    return Fragment(html, markdown=f"**{caption}** ({how})\n\n{pipes(head, lines)}", frame=frame, facts=True)


def _record(dataset: str) -> dict[str, Any]:
    splits = {part: suites.pairs(dataset, split) for part, split in PARTS.items()}
    sizes = {part: len(pairs) for part, pairs in splits.items()}
    theirs = dict(zip(PARTS, PRINTED.get(dataset, (None,) * len(PARTS)), strict=True))
    low, high = splits["test"].scale
    other = any(theirs[part] not in (None, size) for part, size in sizes.items())
    return {
        "data set": NAMES.get(dataset) or full_name(*group_and_label(suites.test_name(dataset))),
        **sizes,
        **{f"{part}, paper": size for part, size in theirs.items()},
        "scale": f"{numbers.plain(low, 0)} to {numbers.plain(high, 0)}",
        "measure": str(suites.measure_of(dataset)),
        "why": WHY.get(dataset, UNEXPLAINED) if other else "",
    }


def _printed(size: int) -> str:
    return f"paper {numbers.count(size)}"
