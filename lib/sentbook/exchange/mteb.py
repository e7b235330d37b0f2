"""The Massive Text Embedding Benchmark's protocol, around a trained encoder of this package.

import mteb, sentbook.exchange.mteb
mteb.evaluate(sentbook.exchange.mteb.Encoder("build/artifacts/<key>"), mteb.get_tasks(tasks=["STS12"]))
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sentbook.exchange import loading
from sentbook.system.errors import DataError

Vectors = NDArray[np.float32] | Tensor


class Encoder:
    """What ``mteb.evaluate`` takes: `encode`, two similarities, and a description of the model.

    Vectors are those of `sentbook.models.encode`; no prompt is put before a sentence. Neither mteb nor
    sentence-transformers is needed to make one, but mteb for `mteb_model_meta`.

    Source: Muennighoff et al. 2023, and mteb 2's ``EncoderProtocol``; a list of strings as mteb 1 gave is taken too.

    Args:
        model_name: an exported folder or an artifact. An artifact whose vectors depend on their batch keeps the
            batches of `sentbook.models.encode_ids`.
        revision: not used; the key of the encoder is its revision.
        device: as torch names it; None: the CPU.

    Raises:
        CheckpointError, DataError: as `sentbook.exchange.loading.load`.
    """

    def __init__(
        self, model_name: str | Path, revision: str | None = None, *, device: str | None = None, **kwargs: Any
    ) -> None:
        self.model = loading.load(Path(model_name))
        self.model.encoder.to(device or "cpu")

    def encode(
        self,
        inputs: Iterable[str | Mapping[str, Any]],
        *,
        task_metadata: Any = None,
        hf_split: str = "",
        hf_subset: str = "",
        prompt_type: Any = None,
        **kwargs: Any,
    ) -> NDArray[np.float32]:
        """(N, F) vectors of N sentences, in their order.

        Args:
            inputs: batches with the sentences under ``text``, or sentences.
            task_metadata, hf_split, hf_subset, prompt_type: the encoder is the same for every task.
            kwargs: ``batch_size`` and the like; batches are bounded by memory.

        Raises:
            DataError: a sentence has no token; its number is named.
        """
        sentences: list[str] = []
        for part in [inputs] if isinstance(inputs, str) else inputs:
            sentences += [part] if isinstance(part, str) else part["text"]
        return self.model.encode(sentences)

    def similarity(self, embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
        """(N, F) or (F,), and (M, F) or (F,), to (N, M) cosines."""
        first, second = (torch.atleast_2d(torch.as_tensor(part)) for part in (embeddings1, embeddings2))
        return functional.normalize(first, dim=1) @ functional.normalize(second, dim=1).T

    def similarity_pairwise(self, embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
        """Two of (N, F), or (F,), to (N,) cosines."""
        first, second = (torch.atleast_2d(torch.as_tensor(part)) for part in (embeddings1, embeddings2))
        return functional.cosine_similarity(first, second, dim=1)

    @property
    def mteb_model_meta(self) -> Any:
        """mteb's ``ModelMeta``: name, size, dimension, and the key of the encoder as its revision.

        Raises:
            DataError: mteb 2 is not installed.
        """
        try:
            meta: Any = importlib.import_module("mteb.models.model_meta").ModelMeta
        except ImportError as error:
            raise DataError("mteb 2 is not installed; run `pip install 'mteb>=2'`.") from error
        encoder, origin = self.model.encoder, self.model.description.origin
        tensors: Sequence[Tensor] = list(encoder.parameters())
        known = {
            "name": f"sentbook/{_slug(origin['method'])}-seed-{origin['seed']}",
            "revision": origin["key"],
            "languages": ["eng-Latn"],
            "n_parameters": sum(tensor.numel() for tensor in tensors),
            "n_embedding_parameters": encoder.embedding.weight.numel(),
            "memory_usage_mb": sum(tensor.numel() * tensor.element_size() for tensor in tensors) / 2**20,
            "max_tokens": float("inf"),
            "embed_dim": encoder.dimension,
            "framework": ["PyTorch"],
            "similarity_fn_name": "cosine",
            "use_instructions": False,
        }
        required = {name: None for name, field in meta.model_fields.items() if field.is_required()}
        return meta(**{**required, **known})


def _slug(method: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in method.lower()).split())
