"""Runs inside a second sandbox, in which no program of the model ever ran: prints what is in Parquet files.

Reads from standard input a list of `{"name", "files", "most_rows"}` and prints for each table its columns, rows (as
text), the columns that the files hold themselves, the number of rows and the compressions, or the error with which
DuckDB refused the file. Decides nothing.
"""

import json
import sys
from typing import Any

import duckdb

LONGEST = 2_000
"""Characters of one value that are printed: more than any expected value has."""
MOST_COLUMNS = 100
FOREIGN = ("STRUCT", "MAP", "[")


def shown(column: str, kind: str) -> str:
    """The expression that shows a column as text."""
    name = '"' + column.replace('"', '""') + '"'
    text = f"to_json({name})::VARCHAR" if any(mark in kind for mark in FOREIGN) else f"{name}::VARCHAR"
    return f"substr({text}, 1, {LONGEST})"


def table(database: duckdb.DuckDBPyConnection, wanted: dict[str, Any]) -> dict[str, Any]:
    """What is in the files of one table."""
    files = wanted["files"]
    source = "read_parquet($files, hive_partitioning = $hive, hive_types_autocast = false)"
    given = {"files": files, "hive": bool(wanted["partitioned"])}
    described = database.execute(f"DESCRIBE FROM {source}", given).fetchall()
    columns = [[name, kind] for name, kind, *_ in described]
    counted = database.execute("SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata($files)", {"files": files})
    rows = counted.fetchall()[0][0]
    written = "SELECT DISTINCT compression FROM parquet_metadata($files)"
    compressions = database.execute(written, {"files": files}).fetchall()  # the next statement ends this result
    inside = database.execute(f"DESCRIBE FROM {source}", {"files": files, "hive": False}).fetchall()
    found = {
        "columns": columns,
        "inside": [name for name, *_ in inside],
        "count": rows,
        "compressions": sorted(str(one) for (one,) in compressions),
    }
    if rows > wanted["most_rows"] or len(columns) > MOST_COLUMNS:
        return found
    values = ", ".join(shown(name, kind) for name, kind in columns)
    found["rows"] = database.execute(f"SELECT {values} FROM {source} LIMIT {wanted['most_rows'] + 1}", given).fetchall()
    return found


def main() -> None:
    """Print one object per table."""
    answers = {}
    with duckdb.connect(config={"threads": 1, "memory_limit": "256MB"}) as database:
        database.execute("SET TimeZone = 'UTC'")
        for wanted in json.load(sys.stdin):
            try:
                answers[wanted["name"]] = table(database, wanted)
            except Exception as error:  # noqa: BLE001 - the file is foreign: whatever it raises is what was seen
                answers[wanted["name"]] = {"error": str(error)[:300]}
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
