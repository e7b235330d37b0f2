from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sentbook.io import DataError
from sentbook.records import Run
from sentbook.report_old import pages

Check = Callable[[str], object]


def test_the_best_recorded_run_is_taken(ledger: Path) -> None:
    runs = pages.recorded("cse")
    assert {name: run.profile for name, run in runs.items()} == {"table1": "small", "table2": "demo"}
    assert pages.recorded("wsv") == {}


def test_status_page(ledger: Path, well_formed: Check) -> None:
    text = pages.status_page(["cse"])
    fragments = [line for line in text.splitlines() if line.startswith("<div")]
    assert [well_formed(fragment) for fragment in fragments]
    assert '<a data-run="small/cse/table1">30.6 min</a>' in text
    assert '<a data-run="demo">61.1 min</a>' in text
    assert "not run" in text and "torch 2.13.0" in text and "Together" in text
    assert pages.status_page(["wsv"]) == "No run is recorded yet.\n"


def test_data_cards(well_formed: Check) -> None:
    entries = {
        "eval/sick2014/SICK_train.txt": {
            "sha256": "c" * 64, "bytes": 1000, "licence": "CC BY-NC-SA", "source": "owner/name", "url": "https://x.example/a",
        },
        "eval/sick2014/SICK_trial.txt": {"sha256": "d" * 64, "bytes": 500, "licence": "CC BY-NC-SA", "source": "o/n"},
        "vectors/v.npy": {"sha256": "e" * 64, "bytes": 9_000_000, "licence": "<script>", "source": "s", "url": None},
    }  # fmt: skip
    text = pages.data_cards(entries, "eval").strip()
    assert (
        'href="https://x.example/a"' in text and "cccccccccccc<" in text and "sick2014" in text and "v.npy" not in text
    )
    well_formed(text)
    vectors = pages.data_cards(entries, "vectors").strip()
    assert "9 MB" in vectors and "<script>" not in vectors and "href" not in vectors
    well_formed(vectors)


def test_overlap_table(run: Run, well_formed: Check) -> None:
    rows = [{"corpus": "captions", "test": "STS2014/images", "sentences": 1200, "share": 0.0421, "pairs": 3000}]
    text = pages.overlap_table(run.model_copy(update={"extra": {"overlap": rows}}))
    well_formed(text.strip())
    assert "4.2 %" in text and "1\u202f200" in text and '<th scope="col" class="sb-first">Corpus</th>' in text
    assert 'data-run="small/cse/table1"' in text
    assert "No training sentence" in pages.overlap_table(run.model_copy(update={"extra": {"overlap": []}}))
    with pytest.raises(DataError, match="no overlap report"):
        pages.overlap_table(run)
