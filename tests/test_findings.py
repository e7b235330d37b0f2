"""Findings in prose are true to the digit: each number is one of a claim, or of a run, that the sentence names."""

from __future__ import annotations

import re
from statistics import fmean

import nbformat
import pandas as pd
import pytest

from sentbook.io import root
from sentbook.judge import judge, specifications
from sentbook.records import Finding, Metric, Run, Test
from sentbook.report_old.summary import significant
from sentbook.runs import ledger
from sentbook.runs.papers import catalogue

CITED = re.compile(r"\b(?:cse|cnnlstm|wsv|dnt)-\d\d\b")
RUN = re.compile(r"\b(cse|cnn_lstm|wsv|dnt|cross)/(\w+)\b")
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*\.\d+|(?<![\w.])\.\d+|\b\d+ of \d+\b")
MISTAKES = root() / "book" / "mistakes.md"
# Told of runs that were replaced since, and stated by the paper or by the loss itself.
HISTORY = {"87 of 96", "0.001", ".001", "1.2", "2.9"}


def findings() -> list[str]:
    """The five findings of the README, which the book shows too."""
    _, _, rest = (root() / "README.md").read_text(encoding="utf-8").partition("## Five findings\n")
    return re.findall(r"^\d\. (.*?)(?=^\d\. |^\S|\Z)", rest.partition("\n## ")[0], flags=re.MULTILINE | re.DOTALL)


def recorded(paper: str, experiment: str) -> list[Run]:
    """The recorded run, and that at the paper's size where there is one."""
    small, large = (ledger.read(paper, experiment, profile) for profile in ("small", "paper"))
    assert small is not None, f"{paper}/{experiment} is not recorded"
    return [small, *([large] if large else [])]


def known(text: str) -> set[str]:
    """Every number of the claims and runs that a text names, as printed; of a run with many sets the averages."""
    values: list[float] = []
    shares: set[str] = set()
    for name in CITED.findall(text):
        spec = specifications()[name]
        judged = [claim for run in recorded(spec.paper, spec.experiment) for claim in judge(run) if claim.id == name]
        shares.update(share for claim in judged for share in re.findall(r"\b\d+ of \d+\b", claim.evidence))
        for part in (one for claim in judged for one in (claim, *claim.parts)):
            for one in (one for one in (part.ours, part.printed) if one):
                values += [number for number in (one.value, one.low, one.high, one.of) if number is not None]
                shares.add(f"{one.value:g} of {one.of}")
        values += [float(one) for one in re.findall(r"\d+\.\d+|\.\d+|\d+", spec.text)]
    for run in (run for page in RUN.findall(text) for run in recorded(*page)):
        frame = pd.DataFrame(map(dict, run.metrics), columns=[*Metric.model_fields])
        if frame.dataset.nunique() >= 5:
            frame = frame[frame.dataset.str.endswith(("total_avg", "/avg"))]
        values += frame.groupby(["method", "dataset", "metric", "protocol"]).value.mean().tolist()
        values += [one for test in run.tests for one in (test.estimate, test.low, test.high)]
        tried = (one for search in run.searches for point in search.tried for one in point.values())
        values += [one for one in tried if type(one) is float]
        values += (run.extra.get("first loss") or {}).values()
    printed = {f"{abs(value) * scale:,.{places}f}" for value in values for scale in (1, 100) for places in range(6)}
    return shares | printed | {one.removeprefix("0") for one in printed if one.startswith("0.")}


def told() -> dict[str, tuple[str, str]]:
    """What findings, papers' minutes and recorded pages tell, each with a text that names its claims and runs."""
    texts = {finding[:40]: (finding, finding) for finding in findings()}
    for name, paper in catalogue().items():
        if paper.minute:
            texts[name] = f"{paper.minute.found} {paper.minute.different}", f"{paper.minute.claim} {paper.minute.found}"
    for path in sorted((root() / "notebooks").glob("*/*.ipynb")):
        _, found, text = nbformat.read(path, as_version=4).cells[0].source.partition("**Found:**")
        if found and ledger.read(path.parent.name, path.stem, "small"):
            page = f"{path.parent.name}/{path.stem}"
            judged = [one for one, spec in specifications().items() if f"{spec.paper}/{spec.experiment}" == page]
            texts[page] = text, " ".join([page, *judged])
    return texts


@pytest.mark.parametrize("text", told())
def test_every_number_that_is_told_is_in_the_ledger(text: str) -> None:
    tells, names = told()[text]
    assert CITED.search(names) or RUN.search(names)
    assert not set(NUMBER.findall(tells)) - known(names)


def mean_of(run: Run, row: tuple[str, str, str], protocol: str) -> float:
    """The mean over seeds, times 100, of a method on a data set in a measure; 0 where it is not there."""
    values = [
        one.value for one in run.metrics if (one.method, one.dataset, one.metric) == row and protocol in one.protocol
    ]
    return 100 * fmean(values or [0.0])


def points(found: Finding | Test | None, sign: int = 1) -> str:
    """A difference in points with its interval, turned about where the sentence does so."""
    assert found is not None and found.low is not None and found.high is not None
    value = found.estimate if isinstance(found, Test) else found.value
    assert value is not None
    ends = sorted((sign * found.low, sign * found.high))
    return "{:.1f} points [{:.1f}, {:.1f}]".format(*(100 * one for one in (sign * value, *ends))).replace("-", "\u2212")


def found_in(claim: str, begins: str = "", profile: str = "small") -> Finding:
    """What a claim found: the number of its part that begins so."""
    spec = specifications()[claim]
    run = ledger.read(spec.paper, spec.experiment, profile)
    assert run is not None
    [judged] = [one for one in judge(run) if one.id == claim]
    return next(one.ours for one in (judged, *judged.parts) if one.ours and one.ours.what.startswith(begins))


def test_the_five_findings_say_what_was_found() -> None:
    """Each sentence with the sign, the interval and the unit of the very number that it tells."""
    one, two, of_map, four, five = (" ".join(finding.split()) for finding in findings())
    split = "CSE (words 0.0003, filters 1e-05), batches random − PP (words 0.001)"
    assert f"CSE is {points(found_in('cse-38', 'PP (words 0.001), batches random − CSE'))} below the average" in one
    assert f"{points(found_in('cse-39', split), -1).replace(' points', ' are left')}; with rates, order" in one
    three, ten = (points(found_in("cse-02", "CSE − PP", of), -1).replace(" points", "") for of in ("small", "paper"))
    assert f"sides {three} after three epochs, and {ten} after the paper's ten; the paper has CSE ahead by 0.8" in one
    assert found_in("cse-29").value == 0.0 and "stays as it is, exactly" in two
    assert f"ten epochs take {found_in('wsv-18').value:.0f} s on one core (the paper: 4,731 s on four)" in of_map
    assert f"gains {points(found_in('wsv-25', 'ReLU, own rate − map weights fixed'))} (" in of_map
    fast = {row.dataset: row.value for row in recorded("wsv", "exact_layer")[0].metrics}
    assert f"{fast['n=12']:.0f} times as fast at 12 words, {fast['n=32']:.0f} times at 32;" in of_map
    for mark in "AC":
        assert points(found_in("cnnlstm-03", f"autoencoder: A - B + C − autoencoder: {mark}")) in four
    [sums], how = recorded("cnn_lstm", "table1"), "z = A - B + C, cosine among 1188 sentences, A, B and C left out"
    random, average = (mean_of(sums, (one, "frames", "nearest"), how) for one in ("random CNN", "average of words"))
    assert average == 100 and f"in {random:.0f} % of cases with random filters too, and in all with the average" in four
    [run] = recorded("cross", "protocols")
    frame = pd.DataFrame(map(dict, run.metrics)).query("dataset == 'STS2014/avg'")
    values = 100 * frame[~frame.protocol.str.contains("in place of the cosine")].groupby("protocol").value.mean()
    assert f"one and the same encoder is {min(values):.1f} to {max(values):.1f} by tokens" in five
    assert len({row.method for row in run.metrics}) == 1


def test_cells_are_counted_by_their_intervals_and_after_holms_correction() -> None:
    text, tests = " ".join(told()["dnt/future"][0].split()), recorded("dnt", "future")[0].tests
    above = [[one for one in tests if one.low > 0 and one.b.endswith(end)] for end in ("[UE]", "[FT]")]
    none, classifier = ((len(cells), sum(map(significant, cells))) for cells in above)
    assert "{} are above no training by their intervals, {} after Holm's correction over".format(*none) in text
    assert "{} are above a classifier on frozen vectors, {} after the correction,".format(*classifier) in text
    assert [(one.a[:3], one.dataset) for one in tests if one.high < 0] == [("WSV", "STS12")]
    loss = [one for one in recorded("dnt", "loss")[0].tests if one.b == one.a.replace("MSE", "KL") != one.a]
    assert (len(loss), sum(one.low > 0 for one in loss), sum(map(significant, loss))) == (42, 1, 0)


def test_the_page_across_the_papers_says_what_the_matrix_has() -> None:
    [run] = recorded("cross", "matrix")
    frame = pd.DataFrame(map(dict, run.metrics))
    frame = frame[~frame.protocol.str.contains("pooled pairs") & (frame.metric != "f1")]
    of = (100 * frame.groupby(["method", "dataset"]).value.mean()).to_dict()
    similarity, classes = "similarity mean", "classification mean"
    paraphrases = [f"{name} " for name in ("PP", "CSE", "WSV", "BiLSTM-Avg", "GRAN")]

    def span(setting: str, row: str, minus: str = "", sign: int = 1) -> tuple[float, float]:
        values = [of[name + setting, row] - (of[name + minus, row] if minus else 0.0) for name in paraphrases]
        return min(sign * one for one in values), max(sign * one for one in values)

    text = " ".join((root() / "book" / "cross.md").read_text(encoding="utf-8").split())
    mean = {method.removesuffix(" [UE]"): value for (method, row), value in of.items() if row == similarity}
    frame = pd.DataFrame(map(dict, recorded("dnt", "table4")[0].metrics))
    there = frame.query("method == 'InferSent [FT] KL' & dataset == 'SAG' & seed == 1").value.item()
    gains = [of[one + "[DNT]", classes] - of[one + "[FT]", classes] for one in paraphrases[2:4]]
    for said in (
        *(f"{one:.0f} points less for WSV and BiLSTM-Avg" for one in gains),
        f"has {of['InferSent [FT]', 'SAG']:.0f} here and, by the same seed, {100 * there:.0f} there",
        f"PP has {mean['PP']:.1f} in the mean over twelve",
        f"tied with GRAN's {mean['GRAN']:.1f}; all",
        f"MiniLM has {mean['MiniLM']:.1f} and USE {mean['USE']:.1f}",
        f"InferSent {mean['InferSent']:.1f}, CNN-LSTM {mean['CNN-LSTM']:.1f}",
        "rise from {:.1f}–{:.1f} to {:.1f}–{:.1f}".format(*span("[UE]", "SICK"), *span("[DNT]", "SICK")),
        "on MSRP by {:.0f} to {:.0f} points".format(*span("[DNT]", "MSRP", "[UE]")),
        "they lose {:.1f} to {:.1f} points of STS 2014".format(*span("[DNT]", "STS2014/avg", "[UE]", -1)),
        "moves by {:+.1f} to {:+.1f}".format(*span("[DNT]", similarity, "[UE]")).replace("-", "−"),
        "costs more**, {:.1f} to {:.1f} points of STS 2014".format(*span("[FT]", "STS2014/avg", "[UE]", -1)),
        "reaches {:.1f} to {:.1f} over the five tasks".format(*span("[DNT]", classes)),
        "on their frozen vectors {:.1f} to {:.1f}".format(*span("[FT]", classes)),
        f"USE with logistic regression, {of['USE [FT]', classes]:.1f}",
        f"from GRAN's {of['GRAN [DNT]', classes]:.1f} after transfer; all-MiniLM's {of['MiniLM [FT]', classes]:.1f}",
    ):
        assert said in text
    letters = {name: set(of_row) for name, of_row in run.extra["letters"]["accuracy"][classes].items()}
    assert letters["USE [FT]"] & letters["GRAN [DNT]"] and letters["MiniLM [FT]"].isdisjoint(letters["GRAN [DNT]"])
    assert all(letters[f"{name}[FT]"] & letters[f"{name}[DNT]"] for name in (*paraphrases[:2], "GRAN "))


def test_the_matrix_says_which_encoders_its_names_are_of() -> None:
    [matrix, table2] = [recorded(*name.split("/"))[0] for name in ("cross/matrix", "cse/table2")]
    cells = nbformat.read(root() / "notebooks" / "cross" / "matrix.ipynb", as_version=4).cells
    text = " ".join(word for cell in cells for word in cell.source.split())
    cse, pp = (
        [mean_of(run, (method, "STS2013/avg", "pearson"), "mean of sets") for run, method in sides]
        for sides in ([(matrix, f"{name} [UE]"), (table2, name)] for name in ("CSE", "PP"))
    )
    assert "CSE has {:.1f} on STS 2013 here and {:.1f} there, PP {:.1f} and {:.1f}".format(*cse, *pp) in text


def test_the_papers_width_is_told_as_it_was_recorded() -> None:
    text = " ".join((root() / "book" / "cnn_lstm.md").read_text(encoding="utf-8").split())
    pages = {"table3": ("autoencoder", "random CNN"), "table5": ("autoencoder", "random CNN", "combine")}
    told_of = 0
    for page, method in ((page, f"{name}+emb.") for page, names in pages.items() for name in names):
        for dataset, metric in {"MR": "accuracy", "TREC": "accuracy", "SICK2014-test": "pearson"}.items():
            of_size = [mean_of(run, (method, dataset, metric), "skip") for run in recorded("cnn_lstm", page)]
            assert not any(of_size) or "from {:.1f} to {:.1f}".format(*of_size) in text
            told_of += any(of_size)
    assert told_of == 7  # two rows on two tasks, three on SICK
    small, paper = ({row.model_dump_json() for row in run.metrics} for run in recorded("wsv", "table2"))
    assert len(paper) > 100 and paper <= small  # equal to the bit


def test_what_went_wrong_shows_how_the_verdict_turned() -> None:
    """Each line of the list is the difference of that very row, to PP with the same words' rate and batches."""
    text = MISTAKES.read_text(encoding="utf-8")
    [run] = recorded("cse", "tuning")
    by_row = {test.a: test for test in run.tests}
    line = r"^- words (\S+), filters (\S+), (random batches|batches of one length).*?: (.*\])$"
    lines = re.findall(line, text, re.MULTILINE)
    assert len(lines) == 5
    for words, filters, batches, said in lines:
        kind = batches.removeprefix("batches ").removesuffix(" batches")
        name = f"CSE (words {float(words):g}, filters {float(filters):g}), batches {kind}"
        assert points(by_row[name]).replace(" points", "") == said


def test_every_number_of_what_went_wrong_is_in_the_ledger() -> None:
    """The means over human activities are made here, of the comparisons that table 4 records."""
    text = " ".join(MISTAKES.read_text(encoding="utf-8").split())
    [run] = recorded("dnt", "table4")
    rows = [one for one in run.tests if (one.a[-5:], one.b[-4:]) == ("[DNT]", "[NT]") and one.metric == "spearman"]
    every, gran = (100 * fmean(test.estimate for test in rows if test.a.startswith(one)) for one in ("", "GRAN"))
    pages = (recorded("dnt", name)[0] for name in ("table4", "sample_size", "freezing", "table5", "loss", "answers"))
    at_edge = {str((one.dataset, one.tried)): bool(one.at_edge) for page in pages for one in page.searches}
    assert f"it is {every:.1f} points behind; with GRAN {gran:.1f} in place of 26" in text
    assert f"of the {len(at_edge)} of six pages, table 4 to short answers, one ends" in text
    assert sum(at_edge.values()) == 1 and not set(NUMBER.findall(text)) - known(text) - HISTORY
