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
from upskill_gallery.migrations.harness.postgres import Refused, ServerGone, Session, log_size, read_log, start_server
from upskill_gallery.migrations.harness.statements import MetaCommand, first_word, split

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
MOST_STATEMENTS = 500
Facts = dict[str, Any]


class Writer:
    """A session of the application that has written to a table and not committed yet."""

    def __init__(self, table: str, oid: int) -> None:
        self.oid = oid
        self.session = Session("app", "app")
        self._lock = f"BEGIN; LOCK TABLE ONLY {table} IN ROW EXCLUSIVE MODE"
        self._waits = False
        self.session.run(self._lock)

    def let_go(self) -> bool:
        """Let one go by who waits for the table, and write again after it. Whether the table was held at all."""
        if self._waits and not self.session.wait(0):
            return False
        if self._waits:
            self.session.receive()
        self.session.run("ROLLBACK")
        self.session.send(self._lock)
        self._waits = True
        return True


class Observed:
    """A session of the migration and those that look at it."""

    def __init__(self, admin: Session, tables: dict[str, int], secret: str) -> None:
        self.admin = admin
        self.tables = tables
        self.mark = f"observed {secret} "
        self.session = Session("app", "app")

    def run(self, statement: str) -> Facts:
        """Run one statement; what it locked, read and wrote."""
        facts: Facts = {"sql": " ".join(statement.split())[:160], "locks": [], "rows": {}, "error": None}
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
        facts["tag"] = self.session.tag
        facts["log"] = self._log(start)
        return facts

    def _watched(self, statement: str, facts: Facts) -> None:
        before = self._counts()
        self.session.run(statement)
        if self.session.status == "T":
            after = self._counts()
            facts["lock_timeout"] = before["lock_timeout"]
            facts["rows"] = {name: after[name] - before[name] for name in self.tables if after[name] != before[name]}
            facts["locks"] = self._locks()

    def _alone(self, statement: str, facts: Facts) -> None:
        """One that commits by itself. While it runs, another session writes to the tables: who locks them must wait."""
        facts["alone"] = True
        if first_word(statement) not in ("do", "call"):
            self.session.run(statement)
            return
        writers = [Writer(name, oid) for name, oid in self._present().items()]
        facts["waits"] = []
        self.session.send(statement)
        until = time.monotonic() + self.session.seconds
        while not self.session.wait(0.005):
            if time.monotonic() > until:
                raise ServerGone(f"no answer within {self.session.seconds:g} s")
            for row in self.admin.run(
                f"SELECT relation::bigint, mode FROM pg_locks WHERE pid = {self.session.pid} AND NOT granted"
            ):
                for writer in writers:
                    if row[0] == str(writer.oid) and writer.let_go():
                        facts["waits"].append([self._name(row[0]), row[1]])
        self.session.receive()
        for writer in writers:
            writer.session.close()

    def _counts(self) -> dict[str, Any]:
        """Rows read and written in this transaction. Every name is qualified: the migration may set its search path."""
        words = ["pg_catalog.current_setting('lock_timeout')"]
        for oid in self.tables.values():
            for kind in ("returned", "inserted", "updated", "deleted"):
                words.append(f"pg_catalog.pg_stat_get_xact_tuples_{kind}('{oid}'::pg_catalog.oid)")
        row = self.session.run(f"SELECT {', '.join(words)}")[0]
        numbers = [int(value or 0) for value in row[1:]]
        return {
            "lock_timeout": row[0],
            **{name: sum(numbers[4 * at : 4 * at + 4]) for at, name in enumerate(self.tables)},
        }

    def _locks(self) -> list[list[str | None]]:
        rows = self.admin.run(
            f"SELECT relation::bigint, mode FROM pg_locks WHERE pid = {self.session.pid} AND granted"
            f" AND locktype = 'relation' AND mode IN {STRONG} ORDER BY relation, mode"
        )
        return [[name, row[1]] for row in rows if (name := self._name(row[0]))]

    def _name(self, oid: Any) -> str | None:
        return next((name for name, known in self.tables.items() if oid is not None and known == int(oid)), None)

    def _present(self) -> dict[str, int]:
        listed = ", ".join(map(str, self.tables.values()))
        rows = self.admin.run(
            "SELECT format('%I.%I', n.nspname, c.relname), c.oid::bigint"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            f" WHERE c.oid IN ({listed}) AND c.relkind IN ('r', 'p')"
        )
        return {str(name): int(oid or 0) for name, oid in rows}

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
                observed.session.close()
                return facts
            if looking is not None and observed.session.status == "I" and not facts["old_code"]:
                for old, usual in zip(job["old_code"], job["usual"], strict=True):
                    code = _code(_probe(looking, old))
                    if code != usual:
                        facts["old_code"].append([done["sql"], old, usual, code])
        observed.session.close()
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
    if admin.run(f"SELECT pg_current_wal_flush_lsn() <= '{start}'")[0][0] == "t":
        return {name: [0, 0, 0] for name in tables}
    writes: Facts = {}
    for name, oid in tables.items():
        changed = " UNION ALL ".join(
            f"SELECT pg_xact_commit_timestamp(xmin) FROM {catalog} WHERE {column} = {oid}"
            for catalog, column in CATALOGS
        )
        row = admin.run(
            "WITH written AS (SELECT pg_xact_commit_timestamp(xid) AS at,"
            " count(*) FILTER (WHERE record_type <> 'LOCK') AS rows,"
            " count(*) FILTER (WHERE record_type = 'LOCK') AS locked"
            f" FROM observer.pg_get_wal_records_info('{start}', pg_current_wal_flush_lsn())"
            " WHERE resource_manager IN ('Heap', 'Heap2')"
            " AND record_type ~ '^(HOT_)?(UPDATE|INSERT|DELETE|MULTI_INSERT|LOCK)'"
            f" AND block_ref LIKE '%/{before[name][1]} fork main%' GROUP BY 1)"
            f" SELECT max(rows), max(rows) FILTER (WHERE at IN ({changed})), max(locked)"
            " FROM written WHERE at IS NOT NULL"
        )[0]
        writes[name] = [int(value or 0) for value in row]
    return writes


def _position(admin: Session) -> str:
    return str(admin.run("SELECT pg_current_wal_insert_lsn()")[0][0])
