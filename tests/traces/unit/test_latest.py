"""Finding the newest session of a folder, by what sessions recorded themselves."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from upskill.errors import UsageError
from upskill.traces.sessions import agent_named, find_sessions

SAMPLES = Path(__file__).parents[2] / "samples" / "traces"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my.project-x"
    folder.mkdir()
    return folder


def _claude(root: Path, slug: str, name: str, cwd: Path | str, *, at: int) -> Path:
    path = root / "projects" / slug / name
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"type": "summary", "summary": "x", "leafUuid": "u"}, {"type": "user", "cwd": str(cwd), "uuid": "u"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, (at, at))
    return path


def _codex(root: Path, name: str, cwd: Path, *, at: int, parent: str | None = None) -> Path:
    path = root / "sessions" / "2026" / "09" / "01" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    payload = {"cwd": str(cwd), "id": "x"} | ({"parent_thread_id": parent} if parent else {})
    path.write_text(json.dumps({"type": "session_meta", "payload": payload}) + "\n")
    os.utime(path, (at, at))
    return path


def _paths(project: Path, home: Path, *, agent: str | None = None, **environment: str) -> list[Path]:
    sessions, _ = find_sessions(project, environment={"HOME": str(home), "PATH": "", **environment}, agent=agent)
    return [session.path for session in sessions]


def test_sessions_are_told_by_the_folder_they_recorded_and_not_by_the_name_of_theirs(home: Path, project: Path) -> None:
    slug = str(project).replace("/", "-").replace(".", "-")
    _claude(home / ".claude", slug, "other.jsonl", f"{project.parent}/my/project/x", at=300)
    mine = _claude(home / ".claude", "moved-elsewhere", "mine.jsonl", project, at=200)
    older = _claude(home / ".claude", slug, "older.jsonl", project, at=100)
    assert _paths(project, home) == [mine, older]


def test_files_of_subagents_are_no_sessions(home: Path, project: Path) -> None:
    _claude(home / ".claude", "s", "agent-1.jsonl", project, at=300)
    mine = _claude(home / ".claude", "s", "mine.jsonl", project, at=200)
    assert _paths(project, home) == [mine]


def test_a_configured_folder_takes_the_place_of_the_usual_one(home: Path, project: Path, tmp_path: Path) -> None:
    _claude(home / ".claude", "s", "usual.jsonl", project, at=300)
    mine = _claude(tmp_path / "config", "s", "mine.jsonl", project, at=200)
    assert _paths(project, home, CLAUDE_CONFIG_DIR=str(tmp_path / "config")) == [mine]
    codex = _codex(tmp_path / "codex", "rollout-2026-09-01T10-00-00-x.jsonl", project, at=400)
    assert _paths(project, home, agent="codex", CODEX_HOME=str(tmp_path / "codex")) == [codex]


def test_the_newest_over_all_agents_comes_first_and_one_agent_can_be_named(home: Path, project: Path) -> None:
    claude = _claude(home / ".claude", "s", "a.jsonl", project, at=100)
    codex = _codex(home / ".codex", "rollout-2026-09-01T10-00-00-x.jsonl", project, at=200)
    _codex(home / ".codex", "rollout-2026-09-01T11-00-00-y.jsonl", project.parent, at=300)
    assert _paths(project, home) == [codex, claude]
    assert _paths(project, home, agent="claude-code") == [claude]


def test_a_thread_that_another_one_started_is_part_of_that_one(home: Path, project: Path) -> None:
    _codex(home / ".codex", "rollout-2026-09-01T11-00-00-y.jsonl", project, at=300, parent="x")
    assert _paths(project, home) == []


def test_a_rollout_that_was_compressed_days_later_is_not_the_newest(home: Path) -> None:
    folder = home / ".codex" / "sessions" / "2026" / "09" / "01"
    folder.mkdir(parents=True)
    packed = folder / "rollout-2026-09-01T10-00-00-x.jsonl.zst"
    shutil.copy(SAMPLES / "codex" / "rollout.jsonl.zst", packed)
    project = Path("/home/dev/project")
    plain = _codex(home / ".codex", "rollout-2026-09-02T10-00-00-y.jsonl", project, at=1_788_400_000)
    os.utime(packed, (1_788_900_000, 1_788_900_000))
    assert _paths(project, home) == [plain, packed]


def test_gemini_sessions_are_told_by_the_hash_of_the_folder_or_by_its_marker(home: Path, project: Path) -> None:
    def session(slug: str, digest: str, *, at: int) -> Path:
        path = home / ".gemini" / "tmp" / slug / "chats" / "session-2026-09-01T10-00-abcd1234.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"sessionId": "s", "projectHash": digest}) + "\n")
        os.utime(path, (at, at))
        return path

    mine = hashlib.sha256(str(project).encode()).hexdigest()
    by_hash = session("slug", mine, at=100)
    marked = session("other-slug", "0" * 64, at=200)
    (marked.parent.parent / ".project_root").write_text(str(project))
    session("third", "1" * 64, at=300)
    assert _paths(project, home) == [marked, by_hash]
    assert _paths(project, home.parent, GEMINI_CLI_HOME=str(home)) == [marked, by_hash]


def test_a_link_to_the_folder_finds_the_same_sessions(home: Path, project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project, target_is_directory=True)
    by_link = _claude(home / ".claude", "s", "by-link.jsonl", link, at=100)
    direct = _claude(home / ".claude", "s", "direct.jsonl", project, at=200)
    assert _paths(link, home, PWD=str(link)) == [direct, by_link]
    assert _paths(project, home, PWD=str(project)) == [direct, by_link]


def test_the_name_of_an_outer_folder_is_not_taken_from_the_environment(home: Path, project: Path) -> None:
    mine = _claude(home / ".claude", "s", "mine.jsonl", project, at=100)
    _claude(home / ".claude", "s", "outer.jsonl", project.parent, at=200)
    assert _paths(project, home, PWD=str(project.parent)) == [mine]


def test_damaged_and_unreadable_files_are_passed_over(home: Path, project: Path) -> None:
    folder = home / ".claude" / "projects" / "s"
    folder.mkdir(parents=True)
    (folder / "binary.jsonl").write_bytes(bytes(range(256)) * 40)
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "list.jsonl").write_text("[1]\n" * 100)
    (folder / "broken.jsonl.lock").mkdir()
    (folder / "folder.jsonl").mkdir()
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    mine = _claude(home / ".claude", "s", "mine.jsonl", project, at=100)
    assert _paths(project, home) == [mine]


def test_where_was_looked_is_said_for_every_agent(home: Path, project: Path) -> None:
    (home / ".local" / "share" / "opencode").mkdir(parents=True)
    _claude(home / ".claude", "s", "other.jsonl", "/elsewhere", at=100)
    _, looked = find_sessions(project, environment={"HOME": str(home), "PATH": ""})
    assert looked[0] == f"Claude Code: 1 session in {home}/.claude/projects"
    assert looked[1] == f"Codex: nothing in {home}/.codex/sessions"
    assert "opencode export" in looked[3]


def test_opencode_is_not_asked_where_its_store_is_older_than_what_was_found(home: Path, project: Path) -> None:
    store = home / ".local" / "share" / "opencode" / "opencode.db"
    store.parent.mkdir(parents=True)
    store.write_bytes(b"x")
    os.utime(store, (100, 100))
    mine = _claude(home / ".claude", "s", "mine.jsonl", project, at=200)
    sessions, looked = find_sessions(project, environment={"HOME": str(home), "PATH": ""})
    assert [session.path for session in sessions] == [mine]
    assert "is older" in looked[3]
    os.utime(store, (300, 300))
    assert "opencode export" in find_sessions(project, environment={"HOME": str(home), "PATH": ""})[1][3]


def test_agents_may_be_named_by_their_short_names_and_others_are_refused() -> None:
    assert agent_named("claude") == "claude-code"
    assert agent_named("Gemini") == "gemini-cli"
    with pytest.raises(UsageError, match="last:cursor") as refused:
        agent_named("cursor")
    assert "last:codex" in (refused.value.hint or "")
