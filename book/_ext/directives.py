"""Directives that put generated HTML into the hand-written pages, which stand in ``book/``."""

from __future__ import annotations

import re
from collections.abc import Callable

import nbformat
from docutils import nodes
from markupsafe import Markup
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from _ext import claims, data, dial, playground, results, runs
from sentbook.io import root

_CLAIM = re.compile(f"({claims.ID.pattern})")


def from_notebook(argument: str) -> Markup:
    """Return an output of an executed notebook: ``cse/table1 verdict``, or ``figure`` for its first figure."""
    name, kind = argument.split()
    page = nbformat.read(root() / "book" / "_executed" / f"{name}.ipynb", as_version=4)
    outputs = [output.get("data", {}).get("text/html", "") for cell in page.cells for output in cell.get("outputs", [])]
    sign = {"verdict": "sb-verdict", "figure": "sb-plot", "table": "<table"}[kind]
    html = next((html for html in outputs if sign in html), None)
    if html is None:
        raise ExtensionError(f"{name} shows no {kind}, which a page of the book repeats.")
    # Links of the notebook's page, seen from the pages above it.
    folder = name.partition("/")[0]
    html = re.sub(r'href="\.\./\.\./', 'href="', html)
    html = re.sub(r'href="\.\./(?=\w)', 'href="_executed/', html)
    return Markup(re.sub(r'href="(?=\w+\.html)', f'href="_executed/{folder}/', html))


CONTENTS: dict[str, Callable[..., Markup]] = {
    "from-notebook": from_notebook,
    "claims": claims.paper_claims,
    "verdicts": claims.all_verdicts,
    "rules": claims.all_rules,
    "tally": claims.tally,
    "runs": runs.overview,
    "compute": runs.compute,
    "results": results.explorer,
    "protocol-dial": dial.dial,
    "playground": playground.playground,
    "data-sets": data.data_sets,
    "training-corpora": data.training_corpora,
    "overlap": data.overlap,
}


class Generated(SphinxDirective):
    """Insert what the function of the directive's name returns."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the HTML as one raw node."""
        kind = "sb-results" if self.name == "results" else "sentbook"
        body = Markup('<div class="{}">{}</div>').format(kind, CONTENTS[self.name](*self.arguments))
        return [nodes.raw("", str(body), format="html")]


class ClaimLinks(SphinxPostTransform):
    """Link each claim that a text names, such as cse-02, to its card on the page of all verdicts."""

    default_priority = 900

    def run(self, **_: object) -> None:
        """Replace the texts in place."""
        to = self.app.builder.get_relative_uri(self.env.docname, "book/verdicts")
        for text in list(self.document.findall(nodes.Text)):
            skipped = (nodes.reference, nodes.literal, nodes.literal_block, nodes.raw, nodes.title, nodes.comment)
            parts = _CLAIM.split(text.astext())
            if len(parts) == 1 or any(isinstance(one, skipped) for one in _parents(text)):
                continue
            made = [
                nodes.reference("", part, refuri=f"{to}#{part}", internal=True) if at % 2 else nodes.Text(part)
                for at, part in enumerate(parts)
            ]
            text.parent.replace(text, made)


def _parents(node: nodes.Node) -> list[nodes.Node]:
    found = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found
