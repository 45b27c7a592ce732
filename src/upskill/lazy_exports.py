"""Names of a package that are imported when they are asked for. Knows no package."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazy_exports(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The `__getattr__` of a package whose modules (`homes`) hand out these names. A name is looked up once."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def look_up(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return look_up
