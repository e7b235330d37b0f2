"""The reference of the package in the book: a page a room, from docstrings, which are Markdown in Google's sections.

The sources are read by griffe, never imported. A module is a section, a public name a line that opens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from textwrap import dedent

import griffe

from sentbook.io import root, write_atomically
from sentbook.runs.contents import listed

FOLDER = "book/_api"
# What a signature or a line of a value has room for.
_WIDTH = 100
# Sections that Google's style does not know: they begin a paragraph.
_NAMED = re.compile(r"^(Source|Deviations|Shapes|Assumptions|Cost|Equation):", re.MULTILINE)
_HEADS = {"parameters": "Args"}


def write() -> None:
    """Write the pages that the table of contents lists, and take away others."""
    kept = {root() / f"{page}.md": page.removeprefix(f"{FOLDER}/") for page in listed(FOLDER)}
    for path, room in kept.items():
        text = _page(room)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)
    for path in (root() / FOLDER).glob("*.md"):
        if path not in kept:
            path.unlink()


def rooms() -> list[str]:
    """Name every page that there is to list: each folder of the package, and the modules beside them, papers apart."""
    return [room for room in _contents() if room.partition(".")[0] not in ("cli", "papers")]


# -- what there is -----------------------------------------------------------------------------------------------------


@cache
def _package() -> griffe.Module:
    return griffe.load("sentbook", search_paths=[root() / "lib"], allow_inspection=False)  # type: ignore[return-value]


@cache
def _contents() -> dict[str, list[griffe.Module]]:
    """Page to its modules: those of a folder, or one that stands alone."""
    found: dict[str, list[griffe.Module]] = {}

    def walk(folder: griffe.Module) -> None:
        for name, module in sorted(folder.modules.items()):
            if module.is_init_module:
                found[_name(module)] = [module]
                walk(module)
            elif not name.startswith("_"):
                found.setdefault(_name(folder) or name, []).append(module)

    walk(_package())
    return found


def _name(thing: griffe.Object) -> str:
    """A path without the package's own name."""
    return thing.path.partition(".")[2]


def _public(holder: griffe.Object, *kinds: str) -> list[griffe.Object]:
    return [
        member for member in holder.members.values()
        if isinstance(member, griffe.Object) and not member.name.startswith("_") and member.kind.value in kinds
    ]  # fmt: skip


def _target(thing: griffe.Object) -> str:
    """Its path; a class's apart, since anchors know no capitals: `Dial` stands beside `dial`."""
    return f"{thing.path}-class" if thing.is_class else thing.path


@cache
def _anchors() -> dict[str, str]:
    """Every path that a docstring may name, to the anchor that tells of it."""
    found: dict[str, str] = {}
    short: dict[str, list[str]] = {}
    for room in rooms():
        for module in _contents()[room]:
            found[module.path] = module.path
            for thing in _public(module, "class", "function"):
                found[thing.path] = _target(thing)
                # A room hands on what its modules hold: `sentbook.models.CSE`.
                short.setdefault(f"sentbook.{room}.{thing.name}", []).append(found[thing.path])
    return {name: ones[0] for name, ones in short.items() if len(ones) == 1} | found


# -- a page ------------------------------------------------------------------------------------------------------------


def _page(room: str) -> str:
    modules = _contents()[room]
    parts = [f"({modules[0].path})=\n# {modules[0].path}\n"] if len(modules) > 1 else []
    for module in modules:
        head = "#" if len(modules) == 1 else "##"
        if module.is_init_module:
            parts.append(_text(module) + "\n")
            continue
        parts.append(f"({module.path})=\n{head} {module.name if head == '##' else module.path}\n\n{_text(module)}\n")
        for thing in _public(module, "class", "function"):
            parts.append(_folded(thing, alone=head == "#"))
    return "\n".join(parts)


def _folded(thing: griffe.Object, *, alone: bool) -> str:
    """A name with its first sentence; below it the signature, the docstring and a class's methods.

    Args:
        alone: whether its module is the whole page, on which nothing is folded.
    """
    first = _text(thing).partition("\n\n")[0].replace("\n", " ")
    members = "\n".join(_member(member) for member in _members(thing))
    body = f"({_target(thing)})=\n{_code(_signature(thing))}\n\n{_text(thing)}\n{members}"
    opened = ":open:\n" if alone else ""
    return f":::::{{dropdown}} `{thing.name}` {first}\n:class-container: sb-api\n{opened}\n{body}\n:::::\n"


def _members(thing: griffe.Object) -> list[griffe.Object]:
    """Give a class's methods and properties."""
    methods = _public(thing, "function") if thing.is_class else []
    return methods + [one for one in _public(thing, "attribute") if "property" in one.labels]


def _member(member: griffe.Object) -> str:
    return f"::::{{container}} sb-api-member\n{_code(_signature(member))}\n\n{_text(member)}\n::::\n"


def _signature(thing: griffe.Object) -> str:
    """The head of a definition with its types, a parameter a line where it is long; the fields of a class of fields."""
    if isinstance(thing, griffe.Attribute):
        return f"{thing.name}: {thing.annotation}"
    head = thing.signature()  # type: ignore[attr-defined]
    if len(head) > _WIDTH and thing.parameters:  # type: ignore[attr-defined]
        begin, _, rest = head.partition("(")
        inside, _, end = rest.rpartition(")")
        inside = re.sub(r", (?=\*{0,2}[A-Za-z_]\w*: |[*/], )", ",\n    ", inside)
        head = f"{begin}(\n    {inside},\n){end}"
    if not isinstance(thing, griffe.Class):
        return f"def {head}"
    fields = [one for one in _public(thing, "attribute") if one.annotation and "property" not in one.labels]  # type: ignore[attr-defined]
    lines = [f"    {one.name}: {one.annotation}" + (f" = {one.value}" if one.value else "") for one in fields]  # type: ignore[attr-defined]
    bases = ", ".join(map(str, thing.bases))
    if "__init__" in thing.members:
        return f"class {head}" + (f"  # {bases}" if bases else "")
    return "\n".join([(f"class {thing.name}({bases})" if bases else f"class {thing.name}") + ":" * bool(lines), *lines])


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


# -- a docstring -------------------------------------------------------------------------------------------------------


def _text(thing: griffe.Object) -> str:
    """A docstring as MyST: its sections as lists, its doctests as code, names of the package as links."""
    if thing.docstring is None:
        return ""
    sections = griffe.parse_google(
        thing.docstring, warnings=False, returns_named_value=False, returns_multiple_items=False
    )
    return _linked("\n\n".join(part for section in sections for part in _section(section))).strip()


def _section(section: griffe.DocstringSection) -> Iterator[str]:
    kind = section.kind.value
    if kind == "text":
        yield _fenced(_NAMED.sub(r"\n**\1.**", section.value))
    elif kind == "admonition":
        yield f"**{section.title}**"
        yield _fenced(dedent(section.value.description))
    else:
        yield f"**{_HEADS.get(kind, kind.capitalize())}**"
        for item in section.value:
            named = [f"`{part}`" for part in (getattr(item, "name", ""), item.annotation) if part]
            said = item.description.replace("\n", "\n  ")
            yield (" : ".join(named) + f"\n: {said}") if named else said


def _fenced(text: str) -> str:
    """Put lines of a doctest, up to an empty one, into a block of code."""
    blocks = re.split(r"\n\s*\n", text)
    return "\n\n".join(f"```pycon\n{dedent(one)}\n```" if one.lstrip().startswith(">>>") else one for one in blocks)


def _linked(text: str) -> str:
    """Let a name of the package in backticks lead to its place."""

    def link(found: re.Match[str]) -> str:
        to = _anchors().get(found[1])
        return f"[`{found[1].removeprefix('sentbook.')}`](#{to})" if to else found[0]

    return re.sub(r"(?<!`)`(sentbook\.[\w.]+)`(?!`)", link, text)
