"""Show the drawings of ``book/_static/diagrams`` in a notebook; the book's pages include the same files."""

from __future__ import annotations

from sentbook.io import ConfigError, root
from sentbook.report_old.markup import Fragment, esc


def diagram(*names: str, caption: str = "") -> Fragment:
    """Show architecture drawings side by side, below each other where a page is narrow.

    Each file stands in the page itself, so that its colours follow the theme and its text can be read aloud.

    Args:
        names: files of ``book/_static/diagrams`` without their ending.
        caption: shown below.

    Raises:
        ConfigError: there is no such drawing.
    """
    folder = root() / "book" / "_static" / "diagrams"
    known = {file.stem: file for file in sorted(folder.glob("*.svg"))}
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"There is no diagram {', '.join(unknown)} in {folder}; there are {', '.join(known)}.")
    drawings = "".join(known[name].read_text(encoding="utf-8").strip() for name in names)
    below = f"<figcaption>{esc(caption)}</figcaption>" if caption else ""
    return Fragment(
        body=f'<figure><div class="sb-diagrams">{drawings}</div>{below}</figure>',
        kind="sentbook-figure",
    )
