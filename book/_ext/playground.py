"""The playground's page, and the file with its encoders.

``cd book && python -m _ext.playground PP=FOLDER CSE=FOLDER WSV=FOLDER CNN=FOLDER`` packs folders that `sentbook export`
wrote into ``data.js``: 8-bit integers times one scale per row. The file is a script, since a page that was opened
without a server may load a script, but no file of numbers.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from markupsafe import Markup

from _ext.html import render
from sentbook.data.text import UNKNOWN
from sentbook.export import SentbookEncoder
from sentbook.io import root
from sentbook.models import WSV, SentenceEncoder

DATA = "book/_static/playground/data.js"
EXAMPLES = (
    ("a dog bites a man", "a man bites a dog"),
    ("a man is playing the guitar", "someone plays an instrument"),
    ("the cat sat on the mat", "the kitten was sitting on the rug"),
    ("there is no dog in the park", "there is a dog in the park"),
    ("the stock market fell on monday", "a woman slices an onion"),
)


@cache
def header() -> dict[str, Any]:
    """Return what ``data.js`` says of its encoders: words, examples and their cosines by the package."""
    text = (root() / DATA).read_text(encoding="utf-8")
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index("(") + 1)[0]
    return found


def playground() -> Markup:
    """Return the form that the page's scripts bring to life, and a table for readers without JavaScript."""
    held = header()
    return render(
        "playground.html",
        examples=held["examples"],
        names=[one["name"] for one in held["encoders"]],
        rows=list(zip(held["examples"], held["cosines"], strict=True)),
        size=f"{(root() / DATA).stat().st_size / 1e6:.1f} MB",
    )


def pack(models: Mapping[str, SentbookEncoder], words: int = 10_000) -> str:
    """Return ``data.js`` for encoders over the same vocabulary, cut to its first ``words`` and those of the examples.

    The bytes are all scales as float32, then all numbers as int8; a matrix has its rows, its columns, and where both
    begin.
    """
    known = next(iter(models.values())).vocabulary
    spoken = [word for pair in EXAMPLES for side in pair for word in side.split() if known.id(word) != UNKNOWN]
    kept = list(dict.fromkeys([*known.words[:words], *spoken]))
    scales, numbers = np.empty(0, np.float32), np.empty(0, np.int8)
    encoders, cosines = [], []
    for name, model in models.items():
        encoder = model.encoder
        rows = [UNKNOWN, *(model.vocabulary.id(word) for word in kept)]
        parts = {}
        for part, matrix in {"words": encoder.embedding.weight.detach()[rows].numpy(), **_filters(encoder)}.items():
            scale = np.abs(matrix).max(axis=1) / 127
            parts[part] = dict(
                zip(("rows", "columns"), matrix.shape, strict=True), scale=len(scales), number=len(numbers)
            )
            quantised = np.rint(matrix / np.where(scale, scale, 1)[:, None]).astype(np.int8)
            scales, numbers = np.append(scales, scale.astype("<f4")), np.append(numbers, quantised)
        encoders.append(
            {
                "name": name,
                "kind": model.description.encoder.kind,
                "options": model.description.encoder.model_dump(mode="json"),
                "biases": [bias.tolist() for bias in getattr(encoder, "biases", None) or ()],
                "weights": torch.softmax(encoder.alpha, dim=0).tolist() if isinstance(encoder, WSV) else [],
                "dimension": encoder.dimension,
                "parts": parts,
                "origin": model.description.origin,
            }
        )
        first, second = (model.encode(side) for side in zip(*EXAMPLES, strict=True))
        lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
        cosines.append(((first * second).sum(axis=1) / lengths).round(4).tolist())
    found = {"words": kept, "encoders": encoders, "examples": EXAMPLES, "cosines": list(zip(*cosines, strict=True))}
    head = json.dumps({**found, "scales": len(scales)}, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    content = base64.b64encode(scales.tobytes() + numbers.tobytes()).decode()
    return f'sentbookPlayground.take({head},\n"{content}");\n'


def _filters(encoder: SentenceEncoder) -> dict[str, Any]:
    """Return the filters, one per row: (F, h D) of each width; of WSV (9 F, D), tap by tap."""
    if isinstance(encoder, WSV):
        return {"0": encoder.kernels[0].detach().permute(0, 1, 3, 2).flatten(0, 2).numpy()}
    return {str(at): weight.detach().T.numpy() for at, weight in enumerate(getattr(encoder, "weights", ()))}


if __name__ == "__main__":
    given = (argument.partition("=") for argument in sys.argv[1:])
    text = pack({name: SentbookEncoder.load(folder) for name, _, folder in given})
    (root() / DATA).write_text(text, encoding="utf-8")
