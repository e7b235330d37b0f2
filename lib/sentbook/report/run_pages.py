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
from sentbook.report import figures, ledger, numbers, pedigree, tables
from sentbook.report.markup import Fragment, badge, esc, run_name, scrolling, simple, verdict, why
from sentbook.report.pages import PROFILES, title
from sentbook.report.summary import ordered
from sentbook.runs import lineage
from sentbook.runs.ledger import read
from sentbook.runs.papers import paper_of
from sentbook.system.files import write_atomically
from sentbook.system.paths import root

# What a figure's legend has room for: lines, and letters of their names.
_LINES, _LETTERS = 5, 70
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
            write_atomically(path, f"{stamp}\n{page(paper, experiment, runs, changed)}")
    for path in folder.glob("*/*.md"):
        if path not in kept:
            path.unlink()


def _drawing() -> str:
    """A digest of the code that draws, and of what else a page shows."""
    digest = hashlib.sha256()
    sources = sorted((root() / "lib" / "sentbook" / "report").glob("*"))
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
    name = f"{paper_of(paper).name}, {title(experiment).lower()}"
    shown = f"book/_executed/{paper}/{experiment}"
    to = f"../../_executed/{paper}/{experiment}.ipynb" if shown in pedigree.listed("book/_executed") else ""
    to = to or ("../../data.md" if paper == "data" else "")
    parts = [f"# Run: {name}"]
    if not runs:
        parts.append(f"Not run: no run of this experiment is recorded. Make one with `{command(paper, experiment)}`.")
    else:
        where = f" on the page [{name}]({to})" if to else ""
        parts.append(f"Where the numbers{where} come from, and every row that was recorded.")
    for run in runs:
        parts += _profile(run, changed.get(run.profile, []), drawn=run is runs[0])
    return "\n\n".join(part for part in parts if part) + "\n"


def command(paper: str, experiment: str, profile: str = "small") -> str:
    """What makes a run again."""
    if paper == "data":
        return f"sentbook data {experiment}"
    return f"make run NOTEBOOK={paper}/{experiment} PROFILE={profile}"


def _profile(run: Run, changed: list[str], *, drawn: bool) -> list[str]:
    """The part of a page that tells of one run; ``drawn``: with its curve as a figure."""
    made, words = run.provenance, pedigree.stale_words(changed)
    parts = [f"## Profile {run.profile}", _headline(run, words), _facts(run)]
    if changed and changed not in (lineage.UNKNOWN, lineage.EARLIER):
        parts.append(_dropdown(words[0].upper() + words[1:], "\n".join(f"- `{name}`" for name in changed)))
    parts.append(_configuration(run))
    if made.data:
        files = "\n".join(f"- {_code(name)} {_code(digest[:12])}" for name, digest in sorted(made.data.items()))
        note = "Where each comes from, and its licence, is on the page [Data](../../data.md)."
        parts.append(_dropdown(f"Data: {len(made.data)} files, with SHA-256", f"{files}\n\n{note}"))
    if made.sources:
        differ = set(changed)
        files = "\n".join(
            f"- {_code(name)} {_code(digest)}{', changed since' if name in differ else ''}"
            for name, digest in sorted(made.sources.items())
        )
        parts.append(_dropdown(f"Sources: {len(made.sources)} files, with digests", files))
    if encoders := run.extra.get("artifacts", []):
        parts.append(_dropdown(f"Encoders: {len(encoders)}, by key", _encoders(encoders)))
    log = run.extra.get("log", [])
    parts.append(_dropdown(f"Log: {len(log)} lines", _fence("text", "\n".join(log))) if log else "No log was kept.")
    parts += _curves(run, drawn=drawn)
    for heading, html in (
        ("Rows", ledger.rows(run) if run.metrics else ""),
        (
            "Comparisons",
            _of(tables.tests(run, caption="Differences with their 95 % intervals"), run) if run.tests else "",
        ),
        ("Claims", _of(tables.claims(run, caption="By their rules"), run) if run.claims else ""),
        ("Cost", _of(tables.cost(run, caption="Means over seeds"), run) if run.cost else ""),
    ):
        if html:
            parts += [
                f"### {heading}, {run.profile}",
                Fragment(html, kind="sentbook-table sentbook-ledger").html(style=False),
            ]
    return parts


def _headline(run: Run, stale: str) -> str:
    """Which run, how its claims were judged, whether it is stale; it brings the page's style sheet."""
    row = tables.badges(run, just_made=run.profile == "demo")
    if stale:
        row = row.replace("</ul>", f"{badge(stale, 'stale')}</ul>")
    counts = Counter(claim.verdict for claim in run.claims)
    judged = "".join(f'<li class="sb-badge">{count} {verdict(name)}</li>' for name, count in counts.items())
    judged = f'<ul class="sb-badges" aria-label="Verdicts">{judged}</ul>' if judged else ""
    return Fragment(row + judged, kind="sentbook-run").html()


def _facts(run: Run) -> str:
    made = run.provenance
    commit, plus, rest = made.git_commit.partition("+")
    repository = _repository()
    linked = f'<a href="{esc(repository)}/tree/{esc(commit)}">{esc(commit)}</a>' if repository else esc(commit)
    packages = ", ".join(f"{name} {version}" for name, version in made.packages.items())
    entries = [
        ("Make it again", f"<code>{esc(command(run.paper, run.experiment, run.profile))}</code>"),
        ("Seeds", esc(", ".join(map(str, made.seeds)))),
        ("Commit", linked + esc(plus + rest)),
        ("Started", esc(made.started.replace("T", " "))),
        ("Time", esc(tables.time_of(run))),
        ("Peak memory", esc(numbers.memory(made.peak_memory_bytes))),
        ("Device", esc(made.device)),
        ("Python", esc(f"{made.python}; {packages}")),
        ("Substitutions", esc("; ".join(made.substitutions) or "none")),
    ]
    body = "".join(f"<dt>{term}</dt><dd>{value}</dd>" for term, value in entries)
    return Fragment(f"<dl>{body}</dl>", kind="sentbook-provenance").html(style=False)


def _repository() -> str:
    settings = yaml.safe_load((root() / "_config.yml").read_text(encoding="utf-8"))
    return str(settings.get("repository", {}).get("url", ""))


def _configuration(run: Run) -> str:
    """The configuration, what differs from the ``paper`` profile first."""
    held = run.provenance.config
    if not held:
        return ""
    differ = _differences(run)
    lines = [
        f"- {_code(name)}: {_code(_short(ours))}, in `paper` {_code(_short(theirs))}" for name, ours, theirs in differ
    ]
    first = (
        "As the profile `paper`." if not lines else "\n".join(["What differs from the profile `paper`:", "", *lines])
    )
    whole = yaml.safe_dump(held, sort_keys=False, allow_unicode=True, width=110)
    words = f"{len(differ)} of its values differ from the paper profile" if lines else "as the paper profile"
    return _dropdown(
        f"Configuration {run.provenance.config_hash}: {words}", f"{first}\n\nIn full:\n\n{_fence('yaml', whole)}"
    )


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
    return Fragment(simple(heads, rows, label="Encoders")).html(style=False)


def _curves(run: Run, *, drawn: bool) -> list[str]:
    """The curve that a choice was made by, as a figure; folded, in numbers, where not ``drawn`` or of many lines."""
    if not run.curves:
        return []
    groups = ordered((point.split, point.metric) for point in run.curves)
    split, metric = next((group for group in groups if group[0] == "validation"), groups[0])
    methods = {point.method for point in run.curves if (point.split, point.metric) == (split, metric)}
    if drawn and len(methods) <= _LINES and sum(map(len, methods)) <= _LETTERS:
        return [figures.training_curves(run, split=split, metric=metric).html(style=False)]
    table_of_all = Fragment(ledger.curve_rows(run.curves)).html(style=False)
    return [_dropdown(f"Curves of {len({point.method for point in run.curves})} trainings", table_of_all)]


def _of(fragment: Fragment, run: Run) -> str:
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
            counts = Counter(verdict(claim.verdict) for claim in run.claims)
            cells = [
                esc(run.profile),
                why(state.removesuffix(" changed since") or "fresh", name),
                why(made.started[:10], name),
                f"<code>{why(made.git_commit[:7], name)}</code>",
                why(tables.time_of(run), name),
                " ".join(f"{why(str(count), name)} {words}" for words, count in sorted(counts.items())),
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


# -- Markdown ----------------------------------------------------------------------------------------------------------


def _dropdown(summary: str, body: str) -> str:
    return f"::::{{dropdown}} {summary}\n\n{body}\n::::"


def _fence(language: str, text: str) -> str:
    """Text as it is: the fence is longer than any that it holds."""
    fence = "~" * 12
    return f"{fence}{language}\n{text.replace(fence, '').rstrip()}\n{fence}"


def _code(text: object) -> str:
    """A span of code on one line, in which Markdown sees no markup."""
    return f"`{' '.join(str(text).split()).replace('`', chr(39)) or ' '}`"
