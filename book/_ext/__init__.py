"""The book's Sphinx extension, named in ``_config.yml``: directives over claims and runs, and the pages behind them."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from _ext import api, directives, results, runs


def setup(app: Sphinx) -> dict[str, Any]:
    """Register directives and events with Sphinx."""
    for name in directives.CONTENTS:
        app.add_directive(name, directives.Generated)
    app.add_post_transform(directives.ClaimLinks)
    app.connect("builder-inited", runs.write_pages)
    app.connect("build-finished", results.write_script)
    app.connect("autodoc-process-docstring", api.markdown_to_rst, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
