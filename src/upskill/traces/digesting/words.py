"""What the person said: the task, later requests, and corrections. Words are kept as they were typed."""

import re
from collections.abc import Iterator

from upskill.domain.trace_digest import Finding, Part, Place
from upskill.traces.digesting.changes import named
from upskill.traces.digesting.excerpt import Generalise, one_line, plain, shortened, signature
from upskill.traces.digesting.work import REFUSED, Action, Statement, Work

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


def find_words(work: Work, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    """The task first, then every later turn of the person as a correction or a further request."""
    task_seen = False
    for said in work.said:
        if said.source != "person" or said.thread:
            # What a subagent was told is the agent's own prompt.
            continue
        text = plain(said.text).strip()
        if not text:
            continue
        if not task_seen:
            task_seen = True
            yield _said("task", said, text, trace=trace, points=TASK_POINTS)
        elif len(text) < 60 and _NODS.match(text):
            continue
        elif said.amid or _CORRECTS.search(text[:2_000]):
            yield _said("correction", said, text, trace=trace, points=9.0 if said.amid else 8.0)
        else:
            yield _said("task", said, text, trace=trace, points=4.0)
    yield from _refusals(work, trace=trace, generalise=generalise)


def _said(kind: str, said: Statement, text: str, *, trace: int, points: float) -> Finding:
    when = ", typed while the agent was at work" if said.amid else ""
    return Finding(
        kind="correction" if kind == "correction" else "task",
        title=f"{'the task' if points == TASK_POINTS else 'corrected' if kind == 'correction' else 'then asked'}{when}",
        key=signature(text)[:200],
        places=(Place(trace=trace, thread=said.thread, steps=(said.step,)),),
        parts=(Part(label="", text=shortened(text, lines=60, chars=4_000 if points == TASK_POINTS else 1_600)),),
        brief=(Part(label="", text=shortened(text, lines=12, chars=1_200 if points == TASK_POINTS else 400)),),
        points=points,
    )


_WHY = re.compile(r"(?is)(?:the user said|user (?:said|feedback|message)|reason(?: provided)?|feedback)\W*[:\n]\s*(.+)")


def _refusals(work: Work, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    """A call that the person did not let through, with the reason if one was typed."""
    for action in work.actions:
        if not action.failed or not REFUSED.match(action.output):
            continue
        why = _WHY.search(action.output)
        words = plain(why.group(1)).strip() if why else ""
        yield _refusal(action, words, trace=trace, generalise=generalise)


def _refusal(action: Action, words: str, *, trace: int, generalise: Generalise) -> Finding:
    call = one_line(f"{action.call.name}: {named(action, generalise=generalise)}", most=140)
    parts = (Part(label="", text=shortened(words, lines=12, chars=800)),) if words else ()
    return Finding(
        kind="correction",
        title=f"refused `{call}`",
        key=signature(f"refused {call} {words}"),
        places=(Place(trace=trace, thread=action.thread, steps=(action.step,)),),
        parts=parts,
        brief=parts,
        points=8.0 if words else 4.0,
    )
