"""What CSE's notebooks and its pages draw beyond the package's figures."""

from __future__ import annotations

from sentbook.report.figures import forest
from sentbook.runs import ledger


def fragments() -> dict[str, str]:
    """Make the figure of how CSE against PP turned with rates and batches: file name in ``book/_generated`` to HTML."""
    run = ledger.read("cse", "tuning", "small")
    if run is None:
        return {}
    named = {test.a.removeprefix("CSE (").replace("), batches", ","): test for test in run.tests}
    tests = [test.model_copy(update={"dataset": name, "a": "CSE", "b": "PP"}) for name, test in named.items()]
    caption = (
        "CSE against PP after one epoch, by the learning rates of words and filters and by how batches are drawn, in "
        "the total average; PP with the same words' rate and batches"
    )
    drawn = forest(
        run, a="CSE", b="PP", rows=sorted(named, key=lambda name: named[name].estimate), tests=tests, caption=caption
    )
    return {"dial.md": drawn.html()}
