"""Open a notebook's page with its answer: what the paper claims, what was found, and how sure one can be."""

from __future__ import annotations

from collections import Counter

from sentbook.judge import judge, specifications
from sentbook.records import Test
from sentbook.report_old import templates
from sentbook.report_old.markup import Fragment, run_name, why
from sentbook.report_old.table import command, not_run
from sentbook.report_old.verdict_page import cause_words, marks, number_boxes
from sentbook.runs.ledger import first
from sentbook.runs.papers import paper_of
from sentbook.runs.verdict_ledger import entries

# The first that is recorded, as in the tables. A demo on generated data answers nothing about a paper.
PROFILES = ("small", "paper")
_OPENINGS = {
    "reproduced": "It holds here:",
    "exceeded": "Ours is better than printed:",
    "not reproduced": "It does not hold here:",
    "inconclusive": "It cannot be told here:",
    "out of scale": "This run is too small to tell:",
    "the paper contradicts itself": "The paper says otherwise elsewhere:",
    "not run": "",
}


def answer(paper: str, experiment: str) -> Fragment:
    """Show the answer of a page: the claim, the verdict, the number with its interval, and what was different.

    All of it is read from the recorded run. Of several claims the one marked ``main: true`` in ``claims.yaml`` comes
    first, else the first of the text; the others follow folded, with their verdicts counted. Of an experiment without
    a claim the notebook's first cell says what was found, and this how many of its differences are beyond doubt.

    Args:
        paper: folder of the results, e.g. ``cse``.
        experiment: e.g. ``table1``.

    Raises:
        DataError: the file is not a run of this schema.
    """
    run = first(paper, experiment, PROFILES)
    if run is None:
        return not_run(command(paper, experiment))
    main = {spec.id for spec in specifications().values() if spec.main}
    of_paper = entries({(paper, experiment): run}, [paper] if judge(run) else [])
    judged = sorted((one for one in of_paper if one.experiment == experiment), key=lambda one: one.id not in main)
    claim, others = (judged[0], judged[1:]) if judged else (None, [])
    body = templates.html(
        "answer",
        run=run,
        its_run=why("Its run", run_name(run), hidden=True),
        paper=paper_of(paper),
        claim=claim,
        opening=_OPENINGS[claim.verdict] if claim else "",
        shown=number_boxes(claim) if claim else [],
        marks=marks(claim) if claim else [],
        cause=cause_words(claim.cause, links=False) if claim and claim.cause else None,
        found=_found(run.tests),
        others=others,
        counts=Counter(one.verdict for one in others),
        substitutions=run.provenance.substitutions,
    )
    return Fragment(body, kind="sentbook-answer", run=run_name(run))


def _found(tests: list[Test]) -> str:
    if not tests:
        return ""
    sure = sum(test.low > 0 or test.high < 0 for test in tests)
    return f"{sure} of {len(tests)} differences have a 95 % interval without zero."
