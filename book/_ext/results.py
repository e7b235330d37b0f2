"""All recorded numbers as one table that a reader sorts and filters: itables, with DataTables served from the book."""

from __future__ import annotations

import re
from pathlib import Path

import itables
import pandas as pd
from itables.javascript import generate_init_offline_itables_html
from markupsafe import Markup
from sphinx.application import Sphinx

from _ext.runs import FOLDER, recorded
from sentbook.io import ConfigError
from sentbook.judge import printed
from sentbook.report import numbers, summary

_SCRIPT = "itables.js"
_LINK = f"""function (name, type, row) {{
  return type === 'display' ? `<a href="{FOLDER}/${{row[1]}}/${{name}}.html">${{name}}</a>` : name;
}}"""


def frame() -> pd.DataFrame:
    """Return a row per run, method, data set, metric and protocol: the paper's number, ours, and how ours was made."""
    rows = []
    for run in recorded():
        try:
            paper = summary.Values.printed(printed.table(run.paper, run.experiment))
        except ConfigError:  # the paper prints nothing for this page
            paper = summary.Values.printed(pd.DataFrame())
        for key, by_protocol in summary.Values.measured(run, None).cells.items():
            method, dataset, metric = key
            theirs = paper.mean(*key)
            for protocol, values in by_protocol.items():
                rows.append(
                    {
                        "Run": run.name,
                        "Profile": run.profile,
                        "Method": method,
                        "Data set": summary.full_name(dataset),
                        "Metric": numbers.name(metric, short=True),
                        "Paper": "" if theirs is None else _sortable(theirs, metric),
                        "Ours": _sortable(sum(values) / len(values), metric),
                        "Seeds": len(values),
                        "Protocol": protocol,
                    }
                )
    return pd.DataFrame(rows)


def _sortable(value: float, metric: str) -> str:
    """Print a value as DataTables recognises a number: without the house's minus sign and thousands separator."""
    return numbers.shown(value, metric).replace(numbers.MINUS, "-").replace(",", "")


def explorer() -> Markup:
    """Return the table with a search field, a filter under each header, and pages of 25 rows."""
    html = itables.to_html_datatable(
        frame(),
        table_id="results-table",
        connected=False,
        showIndex=False,
        maxBytes=0,
        column_filters="header",
        columnDefs=[{"targets": 0, "render": itables.JavascriptFunction(_LINK)}],
        pageLength=25,
        classes="display compact",
        text_in_header_can_be_selected=False,
    )
    return Markup('<script src="../_static/{}"></script>{}').format(_SCRIPT, Markup(html))


def write_script(app: Sphinx, exception: Exception | None) -> None:
    """Write DataTables, as itables brings it, to the built book."""
    if exception is None and app.builder.format == "html":
        bundle = Path(itables.__file__).parent / "html" / "dt_bundle.js"
        script = re.search(r"<script>(.*?)</script>", generate_init_offline_itables_html(bundle), re.DOTALL)
        assert script is not None
        (Path(app.outdir) / "_static" / _SCRIPT).write_text(script[1], encoding="utf-8")
