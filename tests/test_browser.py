"""The built book in a real browser, light and dark, wide and on a phone, with no host but this one.

Three pages are read in each run of the tests, every page with ``-m long``.
"""

from __future__ import annotations

import functools
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from sentbook.report.pedigree import listed

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}

pytestmark = [pytest.mark.browser, pytest.mark.slow]


PAGES = ["book/index", *listed("book")]
FEW = ("book/cse", "book/verdicts", "book/_executed/cse/table1")
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


@pytest.fixture(scope="module")
def browser(server: str) -> Iterator[Browser]:
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip("no Chromium on the PATH; install one (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, headless=True, args=FLAGS)
        yield running
        running.close()


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
        page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))
        page.on(
            "response", lambda answer: faults.append(f"{answer.status}: {answer.url}") if answer.status >= 400 else None
        )
        page.on(
            "request", lambda request: faults.append(f"asked: {request.url}") if self._outside(request.url) else None
        )

    def _outside(self, url: str) -> bool:
        parts = urlsplit(url)
        return parts.scheme not in ("data", "blob") and f"{parts.scheme}://{parts.netloc}" != self.server

    def open(self, file: str) -> None:
        self.page.goto(f"{self.server}/{file}.html", wait_until="load")
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
    for drawing in page.locator(".sb-plot svg, .sb-diagram").all():
        assert drawing.is_visible()
        ink = drawing.evaluate("svg => getComputedStyle(svg).getPropertyValue('--sb-ink').trim()")
        assert ink == {"light": "#1f2328", "dark": "#e8eaed"}[mode]
    assert page.evaluate(CONTRAST, ".sentbook :is(th, td, span, strong, li, p, dt, dd, a, summary, figcaption)") == []


def test_a_notebooks_page_shows_its_tables_with_the_code_folded(reader: Reader) -> None:
    reader.open("book/_executed/cse/table1")
    main = reader.page.locator(".sentbook-table table").first
    assert main.is_visible() and main.locator("tbody tr").count() >= 2
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
