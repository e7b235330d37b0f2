"""The paper profile as an owner of the originals runs it: every notebook, models as wide as published, a few steps.

The originals are small stand-ins in the formats that they were published in, their sentences generated; the test sets
are the mirror's, as published. Only amounts are cut: in a copy of ``params/``, by parameters that ``-p`` takes too.
"""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sentbook import config
from sentbook.data.miniworld import World
from stand_ins import put_answers, put_books, put_coco, put_pairs, put_vectors

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = [f"{path.parent.name}/{path.stem}" for path in ROOT.glob("notebooks/*/*.ipynb") if path.stem != "model"]
FEW: dict[str, Any] = {"epochs": 1, "limit": 200}
ONE: dict[str, Any] = {"learning_rates": [0.001], "batch_sizes": [32], "epochs": [1], "rescale": [], "pairs": 50}
SEEDS: dict[str, Any] = {"ablation_seeds": [1], "resamples": 100}
STEPS: dict[str, Any] = {"PP": [{"margin": [0.4]}], "CSE": [{"margin": [0.4]}]}
TEXT: dict[str, Any] = {"epochs": 1, "limit": 64, "held_out": 64, "checks_per_epoch": 1}
# What is cut of each paper's profile: amounts alone.
CUTS: dict[str, dict[str, Any]] = {
    "cse": SEEDS | {
        "filter_seeds": [1], "phrase": FEW, "sentence": FEW, "words": FEW, "filter_sizes": FEW, "ablation": FEW,
        "relatedness": {"epochs": 1},
        "tuning": {
            "phrase": FEW, "sentence": FEW, "words": FEW, "word_rates": [0.001], "filter_rates": [0.001],
            "phrase_steps": STEPS, "sentence_steps": STEPS, "word_steps": [{"margin": [0.4]}], "variant_steps": STEPS,
            "relatedness_steps": {name: [{"learning_rate": [0.001]}] for name in STEPS},
        },
    },
    "cnn_lstm": SEEDS | {
        "pretraining": TEXT, "hierarchical": TEXT, "paragraphs": [2], "classification": ["miniworld/question"],
        "tuning": {"rates": [0.002], "limit": 64, "tasks": ["miniworld/question"]}, "ranking": {"epochs": 1},
        "classifier": {"epochs": 1}, "runs": 2, "shares": [0.1], "queries": 2, "candidates": 100,
    },
    "wsv": SEEDS | {
        "rates": [0.001], "sick": {"epochs": 1}, "long": {"epochs": 1}, "msrp": {"epochs": 1},
        "layer": {"lengths": [4, 12], "rounds": 1},
    },
    "dnt": SEEDS | {
        "inference": {"epochs": 1}, "paraphrase": FEW, "simple": FEW, "head": {"share": 0.05},
        "direct": {"share": 0.05}, "feature_grid": ONE, "network_grid": ONE, "direct_grid": ONE, "shares": [0.05],
        "datasets": ["miniworld"], "compared_datasets": ["miniworld"], "shared_datasets": ["miniworld"],
    },
    "cross": SEEDS | {
        "datasets": ["miniworld"], "classification": ["miniworld/question"], "label_pairs": 100, "timed": 10,
        "rounds": 1, "encoder": "GRAN", "tokenisations": ["ptb"],
    },
}  # fmt: skip


def words(mirror: Path) -> list[str]:
    """The mini-world's words, and frequent ones of English, so that sentences of the test sets have vectors."""
    with gzip.open(mirror / "vectors" / "glove6b_50d.vocab.txt.gz", "rt", encoding="utf-8") as file:
        return [*dict.fromkeys([*World().vectors(50)[0], *itertools.islice((line.strip() for line in file), 6000)])]


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables of an owner's shell: a checkout with cut profiles, and the originals."""
    mirror = Path(os.environ.get("SENTBOOK_DATA") or ROOT.parent / "shared" / "data").resolve()
    if not mirror.is_dir():
        pytest.skip(f"no mirror of real data at {mirror}; set SENTBOOK_DATA")
    home = tmp_path_factory.mktemp("owner")
    checkout, originals = home / "checkout", home / "originals"
    put_vectors(originals, words(mirror))
    put_pairs(originals)
    put_books(originals / "bookcorpus")
    put_coco(originals / "coco")
    put_answers(originals, mirror / "eval" / "short-answer-grading" / "sag_v2_flat.tsv")
    (originals / "STS2012-train").symlink_to(mirror / "eval" / "sts2012-train")
    (home / "mirror" / "eval").mkdir(parents=True)
    for folder in (mirror / "eval").iterdir():  # but those that only a mirror has as they are registered
        if folder.name not in ("short-answer-grading", "sts2012-train"):
            (home / "mirror" / "eval" / folder.name).symlink_to(folder)
    for name in ("params", "results", "notebooks"):
        shutil.copytree(ROOT / name, checkout / name)
    (checkout / "book").symlink_to(ROOT / "book")
    images = checkout / "notebooks" / "cnn_lstm" / "table4.ipynb"
    few = images.read_text(encoding="utf-8").replace("(5_000, 1_000)", "(4,)").replace("(82_783, 113_287)", "(16,)")
    images.write_text(few, encoding="utf-8")
    shutil.copy(ROOT / "_toc.yml", checkout)
    for paper, cut in CUTS.items():
        values = config.merge(config.profile_values(paper, "paper"), cut)
        held = {"profile": values.pop("profile"), "seeds": values.pop("seeds", None), "settings": values}
        (checkout / "params" / paper / "paper.yaml").write_text(yaml.safe_dump(held), encoding="utf-8")
    yield {
        **os.environ, "SENTBOOK_ROOT": str(checkout), "SENTBOOK_DATA": str(home / "mirror"),
        "SENTBOOK_ORIGINALS": str(originals), "SENTBOOK_ARTIFACTS": str(home / "artifacts"),
        "SENTBOOK_CACHE": str(home / "cache"), "PYTHONPATH": str(ROOT / "lib"),
    }  # fmt: skip
    shutil.rmtree(home)  # encoders of 11 GB


@pytest.mark.real_data
@pytest.mark.long
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_an_owner_runs_the_paper_profile(owner: dict[str, str], notebook: str) -> None:
    command = [sys.executable, "-m", "sentbook.cli", "run", notebook, "--profile", "paper"]
    done = subprocess.run(command, env=owner, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert (Path(owner["SENTBOOK_ROOT"]) / "build" / "runs" / "paper" / f"{notebook}.json").is_file()
