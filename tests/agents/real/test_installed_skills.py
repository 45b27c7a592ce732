"""What `upskill install` and `upskill publish` write, read by the programs of others: the three agents list installed
skills, Claude Code accepts the marketplace, and `skills` from npm adds the published folder without a network.

`make agents` fetches them.
"""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.real.recording import OPENCODE_OFF, Place, record_claude_code, record_codex, run_agent
from agents.real.router import read_listing
from agents.real.scripted_model import Script, scripted_model
from upskill.core.skills.skills import read_skill
from upskill.share.install import Scope, install, plan_install, plan_undo, undo
from upskill.share.publish import plan_publish, publish

MODULES = Path(__file__).parents[3] / "build" / "agents" / "node_modules"
BINARIES = MODULES / ".bin"
SILENT = Script(commands=[], end="Done.")


def _made_skill(folder: Path, name: str) -> Path:
    skill = folder / "made" / name
    (skill / "scripts").mkdir(parents=True)
    description = f"Knows the port of {name}. Use when a boat of {name} is to leave."
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\nThe port is 7413.\n")
    (skill / "scripts" / "port.sh").write_text("#!/bin/sh\necho 7413\n")
    (skill / "scripts" / "port.sh").chmod(0o755)
    (skill / "skill_meta.json").write_text(
        '{"cases": [{"id": "a", "input": "Port?", "expected": {"contains": "7413"}}]}'
    )
    return skill


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inside for text in _texts(one)]


def _listed_to(place: Place, record: Callable[..., object]) -> set[str]:
    """The skills that an agent lists to its model."""
    asked: list[dict[str, Any]] = []
    with scripted_model(SILENT, asked=asked) as model:
        record(place, model=model, prompt="Say that you are done.")
    return {name for request in asked for name in read_listing("\n".join(_texts(request)))}


def _listed_by_claude_code(place: Place) -> set[str]:
    return _listed_to(place, record_claude_code)


def _listed_by_codex(place: Place) -> set[str]:
    return _listed_to(place, record_codex)


def _listed_by_opencode(place: Place) -> set[str]:
    run_agent(place, ["opencode", "debug", "skill"], {f"OPENCODE_DISABLE_{name}": "1" for name in OPENCODE_OFF})
    return {skill["name"] for skill in json.loads(place.stream.read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    ("targets", "listed_by"),
    [
        (("claude-code",), _listed_by_claude_code),
        (("codex", "agents"), _listed_by_codex),
        # 4 s of processor time
        pytest.param(("opencode", "agents"), _listed_by_opencode, marks=pytest.mark.full),
    ],
    ids=["claude-code", "codex", "opencode"],
)
def test_an_installed_skill_is_listed_by_the_agent_and_undone_leaves_nothing(
    tmp_path: Path, targets: tuple[str, ...], listed_by: Callable[[Place], set[str]]
) -> None:
    place = Place(
        home=tmp_path / "home", workspace=tmp_path / "work", stream=tmp_path / "stream.jsonl", binaries=BINARIES
    )
    place.home.mkdir()
    place.workspace.mkdir()
    (place.workspace / "notes.txt").write_text("A project.\n")
    scopes = {
        user: Scope(project=place.workspace, user=user, home=place.home, environment={"PATH": ""})
        for user in (False, True)
    }
    before = set(tmp_path.rglob("*"))
    wanted = {(f"{target}-{'user' if user else 'project'}-port", target, user) for target in targets for user in scopes}
    made = {name: _made_skill(tmp_path, name) for name, _, _ in wanted}
    for name, target, user in wanted:
        install(plan_install(made[name], agents=[target], scope=scopes[user], runs_dir=tmp_path / "runs", ledger=None))
    installed = {
        path
        for path in set(tmp_path.rglob("*")) - before
        if not path.is_relative_to(tmp_path / "made") and path.is_file()
    }
    assert {path.name for path in installed} == {"SKILL.md", "port.sh", ".upskill-install.json"}

    assert listed_by(place) >= set(made)

    for name, target, user in wanted:
        undo(plan_undo(made[name], agents=[target], scope=scopes[user]), scope=scopes[user])
    assert not {path for path in installed if path.exists()}
    assert {path for path in place.workspace.rglob("*") if path.name != ".git"} == {place.workspace / "notes.txt"}


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Two skills in a folder that already holds what is not ours."""
    to = tmp_path / "harbour-skills"
    to.mkdir()
    (to / "skills-lock.json").write_text('{ "version": 1, "skills": {} }')
    plan = plan_publish(
        [_made_skill(tmp_path, name) for name in ("port-of-tarn", "port-of-mere")],
        to=to,
        runs_dir=tmp_path / "runs",
        ledger=None,
        owner="Harbour team",
        home=tmp_path / "home",
    )
    publish(plan)
    return to


def _tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _run(*command: str | Path, cwd: Path, home: Path) -> str:
    """Run a program that has no network, nothing of our environment, and a home of its own."""
    home.mkdir(exist_ok=True)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "DISABLE_TELEMETRY": "1", "NO_COLOR": "1"}
    alone = ["bwrap", "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent"]
    done = subprocess.run(
        [*alone, *map(str, command)],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_skills_from_npm_adds_the_published_folder_without_a_network_and_keeps_the_lock_file(
    tmp_path: Path, published: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    theirs = {"source": "a/b", "sourceType": "github", "computedHash": "0" * 64}
    lock = project / "skills-lock.json"
    lock.write_text(json.dumps({"version": 1, "skills": {"theirs": theirs}}, indent=2) + "\n")
    before = _tree(published)

    node, skills = next(MODULES.glob("node-linux-*/bin/node")), MODULES / "skills" / "bin" / "cli.mjs"
    agents = ("claude-code", "codex", "opencode", "cursor")
    said = _run(
        node, skills, "add", published, "-y", "--skill", "*", "-a", *agents, cwd=project, home=tmp_path / "home"
    )

    assert "Found 2 skills" in said
    for name in ("port-of-tarn", "port-of-mere"):
        for folder in (".agents/skills", ".claude/skills"):
            copy = project / folder / name
            assert read_skill(copy).digest == read_skill(published / "skills" / name).digest
            names = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()}
            assert names == {"SKILL.md", "scripts/port.sh", "evidence.json", "evidence.md"}
    locked = json.loads(lock.read_text())["skills"]
    assert set(locked) == {"theirs", "port-of-tarn", "port-of-mere"}
    assert locked["theirs"] == theirs
    assert _tree(published) == before
    assert before["skills-lock.json"] == b'{ "version": 1, "skills": {} }'


def test_claude_code_accepts_the_marketplace(tmp_path: Path, published: Path) -> None:
    said = _run(BINARIES / "claude", "plugin", "validate", "--strict", published, cwd=tmp_path, home=tmp_path / "home")
    assert "Validation passed" in said


@pytest.mark.full  # starts Claude Code three times
def test_claude_code_installs_one_skill_from_the_marketplace(tmp_path: Path, published: Path) -> None:
    claude, home = BINARIES / "claude", tmp_path / "home"
    _run(claude, "plugin", "marketplace", "add", published, cwd=tmp_path, home=home)
    _run(claude, "plugin", "install", "port-of-tarn@harbour-skills", cwd=tmp_path, home=home)
    details = _run(claude, "plugin", "details", "port-of-tarn@harbour-skills", cwd=tmp_path, home=home)
    assert "Skills (1)  port-of-tarn" in details
    assert "Result: not measured." in details
