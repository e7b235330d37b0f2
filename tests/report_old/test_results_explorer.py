from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from sentbook.records import Metric, Run
from sentbook.report_old import results_explorer as explorer
from sentbook.report_old.markup import row_key

Check = Callable[[str], object]


def held(text: str) -> Any:
    """The data of a page's script, as the script reads them."""
    [line] = re.findall(r'<script type="application/json" id="results-data">(.*)</script>', text)
    assert "<" not in line
    return json.loads(line)


def test_every_row_of_a_run_is_there_with_its_paper_value_and_place(run: Run, well_formed: Check) -> None:
    untrained = run.metrics[0].model_copy(update={"method": "untrained", "seed": 0})  # another's seeds are not its own
    run = run.model_copy(update={"metrics": [untrained, *run.metrics]})
    text = explorer.fragments([run])[explorer.PAGE]
    one = held(text)["first"]
    assert one["seeds"] == [[0], [1, 2, 3, 4, 5]]
    values = {
        (one["methods"][cell[0]], one["columns"][cell[1]]["key"].partition("~")[0], seed): value
        for cell in one["cells"]
        for seed, value in zip(one["seeds"][cell[4]], cell[5], strict=True)
    }
    assert values == {
        (row.method, row.dataset, row.seed): pytest.approx(100 * row.value, abs=1e-4) for row in run.metrics
    }
    place = [column["key"] for column in one["columns"]].index("STS2013/FNWN~pearson")
    cell = next(cell for cell in one["cells"] if one["methods"][cell[0]] == "CSE" and cell[1] == place)
    assert cell[6] == row_key("CSE", "STS2013/FNWN", "pearson") and cell[9] == pytest.approx(29.8)
    assert one["command"] == "make run NOTEBOOK=cse/table1 PROFILE=small"
    assert len(one["tests"]) == len(run.tests)
    # The parts of a year stand back behind its average; a mean over all is no part of a further mean.
    shown = [column["label"] for column in one["columns"] if "shown" in column]
    assert shown[0] == "STS 2012" and "Total average" in shown and not any("FNWN" in name for name in shown)
    assert [column["key"] for column in one["columns"] if "mean" in column] == ["total_avg~pearson"]
    well_formed(text.splitlines()[0])
    assert 'data-run="small/cse/table1"' in text  # the table without JavaScript leads to the run


def test_a_second_protocol_is_a_column_of_its_own(run: Run) -> None:
    def row(protocol: str, value: float) -> Metric:
        return Metric(method="PP", dataset="d", metric="pearson", protocol=protocol, seed=1, value=value, n=9)

    both = run.model_copy(update={"metrics": [row("cosine, mean", 0.5), row("cosine, pooled", 0.6)], "tests": []})
    columns = explorer.run_data(both)["columns"]
    assert [(column["key"], column.get("how"), "shown" in column) for column in columns] == [
        ("d~pearson", None, True), ("d~pearson~1", "pooled", False),
    ]  # fmt: skip


def test_text_of_a_run_cannot_leave_its_script(run: Run) -> None:
    hostile = [row.model_copy(update={"method": "</script><img src=x>"}) for row in run.metrics[:2]]
    text = explorer.fragments([run.model_copy(update={"metrics": hostile, "tests": []})])[explorer.PAGE]
    assert text.count("</script>") == 1 and "<img" not in text
    assert held(text)["first"]["methods"] == ["</script><img src=x>"]
    assert explorer.fragments([]) == {explorer.PAGE: "No run is recorded yet.\n"}


def test_the_page_brings_its_largest_run_and_names_the_others_that_it_loads(run: Run) -> None:
    small = run.model_copy(update={"experiment": "table2", "metrics": run.metrics[:2], "tests": []})
    made = explorer.fragments([small, run])
    data, [(name, script)] = held(made.pop(explorer.PAGE)), made.items()
    assert [data["first"]["name"], *(one["name"] for one in data["runs"])] == ["cse/table1", "cse/table2", "cse/table1"]
    assert name == "_static/recorded/cse-table2.js" and script.startswith('sentbook.keep({"name":"cse/table2",')
