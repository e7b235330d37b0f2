"""What tests of several rooms share."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import hypothesis
import nbformat
import pytest
import torch
import yaml
from _ext.build import BROWSERS
from nbformat import v4
from playwright.sync_api import Browser, sync_playwright

from kept import forget
from reader import DESK, HTML, Reader
from sentbook.io import root

HERE = Path(__file__).resolve().parents[1]


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.register_profile("untimed", deadline=None)  # machines are shared
    hypothesis.settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep a file's tests on one worker, where they share what they train."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(str(item.path)))


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Leave the other cores to the other workers."""
    torch.set_num_threads(1)


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Nothing that the package kept is there before, and no stand-in of the test after."""
    forget()
    yield
    forget()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what is derived from data is kept, in an empty cache."""
    monkeypatch.setenv("SENTBOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "derived"


@pytest.fixture
def originals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgetful: None) -> Path:
    """A folder of originals, beside an empty mirror and an empty cache; nothing is there."""
    for name in ("ORIGINALS", "DATA", "CACHE"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(f"SENTBOOK_{name}", str(tmp_path / name))
    return tmp_path / "ORIGINALS"


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of real data, which the test then uses; the test is skipped where there is none."""
    folder = Path(os.environ.get("SENTBOOK_DATA") or HERE.parent / "shared" / "data").resolve()
    if not folder.is_dir():
        pytest.skip(f"no mirror of real data at {folder}; set SENTBOOK_DATA")
    monkeypatch.setenv("SENTBOOK_DATA", str(folder))
    return folder


@pytest.fixture(autouse=True)
def with_real_data(request: pytest.FixtureRequest) -> None:
    """A test that is marked ``real_data`` has the mirror, or is skipped."""
    if request.node.get_closest_marker("real_data"):
        request.getfixturevalue("mirror")


@pytest.fixture
def artifacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the test's encoders and kept scores go; nothing is there yet."""
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    return tmp_path / "artifacts"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Books and artifacts of one module: what one test makes, the next one finds."""
    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_CACHE", str(folder / "cache"))
        patch.setenv("SENTBOOK_ARTIFACTS", str(folder / "artifacts"))
        yield


FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A running headless Chromium; the test is skipped where there is none."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip("no Chromium on the PATH; install one (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, headless=True, args=FLAGS)
        yield running
        running.close()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of the built book."""
    if not (HTML / "index.html").is_file():
        pytest.skip("the book is not built; run `make book`")
    handler = partial(_Silent, directory=str(HTML))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


@pytest.fixture
def desk(browser: Browser, server: str) -> Iterator[Reader]:
    """A reader at a desk, in light mode."""
    with browser.new_context(viewport=DESK, accept_downloads=True) as context:
        yield Reader(context.new_page(), server)


def write_notebook(checkout: Path, name: str, *cells: str, prose: str = "# A toy") -> Path:
    """Write ``toy/<name>``: a title, a cell of parameters, and ``cells``."""
    parameters = v4.new_code_cell('profile = "demo"', metadata={"tags": ["parameters"]})
    content = [v4.new_markdown_cell(prose), parameters, *(v4.new_code_cell(cell) for cell in cells)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = checkout / "notebooks" / "toy" / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=content, metadata={"kernelspec": kernel}), path)
    return path


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder with the notebooks ``toy/one`` and ``toy/two``, their parameters and the Snakefile; work in it."""
    monkeypatch.setenv("SENTBOOK_ROOT", str(tmp_path))
    monkeypatch.delenv("SENTBOOK_ARTIFACTS", raising=False)
    for name in ("one", "two"):
        write_notebook(tmp_path, name, "print('epoch 1')", f"profile + '-{name}'")
    (tmp_path / "params" / "toy").mkdir(parents=True)
    (tmp_path / "params" / "toy" / "demo.yaml").write_text("profile: demo\n")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.md").write_text("# Toy\n")
    pages = [{"file": "book/_executed/toy/one"}, {"file": "book/_executed/toy/two"}]
    toc = {"format": "jb-book", "root": "book/index", "parts": [{"caption": "Toys", "chapters": pages}]}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc))
    (tmp_path / "_config.yml").write_text("execute: {execute_notebooks: 'off'}\n")
    for name in ("Snakefile", "requirements.lock"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "lib" / "sentbook" / "papers").mkdir(parents=True)
    (tmp_path / "lib" / "sentbook" / "papers" / "grid.yaml").write_text("{}")
    shutil.copytree(HERE / "workflow", tmp_path / "workflow")
    root.cache_clear()
    yield tmp_path
    root.cache_clear()


@pytest.fixture
def write(checkout: Path) -> Callable[..., Path]:
    """Write a notebook of the checkout, see `write_notebook`."""
    return partial(write_notebook, checkout)
