from __future__ import annotations

import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from sentbook.io import ConfigError, root
from sentbook.records import Run
from sentbook.report_old import diagram, figures, summary
from sentbook.report_old.style import PALETTE, style_sheet
from sentbook.report_old.svg import Plot

Check = Callable[[str], object]
RANDOM = np.random.default_rng(0)
GOLD = RANDOM.uniform(0, 5, 600)
SCORES = {"PP": GOLD / 5 + RANDOM.normal(0, 0.2, 600), "CSE": GOLD / 5 + RANDOM.normal(0, 0.1, 600)}
DRAW: dict[str, Callable[[Run], Plot]] = {
    "training_curves": lambda run: figures.training_curves(run, caption="Validation"),
    "forest": lambda run: figures.forest(run, a="CSE", b="PP"),
    "paired_dots": lambda run: figures.paired_dots(run, summary.reported("cse", "table1"), a="CSE", b="PP"),
    "bars": lambda run: figures.ablation_bars(run, datasets=["STS2012/avg", "SICK2014"]),
    "differences": lambda run: figures.ablation_bars(run, datasets=["STS2012/avg", "SICK2014"], reference="PP"),
    "scatter": lambda run: figures.scatter(GOLD, SCORES),
    "small scatter": lambda run: figures.scatter(GOLD[:50], {"CSE": SCORES["CSE"][:50]}),
    "heat map": lambda run: figures.error_heatmap(
        RANDOM.uniform(0, 1, 600), GOLD, {name: np.abs(5 * score - GOLD) for name, score in SCORES.items()}
    ),
}


@pytest.mark.parametrize("name", DRAW)
def test_figures_are_well_formed_and_follow_the_theme(name: str, run: Run, well_formed: Check) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot = DRAW[name](run)
    html = plot._repr_html_()
    well_formed(html)
    drawings = [drawing for drawing in (plot.drawing, plot.narrow) if drawing]
    assert html.count('role="img"') == html.count("aria-label=") == len(drawings) and plot.alt
    for drawing in drawings:
        assert "<metadata" not in drawing and "*{" not in drawing
        # Every colour follows the theme: what is left of the palette is a fallback inside a variable.
        assert not re.search(r"(?<!,)#[0-9a-f]{6}\b", drawing)
        assert "var(--sb-" in drawing
    assert not re.search(r'(?:href|src)="(?!#)', html)  # nothing is fetched


def test_long_names_leave_the_axes_their_room(run: Run, squeezed: Callable[[str], list[tuple[float, float]]]) -> None:
    names = [f"CSE_universal, vectors as they are, variant {number} of many" for number in range(9)]
    metrics = [row.model_copy(update={"method": name}) for name in names for row in run.metrics if row.method == "PP"]
    curves = [p.model_copy(update={"method": name}) for name in names for p in run.curves if p.method == "PP"]
    long = run.model_copy(update={"metrics": metrics, "curves": curves})
    for plot in (
        figures.training_curves(long),
        figures.ablation_bars(long, datasets=["STS2012/avg"]),
        figures.ablation_bars(long, datasets=["STS2012/avg", "SICK2014"]),
        figures.scatter(GOLD, dict.fromkeys(names[:6], SCORES["CSE"])),
        *(DRAW[name](run) for name in DRAW),
    ):
        assert squeezed(plot.drawing) == [], plot.alt


def test_figures_of_one_page_share_no_identifier_and_every_reference_has_its_target(
    run: Run, well_formed: Check
) -> None:
    plots = [DRAW[name](run) for name in ("forest", "training_curves", "bars", "paired_dots", "scatter")]
    well_formed("".join(plot.html() for plot in plots))
    for plot in plots:
        ids = set(re.findall(r'\bid="([^"]+)"', plot.drawing))
        used = set(re.findall(r'href="#([^"]+)"', plot.drawing) + re.findall(r"url\(#([^)]+)\)", plot.drawing))
        assert used and used <= ids
    assert plots[0] == DRAW["forest"](run) and plots[1] == DRAW["training_curves"](run)  # two calls draw the same


def test_text_stays_text_and_scaled(run: Run) -> None:
    drawing = DRAW["forest"](run).drawing
    assert "MSRpar</text>" in drawing and "+9.0 [+7.0, +11.0]</text>" in drawing


def test_seeds_of_different_length_meet_at_common_steps(run: Run) -> None:
    short = [p for p in run.curves if p.seed != 3 or p.step <= 4000]
    plot = figures.training_curves(run.model_copy(update={"curves": short}))
    ticks = [float(tick) for tick in re.findall(r">([\d.]+) k</text>", plot.drawing)]
    assert 3 <= max(ticks) <= 4  # seed 3 stopped at 4000 of 8000


def test_curves_of_spearman_alone_are_drawn_as_such(run: Run) -> None:
    followed = [p.model_copy(update={"metric": "spearman"}) for p in run.curves]
    assert "Spearman" in figures.training_curves(run.model_copy(update={"curves": followed})).drawing


def test_what_is_not_there_is_a_clear_mistake(run: Run) -> None:
    for call, words in (
        (lambda: figures.training_curves(run, metric="mse"), "holds no curve"),
        (lambda: figures.forest(run, a="CSE", b="GRAN"), "holds no test"),
        (lambda: figures.paired_dots(run, a="X", b="Y"), "holds no pearson"),
        (lambda: figures.ablation_bars(run, reference="GRAN"), "reference"),
        (lambda: figures.scatter([1.0, 2.0], {"CSE": [1.0]}), "must agree"),
        (lambda: figures.error_heatmap([0.5], [1.0], {"CSE": [0.1]}), "No cell"),
    ):
        with pytest.raises(ConfigError, match=words):
            call()


def test_every_variable_of_a_drawing_has_a_light_and_a_dark_value() -> None:
    sheet = style_sheet()
    used = set(re.findall(r"--sb-[\w-]+", " ".join(PALETTE.variables().values()))) - {"--sb-ground"}
    for name in used:
        assert re.search(rf"{name}: light-dark\(#\w+, #\w+\);", sheet), name


def test_diagrams_are_read_aloud_and_follow_the_theme(well_formed: Check) -> None:
    for file in sorted((root() / "book" / "_static" / "diagrams").glob("*.svg")):
        html = diagram(file.stem, caption="<b>").html()
        well_formed(html)
        assert "&lt;b&gt;" in html and "<title" in html and "<desc" in html and "currentColor" in html
        assert not re.search(r'(?:fill|stroke)[:=]\s*"?#', html)  # colours are variables with a fallback
    with pytest.raises(ConfigError, match="no diagram encoder"):
        diagram("encoder")
