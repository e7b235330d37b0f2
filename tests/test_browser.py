"""The built book in a real browser, light and dark, wide and on a phone, with no host but this one.

Some pages are read in each run of the tests, every page with ``-m long``. What a reader can turn is turned: typed,
clicked, moved by the keyboard, and the number that then stands there is compared with the recorded runs.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from reader import DESK, HTML, Reader
from sentbook.evaluation.statistics import seed_spread
from sentbook.papers.cross.protocol_tables import YEAR, Held
from sentbook.records import Run
from sentbook.report_old import numbers, summary, verdict_switches
from sentbook.report_old.names import readable
from sentbook.runs import ledger
from sentbook.runs.claims import specifications
from sentbook.runs.contents import listed
from sentbook.runs.verdict_ledger import Entry, gather

ROOT = Path(__file__).resolve().parents[1]
PHONE = {"width": 390, "height": 844}

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = ["book/index", *listed("book")]
FEW = ("book/cse", "book/_executed/cse/table1")
EACH = [page if page in FEW else pytest.param(page, marks=pytest.mark.long) for page in PAGES]


@pytest.fixture(params=["light", "dark"])
def reader(request: pytest.FixtureRequest, browser: Browser, server: str) -> Iterator[Reader]:
    """A reader at a desk, whose system is in light or in dark mode."""
    with browser.new_context(viewport=DESK, color_scheme=request.param) as context:
        yield Reader(context.new_page(), server)


@pytest.fixture
def phone(browser: Browser, server: str) -> Iterator[Reader]:
    with browser.new_context(viewport=PHONE, device_scale_factor=2, is_mobile=True, has_touch=True) as context:
        yield Reader(context.new_page(), server)


# The contrast of each visible piece of text with the nearest opaque ground below it, by WCAG 2.
CONTRAST = """selector => {
  const number = part => { part /= 255; return part <= .03928 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4; };
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const pixel = layers => {
    canvas.clearRect(0, 0, 1, 1);
    for (const layer of layers) { canvas.fillStyle = layer; canvas.fillRect(0, 0, 1, 1); }
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = rgb => .2126 * number(rgb[0]) + .7152 * number(rgb[1]) + .0722 * number(rgb[2]);
  const poor = [];
  for (const element of document.querySelectorAll(selector)) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility()) continue;
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor);
    const ground = pixel(['white', ...layers]);
    const text = pixel(['white', ...layers, getComputedStyle(element).color]);
    const [high, low] = [light(ground), light(text)].sort((a, b) => b - a);
    const ratio = (high + .05) / (low + .05);
    if (ratio < 4.5) poor.push(`${element.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
}"""
TEXT = ":is(th, td, span, strong, li, p, dt, dd, a, summary, figcaption, button, legend, output, small)"


@pytest.mark.parametrize("file", EACH)
def test_a_page_opens_without_a_fault(reader: Reader, file: str, request: pytest.FixtureRequest) -> None:
    reader.open(file)
    page, mode = reader.page, request.node.callspec.params["reader"]
    assert reader.faults == []
    assert page.locator("article h1").first.is_visible()
    assert page.evaluate("() => document.documentElement.dataset.theme") == mode
    assert reader.width() <= DESK["width"]
    assert page.locator("input[type=search]:visible").count() <= 1
    assert page.locator("mjx-merror").count() == 0
    assert page.locator(".math.notranslate:visible").count() == page.locator("mjx-container:visible").count()
    # A drawing's ink is that of the page's mode.
    for drawing in page.locator(".sb-plot:not(.sb-narrow) svg, .sb-diagram").all():
        assert drawing.is_visible()
        ink = drawing.evaluate("svg => { svg.style.color = 'var(--sb-ink)'; return getComputedStyle(svg).color; }")
        assert ink == {"light": "rgb(31, 35, 40)", "dark": "rgb(232, 234, 237)"}[mode]
    assert page.evaluate(CONTRAST, f".sentbook {TEXT}") == []


def test_a_notebooks_page_shows_its_main_table_first_with_the_rest_folded(reader: Reader) -> None:
    reader.open("book/_executed/cse/table1", folded=True)
    main = reader.page.locator(".tag_main-table table").first
    assert main.is_visible() and main.locator("tbody tr").count() >= 2
    assert main.bounding_box()["y"] < 1500
    assert not reader.page.locator("#train h2").is_visible()
    reader.page.evaluate("location.hash = 'train'")  # a link into what is folded opens it
    reader.page.locator("#train h2").wait_for()
    for output in reader.page.locator("div.cell_output > .output:visible").all():
        assert output.inner_text().strip() or output.locator("svg, img").count(), "an empty box"
    # Open is the code that is the point of the page, and that alone.
    opened = reader.page.locator("div.cell.tag_show-code div.cell_input pre:visible").count()
    assert opened == reader.page.locator("div.cell_input pre:visible").count() >= 1
    reader.page.locator("details.hide > summary").first.click()
    assert reader.page.locator("div.cell_input pre:visible").count() > opened


@pytest.mark.parametrize("file", EACH)
def test_a_page_fits_a_phone(phone: Reader, file: str) -> None:
    phone.open(file)
    assert phone.faults == []
    assert phone.width() <= PHONE["width"], phone.page.evaluate(
        """width => [...document.querySelectorAll('article *')]
             .filter(element => element.getBoundingClientRect().right > width + 1 && element.checkVisibility())
             .slice(0, 5).map(element => element.outerHTML.slice(0, 120))""",
        PHONE["width"],
    )
    starts = "all => all.map(box => box.firstElementChild.getBoundingClientRect().x - box.getBoundingClientRect().x)"
    assert all(start > -1 for start in phone.page.locator("div.math:visible").evaluate_all(starts))
    # A wide table scrolls and its first column stays.
    for box in phone.page.locator(".sb-scroll:visible").all():
        wide = box.evaluate("element => element.scrollWidth > element.clientWidth + 1")
        first = box.locator("tbody tr:not(.sb-group) th[scope=row]:not(.sb-wrap)").first
        if not wide or first.count() == 0:
            continue
        before = first.bounding_box()
        box.evaluate("element => { element.scrollLeft = element.scrollWidth; }")
        after = first.bounding_box()
        assert before and after and abs(before["x"] - after["x"]) <= 2
        assert after["width"] <= PHONE["width"] / 2  # numbers can be seen beside it


CUT = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.ariaLabel)"


@pytest.mark.parametrize(
    "file", ["book/index", "book/_executed/cse/table4", "book/_executed/dnt/table5", "book/_runs/cse/table1"]
)
def test_a_phone_cuts_no_number_and_a_wide_screen_is_used(phone: Reader, file: str) -> None:
    """A wide table is cards on a phone, each number beside its name; a drawing is as wide as the page."""
    phone.open(file)
    boxes = phone.page.locator(".sentbook :is(.sb-scroll, .sb-plot):visible")
    phone.page.wait_for_function("() => !document.querySelector('.sb-scroll[tabindex=\"0\"]')?.checkVisibility()")
    assert boxes.count() and boxes.evaluate_all(CUT) == []
    for card in phone.page.locator("table.sb-cards:visible").all():
        first = card.locator("td[data-label]").first
        assert first.is_visible()
        assert str(first.get_attribute("data-label")).split()[0] in str(card.locator("thead").text_content())
    phone.page.set_viewport_size({"width": 1920, "height": 900})
    phone.page.wait_for_function("() => !document.querySelector('table.sb-cards')?.checkVisibility()")
    if phone.page.locator(".sb-scroll").count():
        assert phone.page.locator(".bd-article-container").bounding_box()["width"] > 1400
    assert boxes.evaluate_all(CUT) == []


def test_search_finds_a_page(desk: Reader) -> None:
    desk.page.goto(f"{desk.server}/search.html?q=convolution", wait_until="networkidle")
    desk.page.wait_for_selector("#search-results li a", timeout=10_000)
    assert any("cse" in str(link.get_attribute("href")) for link in desk.page.locator("#search-results li a").all())
    assert desk.faults == []


def test_the_first_page_leads_to_the_book(desk: Reader) -> None:
    desk.page.goto(f"{desk.server}/index.html", wait_until="networkidle")
    desk.page.wait_for_url("**/book/index.html")
    assert desk.faults == []


def test_the_mode_can_be_switched(browser: Browser, server: str) -> None:
    with browser.new_context(viewport=DESK, color_scheme="light") as context:
        reader = Reader(context.new_page(), server)
        reader.open("book/index")
        button = reader.page.locator("button.theme-switch-button:visible").first
        seen = set()
        for _ in range(3):
            button.click()
            seen.add(reader.page.evaluate("() => document.documentElement.dataset.theme"))
        assert seen == {"light", "dark"}
        assert reader.faults == []


# -- pages that a reader explores --------------------------------------------------------------------------------------


def recorded(paper: str, experiment: str) -> Run:
    run = ledger.read(paper, experiment, "small")
    assert run is not None
    return run


def test_results_are_sorted_filtered_opened_and_saved(desk: Reader) -> None:
    run, page = recorded("cse", "table1"), desk.page
    desk.open("book/results")
    page.get_by_label("Table", exact=True).select_option("cse/table1")
    page.get_by_role("table", name="CSE, table 1", exact=True).wait_for()  # its numbers are a file of their own
    rows = page.locator(".sb-grid tbody tr")
    methods = {row.method for row in run.metrics}
    assert rows.count() == len(methods)
    page.get_by_label("Encoder", exact=True).fill("cse")
    assert rows.count() == sum("cse" in method.lower() for method in methods)
    page.get_by_label("Encoder", exact=True).fill("")
    # By the keyboard alone: one stop of the tab key, arrows, Enter on a head sorts, Enter on a number opens it.
    assert page.locator(".sb-grid button[tabindex='0']").count() == 1
    page.locator(".sb-grid [data-key='total_avg~pearson']").focus()
    page.keyboard.press("Enter")
    means = {
        method: 100 * np.mean([row.value for row in run.metrics if (row.method, row.dataset) == (method, "total_avg")])
        for method in methods
    }
    best = max(means, key=lambda method: means[method])
    assert rows.first.locator("th").inner_text().startswith(best)
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == numbers.plain(means[best])
    assert numbers.plain(means[best]) in page.locator(".sb-explore .sb-live").inner_text()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog")
    own = [row for row in run.metrics if (row.method, row.dataset) == (best, "total_avg")]
    for row in own:
        assert f"{row.seed}: {numbers.plain(100 * row.value, 2)}" in drawer.inner_text()
    assert readable(own[0].protocol) in drawer.inner_text()
    assert "make run NOTEBOOK=cse/table1 PROFILE=small" in drawer.inner_text()
    to, anchor = str(drawer.locator("a").get_attribute("href")).split("#")
    assert f'id="{anchor}"' in (HTML / "book" / to).read_text(encoding="utf-8")
    reported = summary.printed(summary.reported("cse", "table1"), "pearson")[best, "total_avg"]
    assert numbers.plain(100 * reported) in drawer.locator("dt:text('The paper') + dd").inner_text()
    page.keyboard.press("Escape")
    drawer.wait_for(state="detached")
    assert page.evaluate("document.activeElement.textContent") == numbers.plain(means[best])
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as stream:
        saved = {(one["encoder"], one["data set"], one["seed"]): float(one["value"]) for one in csv.DictReader(stream)}
    kept = {
        (row.method, row.dataset, str(row.seed)): 100 * row.value for row in run.metrics if row.dataset.endswith("avg")
    }
    assert {place: saved[place] for place in kept} == {
        place: pytest.approx(value, abs=1e-3) for place, value in kept.items()
    }
    assert desk.faults == []


def test_a_mean_is_pinned_and_shades_are_shares_of_a_column(phone: Reader) -> None:
    page, cells = phone.page, ".sb-grid tbody td:has([data-cell])"
    phone.open("book/results")

    def column() -> list[tuple[float, float]]:
        """Each number of the first column and its shade."""
        found = page.locator(".sb-grid tbody tr > td:nth-child(3)").all()
        shades = [one.evaluate("cell => Number(cell.style.getPropertyValue('--heat'))") for one in found]
        return [(float(one.inner_text()), shade) for one, shade in zip(found, shades, strict=True)]

    values, shades = zip(*column(), strict=True)
    low, high = min(values), max(values)
    assert shades == pytest.approx([(value - low) / (high - low) for value in values], abs=0.1 / (high - low))
    grounds = page.locator(cells).evaluate_all("cells => cells.map(one => getComputedStyle(one).backgroundColor)")
    assert len(set(grounds)) > 5
    mean = page.locator(".sb-grid tbody td.sb-mean").first
    for pinned in (True, False):
        page.get_by_label("Pin the mean").set_checked(pinned)
        page.locator(".sb-grid").evaluate("box => { box.scrollLeft = 0; }")
        before = mean.bounding_box()
        page.locator(".sb-grid").evaluate("box => { box.scrollLeft = 300; }")
        assert (abs(mean.bounding_box()["x"] - before["x"]) < 2) == pinned
    page.get_by_label("Shades").uncheck()
    page.reload()
    assert not page.get_by_label("Pin the mean").is_checked() and {shade for _, shade in column()} == {0}
    assert phone.faults == []


def test_a_is_held_against_b_by_the_runs_own_test_and_the_address_keeps_it(desk: Reader) -> None:
    run, page = recorded("cross", "matrix"), desk.page
    test = next(one for one in run.tests if one.dataset == "SICK" and one.low < one.high)
    desk.open("book/results")
    page.get_by_label("Table", exact=True).select_option("cross/matrix")
    page.get_by_label("A", exact=True).select_option(readable(test.a))
    page.get_by_label("B", exact=True).select_option(readable(test.b))
    found = page.locator(f".sb-forest tr[data-column='SICK~{test.metric}'] .sb-difference")
    ends = numbers.interval(test.low, test.high, test.metric, signed=True)
    assert len(run.provenance.seeds) > 1 or found.inner_text() == (
        f"{numbers.shown(test.estimate, test.metric, signed=True)} {ends}"
    )
    before, address = found.inner_text(), page.url
    page.goto("about:blank")
    page.goto(address, wait_until="load")
    assert found.inner_text() == before
    page.get_by_text("Columns:").click()
    page.get_by_role("button", name="none", exact=True).click()
    for name in ("SICK", "SIM"):
        page.get_by_label(name, exact=True).check()
    means = (
        page.locator(".sb-grid tbody tr").filter(has_text=test.a.split(" ")[0]).first.locator("td").all_inner_texts()
    )
    assert float(means[0]) == pytest.approx(np.mean([float(value) for value in means[1:]]), abs=0.1)
    assert desk.faults == []


def test_intervals_over_seeds_are_those_of_the_package(desk: Reader) -> None:
    desk.open("book/results")
    for sides in ([[1.0, 2.0, 3.0]], [[2.0]], [[60.1, 61.4, 59.0, 60.2], [58.1, 59.0, 61.3]], [[1.0, 2.0], [5.0]]):
        found = desk.page.evaluate("sides => window.sentbook.overSeeds(...sides)", sides)
        assert found == pytest.approx(seed_spread(*sides), rel=1e-4)


def test_verdicts_follow_filters_and_readings(desk: Reader) -> None:
    page = desk.page
    desk.open("book/verdicts")
    held = json.loads(page.locator("#verdicts-data").text_content() or "")
    claims = [{**one, "verdicts": [list(held["said"])[at] for at in one["verdicts"]]} for one in held["claims"]]

    def shown() -> dict[str, int]:
        items = page.locator("#verdict-explorer [data-verdict]").all()
        return {str(one.get_attribute("data-verdict")): int(one.inner_text().split()[0]) for one in items}

    def counted(reading: int, *leave: str) -> dict[str, int]:
        verdicts = [one["verdicts"][reading] for one in claims if one["paper"] != "ours"]
        return {name: verdicts.count(name) for name in set(verdicts) - set(leave)}

    assert shown() == counted(0)
    page.get_by_label("must lie within the interval").check()
    assert shown() == counted(1) and "exceeded" not in shown()
    page.get_by_label("pairs alone").check()
    assert shown() == counted(3)
    page.get_by_label("Leave out what is out of scale").check()
    assert shown() == counted(3, "out of scale")
    page.reload()
    assert shown() == counted(3, "out of scale")
    changed = next(one for one in claims if one["verdicts"][3] != one["verdicts"][0])
    line = page.locator(f".sb-claim:has(#claim-{changed['id']}) > summary")
    assert changed["verdicts"][3] in line.inner_text() and f"recorded: {changed['verdicts'][0]}" in line.inner_text()
    page.get_by_role("button", name="As recorded, all").click()
    # A sign is reached and its card opened without a mouse.
    first = page.locator("#verdict-explorer .sb-claim-dot[tabindex='0']").first
    first.focus()
    page.keyboard.press("ArrowRight")
    name = page.evaluate("document.activeElement.dataset.of")
    page.keyboard.press("Enter")
    assert page.url.endswith(f"#claim-{name}") and page.locator(f"#claim-{name}").is_visible()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.goto(f"{desk.server}/book/verdicts.html#claim-dnt-05", wait_until="load")
    assert page.locator("#claim-dnt-05").is_visible()
    assert desk.faults == []


def test_dots_are_those_that_the_ledger_has(desk: Reader) -> None:
    claims, page = gather("small").claims, desk.page
    dots = {one["id"]: max(1, len(one["dots"])) for one in verdict_switches.data(claims, {})}

    def smaller(claim: Entry) -> bool:
        scale = specifications()[claim.id].scale
        return bool(scale and (not claim.run or scale.lacking(recorded(claim.paper, claim.experiment))))

    filters: list[tuple[str, str, Callable[[Entry], bool]]] = [
        ("Scale", "", lambda claim: True),
        ("Scale", "smaller", smaller),
        ("Cause", "tested", lambda claim: claim.cause is not None and claim.cause.state == "tested"),
        ("Cause", "none", lambda claim: claim.cause is None),
        ("Verdict", "not reproduced", lambda claim: claim.verdict == "not reproduced"),
        ("Paper", "wsv", lambda claim: not claim.own and claim.paper == "wsv"),
    ]
    desk.open("book/verdicts")
    for label, choice, holds in filters:
        page.get_by_label(label, exact=True).select_option(choice)
        left = [claim for claim in claims if holds(claim)]
        assert page.locator("#verdict-explorer .sb-claim-dot").count() == sum(dots[claim.id] for claim in left) > 0
        assert page.locator("details.sb-claim:visible").count() == len(left)
        page.get_by_role("button", name="As recorded, all").click()
    assert desk.faults == []


def test_a_protocol_is_chosen_and_a_published_number_finds_its_like(desk: Reader) -> None:
    held, page = Held(recorded("cross", "protocols")), desk.page
    desk.open("book/protocols")
    output = page.locator("#protocol-dial output")

    def value(**changes: str) -> str:
        return numbers.plain(100 * held.means[held.named(YEAR, **changes), YEAR])

    assert output.inner_text() == value()
    page.get_by_label("trained head", exact=True).check()
    page.get_by_role("radio", name="Spearman").check()
    page.get_by_label("pooled pairs", exact=True).check()
    page.get_by_label("stems", exact=True).check()
    chosen = {"score": "trained head", "measure": "spearman", "aggregation": "pooled pairs", "tokens": "stems"}
    assert output.inner_text() == value(**chosen)
    page.keyboard.press("ArrowLeft")  # within the tokens
    assert output.inner_text() == value(**chosen | {"tokens": "content"})
    page.reload()
    assert output.inner_text() == value(**chosen | {"tokens": "content"})
    page.get_by_label("A published number").fill("60")
    combinations = [held.means[one["protocol"], YEAR] for one in held.combinations()]
    near = sorted((abs(100 * mean - 60), numbers.plain(100 * mean)) for mean in combinations)
    near = [mean for off, mean in near if off <= 0.5]
    assert page.locator("#protocol-dial .sb-dot").count() == len(combinations)
    assert page.locator(".sb-hits strong").all_inner_texts() == near
    assert page.locator("#protocol-dial .sb-hit").count() == len(near) > 0
    page.locator(".sb-hits button").first.click()
    assert abs(float(output.inner_text()) - 60) <= 0.55
    page.get_by_label("Test set").select_option(label="SICK 2014")
    assert page.get_by_label("pooled pairs", exact=True).is_disabled()
    assert desk.faults == []


# What is tabbed to in an explorer, what is pressed there, and what the address, which then changes, says.
KEYS: dict[str, list[tuple[str, str, str]]] = {
    "book/results": [
        ("#sb-table", "ArrowUp", "table="), (".sb-stack > [type=search]", "e", "find=e"),
        (":not(fieldset) > .sb-check > input", "Space", "pin=no"), (".sb-grid button", "Enter", "sort="),
    ],
    "book/verdicts": [
        ("#sb-paper", "ArrowDown", "paper="), ("#sb-verdict", "ArrowDown", "verdict="),
        ("[name=above]", "ArrowDown", "above="), ("[name=over]", "ArrowDown", "over="),
        (".sb-check > input", "Space", "out="), (".sb-claim-dot", "Enter", "#claim-"),
    ],
    "book/protocols": [
        ("#sb-test-set", "ArrowDown", "set="), ("[name=protocol-score]", "ArrowDown", "score="),
        ("[inputmode=decimal]", "7", "near=7"), (".sb-dot", "Enter", "near=7"),
        (".sb-hits li:nth-child(2) button", "Enter", "near=7"),
    ],
    "book/playground": [
        (".pg-load", "Enter", "e=CSE"), ("#pg-second", "x", "b=x"), ("[name=pg-encoder]", "ArrowUp", "e=PP"),
        (".pg-near button", "Enter", "e=PP"),
    ],
}  # fmt: skip
STANDS = """stop => {
  const at = document.activeElement;
  if (at === document.body) throw Error(`the tab key does not reach ${stop}`);
  return at.matches(stop) && at.matches(':focus-visible') && getComputedStyle(at).outlineStyle !== 'none';
}"""
# Text of an explorer beyond what is seen or can be scrolled to below an edge's shadow.
LOST = """() => {
  const lost = [], box = document.querySelector('.sb-explore, .playground');
  const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(walk.currentNode);
    const text = range.getBoundingClientRect();
    if (!walk.currentNode.data.trim() || !text.width || !walk.currentNode.parentElement.checkVisibility()) continue;
    for (let at = walk.currentNode.parentElement; at; at = at.parentElement) {
      const style = getComputedStyle(at), frame = at.getBoundingClientRect(), root = at === document.documentElement;
      if (style.overflowX === 'visible' && at.tagName !== 'svg' && !root) continue;
      if (style.overflowX === 'auto' && style.backgroundImage.includes('gradient')) break;
      if (text.left < frame.left - 1 || text.right > frame.right + 1) lost.push(walk.currentNode.data);
    }
  }
  return lost;
}"""


@pytest.mark.parametrize("file", KEYS)
def test_an_explorer_is_worked_by_keys_alone_on_every_screen(reader: Reader, file: str) -> None:
    page = reader.page
    for width in (390, 1400, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        reader.open(file)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # to the main content
        for stop, key, said in KEYS[file]:
            page.locator(stop).first.wait_for()
            page.keyboard.press("Tab")
            while not page.evaluate(STANDS, stop):
                page.keyboard.press("Tab")
            before = page.url
            page.keyboard.press(key)
            changed = "([before, said]) => location.href !== before && location.hash.includes(said)"
            page.wait_for_function(changed, arg=[before, said])
            assert page.evaluate("document.activeElement !== document.body"), f"the focus is lost at {stop}"
        assert reader.width() <= width and page.evaluate(LOST) == [] == page.evaluate(CONTRAST, f".sentbook {TEXT}")
    assert reader.faults == []


def test_a_table_of_links_is_one_stop_and_says_what_its_titles_hold(desk: Reader) -> None:
    desk.open("book/runs")
    table = desk.page.locator(".sentbook-table .sb-scroll table").first
    stops = table.locator("a[href]")
    assert stops.count() > 6 and table.locator("a[href][tabindex='0']").count() == 1
    table.locator("a[tabindex='0']").focus()
    before = desk.page.evaluate("document.activeElement.closest('tr').rowIndex")
    desk.page.keyboard.press("ArrowDown")
    assert desk.page.evaluate("document.activeElement.closest('tr').rowIndex") > before


@pytest.mark.parametrize("file", ["book/results", "book/verdicts", "book/protocols"])
def test_without_javascript_a_table_stands_there(browser: Browser, server: str, file: str) -> None:
    with browser.new_context(viewport=DESK, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{server}/{file}.html", wait_until="load")
        assert page.locator("article table:visible").first.locator("td").count() > 20
        assert page.locator("details.sb-claim").count() > 100 or file != "book/verdicts"


def test_a_fault_would_be_seen(browser: Browser, server: str) -> None:
    """The checks above can fail."""
    with browser.new_context(viewport=PHONE) as context:
        reader = Reader(context.new_page(), server)
        reader.open("book/references")
        with reader.page.expect_response("**/missing.png"), reader.page.expect_event("requestfailed"):
            reader.page.evaluate(
                """() => {
                  const wide = document.createElement('div');
                  wide.style.cssText = 'width: 900px; height: 9px';
                  document.querySelector('article').append(wide);
                  const pale = document.createElement('div');
                  pale.className = 'sentbook';
                  pale.innerHTML = '<span style="color: #ccc; background: #fff">pale</span>';
                  document.body.append(pale, Object.assign(new Image(), {src: '/missing.png'}),
                                       Object.assign(new Image(), {src: 'http://outside.invalid/a.png'}));
                  console.error('a fault');
                }"""
            )
        assert "a fault" in reader.faults
        assert any(fault.startswith("404") for fault in reader.faults)
        assert "asked: http://outside.invalid/a.png" in reader.faults
        assert reader.page.evaluate(CONTRAST, ".sentbook span") == ["pale: 1.61"]
        assert reader.width() > PHONE["width"]
