"""Programs of a draft, tried in real sandboxes."""

import pytest

from upskill.generation.programs import Program, sandboxed, try_programs
from upskill.sandbox import Sandbox, SandboxSpec, SandboxUnavailable, open_sandbox

PROVEN = ["make test", "python3 check.py"]
MAKEFILE = {"Makefile": b"test:\n\t@echo PASS\n"}


@pytest.mark.parametrize(
    ("program", "fate", "why"),
    [
        (Program(path="scripts/a.sh", text="set -e\nmake test\n", inputs=MAKEFILE), "ran", "exit code 0"),
        (Program(path="scripts/a.sh", text="set -e\nmake test\n"), "text", "ended with exit code 2"),
        (Program(path="scripts/a.sh", text="make test; if\n", inputs=MAKEFILE), "broken", "is no sh"),
        (Program(path="scripts/a.bash", text="[[ -f x ]] || make test\n", inputs=MAKEFILE), "ran", "exit code 0"),
        (Program(path="scripts/a.sh", text="sleep 60\n"), "text", "was stopped (timeout)"),
        (Program(path="scripts/a.py", text="import sys\nprint(sys.argv[1])\n", arguments=("x",)), "ran", "exit code 0"),
        (Program(path="scripts/a.py", text="import sys\nprint(sys.argv[1])\n"), "text", "IndexError"),
        (Program(path="scripts/a.py", text="def f(:\n"), "broken", "is no Python"),
        (Program(path="scripts/a.sh", text="curl example.org\n"), "text", "did not prove: curl"),
    ],
)
def test_a_program_is_taken_only_if_it_ran(program: Program, fate: str, why: str) -> None:
    run = sandboxed(open_sandbox, seconds=2)
    (one,) = try_programs([program], proven=PROVEN, files={}, run=run)
    assert (one.status, why in one.why) == (fate, True), one.why


def test_what_a_program_writes_stays_in_its_sandbox() -> None:
    program = Program(path="scripts/a.sh", text="echo mine > /workspace/scripts/a.sh; make test\n", inputs=MAKEFILE)
    (one,) = try_programs([program], proven=PROVEN, files={}, run=sandboxed(open_sandbox))
    assert one.program.text.startswith("echo mine")


def test_without_a_sandbox_programs_stay_text() -> None:
    def none(spec: SandboxSpec) -> Sandbox:
        raise SandboxUnavailable("there is none")

    program = Program(path="scripts/a.sh", text="make test\n")
    (one,) = try_programs([program], proven=PROVEN, files={}, run=sandboxed(none))
    assert (one.status, one.why) == ("text", "scripts/a.sh: could not be run here")
