"""Runs inside the sandbox: starts the model's program once in each folder. Decides nothing.

    python convert.py convert.sql FOLDER…

SQL runs in a database that may use the folder only; Python in a process of its own, in isolated mode.
"""

import os
import subprocess
import sys
from pathlib import Path


def run_sql(program: Path) -> None:
    """Run all statements of the file in a new database in memory."""
    import duckdb

    nothing_else = {"autoinstall_known_extensions": False, "autoload_known_extensions": False, "threads": 2}
    with duckdb.connect(config={"python_enable_replacements": False, **nothing_else}) as database:
        database.execute("SET allowed_directories = [$folder]", {"folder": str(Path.cwd())})
        database.execute("SET enable_external_access = false")
        database.execute(program.read_text(encoding="utf-8"))


def main() -> int:
    """Run the program in every folder; stop at the first one in which it fails."""
    name, *folders = sys.argv[1:]
    program = Path(name).resolve()
    for folder in folders:
        os.chdir(folder)
        if name.endswith(".sql"):
            run_sql(program)
        else:
            ended = subprocess.run([sys.executable, "-I", "-B", str(program)], check=False)
            if ended.returncode:
                return 1
        os.chdir(program.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
