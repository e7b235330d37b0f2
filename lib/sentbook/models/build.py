"""Which encoders there are, those of a notebook's cell among them; an encoder from its options and word vectors."""

import hashlib
import inspect
import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import uuid4

import cloudpickle
import torch
from pydantic import BeforeValidator, PrivateAttr, SerializeAsAny
from torch import Tensor

from sentbook.config import digest, parse
from sentbook.io import ConfigError
from sentbook.models.average import Average
from sentbook.models.base import EncoderOptions, SentenceEncoder
from sentbook.models.cnn import CNN
from sentbook.models.cse import CSE
from sentbook.models.recurrent import GRAN, LSTM, BiLSTM
from sentbook.models.wsv import WSV

ENCODERS: dict[str, type[SentenceEncoder]] = {
    one.options.kind: one for one in (Average, BiLSTM, CNN, CSE, GRAN, LSTM, WSV)
}


class CustomEncoder(EncoderOptions):
    """What decides an encoder of your own, as part of its key; `custom` makes one.

    Attributes:
        version: as you named it; None: it is known in this kernel alone.
        kernel: without a version, what no other kernel has, and no class that computes otherwise.
        options: further arguments of the class.
    """

    kind: Literal["custom"] = "custom"
    name: str
    version: str | None
    kernel: str = ""
    options: dict[str, Any]
    # Goes along in the process, and pickled to the processes of trainings side by side; it is never written.
    _class: type[SentenceEncoder] | None = PrivateAttr(None)

    def __hash__(self) -> int:
        return hash((self.name, self.version, self.kernel, digest(self.options)))


# Classes that were handed in, so that what this process trained is built again from its record.
_handed_in: dict[tuple[str, str | None, str], type[SentenceEncoder]] = {}
_KERNEL = uuid4().hex


def custom(encoder: type[SentenceEncoder], *, version: str | None = None, **options: Any) -> CustomEncoder:
    """Take an encoder of your own, a class in a notebook's cell, for use in a recipe.

    For example::

        class Mine(SentenceEncoder):
            def __init__(self, weight, width=50):
                super().__init__(weight)
                self.map = torch.nn.Linear(weight.shape[1], width)

            @property
            def dimension(self):
                return self.map.out_features

            def forward(self, ids, lengths):
                return torch.tanh(self.map(self.words(ids).sum(1)))

        recipes(s, "mine", Mine, s.phrase)
        recipes(s, "mine, wider", custom(Mine, version="1", width=100), s.phrase)

    Args:
        encoder: a class whose first argument is the (V, D) word vectors.
        version: part of the key of what is trained, which is then cached like that of any other encoder: change it when
            you change the class. None: what is trained is found again in this kernel alone, and only while the class is
            as it was, with its attributes and all that it uses of its notebook or file: a number beside it, say.
        options: further arguments of its ``__init__``, as JSON has them: numbers, text, lists.
    """
    name = encoder.__name__
    inspect.signature(encoder).bind(None, **options)  # a misspelt option stops here, not in a training
    options = json.loads(json.dumps(options))  # as they are read back: a tuple is a list
    kernel = "" if version else f"{_KERNEL}-{_digest(encoder)}"
    made = CustomEncoder(name=name, version=version, kernel=kernel, options=options)
    made._class = _handed_in[name, version, kernel] = encoder
    return made


def _digest(encoder: type[SentenceEncoder]) -> str:
    """Digest a class and all that its methods use of its notebook or file, as it is now."""
    module = sys.modules[encoder.__module__]
    cloudpickle.register_pickle_by_value(module)
    try:
        return hashlib.sha256(cloudpickle.dumps(encoder)).hexdigest()[:16]
    except Exception as error:
        raise ConfigError(
            f"{encoder.__name__} uses what cannot be compared ({error}); give custom a version."
        ) from error
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _options(value: Any) -> EncoderOptions:
    """Make options of what names an encoder: options, their values with a ``kind``, or a class."""
    if isinstance(value, CustomEncoder) and value._class and value.kernel.startswith(_KERNEL):
        return custom(value._class, **value.options)  # as the class is now
    if isinstance(value, EncoderOptions):
        return value
    if isinstance(value, type) and issubclass(value, SentenceEncoder):
        return vars(value).get("options") or custom(value)
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if kind not in [*ENCODERS, "custom"]:
        raise ValueError(f"is no encoder; choose the kind among {', '.join(ENCODERS)}, or give a class")
    return parse(CustomEncoder if kind == "custom" else type(ENCODERS[kind].options), value, f"encoder {kind}")


# Options of any encoder; a section reads them from their values by name, or from a class.
Encoder = Annotated[SerializeAsAny[EncoderOptions], BeforeValidator(_options)]


def build(options: EncoderOptions, weight: Tensor, *, seed: int) -> SentenceEncoder:
    """Build an untrained encoder over (V, D) word vectors; ``seed`` decides the composition's initial values.

    Raises:
        ConfigError: the class of a custom encoder is not at hand, as in another process than the one that trained it;
            or it has no version and has changed since.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if not isinstance(options, CustomEncoder):
            return ENCODERS[options.kind](weight, options)
        made = options._class or _handed_in.get((options.name, options.version, options.kernel))
        if made is None:
            raise ConfigError(
                f"The class {options.name} of this encoder is not at hand; run the cell that defines it, then "
                f"sentbook.models.custom({options.name}, version={options.version!r})."
            )
        if options.kernel.startswith(_KERNEL) and options.kernel != f"{_KERNEL}-{_digest(made)}":
            raise ConfigError(f"The class {options.name}, or what it uses, has changed; make its recipe again.")
        return made(weight, **options.options)
