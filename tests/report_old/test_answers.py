"""The answer at the top of a page, of every recorded experiment and of untrusted text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from sentbook.report_old.run_pages import experiments

from sentbook import report_old as report
from sentbook.records import Claim, Finding, Run
from sentbook.report_old.names import readable
from sentbook.runs.ledger import read, write

Check = Callable[[str], ET.Element]
RECORDED = [name for name in experiments() if read(*name, "small") is not None]


@pytest.mark.parametrize(("paper", "experiment"), RECORDED)
def test_every_recorded_experiment_has_an_answer(paper: str, experiment: str, well_formed: Check) -> None:
    run = read(paper, experiment, "small")
    assert run is not None
    shown = report.answer(f"{paper}/{experiment}")
    words = re.sub(r"\s+", " ", " ".join(well_formed(shown.html(style=False)).itertext()))
    assert shown.run == f"small/{paper}/{experiment}"
    answered = [claim for claim in run.claims if readable(claim.text) in words]
    evidence = [readable(claim.evidence).split("; ") for claim in answered]
    assert not run.claims or any(all(part in words for part in parts) for parts in evidence)
    assert run.claims or "not a claim of a paper" in words
    assert all(name in words for name in run.provenance.substitutions)


def test_a_marked_claim_comes_first_and_the_others_are_counted() -> None:
    body, run = report.answer("cse/table1").body, read("cse", "table1", "small")
    assert run is not None and "in the total average" in body.split("<footer")[0]  # `main: true` in claims.yaml
    ours = next(claim.ours for claim in run.claims if claim.id == "cse-02")
    assert ours is not None and ours.low is not None and ours.high is not None
    interval = f"[{100 * ours.low:+.1f}, {100 * ours.high:+.1f}]".replace("-", "−")
    assert "4 other claims" in body and interval in body and f"t over seeds; {len(run.provenance.seeds)} seeds" in body


def test_all_text_is_escaped(run: Run, well_formed: Check, checkout: Path) -> None:
    hostile = '<script>alert("x")</script>'
    ours = Finding(what=hostile, unit=hostile, value=1.0, how=hostile)
    claim = Claim(
        id="cse-01", text=hostile, source=hostile, rule="beats", verdict="inconclusive", evidence=hostile, ours=ours
    )
    for claims in ([claim], []):
        write(run.model_copy(update={"profile": "small", "claims": claims}))
        well_formed(report.answer("cse/table1").html(style=False))


def test_without_a_run_the_command_is_named() -> None:
    assert "make run NOTEBOOK=cse/table9" in report.answer("cse/table9").html()
