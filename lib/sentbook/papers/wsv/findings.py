"""What the records of Yao et al. 2018 say of speed and convergence, for its claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sentbook.evaluation.statistics import Estimate, seed_interval
from sentbook.judge import printed
from sentbook.records import Cost, CurvePoint

LARGE, SMALLER = "WSV-SCNN-SV d=300 L=1", "WSV-SCNN-SV d=200 L=1"
SIZES = [f"WSV-SCNN-SV d={size} L=1" for size in (300, 200, 100, 50)]


def speed(seconds: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    """Return the findings of table 2 on time, from the seconds of ten epochs by method and seed; none on the demo."""
    if not {LARGE, SMALLER} <= set(seconds):
        return {}
    shares = [smaller / larger for smaller, larger in zip(seconds[SMALLER], seconds[LARGE], strict=False)]
    return {
        "seconds of ten epochs": seed_interval(seconds[LARGE]),
        "seconds of 200 as a share of 300": seed_interval(shares),
    }


def counts_as_printed(cost: Iterable[Cost]) -> int:
    """Count the four sizes whose number of trained parameters is the one that table 2 prints."""
    ours = {row.method: row.parameters for row in cost}
    return sum(ours.get(name) == printed.value("wsv", "table2", name, "-", "trainable_params") for name in SIZES)


def halfway(curves: Iterable[CurvePoint]) -> dict[str, Estimate]:
    """Return r on the test pairs after half of the epochs as a share of r after all, by loss, over seeds."""
    lines: dict[str, dict[int, list[float]]] = {}
    for point in sorted(curves, key=lambda point: point.step):
        if (point.split, point.metric) == ("test", "pearson"):
            lines.setdefault(point.method, {}).setdefault(point.seed, []).append(point.value)
    return {
        method: seed_interval([line[len(line) // 2 - 1] / line[-1] for line in by_seed.values()])
        for method, by_seed in lines.items()
    }
