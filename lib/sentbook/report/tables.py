"""Tables for notebooks and the book: the paper's numbers beside ours, with intervals, tests, cost and provenance."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pandas as pd

from sentbook.records import Run, Test
from sentbook.report import numbers
from sentbook.report.marks import Recorded, row_key, row_mark, run_name
from sentbook.report.markup import Fragment, badge, esc, from_paper, pipes, simple, table, verdict
from sentbook.report.summary import (
    Centre,
    Summary,
    full_name,
    group_and_label,
    headings,
    interval_words,
    is_average,
    on_scale,
    ordered,
    over_seeds,
    printed,
    significant,
    test_of,
    where_printed,
)
from sentbook.system.errors import ConfigError

Key = TypeVar("Key", bound=Hashable)
_FOLDERS = {"CSE": "cse", "CNN-LSTM": "cnn_lstm", "WSV": "wsv", "DNT": "dnt"}


# -- the badge row and the notice ------------------------------------------------------------------------------------


def badges(run: Run, *, just_made: bool = False) -> str:
    """Which run the numbers are of: profile, seeds, recorded or just made, date, commit, device, minutes."""
    made = run.provenance
    seeds = len(made.seeds)
    items = [
        badge("run just made" if just_made else "recorded run", "new" if just_made else ""),
        badge(f"profile {run.profile}"),
        badge(f"{seeds} seed{'' if seeds == 1 else 's'}"),
        badge(made.started[:10]),
        badge(f"commit {_short_commit(made.git_commit)}"),
        badge(made.device),
        badge(time_of(run)),
    ]
    if made.substitutions:
        items.append(badge("substituted training data", "substitute"))
    return f'<ul class="sb-badges" aria-label="Which run">{"".join(items)}</ul>'


def _badge_text(run: Run, just_made: bool) -> str:
    made = run.provenance
    kind = "Run just made" if just_made else "Recorded run"
    substituted = ", substituted training data" if made.substitutions else ""
    return (
        f"{kind}: profile {run.profile}, seeds {', '.join(map(str, made.seeds))}, {made.started[:10]}, "
        f"commit {_short_commit(made.git_commit)}, {made.device}, {time_of(run)}{substituted}."
    )


def time_of(run: Run) -> str:
    """Minutes of the run, and of the trainings whose encoders it used."""
    made = run.provenance
    trained = f" + {numbers.minutes(made.training_seconds)} of training" if made.training_seconds else ""
    return numbers.minutes(made.wall_seconds) + trained


def _short_commit(commit: str) -> str:
    plain, plus, changes = commit.partition("+")
    return (plain[:7] if len(plain) > 12 else plain) + plus + changes


def not_run(command: str) -> Fragment:
    """The notice that stands where numbers would."""
    text = "Not run. No numbers of this experiment are recorded in this profile."
    body = (
        f'<div class="sb-notice" role="note"><strong>Not run</strong>'
        f"No numbers of this experiment are recorded in this profile. Make them with <code>{esc(command)}</code></div>"
    )
    return Fragment(body, markdown=f"{text} Make them with `{command}`.")


def _command(reported: pd.DataFrame | None, command: str | None) -> str:
    if command is not None:
        return command
    notebook = "<paper>/<experiment>"
    if reported is not None and len(reported) and {"paper", "table"} <= set(reported.columns):
        first = reported.iloc[0]
        notebook = f"{_FOLDERS.get(str(first['paper']), str(first['paper']).lower())}/{first['table']}"
    return f"make run NOTEBOOK={notebook} PROFILE=small"


# -- the comparison --------------------------------------------------------------------------------------------------


@dataclass
class _Block:
    """The columns of one method (or of one metric): what the paper printed and what we found, by row."""

    title: str
    metric: str
    places: int
    paper: dict[str, float] = field(default_factory=dict)
    ours: dict[str, Summary] = field(default_factory=dict)
    rank_alone: bool = False  # the best of a column, not of a row
    dataset: str = ""  # of a block that holds one metric; else its rows are data sets
    where: str = "the paper"

    @property
    def columns(self) -> list[str]:
        both = bool(self.paper.keys() & self.ours.keys())
        return [*(["paper"] if self.paper else []), *(["ours"] if self.ours else []), *(["diff."] if both else [])]

    def mark(self, row: str) -> str:
        """The row of the ledger that a cell of ours shows."""
        method, dataset = (row, self.dataset) if self.dataset else (self.title, row)
        return row_mark(method, dataset, self.metric)


def _best(values: Mapping[Key, float], metric: str, places: int) -> set[Key]:
    """The keys of the best value as printed; none where there is only one value, all of several that print alike."""
    if len(values) < 2:
        return set()
    rounded = {key: round(value * numbers.factor(metric), places) for key, value in values.items()}
    best = min(rounded.values()) if numbers.lower_is_better(metric) else max(rounded.values())
    return {key for key, value in rounded.items() if value == best}


def comparison(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    rows: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    metric: str = "pearson",
    caption: str = "",
    tests: Iterable[Test] | None = None,
    pair: tuple[str, str] | None = None,
    centre: Centre = "mean",
    interval: str = "brackets",
    protocol: object = None,
    places: int | None = None,
    notes: Mapping[str, str] | None = None,
    just_made: bool = False,
    command: str | None = None,
) -> Fragment:
    """The paper's table with ours inside: per data set and method paper, ours with its interval, and the difference.

    Columns without any value are left out, so a run on other data sets than the paper's shows its own numbers alone.

    Args:
        run: the recorded run, or None: then the paper's numbers under a notice that says how to make ours.
        reported: the paper's numbers, columns method, dataset, metric, value (see `summary.reported`); None: none.
        rows: data sets in the paper's order; None: the paper's where one of them was run, else the run's.
        methods: None: the paper's, then those that only the run has.
        metric: its values are stored in [-1, 1] and shown x100 where it is a correlation or a share.
        tests: comparisons of ``pair``; None: those of the run.
        pair: (A, B): adds the column A - B with its interval and a star where Holm's p is below .05.
        centre: ``median`` where the paper takes the median of its runs.
        interval: ``brackets`` or ``half`` (half-width).
        protocol: which protocols, where the run holds several for a cell.
        places: decimals; None: by the metric.
        notes: remarks beside a row or group heading, e.g. ``{"STS2016": "validation"}``.
        just_made: the run was made by this notebook, not read from the ledger.
        command: how to make a run that is not there.

    Raises:
        ConfigError: a cell was scored under two protocols; ``interval`` is neither word.
    """
    paper = printed(reported, metric)
    ours, protocols = over_seeds(run, metric, protocol=protocol, centre=centre) if run is not None else ({}, [])
    run_rows = ordered(dataset for _, dataset in ours)
    paper_rows = ordered(dataset for _, dataset in paper)
    if rows is None:
        shared = set(run_rows) & set(paper_rows)
        rows = (
            [*paper_rows, *[row for row in run_rows if row not in paper_rows]] if shared or not run_rows else run_rows
        )
    if methods is None:
        kept = {method for method, dataset in paper if dataset in set(rows)}
        methods = ordered([*[m for m, _ in paper if m in kept], *[m for m, _ in ours]])
    places = numbers.digits(metric) if places is None else places
    blocks = [
        _Block(
            method,
            metric,
            places,
            {row: paper[method, row] for row in rows if (method, row) in paper},
            {row: ours[method, row] for row in rows if (method, row) in ours},
            where=where_printed(reported),
        )
        for method in methods
    ]
    blocks = [block for block in blocks if block.columns]
    found = list(run.tests if tests is None and run is not None else tests or [])
    contrast = _contrast(found, pair, rows, metric) if pair else {}
    parts = [f"{numbers.name(metric)}"]
    if protocols:
        parts.append("; ".join(protocols))
    seeds = [summary.seeds for block in blocks for summary in block.ours.values()]
    if seeds:
        parts.append(interval_words(centre, seeds))
    return _grid(
        run,
        blocks,
        rows,
        group_and_label,
        heading="Data set",
        caption=caption,
        how=" \u00b7 ".join(parts),
        contrast=contrast,
        pair=pair,
        interval=interval,
        notes=notes or {},
        just_made=just_made,
        command=_command(reported, command),
    )


def by_metric(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    dataset: str,
    methods: Sequence[str] | None = None,
    metrics: Sequence[str] = ("pearson", "spearman", "mse"),
    caption: str = "",
    centre: Centre = "mean",
    interval: str = "brackets",
    protocol: object = None,
    places: Mapping[str, int] | None = None,
    just_made: bool = False,
    command: str | None = None,
) -> Fragment:
    """One data set, a method a row, a metric a group of columns; otherwise as `comparison`."""
    blocks, protocols, seeds, names = [], [], [], []
    for metric in metrics:
        paper = {m: v for (m, d), v in printed(reported, metric).items() if d == dataset}
        ours: dict[str, Summary] = {}
        if run is not None:
            cells, met = over_seeds(run, metric, protocol=protocol, centre=centre)
            ours = {m: s for (m, d), s in cells.items() if d == dataset}
            protocols += met
        names += [*paper, *ours]
        seeds += [summary.seeds for summary in ours.values()]
        decimals = (places or {}).get(metric, numbers.digits(metric))
        title, where = numbers.short(metric), where_printed(reported)
        blocks.append(_Block(title, metric, decimals, dict(paper), dict(ours), True, dataset, where))
    rows = list(methods) if methods is not None else ordered(names)
    for block in blocks:
        block.paper = {row: block.paper[row] for row in rows if row in block.paper}
        block.ours = {row: block.ours[row] for row in rows if row in block.ours}
    blocks = [block for block in blocks if block.columns]
    parts = [full_name(*group_and_label(dataset))]
    parts += ["; ".join(ordered(protocols))] if protocols else []
    parts += [interval_words(centre, seeds)] if seeds else []
    return _grid(
        run,
        blocks,
        rows,
        lambda method: ("", method),
        heading="Method",
        caption=caption,
        how=" \u00b7 ".join(parts),
        contrast={},
        pair=None,
        interval=interval,
        notes={},
        just_made=just_made,
        command=_command(reported, command),
    )


def _contrast(
    tests: Sequence[Test], pair: tuple[str, str], rows: Sequence[str], metric: str
) -> dict[str, tuple[Test, float, float, float]]:
    found = {row: test_of(tests, *pair, row, metric) for row in rows}
    return {row: test for row, test in found.items() if test is not None}


def _grid(
    run: Run | None,
    blocks: Sequence[_Block],
    rows: Sequence[str],
    naming: Callable[[str], tuple[str, str]],
    *,
    heading: str,
    caption: str,
    how: str,
    contrast: Mapping[str, tuple[Test, float, float, float]],
    pair: tuple[str, str] | None,
    interval: str,
    notes: Mapping[str, str],
    just_made: bool,
    command: str,
) -> Fragment:
    """The two-storey table that both comparisons share."""
    if interval not in ("brackets", "half"):
        raise ConfigError(f"interval is {interval!r}; choose brackets or half.")
    notice = not_run(command) if run is None else None
    best_paper, best_ours = _winners(blocks, rows)
    width = 1 + sum(len(block.columns) for block in blocks) + bool(contrast)

    def spread(low: float | None, high: float | None, block: _Block, *, signed: bool = False) -> str:
        if interval == "half":
            return numbers.half_width(low, high, block.metric, places=block.places)
        return numbers.interval(low, high, block.metric, places=block.places, signed=signed)

    filled = [row for row in rows if any(row in b.paper or row in b.ours for b in blocks) or row in contrast]
    bodies: list[str] = []
    flat: list[list[str]] = []
    records: list[dict[str, object]] = []
    group = ""
    for row, label in headings(filled, naming):
        if row is None:
            group = label
            remark = _remark(notes, next(r for r in filled if naming(r)[0] == label).partition("/")[0])
            empty = f'<td colspan="{width - 1}"></td>' if width > 1 else ""
            bodies.append(
                f'<tr class="sb-group"><th scope="rowgroup" class="sb-first">{esc(label)}{remark}</th>{empty}</tr>'
            )
            continue
        if naming(row)[0] != group or not bodies:
            group = naming(row)[0]
            bodies.append("")
        cells = [f'<th scope="row" class="sb-first">{esc(label)}{_remark(notes, row)}</th>']
        text = [full_name(*naming(row))]
        record: dict[str, object] = {heading.lower(): row}
        for number, block in enumerate(blocks):
            for position, column in enumerate(block.columns):
                bold = (number, row) in {"paper": best_paper, "ours": best_ours}.get(column, set())
                html, words = _cell(block, row, column, spread, record, bold=bold, first=position == 0)
                cells.append(html)
                text.append(words)
        if contrast:
            html, words = _contrast_cell(contrast.get(row), blocks[0], spread, record)
            cells.append(html)
            text.append(words)
        kind = ' class="sb-average"' if is_average(row) else ""
        bodies[-1] += f"<tr{kind}>{''.join(cells)}</tr>"
        flat.append(text)
        records.append(record)

    contrast_head = f"{pair[0]} {numbers.MINUS} {pair[1]}" if pair else ""
    head = _head(blocks, heading, contrast_head if contrast else "")
    titles = [heading, *[f"{b.title} {c}" for b in blocks for c in b.columns], *([contrast_head] if contrast else [])]
    top = (f"<strong>{esc(caption)}</strong>" if caption else "") + f'<span class="sb-how">{esc(how)}</span>'
    foot = _foot(contrast, pair)
    body = (
        (notice.body if notice else badges(run, just_made=just_made) if run is not None else "")
        + (table(head, bodies, top, label=caption or heading) if filled else "")
        + (f'<p class="sb-foot">{esc(foot)}</p>' if foot else "")
    )
    markdown = "\n\n".join(
        part
        for part in (
            caption and f"**{caption}**",
            how,
            notice.markdown if notice else _badge_text(run, just_made) if run else "",
            pipes(titles, flat) if flat else "",
            foot,
        )
        if part
    )
    return Fragment(body, markdown=markdown, frame=pd.DataFrame.from_records(records), run=run_name(run))


def _winners(blocks: Sequence[_Block], rows: Sequence[str]) -> tuple[set[tuple[int, str]], set[tuple[int, str]]]:
    """The (block, row) of the best printed and the best own values: along a row, or down a column of its own metric."""
    paper: set[tuple[int, str]] = set()
    ours: set[tuple[int, str]] = set()
    if blocks and blocks[0].rank_alone:
        for number, block in enumerate(blocks):
            values = {key: summary.value for key, summary in block.ours.items()}
            paper |= {(number, row) for row in _best(block.paper, block.metric, block.places)}
            ours |= {(number, row) for row in _best(values, block.metric, block.places)}
        return paper, ours
    for row in rows:
        metric, places = (blocks[0].metric, blocks[0].places) if blocks else ("", 1)
        theirs = {n: block.paper[row] for n, block in enumerate(blocks) if row in block.paper}
        own = {n: block.ours[row].value for n, block in enumerate(blocks) if row in block.ours}
        paper |= {(n, row) for n in _best(theirs, metric, places)}
        ours |= {(n, row) for n in _best(own, metric, places)}
    return paper, ours


def _head(blocks: Sequence[_Block], heading: str, contrast: str) -> str:
    first = f'<tr><th scope="col" rowspan="2" class="sb-first">{esc(heading)}</th>'
    second = "<tr>"
    for block in blocks:
        first += f'<th scope="colgroup" colspan="{len(block.columns)}" class="sb-start">{esc(block.title)}</th>'
        for position, column in enumerate(block.columns):
            second += f'<th scope="col" class="{"sb-start" if position == 0 else ""}">{column}</th>'
    if contrast:
        first += f'<th scope="col" class="sb-start">{esc(contrast)}</th>'
        second += '<th scope="col" class="sb-start">ours, 95 %</th>'
    return first + "</tr>" + second + "</tr>"


def _cell(
    block: _Block,
    row: str,
    column: str,
    spread: Callable[..., str],
    record: dict[str, object],
    *,
    bold: bool,
    first: bool,
) -> tuple[str, str]:
    """One cell as HTML and as plain text; its numbers go into ``record`` in the unit shown."""
    scale = numbers.factor(block.metric)
    printed_value, summary = block.paper.get(row), block.ours.get(row)
    classes, around, mark = ["sb-start"] if first else [], "", ""
    if column == "paper":
        value, name = printed_value, "paper"
    elif column == "ours":
        mark = block.mark(row) if summary else ""
        value, name = (summary.value if summary else None), "ours"
        around = spread(summary.low, summary.high, block) if summary else ""
        record[f"{block.title} low"] = math.nan if summary is None or summary.low is None else summary.low * scale
        record[f"{block.title} high"] = math.nan if summary is None or summary.high is None else summary.high * scale
    else:
        value, name = (
            (None if summary is None or printed_value is None else summary.value - printed_value),
            "difference",
        )
        classes.append("sb-soft")
        mark = block.mark(row) if summary else ""
    record[f"{block.title} {name}"] = math.nan if value is None else value * scale
    # What the paper did not print is a dash; what we did not run stays empty.
    missing = numbers.DASH if column == "paper" else ""
    inner = (
        missing if value is None else numbers.shown(value, block.metric, places=block.places, signed=column == "diff.")
    )
    html = f'<strong class="sb-best">{inner}</strong>' if bold else inner
    html += f'<span class="sb-ci">{around}</span>' if around else ""
    words = (f"**{inner}**" if bold else inner) + (f" {around}" if around else "")
    if column == "paper" and value is not None:
        return f"<td{from_paper(block.where, ' '.join(classes))}>{html}</td>", words
    return f'<td class="{" ".join(classes)}"{mark}>{html}</td>', words


def _contrast_cell(
    found: tuple[Test, float, float, float] | None, block: _Block, spread: Callable[..., str], record: dict[str, object]
) -> tuple[str, str]:
    """The cell A - B with its star."""
    if found is None:
        record |= {"a - b": math.nan, "a - b low": math.nan, "a - b high": math.nan, "p_holm": math.nan}
        return '<td class="sb-start"></td>', ""
    test, estimate, low, high = found
    scale = numbers.factor(block.metric)
    p = test.p_holm if test.p_holm is not None else test.p
    record |= {"a - b": estimate * scale, "a - b low": low * scale, "a - b high": high * scale}
    record["p_holm"] = math.nan if p is None else p
    star = "*" if significant(test) else ""
    value = numbers.shown(estimate, block.metric, places=block.places, signed=True)
    around = spread(low, high, block, signed=True)
    said = "" if p is None else f"p {'' if p < 0.001 or p > 0.999 else '= '}{numbers.p_value(p)}"
    title = f' title="{esc(said)}"' if said else ""
    mark = row_mark(test.a, test.b, test.dataset, test.metric)
    html = f'<td class="sb-start"{title}{mark}>{value}{star}<span class="sb-ci">{around}</span></td>'
    return html, f"{value}{star} {around}" + (f" ({said})" if said else "")


def _remark(notes: Mapping[str, str], key: str) -> str:
    return f' <span class="sb-soft">({esc(notes[key])})</span>' if key in notes else ""


def _foot(contrast: Mapping[str, tuple[Test, float, float, float]], pair: tuple[str, str] | None) -> str:
    if not contrast or pair is None:
        return ""
    kinds = " and ".join(ordered(found[0].kind for found in contrast.values()))
    rule = "p < .05"
    if any(found[0].p_holm is not None for found in contrast.values()):
        rule = "p < .05 after Holm"
    elif all(found[0].p is None for found in contrast.values()):
        rule = "interval without zero"
    stars = sum(significant(found[0]) for found in contrast.values())
    return (
        f"{pair[0]} {numbers.MINUS} {pair[1]}: difference of ours with its 95 % interval ({kinds}). "
        f"* {rule}: {stars} of {len(contrast)} rows. Bold: best of its row."
    )


# -- claims, provenance, cost, substitutions -------------------------------------------------------------------------


def claims(run: Run | None, *, caption: str = "Claims", command: str | None = None) -> Fragment:
    """Each claim of the paper that this experiment tests, its verdict, and the numbers the rule looked at."""
    if run is None:
        return not_run(_command(None, command))
    if not run.claims:
        return Fragment("<p>This experiment tests no claim of the paper's text.</p>", markdown="No claims.")
    rows = [
        [
            f"<code>{esc(claim.id)}</code>",
            f"<span{from_paper(claim.source)}>{esc(claim.text)}</span> "
            f'<span class="sb-soft sb-paper">{esc(claim.source)}</span>',
            verdict(claim.verdict),
            f'<span{row_mark(claim.id)}>{esc(claim.evidence)}</span><span class="sb-ci">Rule: {esc(claim.rule)}</span>',
        ]
        for claim in run.claims
    ]
    html = simple(
        ["Claim", "The paper says", "Verdict", "Evidence"],
        rows,
        f"<strong>{esc(caption)}</strong>",
        left=4,
        label=caption,
        text=frozenset({1, 3}),
        wrap=True,
    )
    frame = pd.DataFrame([claim.model_dump(exclude={"printed", "ours", "parts"}) for claim in run.claims])
    text = pipes(
        ["Claim", "The paper says", "Source", "Verdict", "Evidence"],
        [[c.id, c.text, c.source, c.verdict, c.evidence] for c in run.claims],
        left=5,
    )
    return Fragment(html, markdown=text, frame=frame, run=run_name(run))


def provenance(run: Run | None) -> Fragment:
    """Everything needed to make the numbers again, as a compact list; long lists fold."""
    if run is None:
        return Fragment("")
    made = run.provenance
    entries = [
        ("Run", f"{run.paper}/{run.experiment}, profile {run.profile}"),
        ("Commit", made.git_commit),
        ("Configuration", made.config_hash),
        ("Started", made.started.replace("T", " ")),
        ("Seeds", ", ".join(map(str, made.seeds))),
        ("Device", made.device),
        ("Time", time_of(run)),
        ("Peak memory", numbers.memory(made.peak_memory_bytes)),
        ("Python", made.python),
        ("Packages", ", ".join(f"{name} {version}" for name, version in made.packages.items()) or "not recorded"),
        ("Substitutions", "; ".join(made.substitutions) or "none"),
    ]
    # The first entry, the run, leads to its page.
    marks = [' data-row=""', *[""] * len(entries)]
    body = "".join(
        f"<dt>{esc(term)}</dt><dd{mark}>{esc(value)}</dd>" for (term, value), mark in zip(entries, marks, strict=False)
    )
    if made.data:
        files = "".join(
            f"<li>{esc(name)} <code>{esc(digest[:12])}</code></li>" for name, digest in sorted(made.data.items())
        )
        body += (
            f"<dt>Data</dt><dd><details><summary>{len(made.data)} files, with SHA-256</summary>"
            f"<ul>{files}</ul></details></dd>"
        )
    else:
        body += "<dt>Data</dt><dd>generated; no file read</dd>"
    settings = "".join(f"<li><code>{esc(key)}</code> {esc(value)}</li>" for key, value in sorted(made.config.items()))
    if settings:
        body += f"<dt>Settings</dt><dd><details><summary>{len(made.config)} values</summary>"
        body += f"<ul>{settings}</ul></details></dd>"
    return Fragment(
        f"<dl>{body}</dl>",
        kind="sentbook-provenance",
        markdown="\n".join(f"- **{term}**: {value}" for term, value in entries),
        frame=pd.DataFrame(entries, columns=["what", "value"]),
        run=run_name(run),
    )


def cost(run: Run | None, *, caption: str = "Cost of one training", command: str | None = None) -> Fragment:
    """Seconds, peak memory, parameters without the word vectors, and examples a second; means over seeds."""
    if run is None:
        return not_run(_command(None, command))
    if not run.cost:
        return Fragment("<p>Nothing was trained in this experiment.</p>", markdown="Nothing was trained.")
    frame = pd.DataFrame([row.model_dump() for row in run.cost])
    columns = ["seconds", "peak_memory_bytes", "parameters", "examples_per_second"]
    mean = frame.groupby("method", sort=False)[columns].mean()
    counts = frame.groupby("method", sort=False)["seed"].nunique().to_dict()
    head = ["Method", "Seeds", "Time", "Memory", "Parameters", "Examples/s"]
    rows = [
        [
            str(method),
            str(counts[method]),
            numbers.minutes(row["seconds"]),
            numbers.memory(row["peak_memory_bytes"]),
            numbers.count(row["parameters"]),
            numbers.count(row["examples_per_second"]),
        ]
        for method, row in mean.iterrows()
    ]
    how = f"mean over seeds \u00b7 {run.provenance.device} \u00b7 parameters without the word vectors"
    html = simple(
        head,
        [[esc(cell) for cell in row] for row in rows],
        f'<strong>{esc(caption)}</strong><span class="sb-how">{esc(how)}</span>',
        label=caption,
        marks=[row_key("cost", row[0]) for row in rows],
    )
    text = f"**{caption}** ({how})\n\n{pipes(head, rows)}"
    return Fragment(html, markdown=text, frame=mean.reset_index(), run=run_name(run))


def substitutions(run: Run | None) -> Fragment:
    """A box that names what stands in for the paper's data, to be shown beside the numbers; empty if nothing does."""
    if run is None or not run.provenance.substitutions:
        return Fragment("", kind="sentbook-substitutions")
    lines = run.provenance.substitutions
    title = "Not the paper\u2019s training data"
    why = "These numbers come from substitutes, so a gap to the paper may be due to the data rather than to the method."
    items = "".join(f"<li>{esc(line)}</li>" for line in lines)
    body = f'<div class="sb-box" role="note"><strong>{esc(title)}</strong>{esc(why)}<ul>{items}</ul></div>'
    text = f"> **{title}.** {why}\n" + "\n".join(f"> - {line}" for line in lines)
    return Fragment(body, kind="sentbook-substitutions", markdown=text, frame=pd.DataFrame({"substitution": lines}))


def tests(run: Run | None, *, caption: str = "Tests", command: str | None = None) -> Fragment:
    """Every comparison of the run: estimate of A - B, interval, p and Holm's p."""
    if run is None:
        return not_run(_command(None, command))
    kinds = ordered(test.kind for test in run.tests)
    several = len(kinds) > 1
    head = ["Data set", "A \u2212 B", *(["Test"] if several else []), "Metric", "Estimate", "95 %", "p", "Holm"]
    rows = [
        [
            full_name(*group_and_label(test.dataset)),
            f"{test.a} {numbers.MINUS} {test.b}",
            *([test.kind] if several else []),
            numbers.short(test.metric),
            numbers.shown(test.estimate, test.metric, signed=True),
            # A test that gives p alone is stored with an interval of no width.
            numbers.interval(test.low, test.high, test.metric, signed=True) if test.high > test.low else "",
            numbers.p_value(test.p),
            numbers.p_value(test.p_holm),
        ]
        for test in run.tests
    ]
    html = simple(
        head,
        [[esc(cell) for cell in row] for row in rows],
        f'<strong>{esc(caption)}</strong><span class="sb-how">{esc(", ".join(kinds))}</span>',
        left=3 if several else 2,
        label=caption,
        marks=[row_key(test.a, test.b, test.dataset, test.metric) for test in run.tests],
    )
    frame = pd.DataFrame([test.model_dump() for test in run.tests])
    return Fragment(html, markdown=pipes(head, rows, left=2), frame=frame, run=run_name(run))


__all__ = [
    "badges",
    "by_metric",
    "claims",
    "comparison",
    "cost",
    "not_run",
    "on_scale",
    "provenance",
    "substitutions",
    "tests",
]


def plain(frame: pd.DataFrame, caption: str = "", *, run: Recorded | None = None, facts: bool = False) -> Fragment:
    """A small table of text and numbers as they are; the first column heads its rows, and text may break into lines.

    A column ``paper`` holds what the paper printed.

    Args:
        run: whose numbers they are, a study's before it is recorded.
        facts: the numbers are no result.
    """
    columns = [str(column) for column in frame.columns]
    text = frozenset(i for i, column in enumerate(frame.columns) if not pd.api.types.is_numeric_dtype(frame[column]))
    rows = [[str(value) for value in row] for row in frame.itertuples(index=False)]
    cells = [
        [
            f"<span{from_paper('the paper')}>{esc(cell)}</span>" if column == "paper" else esc(cell)
            for column, cell in zip(columns, row, strict=True)
        ]
        for row in rows
    ]
    html = simple(columns, cells, esc(caption), left=1 + max(text, default=0), label=caption, text=text - {0})
    return Fragment(html, frame=frame, markdown=pipes(columns, rows), run=run_name(run), facts=facts)
