from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sentbook.records import OWN, Claim, Finding, Part, Run
from sentbook.report_old import pages, verdict_page
from sentbook.report_old.style import style_sheet
from sentbook.runs.causes import causes
from sentbook.runs.claims import claims
from sentbook.runs.verdict_ledger import Entry
from sentbook.runs.verdicts import BOUND, PRINTED

HOSTILE = "<script>alert(1)</script> & <img src=x onerror=alert(1)>"

Check = Callable[[str], ET.Element]


def _fragments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("<div")]


# -- the short list ----------------------------------------------------------------------------------------------------


def test_verdicts_page(ledger: Path, well_formed: Check) -> None:
    runs, at = pages.recorded("cse"), {"table1": "../_executed/cse/table1.html"}
    text = verdict_page.verdicts_page("cse", runs=runs, pages=at, cards="verdicts.html")
    assert '<a href="../_executed/cse/table1.html">Table 1</a>' in text and "Table 2" in text
    assert '<a href="verdicts.html#claim-claim-reproduced">' in text
    of_paper = [spec for spec in claims("cse") if not spec.own]  # the fixture's runs have none of them
    assert f'<li class="sb-badge">{len(of_paper)} <span class="verdict verdict-not-run">' in text
    assert "<script>" not in text and "<img" not in text
    assert 'data-run="small/cse/table1"' in text and 'data-run="demo/cse/table2"' in text
    for fragment in _fragments(text):
        well_formed(fragment)


def test_a_paper_without_runs_says_what_to_do() -> None:
    text = verdict_page.verdicts_page("wsv", runs={})
    assert "No verdict is recorded" in text and "make run NOTEBOOK=wsv/table1" in text


# -- the page ----------------------------------------------------------------------------------------------------------


def _claim(identifier: str, **changes: object) -> Claim:
    spec = next(spec for spec in claims("cse") if spec.id == identifier)
    fields = {**spec.model_dump(include={"id", "text", "source", "rule"}), "verdict": "reproduced", "evidence": "said"}
    return Claim.model_validate(fields | changes)


PRINTED_DIFFERENCE = Finding(what="difference", unit="pearson", value=0.0012, how=PRINTED)
OURS = Finding(what="CSE − PP on x", unit="pearson", value=-0.0285, low=-0.0347, high=-0.0224, how="paired bootstrap")


def _page(run: Run, *judged: Claim, **more: Any) -> str:
    return verdict_page.all_verdicts(
        {"cse": "CSE", "wsv": "WSV"},
        runs={("cse", "table1"): run.model_copy(update={"claims": list(judged)})},
        pages={"cse/table1": "_executed/cse/table1.html", "cse/ambiguities": "_executed/cse/ambiguities.html"},
        run_pages={"cse/table1": "_runs/cse/table1.html"},
        download="_generated/verdicts.json",
        **more,
    )


def _card(text: str, identifier: str, check: Check) -> ET.Element:
    for fragment in _fragments(text):
        for line in check(fragment).iter("details"):
            if [article.get("id") for article in line.findall("article")] == [f"claim-{identifier}"]:
                return line
    raise AssertionError(f"{identifier} has no card")


def _words(element: ET.Element) -> str:
    return re.sub(r"\s+", " ", " ".join(element.itertext()))


def test_every_claim_has_a_card_and_is_counted(run: Run, well_formed: Check) -> None:
    text = _page(run, _claim("cse-01"), _claim("cse-02", verdict="inconclusive"))
    found = [article.get("id") for fragment in _fragments(text) for article in well_formed(fragment).iter("article")]
    assert sorted(found) == sorted(f"claim-{spec.id}" for paper in ("cse", "wsv") for spec in claims(paper))
    rows = [[_words(cell).strip() for cell in row] for row in well_formed(_fragments(text)[1]).iter("tr")]
    own = sum(spec.source.startswith(OWN) for paper in ("cse", "wsv") for spec in claims(paper))
    total, other = (sum(not spec.source.startswith(OWN) for spec in claims(paper)) for paper in ("cse", "wsv"))
    assert rows[0] == ["", "CSE", "WSV", "all", "ours"]
    assert len(rows) == 9 and [row for row in rows[1:] if set(row[1:]) != {"0"}] == [
        ["✓ reproduced", "1", "0", "1", "0"],
        ["≈ inconclusive", "1", "0", "1", "0"],
        ["– not run", str(total - 2), str(other), str(total + other - 2), str(own)],
        ["all claims", str(total), str(other), str(total + other), str(own)],
    ]
    assert "Expected to be wrong by chance alone" not in text  # one of the two counts, the other is undecided
    assert "{download}`verdicts.json <_generated/verdicts.json>`" in text
    assert 'data-run="small/cse/table1"' in text and 'href="_runs/cse/table1.html"' in text


def test_a_card_holds_both_numbers_interval_seeds_rule_and_cause(run: Run, well_formed: Check) -> None:
    failed = _claim("cse-02", verdict="not reproduced", printed=PRINTED_DIFFERENCE, ours=OURS)
    card = _card(_page(run, failed), "cse-02", well_formed)
    boxes = [[_words(part) for part in box] for box in card.iter("div") if box.find("dt") is not None]
    assert boxes == [
        ["The paper", "+0.12", "r × 100"],  # as many decimals as the paper prints, on both sides
        ["Ours", "−2.85 [−3.47, −2.24]", "CSE − PP on x; r × 100; paired bootstrap; 5 seeds"],
    ]
    assert next(dd.get("class") for dd in card.iter("dd")) == "sb-paper"
    words = _words(card)
    assert "✗ not reproduced" in words and "A beats B" in words and "section 4.1, table 1" in words
    assert f"{causes()['cse-02'].cause}" in words.replace(" :", ":")
    card = _card(_page(run, _claim("cse-01", verdict="not reproduced")), "cse-01", well_formed)
    assert "#claim-cse-02" in [link.get("href") for link in card.iter("a")]  # "As cse-02."


def test_claims_of_ours_are_not_counted_with_the_papers() -> None:
    said = [Entry.model_validate({**_claim("cse-01").model_dump(), "paper": "cse", "experiment": "t", "source": source})
            for source in ("table 1", "not of the paper")]  # fmt: skip
    shown = " ".join(re.sub(r"<[^>]+>", " ", verdict_page.counts_table(said)).split())
    assert "CSE all ours" in shown and "all claims 1 1 1" in shown


def test_what_bounds_a_verdict_stands_on_its_card(run: Run, well_formed: Check) -> None:
    spec = next(spec for spec in claims("cse") if spec.id == "cse-02")
    judged = _claim("cse-02", notes=[f"one training of {HOSTILE}"], about="encoders")
    words = _words(_card(_page(run, judged), "cse-02", well_formed))
    assert "one training of <script>" in words and "over items alone" in words and verdict_page.EARLIER in words
    fresh = judged.model_copy(update={"judged_by": spec.judged_by})
    text = _page(run, fresh)
    assert verdict_page.EARLIER not in _words(_card(text, "cse-02", well_formed))
    assert "Expected to be wrong by chance alone" in text and "CSE at most 0.0 of 1" in text


def test_a_bound_of_the_rule_is_not_called_the_papers(run: Run, well_formed: Check) -> None:
    asked = Finding(what="at least", unit="sets", value=11, of=20, how=BOUND)
    ours = Finding(what="CSE above PP", unit="sets", value=2, of=20)
    card = _card(_page(run, _claim("cse-01", printed=asked, ours=ours)), "cse-01", well_formed)
    words = _words(card)
    assert "The rule asks at least 11 of 20 sets" in words and "Ours 2 of 20 sets" in words and "The paper" not in words
    stated = asked.model_copy(update={"value": 14, "how": PRINTED})
    words = _words(_card(_page(run, _claim("cse-01", printed=stated, ours=ours)), "cse-01", well_formed))
    assert "The paper 14 of 20 sets" in words and "The rule asks" not in words


def test_a_verdict_at_the_papers_size_stands_beside(run: Run, well_formed: Check) -> None:
    full = run.model_copy(update={"profile": "paper", "claims": [_claim("cse-01", ours=OURS), _claim("cse-03")]})
    judged = [_claim("cse-01", verdict="inconclusive"), _claim("cse-02"), _claim("cse-03")]
    text = _page(run, *judged, full={("cse", "table1"): full})
    assert "1 of the 2 claims that runs at the papers' sizes judged as well have the same verdict there; <a" in text
    assert re.search(r"size, 5 seeds: ✓ reproduced −2\.\d \[−3\.5, −2\.2\]", _words(_card(text, "cse-01", well_formed)))
    assert "paper’s size" not in _words(_card(text, "cse-02", well_formed))


def test_parts_are_folded_and_a_tested_cause_links_its_experiment(run: Run, well_formed: Check) -> None:
    part = Part(verdict="not reproduced", printed=PRINTED_DIFFERENCE, ours=OURS)
    claim = _claim("cse-29", verdict="not reproduced", ours=OURS, parts=[part, Part(verdict="not run")])
    text = verdict_page.all_verdicts(
        {"cse": "CSE"},
        runs={("cse", "ambiguities"): run.model_copy(update={"experiment": "ambiguities", "claims": [claim]})},
        pages={"cse/ambiguities": "_executed/cse/ambiguities.html"},
    )
    card = _card(text, "cse-29", well_formed)
    folded = list(card.iter("details"))[1]  # the first is the line of the list
    assert _words(folded[0]) == "2 parts" and len(list(folded.iter("tr"))) == 3
    assert [link.get("href") for link in card.iter("a")][-1] == "_executed/cse/ambiguities.html"
    assert re.search(r"Likely cause, tested on .* \(2 numbers\)", _words(card))


def test_a_claim_of_an_older_file_shows_its_evidence(run: Run, well_formed: Check) -> None:
    card = _card(_page(run, _claim("cse-02", evidence=HOSTILE)), "cse-02", well_formed)
    assert list(card.iter("dl")) == [] and "alert" in _words(card)


@pytest.mark.parametrize(
    ("finding", "shown"),
    [
        (Finding(what="MSE", unit="mse", value=0.31584), "0.3158"),
        (Finding(what="seconds", unit="seconds", value=4731.2), "4\u202f731"),
        (Finding(what="apart", unit="distance", value=2.2e-8), "2.2\u00d710\u207b\u2078"),
        (Finding(what="DNT / NT", unit="ratio", value=1.1897), "1.19"),
        (Finding(what="R@1", unit="annotation_R@1", value=0.748), "74.8"),
        (Finding(what="rank", unit="annotation_MedR", value=3.0), "3.0"),
        (Finding(what="a share", unit="share", value=0.5), "50.0"),
    ],
)
def test_a_number_stands_in_its_unit(run: Run, well_formed: Check, finding: Finding, shown: str) -> None:
    card = _card(_page(run, _claim("cse-01", ours=finding)), "cse-01", well_formed)
    assert "".join(next(card.iter("dd")).itertext()) == shown


def test_the_style_sheet_is_small_and_names_the_cards() -> None:
    sheet = style_sheet("verdicts")
    assert ".sb-claim" in sheet and "\n" not in sheet and "/*" not in sheet and len(sheet) < 3000
