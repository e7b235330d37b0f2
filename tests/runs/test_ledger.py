from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sentbook import io
from sentbook import records as results
from sentbook.io import DataError
from sentbook.runs import ledger as store


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    return tmp_path


def run(**changes: Any) -> results.Run:
    made = results.Run(
        paper="cse",
        experiment="table1",
        profile="demo",
        provenance=results.Provenance(
            git_commit="unknown", config={"margin": 0.4, "seeds": [1, 2]}, config_hash="abc", python="3.11.0",
            device="cpu", started="2026-01-01T00:00:00+00:00", wall_seconds=1.5, peak_memory_bytes=1, seeds=[1, 2],
        ),
        metrics=[
            results.Metric(
                method="CSE", dataset="STS2012/MSRpar", metric="pearson", protocol="cosine", seed=seed, value=0.5, n=750
            )
            for seed in (1, 2)
        ],
        tests=[
            results.Test(kind="paired bootstrap", a="CSE", b="PP", dataset="total_avg", metric="pearson",
                         estimate=0.01, low=-0.01, high=0.03, p=0.4)
        ],
        claims=[results.Claim(id="cse-02", text="t", source="s", rule="beats", verdict="inconclusive", evidence="e")],
    )  # fmt: skip
    return made.model_copy(update=changes)


texts = st.text(max_size=30) | st.sampled_from(["{\n  }", '{"a": [\n 1 ]}', "}\n{", "−", "\u2028", '"', "\\n"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(evidence=texts, extra=st.dictionaries(texts, values, max_size=4))
def test_the_layout_of_the_file_changes_no_content(ledger: Path, evidence: str, extra: dict[str, Any]) -> None:
    claim = results.Claim(id="x", text=evidence, source="s", rule="r", verdict="not run", evidence=evidence)
    made = run(claims=[claim], extra=extra)
    path = store.write(made)
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(made.model_dump_json())
    assert store.read("cse", "table1", "demo") == made


def test_a_row_takes_a_line_and_writing_twice_changes_nothing(ledger: Path) -> None:
    path = store.write(run())
    assert path == ledger / "results" / "demo" / "cse" / "table1.json" and store.read("cse", "table2", "demo") is None
    first = path.read_text(encoding="utf-8")
    rows = [line for line in first.splitlines() if '"dataset": "STS2012/MSRpar"' in line]
    assert len(rows) == 2 and all(json.loads(row.strip().removesuffix(","))["n"] == 750 for row in rows)
    store.write(run())
    assert path.read_text(encoding="utf-8") == first


ODD = ["", "{", "[]", '{"paper": "cse"}', "<html>404</html>", "null"]
OTHER_SCHEMA = [{"schema_version": 2}, {"unknown": 1}, {"metrics": [{"method": "CSE"}]}]


@pytest.mark.parametrize("content", [*ODD, *OTHER_SCHEMA])
def test_what_is_not_a_run_is_refused_with_the_command_that_mends_it(ledger: Path, content: Any) -> None:
    path = store.write(run())
    text = content if isinstance(content, str) else json.dumps(run().model_dump(mode="json") | content)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"not a recorded run of schema 1.*make run NOTEBOOK=cse/table1 PROFILE=demo"):
        store.read("cse", "table1", "demo")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_no_number_that_is_none(bad: float) -> None:
    with pytest.raises(ValidationError):
        results.Metric(method="a", dataset="b", metric="c", protocol="d", seed=1, value=bad, n=1)
    with pytest.raises(ValidationError):
        results.Test(kind="k", a="a", b="b", dataset="d", metric="m", estimate=0, low=bad, high=1)


def test_misspelt_fields_and_verdicts_are_refused() -> None:
    with pytest.raises(ValidationError):
        results.Metric(method="a", dataset="b", metric="c", protocol="d", seed=1, value=1, n=1, sead=2)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        results.Claim(id="x", text="t", source="s", rule="r", verdict="sort of", evidence="e")  # type: ignore[arg-type]


def test_the_commit_is_of_the_checkouts_own_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a module that git does not know the code is another one; what was unpacked in a repository has no commit."""
    monkeypatch.setattr(io, "root", lambda: tmp_path)
    assert io.git_commit() == "unknown"
    for words in ("init -q", "-c user.name=a -c user.email=a commit -q --allow-empty -m one"):
        subprocess.run(["git", "-C", str(tmp_path), *words.split()], check=True)
    commit = io.git_commit()
    assert re.fullmatch("[0-9a-f]{40}", commit)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "new.py").touch()
    assert io.git_commit() == f"{commit}+changes"
    monkeypatch.setattr(io, "root", lambda: tmp_path / "lib")
    assert io.git_commit() == "unknown"
