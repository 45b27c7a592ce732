"""`upskill trace`: what a person sees, what a program gets, what is refused and how."""

import base64
import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from forking import COMMAND
from noted_progress import NotedLines
from traces.unit.claude_session import agent, text, user, write
from typed import Upskill
from upskill.traces.read_trace import read_trace

SAMPLES = Path(__file__).parents[2] / "samples" / "traces"
SESSION = SAMPLES / "claude-code" / "session.jsonl"


def _json(upskill: Upskill, *words: str, **variables: str) -> dict[str, Any]:
    done = upskill("trace", *words, "--json", **variables)
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_a_session_is_shown_as_it_was_understood(upskill: Upskill) -> None:
    done = upskill("trace", str(SESSION))
    assert done.returncode == 0
    assert done.stderr == ""
    for said in (
        "Claude Code · claude-sonnet-5 · /home/dev/project",
        "task       Write a fused row-softmax CUDA kernel in softmax.cu and make `make test` pass.",
        "person     2 turns, 1 correction",
        "6 calls: Bash 2, ",
        "failures   1 marked as failed; 1 fix, 0 dead ends",
        "skipped    1 branch discarded by the person",
        "redacted   no secrets found",
        "skipped    1 line that could not be read",
        '`make test` failed: softmax.cu(12): error: identifier "__shfl_down" is undefined  steps 3, 5, 6',
        "No, also keep the mask configurable. Always do that in this repo.  step 8",
        "`make test` passed: PASS max_abs_err=2.4e-07 12/12  step 6",
        "note: session.jsonl:27: the last line is incomplete",
    ):
        assert said in done.stdout
    assert "ABANDONED" not in done.stdout


def test_the_digest_is_markdown_and_nothing_else(upskill: Upskill) -> None:
    done = upskill("trace", str(SESSION), "--digest")
    assert done.stdout.startswith("# Digest of session.jsonl\n")
    assert "+__shfl_down_sync(0xffffffff, v, o)" in done.stdout
    assert "is incomplete" in done.stderr
    digest = _json(upskill, str(SESSION))["digest"]
    assert digest["text"] == done.stdout, "every time the same"
    (fix,) = (finding for finding in digest["findings"] if finding["kind"] == "fix")
    assert fix["places"] == [{"trace": 1, "thread": None, "steps": [3, 5, 6], "lines": None}]


def test_every_key_of_the_json_is_documented(upskill: Upskill) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    page = page.partition("## `upskill trace --json`")[2].partition("\n## ")[0]
    value = _json(upskill, str(SESSION))
    assert value.pop("schema") == "upskill.trace/1"
    digest, trace = value["digest"], value["traces"][0]
    finding = next(each for each in digest["findings"] if each["kind"] == "fix")
    keys = [*value, *digest, *trace, *finding, *finding["places"][0], *finding["parts"][0]]
    named = set(re.findall(r"`(\w+)[`.]", page))
    assert sorted(set(keys) - named) == []


def test_a_failure_that_the_recording_does_not_mark_is_called_so(upskill: Upskill) -> None:
    done = upskill("trace", str(SAMPLES / "openai" / "messages.json"))
    assert "failures   1 recognised by their text" in done.stdout


def test_a_terminal_that_knows_few_characters_is_no_reason_to_fail(upskill: Upskill) -> None:
    for words in ([], ["--digest"], ["--json"]):
        done = upskill("trace", str(SESSION), *words, PYTHONIOENCODING="ascii")
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == "upskill.trace/1"


def test_a_missing_prompt_is_said(upskill: Upskill) -> None:
    assert "task       not recorded" in upskill("trace", str(SAMPLES / "codex" / "exec.jsonl")).stdout


def test_secrets_are_counted_by_kind_and_shown_nowhere(upskill: Upskill) -> None:
    sample = SAMPLES / "claude-code" / "secret.jsonl"
    secrets = json.loads((SAMPLES / "expected.json").read_text())["claude-code/secret.jsonl"]["absent_after_redaction"]
    assert len(secrets) == 6
    for words in ([], ["--digest"], ["--json"], ["--debug"]):
        done = upskill("trace", str(sample), *words)
        assert done.returncode == 0
        assert [secret for secret in secrets if secret in done.stdout + done.stderr] == []
    assert "redacted   " in upskill("trace", str(sample)).stdout
    assert sum(_json(upskill, str(sample))["redactions"].values()) >= 6


def test_a_users_own_key_is_taken_out_whatever_its_form(upskill: Upskill, here: Path) -> None:
    (here / "notes.md").write_text("We set it to plain-word-key-1234 and it worked, because the server wanted it.\n")
    done = upskill("trace", "notes.md", "--digest", UPSKILL_ENDPOINT_KEY="plain-word-key-1234")
    assert "plain-word-key-1234" not in done.stdout + done.stderr
    assert "it worked" in done.stdout


def test_a_secret_longer_than_a_line_is_taken_out_of_a_text(upskill: Upskill, here: Path) -> None:
    body = "\n".join("MIIEFAKE" + "A1b2C3d4" * 7 for _ in range(12))
    kind = "RSA PRIVATE KEY"
    (here / "notes.md").write_text(
        f"The key:\n\n-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n\nand that was all.\n"
    )
    done = upskill("trace", "notes.md", "--digest")
    assert "A1b2C3d4" not in done.stdout
    assert "that was all" in done.stdout


def test_a_folder_is_one_source_with_support(upskill: Upskill) -> None:
    done = upskill("trace", str(SAMPLES))
    assert done.returncode == 0
    rows = done.stdout.split("\n\n")[0].splitlines()
    assert any("claude-code/session.jsonl" in row for row in rows)
    assert not any("subagents" in row for row in rows), "a subagent is read with its session"
    assert any(row.startswith("= ") and "rollout.jsonl.zst" in row for row in rows)
    assert "sessions read as one" in done.stdout
    assert "edge/empty.jsonl: is empty" in done.stdout
    value = _json(upskill, str(SAMPLES))
    (fix,) = (finding for finding in value["digest"]["findings"] if finding["kind"] == "fix")
    assert fix["support"] >= 6
    assert len(value["refused"]) == 3


def test_a_budget_is_kept(upskill: Upskill) -> None:
    assert _json(upskill, str(SAMPLES), "--budget", "400")["digest"]["tokens"] <= 400
    done = upskill("trace", str(SESSION), "--budget", "20")
    assert done.returncode == 2
    assert "is too small for a digest" in done.stderr


def test_a_recording_can_be_piped_in(upskill: Upskill, here: Path, environment: dict[str, str]) -> None:
    def pipe(content: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [COMMAND, "trace", "-"], cwd=here, env=environment, input=content, capture_output=True, check=False
        )

    done = pipe((SAMPLES / "codex" / "rollout.jsonl").read_bytes())
    assert done.returncode == 0
    assert done.stdout.startswith(b"stdin\nCodex")
    empty = pipe(b"")
    assert empty.returncode == 2
    assert empty.stderr.startswith(b"error: stdin: is empty")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (None, "no such file or folder"),
        (b"", "is empty"),
        (bytes(range(256)) * 20, "neither text nor a session"),
        (b'{"kind": "a", "n": 1}\n{"kind": "b", "n": 2}\n', "keys seen: kind, n"),
        (b"SQLite format 3\x00" + bytes(100), "a database"),
        (b"[" * 200_000, "cannot be parsed"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence_with_a_hint(
    upskill: Upskill, here: Path, make: bytes | None, said: str
) -> None:
    if make is not None:
        (here / "x.jsonl").write_bytes(make)
    done = upskill("trace", "x.jsonl")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: x.jsonl: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_without_recordings_is_refused_with_what_was_there(upskill: Upskill, here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "README.md").write_text("Read me.\n")
    (here / "sub" / "data.json").write_text('{"a": 1}')
    done = upskill("trace", "sub")
    assert done.returncode == 2
    assert "error: sub: contains no session" in done.stderr
    assert "data.json: is JSON of an unknown format" in done.stderr


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x" * 300, "File name too long"),
        ("file/below", "Not a directory"),
        ("/dev/null", "is neither a file nor a folder"),
    ],
)
def test_a_path_that_leads_nowhere_is_said(upskill: Upskill, here: Path, path: str, said: str) -> None:
    (here / "file").write_text("x")
    done = upskill("trace", path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "hint:" in done.stderr


def test_a_pipe_of_the_shell_is_read_like_a_file(here: Path, environment: dict[str, str]) -> None:
    command = f"{COMMAND} trace <(cat {SAMPLES}/codex/rollout.jsonl)"
    done = subprocess.run(
        ["bash", "-c", command], cwd=here, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1 fix" in done.stdout


@pytest.mark.parametrize("linked", ["agent-a.jsonl", "subagents", "session"])
@pytest.mark.parametrize("named", ["clone/session.jsonl", "clone"])
def test_nothing_that_a_link_beside_a_session_leads_to_is_read(
    upskill: Upskill, here: Path, tmp_path: Path, linked: str, named: str
) -> None:
    """A clone holds a session; what lies where its subagents' files are is another person's session, or never ends."""
    theirs, mine = here / "clone", tmp_path / "mine"
    write(theirs / "session.jsonl", user("u1", None, "Go."), agent("u2", "u1", text("Gone.")))
    private = write(
        mine / "subagents" / "agent-a.jsonl", user("a1", None, "My diary."), agent("a2", "a1", text("Yes."))
    )
    beside = theirs / "session" / "subagents"
    if linked == "session":
        beside.parent.symlink_to(mine)
    elif linked == "subagents":
        beside.parent.mkdir()
        beside.symlink_to(private.parent)
    else:
        beside.mkdir(parents=True)
        (beside / "agent-a.jsonl").symlink_to(private)
        (beside / "agent-b.jsonl").symlink_to("/dev/zero")
        os.mkfifo(beside / "agent-c.jsonl")
    (trace,) = _json(upskill, named)["traces"]
    assert trace["subagents"] == 0


def test_digest_and_json_exclude_each_other(upskill: Upskill) -> None:
    assert upskill("trace", str(SESSION), "--digest", "--json").returncode == 2


def test_last_takes_the_newest_session_of_this_folder_and_says_which(upskill: Upskill, here: Path, home: Path) -> None:
    folder = home / ".claude" / "projects" / "-any-name"
    folder.mkdir(parents=True)
    text = SESSION.read_text().replace("/home/dev/project", str(here))
    (folder / "mine.jsonl").write_text(text)
    (folder / "other.jsonl").write_text(text.replace(str(here), f"{here}-other"))
    # The newest of this folder holds nothing yet.
    row = {"type": "user", "cwd": str(here), "sessionId": "s", "uuid": "u", "isMeta": True, "message": {"content": "x"}}
    (folder / "fresh.jsonl").write_text(json.dumps(row) + "\n")
    os.utime(folder / "mine.jsonl", (1_700_000_000, 1_700_000_000))
    done = upskill("trace", "last")
    assert done.returncode == 0, done.stderr
    assert f"newest session: {folder}/mine.jsonl (Claude Code)" in done.stderr
    assert "mine.jsonl" in done.stdout
    os.utime(folder / "mine.jsonl")
    assert "still being written" in upskill("trace", "last:claude").stderr
    link = here.parent / "link"
    link.symlink_to(here, target_is_directory=True)
    assert "mine.jsonl" in upskill("trace", "last", cwd=link, PWD=str(link)).stdout


def test_last_says_where_it_looked_when_nothing_is_there(upskill: Upskill, home: Path) -> None:
    done = upskill("trace", "last")
    assert done.returncode == 2
    for place in (".claude/projects", ".codex/sessions", ".gemini/tmp", ".local/share/opencode"):
        assert f"{home}/{place}" in done.stderr
    assert "error: last: no session was recorded in this folder" in done.stderr
    named = upskill("trace", "last:codex")
    assert ".claude" not in named.stderr
    assert "last:codex" in upskill("trace", "last:cursor").stderr


def test_opencode_is_asked_for_its_sessions(upskill: Upskill, here: Path, home: Path, tmp_path: Path) -> None:
    """A program of that name that lists and exports as opencode does; the recording is the sample."""
    (home / ".local" / "share" / "opencode").mkdir(parents=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    rows = [
        {"id": "ses_old", "title": "t", "updated": 1, "created": 1, "directory": str(here)},
        {"id": "ses_mine", "title": "t", "updated": 5_000, "created": 1, "directory": str(here)},
        {"id": "ses_other", "title": "t", "updated": 9_000, "created": 1, "directory": "/elsewhere"},
    ]
    (tools / "list.json").write_text(json.dumps(rows))
    shutil.copy(SAMPLES / "opencode" / "export.json", tools / "ses_mine.json")
    program = tools / "opencode"
    program.write_text(
        f'#!/bin/sh\ncase "$1" in\n  session) cat {tools}/list.json ;;\n'
        f'  export) echo "Exporting session: $2" >&2; cat {tools}/$2.json ;;\nesac\n'
    )
    program.chmod(0o755)
    done = upskill("trace", "last", PATH=f"{tools}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    assert "newest session: ses_mine of opencode" in done.stderr
    assert "1 fix" in done.stdout
    (tools / "ses_mine.json").unlink()
    broken = upskill("trace", "last", PATH=f"{tools}:/usr/bin:/bin")
    assert broken.returncode == 3
    assert "opencode export ses_mine > session.json" in broken.stderr


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (random.Random(1).randbytes(200_000).replace(b"\0", b"\1"), "is not UTF-8 text: binary data"),
        ("Grüße, schöne Lüfte über Äckern und Flüssen. ".encode("utf-16-le") * 300, "neither text nor a session"),
        ("Äußerst süße Früchte für müde Öfen. ".encode("latin-1") * 3_000, "is not UTF-8 text"),
        (base64.b64encode(random.Random(2).randbytes(150_000)), "has no words, it looks like encoded data"),
        (base64.encodebytes(random.Random(3).randbytes(150_000)), "has no words, it looks like encoded data"),
        (random.Random(4).randbytes(50_000).hex().encode(), "has no words, it looks like encoded data"),
    ],
    ids=["noise", "utf-16", "latin-1", "base64", "lines-of-base64", "hexadecimal"],
)
def test_noise_is_refused_at_once(data: bytes, words: str, upskill: Upskill, here: Path) -> None:
    (here / "notes.md").write_bytes(data)
    done = upskill("trace", "notes.md")
    assert done.returncode == 2, done.stdout
    assert words in done.stderr


def test_text_without_spaces_or_with_a_key_in_it_is_text(upskill: Upskill, here: Path) -> None:
    (here / "notes.md").write_text("# 手順\n\n" + "潮位計は毎朝六時に読み取る。値は帳面に写す。" * 400)
    assert upskill("trace", "notes.md").returncode == 0
    (here / "notes.md").write_text(
        "# Keys\n\nThe public one:\n\n" + base64.b64encode(bytes(range(250))).decode() + "\n" + "It is old. " * 20
    )
    assert upskill("trace", "notes.md").returncode == 0


def test_a_large_file_is_named_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("The gauge is read at six. " * 60_000)
    said = NotedLines()
    read_trace(str(tmp_path / "notes.md"), folder=tmp_path, environment={}, now=0.0, progress=said)
    assert said.lines[0] == "reading notes.md, 1.6 MB"
