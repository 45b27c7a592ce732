"""Types commands into one process: what is imported once serves all of them. Run by `test_docs.py`, as a child.

Reads one JSON object per line, `{"words", "cwd", "variables"}`, and answers with `{"code", "stdout", "stderr"}`.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


@contextmanager
def _diverted(stream: int) -> Iterator[IO[bytes]]:
    """Whatever goes to a descriptor goes into a file for a while."""
    kept = os.dup(stream)
    with tempfile.TemporaryFile() as into:
        os.dup2(into.fileno(), stream)
        try:
            yield into
        finally:
            os.dup2(kept, stream)
            os.close(kept)


def type_in(words: list[str], *, cwd: str, variables: dict[str, str]) -> dict[str, object]:
    """One command, from its words to its exit code."""
    from upskill.cli import main

    before = dict(os.environ)
    os.chdir(cwd)
    os.environ.update(variables)
    sys.argv = ["upskill", *words]
    try:
        with _diverted(1) as out, _diverted(2) as err:
            try:
                main()
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
            sys.stdout.flush()
            sys.stderr.flush()
            printed = []
            for file in (out, err):
                file.seek(0)
                printed.append(file.read().decode("utf-8", "replace"))
    finally:
        os.environ.clear()
        os.environ.update(before)
    return {"code": code, "stdout": printed[0], "stderr": printed[1]}


def serve() -> None:
    """Until nothing more comes in."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        answers.write(json.dumps(type_in(**json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
