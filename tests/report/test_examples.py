from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sentbook.evaluation import error_groups
from sentbook.report import examples
from sentbook.system.errors import ConfigError

Check = Callable[[str], object]
HOSTILE = "<script>alert('x')</script> <b onclick=\"go()\">bold</b> & \x00 \u202e end"


def _pairs() -> tuple[list[str], list[str], np.ndarray, dict[str, np.ndarray]]:
    """200 pairs in the four groups; CSE errs less than PP on high overlap and far meaning, by design."""
    random = np.random.default_rng(0)
    same, other = "a small dog runs in the park", "prices of crude oil fell again"
    first, second, gold = [], [], []
    for index in range(200):
        high, close = index % 2 == 0, index % 4 < 2
        first.append(same)
        second.append("a small cat runs in the park" if high else other)
        gold.append(4.5 if close else 0.5)
    gold = np.array(gold) + random.uniform(-0.3, 0.3, 200)
    truth = gold / 2.5 - 1
    trap = (np.arange(200) % 2 == 0) & (gold < 2)
    scores = {
        "PP": np.clip(truth + random.normal(0, 0.05, 200) + 0.6 * trap, -1, 1),
        "CSE": np.clip(truth + random.normal(0, 0.05, 200), -1, 1),
    }
    return first, second, gold, scores


def test_groups_find_where_a_is_better(well_formed: Check) -> None:
    first, second, gold, scores = _pairs()
    frame = error_groups.groups(first, second, gold, scores, a="CSE", b="PP", resamples=300)
    paper = frame[frame["map"] == "paper"].set_index("group")
    assert paper["n"].to_dict() == {
        "low overlap, close": 50, "high overlap, close": 50, "high overlap, far": 50, "low overlap, far": 50,
        "all pairs": 200,
    }  # fmt: skip
    assert paper.loc["high overlap, far", "difference high"] < 0
    assert paper.loc["high overlap, far", "closer low"] > 0.8
    assert paper.loc["low overlap, far", "difference low"] < 0 < paper.loc["low overlap, far", "difference high"]
    assert ((frame["CSE low"] <= frame["CSE"]) & (frame["CSE"] <= frame["CSE high"])).all()
    made = examples.groups_table(frame, a="CSE", b="PP")
    well_formed(made.html())
    assert "2.5 (cos + 1)" in made.html() and "| high overlap, far" in made.to_markdown()
    again = error_groups.groups(first, second, gold, scores, a="CSE", b="PP", resamples=300)
    assert frame.equals(again)


def test_seeds_are_pooled_within_a_pair() -> None:
    first, second, gold, scores = _pairs()
    several = {name: np.stack([value, value]) for name, value in scores.items()}
    one = error_groups.groups(first, second, gold, scores, a="CSE", b="PP", resamples=50)
    two = error_groups.groups(first, second, gold, several, a="CSE", b="PP", resamples=50)
    np.testing.assert_allclose(one["difference"], two["difference"])


def test_an_empty_group_is_shown_as_empty(well_formed: Check) -> None:
    frame = error_groups.groups(
        ["a b"] * 20, ["a b"] * 20, np.full(20, 5.0), {"A": np.ones(20), "B": np.zeros(20)}, a="A", b="B", resamples=20
    )
    assert np.isnan(frame.loc[frame["group"] == "low overlap, far", "A"]).all()
    well_formed(examples.groups_table(frame, a="A", b="B").html())


def test_hostile_text_is_shown_not_run(well_formed: Check) -> None:
    first = [HOSTILE, "dog " * 10_000, ""] + ["one two"] * 9
    second = [HOSTILE, "dog cat", ""] + ["three"] * 9
    gold = np.array([0.0, 0.5, 0.2] + [5.0] * 9)
    scores = {"<b>A</b>": np.linspace(0, 1, 12), "B": np.linspace(1, 0, 12)}
    made = examples.examples(first, second, gold, scores, a="<b>A</b>", b="B", per_group=4)
    html = made.html()
    well_formed(html)  # the parser finds no script element and no handler
    assert "<script" not in html and "&lt;" in html
    assert "<mark>script</mark>" in html  # common words are marked, inside the escaped text
    assert "\x00" not in html and "\u202e" not in html
    assert "\u2026" in html and len(html) < 60_000  # 10,000 words are cut
    assert "(empty)" in html


def test_the_record_holds_no_sentence() -> None:
    first, second, gold, scores = _pairs()
    made = examples.examples(first, second, gold, scores, a="CSE", b="PP")
    assert "small dog" in made.html().replace("<mark>", "").replace("</mark>", "")
    assert "dog" not in made.to_markdown() and "dog" not in made.to_frame().to_csv() and "dog" not in repr(made)


def test_both_sides_are_shown() -> None:
    first, second, gold, scores = _pairs()
    frame = examples.examples(first, second, gold, scores, a="CSE", b="PP", per_group=2).to_frame()
    gain = (frame["PP"] - frame["gold"]).abs() - (frame["CSE"] - frame["gold"]).abs()
    for _, part in gain.groupby(frame["group"], sort=False):
        assert len(part) == 2 and part.iloc[0] >= part.iloc[1]


def test_mistakes_are_clear() -> None:
    with pytest.raises(ConfigError, match="no scores of"):
        error_groups.groups(["a"], ["b"], [1.0], {"A": [0.1]}, a="A", b="B")
    with pytest.raises(ConfigError, match="must agree"):
        error_groups.errors([0.1, 0.2], [1.0], "paper")
    with pytest.raises(ConfigError, match="folds"):
        error_groups.mapped([0.1, 0.2], [1.0, 2.0], "isotonic")
    with pytest.raises(ConfigError, match="unknown"):
        error_groups.mapped([0.1, 0.2], [1.0, 2.0], "cubic")  # type: ignore[arg-type]
