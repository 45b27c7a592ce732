"""`tidy-parquet`: runs the model's `convert.sql` or `convert.py` on CSV files that it has not seen.

The program runs in one sandbox. What it wrote is read by DuckDB in a second one, where no program of the model ever
ran. The inputs and the values that are right come from `tidy_inputs`, in plain Python, and stay in this process.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from upskill.core.checks.plugin import (
    CommandResult,
    FileRefused,
    Files,
    Finding,
    Inspection,
    Json,
    Limits,
    Mount,
    SandboxSpec,
)
from upskill.sandbox import SandboxSpent
from upskill_gallery.tidy_inputs import TASKS, Draw, Table
from upskill_gallery.toolchain import PYTHON, toolchain

HARNESS = Path(__file__).parent / "harness" / "tidy_data"
INSIDE = "/opt/harness"
SECONDS = 120
LIMITS = Limits(memory_mb=768, address_space_mb=None, cpu_seconds=30, output_bytes=8 * 1_048_576)
"""`address_space_mb=None`: DuckDB reserves far more than it uses."""
ZONE = "Asia/Tokyo"
"""The zone of the machine on which the program runs, so that a result that depends on it shows."""
MOST_FILES = 200
MOST_PROGRAM_BYTES = 100_000
PLAIN_NAME = re.compile(r"[\w=.-]{1,100}", re.ASCII)
"""A folder or file of partitions: DuckDB would read other characters as a pattern."""
ZSTD = ["ZSTD"]


class Rejected(Exception):
    """The answer is wrong; the message names the rule and what was seen."""


class TidyParquet:
    """Runs the conversion, reads the Parquet elsewhere, and compares types, rows, values, order and compression."""

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """`with` names the task."""
        if isinstance(given, dict) and set(given) == {"task"} and given["task"] in TASKS:
            return []
        return [f'`with` must be {{"task": one of {", ".join(sorted(TASKS))}}}']

    def __call__(self, inspection: Inspection) -> Finding:
        """Convert, read, compare."""
        given = inspection.given
        assert isinstance(given, dict)  # `problems` has seen it
        task = TASKS[str(given["task"])]
        tools = toolchain()
        program = inspection.files.get(task.program)
        if program is None and inspection.only_block is not None:
            program = inspection.only_block.encode()
        if program is None:
            return Finding(False, f"there is no {task.program}")
        draws = task.draws()
        try:
            written = _convert(inspection, tools, task.program, program, draws)
            compared = 0
            answers = _read(inspection, tools, _sources(written, draws))
            for at, draw in enumerate(draws):
                for table in draw.tables:
                    _compare(answers.get(_name(at, table)), table)
                    compared += len(table.rows)
        except Rejected as reason:
            return Finding(False, str(reason))
        return Finding(True, f"{compared} rows in {len(draws)} conversions are right")


def _convert(
    inspection: Inspection, tools: Mount, name: str, program: bytes, draws: Sequence[Draw]
) -> Mapping[str, bytes]:
    """The files of the workspace after the program ran on every draw."""
    if len(program) > MOST_PROGRAM_BYTES:
        raise Rejected(f"{name} has {len(program):,} bytes; {MOST_PROGRAM_BYTES:,} are enough for a conversion")
    spec = SandboxSpec(limits=LIMITS, mounts=(tools, Mount(source=HARNESS, target=INSIDE)))
    folders = [f"run{at}" for at in range(len(draws))]
    inputs = {
        f"{folder}/{path}": data for folder, draw in zip(folders, draws, strict=True) for path, data in draw.files
    }
    with inspection.open_sandbox(spec) as sandbox:
        sandbox.put({name: program, **inputs})
        ran = sandbox.run(
            [PYTHON, "-I", "-B", f"{INSIDE}/convert.py", name, *folders], seconds=SECONDS, environment={"TZ": ZONE}
        )
        _refuse_failure(ran, f"{name} failed")
        try:
            return sandbox.take(most_files=MOST_FILES)
        except FileRefused as refused:
            raise Rejected(f"the files that {name} wrote cannot be read: {refused}") from None
        except SandboxSpent:
            raise Rejected(f"{name} left a process that used too much memory") from None


def _sources(written: Mapping[str, bytes], draws: Sequence[Draw]) -> dict[str, tuple[Table, Files]]:
    """The Parquet files of every expected table, by the name of the table."""
    sources: dict[str, tuple[Table, Files]] = {}
    for at, draw in enumerate(draws):
        for table in draw.tables:
            folder = PurePosixPath(f"run{at}")
            if table.partitions:
                found = {
                    path: data
                    for path, data in written.items()
                    if PurePosixPath(path).is_relative_to(folder / table.path)
                }
                _check_partitions(found, folder / table.path, table)
            else:
                path = str(folder / table.path)
                found = {path: written[path]} if path in written else {}
            if not found:
                raise Rejected(f"output: there is no regular file {table.path}")
            if not all(data.startswith(b"PAR1") and data.endswith(b"PAR1") for data in found.values()):
                raise Rejected(f"output: {table.path} is not a Parquet file")
            sources[_name(at, table)] = (table, found)
    return sources


def _check_partitions(found: Mapping[str, bytes], folder: PurePosixPath, table: Table) -> None:
    """Every file lies in a folder for each partition column, in order, and nowhere else."""
    for path in found:
        parts = PurePosixPath(path).relative_to(folder).parts
        names = tuple(part.partition("=")[0] for part in parts[:-1])
        plain = all(PLAIN_NAME.fullmatch(part) for part in parts)
        if names != table.partitions or not plain or not parts[-1].endswith(".parquet"):
            wanted = "/".join(f"{name}=…" for name in table.partitions)
            raise Rejected(f"partitions: {'/'.join(parts)} is not {wanted}/….parquet"[:200])


def _read(inspection: Inspection, tools: Mount, sources: Mapping[str, tuple[Table, Files]]) -> Mapping[str, Any]:
    """What DuckDB finds in the files, in a sandbox of its own."""
    spec = SandboxSpec(limits=LIMITS, mounts=(tools, Mount(source=HARNESS, target=INSIDE)))
    wanted = [
        {"name": name, "files": sorted(files), "most_rows": len(table.rows) + 1, "partitioned": bool(table.partitions)}
        for name, (table, files) in sources.items()
    ]
    with inspection.open_sandbox(spec) as sandbox:
        for _, files in sources.values():
            sandbox.put(files)
        ran = sandbox.run([PYTHON, "-I", "-B", f"{INSIDE}/read.py"], seconds=SECONDS, stdin=json.dumps(wanted).encode())
    if ran.ended == "exit" and ran.exit_code == 1:
        raise RuntimeError(f"the reader of Parquet failed: {_last_error(ran)}")  # a fault of ours, no failed answer
    _refuse_failure(ran, "output: the Parquet file cannot be read")
    return dict(json.loads(ran.stdout))


def _refuse_failure(ran: CommandResult, what: str) -> None:
    if ran.ended == "gone":
        raise RuntimeError("the sandbox is gone")  # nothing was measured, so this is no failed answer
    if ran.ended == "exit" and ran.exit_code == 0:
        return
    reason = {"timeout": "it took too long", "memory": "it used too much memory", "output": "it printed too much"}
    raise Rejected(f"{what}: {reason.get(ran.ended) or _last_error(ran)}")


def _last_error(ran: CommandResult) -> str:
    lines = ran.stderr[-20_000:].decode("utf-8", "replace").strip().splitlines()
    errors = [line for line in lines if "Error" in line or "Exception" in line]
    return (errors or lines or [f"exit code {ran.exit_code}, no message"])[-1][:300]


def _compare(found: Any, table: Table) -> None:
    """Refuse the first rule that is broken: types, number of rows, values, order, compression."""
    if not isinstance(found, dict) or "error" in found:
        raise Rejected(f"output: {table.path} cannot be read: {(found or {}).get('error', 'no answer')}"[:300])
    columns = [tuple(column) for column in found["columns"]]
    if columns != list(table.columns):
        raise Rejected(f"columns: {table.path} has {_listed(columns)}, expected {_listed(table.columns)}"[:500])
    twice = [name for name in found["inside"] if name in table.partitions]
    if twice:
        raise Rejected(f"partitions: the files of {table.path} hold {', '.join(twice)} too, not only their folders")
    if found["count"] != len(table.rows):
        raise Rejected(f"rows: {table.path} has {found['count']}, expected {len(table.rows)}")
    rows = [tuple(row) for row in found.get("rows", [])]
    wanted = list(table.rows)
    if len(rows) != len(wanted):
        raise Rejected(f"rows: {table.path} says {found['count']} and holds {len(rows)}")
    if Counter(rows) != Counter(wanted):
        raise Rejected(_difference(rows, wanted, table))
    if table.ordered and rows != wanted:
        raise Rejected(f"order: the rows of {table.path} are right and not in the order that was asked for")
    if table.zstd and table.rows and found["compressions"] != ZSTD:
        written = ", ".join(found["compressions"]) or "nothing"
        raise Rejected(f"compression: {table.path} is written with {written}, expected ZSTD")


def _difference(rows: Sequence[tuple[str | None, ...]], wanted: Sequence[tuple[str | None, ...]], table: Table) -> str:
    """One value that is wrong: of the missing row and of the surplus row that is most like it."""
    missing = next(iter((Counter(wanted) - Counter(rows)).elements()))
    surplus = (Counter(rows) - Counter(wanted)).elements()
    nearest = max(surplus, key=lambda row: sum(one == other for one, other in zip(row, missing, strict=True)))
    at = next(at for at, (one, other) in enumerate(zip(nearest, missing, strict=True)) if one != other)
    return f"values: {table.columns[at][0]} is {_short(nearest[at])}, expected {_short(missing[at])}"


def _listed(columns: Sequence[tuple[str, ...]]) -> str:
    return ", ".join(" ".join(column) for column in columns)


def _short(value: str | None) -> str:
    return "NULL" if value is None else repr(value[:80])


def _name(at: int, table: Table) -> str:
    return f"{at}/{table.path}"


tidy_parquet = TidyParquet()
