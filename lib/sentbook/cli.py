"""The command line: ``sentbook run | batch | book | pdf | data | verdicts | certify | protocols | export | ...``.

Each command is a few lines over a function of the package, which it imports when it is called. A `SentbookError` is one
sentence on standard error and its exit code.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from shutil import get_terminal_size
from textwrap import shorten
from typing import Annotated, Any, NoReturn

import typer
import yaml

from sentbook.io import FULL, ConfigError, DataError, SentbookError, StorageError, brief, mended, parse_yaml
from sentbook.runs import forkserver

app = typer.Typer(
    help="Re-runnable experiments on sentence embeddings.", no_args_is_help=True, pretty_exceptions_enable=False
)
data = typer.Typer(help="The data sets' files: list, fetch and check them.", no_args_is_help=True)
app.add_typer(data, name="data")

NOT_CERTIFIED = 1
# Bytes above which `data fetch` takes a file only by name.
LARGE = 100e6


def _known(profile: str) -> str:
    from sentbook.config import PROFILES  # half a second of imports, which help need not wait for

    if profile not in PROFILES:
        raise ConfigError(f"There is no profile '{profile}'; choose one of {', '.join(PROFILES)}.")
    return profile


Profile = Annotated[str, typer.Option(help="demo, small or paper", callback=_known)]
Changes = Annotated[list[str] | None, typer.Option("--set", help="a parameter: section.name=value")]
Names = Annotated[list[str] | None, typer.Argument(help="files or folders, e.g. eval/sick2014; all when left out")]


def _parameters(changes: list[str] | None) -> dict[str, Any]:
    """Parse ``section.name=value`` items to nested parameters; the value is YAML."""
    result: dict[str, Any] = {}
    for change in changes or []:
        name, found, value = change.partition("=")
        said = brief(change)
        if not found or not name:
            raise ConfigError(f"'{said}' is not name=value; write for example --set sentence.margin=0.4.")
        target = result
        *sections, last = name.split(".")
        for section in sections:
            target = target.setdefault(section, {})
            if not isinstance(target, dict):
                other = brief(str(target))
                raise ConfigError(f"'{said}' is part of '{section}', which another --set makes {other}; drop one.")
        try:
            target[last] = parse_yaml(value)
        except yaml.YAMLError:
            raise ConfigError(
                f"'{brief(value)}' in '{said}' is not valid YAML; write for example seeds=[1,2]."
            ) from None
    if "profile" in result:
        raise ConfigError("The profile is no parameter of --set; write for example --profile small.")
    return _with_whole_paths(result)


def _with_whole_paths(given: Any, name: str = "") -> Any:
    """Paths as they are from the reader's folder: kernels work in another."""
    if isinstance(given, dict):
        return {name: _with_whole_paths(part, name) for name, part in given.items()}
    return str(Path(given).expanduser().absolute()) if name == "path" and given and isinstance(given, str) else given


# -- notebooks and the book --------------------------------------------------------------------------------------------


@app.command()
def run(
    notebook: Annotated[str, typer.Argument(help="paper/experiment, e.g. cse/table1")],
    profile: Profile = "demo",
    set_: Changes = None,
    page: Annotated[bool, typer.Option(help="write the page of this run")] = True,
) -> None:
    """Run one notebook: check every parameter, execute it, record the result, and write its page."""
    from sentbook.runs import contents, execute

    source = contents.notebook(notebook)
    changes = _parameters(set_)
    if contents.is_lesson(source):
        contents.check_lesson(source, changes)
    else:
        changes = {"profile": profile, **changes}
    if "profile" in changes and (page or set_):  # seconds, which the batch spares: its plan has read the parameters
        from sentbook import config
        from sentbook.data import vectors

        # A typo stops here, before a kernel starts, as does a file that is not there.
        settings = config.load(source.parent.name, changes)
        for part in config.sections(settings):
            if isinstance(part, vectors.Vectors) and part.path:
                if part.name != "file":
                    raise ConfigError(f"Vectors have a path and the name '{part.name}'; --set their name to file too.")
                vectors.digest(part)
            getattr(part, "own_file", dict)()
        contents.check_originals(source, settings)
    kind = execute.run(source, profile, changes)
    if page:
        from sentbook.report_old import book

        typer.echo(f"page: {book.write_page(source, kind)}")


@app.command(name="book")
def build_book(
    profile: Profile = "demo",
    jobs: Annotated[int, typer.Option(min=1, help="notebooks side by side")] = 2,
    run_: Annotated[bool, typer.Option("--run/--no-run", help="run the notebooks that changed first")] = True,
) -> None:
    """Build the book, where something changed; the notebooks that changed are run first."""
    if run_:
        from sentbook.runs import batch as batches

        batches.run(profile, jobs, targets=["book"])
    else:
        from sentbook.papers.cross import projections, protocol_page
        from sentbook.papers.cse import figures as cse
        from sentbook.papers.dnt import tables as dnt
        from sentbook.papers.wsv import tables as wsv
        from sentbook.report_old import book
        from sentbook.runs import batch as batches

        with batches.recorded(profile, "book"):
            rooms = (protocol_page, projections, cse, dnt, wsv)
            book.build(profile, lambda: {name: text for room in rooms for name, text in room.fragments().items()})


@app.command()
def pdf(
    pages: Annotated[
        list[str] | None, typer.Argument(help="pages, e.g. book/cse; the whole book when left out")
    ] = None,
) -> None:
    """Print the built book as one PDF; this needs a Chromium browser."""
    from sentbook.report_old import pdf as printing

    typer.echo(f"pdf: {printing.write(pages or ())}")


@app.command()
def batch(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="notebooks (cse/table1), papers (cse) or levels (encoders, notebooks, book)"),
    ] = None,
    profile: Profile = "demo",
    jobs: Annotated[int, typer.Option(min=1, help="processor cores to use; jobs at once on a cluster")] = 2,
    resources: Annotated[list[str] | None, typer.Option(help="what is there to share, e.g. gpu=1")] = None,
    executor: Annotated[
        str | None, typer.Option(help="a folder of workflow/profiles, e.g. slurm or kubernetes")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="list the jobs, and why each is to be done")] = False,
) -> None:
    """Run all that changed, data to book, side by side; after a failure or a kill, the same command goes on."""
    from sentbook.runs import batch as batches

    batches.run(
        profile, jobs, targets=targets or [], resources=resources or [], executor=executor, dry_run=dry_run
    )  # fmt: skip


@app.command()
def prepare(
    kind: Annotated[str, typer.Argument(help="data: what the recorded runs of a paper read; vectors: kept ones")],
    name: Annotated[str, typer.Argument(help="a paper, e.g. cse; or vectors, e.g. all-minilm-l6-v2")],
    profile: Profile = "small",
) -> None:
    """Have ready what several jobs of the batch share: fetched and verified data, or vectors that are kept."""
    from sentbook import config
    from sentbook.data import modern, sources
    from sentbook.runs import batch as batches

    if kind not in ("data", "vectors"):
        raise ConfigError(f"'{kind}' is neither data nor vectors; write for example sentbook prepare data cse.")
    if kind == "data" and not batches.files_of(name, profile):
        raise ConfigError(f"No recorded run of {name} tells which files it read; name a paper with results/{profile}.")
    if kind == "vectors":
        modern.available(name)  # refuses a name that it does not know, before anything is written
    with batches.recorded(profile, f"{kind}/{name}"):
        if kind == "vectors":
            sentences, matrix = modern.kept_vectors(name)
            typer.echo(f"{len(sentences)} sentences, {matrix.shape[1]} numbers each.")
        else:
            names = batches.files_of(name, profile)
            # Of a file without an address that is not here, other packages or files may hold the same.
            absent = [file for file in names if sources.find(file) is None and not sources.registry()[file]["url"]]
            for file in names:
                if file not in absent:
                    sources.path(file)
            more = f" {len(absent)} can be had only from a mirror: {' '.join(absent)}" if absent else ""
            typer.echo(f"{len(names) - len(absent)} files are here and as registered.{more}")
            used = batches.grid().get(name, {}).get("builds_on", [name])
            for paper in used if profile == "paper" else ():  # an owner's files stand in no registry
                for part in config.sections(config.load(paper, {"profile": profile})):
                    part.check()


@app.command()
def train(
    name: Annotated[str, typer.Argument(help="a paper, e.g. dnt, or one of its encoders, e.g. dnt/gran")],
    profile: Profile = "demo",
) -> None:
    """Train the encoders that several notebooks of a paper start from; what is trained already is found by its key."""
    from sentbook.papers import shared_recipes
    from sentbook.runs import batch as batches

    paper, _, only = name.partition("/")
    methods = batches.shared_encoders(paper)
    if only and only not in methods:
        raise ConfigError(f"There is no encoder '{only}' of {paper}; choose one of {', '.join(methods)}.")
    with batches.recorded(profile, f"encoders/{name}"):
        study, recipes = shared_recipes(paper, {"profile": profile})
        wanted = [recipes[methods[only]]] if only else list(recipes.values())
        for item in study.train(*wanted, jobs=batches.grid()[paper].get("jobs")):
            typer.echo(f"{item.recipe.key()}  {item.method}, seed {item.seed}")


@app.command()
def pretrain(
    model: Annotated[str, typer.Argument(help='as tables call it, e.g. "composite model" or "autoencoder+emb."')],
    profile: Profile = "demo",
    set_: Changes = None,
) -> None:
    """Train one encoder that the notebooks of its paper then find, on several GPUs under torchrun.

    torchrun --standalone --nproc-per-node 8 -m sentbook.cli pretrain "composite model" --profile paper
    """
    from sentbook.io import artifacts
    from sentbook.papers import shared_recipes
    from sentbook.runs import batch as batches
    from sentbook.training import distributed
    from sentbook.training import recipes as training

    owners = {name: paper for paper, known in batches.grid().items() for name in known.get("encoders", ())}
    if model not in owners:
        raise ConfigError(f"There is no model '{model}'; choose one of {', '.join(owners)}.")
    study, recipes = shared_recipes(owners[model], {"profile": profile, **_parameters(set_)})
    for recipe in recipes[model]:
        history = training.obtain([recipe], device=study.settings.device)[0].metadata["history"]
        if distributed.is_first():
            metric = next(point["metric"] for point in history["curve"] if point["split"] == "validation")
            typer.echo(f"{artifacts() / recipe.key()}  {metric} {history['best']:.4f}")
    distributed.leave()


# -- evidence ----------------------------------------------------------------------------------------------------------


@app.command()
def verdicts(
    profile: Profile = "small",
    again: Annotated[bool, typer.Option(help="first judge what earlier rules judged, from the recorded rows")] = False,
) -> None:
    """Write every claim with its verdict as results/<profile>/verdicts.json, from the recorded runs."""
    from sentbook.runs import batch as batches
    from sentbook.runs import verdict_ledger

    with batches.recorded(profile, "verdicts"):
        left = verdict_ledger.judge_again(profile) if again else []
        ledger = verdict_ledger.gather(profile)
        path = verdict_ledger.write(ledger)
    for paper, counts in ledger.counts.items():
        typer.echo(f"{paper:9}" + ", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    if left:
        typer.echo(f"judged by an earlier rule until their notebooks run again: {', '.join(left)}")
    typer.echo(f"written: {path}")


@app.command()
def certify(
    experiment: Annotated[str, typer.Argument(help="paper/experiment, e.g. cse/table1")] = "",
    profile: Profile = "small",
    run: Annotated[Path | None, typer.Option(help="your run; else the one in results/<profile>")] = None,
    recorded: Annotated[Path | None, typer.Option(help="the recorded run; else the committed one")] = None,
    out: Annotated[Path | None, typer.Option(help="folder; else build/certificates")] = None,
    record: Annotated[bool, typer.Option("--record", help="keep the comparison for the page of status")] = False,
) -> None:
    """Compare your own run with the recorded one, number by number; the exit status is 0 only when it is certified."""
    from sentbook.io import root, write_atomically
    from sentbook.runs import certify as certifying
    from sentbook.runs import ledger

    paper, _, name = experiment.partition("/")
    if not paper or not name or "/" in name:
        raise ConfigError(f"'{experiment}' names no experiment; write for example sentbook certify cse/table1.")
    first = certifying.from_file(recorded) if recorded else certifying.from_git(paper, name, profile)
    second = certifying.from_file(run or ledger.path_of(paper, name, profile))
    found = certifying.compare(f"{profile}/{experiment}", first, second)
    if not found.compared and not found.reasons:
        raise ConfigError(f"{profile}/{experiment} holds no numbers that could be compared; choose another experiment.")
    for line in found.lines():
        typer.echo(line)
    if found.data_differing:
        typer.echo(f"data: other files than the recorded run's ({', '.join(found.data_differing)})")
    folder = certifying.again() if record else out or root() / "build" / "certificates"
    path = folder / f"{paper}-{name}-{profile}.json"
    write_atomically(path, ledger.dumped(found))
    typer.echo(f"written: {path}")
    if found.reasons:
        raise typer.Exit(NOT_CERTIFIED)


@app.command()
def protocols(
    scores: Annotated[
        Path, typer.Argument(help="CSV with the columns set and score, a row a pair; or one score a line")
    ],
    year: Annotated[int, typer.Option(help="2012 to 2016")] = 2014,
) -> None:
    """Your own scores of a year of STS under every protocol: which of them is the number that you compare with?

    Pairs stand in the order of the released files, those without a gold score left out. Sets are named as released
    (deft-forum) or as in the papers' tables (deft forum); without names they follow each other as in those tables.
    """
    from sentbook.data.readers import sts
    from sentbook.exchange import own_scores

    if scores.name.lower().endswith((".zip", ".tar", ".xz", ".zst", ".tar.gz", ".tar.bz2")):
        raise ConfigError(f"{scores} is packed; unpack it, and give the CSV in it.")
    sets = sts(year)
    for line in own_scores.table(own_scores.read(scores, sets), sets):
        typer.echo(line)


# -- encoders for other programs ---------------------------------------------------------------------------------------


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
def playground(
    profile: Profile = "small",
    words: Annotated[int, typer.Option(min=100, help="the most frequent ones that each encoder keeps")] = 10_000,
) -> None:
    """Train and pack the encoders of the book's playground: book/_static/playground/data.js and its static table."""
    from sentbook.io import root, write_atomically
    from sentbook.papers.cross import playground as encoders

    made = encoders.packed(profile, words)
    for file, text in (("_static/playground/data.js", made.script()), ("playground_examples.html", made.table())):
        write_atomically(root() / "book" / file, text)
        typer.echo(f"{len(text.encode()) / 1e6:.2f} MB in {root() / 'book' / file}")


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
    from sentbook.exchange import portable, stream

    if output is not None and option is not None:
        raise ConfigError(f"Both {output} and {option} are named; name one file for the vectors.")
    path = option or output
    told = 0

    def progress(count: int) -> None:
        """On a terminal count on one line; in a log write a line each 100,000."""
        nonlocal told
        if sys.stderr.isatty():
            typer.echo(f"\r{count:,} lines ", nl=False, err=True)
        elif count // 100_000 > told // 100_000:
            typer.echo(f"{count:,} lines", err=True)
        told = count

    loaded = portable.load(model)
    with stream.output(path) as file:
        count, width = stream.encode_lines(loaded, sys.stdin.buffer, file, progress)
    typer.echo(f"{count:,} vectors of {width} numbers in {path or 'standard output'}", err=True)


# -- data --------------------------------------------------------------------------------------------------------------


def _size(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


@data.command(name="list")
def list_files(names: Names = None) -> None:
    """Every file: its size, licence, and where it is now."""
    from sentbook.data import sources
    from sentbook.io import originals

    chosen = {name: sources.registry()[name] for name in sources.select(names or [])}
    width = max(map(len, chosen))
    room = max(16, get_terminal_size((200, 1)).columns - width - 35)  # a licence is one line, as long as may be
    counts: Counter[str] = Counter()
    typer.echo(f"{'file':<{width}} {'size':>10}  {'where':<18}  licence")
    for name, entry in chosen.items():
        file = sources.find(name)
        if file is None:
            where = "to download" if entry["url"] else "only from a mirror"
        else:
            owned = file.is_relative_to(originals())
            where = "cache" if file == sources.cache_folder() / name else "originals" if owned else "mirror"
        counts[where] += 1
        licence = shorten(entry["licence"], room, placeholder=" ...")
        typer.echo(f"{name:<{width}} {_size(entry['bytes']):>10}  {where:<18}  {licence}")
    said = ", ".join(f"{count} {where}" for where, count in sorted(counts.items()))
    size = _size(sum(entry["bytes"] for entry in chosen.values()))
    typer.echo(f"{len(chosen)} files, {size}: {said}. Cache: {sources.cache_folder()}")


@data.command()
def fetch(names: Names = None) -> None:
    """Download what is not here, and replace what is damaged in the cache; what is over 100 MB only by name."""
    from sentbook.data import sources

    fetched, only_mirror, large = 0, 0, []
    for name in sources.select(names or []):
        entry, file = sources.registry()[name], sources.find(name)
        if file is not None:
            try:
                sources.verify(name, file)
                continue
            except DataError:
                if file != sources.cache_folder() / name:
                    raise  # a mirror is mended by who keeps it
        if entry["url"] is None and name not in (names or []):
            only_mirror += 1
        elif not names and entry["bytes"] > LARGE:
            large.append(name)
        else:
            sources.download(name)
            fetched += 1
            typer.echo(f"{name}  {_size(entry['bytes'])}")
    typer.echo(f"{fetched} files fetched into {sources.cache_folder()}." if fetched else "Nothing left to download.")
    if only_mirror:
        typer.echo(f"{only_mirror} files can be had only from a mirror; see `sentbook data list`.")
    if large:
        size = _size(sum(sources.registry()[name]["bytes"] for name in large))
        typer.echo(f"Not fetched for their size ({size}), name them to have them: {' '.join(large)}")


@data.command()
def check(names: Names = None) -> None:
    """Verify every file that is here; the exit status is not 0 when one is wrong."""
    from sentbook.data import sources

    places = {name: sources.find(name) for name in sources.select(names or [])}
    present = {name: file for name, file in places.items() if file is not None}
    faults = 0
    for name, file in present.items():
        try:
            sources.verify(name, file)
        except DataError as error:
            faults += 1
            typer.echo(str(error), err=True)
    if faults:
        raise DataError(f"{faults} of {len(present)} files are wrong; do as the line of each says.")
    typer.echo(f"{len(present)} files are as registered, {len(places) - len(present)} are not here.")


@data.command()
def overlap(
    record: Annotated[bool, typer.Option(help="as the book's: results/small/data/overlap.json")] = False,
) -> None:
    """Count the sentences that training corpora share with test sets."""
    from sentbook.runs import leakage, ledger

    run = leakage.measured()
    if record:
        ledger.write(run)
    for row in run.extra["overlap"]:
        typer.echo(
            f"{row['corpus']:18} {row['test']:26} {row['sentences']:6} sentences "
            f"({row['share']:.1%}), {row['pairs']} pairs"
        )


# -- the entry point ---------------------------------------------------------------------------------------------------

_INTERRUPTED = "Interrupted; run the same command to go on: what was finished is kept."


def main() -> None:
    """Run the command line: errors a user can mend are one sentence on standard error."""
    if (status := forkserver.in_fork("sentbook.cli:main", sys.argv)) is not None:
        sys.exit(status)
    # Threads that wait sleep, and leave their processor to other work (not those of kernels begun by `papermill`).
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for name in ("SENTBOOK_ROOT", "SENTBOOK_DATA", "SENTBOOK_ORIGINALS", "SENTBOOK_ARTIFACTS", "SENTBOOK_CACHE"):
        if os.environ.get(name, "none") not in ("", "none"):  # kernels work in another folder
            os.environ[name] = str(Path(os.environ[name]).expanduser().absolute())
    for name, mode in (("stdin", "r"), ("stdout", "w")):
        if getattr(sys, name) is None:  # closed
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    try:
        app()
    except SentbookError as error:
        _end(str(error), error.exit_code)
    except (OSError, MemoryError, RuntimeError, ValueError) as error:
        sentence = mended(type(error).__name__, str(error))
        if sentence is None and isinstance(error, OSError) and error.errno in FULL:  # standard output too
            place = f"{error.filename or 'Standard output'} could not be written ({error.strerror})"
            sentence = f"{place}; free some space or choose another place, then run again: what was finished is kept."
        if sentence is None:
            raise
        _end(sentence)
    except KeyboardInterrupt:
        _end(_INTERRUPTED, 130)
    except SystemExit as stop:
        if stop.code == 130:  # typer's silent answer to Ctrl-C inside a command
            _end(_INTERRUPTED, 130)
        raise


def _end(sentence: str, code: int = StorageError.exit_code) -> NoReturn:
    typer.echo(f"sentbook: {sentence}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
