"""The batch: one at a time in a checkout, brought to cores or a cluster by Snakemake, told of job by job.

After a ``kill -9`` the same command goes on: what the dead batch began is ended first, jobs that ended well keep their
stamps, and trainings go on from their checkpoints.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sentbook.runs.batch import planning, stamps, summaries
from sentbook.runs.batch.planning import Step
from sentbook.runs.batch.screens import Screen
from sentbook.runs.batch.stamps import BatchError
from sentbook.runs.batch.summaries import Row
from sentbook.runs.execution import stoppable, tail
from sentbook.system.files import folder as make_folder
from sentbook.system.paths import artifacts, root

# Seconds between two looks at the jobs.
_LOOK = 0.5


def run(
    profile: str,
    jobs: int,
    *,
    targets: Sequence[str] = (),
    resources: Sequence[str] = (),
    cluster: str | None = None,
    dry_run: bool = False,
) -> list[Row]:
    """Do what is to be done, and tell of it; a row a job.

    Args:
        jobs: processor cores to use; with a cluster, jobs handed over at once.
        targets: see `planning.plan`.
        resources: Snakemake's, e.g. ``gpu=1``.
        cluster: a folder of ``workflow/profiles``, e.g. ``slurm``.
        dry_run: list the jobs and why, and do nothing.

    Raises:
        BatchError: another batch is at work, jobs failed, or Snakemake did.
        ConfigError, NotebookError: see `planning.plan`.
    """
    if dry_run:
        return _listed(profile, jobs, targets, resources, cluster)
    with _alone() as name, stoppable():
        steps = planning.plan(profile, targets)
        due = planning.due(steps)
        place = stamps.folder(profile)
        screen = Screen(steps, due, jobs, place.with_name(f"{profile}.log"))
        failure = ""
        with screen:
            if due:
                planning.write(steps, place / planning.PLAN)
                command = _command(profile, jobs, place / planning.PLAN, due, resources, cluster)
                failure = _watched(command, _environment(name, jobs, cluster), screen, place / "snakemake.log")
        rows = [summaries.row(step.job, {one.job for one in due}, name) for step in steps]
        summaries.write(rows, place.with_name(f"{profile}-summary.json"))
        screen.table(rows)
        bad = [row for row in rows if row.state in ("failed", "not begun")]
        if bad:
            failed = sum(row.state == "failed" for row in bad)
            begun = f", {len(bad) - failed} that need them or stood behind were not begun" if len(bad) > failed else ""
            raise BatchError(
                f"{failed} of {len(due)} jobs failed{begun}; mend what is shown above and run the same command again."
                if failed
                else f"Snakemake stopped before any job failed:\n{failure}"
            )
        return rows


def _listed(
    profile: str, jobs: int, targets: Sequence[str], resources: Sequence[str], cluster: str | None
) -> list[Row]:
    steps = planning.plan(profile, targets)
    due = planning.due(steps)
    for step in due:
        why = list(step.reasons) or ["what it shows is made again"]
        more = f" and {len(why) - 3} more" if len(why) > 3 else ""
        print(f"{step.job}: {', '.join(why[:3])}{more}")
    print(f"{len(due)} of {len(steps)} jobs are to be done.", flush=True)
    if due:
        plan = stamps.folder(profile) / "plan.dry.json"
        planning.write(steps, plan)
        command = [*_command(profile, jobs, plan, due, resources, cluster), "--dry-run", "--printshellcmds"]
        done = subprocess.run(command, check=False, cwd=root(), env=_environment(stamps.here(), jobs, cluster))
        if done.returncode:
            raise BatchError("Snakemake cannot plan the jobs; its message stands above.")
    return [Row(step.job, "not begun" if step in due else "not needed", step.expected(), None) for step in steps]


# -- one at a time -----------------------------------------------------------------------------------------------------


@contextmanager
def _alone() -> Iterator[str]:
    """Hold the checkout; this batch's name. What a batch that was killed has left running is ended first.

    Raises:
        BatchError: another batch is at work.
    """
    path = make_folder(root() / "build" / "batch") / "lock"
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BatchError(
                f"Another batch is at work in this checkout (see {path}); wait for its end, or stop it first."
            ) from None
        file.seek(0)
        before = file.read().strip()
        if before and not stamps.alive(before):
            stamps.sweep(before)
        name = stamps.here()
        file.truncate(0)
        file.write(name + "\n")
        file.flush()
        try:
            yield name
        finally:
            stamps.sweep(name)


# -- Snakemake ---------------------------------------------------------------------------------------------------------


def _command(
    profile: str, jobs: int, plan: Path, due: Sequence[Step], resources: Sequence[str], cluster: str | None
) -> list[str]:
    if cluster is None and profile == "paper" and not any(one.startswith("gpu=") for one in resources):
        resources = (*resources, "gpu=1")
    stamps = [_stamp(step) for step in due]
    longest = sorted(due, key=lambda step: -(step.expected() or 0.0))
    where = ["--cores", str(jobs)] if cluster is None else ["--workflow-profile", f"workflow/profiles/{cluster}"]
    return [
        sys.executable, "-m", "snakemake", *stamps, "--snakefile", "Snakefile", *where,
        *(["--jobs", str(jobs)] if cluster is not None else []),
        "--config", f"profile={profile}", f"plan={plan}",
        # The plan has decided: all of it is done, times of files decide nothing, and the lock is the batch's own.
        "--forcerun", *stamps, "--rerun-triggers", "mtime", "--rerun-incomplete", "--nolock", "--keep-going",
        "--scheduler", "greedy", "--nocolor",
        # The longest first, so that none is left alone at the end.
        "--prioritize", *(_stamp(step) for step in longest[: len(due) // 4 + 1]),
        *(["--resources", *resources] if resources else []),
    ]  # fmt: skip


def _stamp(step: Step) -> str:
    return step.job.stamp.relative_to(root()).as_posix()


def _environment(name: str, jobs: int, cluster: str | None) -> dict[str, str]:
    """That of the jobs: this environment's commands first, one thread for each of several notebooks side by side."""
    own = Path(sys.executable).parent
    made = {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ.get('PATH', '')}", stamps.BATCH: name}
    # A pod is told all of them, and has to be told something.
    for variable, value in (("SENTBOOK_ROOT", root()), ("SENTBOOK_ARTIFACTS", artifacts()), ("SENTBOOK_DATA", "")):
        made.setdefault(variable, str(value))
    if jobs > 1 and cluster is None:
        made.setdefault("OMP_NUM_THREADS", "1")
    return made


def _watched(command: Sequence[str], environment: dict[str, str], screen: Screen, log: Path) -> str:
    """Run Snakemake to its end, and tell of the jobs meanwhile; the end of what it said."""
    name = environment[stamps.BATCH]
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, cwd=root(), env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            while process.poll() is None:
                screen.look(name)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK)
        except KeyboardInterrupt:
            screen.say("stopping")
            raise
        finally:
            # Where it was stopped, or killed, jobs may be at work still.
            stamps.sweep(name)
            process.wait()
    screen.look(name)
    return tail(log.read_text(encoding="utf-8", errors="replace"), 15)
