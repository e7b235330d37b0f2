"""Many comparisons as one matrix, scores over shares of the training data, and the drawing of the settings."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from sentbook.records import Metric, Run, Test
from sentbook.report import contrasts
from sentbook.report.markup import Fragment
from sentbook.report.svg import Plot

Check = Callable[[str], ET.Element]
HOSTILE = "<script>alert(1)</script>"


def test_of(a: str, b: str, dataset: str, estimate: float, p: float) -> Test:
    return Test(
        kind="paired bootstrap", a=a, b=b, dataset=dataset, metric="pearson", estimate=estimate,
        low=estimate - 0.01, high=estimate + 0.01, p=p / 4, p_holm=p,
    )  # fmt: skip


test_of.__test__ = False  # type: ignore[attr-defined]  # makes a test of the ledger


@pytest.fixture
def compared(run: Run) -> Run:
    tests = [
        test_of("GRAN [NT] KL", "GRAN [NT] MSE", "SICK", 0.021, 0.001),
        test_of("GRAN [NT] KL", "GRAN [NT] MSE", "SAG", -0.004, 0.7),
        test_of(HOSTILE, "GRAN [NT] MSE", "SAG", 0.3, 0.01),
    ]
    return run.model_copy(update={"paper": "dnt", "experiment": "loss", "tests": tests})


def shared(run: Run) -> Run:
    metrics = [
        Metric(
            method=f"BiLSTM-Avg {row} {share} %", dataset=dataset, metric="pearson", protocol="p", seed=seed,
            value=base + share / 1000 + 0.001 * seed, n=100,
        )
        for row, base in (("[FT] KL", 0.5), ("[DNT] row1", 0.6)) for share in (10, 100)
        for dataset in ("SICK", "STSB-dev", "STS12/avg") for seed in (1, 2, 3)
    ]  # fmt: skip
    metrics.append(
        Metric(method="BiLSTM-Avg [UE]", dataset="SICK", metric="pearson", protocol="p", seed=1, value=0.55, n=100)
    )
    return run.model_copy(update={"paper": "dnt", "experiment": "sample_size", "metrics": metrics})


def test_a_row_a_comparison_and_a_column_a_data_set(compared: Run, well_formed: Check) -> None:
    table = contrasts.matrix(compared, caption="KL against MSE")
    root = well_formed(table.html(style=False))
    heads = ["".join(cell.itertext()) for cell in root.iter("th") if cell.get("scope") == "col"]
    assert heads == ["A \u2212 B", "SICK", "SAG"]
    bold = ["".join(cell.itertext()) for cell in root.iter("strong") if cell.get("class") == "sb-best"]
    assert bold == ["+2.1", "+30.0"]  # p below .05 by Holm
    assert HOSTILE not in table.html()
    assert "**+2.1**" in table.markdown


def test_without_a_run_the_command_is_named() -> None:
    for made in (contrasts.matrix(None, command="make it"), contrasts.share_curves(None, command="make it")):
        assert isinstance(made, Fragment)
        assert "make it" in made.html()


def test_share_curves_tell_their_ends(run: Run) -> None:
    plot = contrasts.share_curves(shared(run), caption="By share")
    assert isinstance(plot, Plot)
    assert "SICK: BiLSTM-Avg [FT] KL from 51.2 to 60.2, BiLSTM-Avg [DNT] row1 from 61.2 to 70.2" in plot.alt
    assert "STSB-dev" not in plot.alt
    assert "STS12" not in plot.alt  # an average of sets is no panel
