"""``sentbook export`` and ``sentbook encode``: trained encoders for other programs, and vectors for lines of text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sentbook.system.errors import ConfigError

app = typer.Typer()

# Lines between two of a log; a terminal is told after every chunk.
EVERY = 100_000


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="an artifact: folder or encoder.safetensors")],
    folder: Annotated[Path, typer.Argument(help="new, empty, or of an earlier export")],
    name: Annotated[str, typer.Option(help="title of the model card")] = "",
    words: Annotated[str, typer.Option(help="keep the first so many words, or all")] = "all",
) -> None:
    """Write a trained encoder as a folder that sentence-transformers, MTEB and `sentbook encode` load."""
    from sentbook.exchange import export as exporting

    if words != "all" and not words.isdecimal():
        raise ConfigError(f"--words {words} is no number; write for example --words 50000, or --words all.")
    written = exporting.export(model, folder, name=name, words=None if words == "all" else int(words))
    size = sum(file.stat().st_size for file in folder.iterdir())
    kind, count = written.description.encoder.kind, written.description.words
    typer.echo(f"{kind}, {written.dimension} numbers a sentence, {count:,} words, {size / 1e6:.1f} MB in {folder}")


@app.command()
def encode(
    model: Annotated[Path, typer.Argument(help="an artifact, or an exported folder")],
    output: Annotated[Path | None, typer.Argument(help="the same as --output")] = None,
    option: Annotated[
        Path | None, typer.Option("--output", "-o", help="the .npy file; standard output where none is named")
    ] = None,
) -> None:
    """Encode standard input, one sentence a line, as one (N, F) float32 .npy array; memory does not grow with N.

    sentbook encode MODEL < lines > vectors.npy
    """
    from sentbook.exchange import loading, stream

    if output is not None and option is not None:
        raise ConfigError(f"Both {output} and {option} are named; name one file for the vectors.")
    path = option or output
    place = "standard output" if path is None else str(path)
    loaded = loading.load(model)
    with stream.file_of(sys.stdout.fileno()) if path is None else stream.file_at(path) as file:
        count, width = stream.encode_lines(loaded, sys.stdin.buffer, file, _progress())
    typer.echo(f"{count:,} vectors of {width} numbers in {place}", err=True)


def _progress() -> Callable[[int], None]:
    """A line now and then, or on a terminal one that counts."""
    told = 0

    def tell(count: int) -> None:
        nonlocal told
        if sys.stderr.isatty():
            typer.echo(f"\r{count:,} lines ", nl=False, err=True)
        elif count // EVERY > told // EVERY:
            typer.echo(f"{count:,} lines", err=True)
        told = count

    return tell
