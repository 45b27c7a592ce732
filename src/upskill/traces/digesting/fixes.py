"""Errors and their fixes: a call that failed, what changed, and the rerun that passed. The rest stays open."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from upskill.domain.trace_digest import Finding, Part, Place
from upskill.traces.digesting import shell
from upskill.traces.digesting.changes import describe, named
from upskill.traces.digesting.excerpt import (
    Generalise,
    error_excerpt,
    error_line,
    one_line,
    passed_excerpt,
    plain,
    shortened,
    signature,
)
from upskill.traces.digesting.work import REFUSED, Action, Work

_OPEN_PER_HEAD = 8
_SHOWN_CHANGES = 3
_LOOKED_BACK = 400
"""Moves before the pass in which a change is looked for."""
_NOT_THERE = ("not found", "no module named", "no such file", "permission denied", "not recognized", "enoent")


@dataclass(kw_only=True, slots=True)
class Chain:
    """Failures of one and the same call, in order, not yet followed by a pass."""

    failures: list[Action] = field(default_factory=list)

    @property
    def last(self) -> Action:
        """The newest failure."""
        return self.failures[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class FixedChain:
    """A chain with the call that passed in the end."""

    failures: tuple[Action, ...]
    passed: Action


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairs:
    """What became of every failure that was worth following."""

    closed: tuple[FixedChain, ...]
    open: tuple[Chain, ...]


def pair_failures(work: Work) -> Pairs:
    """Follow each failing call to the rerun that passed, if there was one."""
    by_key: dict[str, list[Chain]] = {}
    recent: list[Chain] = []
    chains: list[Chain] = []
    done: set[int] = set()
    closed: list[FixedChain] = []
    for action in work.actions:
        if action.state == "unknown" or action.sort == "look" or _is_refusal(action):
            continue
        if action.failed:
            chain = next((each for each in _candidates(action, by_key, recent) if id(each) not in done), None)
            if chain is None or not _again(chain.last, action):
                chain = Chain()
                chains.append(chain)
                for key in _keys(action):
                    by_key[key] = [*by_key.get(key, [])[1 - _OPEN_PER_HEAD :], chain]
                recent = [*recent[-7:], chain]
            chain.failures.append(action)
            continue
        for chain in _candidates(action, by_key, recent):
            if id(chain) not in done and _again(chain.last, action):
                done.add(id(chain))
                closed.append(FixedChain(failures=tuple(chain.failures), passed=action))
    return Pairs(closed=tuple(closed), open=tuple(chain for chain in chains if id(chain) not in done))


def _candidates(action: Action, by_key: dict[str, list[Chain]], recent: list[Chain]) -> list[Chain]:
    found = [chain for key in _keys(action) for chain in reversed(by_key.get(key, []))]
    return list({id(chain): chain for chain in [*found, *reversed(recent)]}.values())


def _keys(action: Action) -> list[str]:
    if action.sort == "command":
        return list(dict.fromkeys(part.head for part in shell.simple_commands(action.call.arguments)))[:6]
    return [f"{action.call.name}\0{action.path or ''}"]


def _again(before: Action, after: Action) -> bool:
    """Whether `after` is `before` run again, small differences aside."""
    if (before.sort == "command") != (after.sort == "command"):
        return False
    if before.sort != "command":
        same_tool = before.call.name == after.call.name and before.sort == after.sort
        return same_tool and (before.path is not None and before.path == after.path)
    first = [part for part in shell.simple_commands(before.call.arguments) if not part.only_looks]
    second = [part for part in shell.simple_commands(after.call.arguments) if not part.only_looks]
    aims = [part for part in first if part.is_check] or first[-1:]
    if any(shell.is_rerun(aim, part) for aim in aims for part in second):
        return True
    missing = before.output[-600:].lower()
    return any(word in missing for word in _NOT_THERE) and any(
        aim.words and aim.words == part.words for aim in aims for part in second
    )


def _is_refusal(action: Action) -> bool:
    return action.failed and REFUSED.match(action.output) is not None


def find_fixes(work: Work, pairs: Pairs, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    """One finding for each error that went away: by the pass, or by giving way to another error."""
    for closed in pairs.closed:
        runs = _runs(closed.failures)
        for number, run in enumerate(runs):
            ended_by = closed.passed if number == len(runs) - 1 else runs[number + 1][0]
            start, end = _after(work, run[-1]), _after(work, ended_by)
            between = [
                action for action in work.actions[max(start, end - _LOOKED_BACK) : end] if action is not ended_by
            ]
            changed = _changing(between)
            if ended_by is not closed.passed and not changed:
                continue
            yield _finding(
                work, run, ended_by, changed, passed=ended_by is closed.passed, trace=trace, generalise=generalise
            )


def _after(work: Work, action: Action) -> int:
    """The position behind an action. Indices grow, but words take some of them, so it is searched for."""
    return bisect_right(work.actions, action.index, key=lambda each: each.index)


def _runs(failures: Sequence[Action]) -> list[list[Action]]:
    """Failures in a row with the same error belong together."""
    runs: list[list[Action]] = []
    for action in failures:
        if runs and error_signature(runs[-1][-1]) == error_signature(action):
            runs[-1].append(action)
        else:
            runs.append([action])
    return runs


def error_signature(action: Action) -> str:
    """What makes two outputs the same error."""
    return signature(plain(error_line(action.output)))


def _changing(between: Iterable[Action]) -> list[Action]:
    """Edits, and commands that passed and may have changed something."""
    return [
        action
        for action in between
        if not action.failed and (action.sort == "edit" or (action.sort == "command" and not action.is_check))
    ]


def _finding(
    work: Work,
    run: Sequence[Action],
    ended_by: Action,
    changed: Sequence[Action],
    *,
    passed: bool,
    trace: int,
    generalise: Generalise,
) -> Finding:
    first, last = run[0], run[-1]
    line = generalise(plain(error_line(last.output)))
    other_command = _words(last) != _words(ended_by)
    marked = first.state == "failed"
    return Finding(
        kind="fix",
        title=f"`{_aim(last, generalise)}` failed: {one_line(line, most=140)}"
        if line
        else f"`{_aim(last, generalise)}` failed",
        key=f"{head_of(last)}: {signature(line)}",
        places=places(trace, [*run, *changed[-_SHOWN_CHANGES:], ended_by]),
        # How a tool is used is told in brief only: it is seldom a lesson.
        parts=_parts(work, run, ended_by, changed, passed=passed, generalise=generalise, brief=first.sort != "command"),
        brief=_parts(work, run, ended_by, changed, passed=passed, generalise=generalise, brief=True),
        marked=marked,
        points=_points(last, ended_by, marked=marked, passed=passed, explained=bool(changed) or other_command),
        count=1,
    )


def _points(failed: Action, ended_by: Action, *, marked: bool, passed: bool, explained: bool) -> float:
    if failed.sort != "command":
        return 2.0
    points = 6.0 if passed else 4.0
    if ended_by.is_check:
        points += 1.0
    if not explained:
        points -= 3.0
    if not marked:
        points -= 2.0
    return points


def _parts(
    work: Work,
    run: Sequence[Action],
    ended_by: Action,
    changed: Sequence[Action],
    *,
    passed: bool,
    generalise: Generalise,
    brief: bool,
) -> tuple[Part, ...]:
    last = run[-1]
    lines, chars = (3, 300) if brief else (10, 1_200)
    error = error_excerpt(generalise(plain(last.output)), lines=lines, chars=chars)
    times = f" {len(run)} times" if len(run) > 1 else ""
    parts = []
    told = len(generalise(plain(last.call.arguments))) <= 80 and len(error_line(last.output)) <= 140
    if times or not (brief and told and last.sort == "command"):
        # In brief, a title that holds the command and the error is enough.
        parts.append(Part(label=f"failed{times}", text=f"$ {_call(last, generalise, brief=brief)}\n{error}".rstrip()))
    parts += _changed_parts(changed, generalise=generalise, brief=brief)
    if not changed and _words(last) == _words(ended_by):
        parts.append(Part(label="changed", text="nothing that the recording shows", verbatim=False))
    if passed:
        outcome = passed_excerpt(generalise(plain(ended_by.output)), chars=100 if brief else 200)
        parts.append(Part(label="passed", text=f"$ {_call(ended_by, generalise, brief=brief)}\n{outcome}".rstrip()))
    else:
        then = one_line(generalise(plain(error_line(ended_by.output))), most=160)
        parts.append(Part(label="then", text=f"the next run got further and failed with: {then}", verbatim=False))
    words = _words_about(work, run[0], ended_by, generalise=generalise, most=160 if brief else 400)
    if words:
        parts.append(Part(label="the agent said", text=words, verbatim=False))
    return tuple(parts)


def _changed_parts(changed: Sequence[Action], *, generalise: Generalise, brief: bool) -> list[Part]:
    if not changed:
        return []
    # Edits tell most, and the last ones before the pass more than the first.
    edits = [action for action in changed if action.sort == "edit"]
    rest = [action for action in changed if action.sort != "edit"]
    most = 1 if brief else _SHOWN_CHANGES
    shown = sorted([*edits[-most:], *rest[len(rest) - max(0, most - len(edits)) :]][:most], key=lambda each: each.index)
    lines, chars = (6, 350) if brief else (16, 900)
    text = "\n".join(describe(action, generalise=generalise, lines=lines, chars=chars) for action in shown)
    others = [action for action in changed if action not in shown]
    if others:
        names = list(dict.fromkeys(named(action, generalise=generalise) for action in others))
        other = f"{len(others)} other change{'' if len(others) == 1 else 's'}"
        text += f"\n[… {other} cut: {one_line(', '.join(names), most=160)}]"
    return [Part(label="changed", text=text)]


def _words_about(work: Work, first: Action, ended_by: Action, *, generalise: Generalise, most: int) -> str:
    """What the agent said next after the outcome, else what it said last on the way there."""
    start, end = (bisect_right(work.said, action.index, key=lambda said: said.index) for action in (first, ended_by))
    mine = [
        said
        for said in work.said[max(start, end - _LOOKED_BACK) : end + 3]
        if said.source == "agent" and said.thread == ended_by.thread
    ]
    after = [said for said in mine if said.index > ended_by.index and said.step <= ended_by.step + 2]
    within = [said for said in mine if said.index < ended_by.index]
    chosen = after[0] if after else within[-1] if within else None
    return one_line(generalise(plain(chosen.text)), most=most) if chosen else ""


def places(trace: int, actions: Iterable[Action]) -> tuple[Place, ...]:
    """Where these were, one place per thread."""
    steps: dict[str, set[int]] = {}
    for action in actions:
        steps.setdefault(action.thread, set()).add(action.step)
    return tuple(Place(trace=trace, thread=thread, steps=tuple(sorted(found))) for thread, found in steps.items())


def _words(action: Action) -> str:
    return " ".join(action.call.arguments.split())


def _call(action: Action, generalise: Generalise, *, brief: bool) -> str:
    text = generalise(plain(action.call.arguments))
    if action.sort != "command":
        text = f"{action.call.name} {text}"
    return shortened(text, lines=3 if brief else 8, chars=200 if brief else 500)


def _aim(action: Action, generalise: Generalise) -> str:
    """What failed, in a few words: the check among the parts of a command line, else its last part."""
    if action.sort != "command":
        return one_line(f"{action.call.name} {generalise(plain(action.path or ''))}".strip(), most=80)
    text = generalise(plain(action.call.arguments))
    return one_line(text, most=80) if len(text) <= 80 else head_of(action)


def head_of(action: Action) -> str:
    """What was run, without its words: the check among the parts of a command line, else its last part."""
    if action.sort != "command":
        return action.call.name
    parts = [part for part in shell.simple_commands(action.call.arguments) if not part.only_looks]
    aims = [part for part in parts if part.is_check] or parts[-1:]
    return aims[-1].head if aims else one_line(action.call.arguments, most=40)
