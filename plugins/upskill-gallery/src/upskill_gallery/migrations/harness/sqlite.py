"""Runs a migration on an SQLite file, statement by statement, and prints what is in it then. Runs inside the sandbox.

Standard input is the job, as `SqliteMigration` writes it. Exit code 3: the tables of the case could not be set up.
"""

import json
import sqlite3
import sys
from typing import Any

FILE = "application.db"
MOST_STEPS = 20_000_000
REFUSED_ACTIONS = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)


def main() -> None:
    """Set up, migrate, look."""
    job = json.load(sys.stdin)
    try:
        first = sqlite3.connect(FILE, isolation_level=None)
        first.executescript(job["schema"])
        first.executescript(job["rows"])
        first.close()
    except sqlite3.Error as fault:
        sys.stderr.write(f"the tables of the case could not be set up: {fault}\n")
        sys.exit(3)
    facts: dict[str, Any] = {"error": _migrate(job["sql"])}
    try:
        facts["inventory"] = _inventory()
        facts["probes"] = [_probe(statement) for statement in job["probes"]]
    except (sqlite3.Error, ValueError) as fault:
        facts["error"] = facts["error"] or ["", f"the file cannot be read afterwards: {fault}"]
    sys.stdout.write(json.dumps(facts))


def _connect() -> sqlite3.Connection:
    """As the application does it. A connection reads no other file, and gives up after some millions of steps."""
    connection = sqlite3.connect(FILE, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action in REFUSED_ACTIONS else sqlite3.SQLITE_OK
    )
    steps = iter(range(MOST_STEPS // 10_000))
    connection.set_progress_handler(lambda: next(steps, None) is None, 10_000)
    return connection


def _migrate(sql: str) -> list[str] | None:
    """The statement that failed, and why. What is not committed at the end of the file is lost."""
    connection = _connect()
    statement = ""
    try:
        for piece in sql.replace("\0", "").split(";"):
            statement += piece + ";"
            if sqlite3.complete_statement(statement):
                connection.execute(statement).fetchmany(100)
                statement = ""
        if statement.strip(" \t\r\n;"):
            connection.execute(statement)
    except (sqlite3.Error, sqlite3.Warning) as error:
        return [" ".join(statement.split())[:160], str(error)[:300]]
    finally:
        connection.close()
    return None


def _inventory() -> list[str]:
    connection = _connect()
    lines = []
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall():
        if kind == "table":
            lines += _table(connection, name, sql or "")
        elif kind == "index":
            columns = connection.execute("SELECT name, desc FROM pragma_index_xinfo(?) WHERE key", (name,)).fetchall()
            listed = ", ".join(f"{column} desc" if descending else str(column) for column, descending in columns)
            own = "" if sql else " (of a constraint)"
            lines.append(f"index on {table} ({listed}){own}" if own else f"index {name} on {table} ({listed})")
        else:
            lines.append(f"{kind} {name} on {table}")
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check").fetchmany(5):
        lines.append(f"violated reference of {table} row {row} to {parent}")
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
    return sorted(lines + [f"integrity: {line}" for line in found if line != "ok"])


def _table(connection: sqlite3.Connection, name: str, sql: str) -> list[str]:
    lines = [f"table {name}{' (virtual)' if sql.upper().startswith('CREATE VIRTUAL') else ''}"]
    for _, column, type_, not_null, default, key in connection.execute("SELECT * FROM pragma_table_info(?)", (name,)):
        words = f"column {name}.{column}: {str(type_).upper()}{' not null' if not_null else ''}"
        lines.append(f"{words}{f' default {default}' if default is not None else ''}{' key' if key else ''}")
    for row in connection.execute("SELECT * FROM pragma_foreign_key_list(?)", (name,)):
        lines.append(f"foreign key {name}.{row[3]} to {row[2]}.{row[4]} on delete {row[6]}".lower())
    return lines


def _probe(statement: str) -> Any:
    connection = _connect()
    try:
        connection.execute("BEGIN")
        return [[None if value is None else str(value) for value in row] for row in connection.execute(statement)][:50]
    except sqlite3.IntegrityError:
        return "constraint"
    except sqlite3.Error as error:
        return f"error: {error}"[:200]
    finally:
        connection.close()
