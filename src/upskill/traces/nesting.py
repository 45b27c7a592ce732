"""Subagents under the calls that began them. Built from the leaves up: chains of eighty have been seen."""

from collections.abc import Mapping, Sequence

from upskill.domain.trace import Subtrace, Trace
from upskill.traces.building import Drafts, plain_id
from upskill.traces.source import Recording

DEEPEST = 100
"""Values nested deeper cannot be compared or written without trouble; what lies deeper hangs at the top."""
TOP = -1

Thread = tuple[str, Drafts]
"""The id of the call that began it, empty where the recording does not say, and what it did."""


def nest(recorder: str, main: Drafts, threads: Sequence[Thread], recording: Recording) -> Trace:
    """One trace of all. A subagent whose call is nowhere hangs under the whole, with no call named."""
    owners = {call: place for place, (_, drafts) in enumerate(threads) for call in drafts.call_ids()}
    owners.update((call, TOP) for call in main.call_ids())
    threads = [(plain_id(call_id), drafts) for call_id, drafts in threads]
    under: dict[int, list[int]] = {}
    for place, (call_id, _) in enumerate(threads):
        under.setdefault(owners.get(call_id, TOP), []).append(place)
    reached = _reached(under)
    lost = [place for place in range(len(threads)) if place not in set(reached)]
    built: dict[int, Subtrace] = {}
    for place in (*lost, *reversed(reached)):
        call_id, drafts = threads[place]
        subtraces = tuple(built[part] for part in under.get(place, ()) if part in built and place not in lost)
        known = call_id if call_id in owners else None
        built[place] = Subtrace(call_id=known, trace=drafts.trace(recorder, subtraces=subtraces))
        if known is None:
            recording.note("the work of a subagent is here, but not which call began it")
    return main.trace(recorder, subtraces=tuple(built[place] for place in (*under.get(TOP, ()), *lost)))


def _reached(under: Mapping[int, Sequence[int]]) -> list[int]:
    """What hangs below the top, level by level. What hangs in a circle is not reached."""
    found: list[int] = []
    level: Sequence[int] = under.get(TOP, ())
    for _ in range(DEEPEST):
        found.extend(level)
        level = [part for place in level for part in under.get(place, ())]
    return found
