"""The text of Claude Code's `/export`: a printed terminal. Outputs are cut in it, reasoning is gone."""

import re
from collections.abc import Iterator

from upskill.domain.trace import Trace
from upskill.traces.building import Drafts
from upskill.traces.claude_messages import EXIT_CODE, typed
from upskill.traces.source import Recording

CALL = re.compile(r"\A● ((?:mcp__)?[A-Z][\w-]*|mcp__[\w-]+)\((.*)\Z", re.DOTALL)
RESULT = re.compile(r"\A {1,4}⎿ {0,2}")


def read(recording: Recording) -> Iterator[Trace]:
    """One trace, of what the terminal showed."""
    drafts = Drafts(recording)
    block: list[str] = []
    for line in recording.lines():
        if line.startswith(("> ", "❯ ", "● ")) or RESULT.match(line):
            _add(drafts, block)
            block = [line]
        elif block:
            block.append(line)
    _add(drafts, block)
    recording.note("a printed terminal: outputs are cut and reasoning is gone; the session's .jsonl holds all of it")
    yield drafts.trace("claude-export")


def _add(drafts: Drafts, block: list[str]) -> None:
    if not block:
        return
    head = block[0]
    text = "\n".join([RESULT.sub("", head) if RESULT.match(head) else head[2:], *(line.strip() for line in block[1:])])
    text = text.strip()
    if head.startswith(("> ", "❯ ")):
        found = typed(text)
        is_command = text.startswith("/") and " " not in text
        drafts.commands += is_command
        drafts.person("" if is_command else found.text)
        return
    if RESULT.match(head):
        calls = [call for draft in drafts.steps[-1:] for call in draft.calls]
        if calls:
            code = EXIT_CODE.match(text)
            failed = True if text.startswith("Error") else None
            drafts.observe(calls[-1].id, text, failed=failed, exit_code=int(code.group(1)) if code and failed else None)
        return
    call = CALL.match("\n".join([head, *block[1:]]).rstrip())
    draft = drafts.begin("agent")
    if call and call.group(2).endswith(")"):
        drafts.call(draft, "", call.group(1), call.group(2)[:-1])
    else:
        drafts.say(draft, text)
