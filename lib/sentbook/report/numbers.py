"""Print a number of a page; the one place of this room where correlations and shares are multiplied by 100."""

import math

from sentbook.records import Test

MINUS = "\u2212"
DASH = "\u2013"
_SHARES = frozenset({"pearson", "spearman", "correlation", "accuracy", "f1", "share", "likeness", "mean", "difference"})
_COUNTS = ("rank", "seconds", "words", "sentences", "parameters", "files", "pairs", "rows", "networks", "settings")
_DIGITS = {"mse": 4, "mae": 2, "ratio": 2, "median_rank": 1, **dict.fromkeys(_COUNTS, 0)}
_NAMES = {
    "pearson": ("Pearson\u2019s r", "r"),
    "spearman": ("Spearman\u2019s \u03c1", "\u03c1"),
    "correlation": ("Correlation", "r or \u03c1"),
    "mse": ("Mean squared error", "MSE"),
    "mae": ("Mean absolute error", "MAE"),
    "accuracy": ("Accuracy", "accuracy"),
    "f1": ("F1", "F1"),
}


def factor(metric: str) -> float:
    """Return 100 for correlations and shares (stored in [-1, 1] or [0, 1]), 1 for errors and ranks."""
    return 100.0 if metric in _SHARES else 1.0


def digits(metric: str) -> int:
    """Return the decimals printed: 1 for values shown x 100, 4 for mean squared errors, 2 for absolute ones, else 3."""
    return 1 if factor(metric) == 100.0 else _DIGITS.get(metric, 3)


def name(metric: str, *, short: bool = False) -> str:
    """Name a metric with its unit: ``Pearson's r x 100``, or ``r x 100`` as a column header."""
    words = _NAMES.get(metric, (metric.replace("_", " "),) * 2)[short]
    return words + (" \u00d7 100" if factor(metric) == 100.0 else "")


def plain(value: float | None, places: int = 1, *, signed: bool = False) -> str:
    """Print a number with a true minus sign and never a negative zero; a dash where there is none.

    Example:
        >>> plain(-0.04), plain(62.25, 2), plain(1.25, signed=True), plain(None)
        ('0.0', '62.25', '+1.2', '\u2013')
    """
    if value is None or not math.isfinite(value):
        return DASH
    text = f"{abs(value):,.{places}f}"
    if float(text.replace(",", "")) == 0.0:
        return text
    return MINUS + text if value < 0 else f"+{text}" if signed else text


def shown(value: float | None, metric: str, *, places: int | None = None, signed: bool = False) -> str:
    """Print a stored value in the unit of its metric: ``shown(.716, "pearson") == "71.6"``."""
    if metric == "distance" and value is not None:
        return f"{value:.1g}"
    scaled = None if value is None else value * factor(metric)
    return plain(scaled, digits(metric) if places is None else places, signed=signed)


def interval(low: float, high: float, metric: str, *, places: int | None = None, signed: bool = False) -> str:
    """Print ``[low, high]`` in the metric's unit; nothing where there is no interval."""
    if not low < high:
        return ""
    return f"[{shown(low, metric, places=places, signed=signed)}, {shown(high, metric, places=places, signed=signed)}]"


def p_value(p: float | None) -> str:
    """Print a p-value: ``0.012``, ``< 0.001``."""
    return DASH if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def minutes(seconds: float) -> str:
    """Print a duration for people: ``4.2 s``, ``7.5 min``, ``3.2 h``."""
    scale, unit = (1, "s") if seconds < 60 else (60, "min") if seconds < 5400 else (3600, "h")
    return f"{seconds / scale:.1f} {unit}"


def memory(size: float) -> str:
    """Print bytes for people: ``37 kB``, ``812 MB``, ``1.4 GB``."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def counted(size: int, noun: str) -> str:
    """Print a number of things in words.

    Example:
        >>> counted(1, "seed"), counted(3, "seed")
        ('1 seed', '3 seeds')
    """
    return f"{size:,} {noun}{'' if size == 1 else 's'}"


def tested(test: Test, *, places: int | None = None) -> str:
    """Print a difference with its 95 % interval: ``\u22120.4 [\u22121.2, +0.4]``."""
    ends = interval(test.low, test.high, test.metric, places=places, signed=True)
    return f"{shown(test.estimate, test.metric, places=places, signed=True)} {ends}".strip()
