"""Rooms that import their names when they are asked for: what is found then is what type checkers were told."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import upskill

LAZY = "upskill.lazy_exports"


@pytest.mark.parametrize("name", ["upskill"])
def test_every_name_is_found_where_type_checkers_are_told_it_is(name: str) -> None:
    room = import_module(name)
    tree = ast.parse(Path(str(room.__file__)).read_text())
    told = {
        alias.name: str(line.module)
        for line in ast.walk(tree)
        if isinstance(line, ast.ImportFrom) and str(line.module).startswith(f"{name}.") and line.module != LAZY
        for alias in line.names
    }
    assert sorted(told) == sorted(room.__all__)
    for found, home in told.items():
        assert getattr(room, found) is getattr(import_module(home), found)


def test_a_name_that_is_not_there_is_missing_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'upskill' has no attribute 'no_such'"):
        _ = upskill.no_such  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="cannot import name 'no_such'"):
        from upskill import no_such  # type: ignore[attr-defined]  # noqa: F401
    assert not hasattr(upskill, "no_such")


def test_names_that_are_not_loaded_yet_can_be_completed() -> None:
    assert set(upskill.__all__) <= set(dir(upskill))
