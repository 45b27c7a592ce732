"""Which cases of a skill count in an evaluation: those that the teacher never saw, where there are any, each once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from upskill.domain import Case


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedCases:
    """The cases that count, and what a reader should know of the others."""

    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()


def without_copies(cases: Sequence[Case]) -> CountedCases:
    """Of cases that are alike but for their names, the first.

    The second measures nothing new, and whoever counted it would be surer than there is reason to be.
    """
    first: dict[str, Case] = {}
    for case in cases:
        first.setdefault(case.digest, case)
    copies = [case.id for case in cases if first[case.digest] is not case]
    if not copies:
        return CountedCases(cases=tuple(cases))
    shown = ", ".join(copies[:3]) + (" …" if len(copies) > 3 else "")
    are = (
        "1 case is a copy of another and does"
        if len(copies) == 1
        else f"{len(copies)} cases are copies of others and do"
    )
    return CountedCases(cases=tuple(first.values()), notes=(f"{are} not count: {shown}",))


def cases_that_count(
    cases: Sequence[Case], *, every_case: bool = False, only: frozenset[str] | None = None
) -> CountedCases:
    """Held-out cases, and those that nobody split; without held-out ones all that are not negative.

    A teacher learned from learn cases, so a skill looks better on them than it is. A file of negative cases alone is
    taken as it is. Cases named in `only`, with which a run began, stay.
    """
    found = Counter(case.use for case in cases)
    left_out = {"learn", "negative"} if found["held-out"] else {"negative"}
    if every_case or left_out.issuperset(use for use in found):
        return CountedCases(cases=tuple(cases))
    kept = tuple(case for case in cases if case.use not in left_out or (only is not None and case.id in only))
    gone = {use: found[use] for use in ("learn", "negative") if use in left_out and found[use]}
    if len(kept) == len(cases) or only is not None:
        return CountedCases(cases=kept)
    said = " and ".join(f"{count} {use}" for use, count in gone.items())
    total = sum(gone.values())
    are = "case is" if total == 1 else "cases are"
    others = "held-out ones" if found["held-out"] == len(kept) else "others"
    return CountedCases(
        cases=kept, notes=(f"{said} {are} left out; what is said here comes from the {len(kept)} {others}",)
    )
