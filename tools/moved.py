"""Make .venv name the folder that it is in, after the checkout was copied or moved: .venv/bin/python tools/moved.py

venv and pip write absolute paths: into the first line of each script, into ``activate``, and for the package itself. In
a copy they would run and change the original. ``make`` calls this first; it changes nothing where all is right.
"""

import os
import re
import sys
from pathlib import Path


def move(venv: Path) -> int:
    """Put the folder of ``venv`` in place of the one where it was made; return how many files have changed."""
    made = re.search(r"^command = .* -m venv (?:--\S+ )*(/.*)/[^/]+$", (venv / "pyvenv.cfg").read_text(), re.MULTILINE)
    old, new = os.fsencode(made[1] if made else venv.parent), os.fsencode(venv.parent)
    if old == new or venv.is_symlink():  # a link: somebody else's
        return 0
    named = re.compile(rb"(?<![\w.-])" + re.escape(old) + rb"(?![\w.-])")
    packages = [*venv.glob("lib/python*/site-packages/*.pth"), *venv.glob("lib/python*/site-packages/__editable__*")]
    packages += venv.glob("lib/python*/site-packages/sentbook-*/*")
    changed = 0
    for file in [*venv.glob("bin/*"), *packages, venv / "pyvenv.cfg"]:
        if file.is_symlink() or not file.is_file():
            continue
        before = file.read_bytes()
        after = named.sub(lambda _: new, before)
        first, _, rest = after.partition(b"\n")
        if after != before and first.startswith(b"#!/") and (b" " in new or len(first) > 127):  # as pip writes it
            after = b"#!/bin/sh\n'''exec' \"" + first[2:] + b'" "$0" "$@"\n\' \'\'\'\n' + rest
        if after != before:
            other = file.with_name(f".{file.name}.moved")  # not in place: a copy may be of links to the same file
            other.write_bytes(after)
            other.chmod(file.stat().st_mode)
            other.replace(file)
            changed += 1
    return changed


if __name__ == "__main__":
    if count := move(Path(sys.prefix)):
        print(f"This checkout was copied or moved: {count} files of .venv now name {Path(sys.prefix).parent}.")
