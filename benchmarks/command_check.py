"""What one `command` check costs beside the bare command: `python -m benchmarks.command_check [TIMES]`.

Prints medians in milliseconds, as JSON. The check opens a fresh sandbox, looks for the program, puts the files in, runs
the command and closes the sandbox.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import cast

from upskill.core.checks import GradingContext, grade
from upskill.core.nouns import Answer, Case, Check
from upskill.core.nouns.case import Json
from upskill.sandbox import open_sandbox

COMMANDS = {
    "true": ["true"],
    "python": ["/usr/bin/python3", "-I", "-B", "-c", "import json; json.loads('[1, 2]')"],
}


def main() -> None:
    """Both in turn, so that a busy machine slows both."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    context = GradingContext(open_sandbox=open_sandbox)
    answer = Answer(text="done", files={"a.py": b"print(1)\n", "src/b.py": b"x = 1\n"})
    found = {}
    for name, argv in COMMANDS.items():
        case = Case(id="c", prompt="p", checks=(Check(kind="command", spec=cast(Json, argv)),))
        checked, bare = [], []
        for _ in range(times):
            checked.append(_milliseconds(partial(grade, case, answer, context=context)))
            bare.append(_milliseconds(partial(subprocess.run, argv, check=True)))
        median, plain = statistics.median(checked), statistics.median(bare)
        found[name] = {"check_ms": round(median, 1), "bare_ms": round(plain, 1), "added_ms": round(median - plain, 1)}
    print(json.dumps({"times": times, **found}))


def _milliseconds(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return (time.perf_counter() - began) * 1_000


if __name__ == "__main__":
    main()
