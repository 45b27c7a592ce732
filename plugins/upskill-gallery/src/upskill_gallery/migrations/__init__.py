"""Checks that run a migration on a real database and look at what it did: `postgres-migration`, `sqlite-migration`."""

import json

from upskill.checks.plugin import Finding, Inspection, Json
from upskill_gallery.migrations import server, task
from upskill_gallery.migrations.rules import violations

SECONDS = 90
MOST_SQL = 200_000


class PostgresMigration:
    """Runs the files of the answer on a PostgreSQL server in a sandbox, as a role that is no superuser."""

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """What is wrong with `with`; see `task.Task`."""
        return task.problems(given)

    def __call__(self, inspection: Inspection) -> Finding:
        """Run the migration and judge what was seen."""
        asked = task.read_task(inspection.given)
        files = []
        for name in asked.files:
            text = inspection.answer.files.get(name)
            if text is None and inspection.only_block is not None and len(asked.files) == 1:
                text = inspection.only_block.encode()
            if text is None:
                return Finding(False, f"there is no {name}")
            if len(text) > MOST_SQL:
                return Finding(False, f"{name} has {len(text)} bytes; at most {MOST_SQL} are read")
            files.append([name, text.decode("utf-8", "replace")])
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
        said = ran.stderr.decode("utf-8", "replace").strip()[-300:]
        if ran.ended == "gone" or (ran.ended == "exit" and ran.exit_code == 3):
            raise RuntimeError(f"the migration could not be run: {said or ran.ended}")
        if ran.ended != "exit" or ran.exit_code != 0:
            return Finding(False, f"the migration did not come to an end: {ran.ended} {said}")
        found = list(violations(asked, json.loads(ran.stdout)))
        statements = len(json.loads(ran.stdout)["runs"][0]["statements"])
        return Finding(not found, "; ".join(found) or f"{statements} statements, none of which breaks a rule")


postgres_migration = PostgresMigration()
