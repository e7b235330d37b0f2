"""What may not be read is one sentence, whichever command meets it; root has to give up its rights for that."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# Drops CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (1, 2) by PR_CAPBSET_DROP (24), which another user has not.
WITHOUT_ROOTS_RIGHTS = """
import ctypes, os, sys
for right in (1, 2):
    ctypes.CDLL(None).prctl(24, right, 0, 0, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def called(*command: str) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-c", WITHOUT_ROOTS_RIGHTS, *command]
    return subprocess.run(given, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("locked", "command"),
    [
        ("mirror/eval", "data check eval/sick2014"),
        ("mirror/eval/sick2014/SICK_trial.txt", "data check eval/sick2014"),
        ("artifacts", "artifacts"),
        ("artifacts/0123456789abcdef", "artifacts"),
        ("results/small/cse", "verdicts --profile small"),
        ("results/small/cse/table1.json", "verdicts --profile small"),
        ("build/batch/lock", "batch notebooks"),
        ("params/toy/demo.yaml", "batch notebooks"),
        ("notebooks/toy/one.ipynb", "run toy/one --no-page"),
        pytest.param("secret", "run toy/one --no-page", marks=pytest.mark.slow),
    ],
)
def test_what_may_not_be_read_is_one_sentence(
    checkout: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, locked: str, command: str
) -> None:
    for name, folder in (("DATA", "mirror"), ("ARTIFACTS", "artifacts"), ("ORIGINALS", "none"), ("CACHE", "none")):
        monkeypatch.setenv(f"SENTBOOK_{name}", str(checkout / folder))
    (checkout / "mirror").mkdir()
    write("one", f"open({str(checkout / 'secret')!r})")
    place = checkout / locked
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.suffix or place.name in ("lock", "secret"):
        place.touch()
    else:
        place.mkdir()
        (place / "table1.json").touch()
    place.chmod(0)
    try:
        if called("ls" if place.is_dir() else "cat", str(place)).returncode == 0:
            pytest.skip("this user reads what it may not, and cannot give that up")
        done = called(sys.executable, "-m", "sentbook.cli", *command.split())
    finally:
        place.chmod(0o700)
    said = done.stdout + done.stderr
    assert done.returncode in (2, 3, 5) and "Traceback" not in said
    [sentence] = [line for line in done.stderr.splitlines() if line.startswith("sentbook: ")]
    assert sentence.endswith(".") and str(place) in done.stderr
