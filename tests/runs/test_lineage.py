"""What a run depends on: code by its imports, notebooks by their code, parameters by value, data by their bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sentbook import records as results
from sentbook.data import sources
from sentbook.runs import lineage
from sentbook.system.paths import root

MODULES = {
    "__init__": '"""A package."""\n',
    "config": "X = 1\n",
    "encoders/__init__": "from sentbook.models.cse import CSE\n",
    "encoders/cse": '"""Words."""\n\nfrom ..config import X\n\nCSE = "# kept" + str(X)  # a comment\n',
    "ablations/__init__": "",
    "ablations/cse": "def late():\n    from sentbook import encoders\n    return encoders\n",
    "ablations/wsv": "from sentbook.config import X\n",
    "report/__init__": "",
    "report/tables": "from sentbook.report import style\n",
    "report/style": "INK = 'black'\n",
}
CODE = "from sentbook.papers import {paper} as ablations\nfrom sentbook.report import tables\n"
CLAIMS = "- {{id: cse-01, paper: cse, text: {cse}}}\n- {{id: wsv-01, paper: wsv, text: {wsv}}}\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout of ten modules and two papers."""
    package = tmp_path / "lib" / "sentbook"
    for name, text in MODULES.items():
        write(package / f"{name}.py", text)
    write(package / "report" / "fragments.css", "td { color: black }\n")
    write(package / "reported" / "cse_table1.csv", "paper,value\n")
    write(package / "reported" / "claims.yaml", CLAIMS.format(cse="one", wsv="two"))
    write(tmp_path / "_toc.yml", "format: jb-book\n")
    write(tmp_path / "requirements.lock", "torch==2.13.0\n")
    for paper in ("cse", "wsv"):
        write(tmp_path / "params" / paper / "demo.yaml", "profile: demo\nseeds: [1]\n")
        write_notebook(tmp_path, paper, CODE.format(paper=paper), "# Table 1")
    monkeypatch.setenv("SENTBOOK_ROOT", str(tmp_path))
    root.cache_clear()
    yield tmp_path
    root.cache_clear()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_notebook(folder: Path, paper: str, code: str, prose: str) -> None:
    cells = [{"cell_type": "markdown", "source": [prose]}, {"cell_type": "code", "source": code.splitlines(True)}]
    write(folder / "notebooks" / paper / "table1.ipynb", json.dumps({"cells": cells}))


def of(paper: str) -> dict[str, str]:
    return lineage.sources(paper, "table1", "demo")


def page_of(paper: str) -> dict[str, str]:
    return lineage.page_sources(paper, "table1", "demo")


def test_code_is_followed_from_import_to_import_and_drawing_is_left_out(checkout: Path) -> None:
    assert [name for name in of("cse") if name.endswith(".py")] == [
        f"lib/sentbook/{name}.py"
        for name in ("__init__", "ablations/__init__", "ablations/cse", "config", "encoders/__init__", "encoders/cse")
    ]
    assert "lib/sentbook/report/style.py" in page_of("cse")
    assert "lib/sentbook/report/fragments.css" in page_of("cse")


@pytest.mark.parametrize(
    ("file", "text", "touched"),
    [
        ("lib/sentbook/config.py", "X = 2\n", {"cse", "wsv"}),
        ("lib/sentbook/encoders/cse.py", "from ..config import X\n\nCSE = '# other' + str(X)\n", {"cse"}),
        ("lib/sentbook/ablations/wsv.py", "from sentbook.config import X as Y\n", {"wsv"}),
        ("lib/sentbook/report/style.py", "INK = 'blue'\n", set()),
        ("params/wsv/demo.yaml", "profile: demo\nseeds: [1, 2]\n", {"wsv"}),
        ("params/cse/small.yaml", "profile: small\n", set()),
        ("lib/sentbook/papers/cse/printed/table1.csv", "paper,value\nCSE,1\n", {"cse"}),
        ("lib/sentbook/papers/claims.yaml", CLAIMS.format(cse="one", wsv="three"), {"wsv"}),
        ("requirements.lock", "torch==2.14.0\n", set()),
    ],
)
def test_a_changed_file_counts_for_the_runs_that_reach_it(
    checkout: Path, file: str, text: str, touched: set[str]
) -> None:
    before = {paper: of(paper) for paper in ("cse", "wsv")}
    write(checkout / file, text)
    assert {paper for paper in ("cse", "wsv") if of(paper) != before[paper]} == touched


def test_what_draws_counts_for_the_page(checkout: Path) -> None:
    for file, text in (("lib/sentbook/report/style.py", "INK = 'blue'\n"), ("requirements.lock", "torch==2.14.0\n")):
        before = page_of("cse")
        write(checkout / file, text)
        assert page_of("cse") != before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "lib/sentbook/encoders/cse.py",
            '"""Other words,\n\nand more."""\nfrom ..config import X  # why\n\n\nCSE = "# kept" + str(X)\n',
        ),
        ("params/cse/demo.yaml", "# why\nseeds: [1]\nprofile: demo\n"),
    ],
)
def test_words_about_code_do_not_count(checkout: Path, file: str, text: str) -> None:
    before = of("cse")
    write(checkout / file, text)
    assert of("cse") == before


def test_of_a_notebook_code_counts_for_the_numbers_and_text_for_the_page(checkout: Path) -> None:
    numbers, page = of("cse"), page_of("cse")
    write_notebook(checkout, "cse", CODE.format(paper="cse"), "# Table 1, in other words")
    assert of("cse") == numbers
    assert page_of("cse") != page
    write_notebook(checkout, "cse", CODE.format(paper="cse") + "seeds = [2]\n", "# Table 1")
    assert of("cse") != numbers


def test_every_notebook_reaches_the_training_loop_and_its_own_claims() -> None:
    found = lineage.sources("dnt", "table4", "small")
    assert {"lib/sentbook/training.py", "lib/sentbook/claims/dnt.py", "params/dnt/small.yaml"} <= set(found)
    assert "lib/sentbook/claims/wsv.py" not in found
    assert not [name for name in found if "/report/" in name]


def test_experiments_across_papers_depend_on_the_papers_parameters() -> None:
    assert {f"params/{paper}/small.yaml" for paper in ("cross", "dnt", "cnn_lstm")} <= set(
        lineage.parameter_sources("cross", "small")
    )


def test_an_experiment_without_a_notebook_is_that_of_a_command() -> None:
    assert "lib/sentbook/data/overlap.py" in lineage.sources("data", "overlap", "small")


@pytest.mark.real_data
def test_data_are_told_by_their_bytes(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "eval/sick2014/SICK_test_annotated.txt"
    assert lineage.data([name]) == {name: sources.sha256(name)}
    copy = tmp_path / name
    copy.parent.mkdir(parents=True)
    shutil.copyfile(mirror / name, copy)
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path))
    assert lineage.data([name]) == {name: sources.sha256(name)}
    copy.write_bytes(copy.read_bytes() + b"\n")
    assert lineage.data([name]) != {name: sources.sha256(name)}


def a_run(**provenance: object) -> results.Run:
    made = {
        "git_commit": "a", "config": {}, "config_hash": "b", "python": "3.11", "device": "cpu", "started": "2026-01-01",
        "wall_seconds": 1, "peak_memory_bytes": 1, "seeds": [1], **provenance,
    }  # fmt: skip
    return results.Run.model_validate({"paper": "cse", "experiment": "table1", "profile": "demo", "provenance": made})


def test_a_run_is_fresh_until_something_that_it_reads_changes(checkout: Path) -> None:
    run = a_run(sources=of("cse"))
    assert lineage.changed(run) == []
    write(checkout / "lib" / "sentbook" / "config.py", "X = 2\n")
    write(checkout / "lib" / "sentbook" / "ablations" / "cse.py", "")
    # What is no longer reached differs too.
    assert set(lineage.changed(run)) == {
        f"lib/sentbook/{name}.py" for name in ("ablations/cse", "config", "encoders/__init__", "encoders/cse")
    }


def test_a_data_file_with_another_digest_makes_a_run_stale(checkout: Path) -> None:
    name = "eval/sick2014/SICK_test_annotated.txt"
    assert lineage.changed(a_run(sources=of("cse"), data={name: sources.sha256(name)})) == []
    assert lineage.changed(a_run(sources=of("cse"), data={name: "0" * 64, "gone": "1"})) == [
        f"data:{name}",
        "data:gone",
    ]


def test_a_run_that_does_not_say_is_unknown() -> None:
    assert lineage.changed(a_run()) == ["unknown"]


def test_what_was_parsed_is_kept_and_a_changed_file_is_parsed_again(checkout: Path) -> None:
    first = of("cse")
    (store,) = (checkout / "build").glob("lineage-*.json")
    lineage._read.cache_clear()
    lineage._kept.cache_clear()
    assert of("cse") == first
    write(checkout / "lib" / "sentbook" / "config.py", "X = 22\n")
    assert of("cse") != first
    store.write_text("{", encoding="utf-8")  # damaged: parsed anew
    lineage._read.cache_clear()
    lineage._kept.cache_clear()
    write(checkout / "lib" / "sentbook" / "config.py", "X = 1\n")
    assert of("cse") == first
