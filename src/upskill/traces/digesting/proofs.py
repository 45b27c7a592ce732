"""Proofs: the checks that passed, above all those after the last change. And the agent's own last words, as a claim."""

from collections.abc import Iterator

from upskill.domain.trace_digest import Finding, Part, Place
from upskill.traces.digesting import shell
from upskill.traces.digesting.excerpt import Generalise, one_line, passed_excerpt, plain, shortened
from upskill.traces.digesting.fixes import places
from upskill.traces.digesting.work import Action, Work


def find_proofs(work: Work, *, trace: int, generalise: Generalise, success: bool | None) -> Iterator[Finding]:
    """The last passing run of every check, unless the same check failed after it."""
    last_edit = max((action.index for action in work.actions if _changes(action)), default=-1)
    latest: dict[str, Action] = {}
    for action in work.actions:
        if not action.is_check:
            continue
        checks = [part for part in shell.simple_commands(action.call.arguments) if part.is_check]
        for part in checks:
            key = " ".join([part.head, *sorted(part.words)])
            if action.failed:
                latest.pop(key, None)
            elif action.state == "passed":
                latest[key] = action
    seen: set[int] = set()
    for action in latest.values():
        if action.index not in seen:
            seen.add(action.index)
            yield _proof(action, trace=trace, generalise=generalise, after=action.index > last_edit, success=success)
    yield from _last_words(work, trace=trace, generalise=generalise)


def _changes(action: Action) -> bool:
    """An edit, or a command that writes files and does not itself end in a check."""
    if action.failed:
        return False
    if action.sort == "edit":
        return True
    return action.sort == "command" and not action.is_check and shell.changes_files(action.call.arguments)


def _proof(action: Action, *, trace: int, generalise: Generalise, after: bool, success: bool | None) -> Finding:
    typed = generalise(plain(action.call.arguments))
    outcome = passed_excerpt(generalise(plain(action.output)), chars=200)
    marked = action.observation is not None and (
        action.observation.failed is False or action.observation.exit_code == 0
    )
    when = "" if after else ", before the last change"
    checks = [part.head for part in shell.simple_commands(action.call.arguments) if part.is_check]
    points = 5.0 if after else 3.0
    if success is False:
        points /= 2
    short = one_line(typed, most=120)
    whole = (Part(label="passed", text=f"$ {shortened(typed, lines=6, chars=400)}"),) if short != typed.strip() else ()
    return Finding(
        kind="proof",
        title=f"`{short}` passed{when}" + (f": {outcome}" if outcome else ""),
        key=" ".join(dict.fromkeys(checks)),
        places=places(trace, [action]),
        parts=whole,
        brief=(),
        marked=marked,
        points=points,
    )


def _last_words(work: Work, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    for said in reversed(work.said):
        if said.source == "agent" and not said.thread:
            text = generalise(plain(said.text)).strip()
            if len(text) < 20:
                return
            yield Finding(
                kind="proof",
                title="claimed by the agent at the end",
                key=f"last words {one_line(text, most=120)}",
                places=(Place(trace=trace, thread="", steps=(said.step,)),),
                parts=(Part(label="", text=shortened(text, lines=24, chars=1_200)),),
                brief=(Part(label="", text=shortened(text, lines=6, chars=300)),),
                points=3.0,
            )
            return
