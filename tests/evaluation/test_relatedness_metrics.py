from __future__ import annotations

import pytest

from sentbook.errors import NumericalError
from sentbook.evaluation import relatedness


def test_three_numbers_by_hand() -> None:
    found = relatedness.evaluate([1.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 5.0])
    assert found.pearson == pytest.approx(8.25 / (8.75 * 8.75) ** 0.5)
    assert found.spearman == pytest.approx(1)
    assert found.mse == pytest.approx(0.5)


def test_errors() -> None:
    with pytest.raises(ValueError, match="one length"):
        relatedness.evaluate([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(NumericalError):
        relatedness.evaluate([1.0, float("nan")], [1.0, 2.0])
