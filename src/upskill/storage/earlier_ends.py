"""Why a run of an earlier version ended: its record says so in its notes only, in words that are what they were."""

import re
from collections.abc import Iterable

from upskill.domain import Cap, Outage, RunEnd, Student
from upskill.domain.run_end import CapKind

_CAP = re.compile(r"stopped at the cap of (\$)?([0-9][0-9.,e+-]*)(?: (calls?|tokens|minutes))?")
_OUTAGE = re.compile(r"(.+?): the endpoint went down and nothing more was sent to it \((.*)\)", re.DOTALL)
_KINDS: dict[str, CapKind] = {"call": "calls", "calls": "calls", "tokens": "tokens", "minutes": "minutes"}


def end_in_words(notes: Iterable[str], students: Iterable[Student], *, interrupted: bool) -> RunEnd:
    """The end of which the notes of a record without the key `end` tell."""
    models = {student.name: student.model for student in students}
    cap: Cap | None = None
    outages: list[Outage] = []
    for note in notes:
        if (reached := _CAP.fullmatch(note)) is not None:
            kind = "dollars" if reached[1] else _KINDS.get(reached[3] or "")
            if kind is not None:
                cap = Cap(kind=kind, amount=float(reached[2].replace(",", "")))
        elif (down := _OUTAGE.fullmatch(note)) is not None:
            outages.append(Outage(model=models.get(down[1], down[1]), said=down[2]))
    return RunEnd(interrupted=interrupted, cap=cap, outages=tuple(outages))
