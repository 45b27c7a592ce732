"""What is claimed of four cases says so wherever it travels: list, evidence, install, publish, comment and sweep."""

import json
from pathlib import Path

from provider import Behaviour, Provider
from typed import Upskill, make_port_skill

HERE = "on these 4 cases"
MANIFEST = """\
format = "upskill.sweep/1"
skills = ["skills/*/"]
students = ["scripted/student.yaml"]
runs = 5
confirm = false
"""
SCRIPT = "rules:\n  - arm: with_skill\n    replies: ['Port 7413.']\n  - replies: ['no idea']\n"


def test_a_claim_keeps_its_scope_wherever_it_travels(upskill: Upskill, here: Path) -> None:
    skill = make_port_skill(here, cases=4).relative_to(here).as_posix()
    with Provider(lambda asked: Behaviour(text="7413" if asked.has_skill else "no idea")) as provider:
        done = upskill("eval", skill, "-m", "any", "--runs", "5", "--base-url", provider.url, "--write", "comment.md")
    assert done.stdout.startswith(f"The skill helps any {HERE}: "), done.stdout + done.stderr
    said = {
        "list": upskill("list", "skills").stdout,
        "evidence": upskill("evidence", skill).stdout,
        "install": upskill("install", skill, "--for", "codex", "--dry-run").stdout,
        "publish": upskill("publish", skill, "--to", "there", "--owner", "me", "--yes").stdout,
        "comment": (here / "comment.md").read_text().replace("\u00a0", " "),
        "README": (here / "there" / "README.md").read_text(),
        "card": (here / "there" / "skills" / "port" / "evidence.md").read_text(),
        "marketplace": (here / "there" / ".claude-plugin" / "marketplace.json").read_text(),
    }
    assert "▲ helps any on these cases, " in said["list"]
    assert f"| ▲ helps {HERE} |" in said["card"]
    for where, text in said.items():
        claims = [line for line in text.splitlines() if "helps" in line]
        assert claims, where
        assert not [line for line in claims if "on these" not in line], where


def test_a_sweep_says_beside_each_state_that_it_is_about_these_cases(upskill: Upskill, here: Path) -> None:
    make_port_skill(here, cases=4)
    (here / "student.yaml").write_text(SCRIPT)
    (here / "sweep.toml").write_text(MANIFEST)
    assert upskill("sweep", "plan", "sweep.toml", "--at", "at").returncode == 0
    assert upskill("sweep", "run", "at", "--yes").returncode == 0
    done = upskill("sweep", "report", "at")
    assert "found once on these cases: " in done.stdout, done.stdout + done.stderr
    assert "found once on these cases: " in (here / "at" / "report" / "report.md").read_text()
    assert json.loads(upskill("sweep", "report", "at", "--json").stdout)["rows"][0]["interval_for"] == "these cases"
