"""Failures: errors with their fixes (a call that failed, what changed, and the rerun that passed), and dead ends.

Dead ends are what was tried and given up: failures that never passed, edits that did not help, work that was undone.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import TypeVar

from upskill.traces import shell
from upskill.traces.excerpt import error_excerpt, error_line, one_line, passed_excerpt, plain, shortened, signature
from upskill.traces.trace import Finding, Part
from upskill.traces.work import REFUSED, Action, Statement, Work

_Entry = TypeVar("_Entry", Action, Statement)
_OPEN_PER_HEAD = 8
_SHOWN_CHANGES = 3
_LOOKED_BACK = 400
"""Actions before the pass in which a change is looked for."""
_NOT_THERE = ("not found", "no module named", "no such file", "permission denied", "not recognized", "enoent")


@dataclass(kw_only=True, slots=True, eq=False)
class Chain:
    """Failures of one and the same call, in order, and the call that passed in the end, if one did."""

    failures: list[Action] = field(default_factory=list)
    passed: Action | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureChains:
    """What became of every failure that was worth following."""

    fixed: tuple[Chain, ...]
    """In the order in which they passed."""
    open: tuple[Chain, ...]


def chain_failures(work: Work) -> FailureChains:
    """Follow each failing call to the rerun that passed, if there was one."""
    by_key: dict[str, list[Chain]] = {}
    recent: list[Chain] = []
    chains: list[Chain] = []
    fixed: list[Chain] = []
    for action in work.actions:
        refused = action.failed and REFUSED.match(action.output)
        if action.state == "unknown" or action.kind == "look" or refused:
            continue
        candidates = [chain for chain in _candidates(action, by_key, recent) if chain.passed is None]
        if action.failed:
            chain = candidates[0] if candidates else None
            if chain is None or not _is_rerun(chain.failures[-1], action):
                chain = Chain()
                chains.append(chain)
                for key in _keys(action):
                    by_key[key] = [*by_key.get(key, [])[1 - _OPEN_PER_HEAD :], chain]
                recent = [*recent[-7:], chain]
            chain.failures.append(action)
            continue
        for chain in candidates:
            if _is_rerun(chain.failures[-1], action):
                chain.passed = action
                fixed.append(chain)
    return FailureChains(fixed=tuple(fixed), open=tuple(chain for chain in chains if chain.passed is None))


def _candidates(action: Action, by_key: dict[str, list[Chain]], recent: list[Chain]) -> list[Chain]:
    of_key = [chain for key in _keys(action) for chain in reversed(by_key.get(key, []))]
    return list(dict.fromkeys([*of_key, *reversed(recent)]))


def _keys(action: Action) -> list[str]:
    if action.kind == "command":
        return list(dict.fromkeys(part.head for part in action.simple_commands))[:6]
    return [f"{action.call.name}\0{action.path or ''}"]


def _is_rerun(before: Action, after: Action) -> bool:
    """Whether `after` is `before` run again, small differences aside."""
    if (before.kind == "command") != (after.kind == "command"):
        return False
    if before.kind != "command":
        same_tool = before.call.name == after.call.name and before.kind == after.kind
        return same_tool and before.path is not None and before.path == after.path
    aims = _aims(before)
    rerun = [part for part in after.simple_commands if not part.only_looks]
    if any(shell.is_rerun(aim, part) for aim in aims for part in rerun):
        return True
    missing = before.output[-600:].lower()
    return any(word in missing for word in _NOT_THERE) and any(
        aim.words and aim.words == part.words for aim in aims for part in rerun
    )


def _aims(action: Action) -> list[shell.SimpleCommand]:
    """What a command line is for: the checks among its parts, else its last part."""
    parts = [part for part in action.simple_commands if not part.only_looks]
    return [part for part in parts if part.is_check] or parts[-1:]


def find_fixes(work: Work, chains: FailureChains) -> Iterator[Finding]:
    """One finding for each error that went away: by the pass, or by giving way to another error."""
    for chain in chains.fixed:
        # Failures in a row with the same error belong together.
        runs = [list(run) for _, run in groupby(chain.failures, key=error_signature)]
        ends = [*(run[0] for run in runs[1:]), chain.passed]
        for run, ended_by in zip(runs, ends, strict=True):
            assert ended_by is not None
            fix = _Fix(work=work, run=run, ended_by=ended_by, passed=ended_by is chain.passed)
            if fix.passed or fix.changes:
                yield fix.finding()


def error_signature(action: Action) -> str:
    """What makes two outputs the same error."""
    return signature(plain(error_line(action.output)))


def _between(entries: Sequence[_Entry], first: Action, last: Action, *, beyond: int = 0) -> Sequence[_Entry]:
    """What comes behind `first` up to `last`, the nearest few hundred. Actions and statements share their indices."""
    start, end = (bisect_right(entries, action.index, key=lambda each: each.index) for action in (first, last))
    return entries[max(start, end - _LOOKED_BACK) : end + beyond]


class _Fix:
    """Failures with one error, and the call that ended it: it passed, or failed with another error."""

    def __init__(self, *, work: Work, run: Sequence[Action], ended_by: Action, passed: bool) -> None:
        self.work = work
        self.run = run
        self.last = run[-1]
        self.ended_by = ended_by
        self.passed = passed
        # Edits, and commands that passed and may have changed something.
        self.changes = [
            action
            for action in _between(work.actions, self.last, ended_by)
            if action is not ended_by
            and not action.failed
            and (action.kind == "edit" or (action.kind == "command" and not action.is_check))
        ]
        self.same_command = self.last.call.arguments.split() == ended_by.call.arguments.split()
        if not passed and not self.same_command and shell.changes_files(ended_by.call.arguments):
            self.changes.append(ended_by)  # one line that changes something and then runs it again

    def finding(self) -> Finding:
        line = self.work.error(self.last)
        return Finding(
            kind="fix",
            title=f"`{self._aim()}` failed" + (f": {one_line(line, most=140)}" if line else ""),
            key=f"{head_of(self.last)}: {signature(line)}",
            places=self.work.places([*self.run, *self.changes[-_SHOWN_CHANGES:], self.ended_by]),
            # How a tool is used is kept in brief only: it is seldom a lesson.
            parts=self._parts(brief=self.run[0].kind != "command"),
            brief=self._parts(brief=True),
            marked=self.run[0].state == "failed",
            points=self._points(),
        )

    def _points(self) -> float:
        if self.last.kind != "command":
            return 2.0
        points = 6.0 if self.passed else 4.0
        if self.ended_by.is_check:
            points += 1.0
        if not self.changes and self.same_command:
            points -= 3.0
        if self.run[0].state != "failed":
            points -= 2.0
        return points

    def _parts(self, *, brief: bool) -> tuple[Part, ...]:
        work, last, ended_by = self.work, self.last, self.ended_by
        lines, chars = (3, 300) if brief else (10, 1_200)
        error = error_excerpt(work.shown(last.output), lines=lines, chars=chars)
        times = f" {len(self.run)} times" if len(self.run) > 1 else ""
        parts = []
        in_title = len(work.command(last)) <= 80 and len(error_line(last.output)) <= 140
        if times or not (brief and in_title and last.kind == "command"):
            # In brief, a title that holds the command and the error is enough.
            parts.append(Part(label=f"failed{times}", text=f"$ {self._call(last, brief=brief)}\n{error}".rstrip()))
        if self.changes:
            parts.append(Part(label="changed", text=self._changed(brief=brief)))
        elif self.same_command:
            parts.append(Part(label="changed", text="nothing that the recording shows", verbatim=False))
        if self.passed:
            outcome = passed_excerpt(work.shown(ended_by.output), chars=100 if brief else 200)
            parts.append(Part(label="passed", text=f"$ {self._call(ended_by, brief=brief)}\n{outcome}".rstrip()))
        else:
            then = one_line(work.error(ended_by), most=160)
            parts.append(Part(label="then", text=f"the next run got further and failed with: {then}", verbatim=False))
        if comment := self._comment(most=160 if brief else 400):
            parts.append(Part(label="the agent said", text=comment, verbatim=False))
        return tuple(parts)

    def _changed(self, *, brief: bool) -> str:
        # Edits tell most, and the last ones before the pass more than the first.
        edits = [action for action in self.changes if action.kind == "edit"]
        commands = [action for action in self.changes if action.kind != "edit"]
        most = 1 if brief else _SHOWN_CHANGES
        chosen = [*edits[-most:], *commands[len(commands) - max(0, most - len(edits)) :]][:most]
        chosen.sort(key=lambda action: action.index)
        lines, chars = (6, 350) if brief else (16, 900)
        text = "\n".join(self.work.change(action, lines=lines, chars=chars) for action in chosen)
        others = [action for action in self.changes if action not in chosen]
        if others:
            names = dict.fromkeys(self.work.name(action) for action in others)
            other = f"{len(others)} other change{'' if len(others) == 1 else 's'}"
            text += f"\n[… {other} cut: {one_line(', '.join(names), most=160)}]"
        return text

    def _comment(self, *, most: int) -> str:
        """What the agent said next after the outcome, else what it said last on the way there."""
        ended_by = self.ended_by
        mine = [
            statement
            for statement in _between(self.work.statements, self.run[0], ended_by, beyond=3)
            if statement.source == "agent" and statement.thread == ended_by.thread
        ]
        after = [each for each in mine if each.index > ended_by.index and each.step <= ended_by.step + 2]
        before = [each for each in mine if each.index < ended_by.index]
        chosen = [*after[:1], *before[-1:]]
        return one_line(self.work.shown(chosen[0].text), most=most) if chosen else ""

    def _call(self, action: Action, *, brief: bool) -> str:
        text = self.work.command(action)
        if action.kind != "command":
            text = f"{action.call.name} {text}"
        return shortened(text, lines=3 if brief else 8, chars=200 if brief else 500)

    def _aim(self) -> str:
        """What failed, in a few words."""
        if self.last.kind != "command":
            return one_line(f"{self.last.call.name} {self.work.shown(self.last.path or '')}".strip(), most=80)
        text = self.work.command(self.last)
        return one_line(text, most=80) if len(text) <= 80 else head_of(self.last)


def head_of(action: Action) -> str:
    """What was run, without its words: the check among the parts of a command line, else its last part."""
    if action.kind != "command":
        return action.call.name
    aims = _aims(action)
    return aims[-1].head if aims else one_line(action.call.arguments, most=40)


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
            title=f"`{one_line(_call_of(work, last), most=100)}` failed{times} and was never seen to pass: "
            + one_line(line, most=140),
            key=f"{NEVER_PASSED}{head_of(last)}: {signature(line)}",
            places=work.places(chain.failures[-5:]),
            parts=_failed_parts(work, last),
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
                title=f"changes were taken back: `{one_line(_call_of(work, action), most=120)}`",
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


def _call_of(work: Work, action: Action) -> str:
    text = work.command(action)
    return text if action.kind == "command" else f"{action.call.name} {action.path or text}"


def _failed_parts(work: Work, action: Action) -> tuple[Part, ...]:
    """The call and its error, where the title does not hold all of both."""
    call = shortened(_call_of(work, action), lines=6, chars=400)
    error = error_excerpt(work.shown(action.output), lines=8, chars=800)
    if "\n" not in f"{call}{error.strip()}" and len(call) <= 100 and len(error) <= 140:
        return ()
    return (Part(label="failed", text=f"$ {call}\n{error}".rstrip()),)
