"""The cases of an evaluation: which of them count, and whether they can tell right answers from wrong ones."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Literal

from upskill.core import checks
from upskill.core.cases.family import by_family, with_recognised_families
from upskill.core.cases.files import CaseFile, read_case_file, read_skill_cases
from upskill.core.cases.states import qualify
from upskill.core.checks import GradingContext
from upskill.core.nouns import Case, Qualification, Skill
from upskill.core.nouns.case import CaseChanges, Json, case_changes
from upskill.core.nouns.look import case_key, checks_digest
from upskill.core.nouns.skill import CASE_FILES, SKILL_FILE
from upskill.core.nouns.text import count
from upskill.core.progress import SILENT, Progress
from upskill.errors import SkillInvalid, UpskillError, UsageError
from upskill.sandbox import Backend, open_sandbox

_MOST_NAMED = 3


def find_cases(
    skill_folder: Path, case_file: Path | None, *, judge: bool, more: Sequence[Path] = ()
) -> CaseFile | None:
    """The cases of a file, and of `more` files, or those of a skill; `None` where it has none.

    `judge`: whether there is one to ask. Raises `UsageError` where two files have a case with the same id.
    """
    problems = partial(checks.check_problems, judge=judge)
    if case_file is None:
        return read_skill_cases(skill_folder, check_problems=problems)
    found = [read_case_file(path, check_problems=problems) for path in (case_file, *more)]
    if not more:
        return found[0]
    if twice := [str(path) for path, times in Counter((case_file, *more)).items() if times > 1]:
        raise UsageError(f"{', '.join(twice)}: is named twice", hint="name each case file once")
    first: dict[str, Path] = {}
    clashes = [
        f"{one.path}: the id `{case.id}` is in {first[case.id]} too"
        for one in found
        for case in one.cases
        if first.setdefault(case.id, one.path) is not one.path
    ]
    if clashes:
        rest = [f"… {len(clashes) - _MOST_NAMED} more"] if len(clashes) > _MOST_NAMED else []
        shown = [*clashes[:_MOST_NAMED], *rest]
        raise UsageError("the case files cannot be merged", problems=shown, hint="give each case an id of its own")
    return replace(found[0], cases=with_recognised_families([case for one in found for case in one.cases]))


def is_own_case_file(skill: Path, path: Path) -> bool:
    """Whether these are the cases that travel with a skill, not those of a file that was named."""
    folder = skill.parent if skill.name == SKILL_FILE else skill
    return path.resolve() in [(folder / part).resolve() for part in CASE_FILES]


def changed_cases(before: Path, cases: Sequence[Case], *, accepted: bool) -> tuple[tuple[Case, ...], CaseChanges]:
    """The cases to measure, and how they differ from those in the folder of the older version.

    Unless a person accepts the difference, the older version's cases alone are measured, as they were there: a change
    that could bend or dilute the cases by which it is judged would always pass. Where it had none, the new ones are.
    """
    try:
        found = find_cases(before, None, judge=True)
    except UpskillError:
        if not accepted:
            raise
        found = None
    old = () if found is None else found.cases
    changes = case_changes(old, cases, accepted=accepted)
    return tuple(cases) if accepted or not old else tuple(old), changes


def slow_cases_note(cases: Iterable[Case]) -> str | None:
    """A note that checking these cases takes long: a check that runs a program is run some dozens of times."""
    slow = sum("sandbox" in checks.needs(case) for case in cases)
    if not slow:
        return None
    return f"checking {count(slow, 'case')} with checks that run programs..."


def qualify_within(
    cases: Sequence[Case], skill: Skill, *, backend: Backend | None, progress: Progress = SILENT
) -> tuple[Qualification, ...]:
    """Qualify cases. Without a sandbox that confines, no check runs a program."""
    context = GradingContext()
    if backend is not None and backend != "none":
        context = GradingContext(open_sandbox=partial(open_sandbox, backend=backend))
    return qualify(cases, skill, context=context, progress=progress)


def has_cases(folder: Path) -> bool:
    """Whether a skill has cases. Raises where they cannot be read."""
    return read_skill_cases(folder, check_problems=lambda _: []) is not None


_USE_WORDS = {"learn": "practice", "negative": "unrelated"}


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedCases:
    """The cases that count, what is known of all of them, and what a reader should know of the others."""

    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()
    qualifications: tuple[Qualification, ...] = ()


Half = Literal["first", "second"]
FEWEST_IN_A_HALF = 20
"""Cases, or families of them. With fewer, half of them decides too rarely, and both halves are all cases."""


def half_of(cases: Sequence[Case], half: Half) -> tuple[Case, ...]:
    """One of two halves of the cases, in their order, with whole families; all of them where a half would be small."""
    halves: dict[Half, list[tuple[Case, ...]]] = {"first": [], "second": []}
    for family in sorted(by_family(cases), key=lambda family: (-len(family), min(map(case_key, family)))):
        smaller = min(halves, key=lambda name: (sum(map(len, halves[name])), len(halves[name])))
        halves[smaller].append(family)
    if min(map(len, halves.values())) < FEWEST_IN_A_HALF:
        return tuple(cases)
    mine = {case.id for family in halves[half] for case in family}
    return tuple(case for case in cases if case.id in mine)


def without_copies(cases: Sequence[Case]) -> CountedCases:
    """The cases without copies, which differ from an earlier case only in their id and in white space.

    A copy measures nothing new, and counting it would make the interval too narrow.
    """
    keys = {case.id: (case_key(case), checks_digest(case)) for case in cases}
    first: dict[tuple[str, str], Case] = {}
    for case in cases:
        first.setdefault(keys[case.id], case)
    copies = [case.id for case in cases if first[keys[case.id]] is not case]
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
    cases: Sequence[Case], *, only: frozenset[str] | None = None, learned: bool = True
) -> CountedCases:
    """Held-out cases, and those without a use; where none is held out, all that are not negative.

    A teacher learned from learn cases, so a skill looks better on them than it is; they count where nobody has
    `learned` from them. A file of negative cases alone is
    taken as it is. Cases named in `only`, with which a resumed run began, stay.
    """
    found = Counter(case.use for case in cases)
    left_out = {"learn", "negative"} if found["held-out"] and learned else {"negative"}
    if left_out.issuperset(use for use in found):
        return CountedCases(cases=tuple(cases))
    counted = tuple(case for case in cases if case.use not in left_out or (only is not None and case.id in only))
    gone = {use: found[use] for use in ("learn", "negative") if use in left_out and found[use]}
    if len(counted) == len(cases) or only is not None:
        return CountedCases(cases=counted)
    words = " and ".join(f"{many} {_USE_WORDS[use]}" for use, many in gone.items())
    total = sum(gone.values())
    are = "case is" if total == 1 else "cases are"
    others = count(len(counted), "held-out case" if found["held-out"] == len(counted) else "other case")
    return CountedCases(
        cases=counted, notes=(f"{words} {are} skipped; {others} {'is' if len(counted) == 1 else 'are'} used",)
    )


SPLIT = "split"
"""The key in a case's `extra` under which the side is kept that it got when the cases were split."""


def split_side(case: Case) -> Json:
    """The side that a case got when the cases were split; `None` where they were not."""
    return case.extra.get(SPLIT)


def typed_cases(skill: Path, case_file: Path | None) -> str:
    """A skill and the file of its cases, as they are typed."""
    return quote(str(skill)) + ("" if case_file is None else f" -t {quote(str(case_file))}")


def practice_cases(cases: Sequence[Case], *, typed: str) -> CountedCases:
    """The cases to practise on. Raises `UsageError` where there are none. `typed` names the skill and the file."""
    mine = tuple(case for case in cases if case.use == "learn")
    if not mine:
        raise UsageError(
            "there are no practice cases",
            hint=f"split the cases once: upskill cases split {typed}",
        )
    moved = [case.id for case in mine if split_side(case) == "held-out"]
    notes = (f"held out when the cases were split, and practice now: {_named(moved)}",) if moved else ()
    return CountedCases(cases=mine, notes=notes)


def without_practised(cases: Sequence[Case]) -> CountedCases:
    """The cases without those that were practice cases when the file was split, whatever their use is today."""
    gone = [case.id for case in cases if split_side(case) == "learn" and case.use != "learn"]
    if not gone:
        return CountedCases(cases=tuple(cases))
    are = "case was a practice case" if len(gone) == 1 else "cases were practice cases"
    note = f"{len(gone)} {are} when the cases were split and cannot prove anything: {_named(gone)}"
    return CountedCases(cases=tuple(case for case in cases if case.id not in gone), notes=(note,))


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")


def admit(
    cases: Sequence[Case],
    skill: Skill,
    *,
    backend: Backend | None,
    only: frozenset[str] | None = None,
    known: Sequence[Qualification] = (),
    progress: Progress = SILENT,
) -> CountedCases:
    """Leave out rejected cases, with a note. Raises if none is left. `backend` confines what checks run.

    `only` names the cases of a run that is resumed: what was admitted then stays admitted. `known` is what was
    known of them; without it they are looked at again.
    """
    if known:
        by_id = {one.case_id: one for one in known}
        # A case that was added since is unproven; it is not run, because the run began without it.
        new = (Qualification(case_id=case.id, state="unproven") for case in cases if case.id not in by_id)
        qualifications = (*(by_id[case.id] for case in cases if case.id in by_id), *new)
    else:
        if (note := slow_cases_note(cases)) is not None:
            progress.note(note)
        qualifications = qualify_within(cases, skill, backend=backend, progress=progress)
    rejected = [one for one in qualifications if one.state == "rejected"]
    if only is not None:
        rejected = [one for one in qualifications if one.case_id not in only]
    dropped = {one.case_id for one in rejected}
    if len(dropped) == len(cases):
        raise SkillInvalid(
            f"{skill.name}: none of the {len(cases)} cases can tell right answers from wrong ones",
            problems=[f"{one.case_id}: {one.reasons[0].saw}" for one in rejected if one.reasons],
            hint="`upskill cases check` shows what to change in each case",
        )
    return CountedCases(
        cases=tuple(case for case in cases if case.id not in dropped),
        qualifications=qualifications,
        notes=tuple(_notes(rejected, [one for one in qualifications if one.case_id not in dropped])),
    )


def _notes(rejected: Sequence[Qualification], counted: Sequence[Qualification]) -> Iterable[str]:
    for one in rejected[:3]:
        why = one.reasons[0].saw if one.state == "rejected" else "it was not part of the run when it started"
        yield f"case {one.case_id} is {'rejected and ' if one.state == 'rejected' else ''}not run: {why}"
    if len(rejected) > 3:
        yield f"{len(rejected) - 3} more cases are rejected and not run; see `upskill cases check`"
    unproven = [one.case_id for one in counted if one.state == "unproven"]
    if unproven:
        names = (
            "" if len(unproven) == len(counted) else f" ({', '.join(unproven[:3])}{', …' if len(unproven) > 3 else ''})"
        )
        are = "is" if len(unproven) == 1 else "are"
        yield f"{len(unproven)} of {len(counted)} cases {are} unproven{names}; `upskill cases check` shows why"
