"""Checks that run a migration on a real database and look at what it did: `postgres-migration`, `sqlite-migration`."""

import json
from collections.abc import Sequence
from typing import Any

from upskill.core.checks.plugin import CommandResult, Finding, Inspection, Json
from upskill_gallery.migrations import server, task
from upskill_gallery.migrations.rules import difference, violations

SECONDS = 240
MOST_SQL = 200_000
SET_UP_FAILED = 3


class PostgresMigration:
    """Runs the files of the answer on a PostgreSQL server in a sandbox, as a role that is no superuser."""

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """What is wrong with `with`; see `task.Task`."""
        return task.problems(given)

    def __call__(self, inspection: Inspection) -> Finding:
        """Run the migration and judge what was seen."""
        asked = task.read_task(inspection.given)
        files, missing = _files(inspection, asked.files)
        if missing:
            return missing
        job = {
            "programs": server.programs(),
            "schema": inspection.case.files[task.SCHEMA_FILE].decode(),
            "rows": asked.rows,
            "earlier": asked.earlier,
            "tables": asked.tables,
            "files": files,
            "old_code": asked.old_code,
            "probes": [statement for statement, _ in asked.probes],
            "again": asked.again,
        }
        packed = server.template(inspection)
        with inspection.open_sandbox(server.spec()) as sandbox:
            sandbox.put({server.TEMPLATE: packed})
            ran = sandbox.run(server.command("migrate"), seconds=SECONDS, stdin=json.dumps(job).encode())
        facts, failed = _facts(ran)
        if failed:
            return failed
        found = list(violations(asked, facts))
        return Finding(not found, "; ".join(found) or "the migration works and breaks no rule")


class SqliteMigration:
    """Runs the file of the answer on an SQLite database in a sandbox."""

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """`with` holds `file`, `rows`, `schema` and `probes`, as the other check's does; see `task.Task`."""
        if not isinstance(given, dict) or set(given) != {"file", "rows", "schema", "probes"}:
            return ["`with` must be an object with `file`, `rows`, `schema` and `probes`"]
        return []

    def __call__(self, inspection: Inspection) -> Finding:
        """Run the migration and compare what is in the database with what was asked for."""
        given: Any = inspection.given
        files, missing = _files(inspection, (str(given["file"]),))
        if missing:
            return missing
        job = {
            "schema": inspection.case.files[task.SCHEMA_FILE].decode(),
            "rows": given["rows"],
            "sql": files[0][1],
            "probes": [statement for statement, _ in given["probes"]],
        }
        with inspection.open_sandbox(server.spec()) as sandbox:
            ran = sandbox.run(server.command("sqlite"), seconds=SECONDS, stdin=json.dumps(job).encode())
        facts, failed = _facts(ran)
        if failed:
            return failed
        if facts["error"]:
            statement, message = facts["error"]
            return Finding(False, f"`{statement[:100]}` fails: {message}")
        found = difference(given["schema"], facts["inventory"])
        wrong = [
            f"afterwards `{statement[:100]}` gives {str(result)[:120]}, not {str(expected)[:120]}"
            for (statement, expected), result in zip(given["probes"], facts["probes"], strict=True)
            if result != expected
        ]
        said = ([f"the schema is not what was asked for: {found}"] if found else []) + wrong
        return Finding(not said, "; ".join(said) or "the schema and the rows are what was asked for")


def _files(inspection: Inspection, names: Sequence[str]) -> tuple[list[tuple[str, str]], Finding | None]:
    """The files of the answer by name; or what is wrong with one."""
    files: list[tuple[str, str]] = []
    for name in names:
        text = inspection.answer.files.get(name)
        if text is None and inspection.only_block is not None and len(names) == 1:
            text = inspection.only_block.encode()
        if text is None:
            return [], Finding(False, f"there is no {name}")
        if len(text) > MOST_SQL:
            return [], Finding(False, f"{name} has {len(text)} bytes; at most {MOST_SQL} are read")
        files.append((name, text.decode("utf-8", "replace")))
    return files, None


def _facts(ran: CommandResult) -> tuple[dict[str, Any], Finding | None]:
    """What the harness saw; or that the migration did not let it come to an end. Raises where nothing was measured."""
    said = ran.stderr.decode("utf-8", "replace").strip()[-300:]
    if ran.ended == "gone" or (ran.ended == "exit" and ran.exit_code == SET_UP_FAILED):
        raise RuntimeError(f"the migration could not be run: {said or ran.ended}")
    if ran.ended != "exit" or ran.exit_code != 0:
        return {}, Finding(False, f"the migration did not finish: {ran.ended} {said}")
    return dict(json.loads(ran.stdout)), None


postgres_migration = PostgresMigration()
sqlite_migration = SqliteMigration()
