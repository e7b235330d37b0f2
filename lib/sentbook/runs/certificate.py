"""Did a reader's own run find what the recorded one found? A certificate says so, number by number, with a badge.

A run of the same seeds on the same platform, with as many threads, gives the same bits, and the certificate says when
it does. Elsewhere sums are taken in another order, and a training amplifies the rounding. The tolerances are about what
is less than another seed: over the cells of the recorded small runs that have three seeds or more, the median standard
deviation over seeds is .0063 for Pearson's r, .0080 for Spearman's rho, .0106 for accuracies and .0066 for mean squared
errors, so that two seeds typically differ by more than .009. The mean of k seeds is held to the tolerance of one over
the square root of k, since the rounding of one seed knows nothing of another's.

A run that found the recorded encoders by their key, instead of training them again, was evaluated again and no more.
The certificate counts the trainings of either kind, and its badge says "evaluated again" where not all were made anew.

The hash shows that a certificate was not changed after it was issued. It does not show who issued it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, ValidationError

from sentbook.records import Metric, Record, Run
from sentbook.runs import ledger
from sentbook.system.errors import ConfigError, DataError
from sentbook.system.files import write_atomically
from sentbook.system.paths import root

Result = Literal["certified", "not certified"]
# Claims about seconds and the number that is one: they are true of a machine, and are reported and not required.
TIMED_CLAIMS = frozenset({"wsv-17", "wsv-18", "dnt-14", "dnt-23"})
TIMED_METRICS = frozenset({"speedup"})


class Tolerance(NamedTuple):
    """How far one seed's value may be off; as a share of the recorded value if ``relative``."""

    value: float
    relative: bool = False


_BOUNDED = Tolerance(0.005)  # correlations, accuracies, F1, shares
_ERROR = Tolerance(0.01)  # squared and absolute errors on a scale of four or five points
_RANK = Tolerance(1.0)  # a median rank moves in steps
_OPEN = Tolerance(0.01, relative=True)  # perplexities and distances, which have no upper end


def tolerance(metric: str) -> Tolerance:
    """The tolerance of a metric by its kind.

    Example:
        >>> tolerance("pearson").value, tolerance("mse").value, tolerance("perplexity of the same sentence").relative
        (0.005, 0.01, True)
    """
    if metric.endswith("MedR"):
        return _RANK
    if metric in ("mse", "mae"):
        return _ERROR
    return _OPEN if metric.startswith(("perplexity", "distance")) else _BOUNDED


class Compared(Record):
    """The rows of one metric: how many, how many are equal to the bit, and the largest deviations with their place.

    Of means over seeds it is the deviation that comes closest to its own tolerance. Where the tolerance is
    ``relative``, so are the deviations.
    """

    metric: str
    rows: int
    identical: int
    largest: float
    where: str
    largest_of_means: float
    where_of_means: str
    tolerance: float
    tolerance_of_means: float
    relative: bool = False


class VerdictChange(Record):
    claim: str
    recorded: str
    own: str
    required: bool


class Side(Record):
    """One of the two runs; ``file`` is the digest of its file."""

    file: str
    commit: str
    started: str
    device: str
    python: str
    packages: dict[str, str]


class Certificate(Record):
    """What was compared, how far it was apart, and what follows. ``sha256`` is over all the rest in canonical JSON.

    Of the own run's ``encoders`` so many were ``trained_again``; the others are the recorded trainings themselves.
    """

    schema_version: Literal[1] = 1
    run: str
    result: Result
    reasons: list[str] = Field(default_factory=list)
    issued: str
    config_hash: str
    encoders: int
    trained_again: int
    identical: bool
    compared: list[Compared]
    verdicts: int
    verdicts_changed: list[VerdictChange] = Field(default_factory=list)
    data_equal: bool
    data_differing: list[str] = Field(default_factory=list)
    recorded: Side
    own: Side
    sha256: str = ""


class Read(NamedTuple):
    """A run and the bytes it was read from."""

    run: Run
    content: bytes


# -- the two runs ------------------------------------------------------------------------------------------------------


def _parsed(content: bytes, where: str) -> Read:
    try:
        return Read(Run.model_validate_json(content), content)
    except ValidationError as error:
        raise DataError(f"{where} is not a recorded run; give a file that a notebook wrote under results/.") from error


def from_file(path: Path) -> Read:
    """A run from a file.

    Raises:
        DataError: there is no such file, or it is not a run.
    """
    if not path.is_file():
        raise DataError(f"There is no run {path}; make it with `make run NOTEBOOK=paper/experiment PROFILE=small`.")
    return _parsed(path.read_bytes(), str(path))


def from_git(paper: str, experiment: str, profile: str) -> Read:
    """The run as it is committed.

    Raises:
        DataError: this is no git checkout, or no such run is committed.
    """
    name = ledger.path_of(paper, experiment, profile).relative_to(root()).as_posix()
    try:
        found = subprocess.run(["git", "-C", str(root()), "show", f"HEAD:./{name}"], capture_output=True, check=False)
        inside = (
            found.returncode == 0
            or not subprocess.run(
                ["git", "-C", str(root()), "rev-parse", "--verify", "-q", "HEAD"], capture_output=True, check=False
            ).returncode
        )
    except OSError:
        inside = False
    if not inside:
        raise DataError(f"{root()} is not a git checkout with commits; give the recorded run with --recorded FILE.")
    if found.returncode:
        raise DataError(f"No run {name} is committed; give the recorded run with --recorded FILE.")
    return _parsed(found.stdout, f"The committed {name}")


def _refuse(name: str, recorded: Read, own: Read) -> None:
    """Refuse two runs that say nothing about each other."""
    profile, experiment = name.split("/", 1)
    for side, run in (("recorded", recorded.run), ("own", own.run)):
        found = f"{run.paper}/{run.experiment}"
        if found != experiment:
            raise ConfigError(f"The {side} run is of {found}, not of {experiment}; give the file of that experiment.")
    first, second = recorded.run.provenance, own.run.provenance
    if first.config_hash != second.config_hash:
        raise ConfigError(
            f"The two runs of {experiment} have other configurations ({_differing(first.config, second.config)}); "
            "run the notebook with the recorded parameters."
        )
    for side, run in (("recorded", recorded.run), ("own", own.run)):
        if run.profile != profile:
            raise ConfigError(
                f"The {side} run is of profile {run.profile}, not {profile}; name its own with --profile."
            )
    if first.started == second.started:
        raise ConfigError(
            f"This is the recorded run of {experiment} itself, nothing was run again; "
            f"make your own with `make run NOTEBOOK={experiment} PROFILE={profile}`."
        )


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {name: value}
    return {key: leaf for part in value for key, leaf in _flat(value[part], f"{name}.{part}" if name else part).items()}


def _differing(recorded: Mapping[str, Any], own: Mapping[str, Any], most: int = 4) -> str:
    first, second = _flat(recorded), _flat(own)
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    told = [f"{name}: recorded {first.get(name)}, own {second.get(name)}" for name in names[:most]]
    return "; ".join(told) + (f"; and {len(names) - most} more" if len(names) > most else "") or "by their hash"


# -- the comparison ----------------------------------------------------------------------------------------------------


def issue(name: str, recorded: Read, own: Read, *, issued: str | None = None) -> Certificate:
    """Compare two runs of the same experiment, profile and configuration.

    Args:
        name: ``<profile>/<paper>/<experiment>``.
        issued: date; None: now.

    Raises:
        ConfigError: the runs are of something else, of another configuration, or one and the same.
    """
    _refuse(name, recorded, own)
    first, second = recorded.run, own.run
    rows, others = _by_key(first.metrics), _by_key(second.metrics)
    reasons = _unmatched(rows, others)
    shared = [key for key in rows if key in others]
    compared = [
        _compare(metric, [key for key in shared if key[2] == metric], rows, others)
        for metric in dict.fromkeys(key[2] for key in shared)
    ]
    for one in compared:
        kind = "relative " if one.relative else ""
        if one.largest > one.tolerance:
            reasons.append(f"{one.metric} is {one.largest:.4f} off on {one.where}, {kind}tolerance {one.tolerance:g}")
        if one.largest_of_means > one.tolerance_of_means and one.tolerance_of_means < one.tolerance:
            reasons.append(
                f"the mean {one.metric} over seeds is {one.largest_of_means:.4f} off on {one.where_of_means}, "
                f"{kind}tolerance {one.tolerance_of_means:.2g}"
            )
    changed = _changed_verdicts(first, second)
    reasons += [f"{one.claim} was {one.recorded} and is {one.own}" for one in changed if one.required]
    differing = sorted(
        file
        for file in first.provenance.data.keys() | second.provenance.data.keys()
        if first.provenance.data.get(file) != second.provenance.data.get(file)
    )
    encoders = _trainings(second)
    made = Certificate(
        run=name,
        result="not certified" if reasons else "certified",
        reasons=reasons,
        issued=issued or datetime.now(UTC).isoformat(timespec="seconds"),
        config_hash=first.provenance.config_hash,
        encoders=len(encoders),
        trained_again=len(encoders - _trainings(first)),
        identical=not reasons and all(one.identical == one.rows for one in compared),
        compared=compared,
        verdicts=len(first.claims),
        verdicts_changed=changed,
        data_equal=not differing,
        data_differing=differing,
        recorded=_side(recorded),
        own=_side(own),
    )
    return made.model_copy(update={"sha256": signature(made.model_dump(mode="json"))})


def _trainings(run: Run) -> set[tuple[str, str]]:
    """Key and start of the training of each encoder that a run used."""
    return {(str(item["key"]), str(item.get("started"))) for item in run.extra.get("artifacts", []) if "key" in item}


Key = tuple[str, str, str, str, int | None]


def _by_key(metrics: Iterable[Metric]) -> dict[Key, Metric]:
    return {
        (row.method, row.dataset, row.metric, row.protocol, row.seed): row
        for row in metrics
        if row.metric not in TIMED_METRICS
    }


def _unmatched(rows: Mapping[Key, Metric], others: Mapping[Key, Metric]) -> list[str]:
    """Rows of one run alone, and rows over another number of items."""
    missing = [key for key in rows if key not in others]
    added = [key for key in others if key not in rows]
    resized = [key for key in rows if key in others and rows[key].n != others[key].n]
    told = (
        (missing, "are missing from the own run"),
        (added, "are in the own run alone"),
        (resized, "are over another number of items"),
    )
    return [f"{len(keys)} numbers {what}, such as {_place(keys[0])}" for keys, what in told if keys]


def _place(key: Key) -> str:
    method, dataset, metric, _, seed = key
    return f"{method}, {dataset}, {metric}" + (f", seed {seed}" if seed is not None else "")


def _compare(metric: str, keys: list[Key], rows: Mapping[Key, Metric], others: Mapping[Key, Metric]) -> Compared:
    allowed = tolerance(metric)

    def off(recorded: float, own: float) -> float:
        gap = abs(own - recorded)
        return gap / max(abs(recorded), 1e-12) if allowed.relative else gap

    each = {key: off(rows[key].value, others[key].value) for key in keys}
    worst = max(each, key=lambda key: each[key])
    cells: dict[Key, list[Key]] = {}
    for key in keys:
        cells.setdefault((*key[:4], None), []).append(key)
    means = {
        cell: off(*(float(np.mean([side[key].value for key in members])) for side in (rows, others)))
        for cell, members in cells.items()
    }
    # The cell that comes closest to its tolerance, or passes it most: cells may have other numbers of seeds.
    worst_mean = max(means, key=lambda cell: means[cell] * np.sqrt(len(cells[cell])))
    return Compared(
        metric=metric,
        rows=len(keys),
        identical=sum(rows[key].value == others[key].value for key in keys),
        largest=each[worst],
        where=_place(worst) if each[worst] else "",
        largest_of_means=means[worst_mean],
        where_of_means=_place(worst_mean) if means[worst_mean] else "",
        tolerance=allowed.value,
        tolerance_of_means=allowed.value / float(np.sqrt(len(cells[worst_mean]))),
        relative=allowed.relative,
    )


def _changed_verdicts(recorded: Run, own: Run) -> list[VerdictChange]:
    first, second = ({claim.id: claim.verdict for claim in run.claims} for run in (recorded, own))
    return [
        VerdictChange(
            claim=claim,
            recorded=first.get(claim, "not judged"),
            own=second.get(claim, "not judged"),
            required=claim not in TIMED_CLAIMS,
        )
        for claim in sorted(first.keys() | second.keys())
        if first.get(claim) != second.get(claim)
    ]


def _side(read: Read) -> Side:
    provenance = read.run.provenance
    return Side(
        file=hashlib.sha256(read.content).hexdigest(),
        commit=provenance.git_commit,
        started=provenance.started,
        device=provenance.device,
        python=provenance.python,
        packages=provenance.packages,
    )


# -- the hash ----------------------------------------------------------------------------------------------------------


def signature(certificate: Mapping[str, Any]) -> str:
    """SHA-256 over all fields but ``sha256`` itself, as JSON with sorted keys and no spaces, in UTF-8."""
    rest = {name: value for name, value in certificate.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def verify(path: Path) -> Certificate:
    """The certificate in a file, its hash recomputed.

    Raises:
        DataError: no certificate, or one that was changed after it was issued.
    """
    try:
        # The fields as they stand in the file: a model would put a missing one back in.
        fields = json.loads(path.read_bytes())
        found = Certificate.model_validate(fields)
        intact = found.sha256 == signature(fields)
    except OSError as error:
        raise DataError(f"{path} could not be read ({error.strerror or error}); give a certificate's file.") from error
    except ValueError as error:
        raise DataError(f"{path} is not a certificate; give the JSON file that `sentbook certify` wrote.") from error
    if not intact:
        raise DataError(f"{path} was changed after it was issued: its hash is another; ask for the original.")
    return found


def write(certificate: Certificate, folder: Path) -> tuple[Path, Path]:
    """Write the certificate and its badge: ``<paper>-<experiment>-<profile>.json`` and ``.svg``.

    Raises:
        StorageError: no space or a read-only folder.
    """
    profile, paper, experiment = certificate.run.rsplit("/", 2)
    stem = f"{paper}-{experiment}-{profile}"
    paths = folder / f"{stem}.json", folder / f"{stem}.svg"
    write_atomically(paths[0], ledger.dumped(certificate))
    write_atomically(paths[1], badge(certificate))
    return paths


# -- the badge ---------------------------------------------------------------------------------------------------------

_GOOD, _BAD, _GROUND = "#0a6b3d", "#b3261e", "#343b42"


def summary(certificate: Certificate) -> str:
    """The result in a few words.

    Example:
        >>> told = {"result": "certified", "identical": True, "compared": [], "encoders": 10}
        >>> summary(Certificate.model_construct(**told, trained_again=10))
        'reproduced bit for bit'
        >>> summary(Certificate.model_construct(**told, trained_again=0))
        'evaluated again, bit for bit'
    """
    if certificate.result != "certified":
        return "not reproduced"
    done = "reproduced" if certificate.trained_again == certificate.encoders else "evaluated again,"
    if certificate.identical:
        return f"{done} bit for bit"
    widest = sorted({f"{one.tolerance:g}".removeprefix("0") for one in certificate.compared if not one.relative})
    return f"{done} within {' and '.join(widest) or '1 %'}"


def badge(certificate: Certificate) -> str:
    """A small SVG that needs nothing from outside; its title says all to a reader of screens."""
    label, words = f"sentbook {certificate.run.split('/', 1)[1]}", summary(certificate)
    left, right = (round(6.2 * len(text)) + 16 for text in (label, words))
    colour = _GOOD if certificate.result == "certified" else _BAD
    title = f"{label}: {words}, profile {certificate.run.split('/', 1)[0]}, {certificate.issued[:10]}"

    def text(content: str, start: int, width: int) -> str:
        middle = start + width / 2
        return f'<text x="{middle:g}" y="14" textLength="{width - 16}" lengthAdjust="spacingAndGlyphs">{content}</text>'

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" '
        f'viewBox="0 0 {left + right} 20" role="img" aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left + right}" height="20" rx="3" fill="{colour}"/>'
        f'<rect width="{left}" height="20" rx="3" fill="{_GROUND}"/>'
        f'<rect x="{left - 3}" width="3" height="20" fill="{_GROUND}"/>'
        f'<g fill="#ffffff" font-family="DejaVu Sans, Verdana, sans-serif" font-size="11" text-anchor="middle">'
        f"{text(label, 0, left)}{text(words, left, right)}</g></svg>\n"
    )
