"""What a Hub may not do to whoever reads from it, by the real command: choose files or addresses, or never end."""

import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from forking import COMMAND, Done, started
from hub_server import TOKEN, Answer, File, Hub, Request

SKILL = "---\nname: port\ndescription: Knows the port of the service.\n---\nThe port is 7413.\n"
DIARY = "Dear diary, nobody may read this.\n"

Typed = Callable[..., Done]


def _sending(path: str, data: bytes, etag: str) -> Callable[[Request], Answer | None]:
    """Other bytes, or another ETag, for the file of this path."""

    def answer(request: Request) -> Answer | None:
        if "/resolve/" not in request.path or not request.path.endswith(path):
            return None
        return 200, {"ETag": f'"{etag}"', "X-Repo-Commit": request.path.split("/resolve/")[1].split("/")[0]}, data

    return answer


def _outside_the_cache(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not {"hf", "home", ".agents"} & {*path.relative_to(folder).parts}}


@pytest.mark.parametrize("etag", ["../../../../diary", "{folder}/diary", "..", "a" * 64])
def test_no_answer_of_a_hub_makes_a_file_of_this_machine_part_of_a_skill(
    etag: str, typed: Typed, hub: Hub, here: Path, tmp_path: Path
) -> None:
    (tmp_path / "diary").write_text(DIARY)
    blobs = tmp_path / "hf" / "hub" / "models--team--port" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / ("a" * 64)).write_text(DIARY)
    notes = "n" * len(DIARY)
    hub.repository("models/team/port", {"SKILL.md": SKILL, "notes.md": notes})
    hub.before = _sending("notes.md", notes.encode(), etag.format(folder=tmp_path))
    before = _outside_the_cache(tmp_path)
    done = typed("install", "hf://team/port", "--for", "codex", "--yes")
    assert done.returncode == 0, done.stderr
    assert (here / ".agents" / "skills" / "port" / "notes.md").read_text() == notes
    assert _outside_the_cache(tmp_path) == before


def test_a_file_that_is_not_what_the_hub_lists_is_not_kept(typed: Typed, hub: Hub, here: Path, tmp_path: Path) -> None:
    hub.repository("models/team/port", {"SKILL.md": SKILL, "notes.md": "All is well.\n", "b.md": "Also well.\n"})
    hub.before = _sending("notes.md", b"All is evil.\n", "0" * 40)
    done = typed("install", "hf://team/port", "--for", "codex", "--yes")
    assert (done.returncode, done.stdout) == (3, "")
    assert "error: hf://team/port: notes.md is not what the Hub lists" in done.stderr.splitlines()
    assert not (here / ".agents").exists()
    assert b"All is evil.\n" not in [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    hub.before = lambda _: None
    assert typed("install", "hf://team/port", "--for", "codex", "--yes").returncode == 0


def test_a_file_that_was_changed_in_the_cache_is_downloaded_again(typed: Typed, hub: Hub, tmp_path: Path) -> None:
    hub.repository("models/team/port", {"SKILL.md": SKILL})
    assert typed("lint", "hf://team/port").returncode == 0
    (cached,) = (tmp_path / "hf").rglob("SKILL.md")
    cached.write_text(SKILL.replace("7413", "6666"))
    assert typed("lint", "hf://team/port").returncode == 0
    assert cached.read_text() == SKILL


def _with_next(hub: Hub, address: str) -> Callable[[Request], Answer | None]:
    """The same list of files; but the first page names this address as that of the next."""

    def answer(request: Request) -> Answer | None:
        if "/tree/" not in request.path or "cursor" in request.path:
            return None
        hub.before = lambda _: None
        status, headers, body = hub.answer(request)
        return status, {**headers, "Link": f'<{address}{request.path}&cursor=400>; rel="next"'}, body

    return answer


def test_the_next_page_of_a_list_is_asked_for_where_the_first_was(typed: Typed, hub: Hub) -> None:
    files = {f"{number}.jsonl": "{}\n" for number in range(500)}
    hub.repository("datasets/team/traces", files)
    with Hub() as other:
        hub.before = _with_next(hub, other.endpoint)
        done = typed("trace", "hf://datasets/team/traces", HF_TOKEN=TOKEN)
        assert "hf://datasets/team/traces: 500 files" in done.stderr
        assert other.requests == []


def test_a_list_of_empty_pages_ends(typed: Typed, hub: Hub) -> None:
    hub.repository("datasets/team/traces", {"a.jsonl": "{}\n"})

    def empty(request: Request) -> Answer | None:
        if "/tree/" not in request.path:
            return None
        return 200, {"Link": f'<{hub.endpoint}{request.path}&cursor=x>; rel="next"'}, b"[]"

    hub.before = empty
    done = typed("trace", "hf://datasets/team/traces")
    assert done.returncode == 3
    assert "error: hf://datasets/team/traces: the Hub's list of files has no end" in done.stderr.splitlines()
    assert len(hub.requests) <= 3


def test_no_size_of_a_file_makes_room_for_another(typed: Typed, hub: Hub) -> None:
    huge = File(data=b"{}\n", lfs=True, size=5_000_000_000)
    hub.repository("datasets/team/traces", {"a.jsonl": huge, "b.jsonl": replace(huge, size=-4_999_999_999)})
    done = typed("trace", "hf://datasets/team/traces")
    assert done.returncode == 3
    assert "error: hf://datasets/team/traces: the Hub's list of files cannot be read" in done.stderr.splitlines()
    assert not [one for one in hub.requests if "/resolve/" in one.path]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["/tree/", "/resolve/"])
def test_a_hub_that_says_nothing_does_not_hold_up_a_signal(
    where: str, number: int, hub: Hub, here: Path, environment: dict[str, str], variables: dict[str, str]
) -> None:
    hub.repository("datasets/team/traces", {f"{number}.jsonl": "{}\n" for number in range(20)})
    is_asked, may_answer = threading.Event(), threading.Event()

    def hold(request: Request) -> Answer | None:
        if where not in request.path:
            return None
        is_asked.set()
        may_answer.wait(60)
        return 0, {}, b""

    hub.before = hold
    words = [COMMAND, "trace", "hf://datasets/team/traces"]
    with started(words, cwd=here, env={**environment, **variables}) as process:
        assert is_asked.wait(60)
        os.kill(process.pid, number)
        process.communicate(timeout=10)
    may_answer.set()
    assert process.returncode in (130, 143, -number)


def test_a_folder_that_is_named_like_the_cache_is_no_download(typed: Typed, here: Path) -> None:
    folder = here / "models--team--port" / "snapshots" / ("0" * 40) / "port"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    assert typed("install", str(folder), "--for", "codex", "--yes").returncode == 0
    record = json.loads((here / ".agents/skills/port/.upskill-install.json").read_text())
    assert record["source"] is None
