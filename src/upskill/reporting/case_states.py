"""Cases and what is known of them, as people read it and as JSON."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from upskill.domain import LabelLift, Qualification, Skill
from upskill.domain.case import Json
from upskill.domain.qualification import LABEL_MEANINGS

CASES_SCHEMA = "upskill.cases/1"
_STYLES = {"rejected": "red", "unproven": "yellow", "qualified": "green"}
_MOST_REASONS = 3


def cases_json(skill: Skill, qualifications: Iterable[Qualification], *, notes: Sequence[str] = ()) -> dict[str, Json]:
    """The one object of `upskill cases check --json`."""
    return {
        "schema": CASES_SCHEMA,
        "skill": {"name": skill.name, "digest": skill.digest},
        "cases": [case_state_json(one) for one in qualifications],
        "notes": list(notes),
    }


def case_state_json(one: Qualification) -> Json:
    """One case: state, labels, reasons in words, and what to change, in the order of the reasons."""
    return {
        "id": one.case_id,
        "state": one.state,
        "labels": list(one.labels),
        "reasons": [reason.saw for reason in one.reasons],
        "changes": [reason.change or None for reason in one.reasons],
        "mutants": one.mutants,
        "slipped": list(one.slipped),
    }


def label_lifts_json(lifts: Iterable[LabelLift]) -> Json:
    """The lift per label; null where it cannot be measured."""
    return [
        {
            "label": one.label,
            "cases": one.cases,
            "mean": None if one.lift is None else one.lift.mean,
            "these_cases": None if one.lift is None else [one.lift.these_cases.low, one.lift.these_cases.high],
            "pairs": None if one.lift is None else one.lift.pairs,
        }
        for one in lifts
    ]


def label_lines(lifts: Sequence[LabelLift]) -> Iterator[str]:
    """The lift of each label, where there are several to tell apart; and cases whose baseline never varies."""
    several = sum(one.lift is not None for one in lifts) > 1
    for one in lifts:
        cases = f"{one.cases} case{'' if one.cases == 1 else 's'}"
        if one.lift is None:
            always = "always" if one.label == "saturated" else "never"
            yield f"{cases} {always} passed without the skill (label: {one.label})"
        elif several:
            low, high = (f"{round(end * 100):+d}" for end in (one.lift.these_cases.low, one.lift.these_cases.high))
            points = f"{round(one.lift.mean * 100):+d} points on these very cases, between {low} and {high}"
            yield f"{one.label or 'no label'}: {cases}, {points}"


def show_case_states(
    qualifications: Sequence[Qualification],
    console: Console,
    *,
    prompts: Mapping[str, str] | None = None,
    verbose: bool = False,
) -> None:
    """A row per case, and under it the reasons and what to change. Fits into 80 columns.

    `prompts` are shown for cases whose id is only a digest.
    """
    width = max((len(one.case_id) for one in qualifications), default=4)
    width = min(max(width, 4), max(12, console.width // 3))
    console.print(Text(f"{'case':<{width}}  {'state':<9}  labels", style="dim"), soft_wrap=True)
    advised: set[str] = set()
    for one in qualifications:
        shown = one.case_id if len(one.case_id) <= width else one.case_id[: width - 1] + "…"
        line = Text(f"{shown:<{width}}  ")
        line.append(f"{one.state:<9}", style=_STYLES[one.state])
        line.append(f"  {', '.join(one.labels)}".rstrip())
        line.rstrip()
        console.print(line, soft_wrap=True)
        asked = (prompts or {}).get(one.case_id, "")
        if asked and (verbose or one.case_id.startswith("case-")):
            console.print(Text(f"  {textwrap.shorten(asked, console.width - 4, placeholder='…')}"), soft_wrap=True)
        for part in _told(one, advised, verbose=verbose):
            for row in textwrap.wrap(part, max(40, console.width - 2), subsequent_indent="  "):
                console.print(Text(f"  {row}", style="dim"), soft_wrap=True)
    console.print(Text(_summary(qualifications)), soft_wrap=True)
    for label in dict.fromkeys(label for one in qualifications for label in one.labels):
        console.print(Text(f"  {label}: {LABEL_MEANINGS[label]}", style="dim"), soft_wrap=True)


def _told(one: Qualification, advised: set[str], *, verbose: bool) -> Iterator[str]:
    """Why, and what to change; the same advice is given once."""
    most = len(one.reasons) if verbose else _MOST_REASONS
    for reason in one.reasons[:most]:
        yield reason.saw
        if reason.change and (verbose or reason.change not in advised):
            advised.add(reason.change)
            yield f"-> {reason.change}"
    if len(one.reasons) > most:
        yield f"and {len(one.reasons) - most} more; see -v"
    if verbose and one.mutants:
        yield f"{one.mutants - len(one.slipped)} of {one.mutants} mutants of the reference fail"
        yield from (f"slipped through: {what}" for what in one.slipped)


def _summary(qualifications: Sequence[Qualification]) -> str:
    states = Counter(one.state for one in qualifications)
    said = ", ".join(f"{states[state]} {state}" for state in ("qualified", "unproven", "rejected") if states[state])
    labels = Counter(label for one in qualifications for label in one.labels)
    with_labels = "".join(f"; {count} {label}" for label, count in labels.items())
    return f"{len(qualifications)} test case{'' if len(qualifications) == 1 else 's'}: {said}{with_labels}"
