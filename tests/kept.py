"""What the package keeps between calls, for tests that need a process as it was when it began."""

from __future__ import annotations

import sys

from sentbook.data import sources


def forget() -> None:
    """Drop it all: results of cached functions, and which data were read."""
    for name, module in sys.modules.copy().items():
        if name.partition(".")[0] == "sentbook":
            for kept in [*vars(module).values()]:
                getattr(kept, "cache_clear", int)()
    sources._used.clear()
