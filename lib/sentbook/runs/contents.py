"""Which notebooks there are, and which of them the book's table of contents lists."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sentbook.config import Section, sections
from sentbook.io import ConfigError, originals, root
from sentbook.runs.execute import NotebookError


def notebook(name: str) -> Path:
    """Find the file of ``cse/table1``, also where the folder or the ending of its name is given.

    Raises:
        ConfigError: no such notebook.
    """
    folder = root() / "notebooks"
    known = {str(path.relative_to(folder).with_suffix("")): path for path in sorted(folder.glob("*/*.ipynb"))}
    short = name.removesuffix(".ipynb").removeprefix("notebooks/")
    if short not in known:
        raise ConfigError(f"There is no notebook '{name}'; choose one of {', '.join(known)}.")
    return known[short]


def is_lesson(source: Path) -> bool:
    """Tell whether a notebook has parameters of its own, and so no profile, no run on record and no claim.

    It shows how a model works, on the mini-world, whichever profile the book is of.
    """
    parameters = _parameters(source)
    return bool(parameters) and "profile" not in parameters


def check_lesson(source: Path, changes: Mapping[str, Any]) -> None:
    """Check that a lesson has the parameters ``changes``, and that their values are text, numbers, lists or mappings.

    Raises:
        ConfigError: it has not; its own are named.
    """
    known = _parameters(source)
    for name, value in changes.items():
        if name not in known:
            raise ConfigError(f"{source.parent.name}/{source.stem} has no '{name}'; choose one of {', '.join(known)}.")
        try:
            json.dumps(value, sort_keys=True)
        except TypeError:
            raise ConfigError(f"'{name}' holds a value that is no text, number or list; quote what is text.") from None


def check_originals(source: Path, settings: Section) -> None:
    """Look for the originals that a notebook's own parameters name; what is there is not read.

    One that lists encoders and no vectors needs some of its paper's.

    Raises:
        ConfigError, DataError: one is not there.
    """
    from sentbook.data.vectors import Vectors  # whose imports a plan of the batch need not wait for
    from sentbook.models.base import EncoderOptions

    given, names = dict(settings), _parameters(source)
    listed = list(sections({name: given[name] for name in names if name in given}))
    known = [part for part in given.values() if isinstance(part, Vectors)]
    has_vectors = any(isinstance(part, Vectors) or hasattr(part, "vectors") for part in listed)
    if not has_vectors and any(isinstance(part, EncoderOptions) for part in listed) and all(map(_is_missed, known)):
        listed += known[:1]
    for part in filter(_is_missed, listed):
        part.check()


def _is_missed(part: Section) -> bool:
    """Tell whether an original that a section names is not there."""
    from sentbook.data.readers.published import FILES
    from sentbook.data.sources import original
    from sentbook.data.vectors import Vectors, available

    vectors = [part.name] if isinstance(part, Vectors) else getattr(part, "vectors", ())
    texts = part.texts() if hasattr(part, "texts") else ()
    if (folder := getattr(part, "corpus", "")) in ("bookcorpus", "coco") and not getattr(part, "path", ""):
        return not (originals() / folder).is_dir()
    files = [original(*names) for text in texts for names in FILES.get(text, ())]
    return None in files or (len(vectors) > 0 and not any(map(available, vectors)))


def _parameters(source: Path) -> list[str]:
    """List what the parameters cell of a notebook assigns.

    Raises:
        NotebookError: it is cut short, or no notebook.
    """
    name = source.relative_to(root())
    try:
        cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
        tagged = ["".join(cell["source"]) for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
        lines = ast.parse("\n".join(tagged)).body
    except SyntaxError as error:
        raise NotebookError(f"The parameters of {name} are no Python ({error}); write assignments alone.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise NotebookError(f"{name} is no whole notebook ({error}); restore it by `git checkout {name}`.") from None
    targets = [target for line in lines if isinstance(line, ast.Assign) for target in line.targets]
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def notebooks() -> list[Path]:
    """Every notebook that the table of contents lists, in its order.

    Raises:
        NotebookError: the table of contents names one that does not exist.
    """
    pages = listed("book/_executed")
    found = [root() / "notebooks" / f"{page.removeprefix('book/_executed/')}.ipynb" for page in pages]
    for path in found:
        if not path.is_file():
            raise NotebookError(f"_toc.yml lists {path.stem}, but {path} does not exist; write it or take it out.")
    return found


def listed(folder: str) -> list[str]:
    """The files of the table of contents under ``folder``, in its order.

    Example:
        >>> listed("book/_runs")[0]
        'book/_runs/cse/table1'
    """
    files = re.findall(r"^[\s-]*file: *(\S+)$", (root() / "_toc.yml").read_text(encoding="utf-8"), re.MULTILINE)
    return [file for file in files if file.startswith(f"{folder}/")]
