"""The verdicts of the committed records, their causes, and the check of both."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _ext.claims import chance, counts

from sentbook import judge, records
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import COSINE_PEARSON
from sentbook.io import root
from sentbook.judge import check
from sentbook.judge.claims import claims
from sentbook.judge.evidence import Evidence
from sentbook.judge.rules import Judgement
from sentbook.records import Run, Scores

CAUSES = {name: claim.cause for name, claim in claims().items() if claim.cause}
VERDICTS = {entry.id: entry for entry in judge.gather("small")}


def test_verdicts_follow_from_the_records_alone() -> None:
    for profile in ("small", "paper"):  # their numbers: CI computes those of five pages again, `make test-long` all
        path = root() / "results" / profile / "verdicts.json"
        assert json.loads(path.read_text()) == {one.id: one.verdict for one in judge.gather(profile)}


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A record and the verdicts, in a folder of their own."""
    for name in ("cse/table4.json", "verdicts.json"):
        place = tmp_path / "results" / "small" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root() / "results" / "small" / name, place)
    for module in (check, records):
        monkeypatch.setattr(module, "root", lambda: tmp_path)
    return tmp_path / "results" / "small" / "cse" / "table4.json"


def _altered(path: Path, part: str, change: dict[str, Any], **of: Any) -> None:
    held = json.loads(path.read_text(encoding="utf-8"))
    [row] = [row for row in held[part] if all(row[key] == value for key, value in of.items())]
    path.write_text(json.dumps(held | {part: [row | change if one is row else one for one in held[part]]}))


def test_one_altered_number_is_found(copied: Path) -> None:
    """A value no longer fits its differences; an interval turns the verdict that it decides; the scores are missing."""
    whole = copied.read_bytes()
    [missing] = check.check("small", ["cse/table4"])
    assert "cse/table4: the number of .npz files next to it" in missing
    _altered(copied, "metrics", {"value": 0.7}, method="CSE_sentence", dataset="total_avg", seed=1)
    assert any("CSE_sentence" in words and "by its rows" in words for words in check.check("small", ["cse/table4"]))
    copied.write_bytes(whole)
    _altered(copied, "tests", {"low": -0.001}, a="CSE_sentence", b="CSE_phrase", dataset="total_avg", metric="pearson")
    assert check.check("small", ["cse/table4"])[1:] == ["cse-15: reproduced is recorded, the record says inconclusive"]
    assert check.check("small", ["cse/table4"], write=True) == check.check("small", ["cse/table4"]) == [missing]


def test_one_altered_score_is_found(copied: Path) -> None:
    """Metrics, intervals and tests follow from the scores per item, also of a second protocol and among findings."""
    draw = np.random.default_rng(0)
    book = Predictions({"a": draw.normal(size=40), "b": draw.normal(size=30)}, means={"total_avg": ["a", "b"]})
    for method, noise, seed in product(("CSE", "PP"), (1.0, 2.0), (1, 2)):
        for name, gold in book.gold.items():
            book.add(method, seed, name, gold + noise * draw.normal(size=len(gold)))
    other = book.with_table({key: {seed: -row for seed, row in rows.items()} for key, rows in book.table.items()})
    rows = book.metric_rows(COSINE_PEARSON) + other.metric_rows(replace(COSINE_PEARSON, detail="other way"))
    value = book.compared(["CSE"], "a", None, 2000)
    findings = {"it": [book.difference("CSE", "PP").model_dump()], "measured": [value.model_dump()]}
    run, scores = records.load(copied), book.stored().joined({"other way": other.stored()})
    assert run is not None
    change = {"metrics": rows, "tests": book.table_tests("CSE", "PP"), "findings": findings}
    records.save(run.model_copy(update=change), copied, scores)

    def wrong() -> list[str]:
        return [words for words in check.check("small", ["cse/table4"]) if "by its rows or scores" in words]

    assert wrong() == []
    tests = change["tests"]
    kind = f"{tests[1].kind}, p adjusted for all pairs of the column"
    tests[1] = tests[1].model_copy(update={"kind": kind, "p": 0.5})
    held = [*tests[:2], value]  # a difference, one whose p was adjusted, and a value
    for at, end in product(range(3), ("low", "high")):
        altered = [one.model_copy(update={end: getattr(one, end) + 0.001 * (at == n)}) for n, one in enumerate(held)]
        rows_of = {"tests": [*altered[:2], *tests[2:]], "findings": findings | {"measured": [altered[2].model_dump()]}}
        records.save(run.model_copy(update=change | rows_of), copied, scores)
        assert len(wrong()) == 1, (at, end)
    records.save(run.model_copy(update=change), copied, scores)
    for place, least in (("a", 7), ("a, other way", 2)):  # its metric and the mean's; of the first tests, too
        altered = {key: row.copy() for key, row in scores.predictions.items()}
        altered["CSE", 1, place][3] += 1
        Scores(scores.gold, altered, scores.folds, scores.layout).save(copied.with_suffix(".npz"))
        assert len(wrong()) >= least


def unscored(run: Run, scores: Scores | None) -> set[tuple[str, str]]:
    """The rows of a record that no score per item recomputes, of measures of single items; some leave out pairs."""
    book = Predictions.restored(scores) if scores else Predictions()
    rows = [row for row in run.metrics if not row.metric.startswith(("perplexity", "distance", "speedup"))]
    some = ("majority class", "pairs met in pre-training left out", "the three sets with training pairs")
    rows = [row for row in rows if row.protocol != "mean of the matrix's columns" and not row.method.endswith(some)]

    def scored(row: records.Metric) -> bool:
        seeds = book.seeds(row.method, book.place(row.dataset, row.protocol))
        return row.seed in seeds or (row.seed is None and bool(seeds))

    return {(row.method, row.dataset) for row in rows if not scored(row)}


def test_every_row_of_a_current_record_has_a_score_per_item_and_all_are_small() -> None:
    files = [*(root() / "results").glob("*/*/*.*")]
    assert sum(file.stat().st_size for file in files) < 60e6
    current = [run for file in files if file.suffix == ".json" and not (run := records.load(file)).stale]
    assert len(current) > 20
    for run in current:
        assert not unscored(run, records.read_scores(run.name, run.profile)), run.name


def test_pandas_alone_recomputes_a_metric_and_an_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of book/reading.md, on scores of two methods and two seeds."""
    draw = np.random.default_rng(0)
    book = Predictions({"a": draw.normal(size=20), "SICK2014": draw.normal(size=60)})
    for method, seed in product(("PP", "CSE"), (1, 2)):
        book.add(method, seed, "SICK2014", book.gold["SICK2014"] + draw.normal(size=60))
    book.stored().save(tmp_path / "results" / "small" / "cse" / "table1.npz")
    monkeypatch.chdir(tmp_path)
    [lines] = re.findall(r"```python\n(.*?)```", (root() / "book" / "reading.md").read_text("utf-8"), re.DOTALL)
    found: dict[str, Any] = {}
    exec(lines, found)
    r = found["items"].corr()["gold"]
    for method in ("PP", "CSE"):
        assert {seed: r[f"{method} {seed}"] for seed in (1, 2)} == pytest.approx(book.values(method, "SICK2014"))
    test = book.difference("CSE", "PP", "SICK2014", resample_seeds=False)
    assert found["gap"].quantile([0.025, 0.975]).to_list() == pytest.approx([test.low, test.high], abs=0.02)


def test_every_claim_is_there_once_in_the_order_of_the_papers() -> None:
    assert list(VERDICTS) == list(claims())
    assert sum(of_paper["all"] for of_paper in counts([*VERDICTS.values()]).values()) == len(VERDICTS)
    for entry in VERDICTS.values():
        assert entry.run == records.read(entry.page)
        assert entry.run or entry.verdict == "not run"  # a page whose data are not here


def test_a_claim_about_models_has_seeds_in_its_interval_or_decides_nothing() -> None:
    for name, entry in VERDICTS.items():
        if entry.about == "models":
            alone = any("One training of" in note for note in entry.notes)
            for number in [part.ours for part in entry.found.parts] or [entry.found.ours]:
                if number is not None and number.how:
                    words = ("seeds", "runs", "rounds", "rows", "binomial", "Welch")
                    assert number.how == "t" or any(word in number.how for word in words) or alone, (name, number)
            assert not alone or entry.verdict not in ("reproduced", "exceeded", "not reproduced"), name


def test_chance_is_bounded_by_the_rules_levels() -> None:
    """One rule of 2.5 % in a "reproduced", else as many as there are parts; counts and values held have none."""

    def entry(identifier: str, verdict: judge.Verdict, parts: int = 0) -> judge.Entry:
        found = Judgement(verdict, "e", parts=(Judgement("inconclusive", "e"),) * parts)
        return VERDICTS[identifier].model_copy(update={"verdict": verdict, "found": found})

    entries = [
        entry("cse-02", "reproduced"),
        entry("cse-18", "not reproduced", parts=3),
        entry("cse-09", "exceeded", parts=5),
        entry("cse-01", "not reproduced"),  # counts wins
        entry("cse-30", "reproduced"),  # exact: no chance is in it
        entry("cse-03", "inconclusive"),
        entry("cse-08", "reproduced"),  # a value that the interval holds
    ]
    assert chance(entries) == {"CSE": pytest.approx([0.025, 0.075, 0.125])}


def test_every_failure_has_a_tested_cause_and_what_is_reproduced_has_none() -> None:
    every = [*VERDICTS.values(), *judge.gather("paper")]
    failed = {entry.id for entry in every if entry.verdict == "not reproduced"}
    tested = {name for name, cause in CAUSES.items() if cause.state == "tested"}
    assert failed <= tested, "a finding against a paper is believed last: make the run that moves only the cause"
    for claim, cause in CAUSES.items():
        verdict = VERDICTS[claim].verdict
        assert verdict != "reproduced", claim
        assert cause.state != "scope" or verdict not in ("exceeded", "not reproduced"), claim
        assert cause.state == "scope" or verdict != "not run", claim
        assert (cause.state == "tested") == bool(cause.by and cause.shows), claim


def shown(run: Run, method: str = "", minus: str = "", dataset: str = "", metric: str = "", protocol: str = "",
          finding: str = "") -> float:  # fmt: skip
    """A number of a run that shows a cause: a mean over seeds, less that of ``minus``, or a finding, ``name.part``."""
    evidence = Evidence(run, protocol=protocol)
    if finding:
        return float(evidence.finding(finding))
    place = dataset, metric or evidence.metric(dataset)
    return evidence.mean(method, *place) - (evidence.mean(minus, *place) if minus else 0.0)


@pytest.mark.parametrize("claim", [name for name, cause in CAUSES.items() if cause.by])
def test_a_tested_cause_holds_in_the_numbers_of_its_run(claim: str) -> None:
    cause = CAUSES[claim]
    run = records.read(cause.by, cause.profile)
    assert run is not None and (root() / "notebooks" / f"{cause.by}.ipynb").is_file()
    for numbers in cause.shows:
        ends = numbers.get("above", -np.inf), numbers.get("below", np.inf)
        value = shown(run, **{name: part for name, part in numbers.items() if name not in ("above", "below")})
        assert ends[0] < value < ends[1], (numbers, value)
    assert len(cause.says.split()) <= 60
    assert {*re.findall(r"\b(?:cse|wsv|dnt|cnnlstm)-\d\d\b", cause.says)} <= {*claims()} - {claim}


def test_a_cause_belongs_to_one_profile_and_one_kind_of_verdict() -> None:
    entry = VERDICTS["cse-02"]
    assert entry.run is not None and entry.why is CAUSES["cse-02"]
    assert entry.model_copy(update={"verdict": "reproduced"}).why is None
    paper = entry.run.model_copy(update={"profile": "paper"})
    assert entry.model_copy(update={"run": paper}).why is None
