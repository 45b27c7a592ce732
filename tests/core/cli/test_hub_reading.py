"""Reading from the Hub: the real client `huggingface_hub`, the command as it is typed, and a stand-in for the Hub."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from forking import COMMAND, Done, started
from hub_server import TOKEN, Answer, File, Hub, Request
from typed import wait

SAMPLES = Path(__file__).parents[2] / "samples" / "traces"
SESSION = (SAMPLES / "claude-code" / "session.jsonl").read_bytes()
SKILL = "---\nname: port\ndescription: Knows the port of the service.\n---\nThe port is 7413.\n"
CASES = json.dumps({"cases": [{"id": f"c{n}", "input": f"Q{n}?", "expected": {"contains": "7413"}} for n in range(2)]})

Typed = Callable[..., Done]


def _small_session(number: int) -> str:
    """A session of two records, each different."""
    said = {"role": "user", "content": f"Read the number of gauge {number}."}
    told = {"role": "assistant", "content": [{"type": "text", "text": f"It shows {number}."}], "model": "m"}
    about = {"sessionId": f"s{number}", "cwd": "/work", "version": "2.1.0", "timestamp": "2026-09-01T10:00:01.000Z"}
    records = (
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": said, **about},
        {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": told, **about},
    )
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _tree(*folders: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def _downloads(hub: Hub) -> list[Request]:
    return [one for one in hub.requests if one.method == "GET" and re.search(r"/resolve/|/cdn/", one.path)]


def test_a_thousand_sessions_are_read_at_one_commit_and_land_in_the_cache_alone(
    typed: Typed, hub: Hub, here: Path, home: Path, cache: Path
) -> None:
    sessions = {f"sessions/{n // 100}/{n}.jsonl": _small_session(n) for n in range(1_000)}
    commit = hub.repository("datasets/team/traces", {**sessions, "README.md": "# Sessions\n"}).branches["main"]
    done = typed("trace", "hf://datasets/team/traces/sessions", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["traces"]) == 1_000
    assert f"hf://datasets/team/traces/sessions: 1,000 files, 0.5 MB, at commit {commit}\n" in done.stderr
    assert (_tree(here, home), len(_downloads(hub))) == ({}, 1_000)
    found = {path: path.read_bytes() for path in cache.rglob("*.jsonl")}
    assert len(found) == 1_000
    assert not any(path.is_symlink() or commit not in path.parts for path in found)

    again = typed("trace", "hf://datasets/team/traces/sessions", "--json")
    assert again.stdout == done.stdout
    assert len(_downloads(hub)) == 1_000, "nothing is downloaded twice"


def test_a_branch_that_moves_during_the_download_changes_nothing(typed: Typed, hub: Hub, cache: Path) -> None:
    repository = hub.repository("datasets/team/traces", {"a.jsonl": _small_session(1), "b.jsonl": _small_session(2)})
    first = repository.branches["main"]

    def move(request: Request) -> Answer | None:
        if "/tree/" in request.path and len(repository.commits) == 1:
            repository.commit({"a.jsonl": _small_session(3)})
        return None

    hub.before = move
    done = typed("trace", "hf://datasets/team/traces", "--json")
    assert f"at commit {first}\n" in done.stderr
    assert [one["name"] for one in json.loads(done.stdout)["traces"]] == ["a.jsonl", "b.jsonl"]
    moved = typed("trace", "hf://datasets/team/traces", "--json")
    assert [one["name"] for one in json.loads(moved.stdout)["traces"]] == ["a.jsonl"]
    pinned = typed("trace", f"hf://datasets/team/traces@{first}", "--json")
    assert pinned.stdout == done.stdout
    assert not list(cache.rglob("*.tmp"))


def _error(done: Done) -> list[str]:
    assert done.stdout == ""
    return [line for line in done.stderr.splitlines() if not line.strip().startswith("reading")]


def test_what_is_not_there_or_not_allowed_is_one_line_that_says_what_to_do(typed: Typed, hub: Hub) -> None:
    hub.repository("datasets/team/traces", {"a.jsonl": _small_session(1)})
    hub.repository("datasets/team/secret", {"a.jsonl": _small_session(1)}, private=True)
    for name, said, hint in (
        ("datasets/team/none", "not found on the Hub, or private", "a dataset is hf://datasets/OWNER/NAME"),
        ("team/traces", "not found on the Hub, or private", "a dataset is hf://datasets/OWNER/NAME"),
        ("datasets/team/secret", "not found on the Hub, or private", "`hf auth login`"),
        ("datasets/team/traces@v9", "the Hub has no such revision", "name a branch, a tag"),
        ("datasets/team/traces/b", "no such file or folder there", "hf://OWNER/NAME[@REVISION][/PATH]"),
        ("datasets/team/traces/a.jsonl@main", "no such file or folder there", "a revision comes after the name"),
        ("datasets/team/traces/../x", "the path leads out of its folder", "hf://OWNER/NAME[@REVISION][/PATH]"),
        ("traces", "names nothing on the Hub", "hf://OWNER/NAME[@REVISION][/PATH]"),
        ("spaces/team/app", "is a space, which is not read", "hf://OWNER/NAME[@REVISION][/PATH]"),
    ):
        done = typed("trace", f"hf://{name}")
        assert done.returncode == 2, name
        error, help_line = _error(done)
        assert (error, hint in help_line) == (f"error: hf://{name}: {said}", True), done.stderr
    done = typed("trace", "hf://datasets/team/traces", HF_TOKEN="hf_wrong")
    assert _error(done)[0] == "error: hf://datasets/team/traces: the Hub refused the token, or it may not do this"
    assert "hf_wrong" not in done.stderr
    assert typed("trace", "hf://datasets/team/secret", HF_TOKEN=TOKEN).returncode == 0


def test_what_is_too_large_or_too_much_is_refused_before_anything_is_downloaded(typed: Typed, hub: Hub) -> None:
    hub.repository("datasets/team/huge", {"a.jsonl": "{}\n", "b/five.jsonl": File(lfs=True, size=5_000_000_000)})
    hub.repository("datasets/team/many", {f"{n}.jsonl": "" for n in range(5_001)})
    hub.repository("models/team/skill", {"SKILL.md": SKILL, "data.bin": File(lfs=True, size=30_000_000)})
    for name, said in (
        ("datasets/team/huge", "2 files with 5,000.0 MB (b/five.jsonl: 5,000.0 MB); at most 5,000 files with 4,000.0"),
        ("datasets/team/huge/b/five.jsonl", "1 file with 5,000.0 MB"),
        ("datasets/team/many", "has more than 5,000 files"),
        ("team/skill", "2 files with 30.0 MB (data.bin: 30.0 MB); at most 1,000 files with 26.2 MB are downloaded"),
    ):
        done = typed("trace", f"hf://{name}")
        assert (done.returncode, said in _error(done)[0]) == (2, True), done.stderr
    assert not [one for one in hub.requests if "/resolve/" in one.path or "/cdn/" in one.path]
    assert typed("trace", "hf://datasets/team/huge/a.jsonl").returncode == 2, "an empty session is no fault of the Hub"
    assert len(_downloads(hub)) == 1


def test_links_and_names_that_lead_elsewhere_are_refused_by_name(typed: Typed, hub: Hub) -> None:
    link = File(data=b"/etc/passwd", kind="unknown")
    refused: tuple[tuple[dict[str, str | bytes | File], str], ...] = (
        ({"a.jsonl": "{}", "in/link": link}, "'in/link' is a link or another repository"),
        ({"a.jsonl": "{}", "../../b.jsonl": "{}"}, "'../../b.jsonl' leads out of its folder"),
        ({"a.jsonl": "{}", "/etc/b.jsonl": "{}"}, "'/etc/b.jsonl' is not relative"),
        ({"a.jsonl": "{}", "in\\b.jsonl": "{}"}, "'in\\\\b.jsonl' holds a backslash; write folders with /"),
        ({"a.jsonl": "{}", "b\x1b[2J.jsonl": "{}"}, "'b\\x1b[2J.jsonl' holds a character that cannot be seen"),
        ({"a.jsonl": "{}", "A.jsonl": "{}"}, "'A.jsonl' and 'a.jsonl' are one name on some systems"),
    )
    for files, said in refused:
        hub.repository("datasets/team/traces", files)
        done = typed("trace", "hf://datasets/team/traces")
        assert done.returncode == 2
        lines = _error(done)
        assert any(said in line for line in lines), (said, done.stderr)
        assert "error: hf://datasets/team/traces: holds 1 name that cannot be downloaded" in lines
    assert not _downloads(hub)


def test_a_link_that_is_named_itself_is_refused(typed: Typed, hub: Hub) -> None:
    hub.repository("datasets/team/traces", {"a.jsonl": "{}", "link": File(data=b"../x", kind="unknown")})
    done = typed("trace", "hf://datasets/team/traces/link")
    assert (done.returncode, _downloads(hub)) == (2, [])
    assert _error(done)[0] == "error: hf://datasets/team/traces/link: no such file or folder there"


def test_a_rate_limit_is_waited_for_or_named(typed: Typed, hub: Hub) -> None:
    hub.repository("datasets/team/traces", {"a.jsonl": _small_session(1)})
    refused: list[str] = []

    def once(request: Request) -> Answer | None:
        kind = request.path.split("/")[1]
        if kind in ("api", "datasets") and kind not in refused and not request.path.endswith("/traces"):
            refused.append(kind)
            return 429, {"Retry-After": "0"}, b""
        return None

    hub.before = once
    assert typed("trace", "hf://datasets/team/traces").returncode == 0
    assert refused == ["api", "datasets"]
    hub.before = lambda _: (429, {"Retry-After": "40"}, b"")
    done = typed("trace", "hf://datasets/team/traces")
    assert (done.returncode, _error(done)) == (
        3,
        [
            "error: hf://datasets/team/traces: the Hub limits requests",
            "hint:  try again in 40 seconds; complete files are kept",
        ],
    )


def test_a_hub_that_fails_or_is_away_is_one_line(typed: Typed, hub: Hub, variables: dict[str, str]) -> None:
    hub.repository("datasets/team/traces", {"a.jsonl": _small_session(1)})
    hub.before = lambda _: (500, {}, b"<html>a page of errors</html>")
    done = typed("trace", "hf://datasets/team/traces")
    assert (done.returncode, _error(done)[0]) == (3, "error: hf://datasets/team/traces: the Hub answered 500")
    done = typed("trace", "hf://datasets/team/traces", HF_ENDPOINT="http://127.0.0.1:9")
    assert (done.returncode, _error(done)[0]) == (
        3,
        "error: hf://datasets/team/traces: the Hub cannot be reached (ConnectError)",
    )


def test_a_connection_that_is_cut_is_resumed_where_it_broke(typed: Typed, hub: Hub) -> None:
    whole = _small_session(1) + "\n" * 12_000_000
    hub.repository("datasets/team/traces", {"a.jsonl": File(data=whole.encode(), lfs=True)})
    hub.cut_after = 11_000_000
    done = typed("trace", "hf://datasets/team/traces")
    assert done.returncode == 0, done.stderr
    assert [one.range for one in _downloads(hub) if "/cdn/" in one.path] == [None, "bytes=11000000-"]


def test_the_token_goes_to_no_other_host(typed: Typed, hub: Hub, home: Path, cache: Path) -> None:
    hub.repository("datasets/team/traces", {"a.jsonl": File(data=_small_session(1).encode(), lfs=True)}, private=True)
    hub.repository("datasets/team/plain", {"a.jsonl": _small_session(1)}, private=True)
    cache.mkdir()
    (cache / "token").write_text(TOKEN)
    assert typed("trace", "hf://datasets/team/traces").returncode == 0
    assert {(one.host, one.token) for one in hub.requests} == {("127.0.0.1", TOKEN), ("localhost", None)}

    def elsewhere(request: Request) -> Answer | None:
        """As a proxy that sends everything on to another host."""
        return (307, {"Location": f"{hub.cdn}{request.path}"}, b"") if request.host == "127.0.0.1" else None

    hub.requests.clear()
    hub.before = elsewhere
    assert typed("trace", "hf://datasets/team/plain").returncode == 2
    assert {one.token for one in hub.requests if one.host == "localhost"} == {None}
    assert TOKEN.encode() not in b"".join(_tree(home, cache / "hub").values())


def test_a_killed_download_keeps_the_files_that_are_complete(
    typed: Typed, hub: Hub, here: Path, environment: dict[str, str], variables: dict[str, str]
) -> None:
    hub.repository("datasets/team/traces", {f"{n}.jsonl": _small_session(n) for n in range(40)})
    may_go_on = threading.Event()

    def hold(request: Request) -> Answer | None:
        if len(_downloads(hub)) > 20:
            may_go_on.wait(60)
        return None

    hub.before = hold
    words = [COMMAND, "trace", "hf://datasets/team/traces"]
    with started(words, cwd=here, env={**environment, **variables}) as process:
        wait(lambda: len(_downloads(hub)) > 20)
        os.killpg(process.pid, signal.SIGKILL)
    may_go_on.set()
    before = {one.path for one in _downloads(hub)}
    hub.requests.clear()
    done = typed("trace", "hf://datasets/team/traces")
    assert done.returncode == 0, done.stderr
    after = {one.path for one in _downloads(hub)}
    assert len(before | after) == 40
    assert len(after) <= 40 - 12, "at most eight were under way"


def test_an_address_is_refused_with_the_command_that_reads_it(typed: Typed, hub: Hub, here: Path) -> None:
    page = "https://huggingface.co/datasets/team/traces"
    for address, hint in (
        (f"{page}/resolve/main/a/b.jsonl?download=true", "name it as hf://datasets/team/traces@main/a/b.jsonl"),
        (f"{page}/tree/v1", "name it as hf://datasets/team/traces@v1"),
        ("https://hf.co/team/skill", "name it as hf://team/skill"),
        ("https://example.com/a b.jsonl", "fetch it, and name the file: curl -fLO 'https://example.com/a b.jsonl'"),
    ):
        for words in (["trace", address], ["generate", "--from", address, "-m", "x"], ["install", address]):
            done = typed(*words)
            assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"hint:  {hint}"), (words, done.stderr)
    assert hub.requests == []


def test_a_skill_is_checked_measured_and_installed_from_the_hub_with_its_commit(
    typed: Typed, hub: Hub, here: Path, home: Path
) -> None:
    files = {"skills/port/SKILL.md": SKILL, "skills/port/skill_meta.json": CASES, "README.md": "# Skills\n"}
    commit = hub.repository("models/team/skills", files).branches["main"]
    refused = typed("install", "hf://team/skills", "--yes")
    assert (refused.returncode, refused.stderr.splitlines()) == (
        2,
        ["error: hf://team/skills: has no SKILL.md", "hint:  did you mean hf://team/skills/skills/port?"],
    )
    assert not _downloads(hub)
    linted = typed("lint", "hf://team/skills/skills/port")
    assert linted.returncode == 0, linted.stdout
    (here / "student.yaml").write_text("rules:\n  - arm: with_skill\n    when: Q\n    replies: ['7413']\n")
    measured = typed("eval", "hf://team/skills/skills/port", "-m", "scripted/student.yaml", "--runs", "1", "--yes")
    assert "hf://team/skills/skills/port: 2 files" in measured.stderr, measured.stderr
    assert measured.returncode in (0, 1, 3)
    (record_file,) = here.glob("runs/*/run.json")
    assert commit in record_file.read_text(), "the run says what was measured"
    done = typed("install", "hf://team/skills/skills/port/SKILL.md", "--for", "codex", "--yes")
    assert done.returncode == 0, done.stderr
    record = json.loads((here / ".agents/skills/port/.upskill-install.json").read_text())
    assert record["source"] == f"hf://team/skills@{commit}/skills/port"
    assert (here / ".agents/skills/port/SKILL.md").read_text() == SKILL
    assert typed("install", "port", "--undo", "--yes").returncode == 0


def test_a_skill_that_is_a_whole_repository_keeps_its_name(typed: Typed, hub: Hub, here: Path) -> None:
    hub.repository("models/team/port", {"SKILL.md": SKILL})
    linted = typed("lint", "hf://team/port")
    assert (linted.returncode, "name" in linted.stdout) == (0, False), linted.stdout


def test_without_the_extra_the_error_names_it() -> None:
    code = (
        "import sys; sys.modules['huggingface_hub'] = None; from upskill.core.hub import fetched; fetched('hf://a/b')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("UsageError: hf:// needs the package huggingface_hub")
