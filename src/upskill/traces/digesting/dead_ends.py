"""Dead ends: what was tried and given up. Failures that never passed, edits that did not help, work that was undone."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from upskill.domain.trace_digest import Finding, Part
from upskill.traces.digesting import shell
from upskill.traces.digesting.fixes import FailureChains, error_signature, head_of
from upskill.traces.digesting.work import Action, Work
from upskill.traces.excerpt import error_excerpt, one_line, shortened, signature

NEVER_PASSED = "never: "
"""Begins the key of a failure that did not pass; what follows is the key its fix would have."""

_UNDONE = re.compile(
    r"\bgit\s+(?:checkout\s+(?:HEAD\s+)?(?:--\s+)?(?=\S*[./])|restore\b|reset\s+--hard|revert\b|stash(?!\s+(?:pop|apply|list|show)))"
    r"|\bgit\s+clean\s+-\w*f|\b(?:pip|npm|uv pip|yarn|cargo|apt(?:-get)?)\s+(?:uninstall|remove)\b"
)
_REMOVED = re.compile(r"(?:^|[;&|\n]\s*)(?:git\s+)?rm\s+(?:-\w+\s+)*([^;&|\n]+)")


def find_dead_ends(work: Work, chains: FailureChains) -> Iterator[Finding]:
    """Everything that led nowhere, as far as the recording shows it."""
    yield from _never_passed(work, chains)
    yield from _did_not_help(work, chains)
    yield from _undone(work)


def _never_passed(work: Work, chains: FailureChains) -> Iterator[Finding]:
    for chain in chains.open:
        last, tries = chain.failures[-1], len(chain.failures)
        if last.kind == "command" and shell.only_looks(last.call.arguments):
            continue
        line = work.error(last)
        times = f", {tries} times" if tries > 1 else ""
        points = 3.0 if last.is_check or tries > 1 else 2.0 if last.kind == "command" else 1.0
        yield Finding(
            kind="dead end",
            title=f"`{one_line(_call(work, last), most=100)}` failed{times} and was never seen to pass: "
            + one_line(line, most=140),
            key=f"{NEVER_PASSED}{head_of(last)}: {signature(line)}",
            places=work.places(chain.failures[-5:]),
            parts=_excerpt(work, last),
            marked=last.state == "failed",
            points=points if last.state == "failed" else points - 1.0,
        )


def _did_not_help(work: Work, chains: FailureChains) -> Iterator[Finding]:
    """An edit between two runs that failed with the same error."""
    edits = [action for action in work.actions if action.kind == "edit" and not action.failed]
    for chain in (*chains.fixed, *chains.open):
        for before, after in pairwise(chain.failures):
            if error_signature(before) != error_signature(after):
                continue
            at = bisect_right(edits, after.index, key=lambda edit: edit.index)
            if at == 0 or edits[at - 1].index <= before.index:
                continue
            edit = edits[at - 1]
            line = one_line(work.error(after), most=140)
            yield Finding(
                kind="dead end",
                title=f"an edit of {work.name(edit)} did not help against: {line}",
                key=f"no help: {signature(line)}: {edit.path or ''}",
                places=work.places([before, edit, after]),
                parts=(Part(label="tried", text=work.change(edit, lines=8, chars=500)),),
                marked=before.state == "failed",
                points=2.5,
            )


def _undone(work: Work) -> Iterator[Finding]:
    """Changes taken back by the agent: restored, stashed, uninstalled, or a file of its own deleted."""
    written: dict[str, Action] = {}
    edited = False
    for action in work.actions:
        if action.failed:
            continue
        if action.kind == "edit":
            edited = True
            if action.path is not None:
                written[action.path.replace("\\", "/").rsplit("/", 1)[-1]] = action
        if action.kind != "command":
            continue
        command = action.call.arguments[:4_000]
        if edited and _UNDONE.search(command):
            yield Finding(
                kind="dead end",
                title=f"changes were taken back: `{one_line(_call(work, action), most=120)}`",
                key=f"undone: {signature(command[:200])}",
                places=work.places([action]),
                points=3.0,
            )
        for word in " ".join(_REMOVED.findall(command)).split():
            edit = written.pop(word.rstrip("/").rsplit("/", 1)[-1], None)
            if edit is not None:
                yield Finding(
                    kind="dead end",
                    title=f"{work.name(edit)} was written and later deleted",
                    key=f"deleted: {word.rsplit('/', 1)[-1]}",
                    places=work.places([edit, action]),
                    points=1.5,
                )


def _call(work: Work, action: Action) -> str:
    text = work.command(action)
    return text if action.kind == "command" else f"{action.call.name} {action.path or text}"


def _excerpt(work: Work, action: Action) -> tuple[Part, ...]:
    """The call and its error, where the title does not hold all of both."""
    call = shortened(_call(work, action), lines=6, chars=400)
    error = error_excerpt(work.shown(action.output), lines=8, chars=800)
    if "\n" not in f"{call}{error.strip()}" and len(call) <= 100 and len(error) <= 140:
        return ()
    return (Part(label="failed", text=f"$ {call}\n{error}".rstrip()),)
