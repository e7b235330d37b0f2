"""A newcomer in JupyterLab, in a real browser: open a page, run all, change the encoder, run all again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [pytest.mark.browser, pytest.mark.long]

# Cells are read from the notebook's model: JupyterLab renders the visible ones alone.
CELLS = "[...window.jupyterapp.shell.currentWidget.content.model.cells]"
SHOWN = (
    f"tag => {CELLS}.filter(cell => (cell.getMetadata('tags') || []).includes(tag))"
    ".map(cell => cell.toJSON().outputs.map(output => output.data))"
)
DONE = f"""() => {{
  const code = {CELLS}.filter(cell => cell.type === 'code');
  const failed = code.some(cell => cell.toJSON().outputs.some(output => output.output_type === 'error'));
  return failed || code.every(cell => cell.executionState === 'idle' && cell.executionCount > 0);
}}"""
EDIT = f"""() => {{
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = {CELLS}.findIndex(cell => (cell.getMetadata('tags') || []).includes('parameters'));
  notebook.mode = 'edit';
}}"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab over a copy of the notebooks, as `make lab` starts it."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("RUNTIME", "CONFIG", "DATA")}
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--port=0"]
    command += ["--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True"]
    command += [f"--ServerApp.root_dir={tmp_path / 'notebooks'}"]
    with (tmp_path / "lab.log").open("wb") as log:
        environment = {**os.environ, "SENTBOOK_ROOT": str(ROOT), **folders}
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while not (found := list((tmp_path / "RUNTIME").glob("jpserver-*.json"))) and time.monotonic() < until:
            time.sleep(0.5)
        yield json.loads(found[0].read_text(encoding="utf-8"))["url"]
    finally:
        server.terminate()
        server.wait(timeout=60)


def run_all(page: Page) -> str:
    """Run all cells; return what the cells of the reader's own run show."""
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    time.sleep(2)
    page.wait_for_function(DONE, timeout=240_000)
    shown = json.dumps(page.evaluate(SHOWN, "your-run"))
    assert '"output_type": "error"' not in json.dumps(page.evaluate(CELLS + ".map(cell => cell.toJSON())"))
    return shown


def type_parameter(page: Page, text: str) -> None:
    page.evaluate(EDIT)
    page.keyboard.press("Control+End")
    page.keyboard.type("\n" + text)


def test_a_newcomer_changes_the_encoder_and_sees_the_own_run(lab: str, browser: Browser) -> None:
    results = {file: file.stat().st_mtime_ns for file in ROOT.glob("results/**/*.*")}
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(f"{lab}lab/tree/cse/table1.ipynb?reset", timeout=120_000)
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=120_000)
    page.wait_for_function("window.jupyterapp.shell.currentWidget.context.sessionContext.isReady", timeout=60_000)
    type_parameter(page, "seeds = [1]")
    before = run_all(page)
    assert "seeds" in before and "<table" in before
    assert run_all(page) == before  # all cells twice
    type_parameter(page, 'cse = {"widths": [1]}')
    after = run_all(page)
    assert after != before and "widths" in after
    assert {file: file.stat().st_mtime_ns for file in ROOT.glob("results/**/*.*")} == results
