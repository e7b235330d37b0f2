"""The playground: its arithmetic in a real browser against the package, what a visitor does, and the file it ships."""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page

from reader import Reader
from sentbook.data.miniworld import World
from sentbook.data.text import Vocabulary, tokenise_ptb
from sentbook.data.vectors import embedding_matrix, load
from sentbook.exchange import playground
from sentbook.export import Description, Portable
from sentbook.io import ConfigError
from sentbook.models import build, similarity
from sentbook.models.average import AverageEncoder
from sentbook.models.base import EncoderOptions, SentenceEncoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.wsv import WSVEncoder

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "book" / "_static" / "playground"
KINDS: dict[str, EncoderOptions] = {
    "PP": AverageEncoder(),
    "CSE": CSEEncoder(filters=17),
    "tanh": CSEEncoder(filters=9, widths=(2, 4), activation="tanh", pooling="mean"),
    "WSV": WSVEncoder(filters=30),
    "CNN": CNNEncoder(filters=20, bound=0.1),
}
HARD = ["They don't like Mary's U.S. trip, 10:30.", "well-known -- café’s “naïve” #tag @you 1,000.50 can't ... x_y 3D"]
EXAMPLES = [("a dog bites a man", "a man bites a dog"), ("one cat", "zzz")]


@pytest.fixture(scope="module")
def models() -> dict[str, Portable]:
    """Untrained encoders over the mini-world's words, biases drawn too."""
    known = load("miniworld")
    weight, vocabulary = torch.from_numpy(embedding_matrix(known)), Vocabulary(known.words)
    found = {}
    for name, options in KINDS.items():
        encoder = build(options, weight, seed=3).eval()
        for bias in getattr(encoder, "biases", None) or ():
            torch.nn.init.uniform_(bias, -0.2, 0.2)
        origin = {"key": "0" * 16, "recipe": {"vectors": {"name": "miniworld"}, "stages": []}}
        said = Description(encoder=options, tokenisation="ptb", origin=origin)
        found[name] = Portable(encoder, vocabulary, said)
    return found


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return World().relatedness("trial").first[:40]


@pytest.fixture(scope="module")
def packed(models: dict[str, Portable], texts: list[str]) -> playground.Packed:
    return playground.pack(models, texts, EXAMPLES, words=10_000, profile="demo")


@pytest.fixture(scope="module")
def opened(browser: Browser, packed: playground.Packed, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page's own scripts beside other encoders, from the disk, as one opens it without a server; by keys alone."""
    folder, page, faults = tmp_path_factory.mktemp("site"), browser.new_page(), []
    for name in ("encoders.js", "playground.js", "playground.css"):
        shutil.copy(STATIC / name, folder / name)
    (folder / "data.js").write_text(packed.script(), encoding="utf-8")
    source = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")
    html = "".join(re.findall(r"```\{raw\} html\n(?!:file)(.*?)```", source, re.DOTALL))
    html = html.replace("../_static/playground/", "").replace("</div>\n<script", f"{packed.table()}</div>\n<script", 1)
    (folder / "index.html").write_text(f'<!doctype html><meta charset="utf-8"><body>{html}', encoding="utf-8")
    page.set_default_timeout(240_000)  # of a busy machine
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto((folder / "index.html").as_uri())
    assert page.locator(".pg-static table").is_visible()
    assert "MB" in page.locator("button.pg-load").inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".pg-near li")
    assert page.locator(".pg-static").is_hidden() and faults == []
    return page


# -- arithmetic --------------------------------------------------------------------------------------------------------


def test_words_are_the_package_s(opened: Page, texts: list[str]) -> None:
    sentences = [*HARD, *texts]
    assert opened.evaluate("texts => texts.map(sentbookPlayground.tokens)", sentences) == [
        tokenise_ptb(text) for text in sentences
    ]


COSINES = """pairs => Object.fromEntries(sentbookPlayground.data.encoders.map(model => [model.name, pairs.map(pair =>
  sentbookPlayground.cosine(...pair.map(text => model.encode(sentbookPlayground.tokens(text)))))]))"""


def test_cosines_are_the_package_s(
    opened: Page, models: dict[str, Portable], packed: playground.Packed, texts: list[str]
) -> None:
    """To .01, which 8 bits may change; and to rounding with the package's encoder of the same 8 bits."""
    singles = [("dog", "cat"), ("the dog", "zzz qqq"), ("a", "the small dog chased a young cat")]
    pairs = [*zip(texts[::2], texts[1::2], strict=True), *EXAMPLES, *singles]
    found = opened.evaluate(COSINES, pairs)
    assert list(found) == list(models)
    for name, model in models.items():
        whole = [similarity(model.encoder, model.vocabulary, *pair) for pair in pairs]
        np.testing.assert_allclose(found[name], whole, rtol=0, atol=0.01, err_msg=name)
        assert np.ptp(whole) > 0.05
        small = playground.restored(model.encoder, read(packed, name))
        exact = [similarity(small, Vocabulary(packed.header["words"]), *pair) for pair in pairs]
        np.testing.assert_allclose(found[name], exact, rtol=0, atol=1e-5, err_msg=name)


def read(packed: playground.Packed, name: str) -> dict[str, Any]:
    """The matrices of an encoder, as the file's description has them."""
    (made,) = (one for one in packed.header["encoders"] if one["name"] == name)
    count = packed.header["scales"]
    scales, numbers = (
        np.frombuffer(packed.content[: 4 * count], "<f4"),
        np.frombuffer(packed.content[4 * count :], "i1"),
    )
    found = {}
    for part, at in made["parts"].items():
        matrix = numbers[at["number"] : at["number"] + at["rows"] * at["columns"]].reshape(at["rows"], at["columns"])
        found[part] = matrix * scales[at["scale"] : at["scale"] + at["rows"], None]
    return found


def test_options_that_the_page_does_not_know_are_refused(models: dict[str, Portable], texts: list[str]) -> None:
    other = models["WSV"]
    said = other.description.model_copy(update={"encoder": WSVEncoder(filters=30, selection="smallest")})
    with pytest.raises(ConfigError, match="knows no wsv whose selection is smallest"):
        playground.pack({"x": Portable(other.encoder, other.vocabulary, said)}, texts, [], words=9, profile="demo")


# -- the page of the book, and its file --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped() -> playground.Packed:
    text = (STATIC / "data.js").read_text(encoding="utf-8")
    header, _, content = text.removeprefix("sentbookPlayground.take(").rpartition(",\n")
    return playground.Packed(json.loads(header), base64.b64decode(content))


@pytest.fixture(scope="module")
def encoders(shipped: playground.Packed) -> dict[str, SentenceEncoder]:
    """The file's encoders in the package."""
    kinds, found = {options().kind: options for options in playground.KNOWN}, {}
    for made in shipped.header["encoders"]:
        matrices, options = read(shipped, made["name"]), dict(made["options"])
        if "0" in matrices:
            options["filters"] = len(matrices["0"]) // (9 if made["kind"] == "wsv" else 1)
        encoder = build(kinds[made["kind"]](**options), torch.zeros(1, 50), seed=1)
        for bias, values in zip(getattr(encoder, "biases", None) or (), made["biases"], strict=True):
            bias.data = torch.tensor(values)
        if made["weights"]:
            encoder.alpha.data = torch.tensor(made["weights"]).log()
        found[made["name"]] = playground.restored(encoder, matrices)
    return found


def test_the_shipped_file_is_small_and_ours(shipped: playground.Packed) -> None:
    assert (STATIC / "data.js").stat().st_size < 5e6
    world = World().relatedness("test")
    assert set(shipped.header["sentences"]) <= {*world.first, *world.second}  # of no data set
    # Word vectors that may be given away: of the mini-world, or GloVe's under the PDDL.
    assert {one["origin"]["vectors"] for one in shipped.header["encoders"]} <= {"miniworld", "glove-6b-50d"}
    assert all(one["largest"] <= playground.TOLERANCE for one in shipped.header["encoders"])


def shown(page: Page, selector: str) -> list[float]:
    return [float(text.replace("−", "-")) for text in page.locator(selector).all_inner_texts()]


@pytest.mark.browser
def test_a_visitor_types_and_reads_the_packages_numbers(
    desk: Reader, shipped: playground.Packed, encoders: dict[str, SentenceEncoder]
) -> None:
    """The model is loaded by a click, and no request leaves."""
    desk.open("book/playground")
    page, header, words = desk.page, shipped.header, Vocabulary(shipped.header["words"])
    assert page.evaluate("'data' in sentbookPlayground") is False
    with page.expect_response("**/data.js"):
        page.get_by_role("button", name="Load the encoders").click()
    pair = "two small dogs chase a blorp", "a big cat is at home"
    for field, text in zip(("First", "Second"), pair, strict=True):
        page.get_by_label(f"{field} sentence").fill(text)
    page.wait_for_function("location.hash.includes('blorp') && location.hash.includes('home')")
    cosines = {name: similarity(encoder, words, *pair) for name, encoder in encoders.items()}
    assert shown(page, "td.pg-value") == pytest.approx(list(cosines.values()), abs=0.01)
    assert page.locator(".pg-unknown").all_inner_texts() == ["blorp\nunknown"]
    # Under another encoder, chosen by the keyboard.
    page.locator("#pg-CSE").focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_function("location.hash.includes('e=PP')")
    first, pp = pair[0].split(), encoders["PP"]
    without = [" ".join(first[:at] + first[at + 1 :]) for at in range(len(first) - 1)]
    added = [cosines["PP"] - similarity(pp, words, less, pair[1]) for less in without]
    assert shown(page, ".pg-line:first-child .pg-word:not(.pg-unknown) small") == pytest.approx(added, abs=0.01)
    page.wait_for_function("text => document.querySelector('.pg-near').textContent.includes(text)", arg=pair[0])
    near = sorted((similarity(pp, words, pair[0], text) for text in header["sentences"]), reverse=True)
    assert shown(page, ".pg-near > div:first-child .pg-value") == pytest.approx(near[:5], abs=0.01)
    page.locator(".pg-near li button").nth(1).click()
    assert page.get_by_label("Second sentence").input_value() in header["sentences"]
    # With all their bits, when the file was made.
    found = page.evaluate(COSINES, header["examples"])
    assert np.transpose(list(found.values())) == pytest.approx(np.array(header["cosines"]), abs=0.01)
    for row in header["cosines"]:
        assert "".join(f"<td>{value:.2f}</td>" for value in row) in page.locator(".pg-static").inner_html()
    assert desk.faults == []
