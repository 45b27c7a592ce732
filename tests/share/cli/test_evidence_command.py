"""`upskill evidence` and `upskill verify`, typed as a person types them, on a run of the real engine."""

import json
import shutil
from pathlib import Path

from forking import Done
from typed import Upskill

ROOT = Path(__file__).parents[3]


def _typed(done: Done, code: int) -> Done:
    assert done.returncode == code, done.stderr
    return done


def test_a_skill_is_measured_carries_its_evidence_and_is_verified_until_it_is_edited(
    upskill: Upskill, here: Path
) -> None:
    shutil.copytree(ROOT / "examples", here / "examples")
    skill = here / "examples" / "tarnctl"
    nothing = _typed(upskill("evidence", "examples/tarnctl"), 1)
    assert nothing.stdout == ""
    assert "error: tarnctl: no finished run in runs measured this version" in nothing.stderr
    assert "hint:  measure it first: upskill eval examples/tarnctl -m MODEL" in nothing.stderr
    assert "has no evidence.json" in _typed(upskill("verify", "examples/tarnctl"), 1).stderr

    measured = _typed(upskill("eval", "examples/tarnctl", "-m", "scripted/examples/scripted/student.yaml", "--json"), 0)
    shown = _typed(upskill("evidence", "examples/tarnctl", "--dry-run"), 0)
    assert "would write examples/tarnctl/evidence.json" in shown.stderr
    assert not (skill / "evidence.json").exists()
    written = _typed(upskill("evidence", "examples/tarnctl"), 0)
    assert written.stdout == shown.stdout == (skill / "evidence.md").read_text()
    assert "A script answered, not a model" in written.stdout
    again = _typed(upskill("evidence", "examples/tarnctl/SKILL.md", "--json"), 0)
    evidence, evaluation = json.loads(again.stdout), json.loads(measured.stdout)
    assert evidence == json.loads((skill / "evidence.json").read_text())
    assert evidence["skill"]["digest"] == evaluation["skill"]["digest"]
    (result,) = evidence["results"]
    assert result["report"]["verdict"] == evaluation["students"][0]["verdict"] == "helps"
    assert result["report"]["sentence"] == evaluation["students"][0]["sentence"]

    done = _typed(upskill("verify", "examples/tarnctl"), 0)
    assert done.stdout.startswith("tarnctl: unchanged: the result still holds\n")
    assert done.stderr == ""
    listed = json.loads(upskill("list", "examples", "--json").stdout)["skills"]
    assert evaluation["skill"]["digest"] in [one["digest"] for one in listed]
    (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text() + "\nOne more line.\n")
    edited = json.loads(_typed(upskill("verify", "examples/tarnctl", "--json"), 1).stdout)
    assert not edited["holds"]
    assert edited["files"]["changed"] == ["SKILL.md"]
    assert [(one["holds"], one["changed"]) for one in edited["results"]] == [(False, ["text"])]
    assert "no finished run in runs measured this version" in _typed(upskill("evidence", "examples/tarnctl"), 1).stderr


def test_wrong_usage_has_its_own_exit_code(upskill: Upskill, here: Path) -> None:
    assert "no such folder" in _typed(upskill("verify", "nowhere"), 2).stderr
    assert "no such folder" in _typed(upskill("evidence", "nowhere"), 2).stderr
    assert "no such option" in _typed(upskill("verify", "x", "--nope"), 2).stderr
