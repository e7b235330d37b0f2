"""``sentbook batch``, and the commands of its jobs: ``prepare`` and ``train``."""

from __future__ import annotations

from typing import Annotated

import typer

from sentbook.system.errors import ConfigError

app = typer.Typer()

Profile = Annotated[str, typer.Option(help="demo, small or paper")]


@app.command()
def batch(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="notebooks (cse/table1), papers (cse) or levels (encoders, notebooks, book)"),
    ] = None,
    profile: Profile = "demo",
    jobs: Annotated[int, typer.Option(min=1, help="processor cores to use; jobs at once on a cluster")] = 2,
    resources: Annotated[list[str] | None, typer.Option(help="what is there to share, e.g. gpu=1")] = None,
    cluster: Annotated[
        str | None, typer.Option("--executor", help="a folder of workflow/profiles, e.g. slurm or kubernetes")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="list the jobs, and why each is to be done")] = False,
) -> None:
    """Run all that changed, data to book, side by side; after a failure or a kill, the same command goes on."""
    from sentbook.runs.batch import grid
    from sentbook.system.paths import root

    if cluster is not None and not (root() / "workflow" / "profiles" / cluster).is_dir():
        known = sorted(path.name for path in (root() / "workflow" / "profiles").iterdir())
        raise ConfigError(f"There is no executor '{cluster}'; choose one of {', '.join(known)}.")
    grid.run(profile, jobs, targets=targets or [], resources=resources or [], cluster=cluster, dry_run=dry_run)


@app.command()
def prepare(
    kind: Annotated[str, typer.Argument(help="data: what the recorded runs of a paper read; vectors: kept ones")],
    name: Annotated[str, typer.Argument(help="a paper, e.g. cse; or vectors, e.g. all-minilm-l6-v2")],
    profile: Profile = "small",
) -> None:
    """Have ready what several jobs of the batch share: fetched and verified data, or vectors that are kept."""
    from sentbook.runs.batch import preparing

    if kind == "data":
        typer.echo(preparing.data(name, profile))
    elif kind == "vectors":
        typer.echo(preparing.vectors(name, profile))
    else:
        raise ConfigError(f"'{kind}' is neither data nor vectors; write for example sentbook prepare data cse.")


@app.command()
def train(
    name: Annotated[str, typer.Argument(help="a paper, e.g. dnt, or one of its encoders, e.g. dnt/gran")],
    profile: Profile = "demo",
) -> None:
    """Train the encoders that several notebooks of a paper start from; what is trained already is found by its key."""
    from sentbook.runs.batch import preparing

    for key, method, seed in preparing.encoders(name, profile):
        typer.echo(f"{key}  {method}, seed {seed}")
