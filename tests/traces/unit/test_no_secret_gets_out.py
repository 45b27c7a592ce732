"""Secrets planted where the digest looks: none is in what `upskill trace` shows, prints or hands to a teacher."""

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from long_session import Session
from noted_progress import NotedLines
from secret_corpus.chats import chat_with
from secret_corpus.leaks import left_of
from secret_corpus.made_up import Planted
from secret_corpus.planted import all_planted
from upskill.traces.command import show_trace, trace_json
from upskill.traces.read_trace import read_trace
from upskill.traces.trace import TraceSource

PLANTED = all_planted()
GROUPS = [PLANTED[start::10] for start in range(10)]


def _lines(records: Iterable[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _claude_code(group: Sequence[Planted]) -> str:
    """Each secret in a command that fails, in its output, in the edit, in the person's words and in the agent's."""
    session = Session(seed=1)
    records = [*session.person("Deploy the service.")]
    for number, planted in enumerate(group):
        path, text = f"/home/dev/looms/{number}.env", planted.text
        records += session.call("Bash", {"command": f"make target_{number}"}, f"error: bad\n{text}", failed=True)
        records += session.call("Edit", {"file_path": path, "old_string": "x", "new_string": text}, "updated")
        records += session.call("Bash", {"command": f"make target_{number}"}, f"{text}\nok, 0 failed")
        records += session.call("Bash", {"command": f"./never_{number} <<'E'\n{text}\nE"}, text, failed=True)
        records += session.agent(f"It was this:\n{text}")
        records += session.person(f"No, never write this number {number} down:\n{text}")
    return _lines(records)


def _text(group: Sequence[Planted]) -> str:
    return "\n\n".join(f"It failed, because of this one:\n{planted.text}\nand was fixed." for planted in group)


@pytest.mark.parametrize("number", range(10))
def test_no_planted_secret_is_in_anything_that_gets_out(number: int, tmp_path: Path) -> None:
    group = GROUPS[number]
    write = (_claude_code, chat_with, _text)[number % 3]
    path = tmp_path / "recording"
    path.write_text(write(group), encoding="utf-8")
    noted = NotedLines()
    # A budget in which everything found has room, so that nothing is hidden by a cut.
    source = read_trace(str(path), budget=200_000, folder=tmp_path, environment={}, progress=noted, now=0)
    out = "\n".join(
        [_shown(source), json.dumps(trace_json(source), ensure_ascii=False), source.digest.text, *noted.lines]
    )
    bare = out
    for kind in source.redactions:
        # The names of kinds are meant to be seen, and some begin as the secret does.
        bare = bare.replace(kind, "")
    assert [planted.name for planted in group if left_of(planted, bare)] == []
    assert sum(source.redactions.values()) >= len(group)
    assert out.count("[redacted: ") >= len(group)


def _shown(source: TraceSource) -> str:
    page = io.StringIO()
    show_trace(source, Console(file=page, width=2_000))
    return page.getvalue()
