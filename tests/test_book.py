"""What the book's extension makes before Sphinx reads it: pages of notebooks, docstrings, data of the explorers."""

from __future__ import annotations

import nbformat
from _ext import api, staging
from nbformat import v4


def code(source: str, *outputs: nbformat.NotebookNode, tags: tuple[str, ...] = ()) -> nbformat.NotebookNode:
    return v4.new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)}, execution_count=3)


def printed_text(text: str, name: str = "stdout") -> nbformat.NotebookNode:
    return v4.new_output("stream", name=name, text=text)


def test_a_page_folds_code_and_shows_neither_progress_nor_this_machine() -> None:
    noise = f"[CSE] epoch 1/3\n[[0.1 0.2]\nread {staging.ROOT}/build/x at 2026-11-29T10:11:12\n"
    page = staging.lay_out(
        v4.new_notebook(
            cells=[
                v4.new_markdown_cell("# A page"),
                code("x", printed_text(noise), printed_text("a warning", "stderr")),
                code(
                    "model",
                    printed_text("[PP [UE], seed 1, stage 2] stopped\nwaiting for another process\n"),
                    tags=("show-code",),
                ),
                code("profile = 'demo'", tags=("injected-parameters",)),
            ]
        )
    )
    folded, shown = page.cells[1:]
    assert folded.metadata.tags == ["hide-input"] and shown.metadata.tags == ["show-code"]
    assert [output.text for output in folded.outputs] == [
        "[[0.1 0.2]\nread ./build/x at 2026-11-29\n"
    ] and shown.outputs == []
    assert folded.execution_count is None


def test_one_line_replaces_what_the_reader_s_own_run_shows() -> None:
    table = v4.new_output("display_data", {"text/html": "<td>12.3</td>"})
    cells = [code("x", table), code("y", table, tags=("your-run",)), code("z", table, tags=("your-run",))]
    page = staging.lay_out(v4.new_notebook(cells=cells), "Demo run finished: 31 numbers in 9 s.")
    assert [[output.get("text", "html") for output in cell.outputs] for cell in page.cells] == [
        ["html"], ["Demo run finished: 31 numbers in 9 s."], [],
    ]  # fmt: skip
    assert staging.lay_out(v4.new_notebook(cells=cells)).cells[1].outputs == []


def test_a_docstring_s_equations_and_tables_reach_sphinx() -> None:
    lines = ["A loss of |a| words_.", "", "$$x_{1} = |a|,", "  y$$", "", "with $a_i$.", "", "| a | b |", "|---|---|"]
    api.markdown_to_rst(None, "", "", None, None, lines)  # type: ignore[arg-type]
    text = "\n".join(lines)
    assert "A loss of \\|a\\| words\\_." in text and ".. math:: x_{1} = |a|, y" in text
    assert "with :math:`a_i`." in text and "::\n\n    | a | b |" in text
