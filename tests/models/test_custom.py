"""An encoder of one's own: ten lines in a notebook's cell, trained, scored and found again as every other."""

from __future__ import annotations

import copy
import sys
import textwrap

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from torch import Tensor

from sentbook.config import parse
from sentbook.io import ConfigError
from sentbook.models import CSE, SentenceEncoder, custom
from sentbook.models.cse import CSEEncoder
from sentbook.training.recipes import Recipe, untrained

SETUP = """
from sentbook.study import Study
from sentbook.training.recipes import recipes
study = Study("cse/table1", seeds=[1, 2], jobs=2, phrase={"limit": 40, "epochs": 1})
s = study.settings
"""
# The class that the documentation of `custom` shows.
SHOWN = str(custom.__doc__)
MINE = textwrap.dedent(SHOWN[SHOWN.index("        class Mine") : SHOWN.index("        recipes(s")])
CELL = f"\nimport torch\nfrom sentbook.models import SentenceEncoder, custom\n\n{MINE}"
TRAIN = """
own = recipes(s, "mine", Mine, s.phrase)
wanted = own + recipes(s, "mine, wider", custom(Mine, version="1", width=12), s.phrase)
trained = study.train(wanted)
assert study.score(trained).methods == ["mine", "mine, wider"]
assert len({recipe.key() for recipe in wanted}) == 4
assert [item.encoder().dimension for item in trained] == [50, 50, 12, 12]
keys = [recipe.key() for recipe in wanted]
assert recipes(s, "mine", Mine, s.phrase) == own  # the class is the same
from sentbook.io import artifacts
from sentbook.training.runs import from_file
assert from_file(artifacts() / keys[2]).encoder().dimension == 12  # built again from its record
"""
AGAIN = """
again = recipes(s, "mine", Mine, s.phrase) + recipes(s, "mine, wider", custom(Mine, version="1", width=12), s.phrase)
found = [recipe.key() for recipe in again]
assert found[2:] == keys[2:] and not set(found[:2]) & set(keys)  # a new class without a version is another encoder
"""


@pytest.mark.slow
@pytest.mark.usefixtures("artifacts")
def test_a_class_of_a_cell_is_trained_side_by_side_and_found_again() -> None:
    cells = [nbformat.v4.new_code_cell(text) for text in (SETUP, CELL, TRAIN, CELL, AGAIN)]
    NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=120, kernel_name="python3").execute()


class Sum(SentenceEncoder):
    def __init__(self, weight: Tensor, scale: float = 1.0) -> None:
        super().__init__(weight)
        self.scale = scale

    @property
    def dimension(self) -> int:
        return self.embedding.dimension

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.scale * self.words(ids).sum(1)


def recipe(encoder: object) -> Recipe:
    return parse(Recipe, {"method": "m", "seed": 1, "vectors": {"name": "miniworld"}, "encoder": encoder})


def test_an_encoder_is_given_as_options_values_or_class() -> None:
    assert recipe(CSE) == recipe(CSEEncoder()) == recipe({"kind": "cse"})
    assert recipe(Sum) == recipe(custom(Sum))
    assert hash(recipe(custom(Sum, scale=2.0))) == hash(recipe(custom(Sum, scale=2.0)))
    assert len({recipe(one).key() for one in (Sum, custom(Sum, scale=2.0), CSE)}) == 3


def doubled(vectors: Tensor) -> Tensor:
    return FACTOR * vectors


FACTOR = 2.0


class Doubled(Sum):
    power = 1

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return doubled(super().forward(ids, lengths)) ** self.power


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (sys.modules[__name__], "FACTOR", 3.0),  # a number beside it, which a function reads that a method calls
        (Doubled, "power", 2),
        (Sum, "forward", lambda self, ids, lengths: self.words(ids).amax(1)),  # of a base class beside it
    ],
)
def test_a_class_without_a_version_is_another_encoder_when_anything_that_it_uses_has_changed(
    where: object, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, kept, versioned = recipe(Doubled), custom(Doubled), recipe(custom(Doubled, version="1"))
    copy.deepcopy(untrained(before)[0])(torch.tensor([[2, 3]]))  # use changes nothing
    assert recipe(Doubled).key() == recipe(kept).key() == before.key()
    monkeypatch.setattr(where, name, value)
    assert recipe(Doubled).key() == recipe(kept).key() != before.key()
    with pytest.raises(ConfigError, match="The class Doubled, or what it uses, has changed; make its recipe again"):
        untrained(before)
    untrained(recipe(kept))
    assert recipe(custom(Doubled, version="1")).key() == versioned.key()  # a version is its owner's word
    untrained(versioned)
    monkeypatch.undo()
    untrained(before)
