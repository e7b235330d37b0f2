"""Typed, strict configuration. A run's key is the hash of its configuration.

Defaults are the papers' values; `params/<paper>/<profile>.yaml` holds only what differs; a notebook's parameters cell
or the command line may change more. Whatever is unknown, misspelt, wrongly typed or out of range stops the run with
one sentence. YAML's ``1e-3`` is a string for YAML 1.1: the types here make it a number.
"""

import hashlib
import importlib
import json
import os
import reprlib
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

from sentbook.io import ConfigError, parse_yaml, root

Profile = Literal["demo", "small", "paper"]
PROFILES: tuple[Profile, ...] = ("demo", "small", "paper")
Rate = Annotated[float, Field(gt=0, le=10)]
Share = Annotated[float, Field(ge=0, lt=1)]
Coefficient = Annotated[float, Field(ge=0)]


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) != len(seeds):
        raise ValueError("holds a seed twice")
    return seeds


Seeds = Annotated[tuple[Annotated[int, Field(ge=0, lt=2**63)], ...], Field(min_length=1), AfterValidator(_distinct)]


def _there(path: str) -> str:
    if path and not (place := Path(path).expanduser().absolute()).exists():
        raise ValueError(f"there is no {place}; correct the path")
    return path


OwnPath = Annotated[str, AfterValidator(_there)]  # of a user's own file or folder
TrainingShare = Annotated[float, Field(gt=0, le=1, description="of the training pairs, drawn by the seed")]


def _holds_truth(given: Any, made: Any) -> bool:
    """Tell whether a truth value was given, alone or in a list, set or mapping, and made a number."""
    if isinstance(given, Mapping) and isinstance(made, Mapping):
        given, made = given.values(), made.values()
    elif not isinstance(given, list | tuple | set) or not isinstance(made, tuple):
        return type(given).__name__.rstrip("_") == "bool" and not isinstance(made, bool)
    return any(map(_holds_truth, given, made))


class Section(BaseModel):
    """Base of all configuration: frozen, no unknown names, and no ``true`` where a number is asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="wrap")
    @classmethod
    def _truth_is_no_number(cls, value: Any, read: Callable[[Any], Any]) -> Any:
        if _holds_truth(value, found := read(value)):
            raise ValueError("true and false (yes, no, on, off) are no value of it")
        return found

    def changed(self, **changes: Any) -> Self:
        """Copy with some values changed, as ``settings.cse.changed(activation="tanh")``.

        Raises:
            ConfigError: the first fault, as `parse`.
        """
        return parse(type(self), {**dict(self), **changes}, type(self).__name__)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show in a notebook what was set, and next to it what the paper has, which is the default."""
        own = {name: type(self).model_fields[name].default for name in self.model_dump(exclude_defaults=True)}
        lines = [f"  {name} = {getattr(self, name)!r}  (default: {default!r})" for name, default in own.items()]
        printer.text("\n".join([f"{type(self).__name__}: {'set here' if own else 'as the paper has it'}", *lines]))


AnyConfig = TypeVar("AnyConfig", bound=BaseModel)


def digest(value: BaseModel | Mapping[str, Any] | list[Any]) -> str:
    """Hash to 16 hexadecimal digits of the SHA-256 of the canonical JSON."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


def parse(model: type[AnyConfig], values: Mapping[str, Any], where: str = "") -> AnyConfig:
    """Check ``values`` and make them a ``model``.

    Raises:
        ConfigError: the first fault.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        fault = error.errors()[0]
        name, place = ".".join(map(str, fault["loc"])), f" in {where}" if where else ""
        if fault["type"] == "extra_forbidden":
            raise ConfigError(f"Unknown parameter '{name}'{place}; see params/ for those there are.") from None
        # A section as a whole would be repeated at length.
        got = "" if isinstance(fault["input"], Mapping) else f" (got {reprlib.repr(fault['input'])})"
        as_text = isinstance(fault["input"], str) and fault["type"] in ("tuple_type", "dict_type", "model_type")
        hint = f"; papermill passes such values by -y '{fault['loc'][0]}: ...', not by -p" if as_text else ""
        said = fault["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list, such as [1, 2]")
        raise ConfigError(f"Parameter '{name}'{place}: {said}{got}{hint}.") from None


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Lay ``changes`` over ``base``, section by section; a list replaces a list."""
    result = dict(base)
    for name, value in changes.items():
        nested = isinstance(value, Mapping) and isinstance(result.get(name), Mapping)
        result[name] = merge(result[name], value) if nested else value
    return result


def _flat(parameters: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Lay single settings over ``settings``; None is left out.

    Raises:
        ConfigError: ``settings`` is no mapping, or holds what is a parameter of its own.
    """
    settings = parameters.get("settings") or {}
    if not isinstance(settings, Mapping) or {"profile", "seeds"} & settings.keys():
        raise ConfigError(
            f"'settings' in {where} is no mapping (by papermill: -y 'settings: ...') or holds profile or seeds."
        )
    return merge(settings, {name: one for name, one in parameters.items() if name != "settings" and one is not None})


def profile_values(paper: str, profile: str) -> dict[str, Any]:
    """Read ``params/<paper>/<profile>.yaml``: its profile, seeds and settings, by their names in ``Settings``.

    Over profile ``paper`` lies ``substitutes.yaml``, the data of this book, where ``SENTBOOK_ORIGINALS`` is ``none``.

    Raises:
        ConfigError: there is no such profile, or a file is none of parameters.
    """
    names = [profile, *["substitutes"] * (profile == "paper" and os.environ.get("SENTBOOK_ORIGINALS") == "none")]
    files = [file for name in names if (file := root() / "params" / paper / f"{name}.yaml").is_file()]
    if profile not in PROFILES or not files:
        way = f"write params/{paper}/{profile}.yaml" if profile in PROFILES else f"choose one of {', '.join(PROFILES)}"
        raise ConfigError(f"There is no profile '{profile}' of {paper}; {way}.")
    return reduce(merge, [_flat(read_yaml(file), str(file.relative_to(root()))) for file in files])


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping.

    Raises:
        ConfigError: the file does not exist, is not YAML, or is no mapping.
    """
    try:
        return dict(parse_yaml(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise ConfigError(f"{path} is no mapping of names to values ({why}); mend or replace it.") from None


def papers() -> list[str]:
    """List the folders of the papers, as `load` takes them."""
    return sorted(file.parent.name for file in (Path(__file__).parent / "papers").glob("*/settings.py"))


def load(paper: str, changes: Mapping[str, Any]) -> Any:
    """Read the configuration of a run: typed defaults, then the profile's file, then ``changes``.

    Args:
        paper: one of `papers`.
        changes: the parameters of a notebook by name: ``profile``, ``seeds`` of all rows, ``settings``, and single
            settings, which go over ``settings``. None and empty sections mean "as the profile has it".

    Returns:
        The paper's ``Settings``.

    Raises:
        ConfigError: unknown paper or profile, or the first faulty parameter.
    """
    if paper not in papers():
        raise ConfigError(f"Unknown paper '{paper}'; choose one of {', '.join(papers())}.")
    # By name, since nothing below the papers imports one of them.
    settings = importlib.import_module(f"{__package__}.papers.{paper}.settings").Settings
    profile = str(changes.get("profile") or "demo")
    where = f"{paper}, profile {profile}"
    # A section that is given in part keeps the paper's other values, not those of the section's class.
    own = _flat(changes, where)
    if "seeds" in own:  # of every row, but for seeds that are set by their own name
        own = {name: own["seeds"] for name in settings.model_fields if name.endswith("_seeds")} | own
    parts = [settings().model_dump(), profile_values(paper, profile), own]
    return parse(settings, reduce(merge, parts), where)


def kind_of(paper: str, settings: Any) -> str:
    """Return the profile whose file holds these settings, or ``custom/<hash>``: the folder of their runs.

    The device and the trainings side by side decide no number.
    """
    same = load(paper, {name: getattr(settings, name) for name in ("profile", "device", "jobs")})
    return str(settings.profile) if digest(same) == digest(settings) else f"custom/{digest(settings)}"
