"""What tests of training share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Books and artifacts of one module: what one test makes, the next one finds."""
    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_CACHE", str(folder / "cache"))
        patch.setenv("SENTBOOK_ARTIFACTS", str(folder / "artifacts"))
        yield
