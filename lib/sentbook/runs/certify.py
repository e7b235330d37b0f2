"""Compare a reader's own run with the recorded one, number by number, within stated tolerances.

A run of the same seeds on the same platform, with as many threads, gives the same bits. Elsewhere sums are taken in
another order, and a training amplifies the rounding. Over the cells of the recorded small runs that have three seeds or
more, the median standard deviation over seeds is .0070 for Pearson's r, .0093 for Spearman's rho, .0062 for accuracies
and .0069 for mean squared errors. The mean of k seeds is held to the tolerance of one over the square root of k, since
the rounding of one seed knows nothing of another's.

A run that found the recorded encoders by their key, instead of training them again, was evaluated again and no more:
the comparison counts trainings of either kind, and its summary then says "evaluated again".
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field, ValidationError

from sentbook.io import ConfigError, DataError, root
from sentbook.records import Record, Run
from sentbook.runs.claims import specifications
from sentbook.runs.ledger import path_of

# Numbers that are about seconds: like claims that are `timed`, they are reported and not required.
TIMED_METRICS = frozenset({"speedup"})
_CELL = ["method", "dataset", "metric", "protocol"]
_KEY = [*_CELL, "seed"]


def tolerance(metric: str) -> float:
    """Return how far one seed's value may be off; of perplexities and distances, as a share of the recorded value.

    Example:
        >>> [tolerance(name) for name in ("pearson", "mse", "captions MedR", "perplexity of the same sentence")]
        [0.005, 0.01, 1.0, 0.01]
    """
    if metric.endswith("MedR"):
        return 1.0  # a median rank moves in steps
    # Squared and absolute errors are on a scale of four or five points; the rest is bounded by 1.
    return 0.01 if metric in ("mse", "mae") or _is_relative(metric) else 0.005


def _is_relative(metric: str) -> bool:
    return metric.startswith(("perplexity", "distance"))


class Compared(Record):
    """The rows of one metric: how many, how many are equal to the bit, and the largest deviations with their place."""

    metric: str
    rows: int
    identical: int
    largest: float
    where: str
    largest_of_means: float
    where_of_means: str
    tolerance: float


class Comparison(Record):
    """What was compared, how far it was apart, and what follows: certified where there are no ``reasons`` against it.

    Of the own run's ``encoders`` so many were ``trained_again``; the others are the recorded trainings themselves.
    """

    run: str
    reasons: list[str]
    compared: list[Compared]
    verdicts: int
    verdicts_changed: dict[str, tuple[str, str]] = Field(default_factory=dict)
    encoders: int
    trained_again: int
    data_differing: list[str] = Field(default_factory=list)
    recorded_commit: str
    own_commit: str

    @property
    def summary(self) -> str:
        """The result in a few words."""
        if self.reasons:
            return "not reproduced"
        done = "reproduced" if self.trained_again == self.encoders else "evaluated again,"
        if all(one.identical == one.rows for one in self.compared):
            return f"{done} bit for bit"
        return f"{done} within {' and '.join(sorted({f'{one.tolerance:g}' for one in self.compared}))}"

    def lines(self) -> list[str]:
        """Write what was found, for a terminal: metric by metric, then encoders, verdicts and reasons."""
        found = [
            f"{one.metric}: {one.rows} numbers, {one.identical} equal to the bit, "
            f"largest deviation {one.largest:.2g}{one.where and f' ({one.where})'}, tolerance {one.tolerance:g}"
            for one in self.compared
        ]
        if kept := self.encoders - self.trained_again:
            again = "found by their key and not trained again"
            found.append(f"encoders: {kept} of {self.encoders} are the recorded ones, {again}")
        found.append(f"verdicts: {self.verdicts - len(self.verdicts_changed)} of {self.verdicts} agree")
        return [*found, *(f"not certified: {reason}" for reason in self.reasons), f"{self.run}: {self.summary}"]


# -- the two runs ------------------------------------------------------------------------------------------------------


def from_file(path: Path) -> Run:
    """Read a run from a file.

    Raises:
        DataError: there is no such file, or it is not a run.
    """
    if not path.is_file():
        raise DataError(f"There is no run {path}; make it with `make run NOTEBOOK=paper/experiment PROFILE=small`.")
    return _parsed(path.read_bytes(), str(path))


def from_git(paper: str, experiment: str, profile: str) -> Run:
    """Read the run as it is committed.

    Raises:
        DataError: this is no git checkout, or no such run is committed.
    """
    name = path_of(paper, experiment, profile).relative_to(root()).as_posix()
    command = ["git", "-C", str(root())]
    try:
        inside = subprocess.run([*command, "rev-parse", "--verify", "-q", "HEAD"], capture_output=True, check=False)
        found = subprocess.run([*command, "show", f"HEAD:./{name}"], capture_output=True, check=False)
    except OSError:
        inside = None
    if inside is None or inside.returncode:
        raise DataError(f"{root()} is not a git checkout with commits; give the recorded run with --recorded FILE.")
    if found.returncode:
        raise DataError(f"No run {name} is committed; give the recorded run with --recorded FILE.")
    return _parsed(found.stdout, f"The committed {name}")


def _parsed(content: bytes, where: str) -> Run:
    try:
        return Run.model_validate_json(content)
    except ValidationError as error:
        raise DataError(f"{where} is not a recorded run; give a file that a notebook wrote under results/.") from error


def _refuse(name: str, recorded: Run, own: Run) -> None:
    """Refuse two runs that say nothing about each other."""
    profile, experiment = name.split("/", 1)
    for side, run in (("recorded", recorded), ("own", own)):
        if f"{run.paper}/{run.experiment}" != experiment:
            raise ConfigError(
                f"The {side} run is of {run.paper}/{run.experiment}, not of {experiment}; give that experiment's file."
            )
    first, second = recorded.provenance, own.provenance
    if first.config_hash != second.config_hash:
        values, others = (pd.json_normalize(side.config).iloc[0].to_dict() for side in (first, second))
        names = [key for key in {**values, **others} if str(values.get(key)) != str(others.get(key))]
        told = [f"{key}: recorded {values.get(key)}, own {others.get(key)}" for key in names[:4]]
        more = [f"and {len(names) - 4} more"] if len(names) > 4 else []
        raise ConfigError(
            f"The two runs of {experiment} have other configurations ({'; '.join([*told, *more]) or 'by their hash'}); "
            "run the notebook with the recorded parameters."
        )
    for side, run in (("recorded", recorded), ("own", own)):
        if run.profile != profile:
            raise ConfigError(
                f"The {side} run is of profile {run.profile}, not {profile}; name its own with --profile."
            )
    if first.started == second.started:
        raise ConfigError(
            f"This is the recorded run of {experiment} itself, nothing was run again; "
            f"make your own with `make run NOTEBOOK={experiment} PROFILE={profile}`."
        )


def again() -> Path:
    """Where the comparisons are kept of runs that were recorded again, from nothing."""
    return root() / "results" / "again"


def recorded_again() -> list[Comparison]:
    """The comparisons that are kept, by the name of the run.

    Raises:
        DataError: a file is no comparison.
    """
    found = []
    for path in sorted(again().glob("*.json")):
        try:
            found.append(Comparison.model_validate_json(path.read_bytes()))
        except ValidationError as error:
            raise DataError(f"{path} is no comparison; write it again by `sentbook certify --record`.") from error
    return found


# -- the comparison ----------------------------------------------------------------------------------------------------


def compare(name: str, recorded: Run, own: Run) -> Comparison:
    """Compare two runs of the same experiment, profile and configuration.

    Args:
        name: ``<profile>/<paper>/<experiment>``.

    Raises:
        ConfigError: the runs are of something else, of another configuration, or one and the same.
    """
    _refuse(name, recorded, own)
    both = _frame(recorded).merge(_frame(own), on=_KEY, how="outer", indicator="side", suffixes=("", "_own"))
    shared = both[both.side == "both"]
    reasons = [
        f"{len(rows)} numbers {words}, such as {_place(rows.iloc[0])}"
        for rows, words in (
            (both[both.side == "left_only"], "are missing from the own run"),
            (both[both.side == "right_only"], "are in the own run alone"),
            (shared[shared.n != shared.n_own], "are over another number of items"),
        )
        if len(rows)
    ]
    compared = []
    for metric, rows in shared.groupby("metric", sort=False):
        found, more = _compared(str(metric), rows)
        compared.append(found)
        reasons += more
    first, second = ({claim.id: claim.verdict for claim in run.claims} for run in (recorded, own))
    changed = {
        claim: (first.get(claim, "not judged"), second.get(claim, "not judged"))
        for claim in sorted(first.keys() | second.keys())
        if first.get(claim) != second.get(claim)
    }
    timed = {name for name, spec in specifications().items() if spec.timed}
    reasons += [f"{claim} was {a} and is {b}" for claim, (a, b) in changed.items() if claim not in timed]
    data, other = recorded.provenance.data, own.provenance.data
    encoders = _trainings(own)
    return Comparison(
        run=name,
        reasons=reasons,
        compared=compared,
        verdicts=len(first),
        verdicts_changed=changed,
        encoders=len(encoders),
        trained_again=len(encoders - _trainings(recorded)),
        data_differing=sorted(file for file in data.keys() | other.keys() if data.get(file) != other.get(file)),
        recorded_commit=recorded.provenance.git_commit,
        own_commit=own.provenance.git_commit,
    )


def _frame(run: Run) -> pd.DataFrame:
    rows = [row.model_dump() for row in run.metrics if row.metric not in TIMED_METRICS]
    return pd.DataFrame(rows, columns=[*_KEY, "value", "n"]).astype({"seed": "Int64"})


def _compared(metric: str, rows: pd.DataFrame) -> tuple[Compared, list[str]]:
    """Hold the rows of a metric, and their means over seeds, to their tolerances."""
    allowed = tolerance(metric)

    def off(frame: pd.DataFrame) -> pd.Series:
        gap = (frame.value_own - frame.value).abs()
        return gap / frame.value.abs().clip(lower=1e-12) if _is_relative(metric) else gap

    rows = rows.assign(off=off(rows))
    cells = rows.groupby(_CELL, as_index=False, sort=False).agg(
        value=("value", "mean"), value_own=("value_own", "mean"), seeds=("value", "size")
    )
    cells = cells.assign(off=off(cells), seed=None)
    worst = rows.iloc[int(rows.off.argmax())]
    # The cell that comes closest to its tolerance, or passes it most: cells may have other numbers of seeds.
    mean = cells.iloc[int((cells.off * np.sqrt(cells.seeds)).argmax())]
    kind, bound = "relative " if _is_relative(metric) else "", allowed / float(np.sqrt(mean.seeds))
    reasons = []
    if worst.off > allowed:
        reasons.append(f"{metric} is {worst.off:.4f} off on {_place(worst)}, {kind}tolerance {allowed:g}")
    if mean.off > bound and mean.seeds > 1:
        reasons.append(
            f"the mean {metric} over seeds is {mean.off:.4f} off on {_place(mean)}, {kind}tolerance {bound:.2g}"
        )
    found = Compared(
        metric=metric,
        rows=len(rows),
        identical=int((rows.value == rows.value_own).sum()),
        largest=float(worst.off),
        where=_place(worst) if worst.off else "",
        largest_of_means=float(mean.off),
        where_of_means=_place(mean) if mean.off else "",
        tolerance=allowed,
    )
    return found, reasons


def _place(row: Mapping[str, Any] | pd.Series) -> str:
    seed = "" if pd.isna(row["seed"]) else f", seed {row['seed']}"
    return f"{row['method']}, {row['dataset']}, {row['metric']}{seed}"


def _trainings(run: Run) -> set[tuple[str, str]]:
    """Key and start of the training of each encoder that a run used."""
    return {(str(item["key"]), str(item.get("started"))) for item in run.extra.get("artifacts", []) if "key" in item}
