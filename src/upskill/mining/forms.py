"""When a command that worked is another form of one that failed. Knows no sessions."""

import re
from collections.abc import Sequence
from itertools import islice

from upskill.mining.terms import Segment, segments
from upskill.traces.work import Action, changed_lines

_SHELL = re.compile(r"(?i)bash|shell|exec|terminal|command|^run$|^cmd$|powershell")
PAGERS = frozenset({"cat", "head", "tail", "less", "more", "bat", "sed", "awk", "nl"})
FINDERS = frozenset({"grep", "rg", "ag", "egrep", "fgrep", "find", "fd", "ls", "tree", "locate", "git"})
TRANSIENT = re.compile(
    r"(?i)timed? ?out|timeout|temporar|connection (?:reset|refused|aborted|closed)|network is unreachable|rate.?limit"
    r"|too many requests|\b(?:429|500|502|503|504)\b|service unavailable|bad gateway|try again|could not resolve host"
    r"|resource (?:busy|temporarily)|lock(?:ed)? (?:by|file)|unable to lock|eai_again|etimedout|econnre|throttl|flak"
)
MISUSED = re.compile(
    r"(?i)usage:|unknown|unrecogni[sz]ed|unexpected (?:argument|option)|invalid|not found|no such|missing|required?"
    r"|refus|permission|denied|not allowed|unsupported|deprecated|cannot (?:find|open|connect|locate)"
    r"|could not (?:find|open|read)|no module|not set|undefined variable|must (?:be|set|run|specify|use)|did you mean"
    r"|mismatch|incompatible|format error|unable to|needs?\b"
    r"|not (?:a|installed|available|initiali[sz]ed|configured|logged|supported|enabled)"
)
"""An error of how a check was called; of what it checks the work itself is the repair."""


def is_shell(action: Action) -> bool:
    return bool(_SHELL.search(action.call.name)) and not action.call.arguments.lstrip().startswith("{")


def same_call(before: Action, after: Action) -> bool:
    """Whether a call was simply made again."""
    return before.call.name == after.call.name and _settled(before) == _settled(after)


def _settled(action: Action) -> list[str]:
    return [word for word in action.call.arguments.split() if not re.fullmatch(r"2>&1|-v+|-q+|\|\||true|;", word)]


def is_slip(failed: Action, passed: Action) -> bool:
    """Whether two commands have the same letters in another order: a slip of the fingers, and no knowledge."""
    return not same_call(failed, passed) and _letters(failed) == _letters(passed)


def _letters(action: Action) -> list[str]:
    return sorted("".join(action.call.arguments.split()))


def is_same_aim(failed: Action, passed: Action) -> bool:
    """Whether a command does what another one was to do: same program and subcommand, and something in common."""
    return any(
        before.head == after.head
        and (before.words == after.words or set(before.words[1:]) & set(after.words[1:]) or len(before.words) < 3)
        for before in _aims(failed)
        for after in segments(passed.call.arguments)
    )


def is_other_form(failed: Action, passed: Action) -> bool:
    """Whether a command has the arguments of one that failed, and another program, subcommand or wrapper."""
    for before in _aims(failed):
        for after in segments(passed.call.arguments):
            mine, others = set(before.words[1:]), set(after.words[1:])
            if before.program == after.program and before.program not in PAGERS | FINDERS:
                if mine & others and before.head != after.head:
                    return True
            elif before.words and (before.program in after.words or (mine and mine <= others | {after.program})):
                return True
            if _wraps(before, after):
                return True
    return False


def _wraps(before: Segment, after: Segment) -> bool:
    """Whether a command is run inside another one."""
    inside = re.sub(r"['\"]", "", " ".join(after.words[1:]))
    return len(before.words) > 1 and re.sub(r"['\"]", "", " ".join(before.words)) in inside


def is_wrapped(failed: Action, passed: Action) -> bool:
    """Whether a command is one that failed, run inside another one: then edits between them are no repair."""
    return any(_wraps(one, other) for one in _aims(failed) for other in segments(passed.call.arguments))


def respelled(failed: Action, then: Sequence[Action]) -> list[str]:
    """The forms of values that are written in another way in what worked: `9999-99-99` became `form 99999999`."""
    before = {part for segment in _aims(failed) for word in segment.words for part in word.split("=")}
    bare = {re.sub(r"\W", "", part) for part in before}
    after = (
        part for each in then for one in segments(each.call.arguments) for word in one.words for part in word.split("=")
    )
    return [
        "form " + re.sub(r"\d", "9", part)
        for part in after
        if part not in before and re.search(r"\d{3}", part) and re.sub(r"\W", "", part) in bare
    ]


def _aims(action: Action) -> list[Segment]:
    return [segment for segment in segments(action.call.arguments) if segment.program not in PAGERS] or list(
        segments(action.call.arguments)
    )


def prepares(action: Action) -> bool:
    """Whether a command between a failure and the pass may have made it possible: it did more than look and check."""
    asks = any(set(segment.words[1:3]) & _ASKING for segment in segments(action.call.arguments))
    return action.kind == "command" and not action.is_check and not asks


_ASKING = frozenset({"status", "list", "ls", "show", "get", "info", "version", "describe", "log", "diff"})
_NARROWS = re.compile(
    r"-(?:[kmxvqs]+|n?\d+|-?(?:lf|ff|run|grep|filter|only|ignore|deselect|maxfail|verbose|quiet|tb|bail|watch).*)"
)


_COMPLAINS = re.compile(
    r"(?i)^(?:error: )?[\w./-]{1,40}: .{0,200}\b(?:refused|denied|not found|unknown|unrecognized|invalid|error|cannot"
    r"|failed|missing|required?|must|not allowed|unsupported|no such)\b"
)
"""The only line of a program that says why it did nothing."""


def went_wrong(action: Action) -> bool:
    """Whether a command failed, also where a pipe or the recording lost the mark: it said one line, a complaint."""
    lines = action.output.strip().split("\n")
    return action.failed or (action.kind == "command" and len(lines) <= 2 and _COMPLAINS.match(lines[0]) is not None)


def tells(failed: Action, then: Sequence[Action], *, misused: bool) -> bool:
    """Whether the form that worked differs by more than the thing it was about."""
    before, after = _aims(failed), [segment for each in then for segment in segments(each.call.arguments)]
    if new := {segment.head for segment in after} - {segment.head for segment in before}:
        # What a check says is of the work, unless another program or another step of its own made it pass.
        wrapped = any(is_wrapped(failed, each) for each in then)
        prepared = len(then) > 1 and {head.split()[0] for head in new} <= {segment.program for segment in before}
        return not failed.is_check or misused or wrapped or prepared
    if respelled(failed, then):
        return True
    if {one for segment in after for one in segment.assigned} - {one for segment in before for one in segment.assigned}:
        return True
    if {segment.folder for segment in after} - {segment.folder for segment in before}:
        return True
    flags = {word for each in after for word in each.words} ^ {word for each in before for word in each.words}
    flags = {word for word in flags if word.startswith("-") and not _NARROWS.fullmatch(word)}
    if flags:
        return True
    words = {each.words[:2] for each in after} != {each.words[:2] for each in before}
    return not failed.is_check and misused and words


def is_done_over(before: Action, after: Action) -> bool:
    """Whether an edit replaces what the one before it wrote, or another form of the same command follows."""
    if before.kind == "edit" or after.kind == "edit":
        return before.kind == after.kind and bool(_rows(before, "+") & _rows(after, "-"))
    if not (is_shell(before) and is_shell(after)) or same_call(before, after):
        return False
    return is_same_aim(before, after) and tells(before, [after], misused=True)


def _rows(action: Action, sign: str) -> set[str]:
    rows = islice(changed_lines(action.call.arguments), 200)
    return {row[1:].strip() for row in rows if row.startswith(sign) and len(row.strip()) > 4}
