"""Decides on a migration, from what was seen while a real server ran it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from upskill_gallery.migrations.task import Task

FEW_ROWS = 200
"""Looking up so many rows under a lock takes no time that anybody notices."""
MOST_SECONDS = 1.0
"""So long may a session sleep or compute under a lock."""
_UNITS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def violations(task: Task, facts: Mapping[str, Any]) -> Iterator[str]:
    """What the migration did that it must not do, the worst first; nothing if it is right."""
    for number, run in enumerate(facts["runs"], 1):
        for statement in run["statements"]:
            yield from _error(statement, number)
    for run in facts["runs"]:
        yield from _locks(task, run["statements"])
    if facts["gone"] is not None:
        yield f"the server did not answer after the migration: {facts['gone']}"
        return
    yield from _replaced(facts)
    for number, run in enumerate(facts["runs"], 1):
        yield from _writes(task, run["writes"], number)
    for run in facts["runs"]:
        yield from _old_code(run["old_code"])
    yield from _schema(task, facts["first"]["inventory"])
    if task.again and facts["first"]["inventory"] != facts["inventory"]:
        yield f"a second run changes the schema: {difference(facts['first']['inventory'], facts['inventory'])}"
    yield from _probes(task, facts["probes"])


def milliseconds(setting: object) -> int:
    """The value of a setting such as `2s`, as the server writes it."""
    found = re.fullmatch(r"(\d+)(ms|s|min|h|d)?", str(setting))
    return int(found[1]) * _UNITS[found[2] or "ms"] if found else 0


def _error(statement: Mapping[str, Any], number: int) -> Iterator[str]:
    if statement["error"]:
        code, message = statement["error"]
        where = f"{statement['file']}, {_short(statement)}"
        if code == "psql":
            yield f"{statement['file']} has a command of psql, which is not SQL: {message}"
        elif code == "many":
            yield f"{statement['file']} has {message}"
        elif code == "gone":
            yield f"{where} ended the session or took too long: {message}"
        else:
            yield f"{'the second run fails: ' if number > 1 else ''}{where} fails with {code}: {message}"


def _locks(task: Task, statements: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    held: set[tuple[str, str]] = set()
    touched: Counter[str] = Counter()
    seconds = 0.0
    for statement in statements:
        if "log" not in statement:
            continue
        log = statement["log"]
        if log.get("flooded") or log.get("more"):
            yield f"{_short(statement)} floods the server's log"
            continue
        now = {(name, mode) for name, mode in statement["locks"]}
        strong = _first(now)
        if strong:
            touched.update(statement["rows"])
        for name in statement["rows"]:
            if strong and touched[name] > FEW_ROWS:
                yield (
                    f"{_short(statement)} reads or writes more than {FEW_ROWS} rows of {name}"
                    f" while {strong[0]} is locked by {strong[1]}{_scans(log)}"
                )
        seconds += statement["held"]
        if statement["held"] and seconds > MOST_SECONDS:
            yield f"{_short(statement)} sleeps or computes for {seconds:.1f} s while a lock blocks others"
        yield from _timeouts(task, statement, held, now)
        yield from _reads_alone(statement)
        yield from _waits(statement)
        if statement["open"]:
            held = now
        if not statement["open"] or not now:
            held, touched, seconds = set(), Counter(), 0.0


def _timeouts(
    task: Task, statement: Mapping[str, Any], held: set[tuple[str, str]], now: set[tuple[str, str]]
) -> Iterator[str]:
    """A lock that it would wait for too long: by what was in force when it waited, else by what was set before."""
    for name, mode, in_force in statement["waits"]:
        if not _waits_shortly(task, statement, in_force):
            yield _too_long(task, statement, (name, mode), f"{in_force} ms")
            return
    known = held | {(name, mode) for name, mode, _ in statement["waits"]}
    if statement.get("nowait"):
        return
    for event in statement["log"]["events"]:
        locks = {(name, mode) for name, mode in event["locks"]}
        if locks - known and not _waits_shortly(task, statement, event["lock_timeout"]):
            yield _too_long(task, statement, min(locks - known), event["lock_timeout"])
            return
        known |= locks
    if now - known and not _waits_shortly(task, statement, statement["lock_timeout"]):
        yield _too_long(task, statement, min(now - known), statement["lock_timeout"])


def _too_long(task: Task, statement: Mapping[str, Any], lock: tuple[str, str], setting: str) -> str:
    return (
        f"{_short(statement)} takes {lock[1]} on {lock[0]} with lock_timeout {setting};"
        f" it may wait at most {task.lock_timeout_ms} ms"
    )


def _reads_alone(statement: Mapping[str, Any]) -> Iterator[str]:
    """What a DDL command of a block that commits reads while it locks."""
    for event in statement["log"]["events"]:
        strong = _first({(name, mode) for name, mode in event["locks"]})
        if statement.get("alone") and strong and event["scans"]:
            yield f"{_short(statement)} reads a table while {strong[0]} is locked by {strong[1]}{_scans(event)}"
            return


def _waits(statement: Mapping[str, Any]) -> Iterator[str]:
    """Locks that a block which commits takes other than by DDL commands: what it does then is not seen."""
    if not statement.get("alone"):
        return
    if "lock" in statement["inside"] or "..." in statement["inside"]:
        yield f"{_short(statement)} commits and uses LOCK: what it does under the lock is not seen"
    commands = [event["locks"] for event in statement["log"]["events"] if event["event"] == "ddl_command_end"]
    for name in sorted({name for name, *_ in statement["waits"]}):
        modes = [mode for waited, mode, _ in statement["waits"] if waited == name]
        if len(modes) > sum(any(locked == name for locked, _ in locks) for locks in commands):
            yield f"{_short(statement)} takes {modes[0]} on {name}, which blocks writers"


def _waits_shortly(task: Task, statement: Mapping[str, Any], setting: object) -> bool:
    """Whether it gives up in time. A statement_timeout that was set before it ends a wait too."""
    limits = [milliseconds(setting), milliseconds(statement.get("statement_timeout"))]
    return 0 < min((limit for limit in limits if limit), default=0) <= task.lock_timeout_ms


def _replaced(facts: Mapping[str, Any]) -> Iterator[str]:
    for name, before in facts["before"].items():
        now = facts["after"][name]
        if now is None:
            yield f"the table {name} was dropped, and at most another table has its name"
        elif now[1] != before[1]:
            yield f"the table {name} was rewritten"
        elif now[0] != name:
            yield f"the table {name} is now called {now[0]}"


def _writes(task: Task, writes: Mapping[str, Sequence[int]], number: int) -> Iterator[str]:
    for name, (largest, with_schema, locked) in writes.items():
        if largest > task.batch:
            yield f"one transaction writes {largest} rows of {name}; at most {task.batch} are allowed"
        if with_schema > FEW_ROWS:
            yield f"one transaction changes the schema of {name} and writes {with_schema} of its rows"
        if locked > 2 * task.batch:  # an update can leave two such records: for SELECT … FOR UPDATE and for itself
            yield f"one transaction locks more than {2 * task.batch} rows of {name}"
        if number > 1 and largest:
            yield f"the second run writes rows of {name} again"


def _old_code(failed: Sequence[Sequence[Any]]) -> Iterator[str]:
    for statement, old, usual, code in failed[:1]:
        ends = f"fails with {code}" if code else f"works, and failed with {usual} before"
        yield f"after `{statement[:80]}`, `{old[:80]}` of deployed code {ends}"


def _schema(task: Task, found: Sequence[str]) -> Iterator[str]:
    wrong = difference(sorted(task.schema), [_unqualified(line) for line in found])
    if wrong:
        yield f"the schema is not what was asked for: {wrong}"


def difference(expected: Sequence[str], found: Sequence[str]) -> str:
    """Which lines are missing and which are too many; empty if none."""
    missing = [f"missing: {line}" for line in expected if line not in found]
    more = [f"not asked for: {line}" for line in found if line not in expected]
    return "; ".join([*missing, *more])


def _unqualified(line: str) -> str:
    return line.replace("public.", "")


def _probes(task: Task, results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for (statement, expected), result in zip(task.probes, results, strict=True):
        found = result["error"][0] if "error" in result else result["rows"]
        if found != expected:
            shown = ": ".join(result["error"]) if "error" in result else str(found)
            yield f"afterwards `{statement[:100]}` gives {shown[:120]}, not {str(expected)[:120]}"


def _first(locks: set[tuple[str, str]]) -> tuple[str, str] | None:
    return min(locks, default=None)


def _scans(log: Mapping[str, Any]) -> str:
    return f" ({log['scans'][0]})" if log.get("scans") else ""


def _short(statement: Mapping[str, Any]) -> str:
    text = str(statement["sql"])
    return f"`{text[:80]}…`" if len(text) > 80 else f"`{text}`"
