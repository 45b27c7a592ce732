"""What a plug-in is: the names that it brings, and where to find what each stands for. This module is stable.

A feature of ours is a folder below `upskill` with a `plugin.py` that holds its value, and a line in `BUILT_IN`. A
package of yours names the same value under the entry point group `upskill`. What a name stands for is imported when it
is used. Knows no feature: it only loads their values.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

from upskill.errors import UsageError

GROUP = "upskill"
"""The entry point group of a package that is no part of upskill."""
BUILT_IN = (
    "upskill.evaluation",
    "upskill.generation",
    "upskill.trigger",
    "upskill.together",
    "upskill.drift",
    "upskill.slim",
    "upskill.sweep",
    "upskill.lint",
    "upskill.share",
    "upskill.traces",
    "upskill.mining",
    "upskill.agents",
    "upskill.setup",
)
"""The folders of our features. Their order is that of the commands in the help, below each heading."""

Place = str
"""`package.module:name`."""

Kind = Literal["commands", "harnesses", "checks", "session_readers", "offers"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A command of the terminal."""

    place: Place
    """A click command."""
    help: str = ""
    """One line, shown by `upskill --help`; a command below another has its own."""
    heading: str = "Others"
    """The part of that help in which it stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plugin:
    """Everything that one feature brings, by name. A name belongs to the first that brings it; ours come first."""

    commands: Mapping[str, Command] = field(default_factory=dict)
    """A name of two words, `cases write`, is a command below another."""
    harnesses: Mapping[str, Place] = field(default_factory=dict)
    """A `HarnessInfo`, by the name that people type after `--harness`."""
    checks: Mapping[str, Place] = field(default_factory=dict)
    """A function that looks at an answer (`upskill.core.checks.plugin`), by the name in `{"python": {"name": …}}`."""
    session_readers: Mapping[str, Place] = field(default_factory=dict)
    """A reader of recorded sessions (`upskill.traces.recording.Reader`), asked in this order, after ours."""
    offers: Mapping[str, Place] = field(default_factory=dict)
    """What another plug-in may call, by the name of an `Offer`."""


class LeftOut(NamedTuple):
    """A plug-in of a stranger that could not be loaded."""

    name: str
    why: str


class Strangers(NamedTuple):
    """The plug-ins of installed packages."""

    plugins: tuple[Plugin, ...]
    left_out: tuple[LeftOut, ...]


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Offer(Generic[T]):
    """Something that one plug-in needs and another has. Whoever needs it declares its name and type."""

    name: str

    def load(self) -> T:
        """What a plug-in offers. Raises `UsageError` where no plug-in does."""
        found = self.load_if_offered()
        if found is None:
            raise UsageError(f"nothing installed here can {self.name}", hint="install upskill again, with all features")
        return found

    def load_if_offered(self) -> T | None:
        """What a plug-in offers; `None` where no plug-in does."""
        place = find("offers", self.name)
        return None if place is None else load(place)


def find(kind: Kind, name: str) -> Any:
    """What the plug-ins have of that kind under a name; `None` where there is nothing. Ours are searched first, so
    nothing of a stranger is imported for a name of ours."""
    own = _by_name(kind, built_in())
    return own[name] if name in own else names(kind).get(name)


def names(kind: Kind) -> Mapping[str, Any]:
    """Everything of that kind by its name, ours first."""
    return _by_name(kind, (*built_in(), *strangers().plugins))


def load(place: Place) -> Any:
    """The object at a place. Raises `UsageError` where a package of a stranger does not have it."""
    module, _, name = place.partition(":")
    try:
        return getattr(import_module(module), name)
    except Exception as error:
        if module.startswith("upskill."):
            raise
        raise UsageError(
            f"{place} cannot be loaded: {type(error).__name__}: {error}",
            hint="update the package that brings it, or uninstall it",
        ) from error


@cache
def built_in() -> tuple[Plugin, ...]:
    """Ours."""
    return tuple(import_module(f"{package}.plugin").PLUGIN for package in BUILT_IN)


def strangers() -> Strangers:
    """Those of installed packages; each that cannot be loaded is named with the reason and left out."""
    return _strangers_on(tuple(sys.path))


@lru_cache(maxsize=4)
def _strangers_on(path: tuple[str, ...]) -> Strangers:  # noqa: ARG001 - where packages are looked for
    from importlib.metadata import entry_points  # takes tens of milliseconds

    plugins: list[Plugin] = []
    left_out: list[LeftOut] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            plugin = entry.load()
        except Exception as error:  # noqa: BLE001 - foreign code, which may fail in any way
            left_out.append(LeftOut(entry.name, f"{entry.value} cannot be loaded: {type(error).__name__}: {error}"))
            continue
        if not isinstance(plugin, Plugin):
            left_out.append(LeftOut(entry.name, f"{entry.value} is no Plugin, but {type(plugin).__name__}"))
        elif (problem := _problem(plugin)) is not None:
            left_out.append(LeftOut(entry.name, f"{entry.value}: {problem}"))
        else:
            plugins.append(plugin)
    return Strangers(tuple(plugins), tuple(left_out))


def _problem(plugin: Plugin) -> str | None:
    """What is wrong with the first value of another type; `None` where all are right."""
    for kind in get_args(Kind):
        wanted = Command if kind == "commands" else str
        for name, value in getattr(plugin, kind).items():
            if not isinstance(name, str) or not isinstance(value, wanted):
                return f"{kind} {name!r} is no {wanted.__name__}, but {type(value).__name__}"
    return None


def _by_name(kind: Kind, plugins: tuple[Plugin, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for plugin in plugins:
        for name, value in getattr(plugin, kind).items():
            found.setdefault(name, value)
    return found
