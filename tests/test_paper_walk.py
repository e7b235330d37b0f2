"""An owner of the papers' data runs every page in profile ``paper``: each published format, in amounts of the demo.

The originals are stand-ins that hold generated sentences; encoders, trainings and test sets are as small as the demo's.
"""

from __future__ import annotations

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
from stand_ins import put_books, put_pairs, put_vectors

ROOT = Path(__file__).resolve().parents[1]
# Without the lessons, and without the pages that take no less than all of COCO, or records alone.
NOTEBOOKS = {f"{path.parent.name}/{path.stem}" for path in ROOT.glob("notebooks/*/*.ipynb") if path.stem != "model"}
NOTEBOOKS -= {"cnn_lstm/table4", "cross/gaps"}
# What the profile reads and the demo does not.
ORIGINAL = {"profile", "vectors", "paraphrase_vectors", "dimensions", "larger", "corpora", "corpus", "path"}


def amounts(values: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in values.items() if name not in ORIGINAL}
    return {name: amounts(value) if isinstance(value, dict) else value for name, value in kept.items()}


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables of an owner's shell: a checkout with cut profiles, the originals, and no other data."""
    home = tmp_path_factory.mktemp("owner")
    checkout, originals = home / "checkout", home / "originals"
    (home / "DATA").mkdir(parents=True)  # an empty mirror
    put_vectors(originals, list(World().vectors()[0]))
    put_pairs(originals)
    put_books(originals / "bookcorpus", 80)
    for name in ("params", "results"):
        shutil.copytree(ROOT / name, checkout / name)
    for name in ("notebooks", "book"):
        (checkout / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "_toc.yml", checkout)
    for paper in config.papers():
        whole, demo = (config.profile_values(paper, name) for name in ("paper", "demo"))
        values = config.merge(whole, amounts(demo))
        held = {"profile": values.pop("profile"), "seeds": values.pop("seeds"), "settings": values}
        (checkout / "params" / paper / "paper.yaml").write_text(yaml.safe_dump(held), encoding="utf-8")
    variables = {"ORIGINALS": originals, "ROOT": checkout}
    variables |= {name: home / name for name in ("DATA", "ARTIFACTS", "CACHE")}
    named = {f"SENTBOOK_{name}": str(folder) for name, folder in variables.items()}
    yield {**os.environ, **named, "PYTHONPATH": str(ROOT / "lib")}
    shutil.rmtree(home)


@pytest.mark.long
@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS))
def test_an_owner_runs_the_paper_profile(owner: dict[str, str], notebook: str) -> None:
    command = [sys.executable, "-m", "sentbook.cli", "run", notebook, "--profile", "paper"]
    done = subprocess.run(command, env=owner, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert (Path(owner["SENTBOOK_ROOT"]) / "build" / "runs" / "paper" / f"{notebook}.json").is_file()
