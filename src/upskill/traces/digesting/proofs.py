"""Proofs: the checks that passed, above all those after the last change. And the agent's own last words, as a claim."""

from collections.abc import Iterator

from upskill.domain.trace_digest import Finding, Part, Place
from upskill.traces.digesting import shell
from upskill.traces.digesting.work import Action, Work
from upskill.traces.excerpt import one_line, passed_excerpt, shortened

CLAIMED = "last words "
"""Begins the key of what the agent claimed."""


def find_proofs(work: Work, *, success: bool | None) -> Iterator[Finding]:
    """The last passing run of every check, unless the same check failed after it."""
    last_edit = max((action.index for action in work.actions if _changes(action)), default=-1)
    latest: dict[str, Action] = {}
    for action in work.actions:
        for part in action.simple_commands:
            key = " ".join([part.head, *sorted(part.words)])
            if part.is_check and action.failed:
                latest.pop(key, None)
            elif part.is_check and action.state == "passed":
                latest[key] = action
    for action in {action.index: action for action in latest.values()}.values():
        yield _proof(work, action, after=action.index > last_edit, success=success)
    yield from _claim(work)


def _changes(action: Action) -> bool:
    """An edit, or a command that writes files and does not itself end in a check."""
    if action.failed:
        return False
    if action.kind == "edit":
        return True
    return action.kind == "command" and not action.is_check and shell.changes_files(action.call.arguments)


def _proof(work: Work, action: Action, *, after: bool, success: bool | None) -> Finding:
    command = work.command(action)
    short = one_line(command, most=120)
    outcome = passed_excerpt(work.shown(action.output), chars=200)
    observed = action.observation
    when = "" if after else ", before the last change"
    points = 5.0 if after else 3.0
    return Finding(
        kind="proof",
        title=f"`{short}` passed{when}" + (f": {outcome}" if outcome else ""),
        key=" ".join(dict.fromkeys(part.head for part in action.simple_commands if part.is_check)),
        places=work.places([action]),
        parts=()
        if short == command.strip()
        else (Part(label="passed", text=f"$ {shortened(command, lines=6, chars=400)}"),),
        marked=observed is not None and (observed.failed is False or observed.exit_code == 0),
        points=points / 2 if success is False else points,
    )


def _claim(work: Work) -> Iterator[Finding]:
    own = (each for each in reversed(work.statements) if each.source == "agent" and not each.thread)
    last = next(own, None)
    text = "" if last is None else work.shown(last.text).strip()
    if last is not None and len(text) >= 20:
        yield Finding(
            kind="proof",
            title="claimed by the agent at the end",
            key=CLAIMED + one_line(text, most=120),
            places=(Place(trace=work.trace, steps=(last.step,)),),
            parts=(Part(label="", text=shortened(text, lines=24, chars=1_200)),),
            brief=(Part(label="", text=shortened(text, lines=6, chars=300)),),
            points=3.0,
        )
