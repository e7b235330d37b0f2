"""Build the book from executed notebooks: ``cd book && python -m _ext.build --profile demo``, or ``--pdf``."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from _ext.staging import ROOT, StagingError, stage

HTML = ROOT / "_build" / "html"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def build(profile: str = "demo") -> Path:
    """Lay out the executed notebooks of a profile, build the book strictly, and return its first page.

    The old book stands until the new one is complete.

    Raises:
        StagingError: a notebook was not executed, or the build warned; every warning is an error.
    """
    stage(profile)
    new = _sphinx("html", "-W", "-n", "--keep-going")
    shutil.rmtree(HTML, ignore_errors=True)
    HTML.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(new, HTML)
    return HTML / "index.html"


def pdf() -> Path:
    """Print the book, as one page, with Chromium; return the PDF.

    Raises:
        StagingError: there is no browser, or nothing was printed.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise StagingError("Chromium prints the PDF and is not on the PATH; install it (Debian: apt install chromium).")
    page, target = _sphinx("singlehtml") / "book" / "index.html", ROOT / "_build" / "sentbook.pdf"
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    text, link = page.read_text(encoding="utf-8"), r' href=\\?"(?![a-z]+:)([^"#?\\]+)[^"]*"'
    # Without links to pages that are no part of it.
    page.write_text(re.sub(link, partial(_kept, page.parent), text), encoding="utf-8")
    with tempfile.TemporaryDirectory() as user:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={user}"]
        wait = "--virtual-time-budget=60000"  # MathJax draws the equations first
        command = [browser, *options, wait, f"--print-to-pdf={target}", page.as_uri()]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    if not target.is_file():
        raise StagingError(
            f"{browser} printed nothing: {done.stderr.strip()[-500:] or f'its status is {done.returncode}'}"
        )
    return target


def _kept(folder: Path, link: re.Match[str]) -> str:
    return link[0] if (folder / link[1]).exists() else ""


def _sphinx(builder: str, *strict: str) -> Path:
    """Run Jupyter Book; return the folder that it made.

    ``--all``: an incremental build would keep what directives wrote before a record changed.
    """
    made, log = ROOT / "build" / "book", ROOT / "build" / "book.log"
    for old in (made, ROOT / "book" / "_api"):  # autosummary keeps pages of modules that are gone
        shutil.rmtree(old, ignore_errors=True)
    tool = str(Path(sys.executable).with_name("jupyter-book"))
    command = [tool, "build", str(ROOT), "--path-output", str(made), "--all", "--builder", builder, *strict]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    text = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)
    log.write_text(text, encoding="utf-8")
    if done.returncode:
        faults = [line for line in text.splitlines() if "WARNING" in line or "ERROR" in line] or text.splitlines()[-10:]
        raise StagingError("\n".join(["The book did not build; the whole log is build/book.log.", *faults[:10]]))
    return made / "_build" / builder


def main() -> None:
    """Build the book, or print it, as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="demo")
    parser.add_argument("--pdf", action="store_true", help="print the book to _build/sentbook.pdf")
    options = parser.parse_args()
    try:
        print(pdf() if options.pdf else build(options.profile))
    except StagingError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
