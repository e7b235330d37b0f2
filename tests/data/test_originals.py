"""The papers' own data as an owner has them, among the originals: each published format, and damage in one sentence."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from sentbook.config import load
from sentbook.data import corpora, novels, readers, sources, vectors
from sentbook.data.miniworld import World
from sentbook.io import ConfigError, DataError
from sentbook.training.objectives import MarginTraining
from stand_ins import put, put_books, put_pairs, put_vectors


def test_training_pairs_in_their_published_formats(originals: Path) -> None:
    with pytest.raises(DataError, match=r"ppdb-1\.0-xl-phrasal is not in .*SENTBOOK_ORIGINALS"):
        corpora.load(["ppdb-xl-phrasal"])
    put_pairs(originals)
    world = World()
    for name in corpora.PARAPHRASES:
        made = world.phrases(600) if name.startswith("ppdb") else world.sentences(600)
        pairs = {pair for pair in zip(made.first, made.second, strict=True) if pair[0] != pair[1]}
        found = corpora.load([name])
        assert set(zip(found.first, found.second, strict=True)) == pairs and len(found) == len(pairs)
        assert corpora.substitute(name, "cse") == ""
    train, held_out = corpora.inference("all-nli")
    assert (len(train), len(held_out)) == (2 * 149, 2 * 30)  # the first training pair has no label of the majority
    made = world.entailment("train")
    assert [train.classes[label] for label in train.labels[:149]] == [
        made.classes[label] for label in made.labels[1:150]
    ]
    put(originals / "phrase-training-data.txt", ["one\tother", "a\tb"])  # tab-separated, as Wieting et al. gave it on
    (originals / "ppdb-1.0-xl-phrasal.gz").unlink()
    assert corpora.load(["ppdb-xl-phrasal"]).second == ["other", "b"]


def test_an_owners_file_of_pairs_is_named_by_a_parameter_and_known_by_its_contents(tmp_path: Path) -> None:
    def stage(file: str) -> MarginTraining:
        return load("cse", {"phrase": {"corpora": ["file"], "path": str(tmp_path / file), "limit": None}}).phrase

    for name, side in (("one.tsv", "bird"), ("same.tsv", "bird"), ("packed.tsv.gz", "bird"), ("other.tsv", "fish")):
        put(tmp_path / name, ["the cat\tthe dog", f"a {side}\ta crow"])
    assert stage("one.tsv").digests() == stage("same.tsv").digests() != stage("other.tsv").digests()
    for name in ("one.tsv", "packed.tsv.gz"):
        pairs, _ = stage(name).load(1, "miniworld")
        assert sorted((*pairs.first, *pairs.second)) == ["a bird", "a crow", "the cat", "the dog"]
    with pytest.raises(ConfigError, match=r"'sentence' in cse, .*: corpora 'file' and the path .* go together"):
        load("cse", {"sentence": {"corpora": ["file"]}})


@pytest.mark.parametrize(
    "content",
    [
        b"the cat\tthe dog\na bird\ta crow\n",
        "\ufeffthe cat\tthe dog\r\na bird\ta crow\r\n\r\n \r\n".encode(),  # as from Windows, with blank lines
        b"first\tsecond\nthe cat\tthe dog\n\na bird\ta crow",
        b"\nSentence 1\tSentence 2\n the cat \tthe dog\na bird\ta crow\nsame\tsame\na bird\ta crow\n",
        b"text_a\ttext_b\tscore >= 0.8\nthe cat\tthe dog\t0.8\nx\ty\t.79\na bird\ta crow\t1e0\n",
        b"first\tsecond\tScore>=-2\nthe cat\tthe dog\t-1.5\nx\ty\t-3\na bird\ta crow\t4\n",
    ],
)
def test_layouts_of_own_pairs(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mine.tsv").write_bytes(content)
    found = corpora.own_pairs(tmp_path / "mine.tsv")
    assert (found.first, found.second) == (["the cat", "a bird"], ["the dog", "a crow"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("the cat\tthe dog\t4.5\n", r"line 1: 'the cat\\tthe dog\\t4.5' is not two sentences"),  # undeclared scores
        ("first\tsecond\tscore\na\tb\t1\n", r"line 1: 'first\\tsecond\\tscore' .*score >= 0\.8"),
        ("label\tsentence1\tsentence2\n1\ta\tb\n", "line 1: 'label"),
        ("first\tsecond\tscore >= 1\na\tb\t2\n1\ta\tb\n", "line 3"),  # the label first
        ("first\tsecond\tscore >= 1\na\tb\n", "line 2"),
        ("a\tb\nthe cat, the dog\n", "line 2: 'the cat, the dog'"),
        ("a\tb\n\na ||| b\n", "line 3"),
        ("a\tb\na\t \n", "line 2"),
        ("a\tb\t\n", "line 1"),
        ("1\ta man runs\n0\tdogs\n", "line 1: '1"),  # a label for a sentence
        ("a\tb\na man runs\t 1.0\n", "line 2: 'a man runs"),
        ("", "holds no two pairs"),
        ("a b\tc d\n", "holds no two pairs"),
        ("first\tsecond\tscore >= 5\na\tb\t2\n", "holds no two pairs"),
    ],
)
def test_other_layouts_of_own_pairs_are_refused_in_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "mine.tsv").write_text(content)
    with pytest.raises(DataError, match=said) as caught:
        corpora.load(["file"], path=str(tmp_path / "mine.tsv"))
    assert "\n" not in str(caught.value) and "fetch" not in str(caught.value) and "mine.tsv" in str(caught.value)


def test_a_run_names_the_originals_that_it_read(originals: Path) -> None:
    put_pairs(originals)
    put_books(originals / "bookcorpus")
    corpora.load(["ppdb-xl-phrasal"])
    novels.folder(originals / "bookcorpus", "lines")
    content, used = (originals / "ppdb-1.0-xl-phrasal.gz").read_bytes(), sources.used()
    assert used.pop("originals/ppdb-1.0-xl-phrasal.gz") == f"{sha256(content).hexdigest()} ({len(content):,} bytes)"
    assert [*used] == ["originals/bookcorpus"] and used["originals/bookcorpus"].endswith(" bytes)")


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("ppdb-xl-phrasal", ["[X] ||| a ||| b ||| f", "[X] ||| a"], r"-phrasal, line 2: '.* a' holds no pair"),
        ("paranmt", ["a\ta"], "holds no two pairs"),
        ("all-nli", ['{"sentence1": "a", "sentence2": "b"}'], r"train\.jsonl, line 1: cannot be read .*gold_label"),
        ("all-nli", ['{"sentence1": "a", "sentence2": null, "gold_label": "neutral"}'], "line 1: .* no text but None"),
        ("all-nli", ["[1]"], "line 1: cannot be read"),
        ("all-nli", ['{"sentence1": "a", "sentence2": "b", "gold_label": "-"}'], "holds no pair with a label"),
    ],
)
def test_damaged_files_are_named(originals: Path, name: str, lines: list[str], said: str) -> None:
    files = corpora.INFERENCE["train"] if name == "all-nli" else corpora.PARAPHRASES[name][:1]
    for file in files:
        put(originals / file, lines)
    with pytest.raises(DataError, match=said):
        corpora.inference(name) if name == "all-nli" else corpora.load([name])


def test_the_papers_vectors_are_found_by_their_published_names(originals: Path) -> None:
    sizes = {f"glove-6b-{width}d": width for width in (50, 100, 200, 300)}
    sizes |= dict.fromkeys(("paragram-sl999", "glove-840b-300d", "google-news-300d"), 300)
    assert not any(vectors.available(name) for name in sizes if name != "glove-6b-50d")  # that one has an address
    with pytest.raises(DataError, match=r"glove\.840B\.300d\.txt .* SENTBOOK_ORIGINALS"):
        vectors.load("glove-840b-300d")
    put_vectors(originals, ["cat", "dog"])
    for name, width in sizes.items():
        found = vectors.load(name)  # type: ignore[arg-type]
        assert vectors.available(name) and (found.words[:2], found.dimension) == (["cat", "dog"], width)
    file = originals / "glove.6B" / "glove.6B.50d.txt"
    assert vectors.digest(vectors.Vectors(name="glove-6b-50d")).startswith(sources.file_digest(file))


@pytest.mark.real_data
def test_training_pairs_of_sts_2012_are_known_by_their_names_and_contents(
    mirror: Path, originals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (originals / "STS2012-train").symlink_to(mirror / "eval" / "sts2012-train")
    monkeypatch.setenv("SENTBOOK_DATA", str(originals.parent))
    assert len(readers.sts2012_train()) == 3


def test_the_contents_of_originals_are_in_the_key_of_what_is_trained_on_them(originals: Path) -> None:
    put_pairs(originals)
    before = corpora.digests("ppdb-xl-phrasal", "all-nli")
    for name in ("ppdb-1.0-xl-phrasal.gz", *("snli_1.0/snli_1.0_" + part + ".jsonl" for part in ("train", "dev"))):
        file = originals / name
        file.write_bytes(file.read_bytes() * 2)
    after = corpora.digests("ppdb-xl-phrasal", "all-nli")
    assert before.keys() == after.keys() and len(before) == 5
    assert sum(before[name] != after[name] for name in before) == 3
