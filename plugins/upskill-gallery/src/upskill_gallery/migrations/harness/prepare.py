"""Makes a server with one empty database and packs it up: `template.tar.gz` in the workspace. Runs inside the sandbox.

The role `app` owns nothing yet and may create in `public`. The role `admin` owns two event triggers, which write into
the server's log what every DDL command of every session locks. Only a superuser can drop or skip them, or read the
secret word that is in each of their lines.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from upskill_gallery.migrations.harness.postgres import DATA, FOLDER, LOG, PRELOADED, Session, start_server

OBSERVER = """
CREATE FUNCTION observer.note() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE LOG 'observed % %', (SELECT word FROM observer.secret), json_build_object(
    'event', tg_event,
    'tag', tg_tag,
    'lock_timeout', current_setting('lock_timeout'),
    'locks', (
      SELECT json_agg(json_build_array(relation::bigint, mode) ORDER BY relation, mode) FROM pg_locks
      WHERE pid = pg_backend_pid() AND locktype = 'relation' AND granted
        AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')));
END $$
"""


def main() -> None:
    """Build the server. The first argument is the folder with PostgreSQL's programs."""
    programs = sys.argv[1]
    Path(FOLDER).mkdir(0o700)
    sources = [str(Path(__file__).with_name(name)) for name in ("shared_memory.c", "lock_timeout.c")]
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", PRELOADED, *sources], check=True)
    flags = ["-D", DATA, "-U", "admin", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "--wal-segsize=1"]
    subprocess.run(
        [f"{programs}/initdb", *flags],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "LD_PRELOAD": PRELOADED},
    )
    server = start_server(programs, user="admin", database="postgres")
    first = Session("admin", "postgres")
    first.run("CREATE ROLE app LOGIN")
    first.run("CREATE ROLE reporting")
    first.run("CREATE DATABASE app TEMPLATE template0")
    first.close()
    second = Session("admin", "app")
    second.run("UPDATE pg_catalog.pg_database SET datistemplate = false")
    for database in ("postgres", "template0", "template1"):
        second.run(f"DROP DATABASE {database}")
    second.run("GRANT CREATE ON SCHEMA public TO app")
    second.run("CREATE SCHEMA observer")
    for extension in ("pg_walinspect", "pg_stat_statements"):
        second.run(f"CREATE EXTENSION {extension} SCHEMA observer")
    second.run("CREATE TABLE observer.secret (word text)")
    second.run(OBSERVER)
    second.run("CREATE EVENT TRIGGER observer_start ON ddl_command_start EXECUTE FUNCTION observer.note()")
    second.run("CREATE EVENT TRIGGER observer_end ON ddl_command_end EXECUTE FUNCTION observer.note()")
    second.run("CHECKPOINT")
    second.close()
    server.send_signal(signal.SIGINT)
    server.wait(30)
    Path(LOG).unlink()
    subprocess.run(["tar", "-C", str(Path(FOLDER).parent), "-czf", "template.tar.gz", Path(FOLDER).name], check=True)
