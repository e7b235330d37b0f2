"""``sentbook verdicts`` and ``sentbook certify``: what was found, and whether it was found again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sentbook.system.errors import ConfigError

app = typer.Typer()
NOT_CERTIFIED = 1


@app.command()
def verdicts(profile: Annotated[str, typer.Option(help="demo, small or paper")] = "small") -> None:
    """Write every claim with its verdict as results/<profile>/verdicts.json, from the recorded runs."""
    from sentbook.runs import verdict_ledger
    from sentbook.runs.batch import planning, stamps

    job = stamps.Job(profile, "verdicts", planning.WHOLE)
    with stamps.recorded(job, planning.sources(job)):
        ledger = verdict_ledger.gather(profile)
        path = verdict_ledger.write(ledger)
    for paper, counts in ledger.counts.items():
        typer.echo(f"{paper:9}" + ", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    typer.echo(f"written: {path}")


@app.command()
def certify(
    experiment: Annotated[str, typer.Argument(help="paper/experiment, e.g. cse/table1")] = "",
    profile: Annotated[str, typer.Option(help="demo, small or paper")] = "small",
    run: Annotated[Path | None, typer.Option(help="your run; else the one in results/<profile>")] = None,
    recorded: Annotated[Path | None, typer.Option(help="the recorded run; else the committed one")] = None,
    out: Annotated[Path | None, typer.Option(help="folder; else build/certificates")] = None,
    verify: Annotated[Path | None, typer.Option(help="check the hash of a certificate, and do no more")] = None,
) -> None:
    """Compare your own run with the recorded one, and write a certificate and a badge.

    The exit status is 0 only when it is certified.
    """
    from sentbook.runs import certificate, ledger
    from sentbook.system.paths import root

    if verify is not None:
        made = certificate.verify(verify)
        typer.echo(f"{verify}: intact; {made.run}: {certificate.summary(made)}, issued {made.issued}")
        raise typer.Exit(0 if made.result == "certified" else NOT_CERTIFIED)
    paper, _, name = experiment.partition("/")
    if not paper or not name or "/" in name:
        raise ConfigError(f"'{experiment}' names no experiment; write for example sentbook certify cse/table1.")
    first = certificate.from_file(recorded) if recorded else certificate.from_git(paper, name, profile)
    second = certificate.from_file(run or ledger.path_of(paper, name, profile))
    made = certificate.issue(f"{profile}/{experiment}", first, second)
    paths = certificate.write(made, out or root() / "build" / "certificates")
    for one in made.compared:
        typer.echo(
            f"{one.metric}: {one.rows} numbers, {one.identical} equal to the bit, "
            f"largest deviation {one.largest:.2g}{f' ({one.where})' if one.where else ''}, tolerance {one.tolerance:g}"
        )
    if made.trained_again < made.encoders:
        found = made.encoders - made.trained_again
        typer.echo(
            f"encoders: {found} of {made.encoders} are the recorded ones, found by their key and not trained again"
        )
    typer.echo(f"verdicts: {made.verdicts - len(made.verdicts_changed)} of {made.verdicts} agree")
    for reason in made.reasons:
        typer.echo(f"not certified: {reason}")
    typer.echo(f"{made.run}: {certificate.summary(made)}")
    for path in paths:
        typer.echo(f"written: {path}")
    if made.result != "certified":
        raise typer.Exit(NOT_CERTIFIED)
