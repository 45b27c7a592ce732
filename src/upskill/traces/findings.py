"""Findings beside failures: what the person asked for, checks that passed, facts, and passages of plain text."""

import heapq
import re
from collections.abc import Iterable, Iterator

from upskill.core.skills.markdown import Fence, fence_after
from upskill.traces import shell
from upskill.traces.excerpt import (
    Generalise,
    error_line,
    one_line,
    passed_excerpt,
    plain,
    shortened,
    signature,
    sounds_failed,
)
from upskill.traces.trace import Finding, FindingKind, Part, Place
from upskill.traces.work import REFUSED, Action, Statement, Work

TASK_POINTS = 1_000.0
"""The task is always kept."""

_CORRECTS = re.compile(
    r"""(?ix)
      ^\W*(?:no|nope|nah|not|wrong|stop|wait|hold\ on|hmm|actually|instead|but|don'?t|do\ not|never|always|undo|revert
          |careful|nein|nicht|falsch|halt|non|pas|arr[eê]te|incorrecto|mal|para|não|errado)\b
    | ^\W*(?:不|别|错|停|違|いや|違う|아니)
    | \b(?:don'?t|do\ not|must\ not|mustn'?t|should(?:n'?t|\ not)|never|always|instead\ of|rather\ than|not\ what\ i
        |i\ said|i\ meant|i\ asked|i\ told|you\ (?:forgot|missed|broke|removed|changed|skipped|should\ have|didn'?t
          |did\ not|keep|still)
        |that'?s\ (?:not|wrong|incorrect)|that\ is\ (?:not|wrong)|this\ is\ (?:not|wrong)
        |still\ (?:fails?|failing|broken|wrong|not)
        |doesn'?t\ work|does\ not\ work|isn'?t\ right|not\ right|why\ did\ you|roll\ back|put\ (?:it|that)\ back
        |undo|revert|make\ sure|remember\ (?:to|that)|from\ now\ on|prefer|no\ need\ to
        |too\ (?:long|slow|many|much|complex|big)|incorrect|mistake|wrong)\b
    """
)
NODS = re.compile(
    r"(?i)^\W*(?:y|yes|yep|yeah|ok|okay|sure|go|go on|go ahead|continue|proceed|next|thanks?|thank you|great|good|nice"
    r"|perfect|lgtm|done|cool|please do|do it|keep going|carry on|resume|ja|oui|si|sí|1|2|3)[\s!.,]*"
    r"(?:please|go ahead|continue|do it|thanks?)?\W*$"
)


def find_requests(work: Work) -> Iterator[Finding]:
    """The task first, then every later turn of the person as a correction or a further request."""
    task_seen = False
    for turn in work.statements:
        if turn.source != "person" or turn.thread:
            # What a subagent was asked is the agent's own prompt.
            continue
        text = plain(turn.text).strip()
        if not text:
            continue
        when = ", typed while the agent was at work" if turn.amid else ""
        if not task_seen:
            task_seen = True
            yield _request("task", f"the task{when}", turn, text, work.trace, TASK_POINTS)
        elif len(text) < 60 and NODS.match(text):
            continue
        elif turn.amid or _CORRECTS.search(text[:2_000]):
            yield _request("correction", f"corrected{when}", turn, text, work.trace, 9.0 if turn.amid else 8.0)
        else:
            yield _request("task", f"then asked{when}", turn, text, work.trace, 4.0)
    yield from _refusals(work)


def _request(kind: FindingKind, title: str, turn: Statement, text: str, trace: int, points: float) -> Finding:
    in_full, in_brief = (4_000, 1_200) if points == TASK_POINTS else (1_600, 400)
    return Finding(
        kind=kind,
        title=title,
        key=signature(text)[:200],
        places=(Place(trace=trace, thread=turn.thread, steps=(turn.step,)),),
        parts=(Part(label="", text=shortened(text, lines=60, chars=in_full)),),
        brief=(Part(label="", text=shortened(text, lines=12, chars=in_brief)),),
        points=points,
    )


_WHY = re.compile(r"(?is)(?:the user said|user (?:said|feedback|message)|reason(?: provided)?|feedback)\W*[:\n]\s*(.+)")


def _refusals(work: Work) -> Iterator[Finding]:
    """Each call that the person did not let through, with the reason if one was typed."""
    for action in work.actions:
        if not action.failed or not REFUSED.match(action.output):
            continue
        why = _WHY.search(action.output)
        reason = plain(why.group(1)).strip() if why else ""
        call = one_line(f"{action.call.name}: {work.name(action)}", most=140)
        parts = (Part(label="", text=shortened(reason, lines=12, chars=800)),) if reason else ()
        yield Finding(
            kind="correction",
            title=f"refused `{call}`",
            key=signature(f"refused {call} {reason}"),
            places=work.places([action]),
            parts=parts,
            brief=parts,
            points=8.0 if reason else 4.0,
        )


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


_ASKS_VERSION = re.compile(
    r"(?:^|\s)(?:--version|-version|-V|version)(?:\s|$|[;&|])|\buname\b|\bnvidia-smi\b|os-release|\bnode -v\b"
    r"|\blsb_release\b|\b(?:pip|uv pip) (?:show|list|freeze)\b|\brocm-smi\b|\bsw_vers\b|__version__|\bnproc\b|\blscpu\b"
)
_VERSION = re.compile(r"\b[vV]?\d+\.\d+(?:\.\d+)*\b")
_MISSING = (
    re.compile(r"(?:^|[\s:])([\w.+-]{2,40}): (?:command )?not found"),
    re.compile(r"command not found: ([\w.+-]{2,40})"),
    re.compile(r"No module named '?\"?([\w.]{2,60})"),
    re.compile(r"Cannot find module '?\"?([@\w./-]{2,60})"),
    re.compile(r"fatal error: ([\w./+-]{2,60}): No such file"),
    re.compile(r"cannot find -l([\w+-]{2,40})"),
)
_MOST_LINES = 3
_MOST_NAMED = 8


def find_facts(work: Work) -> Iterator[Finding]:
    """What a successor should know about the environment in which the work was done."""
    yield from _versions(work)
    yield from _missing(work)
    yield from _programs(work)
    yield from _files(work)


def _versions(work: Work) -> Iterator[Finding]:
    for action in work.actions:
        if action.kind not in {"command", "look"} or action.failed or not action.output:
            continue
        if not _ASKS_VERSION.search(action.call.arguments[:2_000]):
            continue
        rows = [row.strip() for row in plain(action.output[:6_000]).split("\n")]
        printed = [row for row in rows if _VERSION.search(row) and len(row) < 160][:_MOST_LINES]
        if printed:
            yield Finding(
                kind="fact",
                title="; ".join(work.generalise(" ".join(row.split())) for row in printed),
                key="version " + " ".join(printed)[:160].lower(),
                places=work.places([action]),
                points=2.0,
            )


def _missing(work: Work) -> Iterator[Finding]:
    for action in work.actions:
        if not action.failed:
            continue
        for pattern in _MISSING:
            for name in dict.fromkeys(pattern.findall(plain(action.output[:6_000]))):
                if not name.isdigit() and name not in {"line", "bash", "sh", "zsh"}:
                    yield Finding(
                        kind="fact",
                        title=f"`{name}` was not there at first",
                        key=f"missing {name}",
                        places=work.places([action]),
                        marked=action.state == "failed",
                        points=2.0,
                    )


def _programs(work: Work) -> Iterator[Finding]:
    """Programs that ran and passed, so they are there."""
    users: dict[str, list[Action]] = {}
    for action in work.actions:
        if action.state == "passed":
            for part in action.simple_commands:
                if not part.only_looks and re.fullmatch(r"[\w.+-]{2,30}", part.program):
                    users.setdefault(part.program, []).append(action)
    yield from _most_used(work, users, title="programs that ran: ", key="programs ")


def _files(work: Work) -> Iterator[Finding]:
    edits: dict[str, list[Action]] = {}
    for action in work.actions:
        if action.kind == "edit" and not action.failed and action.path is not None:
            edits.setdefault(one_line(work.shown(action.path), most=100), []).append(action)
    more = len(edits) - _MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    yield from _most_used(work, edits, title="files changed: ", rest=rest, key="files ")


def _most_used(
    work: Work, users: dict[str, list[Action]], *, title: str, rest: str = "", key: str
) -> Iterator[Finding]:
    names = sorted(users, key=lambda name: -len(users[name]))[:_MOST_NAMED]
    if names:
        yield Finding(
            kind="fact",
            title=title + ", ".join(names) + rest,
            key=key + " ".join(sorted(names)),
            places=work.places([users[name][0] for name in names]),
            points=1.0,
        )


_LONGEST = 1_600
_MOST = 2_000
_HEADING = re.compile(r"^(?:#{1,6}\s|[A-Z][\w ]{0,30}:\s*$|\*\*[^*]{1,40}\*\*:?\s*$)")
_COMMAND = re.compile(r"^\s*(?:\$|>>>|%|❯)\s+\S", re.MULTILINE)
_REASONS = re.compile(
    r"(?i)\b(?:fix(?:ed|es)?|because|instead|turns? out|root cause|solution|solved|workaround|must|never|always|don'?t"
    r"|note that|important|require[sd]?|avoid|make sure|the problem|failed because|works? now|passes?|passed"
    r"|learned|lesson|gotcha)\b"
)


class Passages:
    """Collects the passages of a text, streamed; holds at most a few thousand, the ones that tell most."""

    def __init__(self, *, trace: int, generalise: Generalise, whole_chars: int) -> None:
        self.trace = trace
        self.chars = 0
        self._generalise = generalise
        self._whole_chars = whole_chars
        self._whole: list[str] = []
        self._best: list[tuple[float, int, Finding]] = []
        self._lines = 0

    def add(self, lines: Iterable[str]) -> None:
        """Take in all lines of the text."""
        for first, rows in _passages(self._counted(lines)):
            finding = self._finding(first, rows)
            if finding is not None:
                # Where points are equal the earlier one stays, so the position is negative in the heap.
                heapq.heappush(self._best, (finding.points, -first, finding))
                if len(self._best) > _MOST:
                    heapq.heappop(self._best)

    def findings(self) -> list[Finding]:
        """The whole text as one finding where it is short enough, else the passages in their order."""
        if self.chars <= self._whole_chars and self._lines:
            text = self._generalise(plain("\n".join(self._whole))).strip("\n")
            part = Part(label="", text=text)
            return [
                Finding(
                    kind="passage",
                    title="the whole text",
                    key=signature(text[:400]),
                    places=(Place(trace=self.trace, lines=(1, self._lines)),),
                    parts=(part,),
                    brief=(part,),
                    points=500.0,
                )
            ]
        return [finding for _, _, finding in sorted(self._best, key=lambda entry: -entry[1])]

    def _counted(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._lines += 1
            self.chars += len(line) + 1
            if self.chars <= self._whole_chars:
                self._whole.append(line)
            yield line

    def _finding(self, first: int, rows: list[str]) -> Finding | None:
        text = self._generalise(plain("\n".join(rows))).strip("\n")
        if len(text.strip()) < 12:
            return None
        failed = sounds_failed(text)
        title = one_line(error_line(text), most=100) if failed else one_line(text.lstrip("#* "), most=80)
        return Finding(
            kind="passage",
            title=title,
            key=signature(text),
            places=(Place(trace=self.trace, lines=(first, first + len(rows) - 1)),),
            parts=(Part(label="", text=shortened(text, lines=40, chars=_LONGEST)),),
            brief=(Part(label="", text=shortened(text, lines=8, chars=400)),),
            points=_points(text, opening=first <= 3, failed=failed),
        )


def _points(text: str, *, opening: bool, failed: bool) -> float:
    """One for being there; more for the opening, for an error, for reasons and for commands."""
    reasons = _REASONS.search(text) is not None
    commands = "```" in text or _COMMAND.search(text) is not None
    return 1.0 + 5.0 * opening + 2.0 * failed + 1.5 * reasons + 1.0 * commands


def _passages(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Pieces between blank lines and before headings, with their first line; fenced blocks stay whole up to a size."""
    rows: list[str] = []
    start, size = 1, 0
    fence: Fence | None = None
    for number, line in enumerate(lines, start=1):
        line = line[:_LONGEST]
        boundary = fence is None and (not line.strip() or (_HEADING.match(line) and size > 200))
        if rows and (size > _LONGEST or (boundary and size > 120)):
            yield start, rows
            rows, size = [], 0
        fence = fence_after(line, fence, most_indent=None)
        if not rows:
            start = number
        if rows or line.strip():
            rows.append(line)
            size += len(line) + 1
    if rows:
        yield start, rows
