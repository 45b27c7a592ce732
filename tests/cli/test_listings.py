"""`upskill list`, `runs`, `models`, `settings`."""

import json
from pathlib import Path

from cli.conftest import Upskill

ROOT = Path(__file__).parent.parent.parent


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
    assert any(line.split()[:3] == ["skills/good", "0", "~2"] for line in done.stdout.splitlines()), done.stdout
    rows = json.loads(upskill("list", "--json").stdout)["skills"]
    assert [row["skill"] for row in rows] == ["bad", "good"]


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
