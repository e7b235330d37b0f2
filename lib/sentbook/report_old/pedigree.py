"""Why this number: the links of tables and figures get their addresses when a page is laid out.

Report functions put each number into a link without an address (`sentbook.report_old.markup.why`), which names its run
and, where it is cheap, the row of the results file. In JupyterLab and in a single file it stays so; in the book it
leads to ``book/_runs/<paper>/<experiment>.html``, of toy data ``<experiment>-demo.html``, and the badges say when a run
is stale.
"""

from __future__ import annotations

import html
import posixpath
import re
from functools import cache
from typing import Any

from sentbook.io import root
from sentbook.records import Run
from sentbook.report_old.markup import badge, row_id
from sentbook.runs import ledger, lineage
from sentbook.runs.contents import listed

RUNS, ALL_RUNS, TOY = "book/_runs", "book/runs", "-demo"
_LINK = re.compile(
    r'<a data-run="(?P<run>[^"]*)"(?: data-row="(?P<row>[^"]*)")?(?P<title> title="[^"]*")?'
    r'(?P<hidden> hidden="")?>(?P<text>.*?)</a>',
    re.DOTALL,
)
_JUDGES = re.compile(
    r"lib/sentbook/(papers/\w+/claims|runs/(claims|limits|recorded|rules|verdict_ledger|verdicts))\.py"
)
_STALE = re.compile(r'<li class="sb-badge sb-badge-stale" hidden="" data-stale="([^"]*)"></li>')


def split(name: str) -> tuple[str, str, str]:
    """``small/cse/table1`` -> paper, experiment, profile; a profile may hold a stroke."""
    profile, paper, experiment = name.rsplit("/", 2)
    return paper, experiment, profile


def changed_since(run: Run) -> list[str]:
    """`sentbook.runs.lineage.changed` without the code that judges alone, which moves no number of a run.

    A verdict has a digest of its own rule, and is judged again from the run's rows. The paper's ``claims.py`` counts
    where the run's notebook or a module beside it takes a name from it.
    """
    own = root() / "lib/sentbook/papers" / run.paper / "claims.py"
    takes = re.compile(rf"papers\.{run.paper}(\.claims import| import [^\n]*\bclaims\b)")
    files = [lineage.notebook_path(run.paper, run.experiment), *own.parent.glob("*.py")]
    used = any(takes.search(one.read_text(encoding="utf-8")) for one in files if one.is_file() and one != own)
    return [name for name in lineage.changed(run) if not _JUDGES.fullmatch(name) or (used and root() / name == own)]


def stale_words(changed: list[str]) -> str:
    """What a badge says of `changed_since`; empty where the run is fresh.

    Example:
        >>> stale_words(["lib/sentbook/optim.py"]), stale_words(["unknown"]), stale_words([])
        ('stale: 1 file changed since', 'sources not recorded', '')
    """
    if changed == lineage.UNKNOWN:
        return "sources not recorded"
    if changed == lineage.EARLIER:
        return "recorded by earlier code"
    return f"stale: {len(changed)} file{'' if len(changed) == 1 else 's'} changed since" if changed else ""


def state_words(run: Run, changed: list[str]) -> str:
    """What a badge says of a run: `stale_words`, and how much of what it found was made by other code than its own."""
    used = run.extra.get("used", {})
    other = used.get("of other code", 0)
    found = f"encoders and scores of other code: {other} of {used['artifacts']}" if other else ""
    return "; ".join(words for words in (stale_words(changed), found) if words)


def linked(body: str, page: str) -> str:
    """Give the links of ``body`` to runs their addresses, and badges that say which of them are stale.

    A number of a run that is not recorded, or has no page in the table of contents, becomes text without a link.

    Args:
        body: HTML of this package's making, or Markdown that holds such.
        page: where it will stand, as in the table of contents, e.g. ``book/_executed/cse/table1``.
    """
    if "data-run=" not in body:
        return body
    folder, pages = posixpath.dirname(page), set(listed(RUNS))

    @cache
    def address(run: str) -> str:
        if "/" not in run:  # a whole profile
            return posixpath.relpath(f"{ALL_RUNS}.html", folder)
        paper, experiment, profile = split(run)
        shown = f"{RUNS}/{paper}/{experiment}"
        known = shown in pages and ledger.path_of(paper, experiment, profile).is_file()
        return posixpath.relpath(f"{shown}{TOY if profile == 'demo' else ''}.html", folder) if known else ""

    def link(found: re.Match[str]) -> str:
        run = html.unescape(found["run"])
        to = address(run)
        if not to:
            return "" if found["hidden"] else found["text"]
        anchor = f"#{row_id(split(run)[2], found['row'] or '')}" if "/" in run else ""
        return f'<a href="{to}{anchor}"{found["title"] or ""}>{found["text"]}</a>'

    @cache
    def words(run: str) -> str:
        recorded = ledger.read(*split(run)) if address(run) else None
        return state_words(recorded, changed_since(recorded)) if recorded is not None else ""

    def state(found: re.Match[str]) -> str:
        run, others = html.unescape(found[1]), {html.unescape(one["run"]) for one in _LINK.finditer(body)}
        full = others & ({f"paper/{run.partition('/')[2]}"} - {run})
        heads = {run: ""} | dict.fromkeys(full, "paper\u2019s size: ")
        return "".join(badge(head + words(name), "stale") for name, head in heads.items() if words(name))

    return _STALE.sub(state, _LINK.sub(link, body))


def link_outputs(notebook: Any, page: str) -> None:
    """`linked` in all outputs of a notebook that is laid out as ``page``."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "data-run=" in (body := "".join(output.get("data", {}).get("text/html", ""))):
                output["data"]["text/html"] = linked(body, page)
