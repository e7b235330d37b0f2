"""Errors on items: exact statistics on made-up scores, what may be quoted, and what a page shows of them."""

from __future__ import annotations

import bs4
import numpy as np
import pytest

import samples
from sentbook import report
from sentbook.data.types import ScoredPairs
from sentbook.report.item_errors import marked, terms_of


def pairs(name: str = "SICK2014", single: bool = False) -> ScoredPairs:
    first = ["a dog runs"] * 6 + ["two cats do not sleep on the red mat"] * 6
    second = [""] * 12 if single else ["a dog runs"] * 6 + ["nobody eats"] * 6
    return ScoredPairs(name, first, second, np.arange(12) % 6, (0, 5))


def described(name: str = "SICK2014", **told: object) -> dict:
    gold = pairs(name).gold
    a = gold + np.where(np.arange(12) < 6, 0.0, 1.0)
    return report.describe_errors(
        pairs(name), {"A": np.stack([a, a]), "B": gold + 0.5}, "A", "B", how="identity", **told
    )


def test_mean_errors_by_group_are_exact() -> None:
    rows = {row["group"]: row for row in described(known={"a", "dog", "runs"})["rows"]}
    assert rows["all"]["errors"] == pytest.approx([0.5, 0.5]) and rows["all"]["n"] == 12
    assert rows["length: up to 4.25 words"]["errors"] == pytest.approx([0.0, 0.5])
    assert rows["length: up to 4.25 words"]["difference"] == pytest.approx([-0.5, -0.5, -0.5])
    assert rows["word overlap: 0.25 or less"]["errors"] == pytest.approx([1.0, 0.5])
    assert rows["unknown words"]["n"] == 6
    assert "numbers differ" not in rows and "negation in one sentence" not in rows  # both negate; no digits


def test_a_label_is_right_or_wrong_and_sentences_may_be_single() -> None:
    alone = pairs(single=True)
    wrong = np.where(np.arange(12) < 3, alone.gold + 4, alone.gold)
    found = report.describe_errors(alone, {"A": wrong, "B": alone.gold}, "A", "B", how="labels")
    assert found["rows"][0]["errors"] == pytest.approx([0.25, 0.0])
    groups = [row["group"] for row in found["rows"]]
    assert "negation" in groups and not any("overlap" in group for group in groups)


@pytest.mark.parametrize(
    ("name", "quoted"),
    [("SICK2014", True), ("STS2014/images", True), ("STS2013/headline", True), ("STS2016/postediting", True),
     ("miniworld/people", True), ("STS2012/MSRpar", False), ("STS2012/MSRvid", False), ("STS2014/deft news", False),
     ("STS2014/tweet news", False), ("STS2015/belief", False), ("MR", False)],
)  # fmt: skip
def test_only_data_sets_whose_terms_allow_it_are_quoted_ten_items_each(name: str, quoted: bool) -> None:
    examples = described(name)["examples"]
    assert len(examples) <= 10
    assert all(("first" in one) is quoted for one in examples) and (terms_of(name) is not None) is quoted
    shown = samples.page(samples.run(findings={"errors": [described(name)]})).errors("A", "B", dataset=name).html
    assert ("dog" in shown) is quoted and ("Source:" in shown) is quoted and ("item 8" in shown) is not quoted


def test_a_page_shows_what_was_described_or_says_that_nothing_was() -> None:
    page = samples.page(samples.run(findings={"errors": [described()]}), labels={"A": "first one"})
    shown = bs4.BeautifulSoup(page.errors("A", "B", dataset="SICK2014", caption="A errs more.").html, "html.parser")
    statistics, examples = shown.find_all("table")
    assert [cell.get_text() for cell in statistics.find_all("tr")[0].find_all("th")][2:4] == ["first one", "B"]
    assert len(examples.find_all("tr")) == 11
    assert "No errors of cse/table1 are recorded." in page.errors("A", "C").html


def test_quoted_text_is_escaped_and_its_common_words_marked() -> None:
    assert str(marked("A <b> dog", "the dog")) == "A &lt;b&gt; <mark>dog</mark>"
    hostile = described()
    hostile["examples"][0]["first"] = "<script>"
    assert "<script" not in samples.page(samples.run(findings={"errors": [hostile]})).errors("A", "B").html
