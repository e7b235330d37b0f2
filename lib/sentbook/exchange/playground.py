"""Encoders in 8 bits a number, as one script that the playground's page loads without a server.

A script and not a file of numbers: a page that was opened from a disk may load the one but not the other. It calls
``sentbookPlayground.take(header, base64)``. The bytes are all scales as float32, then all numbers as int8; of each
matrix the header says its rows, its columns and where both begin. A row's numbers are those bytes times its scale.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sentbook.data.text import UNKNOWN, Vocabulary, tokenise_ptb
from sentbook.export import Portable
from sentbook.io import ConfigError
from sentbook.models import WSV, SentenceEncoder, encode
from sentbook.models.average import AverageEncoder
from sentbook.models.base import EncoderOptions
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.report_old.markup import esc

# The largest change of a cosine that 8 bits may make.
TOLERANCE = 0.01
# What of an encoder's options its lines of JavaScript know; everything else must be as the package has it by default.
KNOWN: dict[type[EncoderOptions], tuple[str, ...]] = {
    AverageEncoder: (),
    CSEEncoder: ("widths", "activation", "pooling", "bias"),
    CNNEncoder: ("widths",),
    WSVEncoder: ("k",),
}
_FREE = {"filters", "bound", "alpha", "map_weights", "kind"}  # they leave no trace but the numbers themselves


@dataclass(frozen=True)
class Packed:
    """What the page is given.

    Attributes:
        header: words, encoders, sentences, examples and where all is from.
        content: scales and numbers.
    """

    header: dict[str, Any]
    content: bytes

    def script(self) -> str:
        """Write the script that the page loads."""
        head = json.dumps(self.header, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
        return f'sentbookPlayground.take({head},\n"{base64.b64encode(self.content).decode()}");\n'

    def table(self) -> str:
        """Draw the examples with their cosines, for a page without JavaScript, which says how large the script is."""
        names = [one["name"] for one in self.header["encoders"]]
        head = "".join(f"<th>{esc(name)}</th>" for name in names)
        rows = "".join(
            f"<tr><th>{esc(first)}<br>{esc(second)}</th>{''.join(f'<td>{value:.2f}</td>' for value in values)}</tr>\n"
            for (first, second), values in zip(self.header["examples"], self.header["cosines"], strict=True)
        )
        return (
            f'<div class="pg-static facts" data-size="{len(self.script().encode()) / 1e6:.1f} MB">\n'
            "<p>The cosine of each pair of sentences. With JavaScript you type your own.</p>\n"
            f"<table>\n<thead><tr><th>Two sentences</th>{head}</tr></thead>\n"
            f"<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
        )


def pack(
    models: Mapping[str, Portable],
    sentences: Sequence[str],
    examples: Sequence[tuple[str, str]],
    *,
    words: int,
    profile: str,
) -> Packed:
    """Pack encoders over the same word vectors.

    Args:
        models: by their names on the page.
        sentences: to look for neighbours among, and to measure what 8 bits change.
        examples: pairs that the page offers.
        words: keep so many, the first ones of the vocabulary, and those of ``sentences``.

    Raises:
        ConfigError: an encoder has options that the page's JavaScript does not know, or 8 bits change a cosine by more
            than `TOLERANCE`.
    """
    known = next(iter(models.values())).vocabulary
    met = [word for text in (*sentences, *(side for pair in examples for side in pair)) for word in tokenise_ptb(text)]
    kept = list(dict.fromkeys([*known.words[:words], *(word for word in met if known.id(word) != UNKNOWN)]))
    scales: list[NDArray[np.float32]] = []
    numbers: list[NDArray[np.int8]] = []
    encoders, cosines = [], []
    pairs = list(zip(sentences[::2], sentences[1::2], strict=False))
    for name, model in models.items():
        _check(name, model)
        rows = [UNKNOWN, *(model.vocabulary.id(word) for word in kept)]
        matrices = {"words": model.encoder.embedding.weight.detach()[rows].numpy(), **_matrices(model.encoder)}
        places: dict[str, dict[str, int]] = {}
        read: dict[str, NDArray[np.float32]] = {}
        for part, matrix in matrices.items():
            scale, bytes_ = quantised(matrix)
            at = {"scale": sum(map(len, scales)), "number": sum(map(len, numbers))}
            places[part] = {"rows": len(matrix), "columns": matrix.shape[1], **at}
            scales.append(scale)
            numbers.append(bytes_.reshape(-1))
            read[part] = bytes_ * scale[:, None]
        small = restored(model.encoder, read)
        differences = [abs(a - b) for a, b in zip(_cosines(model, pairs), _cosines_of(small, kept, pairs), strict=True)]
        if max(differences) > TOLERANCE:
            raise ConfigError(f"In 8 bits a cosine of {name} changes by {max(differences):.3f}; train it longer.")
        cosines.append(_cosines(model, examples))
        encoders.append(
            {
                "name": name,
                "kind": model.description.encoder.kind,
                "options": {key: getattr(model.description.encoder, key) for key in _known(model)},
                "biases": [bias.tolist() for bias in _biases(model.encoder)],
                "weights": _weights(model.encoder),
                "dimension": model.encoder.dimension,
                "parts": places,
                "largest": round(max(differences), 5),
                "origin": _origin(model),
            }
        )
    header = {
        "words": kept,
        "encoders": encoders,
        "sentences": list(sentences),
        "examples": list(examples),
        "cosines": [[round(value, 4) for value in row] for row in zip(*cosines, strict=True)],
        "profile": profile,
        "scales": sum(map(len, scales)),
    }
    return Packed(header, np.concatenate(scales).astype("<f4").tobytes() + np.concatenate(numbers).tobytes())


def quantised(matrix: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Round (N, M) numbers to (N,) scales and (N, M) bytes, a row's largest to 127.

    Example:
        >>> scale, numbers = quantised(np.array([[0.5, -1.0], [0.0, 0.0]]))
        >>> numbers.tolist()
        [[64, -127], [0, 0]]
    """
    scale = np.abs(matrix).max(axis=1) / 127
    numbers = np.rint(matrix / np.where(scale, scale, 1)[:, None])
    return scale.astype(np.float32), numbers.astype(np.int8)


def _known(model: Portable) -> tuple[str, ...]:
    return KNOWN.get(type(model.description.encoder), ())


def _check(name: str, model: Portable) -> None:
    options = model.description.encoder
    if type(options) not in KNOWN or model.description.tokenisation != "ptb":
        raise ConfigError(f"The page knows no encoder like {name}; choose PP, CSE, CNN or WSV.")
    for key, field in type(options).model_fields.items():
        if key not in _known(model) and key not in _FREE and getattr(options, key) != field.default:
            raise ConfigError(f"The page knows no {options.kind} whose {key} is {getattr(options, key)}.")


def _matrices(encoder: SentenceEncoder) -> dict[str, NDArray[np.float32]]:
    """A filter a row: (F, h D) of each width; of WSV (9 F, D), tap by tap."""
    if isinstance(encoder, WSV):
        return {"0": encoder.kernels[0].detach().permute(0, 1, 3, 2).flatten(0, 2).numpy()}
    weights = getattr(encoder, "weights", ())
    return {str(at): weight.detach().T.numpy() for at, weight in enumerate(weights)}


def _biases(encoder: SentenceEncoder) -> list[torch.Tensor]:
    return [] if isinstance(encoder, WSV) else [bias.detach() for bias in getattr(encoder, "biases", None) or ()]


def _weights(encoder: SentenceEncoder) -> list[float]:
    return torch.softmax(encoder.alpha.detach(), dim=0).tolist() if isinstance(encoder, WSV) else []


def restored(encoder: SentenceEncoder, read: Mapping[str, NDArray[np.float32]]) -> SentenceEncoder:
    """Build ``encoder`` anew with the numbers of `Packed`: padding, the unknown word, and the words that were kept."""
    small = copy.deepcopy(encoder)
    words = torch.from_numpy(np.vstack([np.zeros_like(read["words"][:1]), read["words"]]))
    small.embedding.weight = nn.Parameter(words)
    with torch.no_grad():
        if isinstance(small, WSV):
            taps = torch.from_numpy(read["0"]).view(3, 3, small.filters, -1)
            small.kernels[0].copy_(taps.permute(0, 1, 3, 2))
        else:
            for at, weight in enumerate(getattr(small, "weights", ())):
                weight.copy_(torch.from_numpy(read[str(at)]).T)
    return small.eval()


def _cosines(model: Portable, pairs: Sequence[tuple[str, str]]) -> list[float]:
    return _cosines_of(model.encoder, model.vocabulary.words, pairs)


def _cosines_of(encoder: SentenceEncoder, words: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[float]:
    vectors = [encode(encoder, Vocabulary(words), side).astype(np.float64) for side in zip(*pairs, strict=True)]
    one, other = (side / np.linalg.norm(side, axis=1, keepdims=True).clip(1e-12) for side in vectors)
    return [float(value) for value in (one * other).sum(axis=1)]


def _origin(model: Portable) -> dict[str, Any]:
    """Where an encoder is from, without a folder of this machine."""
    origin = model.description.origin
    stages = [f"{', '.join(stage.get('corpora') or [stage.get('dataset') or stage.get('corpus')])}" for stage in
              origin["recipe"]["stages"]]  # fmt: skip
    return {"key": origin["key"], "vectors": origin["recipe"]["vectors"]["name"], "trained_on": stages}
