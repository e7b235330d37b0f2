"""What CSE's pages draw beyond the package's figures."""

from __future__ import annotations

import re

from sentbook.report_old.figures import forest
from sentbook.runs import ledger


def fragments() -> dict[str, str]:
    """Make the figure of how CSE against PP turned with rates and batches: file name in ``book/_generated`` to HTML."""
    run = ledger.read("cse", "tuning", "small")
    if run is None:
        return {}
    named = {_row(test.a): test for test in run.tests}
    drawn = forest(
        run,
        a="CSE",
        b="PP",
        rows=sorted(named, key=lambda name: named[name].estimate),
        tests=[test.model_copy(update={"dataset": name, "a": "CSE", "b": "PP"}) for name, test in named.items()],
        caption=(
            "CSE against PP after one epoch, by the learning rates of words and filters and by how batches are drawn, "
            "in the total average; PP with the same words' rate and batches"
        ),
    )
    return {"dial.md": drawn.html()}


def _row(method: str) -> str:
    """Name the rates and the batches of a training.

    Example:
        >>> _row("CSE (words 0.001, filters 1e-05), batches random")
        'words .001, filters .00001, random batches'
    """
    rates, _, batches = method.removeprefix("CSE (").partition("), batches ")
    rates = re.sub(r"\d\S*\d", lambda found: f"{float(found[0]):f}".strip("0"), rates)
    return f"{rates}, {'random batches' if batches == 'random' else f'batches {batches}'}"
