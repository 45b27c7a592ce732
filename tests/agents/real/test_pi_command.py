"""The harness of an installed plug-in, typed as a person does: `upskill eval --harness pi`, with a scripted model."""

import json
from pathlib import Path

import pytest

from agents.real import zebra
from forking import Forker

LOADED = {"tool": "read", "arguments": {"path": f"/home/agent/.pi/agent/skills/{zebra.NAME}/SKILL.md"}}


def _writes(answer: str | None) -> dict[str, object]:
    return {"tool": "bash", "arguments": {"command": answer}}


def test_a_skill_that_helps_in_pi_is_seen_to_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forker: Forker
) -> None:
    zebra.settle(monkeypatch, tmp_path)
    skill = zebra.make_skill(tmp_path, {f"c{number}": f"Write greeting {number}." for number in range(6)})
    done = {"replies": ["It is done."]}
    rules = [
        {"arm": "offered", "turn": 1, "replies": [LOADED]},
        {"arm": "offered", "turn": 2, "replies": [_writes(zebra.right("").command)]},
        {"arm": "with_skill", "turn": 1, "replies": [_writes(zebra.right("").command)]},
        {"arm": "baseline", "turn": 1, "replies": [_writes(zebra.wrong("").command)]},
        done,
    ]
    script = tmp_path / "student.json"
    script.write_text(json.dumps({"rules": rules}), encoding="utf-8")
    which = ("-m", f"scripted/{script}", "--harness", "pi", "--runs", "1", "--yes", "--json")
    measured = forker.run("eval", str(skill), *which, cwd=tmp_path, UPSKILL_AGENT_BIN=str(zebra.PROGRAMS["pi"]))
    assert measured.returncode == 0, measured.stderr
    (student,) = json.loads(measured.stdout)["students"]
    assert (student["harness"], student["verdict"]) == ("pi", "helps")
    assert (student["loads"]["answers"], student["loads"]["loaded"]) == (6, 6)


def test_without_pi_the_command_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forker: Forker
) -> None:
    monkeypatch.setenv("PATH", "/usr/sbin")
    examined = forker.run("doctor", "--harness", "pi", cwd=tmp_path)
    assert examined.returncode == 2
    assert examined.stderr.splitlines()[0] == ("error: the harness pi needs the program `pi`, which is not installed")
