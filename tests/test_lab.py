"""A newcomer in JupyterLab, in a real browser: open a notebook, change a line, run all, write an encoder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [pytest.mark.browser, pytest.mark.long]

# What a cell holds, read from the notebook's model: JupyterLab renders the visible cells alone.
CELLS = "window.jupyterapp.shell.currentWidget.content.model.cells"
READ = f"id => {{ for (const cell of {CELLS}) if (cell.id === id) return cell.toJSON(); }}"
DONE = f"""() => {{
  const code = [...{CELLS}].filter(cell => cell.type === 'code');
  const failed = code.some(cell => cell.toJSON().outputs.some(output => output.output_type === 'error'));
  return failed || code.every(cell => cell.executionState === 'idle' && cell.executionCount > 0);
}}"""
EDIT = f"""id => {{
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = [...{CELLS}].findIndex(cell => cell.id === id);
  notebook.mode = 'edit';
}}"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab over a copy of the notebooks, as `make lab` starts it."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    environment = {
        **os.environ,
        "SENTBOOK_ROOT": str(ROOT),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
    }
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--port=0"]
    command += ["--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True"]
    command += [f"--ServerApp.root_dir={tmp_path / 'notebooks'}"]
    with (tmp_path / "lab.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(120):
            if found := list((tmp_path / "runtime").glob("jpserver-*.json")):
                break
            time.sleep(0.5)
        yield json.loads(found[0].read_text(encoding="utf-8"))["url"]
    finally:
        server.terminate()
        server.wait(timeout=60)


def run_all(page: Page) -> None:
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    time.sleep(2)
    page.wait_for_function(DONE, timeout=240_000)


def cell(page: Page, name: str) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(READ, name)
    assert not [output for output in found["outputs"] if output["output_type"] == "error"]
    return found


def shown(page: Page, name: str) -> str:
    return json.dumps(cell(page, name)["outputs"])


def type_at_end(page: Page, name: str, text: str) -> None:
    page.evaluate(EDIT, name)
    page.keyboard.press("Control+End")
    page.keyboard.type("\n" + text)


def test_a_newcomer_changes_the_encoder_and_writes_one(lab: str, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(f"{lab}lab/tree/cse/table5.ipynb?reset", timeout=120_000)
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=120_000)
    page.wait_for_function("window.jupyterapp.shell.currentWidget.context.sessionContext.isReady", timeout=60_000)
    type_at_end(page, "parameters", "seeds = [1]")
    run_all(page)
    before = shown(page, "table")
    assert "combined" in before

    type_at_end(page, "parameters", 'cse = {"widths": [1, 4]}')
    run_all(page)
    assert shown(page, "table") != before
    assert "max - combined" not in shown(page, "own-training")

    page.evaluate(EDIT, "own-training")  # an encoder that the cell above it defines
    for keys in ("Control+Home", "Shift+End"):
        page.keyboard.press(keys)
    page.keyboard.type("own = True")
    run_all(page)
    assert "max - combined" in shown(page, "own-training")
    if picture := os.environ.get("SENTBOOK_PICTURE"):
        page.screenshot(path=picture)
