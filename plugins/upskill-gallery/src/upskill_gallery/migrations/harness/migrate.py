"""Runs a migration on a real server, statement by statement, and prints what it did as JSON. Runs inside the sandbox.

Standard input is the job, as `PostgresMigration` writes it. A statement outside of a transaction gets one of its own
that is committed when its locks have been read, unless the server refuses it in a transaction. Exit code 3: the tables
of the case could not be set up, which is no fault of the migration.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

from upskill_gallery.migrations.harness.inventory import INVENTORY
from upskill_gallery.migrations.harness.postgres import (
    Refused,
    ServerGone,
    Session,
    lock_timeout_in_force,
    log_size,
    processor_seconds,
    read_log,
    start_server,
)
from upskill_gallery.migrations.harness.statements import MetaCommand, first_word, split
from upskill_gallery.migrations.harness.writer import Writer

CONTROL = ("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare")
SETTING = ("set", "reset", "show", "discard")
NOT_IN_TRANSACTION = ("25001", "2D000")
STRONG = "('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"
CATALOGS = (
    ("pg_class", "oid"),
    ("pg_attribute", "attrelid"),
    ("pg_attrdef", "adrelid"),
    ("pg_constraint", "conrelid"),
    ("pg_trigger", "tgrelid"),
)
"""Where the server keeps what a table is, and the column that names the table."""
MOST_LOG = 4_000_000
MOST_SLEEP = 1.0
MOST_STATEMENTS = 500
Facts = dict[str, Any]


class Observed:
    """A session of the migration, those that look at it and those that are in its way."""

    def __init__(self, admin: Session, tables: dict[str, int], secret: str) -> None:
        self.admin = admin
        self.tables = tables
        self.mark = f"observed {secret} "
        self.savepoint = f"before_{os.urandom(8).hex()}"
        self.session = Session("app", "app")
        self.writers = [Writer(oid) for oid in tables.values()]
        self._looked: tuple[float, float] | None = None

    def run(self, statement: str) -> Facts:
        """Run one statement; what it locked, read and wrote."""
        facts: Facts = {"sql": " ".join(statement.split())[:160], "locks": [], "rows": {}, "error": None}
        facts |= {"waits": [], "slept": 0.0, "held": 0.0}
        start = log_size()
        try:
            word = first_word(statement)
            if word in CONTROL or word in SETTING:
                self.session.run(statement)
                facts["locks"] = self._locks() if self.session.status == "T" else []
            elif self.session.status == "T":
                self._watched(statement, facts)
            else:
                self.session.run("BEGIN")
                try:
                    self._watched(statement, facts)
                    self.session.run("COMMIT")
                except Refused as refused:
                    self.session.run("ROLLBACK")
                    if refused.code not in NOT_IN_TRANSACTION:
                        raise
                    start = log_size()
                    self._alone(statement, facts)
        except Refused as refused:
            facts["error"] = [refused.code, refused.message[:300]]
        except ServerGone as gone:
            facts["error"] = ["gone", str(gone)[:300]]
        facts["open"] = self.session.status == "T"
        facts["tag"] = self.session.tag
        facts["log"] = self._log(start)
        return facts

    def close(self) -> None:
        """End all sessions."""
        self.session.close()
        for writer in self.writers:
            writer.close()

    def _watched(self, statement: str, facts: Facts) -> None:
        """One in a transaction. If it fails with writers in its way, it is tried without: it may not want to wait."""
        self.session.run(f"SAVEPOINT {self.savepoint}")
        before = self._counts()
        facts["lock_timeout"], facts["statement_timeout"] = before["lock_timeout"], before["statement_timeout"]
        self._hold()
        try:
            self._follow(statement, facts)
        except Refused as refused:
            if refused.code in NOT_IN_TRANSACTION or self.session.status != "E":
                raise
            facts["nowait"] = refused.code == "55P03" and not facts["waits"]
            self._leave()
            self.session.run(f"ROLLBACK TO SAVEPOINT {self.savepoint}")
            before = self._counts()
            self._follow(statement, facts)
        after = self._counts()
        facts["rows"] = {name: rows for name in self.tables if (rows := after.get(name, 0) - before.get(name, 0))}
        facts["locks"] = self._locks()
        self.session.run(f"RELEASE SAVEPOINT {self.savepoint}")

    def _alone(self, statement: str, facts: Facts) -> None:
        """One that commits by itself. Writers are in the way of a block only: others wait until all have left."""
        facts |= {"alone": True, "waits": [], "slept": 0.0, "held": 0.0}
        self._hold()
        if first_word(statement) not in ("do", "call"):
            self._leave()
        self.admin.run("SELECT observer.pg_stat_statements_reset()")
        try:
            self._follow(statement, facts)
        finally:
            facts["inside"] = self._inside()

    def _inside(self) -> list[str]:
        """The first words of the statements inside of one that the server has just run; `...` if that is not known."""
        said = self.admin.run("SELECT query FROM observer.pg_stat_statements WHERE NOT toplevel")
        forgotten = self.admin.run("SELECT dealloc FROM observer.pg_stat_statements_info")[0][0]
        try:
            words = {first_word(one) for (text,) in said for one in split(text or "")}
        except MetaCommand:
            return ["..."]
        return sorted(words) if forgotten == "0" else ["..."]

    def _hold(self) -> None:
        """Let other sessions hold the tables that the migration has not locked: who locks one must wait."""
        locked = {name for name, _ in self._locks()}
        present = self._present()
        for writer in self.writers:
            if writer.oid in present and self._name(writer.oid) not in locked:
                writer.hold(present[writer.oid])

    def _leave(self) -> None:
        for writer in self.writers:
            writer.leave()

    def _follow(self, statement: str, facts: Facts) -> None:
        """Run a statement and look at it again and again meanwhile."""
        self._looked = None
        self.session.send(statement)
        until = time.monotonic() + self.session.seconds
        while not self.session.wait(0.005):
            if time.monotonic() > until:
                raise ServerGone(f"no answer within {self.session.seconds:g} s")
            self._look(facts)
        self.session.receive()

    def _look(self, facts: Facts) -> None:
        """Which table it waits for and how long it would, and how long it sleeps or computes with a table locked."""
        rows = self.admin.run(
            "SELECT l.relation::bigint, l.mode, l.granted, a.wait_event_type FROM pg_stat_activity a"
            " LEFT JOIN pg_locks l ON l.pid = a.pid AND l.locktype = 'relation'"
            f" AND l.mode IN {STRONG} AND (l.granted OR l.waitstart IS NOT NULL) WHERE a.pid = {self.session.pid}"
        )
        for oid, mode, granted, _ in rows:
            for writer in self.writers:
                if granted == "f" and oid == str(writer.oid):
                    in_force = lock_timeout_in_force(self.session.pid)
                    if writer.let_go():
                        facts["waits"].append([self._name(oid), mode, in_force])
        asleep = any(row[3] in ("Timeout", "IPC") for row in rows)
        locked = any(row[2] == "t" and self._name(row[0]) for row in rows)
        now = (time.monotonic(), processor_seconds(self.session.pid))
        if self._looked:
            passed = now[0] - self._looked[0]
            facts["slept"] += passed if asleep else 0.0
            if locked:
                facts["held"] += passed if asleep else now[1] - self._looked[1]
        self._looked = now
        if facts["slept"] > MOST_SLEEP:  # it may try again and again without waiting, and must succeed once
            self._leave()

    def _counts(self) -> dict[str, Any]:
        """Rows read or written in this transaction. Every name is qualified: the migration may set its search path."""
        settings = ("lock_timeout", "statement_timeout")
        shown = ", ".join(f"pg_catalog.current_setting('{name}')" for name in settings)
        rows = self.session.run(
            f"SELECT {shown}, relid, seq_tup_read, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del"
            " FROM pg_catalog.pg_stat_xact_all_tables"
        )
        counts: dict[str, Any] = dict(zip(settings, rows[0], strict=False))
        for row in rows:
            if name := self._name(row[2]):
                numbers = [int(value or 0) for value in row[3:]]
                counts[name] = max(sum(numbers[:2]), sum(numbers[2:]))
        return counts

    def _locks(self) -> list[list[str | None]]:
        rows = self.admin.run(
            f"SELECT relation::bigint, mode FROM pg_locks WHERE pid = {self.session.pid} AND granted"
            f" AND locktype = 'relation' AND mode IN {STRONG} ORDER BY relation, mode"
        )
        return [[name, row[1]] for row in rows if (name := self._name(row[0]))]

    def _name(self, oid: Any) -> str | None:
        return next((name for name, known in self.tables.items() if oid is not None and known == int(oid)), None)

    def _present(self) -> dict[int, str]:
        """The tables that are still there, with their names now."""
        listed = ", ".join(map(str, self.tables.values()))
        rows = self.admin.run(
            "SELECT format('%I.%I', n.nspname, c.relname), c.oid::bigint"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            f" WHERE c.oid IN ({listed}) AND c.relkind IN ('r', 'p')"
        )
        return {int(oid or 0): str(name) for name, oid in rows}

    def _log(self, start: int) -> Facts:
        """What the server said about this session: DDL commands with their locks, and tables read or rewritten."""
        if log_size() - start > MOST_LOG:
            return {"flooded": True}
        events: list[Facts] = []
        scans: list[str] = []
        since: list[str] = []
        mine = f"{self.session.pid}|"
        for line in read_log(start).splitlines():
            if not line.startswith(mine):
                continue
            level, _, message = line[len(mine) :].partition(":  ")
            if level == "LOG" and message.startswith(self.mark):
                try:
                    event = json.loads(message[len(self.mark) :])
                    event["locks"] = [[name, mode] for oid, mode in event["locks"] or [] if (name := self._name(oid))]
                    event["scans"], since = since, []
                    events.append(event)
                except (ValueError, TypeError, KeyError, RecursionError):
                    continue
            elif level == "DEBUG" and message.startswith(("rewriting", "verifying", "building index", "validating")):
                scans.append(message[:120])
                since.append(message[:120])
        return {"events": events[:400], "scans": scans[:100], "more": len(events) > 400}


def main() -> None:
    """Set up, migrate, look."""
    job = json.load(sys.stdin)
    subprocess.run(["tar", "-xzf", "template.tar.gz"], check=True)
    server = start_server(job["programs"], user="admin", database="app")
    try:
        admin = Session("admin", "app")
        admin.run("SET search_path = pg_catalog, pg_temp")
        job["secret"] = os.urandom(16).hex()
        admin.run(f"INSERT INTO observer.secret VALUES ('{job['secret']}')")
        if lock_timeout_in_force(admin.pid) is None:
            raise ServerGone("the server does not tell the lock_timeout of its sessions")
        tables = _set_up(job, admin)
        facts: Facts = {"before": _state(admin, tables), "runs": [], "gone": None}
    except (Refused, ServerGone, OSError) as fault:
        sys.stderr.write(f"the tables of the case could not be set up: {fault}\n")
        sys.exit(3)
    try:
        for _ in range(2 if job["again"] else 1):
            start = _position(admin)
            facts["runs"].append(_run(job, admin, tables))
            facts["runs"][-1]["writes"] = _writes(admin, tables, facts["before"], start)
            facts["after"] = _state(admin, tables)
            facts["inventory"] = sorted(str(row[0]) for query in INVENTORY for row in admin.run(query))
            facts.setdefault("first", {"after": facts["after"], "inventory": facts["inventory"]})
            if _failed(facts["runs"][-1]):
                break
        looking = _client()
        facts["probes"] = [_probe(looking, probe) for probe in job["probes"]]
    except (ServerGone, Refused, OSError) as gone:
        facts["gone"] = str(gone)[:300]
    sys.stdout.write(json.dumps(facts))
    sys.stdout.flush()
    server.kill()
    os._exit(0)


def _set_up(job: Facts, admin: Session) -> dict[str, int]:
    owner = Session("app", "app")
    owner.run(job["schema"])
    owner.run(job["rows"])
    for statement in job["earlier"]:
        try:
            owner.run(statement)
        except Refused as refused:
            if refused.code != "23505":  # an index that cannot be built is what such a case is about
                raise
    owner.close()
    admin.run("ANALYZE")
    looking = _client()
    job["usual"] = [_code(_probe(looking, statement)) for statement in job["old_code"]]
    looking.close()
    found = {}
    for name in job["tables"]:
        found[name] = int(admin.run(f"SELECT 'public.{name}'::regclass::oid::bigint")[0][0] or 0)
    return found


def _run(job: Facts, admin: Session, tables: dict[str, int]) -> Facts:
    facts: Facts = {"statements": [], "old_code": []}
    looking = _client() if job["old_code"] else None
    for name, text in job["files"]:
        try:
            statements = split(text)
        except MetaCommand as command:
            facts["statements"].append({"file": name, "sql": str(command), "error": ["psql", str(command)]})
            return facts
        if len(statements) > MOST_STATEMENTS:
            facts["statements"].append({"file": name, "sql": "", "error": ["many", f"{len(statements)} statements"]})
            return facts
        observed = Observed(admin, tables, job["secret"])
        for statement in statements:
            done = {"file": name, **observed.run(statement)}
            facts["statements"].append(done)
            if done["error"]:
                observed.close()
                return facts
            if looking is not None and observed.session.status == "I" and not facts["old_code"]:
                for old, usual in zip(job["old_code"], job["usual"], strict=True):
                    code = _code(_probe(looking, old))
                    if code != usual:
                        facts["old_code"].append([done["sql"], old, usual, code])
        observed.close()
    return facts


def _failed(run: Facts) -> bool:
    return any(statement["error"] for statement in run["statements"])


def _state(admin: Session, tables: dict[str, int]) -> Facts:
    """For each table in use: its name now, the file that holds it, and its kind."""
    state: Facts = {}
    for name, oid in tables.items():
        rows = admin.run(f"SELECT relname, relfilenode::bigint, relkind FROM pg_class WHERE oid = {oid}")
        state[name] = rows[0] if rows else None
    return state


def _client() -> Session:
    """A session as the application has it."""
    session = Session("app", "app")
    session.run("SET search_path = public")
    session.run("SET lock_timeout = '2s'")
    session.run("SET statement_timeout = '15s'")
    return session


def _probe(session: Session, statement: str) -> Facts:
    """Run something that leaves no trace."""
    session.run("BEGIN")
    try:
        return {"rows": session.run(statement)[:50]}
    except Refused as refused:
        return {"error": [refused.code, refused.message[:200]]}
    finally:
        session.run("ROLLBACK")


def _code(result: Facts) -> str | None:
    """The SQLSTATE that a statement failed with; `None` if it worked."""
    return result["error"][0] if "error" in result else None


def _writes(admin: Session, tables: dict[str, int], before: Facts, start: str) -> Facts:
    """The most rows of each table that a commit since `start` wrote, wrote and changed the schema too, and locked.

    The write-ahead log has a record for each written row. A subtransaction has the commit time of its transaction.
    """
    admin.run(
        "UPDATE observer.secret SET word = word"
    )  # its commit completes the log on disk, which is what can be read
    writes: Facts = {}
    for name, oid in tables.items():
        changed = " UNION ALL ".join(
            f"SELECT pg_xact_commit_timestamp(xmin) FROM {catalog} WHERE {column} = {oid}"
            for catalog, column in CATALOGS
        )
        exclusive = (
            "SELECT pg_xact_commit_timestamp(xid) FROM log"
            f" WHERE resource_manager = 'Standby' AND record_type = 'LOCK' AND description ~ ' rel {oid}\\M'"
        )
        row = admin.run(
            "WITH log AS (SELECT * FROM"
            f" observer.pg_get_wal_records_info('{start}', pg_current_wal_flush_lsn())),"
            " written AS (SELECT pg_xact_commit_timestamp(xid) AS at,"
            " count(*) FILTER (WHERE record_type <> 'LOCK') AS rows,"
            " count(*) FILTER (WHERE record_type = 'LOCK') AS locked FROM log"
            " WHERE resource_manager IN ('Heap', 'Heap2')"
            " AND record_type ~ '^(HOT_)?(UPDATE|INSERT|DELETE|MULTI_INSERT|LOCK)'"
            f" AND block_ref LIKE '%/{before[name][1]} fork main%' GROUP BY 1)"
            f" SELECT max(rows), max(rows) FILTER (WHERE at IN ({changed} UNION ALL {exclusive})), max(locked)"
            " FROM written WHERE at IS NOT NULL"
        )[0]
        writes[name] = [int(value or 0) for value in row]
    return writes


def _position(admin: Session) -> str:
    return str(admin.run("SELECT pg_current_wal_insert_lsn()")[0][0])
