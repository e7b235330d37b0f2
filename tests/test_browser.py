"""The built book in a browser: no page is wider than a phone, and what a reader can turn gives the recorded numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from _ext import dial, playground, runs
from playwright.sync_api import Browser, expect

from reader import Reader
from sentbook.data.text import Vocabulary, tokenise_ptb
from sentbook.data.vectors import embedding_matrix, load
from sentbook.export import Description, SentbookEncoder
from sentbook.judge import gather
from sentbook.models import build, similarity
from sentbook.models.average import AverageEncoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.records import read
from sentbook.report import numbers

ROOT = Path(__file__).resolve().parents[1]
PHONE = {"width": 390, "height": 844}
pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(params=["light", "dark"])
def phone(request: pytest.FixtureRequest, browser: Browser, server: str) -> Iterator[Reader]:
    with browser.new_context(viewport=PHONE, color_scheme=request.param, is_mobile=True) as context:
        yield Reader(context.new_page(), server)


def test_no_page_is_wider_than_a_phone_or_has_a_fault(phone: Reader) -> None:
    listed = re.findall(r"(?:file|root): *(\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    wide = []
    for page in (*listed, "book/api", *(f"book/{runs.address(run)}" for run in runs.recorded()[:3])):
        phone.open(page)
        if phone.width() > PHONE["width"]:
            wide.append(page)
    assert wide == [] and phone.faults == []


def test_verdicts_are_filtered_and_a_link_opens_its_claim(desk: Reader) -> None:
    claims, page = gather("small"), desk.page
    desk.open("book/verdicts")
    shown = page.locator(".sb-claim:visible")
    expect(shown).to_have_count(len(claims))
    page.locator("[name=paper]").select_option("wsv")
    page.locator("[name=verdict]").select_option("exceeded")
    wanted = [one for one in claims if one.paper == "wsv" and one.verdict == "exceeded"]
    assert wanted
    expect(shown).to_have_count(len(wanted))
    page.reload()
    expect(shown).to_have_count(len(wanted))
    page.locator("[name=text]").fill(wanted[0].text)
    expect(page.locator("#found")).to_have_text(f"1 of {len(claims)} claims")
    expect(shown).to_have_count(1)
    page.get_by_role("button", name="Reset").click()
    expect(shown).to_have_count(len(claims))
    page.locator("[name=paper]").select_option("wsv")
    page.goto(f"{desk.server}/book/verdicts.html#{claims[9].id}")
    expect(page.locator(f"#{claims[9].id}")).to_be_visible()
    assert desk.faults == []


def test_all_results_are_searched_and_lead_to_their_run(desk: Reader) -> None:
    desk.open("book/results")
    rows = desk.page.locator("#results-table tbody tr")
    rows.nth(20).wait_for()
    for header, words in {"Run": "cse/table1", "Method": "CSE", "Data set": "Total average"}.items():
        desk.page.get_by_placeholder(header, exact=True).press_sequentially(words)
    desk.page.wait_for_function("document.querySelectorAll('#results-table tbody tr').length <= 4")
    assert "68.5" in rows.first.inner_text()  # the paper's number
    rows.first.locator("a").click()
    expect(desk.page).to_have_url(re.compile(r"/_runs/small/cse/table1\.html$"))
    assert desk.faults == []


def test_the_dial_shows_the_recorded_number_of_a_protocol(desk: Reader) -> None:
    run = read("cross/protocols")
    assert run is not None

    def value(protocol: str) -> str:
        found = [row.value for row in run.metrics if (row.dataset, row.protocol) == (dial.FIRST, protocol)]
        return numbers.shown(sum(found) / len(found), "pearson")

    page = desk.page
    desk.open("book/protocols")
    number = page.locator(".sb-dial output")
    assert number.inner_text() == value(run.extra["house"])
    for label in ("trained head", "Spearman's ρ", "pooled pairs", "stems"):
        page.get_by_label(label, exact=True).check()
    chosen = value("trained head, spearman, pooled pairs, stems tokens")
    expect(number).to_have_text(chosen)
    page.reload()
    expect(number).to_have_text(chosen)
    page.get_by_label("A published number").fill("60")
    page.locator("#dial-near button").first.press("Enter")
    expect(page.locator("#dial-near button:focus")).to_have_count(1)
    assert abs(float(number.inner_text()) - 60) <= 0.55
    page.locator("[name=set]").select_option("SICK2014")
    assert page.get_by_label("pooled pairs", exact=True).is_disabled()
    page.locator("[name=set]").select_option(dial.FIRST)
    page.get_by_role("button", name="Our protocol").click()
    ours = "expected => document.querySelector('.sb-dial output').value === expected"
    page.wait_for_function(ours, arg=value(run.extra["house"]))
    page.goto(f"{desk.server}/book/protocols.html?another#set=STS2099")
    page.wait_for_function(ours, arg=value(run.extra["house"]))
    assert desk.faults == []


def test_the_playground_has_the_package_s_cosines_and_follows_what_is_typed(desk: Reader) -> None:
    page, held = desk.page, playground.header()
    desk.open("book/playground")
    expect(page.locator("#pg-table")).to_be_visible()
    page.locator("#pg-load").click()
    page.locator("#pg-words .sb-word").first.wait_for()
    for (first, second), values in zip(held["examples"], held["cosines"], strict=True):
        page.get_by_role("button", name=f"{first} / {second}").click()
        shown = [float(text.replace(numbers.MINUS, "-")) for text in page.locator("#pg-form output").all_inner_texts()]
        assert shown == pytest.approx(values, abs=0.016)
    page.get_by_label("First sentence").fill("a zzzqqq")
    expect(page.locator(".sb-unknown")).to_have_text(re.compile(r"zzzqqq\s*unknown"))
    page.get_by_role("radio", name="WSV").check()
    expect(page.locator("#pg-words h3")).to_contain_text("WSV")
    assert "e=WSV" in page.url and desk.faults == []


def test_the_playground_s_arithmetic_is_the_package_s(browser: Browser) -> None:
    """Untrained encoders, packed for the page: its tokens are ours, its cosines to what 8 bits change."""
    words = load("miniworld")
    weight, vocabulary = torch.from_numpy(embedding_matrix(words)), Vocabulary(words.words)
    options = {
        "PP": AverageEncoder(), "CSE": CSEEncoder(filters=17), "CNN": CNNEncoder(filters=20, bound=0.1),
        "tanh": CSEEncoder(filters=9, widths=(2, 4), activation="tanh", pooling="mean"), "WSV": WSVEncoder(filters=30),
    }  # fmt: skip
    models = {
        name: SentbookEncoder(
            build(one, weight, seed=3).eval(), vocabulary, Description(encoder=one, tokenisation="ptb")
        )
        for name, one in options.items()
    }
    page = browser.new_page()
    page.add_script_tag(path=ROOT / "book" / "_static" / "playground" / "encoders.js")
    page.add_script_tag(content=playground.pack(models))
    hard = [
        "They don't like Mary's U.S. trip, 10:30.",
        "well-known -- café’s “naïve” #tag @you 1,000.50 can't ... x_y 3D",
    ]
    assert page.evaluate("texts => texts.map(sentbookPlayground.tokens)", hard) == [tokenise_ptb(text) for text in hard]
    pairs = [*playground.EXAMPLES, ("dog", "cat"), ("a", "the small dog chased a young cat"), ("the dog", "zzz qqq")]
    found = page.evaluate(
        """pairs => sentbookPlayground.data.encoders.map(model => pairs.map(pair => sentbookPlayground.cosine(
             ...pair.map(text => model.encode(sentbookPlayground.tokens(text))))))""",
        pairs,
    )
    for (name, model), cosines in zip(models.items(), found, strict=True):
        ours = [similarity(model.encoder, model.vocabulary, *pair) for pair in pairs]
        assert cosines == pytest.approx(ours, abs=0.02), name
    page.close()
