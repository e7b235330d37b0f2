"""``sentbook data``: which files there are, fetch them, check them."""

from __future__ import annotations

from textwrap import shorten
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sentbook.data import sources
from sentbook.system.errors import DataError

LARGE = 100e6

app = typer.Typer(help="The data sets' files: list, fetch and check them.", no_args_is_help=True)

Names = Annotated[list[str] | None, typer.Argument(help="files or folders, e.g. eval/sick2014; all when left out")]


def _console() -> Console:
    console = Console(soft_wrap=False)
    return console if console.is_terminal else Console(width=200)  # a pipe has no width of its own


def _size(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def _where(name: str) -> str:
    file = sources.find(name)
    if file is None:
        return "to download" if sources.registry()[name]["url"] else "only from a mirror"
    return "cache" if file == sources.cache_folder() / name else "mirror"


@app.command(name="list")
def list_files(names: Names = None) -> None:
    """Every file: its size, licence, and where it is now."""
    chosen, console = sources.select(names or []), _console()
    room = max(16, console.width - max(len(name) for name in chosen) - 40)  # a licence is one line, as long as may be
    table = Table(title="Data files", title_justify="left")
    table.add_column("file", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("where", no_wrap=True)
    table.add_column("licence", no_wrap=True)
    counts: dict[str, int] = {}
    for name in chosen:
        entry, where = sources.registry()[name], _where(name)
        counts[where] = counts.get(where, 0) + 1
        table.add_row(
            Text(name), _size(entry["bytes"]), where, Text(shorten(entry["licence"], room, placeholder=" ..."))
        )
    console.print(table)
    total = sum(sources.registry()[name]["bytes"] for name in chosen)
    said = ", ".join(f"{count} {where}" for where, count in sorted(counts.items()))
    console.print(
        f"{len(chosen)} files, {_size(total)}: {said}. Cache: {sources.cache_folder()}", markup=False, soft_wrap=True
    )


@app.command()
def fetch(names: Names = None) -> None:
    """Download what is not here, and replace what is damaged in the cache; what is over 100 MB only by name."""
    left_out: list[str] = []
    large: list[str] = []
    fetched = 0
    for name in sources.select(names or []):
        file = sources.find(name)
        if file is not None:
            try:
                sources.verify(name, file)
                continue
            except DataError:
                if file != sources.cache_folder() / name:
                    raise  # a mirror is mended by who keeps it
        if sources.registry()[name]["url"] is None and name not in (names or []):
            left_out.append(name)
            continue
        if not names and sources.registry()[name]["bytes"] > LARGE:
            large.append(name)
            continue
        sources.download(name)
        fetched += 1
        typer.echo(f"{name}  {_size(sources.registry()[name]['bytes'])}")
    typer.echo(f"{fetched} files fetched into {sources.cache_folder()}." if fetched else "Nothing left to download.")
    if left_out:
        typer.echo(f"{len(left_out)} files can be had only from a mirror; see `sentbook data list`.")
    if large:
        size = _size(sum(sources.registry()[name]["bytes"] for name in large))
        typer.echo(f"Not fetched for their size ({size}), name them to have them: {' '.join(large)}")


@app.command()
def check(names: Names = None) -> None:
    """Verify every file that is here; the exit status is not 0 when one is wrong."""
    faults: list[str] = []
    missing = present = 0
    for name in sources.select(names or []):
        file = sources.find(name)
        if file is None:
            missing += 1
            continue
        present += 1
        try:
            sources.verify(name, file)
        except DataError as error:
            faults.append(name)
            typer.echo(str(error), err=True)
    if faults:
        raise DataError(f"{len(faults)} of {present} files are wrong; do as the line of each says.")
    typer.echo(f"{present} files are as registered, {missing} are not here.")


@app.command(name="overlap")
def measure_overlap() -> None:
    """Count the sentences that training corpora share with test sets, and record the counts for the book."""
    from sentbook.runs import leakage

    run = leakage.record()
    for row in run.extra["overlap"]:
        print(
            f"{row['corpus']:18} {row['test']:26} {row['sentences']:6} sentences "
            f"({row['share']:.1%}), {row['pairs']} pairs"
        )
