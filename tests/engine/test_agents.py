"""Students with tools: what they see, what is recorded of them, and how their trials end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.conftest import Ran, Run
from upskill.domain import Scored, Trial

Make = Callable[..., Path]


def call(tool: str, **arguments: str) -> dict[str, Any]:
    """A reply that calls a tool."""
    return {"tool": tool, "arguments": arguments}


def shell(command: str) -> dict[str, Any]:
    """A reply that runs a command line."""
    return call("shell", command=command)


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Writes a script and names it as a student."""

    def write(*rules: dict[str, Any]) -> str:
        path = tmp_path / "student.yaml"
        path.write_text(yaml.safe_dump({"rules": list(rules)}), encoding="utf-8")
        return f"scripted/{path}"

    return write


def turns(*replies: Any, arm: str | None = None) -> list[dict[str, Any]]:
    """Rules that give these replies one after the other."""
    rules: list[dict[str, Any]] = [{"turn": n, "replies": [reply]} for n, reply in enumerate(replies, 1)]
    return rules if arm is None else [{**rule, "arm": arm} for rule in rules]


def by_arm(ran: Ran) -> dict[str, Trial]:
    return {trial.arm: trial for trial in ran.trials}


CASE = [("Write the port into port.txt.", {"contains": "done"})]


def test_an_agent_works_in_its_sandbox_and_what_it_leaves_is_kept(skill: Make, run: Run, script: Any) -> None:
    student = script(
        *turns(
            shell("cat input.txt; echo 7413 > port.txt; mkdir sub; printf '\\377\\000' > sub/raw"),
            call("read_file", path="port.txt"),
            call("write_file", path="notes/a.md", content="hello\n"),
            "done",
        )
    )
    folder = skill(CASE, files={"input.txt": "given\n"})
    ran = run(folder, [student], harness="agent")
    for trial in ran.trials:
        assert isinstance(trial.outcome, Scored)
        assert trial.outcome.passed, trial.outcome
        assert dict(trial.files) == {"port.txt": b"7413\n", "sub/raw": b"\xff\x00", "notes/a.md": b"hello\n"}
        assert trial.turns == 4
    assert [arm.arm for arm in ran.evaluation.students[0].arms] == ["baseline", "offered", "with_skill"]
