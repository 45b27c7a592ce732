"""A PostgreSQL server of one's own, and a client for it that speaks the simple query protocol. Runs inside the sandbox.

The client sends exactly what it is given: it knows no command of psql, no variables and no files.
"""

import os
import re
import select
import socket
import struct
import subprocess
import time
from pathlib import Path

FOLDER = "/workspace/server"
DATA = f"{FOLDER}/data"
LOG = f"{FOLDER}/log"
PRELOADED = f"{FOLDER}/preloaded.so"
PORT = 5432
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_directories": FOLDER,
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "8MB",
    "max_connections": "12",
    "max_wal_senders": "0",
    "wal_level": "replica",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "1h",
    "max_logical_replication_workers": "0",
    "max_parallel_workers": "0",
    "autovacuum": "off",
    "jit": "off",
    "TimeZone": "Europe/Berlin",
    "track_commit_timestamp": "on",
    "log_min_messages": "debug1",
    "log_line_prefix": "%p|",
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track": "all",
    "pg_stat_statements.save": "off",
}
Row = list[str | None]


class ServerGone(Exception):
    """The connection broke, or the server did not answer in time."""


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Session:
    """One connection."""

    def __init__(self, user: str, database: str, *, seconds: float = 45.0) -> None:
        self.seconds = seconds
        self.status = "I"
        self.pid = 0
        self.tag = ""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(f"{FOLDER}/.s.PGSQL.{PORT}")
        self._unread = b""
        words = f"user\0{user}\0database\0{database}\0client_encoding\0UTF8\0\0".encode()
        self._socket.sendall(struct.pack("!ii", len(words) + 8, 196_608) + words)
        self._answer()

    def run(self, sql: str) -> list[Row]:
        """The rows of the last statement. Raises `Refused` and `ServerGone`."""
        self.send(sql)
        return self._answer()

    def send(self, sql: str) -> None:
        """Send without waiting for the answer."""
        self._message(b"Q", sql.encode("utf-8", "replace").replace(b"\0", b"") + b"\0")

    def wait(self, seconds: float) -> bool:
        """Whether an answer has begun to arrive."""
        return bool(self._unread) or bool(select.select([self._socket], [], [], seconds)[0])

    def receive(self) -> list[Row]:
        """The answer to what was sent."""
        return self._answer()

    def close(self) -> None:
        """As psql does at the end of a file: what is not committed is lost."""
        try:
            self._message(b"X", b"")
            self._socket.settimeout(self.seconds)
            while self._socket.recv(65536):
                pass
        except OSError:
            pass
        self._socket.close()

    def _message(self, kind: bytes, body: bytes) -> None:
        try:
            self._socket.sendall(kind + struct.pack("!i", len(body) + 4) + body)
        except OSError as error:
            raise ServerGone(str(error)) from None

    def _answer(self) -> list[Row]:
        rows: list[Row] = []
        refused: Refused | None = None
        until = time.monotonic() + self.seconds
        while True:
            kind, body = self._next(until)
            if kind == b"D":
                rows.append(_row(body))
            elif kind == b"T":
                rows = []
            elif kind == b"C":
                self.tag = body[:-1].decode()
            elif kind == b"K":
                self.pid = int(struct.unpack("!i", body[:4])[0])
            elif kind == b"G":
                self._message(b"f", b"there is no input\0")
            elif kind == b"E":
                fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in body.split(b"\0") if part}
                refused = refused or Refused(fields.get(b"C", "?"), fields.get(b"M", "?"))
                if fields.get(b"V") in ("FATAL", "PANIC"):
                    raise ServerGone(str(refused))
            elif kind == b"Z":
                self.status = body.decode()
                if refused is not None:
                    raise refused
                return rows

    def _next(self, until: float) -> tuple[bytes, bytes]:
        head = self._exactly(5, until)
        return head[:1], self._exactly(struct.unpack("!i", head[1:])[0] - 4, until)

    def _exactly(self, count: int, until: float) -> bytes:
        while len(self._unread) < count:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                raise ServerGone(f"no answer within {self.seconds:g} s")
            try:
                chunk = self._socket.recv(65536)
            except OSError as error:
                raise ServerGone(str(error)) from None
            if not chunk:
                raise ServerGone("the server closed the connection")
            self._unread += chunk
        taken, self._unread = self._unread[:count], self._unread[count:]
        return taken


def start_server(programs: str, *, user: str, database: str) -> "subprocess.Popen[bytes]":
    """Start it and wait until it accepts a session. Raises `ServerGone`."""
    flags = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    environment: dict[str, str] = {**os.environ, "LD_PRELOAD": PRELOADED}
    with Path(LOG).open("ab") as log:
        server = subprocess.Popen(
            [f"{programs}/postgres", "-D", DATA, *flags],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
        )
    for _ in range(2_000):
        try:
            Session(user, database).close()
        except (OSError, ServerGone):
            if server.poll() is not None:
                break
            time.sleep(0.01)
        else:
            return server
    raise ServerGone(f"the server did not start: {read_log(0)[-500:]}")


def log_size() -> int:
    """How many bytes the log has."""
    return Path(LOG).stat().st_size


def read_log(start: int) -> str:
    """The log from a position on."""
    with Path(LOG).open("rb") as log:
        log.seek(start)
        return log.read().decode("utf-8", "replace")


def lock_timeout_in_force(pid: int) -> int | None:
    """The milliseconds after which a session gives up waiting for a lock, 0 if never. `lock_timeout.c` logs it."""
    found = re.findall(rf"^{pid}\|lock_timeout:  (\d+)$", read_log(0), re.MULTILINE)
    return int(found[-1]) if found else None


def processor_seconds(pid: int) -> float:
    """How long a process of the server has computed. Raises `ServerGone`."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError as error:
        raise ServerGone(str(error)) from None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _row(body: bytes) -> Row:
    at = 2
    row: Row = []
    for _ in range(struct.unpack("!h", body[:2])[0]):
        length = struct.unpack("!i", body[at : at + 4])[0]
        at += 4
        if length < 0:
            row.append(None)
        else:
            row.append(body[at : at + length].decode("utf-8", "replace"))
            at += length
    return row
