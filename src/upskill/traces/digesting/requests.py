"""What the person asked for: the task, later requests, corrections and refusals, verbatim."""

import re
from collections.abc import Iterator

from upskill.domain.trace_digest import Finding, FindingKind, Part, Place
from upskill.traces.digesting.work import REFUSED, Statement, Work
from upskill.traces.excerpt import one_line, plain, shortened, signature

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
_NODS = re.compile(
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
        elif len(text) < 60 and _NODS.match(text):
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
