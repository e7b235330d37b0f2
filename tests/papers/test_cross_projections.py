"""Projections: operations are those of the formula, and every encoder of the grid has a row without any data."""

from __future__ import annotations

from pathlib import Path

import pytest

from sentbook.models.cnn import CNNEncoder
from sentbook.papers.cross import projections
from sentbook.runs import batch
from trainings import STORIES


@pytest.mark.parametrize("model", ["autoencoder", "composite"])
def test_operations_are_the_products_of_each_part(model: str) -> None:
    words, depth, filters, widths, hidden, decoders = 15, 20, 30, (2, 3), 40, 1 + (model == "composite")
    stage = STORIES.changed(model=model, hidden=hidden, vocabulary=200)
    found = projections.operations(CNNEncoder(filters=filters, widths=widths), stage, dimension=depth)
    windows = sum((words - width + 1) * width * depth * filters for width in widths)
    step = 4 * hidden * (depth + hidden) + hidden * (stage.vocabulary + 2)
    decoded = (words + 1) * step + 4 * hidden * filters * len(widths)
    # Each product has two of its size in its gradients, and multiplies and adds.
    assert found == pytest.approx(6 * (windows + decoders * decoded), rel=0.02)


def test_every_encoder_of_the_grid_has_a_row_and_no_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SENTBOOK_DATA", "SENTBOOK_CACHE", "SENTBOOK_ORIGINALS"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(projections, "operations", lambda *given, **options: 3.6e12)
    text = projections.fragments()["projections.md"]
    encoders = [f"{paper}: {name}" for paper, known in batch.grid().items() for name in known.get("encoders", ())]
    assert len(encoders) > 15 and all(text.count(f">{name}<") == 1 for name in encoders)
    # 70 million sentences, eight times: 560 million of 3.6e12 operations at 3.956e14 a second.
    assert projections.sentences_of(STORIES.changed(corpus="bookcorpus", epochs=8)) == 560_000_000
    assert ">1,416<" in text
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
