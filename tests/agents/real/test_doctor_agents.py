"""`upskill doctor --harness` on the real agents: they can be measured here, and nothing gets out of them."""

import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from agents.escapes import attempts
from agents.escapes.examine import try_to_escape
from agents.real import zebra
from forking import Forker
from upskill.agents import doctor as doctor_agent
from upskill.agents.doctor import WHAT, AgentDiagnosis, agent_json, agent_lines, examine_agent, examine_installed
from upskill.agents.harness import CodingAgent, find_agent
from upskill.core.progress import SILENT
from upskill.core.trials.harness import load_harness
from upskill.sandbox import Backend, Mount, Sandbox, SandboxSpec, open_sandbox
from upskill.sandbox.bubblewrap import open_bubblewrap
from upskill.sandbox.profile import HARDENED

FAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo "codex-cli 9.9.9"; exit 0; fi
echo "this agent is broken" >&2
exit 7
"""


def expect_fit(found: AgentDiagnosis) -> None:
    assert found.problems == ()
    assert (found.listed, found.loaded_turn, found.wrote_file, found.finished) == (True, 1, True, True)
    assert found.requests == 3
    assert found.outside == (), "it tried to reach nothing by itself"
    assert {one.name: one.held for one in found.attempts} == dict.fromkeys(WHAT, True)
    assert found.home_files, "what it wrote for itself lies outside of the workspace"
    assert not [path for path in found.home_files if not path.startswith(("/home/agent/", "/tmp/"))]


@pytest.fixture
def with_ripgrep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On the search path, with Node. They count only outside of this repository."""
    zebra.settle(monkeypatch, tmp_path)


@pytest.mark.usefixtures("with_ripgrep")
@pytest.mark.parametrize(
    ("harness", "backend"),
    [
        ("claude-code", "bubblewrap"),
        pytest.param("opencode", "bubblewrap", marks=pytest.mark.full),
        ("qwen-code", "bubblewrap"),
        ("pi", "bubblewrap"),
        ("codex", "podman"),
        pytest.param("claude-code", "podman", marks=pytest.mark.full),
        pytest.param("opencode", "podman", marks=pytest.mark.full),
        pytest.param("qwen-code", "podman", marks=pytest.mark.full),
        pytest.param("pi", "podman", marks=pytest.mark.full),
    ],
)
def test_an_agent_does_what_the_script_says_and_every_attempt_to_escape_or_to_forge_is_held(
    harness: str, backend: Backend, request: pytest.FixtureRequest
) -> None:
    if backend == "podman":
        request.getfixturevalue("podman")
    found, facts = examine_installed(harness, agent_bin=zebra.PROGRAMS[harness], backend=backend)
    assert facts.backend == backend
    expect_fit(found)
    assert found.known
    assert agent_lines(found, facts)[-1] == f"{harness} {found.version}: ok"
    assert json.loads(json.dumps(agent_json(found, facts, kernel="6")))["agent"]["ok"] is True
    loaded = load_harness(harness)
    assert isinstance(loaded, CodingAgent)
    program_found = find_agent(loaded.adapter, named=zebra.PROGRAMS[harness])
    tried = try_to_escape(loaded.adapter, program_found, partial(open_sandbox, backend=backend))
    assert {one.name: one.saw for one in tried if not one.held} == {}
    assert [one.name for one in tried] == list(attempts.WHAT)


def test_a_version_that_was_never_measured_is_examined_once_and_the_run_notes_it() -> None:
    harness = load_harness("codex")
    assert isinstance(harness, CodingAgent)
    program = find_agent(harness.adapter, named=zebra.PROGRAMS["codex"])
    assert harness.require_fit(program, backend="bubblewrap", run=True, progress=SILENT) == ()
    newer = replace(program, version="9.9.9")
    (planned,) = harness.require_fit(newer, backend="bubblewrap", run=False, progress=SILENT)
    assert "it is checked before the run" in planned
    (note,) = harness.require_fit(newer, backend="bubblewrap", run=True, progress=SILENT)
    assert "codex 9.9.9 is not a version that upskill was tested with (0.166.0)" in note
    assert "it passed `upskill doctor --harness codex`" in note
    (found,) = doctor_agent._examined.values()
    expect_fit(found)
    assert not found.known
    assert harness.require_fit(newer, backend="bubblewrap", run=True, progress=SILENT) == (note,)
    assert tuple(doctor_agent._examined.values()) == (found,), "not examined again"


def test_each_attempt_of_the_doctor_breaks_in_a_weaker_sandbox() -> None:
    """Its network is the host's, the bait is mounted, and the skill lies in it as a file that anybody can change."""
    harness = load_harness("codex")
    assert isinstance(harness, CodingAgent)
    shared = replace(HARDENED, namespaces=(*HARDENED.namespaces, "--share-net"))
    temporary = Path(tempfile.gettempdir())  # that of the trial is another

    def open_weaker(spec: SandboxSpec) -> Sandbox:
        bait = max(temporary.glob("upskill-bait-*"), key=lambda path: path.stat().st_mtime)
        skill = {path: data for path, data in spec.read_only.items() if path.endswith("/SKILL.md")}
        kept = {path: data for path, data in spec.read_only.items() if path not in skill}
        mounts = (*spec.mounts, Mount(source=bait, target=str(bait)))
        sandbox = open_bubblewrap(replace(spec, read_only=kept, mounts=mounts), recipe=shared)
        sandbox.put(skill)
        return sandbox

    program = find_agent(harness.adapter, named=zebra.PROGRAMS["codex"])
    found = examine_agent(harness.adapter, program, open_one=open_weaker)
    assert not found.ok
    assert {one.name: one.held for one in found.attempts} == dict.fromkeys(WHAT, False), found
    saw = {one.name: one.saw for one in found.attempts}
    assert "id_ed25519" in saw["home"]
    assert "SKILL.md" in saw["files"]
    assert "a listener of the host was called" in saw["network"]


def test_an_agent_that_does_not_work_is_not_ok_and_does_not_measure(tmp_path: Path, forker: Forker) -> None:
    fake = tmp_path / "codex"
    fake.write_text(FAKE, encoding="utf-8")
    fake.chmod(0o755)
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: skill\ndescription: Does a thing.\n---\nSay so.\n", encoding="utf-8")
    cases = [{"id": "c", "input": "Do it.", "expected": {"contains": "done"}}]
    (skill / "skill_meta.json").write_text(json.dumps({"cases": cases}), encoding="utf-8")
    script = tmp_path / "student.json"
    script.write_text('{"rules": [{"replies": ["done"]}]}', encoding="utf-8")
    which, named = ("--harness", "codex"), {"UPSKILL_AGENT_BIN": str(fake)}
    examined = forker.run("doctor", "--json", *which, cwd=tmp_path, **named)
    assert examined.returncode == 1, examined.stderr
    agent = json.loads(examined.stdout)["agent"]
    assert (agent["ok"], agent["version"], agent["known"]) == (False, "9.9.9", False)
    assert any("exit code 7: this agent is broken" in problem for problem in agent["problems"]), agent
    measured = forker.run("eval", str(skill), "-m", f"scripted/{script}", "--yes", *which, cwd=tmp_path, **named)
    assert measured.returncode == 3, measured.stderr
    assert "codex 9.9.9 is not a version that upskill was tested with" in measured.stderr
    assert "did not pass the check" in measured.stderr
    assert not (tmp_path / "runs").exists(), "nothing was run"
