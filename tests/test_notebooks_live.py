"""Each notebook as a reader of JupyterLab uses it: run again in the same kernel, changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from sentbook.runs import forkserver
from sentbook.runs.contents import is_lesson
from sentbook.runs.kernels import PrivateKernelManager

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = [path for path in sorted(ROOT.glob("notebooks/*/*.ipynb")) if not is_lesson(path)]
# A reader's own variables, spelt as names that cells, the package and IPython use.
SCRATCH = "results = [1, 2]; found = {'a': 1}; margin = 0.4; i = 0; note = 'mine'"


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.fixture(scope="module")
def server() -> Iterator[None]:
    """Kernels are forked, where each would import torch and pandas for itself."""
    with forkserver.served():
        yield


@pytest.fixture(params=NOTEBOOKS, ids=name)
def live(server: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[NotebookClient]:
    """A notebook and a running kernel in the notebook's folder, as JupyterLab starts it."""
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(request.param, as_version=4)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(request.param.parent)}},
        kernel_manager_class=PrivateKernelManager,
    )  # fmt: skip
    with client.setup_kernel():
        yield client


def tagged(client: NotebookClient, tag: str) -> int:
    (position,) = (at for at, cell in enumerate(client.nb.cells) if tag in cell.metadata.get("tags", []))
    return position


def run(client: NotebookClient, first: int = 0) -> None:
    for position, cell in enumerate(client.nb.cells):
        if position >= first and cell.cell_type == "code":
            client.execute_cell(cell, position)


def main_table(client: NotebookClient) -> str:
    cell = client.nb.cells[tagged(client, "main-table")]
    return "".join(output["data"]["text/html"] for output in cell.outputs if "text/html" in output.get("data", {}))


@pytest.mark.slow
def test_a_change_shows_when_all_cells_run_again(live: NotebookClient) -> None:
    parameters = live.nb.cells[tagged(live, "parameters")]
    default = parameters.source
    parameters.source = default + "\nseeds = [1]"
    run(live)
    before = main_table(live)
    assert before
    live.nb.cells.append(nbformat.v4.new_code_cell(SCRATCH))
    live.execute_cell(live.nb.cells[-1], len(live.nb.cells) - 1)
    live.nb.cells.pop()
    parameters.source = default + "\nseeds = [2]"
    run(live)
    assert main_table(live) != before
