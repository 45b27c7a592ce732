"""`orders-numbers`: does the function `ordered` in the student's `solve.py` put numbers in order?

A check that is worth a plug-in: it brings files of its own, needs more memory and time than usual, and judges by
values that the student's program cannot know. The program only computes, inside the sandbox. What is right is decided
out here.
"""

import json
import random
from pathlib import Path

from upskill.core.checks.plugin import FileRefused, Finding, Inspection, Json, Limits, Mount, SandboxSpec

HARNESS = Path(__file__).parent / "harness"
SECONDS = 60
LIMITS = Limits(memory_mb=1_024, address_space_mb=None, cpu_seconds=SECONDS)
"""`address_space_mb=None`: compilers and interpreters of other languages reserve far more than they use."""


class OrdersNumbers:
    """A plug-in with both of the optional parts: what it needs, and what is wrong with what it is given."""

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """`with` may hold `longest`, how many numbers the longest list has."""
        if given is None:
            return []
        if not isinstance(given, dict) or set(given) - {"longest"}:
            return ['`with` must be an object such as {"longest": 1000}']
        longest = given.get("longest", 1)
        return [] if isinstance(longest, int) and 1 <= longest <= 100_000 else ["`longest` must be from 1 to 100,000"]

    def __call__(self, inspection: Inspection) -> Finding:
        """Run the student's program on lists it has not seen, and compare."""
        program = inspection.files.get("solve.py")
        if program is None and inspection.only_block is not None:
            program = inspection.only_block.encode()
        if program is None:
            return Finding(False, "there is no solve.py")
        longest = inspection.given.get("longest", 1_000) if isinstance(inspection.given, dict) else 1_000
        lists = _lists(int(str(longest)))
        furnishing = SandboxSpec(limits=LIMITS, mounts=(Mount(source=HARNESS, target="/opt/harness"),))
        with inspection.open_sandbox(furnishing) as sandbox:
            sandbox.put({"solve.py": program})
            # -I and -B: nothing that lies in the working folder is imported by accident, and nothing is cached.
            ran = sandbox.run(
                ["python3", "-I", "-B", "/opt/harness/drive.py"], seconds=SECONDS, stdin=json.dumps(lists).encode()
            )
            if ran.ended == "gone":
                raise RuntimeError("the sandbox is gone")  # nothing was measured, so this is no failed answer
            if ran.ended != "exit" or ran.exit_code != 0:
                return Finding(False, f"{ran.ended} {ran.exit_code}: {ran.stderr[-300:].decode('utf-8', 'replace')}")
            try:
                found = json.loads(sandbox.read("result.json"))
            except (FileNotFoundError, FileRefused, ValueError, RecursionError):
                return Finding(False, "it left no result")
        wrong = sum(theirs != sorted(ours) for theirs, ours in zip(found, lists, strict=False))
        wrong += abs(len(lists) - len(found)) if isinstance(found, list) else len(lists)
        return Finding(wrong == 0, f"{len(lists) - wrong} of {len(lists)} lists in order")


def _lists(longest: int) -> list[list[int]]:
    """The same every time, because a check must say the same of the same answer; with the awkward ones among them."""
    draw = random.Random(7413)
    usual = [[draw.randint(-1_000, 1_000) for _ in range(draw.randint(2, longest + 1))] for _ in range(5)]
    return [[], [1], [2, 2, 2], [-1, 0, -(10**20), 10**20], *usual]


orders_numbers = OrdersNumbers()
