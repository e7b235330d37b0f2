"""The built book in a real browser, light and dark, wide and on a phone, with no host but this one.

Some pages are read in each run of the tests, every page with ``-m long``. What a reader can turn is turned: typed,
clicked, moved by the keyboard, and the number that then stands there is compared with the recorded runs.
"""

from __future__ import annotations

import csv
import functools
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Request

from sentbook.evaluation.statistics import seed_spread
from sentbook.papers.cross.protocol_tables import YEAR, Held
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.names import readable
from sentbook.report.pedigree import listed
from sentbook.runs import ledger

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}

pytestmark = [pytest.mark.browser, pytest.mark.slow]


PAGES = ["book/index", *listed("book")]
FEW = ("book/cse", "book/results", "book/verdicts", "book/protocols", "book/_executed/cse/table1")
EACH = [page if page in FEW else pytest.param(page, marks=pytest.mark.long) for page in PAGES]


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of the built book."""
    if not (HTML / "index.html").is_file():
        pytest.skip("the book is not built; run `make book`")
    handler = functools.partial(_Silent, directory=str(HTML))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


@dataclass
class Reader:
    """A tab that writes down all that goes wrong in it."""

    page: Page
    server: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page, faults = self.page, self.faults
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("requestfailed", self._failed)
        page.on(
            "response", lambda answer: faults.append(f"{answer.status}: {answer.url}") if answer.status >= 400 else None
        )
        page.on(
            "request", lambda request: faults.append(f"asked: {request.url}") if self._outside(request.url) else None
        )

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the reader went on before all was there
            self.faults.append(f"failed: {request.url}")

    def _outside(self, url: str) -> bool:
        parts = urlsplit(url)
        return parts.scheme not in ("data", "blob") and f"{parts.scheme}://{parts.netloc}" != self.server

    def open(self, file: str, *, folded: bool = False) -> None:
        """Open a page, and all that its main table stands before."""
        self.page.goto(f"{self.server}/{file}.html", wait_until="load")
        if not folded:
            self.page.evaluate("() => document.querySelectorAll('.sb-procedure').forEach(part => part.open = true)")
        self.page.evaluate("() => window.MathJax?.startup?.promise?.then(() => true)")

    def width(self) -> int:
        """Of all that can be scrolled to, in pixels."""
        return self.page.evaluate("() => document.scrollingElement.scrollWidth")


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
    text = ":is(th, td, span, strong, li, p, dt, dd, a, summary, figcaption, button, legend, output, small)"
    assert page.evaluate(CONTRAST, f".sentbook {text}") == []


def test_a_notebooks_page_shows_its_main_table_first_with_the_rest_folded(reader: Reader) -> None:
    reader.open("book/_executed/cse/table1", folded=True)
    main = reader.page.locator(".tag_main-table table").first
    assert main.is_visible() and main.locator("tbody tr").count() >= 2
    at = main.bounding_box()
    assert at is not None and at["y"] < 1500
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
    # A wide table scrolls and its first column stays.
    for box in phone.page.locator(".sb-scroll:visible").all():
        wide = box.evaluate("element => element.scrollWidth > element.clientWidth + 1")
        first = box.locator("tbody tr:not(.sb-group) th.sb-first:not(.sb-wrap)").first
        if not wide or first.count() == 0:
            continue
        before = first.bounding_box()
        box.evaluate("element => { element.scrollLeft = element.scrollWidth; }")
        after = first.bounding_box()
        assert before is not None and after is not None
        assert abs(before["x"] - after["x"]) <= 2
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


def test_search_finds_a_page(reader: Reader) -> None:
    reader.page.goto(f"{reader.server}/search.html?q=convolution", wait_until="networkidle")
    reader.page.wait_for_selector("#search-results li a", timeout=10_000)
    assert any("cse" in str(link.get_attribute("href")) for link in reader.page.locator("#search-results li a").all())
    assert reader.faults == []


def test_the_first_page_leads_to_the_book(reader: Reader) -> None:
    reader.page.goto(f"{reader.server}/index.html", wait_until="networkidle")
    reader.page.wait_for_url("**/book/index.html")
    assert reader.faults == []


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


@pytest.fixture
def desk(browser: Browser, server: str) -> Iterator[Reader]:
    """A reader at a desk, in light mode."""
    with browser.new_context(viewport=DESK, accept_downloads=True) as context:
        yield Reader(context.new_page(), server)


def recorded(paper: str, experiment: str) -> Run:
    run = ledger.read(paper, experiment, "small")
    assert run is not None
    return run


def test_results_are_sorted_filtered_opened_and_saved(desk: Reader) -> None:
    run, page = recorded("cse", "table1"), desk.page
    desk.open("book/results")
    page.get_by_label("Table", exact=True).select_option("cse/table1")
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
    for sides in (
        [[1.0, 2.0, 3.0]],
        [[2.0]],
        [[60.1, 61.4, 59.0, 60.2, 60.9], [58.1, 59.0, 61.3]],
        [[1.0, 2.0], [5.0]],
    ):
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

    recorded_counts = json.loads((ROOT / "results/small/verdicts.json").read_text(encoding="utf-8"))["counts"]
    by_paper = [counts for paper, counts in recorded_counts.items() if paper != "ours"]
    assert shown() == counted(0)
    assert shown()["reproduced"] == sum(counts["reproduced"] for counts in by_paper)
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
    page.get_by_label("Paper", exact=True).select_option("wsv")
    assert page.locator("details.sb-claim:visible").count() == sum(one["paper"] == "wsv" for one in claims)
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
    near = sum(abs(100 * mean - 60) <= 0.5 for mean in combinations)
    assert page.locator("#protocol-dial .sb-dot").count() == len(combinations)
    assert page.locator("#protocol-dial .sb-hit").count() == page.locator(".sb-hits li").count() == near > 0
    page.locator(".sb-hits button").first.click()
    assert abs(float(output.inner_text()) - 60) <= 0.55
    page.get_by_label("Test set").select_option(label="SICK 2014")
    assert page.get_by_label("pooled pairs", exact=True).is_disabled()
    assert desk.faults == []


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
    own = sum(path.stat().st_size for path in (HTML / "_static" / "explore").iterdir())
    assert (HTML / f"{file}.html").stat().st_size + own < 600_000


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
