"""A reader of the built book in a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, Request

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
DESK = {"width": 1280, "height": 900}


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

    def open(self, file: str) -> None:
        """Open a page, and all that its main table stands before."""
        self.page.goto(f"{self.server}/{file}.html", wait_until="load")
        self.page.evaluate("() => document.querySelectorAll('.sb-procedure').forEach(part => part.open = true)")
        self.page.evaluate("() => window.MathJax?.startup?.promise?.then(() => true)")
        self.faults += [f"{file}: a wrong formula"] * self.page.locator("[data-mml-node=merror]").count()

    def width(self) -> int:
        """Of all that can be scrolled to, in pixels."""
        return self.page.evaluate("() => document.scrollingElement.scrollWidth")
