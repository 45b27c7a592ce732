"""What a case says about a migration: the value of `with` of the check `postgres-migration`."""

from dataclasses import dataclass
from typing import Any

from upskill.core.checks.plugin import Json

SCHEMA_FILE = "schema.sql"
"""The file of the case with the tables as they are, which the model sees too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A migration, and what must hold during and after it."""

    files: tuple[str, ...]
    """The files of the answer, in the order in which they are run, each in a session of its own."""
    rows: str
    """SQL that fills the tables. The model does not see it."""
    tables: tuple[str, ...]
    """The tables that are in use: they may be neither blocked for long, nor rewritten, nor replaced."""
    schema: tuple[str, ...]
    """Everything that is in the database afterwards, one line per object, as `harness/inventory.py` writes it."""
    earlier: tuple[str, ...] = ()
    """Statements of an earlier attempt, each run by itself; one of them may fail."""
    probes: tuple[tuple[str, Json], ...] = ()
    """Statements to try afterwards, with the rows that they return or the SQLSTATE that they fail with."""
    old_code: tuple[str, ...] = ()
    """Statements of deployed code. After each commit of the migration they must end as they did before it."""
    again: bool = False
    """Whether a second run must succeed and change nothing."""
    lock_timeout_ms: int = 5_000
    """How long a statement may wait for a lock that blocks others."""
    batch: int = 10_000
    """How many rows of a table in use one transaction may write."""


_KINDS: dict[str, type] = {
    "files": list,
    "rows": str,
    "tables": list,
    "schema": list,
    "earlier": list,
    "probes": list,
    "old_code": list,
    "again": bool,
    "lock_timeout_ms": int,
    "batch": int,
}


def problems(given: Json) -> list[str]:
    """What is wrong with the value of `with`."""
    if not isinstance(given, dict):
        return ["`with` must be an object with `files`, `rows`, `tables` and `schema`"]
    found = [f"`{key}` is not known" for key in given if key not in _KINDS]
    found += [f"`{key}` is missing" for key in ("files", "rows", "tables", "schema") if key not in given]
    found += [
        f"`{key}` must be a {kind.__name__}"
        for key, kind in _KINDS.items()
        if key in given and not isinstance(given[key], kind)
    ]
    probes = given.get("probes", [])
    if isinstance(probes, list) and not all(isinstance(one, list) and len(one) == 2 for one in probes):
        found.append("`probes` must be a list of pairs: a statement, and its rows or its SQLSTATE")
    return found


def read_task(given: Json) -> Task:
    """The task. Call it only if there are no `problems`."""
    assert isinstance(given, dict)
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    if "probes" in values:
        values["probes"] = tuple((str(statement), expected) for statement, expected in values["probes"])
    return Task(**values)
