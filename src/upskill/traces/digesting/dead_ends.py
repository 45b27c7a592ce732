"""Dead ends: what was tried and given up. Failures that never passed, edits that did not help, work that was undone."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from upskill.domain.trace_digest import Finding, Part
from upskill.traces.digesting import shell
from upskill.traces.digesting.changes import describe, named
from upskill.traces.digesting.excerpt import (
    Generalise,
    error_excerpt,
    error_line,
    one_line,
    plain,
    shortened,
    signature,
)
from upskill.traces.digesting.fixes import Pairs, error_signature, head_of, places
from upskill.traces.digesting.work import Action, Work

NEVER_PASSED = "never: "
"""Begins the key of a failure that did not pass; what follows is the key its fix would have."""

_UNDONE = re.compile(
    r"\bgit\s+(?:checkout\s+(?:HEAD\s+)?(?:--\s+)?(?=\S*[./])|restore\b|reset\s+--hard|revert\b|stash(?!\s+(?:pop|apply|list|show)))"
    r"|\bgit\s+clean\s+-\w*f|\b(?:pip|npm|uv pip|yarn|cargo|apt(?:-get)?)\s+(?:uninstall|remove)\b"
)
_REMOVED = re.compile(r"(?:^|[;&|\n]\s*)(?:git\s+)?rm\s+(?:-\w+\s+)*([^;&|\n]+)")


def find_dead_ends(work: Work, pairs: Pairs, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    """Everything that led nowhere, as far as the recording shows it."""
    yield from _never_passed(pairs, trace=trace, generalise=generalise)
    yield from _did_not_help(work, pairs, trace=trace, generalise=generalise)
    yield from _undone(work, trace=trace, generalise=generalise)


def _never_passed(pairs: Pairs, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    for chain in pairs.open:
        last = chain.last
        if last.sort == "command" and shell.only_looks(last.call.arguments):
            continue
        line = generalise(plain(error_line(last.output)))
        call = one_line(_typed(last, generalise), most=100)
        times = f", {len(chain.failures)} times" if len(chain.failures) > 1 else ""
        tries = len(chain.failures)
        yield Finding(
            kind="dead end",
            title=f"`{call}` failed{times} and was never seen to pass: {one_line(line, most=140)}",
            key=f"{NEVER_PASSED}{head_of(last)}: {signature(line)}",
            places=places(trace, chain.failures[-5:]),
            parts=_excerpt(last, generalise),
            brief=(),
            marked=last.state == "failed",
            points=(3.0 if last.is_check or tries > 1 else 2.0 if last.sort == "command" else 1.0)
            - (0.0 if last.state == "failed" else 1.0),
        )


def _did_not_help(work: Work, pairs: Pairs, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    """An edit between two runs that failed with the same error."""
    edits = [action for action in work.actions if action.sort == "edit" and not action.failed]
    at = [edit.index for edit in edits]
    chains = [*(closed.failures for closed in pairs.closed), *(tuple(chain.failures) for chain in pairs.open)]
    for failures in chains:
        for before, after in pairwise(failures):
            if error_signature(before) != error_signature(after):
                continue
            between = edits[bisect_right(at, before.index) : bisect_right(at, after.index)]
            if not between:
                continue
            line = one_line(generalise(plain(error_line(after.output))), most=140)
            edit = between[-1]
            yield Finding(
                kind="dead end",
                title=f"an edit of {named(edit, generalise=generalise)} did not help against: {line}",
                key=f"no help: {signature(line)}: {edit.path or ''}",
                places=places(trace, [before, edit, after]),
                parts=(Part(label="tried", text=describe(edit, generalise=generalise, lines=8, chars=500)),),
                brief=(),
                marked=before.state == "failed",
                points=2.5,
            )


def _undone(work: Work, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    """Changes taken back by the agent: restored, stashed, uninstalled, or a file of its own deleted."""
    written: dict[str, Action] = {}
    edited = False
    for action in work.actions:
        if action.sort == "edit" and not action.failed:
            edited = True
            path = action.path
            if path is not None:
                written[path.replace("\\", "/").rsplit("/", 1)[-1]] = action
        if action.sort != "command" or action.failed:
            continue
        command = action.call.arguments[:4_000]
        if edited and _UNDONE.search(command):
            yield Finding(
                kind="dead end",
                title=f"changes were taken back: `{one_line(_typed(action, generalise), most=120)}`",
                key=f"undone: {signature(command[:200])}",
                places=places(trace, [action]),
                points=3.0,
            )
        for removed in _REMOVED.findall(command):
            for word in removed.split():
                edit = written.pop(word.rstrip("/").rsplit("/", 1)[-1], None)
                if edit is not None:
                    yield Finding(
                        kind="dead end",
                        title=f"{named(edit, generalise=generalise)} was written and later deleted",
                        key=f"deleted: {word.rsplit('/', 1)[-1]}",
                        places=places(trace, [edit, action]),
                        points=1.5,
                    )


def _typed(action: Action, generalise: Generalise) -> str:
    text = generalise(plain(action.call.arguments))
    return text if action.sort == "command" else f"{action.call.name} {action.path or text}"


def _excerpt(action: Action, generalise: Generalise) -> tuple[Part, ...]:
    """The call and its error, where the title does not hold all of both."""
    call = shortened(_typed(action, generalise), lines=6, chars=400)
    error = error_excerpt(generalise(plain(action.output)), lines=8, chars=800)
    if "\n" not in f"{call}{error.strip()}" and len(call) <= 100 and len(error) <= 140:
        return ()
    return (Part(label="failed", text=f"$ {call}\n{error}".rstrip()),)
