"""A figure with a control: in JupyterLab one figure that follows it, on a page all its states beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentbook.report_old.markup import Html, esc
from sentbook.report_old.view import Drawn

WIDGET = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True)
class Dial:
    """States of a figure, each drawn when it is first asked for.

    An output has both forms: JupyterLab shows the control where ipywidgets is installed (``make lab`` does), a page and
    a reader without it the states. `sentbook.report_old.book.lay_out` leaves the control out of pages.

    Args:
        draw: what a state looks like.
        name: of the control.
        states: its values, the words of each before its value.
        columns: states beside each other on a page that has room.
    """

    draw: Callable[[Any], Drawn]
    name: str
    states: Mapping[str, Any]
    columns: int

    def html(self, *, style: bool = True) -> str:
        """Show all states; the style sheet once."""
        least = 40 / self.columns - 2
        parts = [
            f'<div role="group" aria-label="{esc(f"{self.name}: {words}")}"><p class="sb-state">{esc(words)}</p>'
            f"{self.draw(value).html(style=style and not at)}</div>"
            for at, (words, value) in enumerate(self.states.items())
        ]
        return (
            f'<div class="sentbook sb-states" style="--sb-least:{least:.3g}rem"><p class="sb-dial">{esc(self.name)}</p>'
            f"{''.join(parts)}</div>"
        )

    def widget(self) -> Any:
        """Make a control with its figure below; None without ipywidgets."""
        try:
            import ipywidgets
        except ImportError:
            return None
        chosen = ipywidgets.SelectionSlider(
            options=list(self.states), description=self.name, continuous_update=False,
            style={"description_width": "initial"}, layout={"width": "95%", "max_width": "40rem"},
        )  # fmt: skip
        figure = ipywidgets.HTML()

        def show(change: Any) -> None:
            figure.value = self.draw(self.states[chosen.value]).html()

        chosen.observe(show, names="value")
        show(None)
        return ipywidgets.VBox([chosen, figure])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        widget = self.widget()
        live = {} if widget is None else {WIDGET: widget._repr_mimebundle_()[WIDGET]}
        return {"text/plain": repr(self), "text/html": Html(self.html()), **live}

    def __repr__(self) -> str:
        return f"{self.name}: {', '.join(self.states)}"


def dial(draw: Callable[[Any], Drawn], name: str, states: Mapping[str, Any] | Sequence[Any], columns: int = 2) -> Dial:
    """Draw a figure for each of ``states``, given by their words or as values that read well, see `Dial`."""
    named = states if isinstance(states, Mapping) else {str(value): value for value in states}
    return Dial(draw, name, named, columns)
