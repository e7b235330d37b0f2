"""The pages behind the numbers: for each experiment what was run, on what, how, and every row that it recorded."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import yaml

from sentbook import config
from sentbook.records import Run
from sentbook.report import figures, ledger, numbers, pedigree, tables, templates
from sentbook.report.markup import Fragment, Html, Piece, badge, esc, run_name, scrolling, verdict, why
from sentbook.report.pages import PROFILES, title
from sentbook.report.style import without_sheet
from sentbook.report.summary import ordered
from sentbook.report.table import simple
from sentbook.runs import lineage
from sentbook.runs.ledger import read
from sentbook.runs.papers import paper_of
from sentbook.system.files import write_atomically
from sentbook.system.paths import root

# What a figure's legend has room for: lines, and letters of their names.
_LINES, _LETTERS = 5, 70
_SPLITS = frozenset({"validation", "test", "train"})  # other curves are of no training
# Parameters that change no number.
_ELSEWHERE = ("profile", "device", "jobs")
_STAMP = "% made from "


# -- which pages -------------------------------------------------------------------------------------------------------


def experiments() -> list[tuple[str, str]]:
    """(paper, experiment) of every page that the table of contents lists, in its order."""
    names = [page.removeprefix(f"{pedigree.RUNS}/").split("/") for page in pedigree.listed()]
    return [(paper, experiment) for paper, experiment in names]


def recorded(paper: str, experiment: str) -> list[Run]:
    """The runs of an experiment, the most faithful profile first."""
    found = [read(paper, experiment, profile) for profile in PROFILES]
    return [run for run in found if run is not None]


def write() -> None:
    """Write the page of every experiment that the table of contents lists, and take away others.

    A page is drawn again only where its runs, what they are made from, or the drawing changed.
    """
    folder, kept = root() / pedigree.RUNS, set()
    drawing = _drawing()
    for paper, experiment in experiments():
        path = folder / paper / f"{experiment}.md"
        kept.add(path)
        runs = recorded(paper, experiment)
        changed = {run.profile: lineage.changed(run) for run in runs}
        made_from = [drawing, changed, [run.model_dump_json() for run in runs]]
        stamp = _STAMP + hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]
        if not (path.is_file() and path.read_text(encoding="utf-8").startswith(stamp + "\n")):
            write_atomically(path, f"{stamp}\n{without_sheet(page(paper, experiment, runs, changed))}")
    for path in folder.glob("*/*.md"):
        if path not in kept:
            path.unlink()


def _drawing() -> str:
    """A digest of the code that draws, and of what else a page shows."""
    digest = hashlib.sha256()
    sources = sorted((root() / "lib" / "sentbook" / "report").rglob("*"))
    for file in [*sources, root() / "_toc.yml", root() / "_config.yml", *sorted((root() / "params").glob("*/*.yaml"))]:
        if file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()


# -- one page ----------------------------------------------------------------------------------------------------------


def page(paper: str, experiment: str, runs: list[Run], changed: Mapping[str, list[str]]) -> str:
    """The page of an experiment, in Markdown.

    Args:
        runs: its recorded runs, one a profile.
        changed: profile -> what differs now from what the run was made from, see `sentbook.runs.lineage.changed`.
    """
    shown = f"book/_executed/{paper}/{experiment}"
    to = f"../../_executed/{paper}/{experiment}.ipynb" if shown in pedigree.listed("book/_executed") else ""
    return templates.markdown(
        "run",
        name=f"{paper_of(paper).name}, {title(experiment).lower()}",
        to=to or ("../../data.md" if paper == "data" else ""),
        command=command(paper, experiment),
        parts=[_part(run, changed.get(run.profile, []), drawn=run is runs[0]) for run in runs],
    )


def command(paper: str, experiment: str, profile: str = "small") -> str:
    """What makes a run again."""
    if paper == "data":
        return f"sentbook data {experiment}"
    return f"make run NOTEBOOK={paper}/{experiment} PROFILE={profile}"


def _part(run: Run, changed: list[str], *, drawn: bool) -> dict[str, Any]:
    """What a page tells of one run; ``drawn``: with its curve as a figure."""
    stale = pedigree.stale_words(changed)
    folded, curves = _curves(run, drawn=drawn)
    sections = {"Rows": ledger.rows(run) if run.metrics else ""}
    if run.tests:
        sections["Comparisons"] = _of(tables.tests(run, caption="Differences with their 95 % intervals"), run)
    if run.claims and not is_toy(run):
        sections["Claims"] = _of(tables.claims(run, caption="By their rules"), run)
    if run.cost:
        sections["Cost"] = _of(tables.cost(run, caption="Means over seeds"), run)
    return {
        "run": run,
        "headline": _html(_headline(run, stale), "sentbook-run", style=True),
        "facts": _html(templates.html("facts", facts=_facts(run)), "sentbook-provenance"),
        "stale": stale,
        "changed": [] if changed in (lineage.UNKNOWN, lineage.EARLIER) else changed,
        "differences": [(name, _short(ours), _short(theirs)) for name, ours, theirs in _differences(run)],
        "configuration": yaml.safe_dump(run.provenance.config, sort_keys=False, allow_unicode=True, width=110),
        "encoders": _html(_encoders(run.extra["artifacts"])) if run.extra.get("artifacts") else "",
        "curves_folded": folded,
        "curves": Html(curves),
        "sections": [
            (heading, _html(html, "sentbook-table sentbook-ledger")) for heading, html in sections.items() if html
        ],
    }


def is_toy(run: Run) -> bool:
    """Whether the run is on generated data, which gives no verdict on a paper."""
    return run.profile == "demo"


def _html(body: str, kind: str = "sentbook-table", *, style: bool = False) -> Html:
    return Html(Fragment(body, kind=kind).html(style=style))


def _headline(run: Run, stale: str) -> str:
    """Which run, how its claims were judged, whether it is stale; it brings the page's style sheet."""
    row = tables.badges(run, just_made=is_toy(run))
    if stale:
        row = row.replace("</ul>", f"{badge(stale, 'stale')}</ul>")
    if is_toy(run):
        return f'{row}<p class="sb-toy-name">Toy data: generated sentences. No verdict on the paper.</p>'
    counts = Counter(claim.verdict for claim in run.claims)
    judged = "".join(f'<li class="sb-badge">{count} {verdict(name)}</li>' for name, count in counts.items())
    return row + (f'<ul class="sb-badges" aria-label="Verdicts">{judged}</ul>' if judged else "")


def _facts(run: Run) -> list[tuple[str, str]]:
    """Terms and values of what is known of a run."""
    made = run.provenance
    commit, plus, rest = made.git_commit.partition("+")
    repository = _repository()
    linked = f'<a href="{esc(repository)}/tree/{esc(commit)}">{esc(commit)}</a>' if repository else esc(commit)
    packages = ", ".join(f"{name} {version}" for name, version in made.packages.items())
    return [
        ("Make it again", Html(f"<code>{esc(command(run.paper, run.experiment, run.profile))}</code>")),
        ("Seeds", ", ".join(map(str, made.seeds))),
        ("Commit", Html(linked + esc(plus + rest))),
        ("Started", made.started.replace("T", " ")),
        ("Time", tables.time_of(run)),
        ("Peak memory", numbers.memory(made.peak_memory_bytes)),
        ("Device", made.device),
        ("Python", f"{made.python}; {packages}"),
        ("Substitutions", "; ".join(made.substitutions) or "none"),
    ]


def _repository() -> str:
    settings = yaml.safe_load((root() / "_config.yml").read_text(encoding="utf-8"))
    return str(settings.get("repository", {}).get("url", ""))


def _differences(run: Run) -> list[tuple[str, Any, Any]]:
    """(name, here, in the profile ``paper``) of the values that can change a number."""
    if run.paper not in config.papers() or run.profile == "paper":
        return []
    theirs = _flat(config.load(run.paper, {"profile": "paper"}).model_dump(mode="json"))
    ours = _flat(run.provenance.config)
    names = [name for name in ordered([*ours, *theirs]) if name not in _ELSEWHERE]
    return [(n, ours.get(n), theirs.get(n)) for n in names if ours.get(n) != theirs.get(n)]


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return flat


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _encoders(artifacts: list[dict[str, Any]]) -> str:
    rows = [
        [
            esc(item["method"]),
            esc(item["seed"]),
            f"<code>{esc(item['key'])}</code>",
            f"<code>{esc(str(item.get('git_commit', ''))[:7])}</code>",
            esc(str(item.get("started", "")).replace("T", " ")[:16]),
            esc(numbers.minutes(item["wall_seconds"])) if "wall_seconds" in item else "",
            esc(numbers.count(item["pairs"])) if "pairs" in item else "",
        ]
        for item in artifacts
    ]
    heads = ["Encoder", "Seed", "Key", "Commit", "Trained", "Time", "Pairs"]
    return simple(heads, rows, label="Encoders")


def _curves(run: Run, *, drawn: bool) -> tuple[str, str]:
    """The curve that a choice was made by, as a figure; a head and numbers to fold below it otherwise."""
    groups = ordered((point.split, point.metric) for point in run.curves)
    if not groups:
        return "", ""
    split, metric = next((group for group in groups if group[0] == "validation"), groups[0])
    methods = {point.method for point in run.curves if (point.split, point.metric) == (split, metric)}
    if drawn and split in _SPLITS and len(methods) <= _LINES and sum(map(len, methods)) <= _LETTERS:
        return "", figures.training_curves(run, split=split, metric=metric).html(style=False)
    return f"Curves of {len({point.method for point in run.curves})} trainings", _html(ledger.curve_rows(run.curves))


def _of(fragment: Piece, run: Run) -> str:
    return ledger.anchored(fragment.body, run.profile)


# -- all runs ----------------------------------------------------------------------------------------------------------


def overview() -> str:
    """Every recorded run: date, commit, time, verdicts, fresh or stale; with links to be made by `pedigree.linked`."""
    heads = ["Run", "Profile", "State", "Date", "Commit", "Time", "Claims"]
    head = "".join(f'<th scope="col" class="{"" if i else "sb-first"}">{name}</th>' for i, name in enumerate(heads))
    bodies: dict[str, str] = {}
    for paper, experiment in experiments():
        to = f"_runs/{paper}/{experiment}.html"
        first = f'<th scope="row" class="sb-first"><a href="{esc(to)}">{esc(title(experiment))}</a></th>'
        body = "" if paper in bodies else _group(paper_of(paper).name, len(heads))
        runs = recorded(paper, experiment)
        for run in runs:
            made, name = run.provenance, run_name(run)
            state = pedigree.stale_words(lineage.changed(run))
            counts = Counter() if is_toy(run) else Counter(verdict(claim.verdict) for claim in run.claims)
            cells = [
                esc(run.profile),
                why(state.removesuffix(" changed since").removeprefix("recorded by ") or "fresh", name),
                why(made.started[:10], name),
                f"<code>{why(made.git_commit[:7], name)}</code>",
                why(tables.time_of(run), name),
                "toy data"
                if is_toy(run)
                else " ".join(f"{why(n, name)} {words}" for words, n in sorted(counts.items())),
            ]
            body += f"<tr>{first}" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        if not runs:
            body += f'<tr>{first}<td colspan="{len(heads) - 1}" class="sb-left sb-soft">not run</td></tr>'
        bodies[paper] = bodies.get(paper, "") + body
    return Fragment(scrolling(f"<tr>{head}</tr>", list(bodies.values()), "", label="Runs")).html() + "\n"


def _group(name: str, width: int) -> str:
    return (
        f'<tr class="sb-group"><th scope="rowgroup" class="sb-first">{esc(name)}</th>'
        f'<td colspan="{width - 1}"></td></tr>'
    )
