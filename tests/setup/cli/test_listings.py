"""`upskill list`, `runs`, `models`, `settings`."""

import json
import re
import shutil
from pathlib import Path

from made_runs import make_run, student_json
from typed import Upskill, make_port_skill

ROOT = Path(__file__).parents[3]


def test_list_shows_skills_and_names_the_broken_ones(upskill: Upskill, here: Path) -> None:
    good = here / "skills" / "good"
    good.mkdir(parents=True)
    (good / "SKILL.md").write_text("---\nname: good\ndescription: Does good.\n---\nBody\n")
    bad = here / "skills" / "bad"
    bad.mkdir()
    (bad / "SKILL.md").write_text("no frontmatter")
    done = upskill("list")
    assert done.returncode == 0
    assert "Does good." in done.stdout
    assert "cannot be used" in done.stdout
    assert re.search(r"^skills/good +0 +~1[0-9] ", done.stdout, re.MULTILINE), done.stdout
    rows = json.loads(upskill("list", "--json").stdout)["skills"]
    assert [row["skill"] for row in rows] == ["bad", "good"]


def test_list_says_what_the_evidence_beside_a_skill_says(upskill: Upskill, here: Path) -> None:
    make_port_skill(here, cases=8)
    (here / "student.yaml").write_text("rules: [{reads: The port is 7413, replies: ['7413']}, {replies: [No idea]}]")
    assert upskill("eval", "skills/port", "-m", "scripted/student.yaml").returncode == 0
    assert upskill("evidence", "skills/port").returncode == 0
    elsewhere = here.parent / "elsewhere"
    shutil.copytree(here / "skills" / "port", elsewhere / "skills" / "port")
    shown = upskill("list", cwd=elsewhere).stdout
    assert re.search(
        r"^skills/port .* helps student on these cases, 20\d\d-\d\d-\d\d, says evidence.json$", shown, re.MULTILINE
    ), shown
    (row,) = json.loads(upskill("list", "--json", cwd=elsewhere).stdout)["skills"]
    (student,) = row["measured"]["students"]
    assert (student["harness"], student["verdict"], student["lift"], student["pairs"]) == ("chat", "helps", 1.0, 8)
    assert (row["measured"]["run"], row["measured"]["changed"]) == (None, False)
    (elsewhere / "skills" / "port" / "evidence.json").write_text('{"format": "upskill.evidence/1", "results": [7]}')
    assert upskill("list", cwd=elsewhere).returncode == 0


def test_an_output_that_cannot_carry_a_character_is_no_reason_to_fail(upskill: Upskill, here: Path) -> None:
    folder = here / "skills" / "coffee"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: coffee\ndescription: Café.\n---\nBody\n", encoding="utf-8")
    done = upskill("list", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "Caf?." in done.stdout
    (row,) = json.loads(upskill("list", "--json", PYTHONIOENCODING="ascii").stdout)["skills"]
    assert row["description"] == "Café."


def test_a_folder_that_is_not_there_and_a_place_without_runs_are_said(upskill: Upskill) -> None:
    done = upskill("list", "nowhere")
    assert done.returncode == 2
    assert "no such folder" in done.stderr
    assert "no runs" in upskill("runs").stderr


def test_models_shows_how_a_name_resolves_and_never_a_key(upskill: Upskill) -> None:
    done = upskill("models", "haiku", ANTHROPIC_API_KEY="sk-ant-very-secret")
    assert "anthropic/claude-haiku" in done.stdout
    assert "ANTHROPIC_API_KEY (set)" in done.stdout
    assert "per million tokens" in done.stdout
    assert "very-secret" not in done.stdout + done.stderr
    unknown = upskill("models", "org/some-model")
    assert "HF_TOKEN (not set)" in unknown.stdout
    assert "unknown" in unknown.stdout
    local = upskill("models", "a/b:c", "--base-url", "http://localhost:1/v1")
    assert local.returncode == 0
    assert "OpenAI-compatible server at http://localhost:1/v1" in local.stdout


def test_settings_tells_where_each_value_comes_from(upskill: Upskill, here: Path) -> None:
    (here / "upskill.toml").write_text("concurrency = 3\n")
    rows = {
        row["setting"]: row for row in json.loads(upskill("settings", "--json", UPSKILL_SEED="5").stdout)["settings"]
    }
    origin = str(here / "upskill.toml")
    assert rows["concurrency"] == {"setting": "concurrency", "value": 3, "origin": origin, "trusted": True}
    assert rows["seed"]["origin"] == "UPSKILL_SEED"
    assert rows["runs_dir"]["origin"] == "default"


def _skill(folder: Path, *, body: str = "Body\n") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: Ties knots. {'Well. ' * 40}\n---\n{body}")


def _digest(upskill: Upskill) -> str:
    (row,) = json.loads(upskill("list", "--json").stdout)["skills"]
    return str(row["digest"])


def test_list_shows_the_last_verdict_with_date_and_model_and_whether_the_skill_changed_since(
    upskill: Upskill, here: Path
) -> None:
    _skill(here / "skills" / "knots")
    assert "not measured" in upskill("list").stdout
    assert json.loads(upskill("list", "--json").stdout)["skills"][0]["measured"] is None
    digest = _digest(upskill)
    make_run(here / "runs" / "2", at="2026-11-15T09:30:00+00:00", skill_digest=digest)
    later = [student_json("kimi", verdict="hurts")]
    make_run(here / "runs" / "3", at="2026-11-16T09:30:00+00:00", students=later, skill_digest="aa" * 32)
    make_run(here / "runs" / "1", skill="other", skill_digest=digest)
    assert "▲ helps haiku, 2026-11-15\n" in upskill("list").stdout, "this version, not the newest of another one"
    _skill(here / "skills" / "knots", body="Another body\n")
    assert "▼ hurts kimi, 2026-11-16, changed since\n" in upskill("list").stdout
    measured = json.loads(upskill("list", "--json").stdout)["skills"][0]["measured"]
    assert (measured["at"][:10], measured["run"], measured["changed"]) == ("2026-11-16", "runs/3", True)
    assert [one["verdict"] for one in measured["students"]] == ["hurts"]
    assert "not measured" in upskill("list", UPSKILL_RUNS_DIR="elsewhere").stdout


def test_list_reads_what_a_skill_says_was_measured_where_there_are_no_runs(upskill: Upskill, here: Path) -> None:
    _skill(here / "skills" / "knots")
    entry = {"model": "haiku", "resolved": "anthropic/haiku", "status": "helps", "sentence": "s", "mean": 0.25}
    entry |= {"interval": [0.05, 0.5], "about": "new cases", "at": "2026-11-14T10:00:00+00:00"}
    meta = {"format": "upskill.skill/1", "digest": _digest(upskill), "measured": [entry], "cases": []}
    (here / "skills" / "knots" / "skill_meta.json").write_text(json.dumps(meta))
    assert "▲ helps haiku, 2026-11-14\n" in upskill("list").stdout
    measured = json.loads(upskill("list", "--json").stdout)["skills"][0]["measured"]
    (student,) = measured["students"]
    assert (student["interval"], student["interval_for"]) == ([0.05, 0.5], "new cases")
    _skill(here / "skills" / "knots", body="Another body\n")
    assert "2026-11-14, changed since" in upskill("list").stdout
    (here / "skills" / "knots" / "skill_meta.json").write_text(json.dumps(meta | {"measured": "much", "digest": 7}))
    assert "not measured" in upskill("list").stdout


def test_list_takes_the_folder_as_an_option_and_shows_whole_descriptions_when_asked(
    upskill: Upskill, here: Path
) -> None:
    _skill(here / "mine" / "knots")
    short, whole = upskill("list", "-d", "mine"), upskill("list", "--dir", "mine", "-v")
    assert "mine/knots" in short.stdout
    assert short.stdout.count("Well.") < whole.stdout.count("Well.") == 40
    assert "SKILL.md" in whole.stdout
    assert upskill("list", "mine", "-d", "mine").returncode == 2


def test_runs_takes_several_skills_and_models_and_another_folder(upskill: Upskill, here: Path) -> None:
    both = [student_json("haiku"), student_json("scripted/students/reader.yaml")]
    for number, skill in enumerate(("knots", "ropes", "sails")):
        make_run(here / "past" / f"{number}", skill=skill, students=both)
    done = upskill("runs", "-d", "past", "-s", "knots", "-s", "ropes", "-m", "reader")
    assert done.returncode == 0, done.stderr
    assert "haiku" not in done.stdout
    assert [line.split()[1:3] for line in done.stdout.splitlines() if "▲" in line] == [
        ["ropes", "reader"],
        ["knots", "reader"],
    ]
    rows = json.loads(upskill("runs", "--dir", "past", "-m", "haiku", "--json").stdout)["runs"]
    assert [[one["model"] for one in row["students"]] for row in rows] == [["haiku"]] * 3
    none = upskill("runs", "-d", "past", "-s", "knots", "-m", "kimi")
    assert none.stderr == "no runs of knots on kimi in past\n"
    assert upskill("runs", "-d", "past", "-m", "haiku", "--keep", "1", "--yes").returncode == 2
    assert (
        "removed 1 of 3 runs"
        in upskill("runs", "-d", "past", "-s", "knots", "-s", "none", "--keep", "0", "--yes").stdout
    )
