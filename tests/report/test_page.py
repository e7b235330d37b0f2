"""The verdict box, the fold of details, and pages without a record."""

from __future__ import annotations

import bs4

import samples
from sentbook import report
from sentbook.records import Search
from sentbook.report import summary


def words(shown: report.Shown) -> str:
    return " ".join(bs4.BeautifulSoup(shown.html, "html.parser").get_text(" ").split())


def test_a_page_without_a_record_says_how_to_record_it() -> None:
    page = samples.page(None)
    outputs = [page.verdict(), page.details(), page.comparison(), page.by_method(), page.tests(), page.curve()]
    outputs += [page.dumbbell("CSE", "PP"), page.forest("CSE", "PP"), page.bars(), page.errors("CSE", "PP")]
    assert {words(one) for one in outputs} == {
        "No run of cse/table1 is recorded. To record it: sentbook run cse/table1 --profile small --record"
    }


def test_a_page_without_a_record_shows_the_run_in_memory() -> None:
    assert "yours" in words(samples.page(None).comparison(run=samples.run()))
    assert "Your run, profile small." in words(samples.page(None).curve(run=samples.run(curves=samples.curve())))


def test_the_box_has_the_papers_number_ours_and_its_interval() -> None:
    page = report.page("cse/table1")
    claim = page.claims[0]
    box = bs4.BeautifulSoup(page.verdict().html, "html.parser")
    heads = [head.get_text() for head in box.find_all("dt")]
    shown = [value.get_text() for value in box.find_all("dd")]
    printed, ours = claim.found.printed, claim.found.ours
    assert claim.main and printed and ours
    assert heads == ["paper", "ours", "95 % interval"]
    values = printed.value, ours.value, ours.low, ours.high
    signed = [f"{100 * one:+.1f}".replace("-", "−") for one in values]
    assert shown == [signed[0], signed[1], f"[{signed[2]}, {signed[3]}]"]
    assert box.select_one(".sb-chip").get_text() == claim.verdict
    sentence = claim.sentence.get(claim.verdict)
    assert [one.get_text() for one in box.select("b")] == ([summary.readable(sentence)] if sentence else [])


def test_a_page_without_a_claim_says_what_was_measured() -> None:
    page = report.page("cross/matrix")
    assert page.claims == []
    assert words(page.verdict("Averages are hard to beat.")).startswith("measured Averages are hard to beat.")


def test_the_fold_lists_claims_substitutes_searches_cost_and_provenance() -> None:
    edge = Search(method="A", grid={"rate": [0.1, 0.2]}, chosen={"rate": 0.2}, at_edge=["rate"], selected_on="dev")
    assert "rate 0.2 (grid edge)" in words(samples.page(samples.run(searches=[edge])).details())
    page = report.page("cse/table1")
    said = words(page.details())
    assert said.startswith("Details: claims, substitutes, searches, cost, provenance")
    assert page.run is not None
    origin = page.run.provenance
    wanted = [*(claim.id for claim in page.claims), origin.git_commit, *origin.substitutions]
    assert [one for one in wanted if one not in said] == []


def test_comparisons_are_folded_with_their_p_values() -> None:
    said = words(samples.page(samples.run(tests=samples.test_rows())).tests(caption="All."))
    assert said.startswith("4 comparisons with p-values")
    assert "PP − CSE SICK 2014 r × 100 −5.0 [−8.0, −2.0] 0.010 0.020" in said
