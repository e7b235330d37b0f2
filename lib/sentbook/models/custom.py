"""Train and score an encoder that a notebook's cell defines, like every other.

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
    recipes(s, "mine, wider", custom(Mine, width=100), s.phrase)
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from types import FunctionType
from typing import Any, Literal

from pydantic import Field, PrivateAttr

from sentbook.config import digest, parse
from sentbook.io import ConfigError
from sentbook.models.base import EncoderOptions, SentenceEncoder

# Classes that were handed in, so that an encoder that was trained in this process is built again from its record.
_handed_in: dict[tuple[str, str], type[SentenceEncoder]] = {}


class CustomEncoder(EncoderOptions):
    """What decides an encoder of one's own, as part of its key: the class's source and the options of its ``__init__``.

    The class itself goes along in the process, and to processes beside it; it is never written.
    """

    kind: Literal["custom"] = "custom"
    name: str
    source: str = Field(description="digest of the source of the class, and of those that it inherits from")
    options: dict[str, Any] = Field(default_factory=dict)
    _class: type[SentenceEncoder] | None = PrivateAttr(None)

    def __hash__(self) -> int:
        return hash((self.name, self.source, digest(self.options)))

    def encoder_class(self) -> type[SentenceEncoder]:
        """Find the class.

        Raises:
            ConfigError: it is not at hand, as in another process than the one that trained it.
        """
        found = self._class or _handed_in.get((self.name, self.source))
        if found is None:
            raise ConfigError(
                f"The class {self.name} of this encoder is not at hand, or its source has changed since; run the cell "
                f"that defines it, then sentbook.models.custom({self.name})."
            )
        return found


def custom(encoder: type[SentenceEncoder], **options: Any) -> EncoderOptions:
    """Hand in an encoder of one's own; one of the package gives its own options.

    Its key holds the source of the class; a function beside the class that it calls is not seen, so put what decides
    numbers into the class.

    Args:
        encoder: a class whose first argument is the (V, D) word vectors.
        options: further arguments of its ``__init__``, as JSON has them: numbers, text, lists.

    Raises:
        ConfigError: the options do not fit, or the source cannot be read.
    """
    name = encoder.__name__
    if known := vars(encoder).get("options"):
        return parse(known, options, f"encoder {name}")
    if missing := sorted(encoder.__abstractmethods__):
        raise ConfigError(
            f"The encoder {name} has no {' and no '.join(missing)}; define what SentenceEncoder asks for."
        )
    try:
        inspect.signature(encoder).bind(None, **options)
        options = json.loads(json.dumps(options))  # as they are read back: a tuple is a list
    except TypeError as error:
        raise ConfigError(f"The encoder {name} cannot be built: {error}; check the options of its __init__.") from None
    parents = [one for one in encoder.__mro__[: encoder.__mro__.index(SentenceEncoder)] if not _is_of_package(one)]
    made = CustomEncoder(name=name, source=digest([_source(one) for one in parents]), options=options)
    made._class = _handed_in[made.name, made.source] = encoder
    return made


def _is_of_package(made: type) -> bool:
    return made.__module__.split(".")[0] == __package__.split(".")[0]


def _source(made: type) -> str:
    """Read the source of a class by that of its methods: Python itself finds no class that a cell defines."""
    attributes = [part.fget if isinstance(part, property) else part for part in vars(made).values()]
    for method in (part for part in attributes if isinstance(part, FunctionType)):
        try:
            lines, _ = inspect.findsource(method)
            nodes = list(ast.walk(ast.parse("".join(lines))))
        except (OSError, SyntaxError):
            continue
        at = method.__code__.co_firstlineno
        for node in nodes:
            if (
                isinstance(node, ast.ClassDef)
                and node.name == made.__name__
                and node.lineno <= at <= (node.end_lineno or 0)
            ):
                return textwrap.dedent("".join(lines[node.lineno - 1 : node.end_lineno]))
    raise ConfigError(
        f"The source of {made.__name__} cannot be read; define it, with a method, in a cell or in a file."
    )
