"""The command line: ``sentbook run | batch | train | check | compare | data | export``.

Each command is a few lines over a function of the package, which it imports when it is called. A mistake that a user
can mend is one sentence on standard error and a non-zero exit status.
"""

import fcntl
import os
import reprlib
import signal
import sys
import tempfile
from collections.abc import Sequence
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import yaml
from click.core import ParameterSource

from sentbook import io
from sentbook.config import PROFILES, digest, kind_of, load, merge, read_yaml
from sentbook.io import ConfigError, SentbookError, root

# Where JupyterLab is installed, nbformat's checks build a grammar of web addresses with it, for two seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

existing = click.Path(exists=True, path_type=Path)
profile_option = click.option("--profile", type=click.Choice(PROFILES), default="demo", show_default=True)
recorded_option = click.option("--profile", type=click.Choice(PROFILES[1:]), default="small", show_default=True)
record_option = click.option("--record", is_flag=True, help="Replace the committed records in results/.")
single_option = click.option("-p", "singles", type=(str, str), multiple=True, help="One parameter: -p cse.widths [1].")


@click.group()
def sentbook() -> None:
    """Run experiments on sentence embeddings, and build the book of them."""


# -- one notebook ------------------------------------------------------------------------------------------------------


@sentbook.command()
@click.argument("name", metavar="PAPER/PAGE")
@profile_option
@record_option
@single_option
@click.option("-f", "files", multiple=True, type=existing, metavar="FILE", help="Parameters in YAML, as in params/.")
def run(name: str, profile: str, record: bool, singles: Sequence[tuple[str, str]], files: Sequence[Path]) -> None:
    """Run one notebook with papermill, for example: sentbook run cse/table1 --profile small"""
    import papermill

    pages = {f"{path.parent.name}/{path.stem}": path for path in sorted(root().glob("notebooks/*/*.ipynb"))}
    page = name.removesuffix(".ipynb").removeprefix("notebooks/")
    if page not in pages:
        raise ConfigError(f"There is no notebook '{name}'; choose one of {', '.join(pages)}.")
    known = papermill.inspect_notebook(pages[page])
    texts = [key for key, one in known.items() if one["default"].startswith('"')]  # sentences, which are no YAML
    parameters = reduce(merge, [*map(read_yaml, files), _parsed(singles, texts)])
    if unknown := [key for key in parameters if key not in known]:
        raise ConfigError(f"{page} has no parameter '{unknown[0]}'; choose one of {', '.join(known)}.")
    paper, of_profile = page.partition("/")[0], "profile" in known  # a lesson has none
    kind = parameters.setdefault("profile", profile) if of_profile else profile
    if kind != profile and click.get_current_context().get_parameter_source("profile") is ParameterSource.COMMANDLINE:
        raise ConfigError(f"-f or -p says profile {kind}, and --profile {profile}; give one of them.")
    if parameters.keys() - {"profile"} or kind not in PROFILES:
        kind = kind_of(paper, load(paper, parameters)) if of_profile else f"custom/{digest(parameters)}"
    if record and kind not in PROFILES[1:]:
        raise ConfigError(f"A run of {kind} is not recorded, only one of small or paper unchanged; leave out --record.")
    target = root() / "build" / "executed" / kind / f"{page}.ipynb"
    execute(pages[page], target, parameters)
    if record and of_profile:
        from sentbook import records

        click.echo(f"recorded: {records.commit(page, kind)}")
    click.echo(f"executed: {target}")


def _parsed(singles: Sequence[tuple[str, str]], texts: Sequence[str] = ()) -> dict[str, Any]:
    """Read single parameters, the later over the earlier: ``cse.widths [1]`` is ``{"cse": {"widths": [1]}}``.

    Those named in ``texts`` are taken as they are.
    """
    found: dict[str, Any] = {}
    for name, text in singles:
        try:
            value: Any = text if name in texts else io.parse_yaml(text)
        except yaml.YAMLError:
            raise ConfigError(f"{reprlib.repr(text)} of -p {name} cannot be read; write for example [1, 2].") from None
        found = merge(found, reduce(lambda inner, part: {part: inner}, reversed(name.split(".")), value))
    return found


def execute(source: Path, target: Path, parameters: dict[str, Any]) -> None:
    """Run a notebook; ``target`` is replaced when it ends well.

    Raises:
        SentbookError: a cell failed; the output up to there is ``<name>.failed.ipynb`` next to ``target``.
        StorageError: no space or a read-only folder.
    """
    import papermill
    from jupyter_client import AsyncKernelManager, kernelspec
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    class OwnKernel(AsyncKernelManager):
        """Runs this interpreter, whatever kernels are installed under whichever name."""

        kernel_spec = property(lambda self: kernelspec.KernelSpecManager(kernel_dirs=[]).get_kernel_spec("python3"))

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no kernel outlives this process
    scratch, failed = target.with_name(f".{target.name}"), target.with_suffix(".failed.ipynb")
    with io.writing(target), tempfile.TemporaryDirectory(prefix="sentbook-") as folder:
        # Sockets in a folder: of kernels that start at once, two may take one port. macOS allows 103 bytes for a name.
        way = {"transport": "ipc"} if len(os.fsencode(folder)) < 80 else {}
        kernel = Config(KernelManager={"connection_file": f"{folder}/kernel.json", **way})
        options = {"cwd": Path.cwd(), "progress_bar": False, "stdout_file": sys.stdout, "config": kernel}
        options |= {"kernel_manager_class": OwnKernel, "kernel_name": "python3", "language": "python"}
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            papermill.execute_notebook(source, scratch, parameters, **options)
        except PapermillExecutionError as error:
            scratch.replace(failed)
            said = "\n".join([error.evalue] if hasattr(io, error.ename) else [error.ename, *error.traceback])
            raise SentbookError(f"{source.stem} failed: {said}\nIts output so far is {failed}.") from None
        except DeadKernelError:
            raise SentbookError(f"{source.stem} failed: its kernel was killed, often for lack of memory.") from None
        scratch.replace(target)
        failed.unlink(missing_ok=True)


# -- all of them -------------------------------------------------------------------------------------------------------


@sentbook.command(context_settings={"ignore_unknown_options": True})
@click.argument("targets", nargs=-1, type=click.UNPROCESSED)
@profile_option
@click.option("--jobs", type=int, help="Cores to use, else 2; on a cluster jobs at a time, else as its profile says.")
@click.option("--executor", type=click.Choice(["slurm"]), help="A folder of workflow/profiles.")
@record_option
def batch(targets: Sequence[str], profile: str, jobs: int | None, executor: str | None, record: bool) -> None:
    """Run what changed: notebooks, in the demo the book too, or TARGETS such as cse, cse/table1, encoders, book.

    But for the demo, the searches of settings (pages "tuning") run only by name or by the target searches; the other
    pages read the committed ones. After a failure or a kill the same command goes on. Other options go to Snakemake, as
    --name=value; -n lists the jobs.
    """
    with io.writing(root() / "build" / "batch.lock"):
        (root() / "build").mkdir(exist_ok=True)
        lock = os.open(root() / "build" / "batch.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SentbookError("Another batch is at work in this checkout; wait for its end, or stop it first.") from None
    os.set_inheritable(lock, True)  # Snakemake takes the place of this process, and holds it as long as it lives
    if executor is None and jobs != 1:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    options = [target for target in targets if target.startswith("-")]
    named = ",".join(target for target in targets if target not in options)
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(root() / "Snakefile"), "--directory", str(root())]
    command += ["--workflow-profile", str(root() / "workflow" / "profiles" / (executor or "default")), *options]
    command += ["--jobs" if executor else "--cores", str(jobs or 2)] if jobs or not executor else []
    os.execv(sys.executable, [*command, "--config", f"profile={profile}", f"record={record}", f"targets={named}"])


@sentbook.command()
@click.argument("paper")
@click.argument("encoder", required=False)
@profile_option
@single_option
def train(paper: str, encoder: str | None, profile: str, singles: Sequence[tuple[str, str]]) -> None:
    """Train the encoders that several pages of PAPER share, or ENCODER alone, for example: train dnt GRAN"""
    from sentbook.study import Study

    study = Study(f"{paper}/encoders", **{"profile": profile, **_parsed(singles)})
    module = f"sentbook.papers.{paper}.experiments"
    recipes = import_module(module).pretrained(study.settings) if find_spec(module) else {}
    if not recipes or (encoder and encoder not in recipes):
        raise ConfigError(f"{paper} has no encoder '{encoder or 'to share'}'; it has: {', '.join(recipes) or 'none'}.")
    chosen = [recipes[encoder]] if encoder else list(recipes.values())
    for trained in study.train(*chosen):
        click.echo(f"{trained.recipe.key()}  {trained.method}, seed {trained.seed}")


# -- records -----------------------------------------------------------------------------------------------------------


@sentbook.command(name="check")
@click.argument("pages", nargs=-1)
@recorded_option
@click.option("--write", is_flag=True, help="Write results/<profile>/verdicts.json.")
def check_records(pages: Sequence[str], profile: str, write: bool) -> None:
    """Compute the numbers and verdicts of the committed records again, without data and without training."""
    from sentbook.judge import check

    lines = check.check(profile, pages, write)
    click.echo("\n".join([*lines, f"{len(lines)} numbers or verdicts do not follow from the records"]))
    sys.exit(bool(lines))


@sentbook.command()
@click.argument("names", metavar="PAPER/PAGE", nargs=-1)
@recorded_option
@click.option("--own", type=existing, help="Folder of runs; build/runs/ when left out.")
@click.option("--exact", is_flag=True, help="Equal up to the rounding of a double, curves and searches too.")
def compare(names: Sequence[str], profile: str, own: Path | None, exact: bool) -> None:
    """Compare your own runs with the recorded ones; the exit status is not 0 where numbers or verdicts differ."""
    from sentbook import compare

    folders = root() / "results" / profile, (own or root() / "build" / "runs") / profile
    lines, compared = compare.differences(*folders, names, exact)
    click.echo("\n".join([*lines, f"{compared or 'no'} numbers of both sides compared, {len(lines)} differ"]))
    sys.exit(bool(lines) or not compared)


# -- data and encoders -------------------------------------------------------------------------------------------------


@sentbook.command()
@click.argument("action", type=click.Choice(["list", "fetch"]))
@click.argument("names", nargs=-1)
def data(action: str, names: Sequence[str]) -> None:
    """List the files of the data sets, or NAMES; or verify and download them."""
    from sentbook.data import sources

    failed: list[str] = []
    for name in sources.select(list(names)):
        entry, here = sources.registry()[name], sources.find(name)
        place: object = here or ("to download" if entry["url"] else "only from a mirror")
        try:
            place = sources.path(name) if action == "fetch" and (names or here or entry["url"]) else place
        except SentbookError as error:  # the other files are fetched all the same
            place, failed = error, [*failed, name]
        click.echo(f"{name}  {entry['bytes'] / 1e6:.1f} MB  {place}  {entry['licence']}")
    if failed:
        raise SentbookError(f"Not fetched, as the lines above say why: {', '.join(failed)}.")


@sentbook.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
def export(model: Path, folder: Path) -> None:
    """Write a trained encoder, MODEL (its key or its folder), as a FOLDER that sentence-transformers loads."""
    from sentbook import export as exporting

    exporting.export(model if model.exists() else io.artifacts() / model, folder)
    click.echo(f"exported and read back: {folder}")


def main() -> None:
    """Run the command line; a mistake that a user can mend is one sentence."""
    # Threads that wait leave their core to other work; glibc keeps what a step of training frees, for the next one.
    usual = {"OMP_WAIT_POLICY": "PASSIVE", "MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**32)}
    os.environ.update(usual | os.environ)
    try:
        sentbook()
    except SentbookError as error:
        click.echo(f"sentbook: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
