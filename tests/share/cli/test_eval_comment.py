"""`upskill eval --write FILE.md`: what one skill of a change may be besides changed."""

import shutil
from pathlib import Path

from share.cli.gate import new_gate
from typed import Upskill


def test_one_skill_of_a_change_may_be_unchanged_or_new(
    upskill: Upskill, tmp_path: Path, example_skill: Path, scripted_student: Path
) -> None:
    gate = new_gate(tmp_path / "gate")
    gate.write("readme.md", "empty")
    empty = gate.commit("empty")
    shutil.copytree(example_skill, gate.repository / "skills" / "tarnctl")
    gate.commit("a new skill")
    words = (
        "eval",
        "skills/tarnctl",
        "-m",
        f"scripted/{scripted_student}",
        "--require",
        "no-harm",
        "--write",
        "c.md",
    )

    done = upskill(*words, "--compare", "git:HEAD", cwd=gate.repository)
    assert done.returncode == 0, done.stderr
    comment = (gate.repository / "c.md").read_text("utf-8")
    assert "### upskill: no skill was measured\n" in comment
    assert "- unchanged: tarnctl\n" in comment

    done = upskill(*words, "--compare", f"git:{empty}", cwd=gate.repository)
    assert done.returncode == 0, done.stderr
    comment = (gate.repository / "c.md").read_text("utf-8").replace("\u00a0", " ")
    assert "### upskill: 1 skill helps, none is shown to be worse\n" in comment
    assert "| tarnctl (new) | student | ▲ helps |" in comment
