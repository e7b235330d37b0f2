"""The command line: ``sentbook data | run | batch | book | verdicts | certify | protocols | export | encode | ...``.

A `SentbookError` is one sentence and its exit code.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
import yaml

from sentbook.system.errors import ConfigError, SentbookError, StorageError

app = typer.Typer(
    help="Re-runnable experiments on sentence embeddings.", no_args_is_help=True, pretty_exceptions_enable=False
)


def _mount() -> None:
    from sentbook import batch_cli, data_cli, evidence_cli, exchange_cli, protocols_cli

    app.add_typer(data_cli.app, name="data")
    app.add_typer(exchange_cli.app)
    app.add_typer(evidence_cli.app)
    app.add_typer(batch_cli.app)
    app.add_typer(protocols_cli.app)


def _parameters(changes: list[str]) -> dict[str, Any]:
    """``section.name=value`` items to nested parameters; the value is YAML."""
    result: dict[str, Any] = {}
    for change in changes:
        name, found, value = change.partition("=")
        if not found or not name:
            raise ConfigError(f"'{change}' is not name=value; write for example --set sentence.margin=0.4.")
        target = result
        *sections, last = name.split(".")
        for section in sections:
            target = target.setdefault(section, {})
            if not isinstance(target, dict):
                raise ConfigError(f"'{change}' is part of '{section}', which another --set makes {target}; drop one.")
        try:
            target[last] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ConfigError(f"'{value}' in '{change}' is not valid YAML; write for example seeds=[1,2].") from None
    return result


@app.command()
def run(
    notebook: Annotated[str, typer.Argument(help="paper/experiment, e.g. cse/table1")],
    profile: Annotated[str, typer.Option(help="demo, small or paper")] = "demo",
    set_: Annotated[list[str] | None, typer.Option("--set", help="a parameter: section.name=value")] = None,
    page: Annotated[bool, typer.Option(help="write the page of this run")] = True,
) -> None:
    """Run one notebook: check every parameter, execute it, record the result, and write its page."""
    from sentbook.runs import running
    from sentbook.system.paths import root

    paper, _, name = notebook.removesuffix(".ipynb").removeprefix("notebooks/").partition("/")
    source = root() / "notebooks" / paper / f"{name}.ipynb"
    if not source.is_file():
        folder = root() / "notebooks"
        known = sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.glob("*/*.ipynb"))
        raise ConfigError(f"There is no notebook '{notebook}'; choose one of {', '.join(known)}.")
    changes = {"profile": profile, **_parameters(set_ or [])}
    if page or set_:  # seconds, which the batch spares: its plan has read the parameters
        from sentbook import config

        config.load(paper, changes)  # a typo stops here, before a kernel starts
    kind = running.run(source, profile, changes)
    if page:
        from sentbook.report import book

        typer.echo(f"page: {book.write_page(source, kind)}")


@app.command(name="book")
def build_book(
    profile: Annotated[str, typer.Option(help="demo, small or paper")] = "demo",
    jobs: Annotated[int, typer.Option(min=1, help="notebooks side by side")] = 2,
    run_: Annotated[bool, typer.Option("--run/--no-run", help="run the notebooks that changed first")] = True,
) -> None:
    """Build the book, where something changed; the notebooks that changed are run first."""
    if run_:
        from sentbook.runs.batch import grid

        grid.run(profile, jobs, targets=["book"])
    else:
        from sentbook.report import book

        book.build(profile)


@app.command()
def pretrain(
    model: Annotated[str, typer.Argument(help='a CNN-LSTM model, e.g. "composite model" or "autoencoder+emb."')],
    profile: Annotated[str, typer.Option(help="demo, small or paper")] = "demo",
    set_: Annotated[list[str] | None, typer.Option("--set", help="a parameter: section.name=value")] = None,
) -> None:
    """Train one encoder that the notebooks of cnn_lstm then find, on several GPUs under torchrun.

    torchrun --standalone --nproc-per-node 8 -m sentbook.cli pretrain "composite model" --profile paper
    """
    from sentbook import config
    from sentbook.papers.cnn_lstm import experiments as cnn_lstm
    from sentbook.study import Study
    from sentbook.system.paths import artifacts
    from sentbook.training import distributed, recipes

    settings = config.load("cnn_lstm", {"profile": profile, **_parameters(set_ or [])})
    made = cnn_lstm.recipes(Study("cnn_lstm", "pretraining", settings), settings)
    if model not in made:
        raise ConfigError(f"There is no model '{model}'; choose one of {', '.join(made)}.")
    for recipe in made[model]:
        found = recipes.obtain([recipe], device=settings.device)[0]
        if distributed.join().first:
            history = found.metadata["history"]
            typer.echo(f"{artifacts() / recipe.key()}  log-likelihood per token {history['best']:.4f}")


_INTERRUPTED = "sentbook: Interrupted; run the same command to go on: what was finished is kept."


def main() -> None:
    """Entry point: errors a user can mend are one sentence on standard error."""
    try:
        _mount()
        app()
    except SentbookError as error:
        typer.echo(f"sentbook: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:  # where standard output goes to a full disk, say
        from sentbook.system.files import FULL

        if error.errno not in FULL:
            raise
        place = error.filename or "Standard output"
        again = "free some space or choose another place, then run the same command again: what was finished is kept"
        typer.echo(f"sentbook: {place} could not be written ({error.strerror}); {again}.", err=True)
        sys.exit(StorageError.exit_code)
    except KeyboardInterrupt:
        typer.echo(_INTERRUPTED, err=True)
        sys.exit(130)
    except SystemExit as stop:
        if stop.code == 130:  # typer's silent answer to Ctrl-C inside a command
            typer.echo(_INTERRUPTED, err=True)
        raise


if __name__ == "__main__":
    main()
