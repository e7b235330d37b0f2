"""Small stand-ins for the papers' own data, in the formats that they were published in; sentences are generated."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sentbook.data.miniworld import World


def put(file: Path, lines: Iterable[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with (gzip.open if file.suffix == ".gz" else open)(file, "wt", encoding="utf-8") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def put_vectors(folder: Path, known: list[str]) -> None:
    """PARAGRAM, with a vector of unknown words, GloVe 840B and GloVe 6B as text, GoogleNews as word2vec's binary."""
    files = {"paragram_300_sl999/paragram_300_sl999.txt": 300, "glove.840B.300d.txt": 300}
    for name, width in (files | {f"glove.6B/glove.6B.{width}d.txt": width for width in (50, 100, 200, 300)}).items():
        rows = np.random.default_rng(len(name)).normal(0, 0.3, (len(known), width)).round(4).tolist()
        lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(known, rows, strict=True)]
        put(folder / name, [*lines, *([f"UUUNKKK{' .1' * width}"] if "paragram" in name else [])])
    rows = np.random.default_rng(1).normal(0, 0.2, (len(known), 300)).astype("<f4")
    pairs = (word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip(known, rows, strict=True))
    head = f"{len(known)} 300\n".encode()
    (folder / "GoogleNews-vectors-negative300.bin").write_bytes(head + b"".join(pairs))


def put_pairs(folder: Path) -> None:
    """PPDB XL, Simple Wikipedia, ParaNMT, SNLI and MultiNLI."""
    world = World()
    phrases, sentences, inference = world.phrases(600), world.sentences(600), world.entailment("train")
    for kind, tag in (("phrasal", "[NP/VP]"), ("lexical", "[NN]")):
        rows = zip(phrases.first, phrases.second, strict=True)
        said = (f"{tag} ||| {one} ||| {other} ||| Abstract=0 p(e|f)=1.5 ||| 0-0" for one, other in rows)
        put(folder / f"ppdb-1.0-xl-{kind}.gz", said)
    for name in ("simple-wikipedia-v2.tsv", "para-nmt-5m-processed.txt"):
        rows = zip(sentences.first, sentences.second, strict=True)
        put(folder / name, (f"{one}\t{other}" for one, other in rows))
    labels = [inference.classes[label] for label in inference.labels]
    texts = [
        json.dumps({"sentence1": one, "sentence2": other, "gold_label": label, "pairID": "1", "annotator_labels": []})
        for one, other, label in zip(inference.first, inference.second, ["-", *labels[1:]], strict=True)
    ]
    for name in ("snli_1.0/snli_1.0_{}", "multinli_1.0/multinli_1.0_{}"):
        held_out = "dev" if name.startswith("snli") else "dev_matched"
        put(folder / f"{name.format('train')}.jsonl", texts[:150])
        put(folder / f"{name.format(held_out)}.jsonl", texts[150:180])


def put_books(folder: Path, size: int = 800) -> None:
    """BookCorpus: a tokenised sentence a line; rare words make its vocabulary as large as the published one."""
    stories, rare = World().stories(size), map("".join, itertools.product("bcdfghjklmnpqrstvwxz", repeat=4))
    for part in range(5):
        lines = [sentence.lower() for story in stories[part::5] for sentence in story]
        said = (
            f"{line.rstrip(' .')} {' '.join(itertools.islice(rare, 16))} ." if number % 2 else line
            for number, line in enumerate(lines)
        )
        put(folder / f"books_large_p{part}.txt", said)
