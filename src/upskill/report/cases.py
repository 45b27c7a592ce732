"""Cases as people read them and as JSON: what is known of each, what a teacher wrote, what happened in each arm."""

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from upskill.core.cases.family import by_family
from upskill.core.nouns import (
    Arm,
    Case,
    CaseUse,
    Errored,
    Evaluation,
    LabelLift,
    Qualification,
    Scored,
    Skill,
    Trial,
)
from upskill.core.nouns.case import LABEL_MEANINGS, Json
from upskill.core.nouns.lift import with_scope
from upskill.core.nouns.text import count, shortened
from upskill.core.nouns.trial import ARMS
from upskill.report.console import print_lines, show_table, table_lines
from upskill.report.wording import arm_name, confidence_interval, points, use_name

CASES_SCHEMA = "upskill.cases/1"
_STYLES = {"rejected": "red", "unproven": "yellow", "qualified": "green"}
_MOST_REASONS = 3
_MOST_FAMILIES = 5
_USES: tuple[CaseUse, ...] = ("learn", "held-out", "negative")
_NAMES = {use: use_name(use) for use in _USES}
_ANSWER = 100
_ANSWER_OF_TURN = 40
_BEFORE_TASK = 40
"""Columns before the task of a written case, where its id is short."""


def cases_json(
    skill: Skill, qualifications: Iterable[Qualification], *, cases: Sequence[Case] = (), notes: Sequence[str] = ()
) -> dict[str, Json]:
    """The one object of `upskill cases check --json`."""
    return {
        "schema": CASES_SCHEMA,
        "skill": {"name": skill.name, "digest": skill.digest},
        "cases": [case_state_json(one) for one in qualifications],
        "families": [
            {"family": family[0].family, "cases": [case.id for case in family]} for family in by_family(cases)
        ],
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
            "mean": None if lift is None else lift.mean,
            "interval": None if lift is None else [lift.interval.low, lift.interval.high],
            "about": None if lift is None else lift.about,
            "pairs": None if lift is None else lift.pairs,
        }
        for one in lifts
        for lift in [one.lift]
    ]


def label_lines(lifts: Sequence[LabelLift]) -> Iterator[str]:
    """The lift of each label, where there are several to tell apart; and cases whose baseline never varies."""
    several = sum(one.lift is not None for one in lifts) > 1
    for one in lifts:
        cases = count(one.cases, "case")
        if one.lift is None:
            always = "always" if one.label == "saturated" else "never"
            yield f"{cases} {always} {'passes' if one.cases == 1 else 'pass'} without the skill"
        elif several:
            lift = with_scope(f"{points(one.lift.mean)} points", one.lift.about)
            lift += f" ({confidence_interval(one.lift)})"
            yield f"{one.label or 'no label'}: {cases}, {lift}"


def show_case_states(
    qualifications: Sequence[Qualification],
    console: Console,
    *,
    cases: Sequence[Case] = (),
    verbose: bool = False,
) -> None:
    """A row per case, and under it the reasons and what to change; one for all cases of which the same is said, unless
    `verbose`. Fits into 80 columns.

    Of `cases`, the prompt is shown where the id is only a digest.
    """
    prompts = {case.id: case.prompt for case in cases}
    groups = [[one] for one in qualifications] if verbose else _alike(qualifications)
    names = [alike[0].case_id if len(alike) == 1 else f"{len(alike)} cases" for alike in groups]
    cells = [
        (Text(named), Text(alike[0].state, style=_STYLES[alike[0].state]), Text(", ".join(alike[0].labels)))
        for named, alike in zip(names, groups, strict=True)
    ]
    head, *rows = table_lines(("case", "state", "labels"), cells, console.width)
    print_lines(head, console)
    advised: set[str] = set()
    for row, alike in zip(rows, groups, strict=True):
        one = alike[0]
        print_lines(row, console)
        if len(alike) > 1:
            ids = ", ".join(other.case_id for other in alike)
            console.print(Text(f"  {textwrap.shorten(ids, console.width - 4, placeholder=' …')}"), soft_wrap=True)
        asked = prompts.get(one.case_id, "") if len(alike) == 1 else ""
        if asked and (verbose or one.case_id.startswith("case-")):
            console.print(Text(f"  {textwrap.shorten(asked, console.width - 4, placeholder='…')}"), soft_wrap=True)
        for part in _reason_lines(one, advised, verbose=verbose):
            for said in textwrap.wrap(part, max(40, console.width - 2), subsequent_indent="  "):
                console.print(Text(f"  {said}", style="dim"), soft_wrap=True)
    console.print(Text(_summary(qualifications)), soft_wrap=True)
    if (families := _families(cases)) is not None:
        console.print(Text(families), soft_wrap=True)
    for label in dict.fromkeys(label for one in qualifications for label in one.labels):
        console.print(Text(f"  {label}: {LABEL_MEANINGS[label]}", style="dim"), soft_wrap=True)


_FEW_ALIKE = 3
"""So many cases have rows of their own, although the same is said of each."""


def _alike(qualifications: Sequence[Qualification]) -> list[list[Qualification]]:
    """Cases of which the same is said together, where they are many; in the order of their first ones."""
    groups: dict[object, list[Qualification]] = defaultdict(list)
    for one in qualifications:
        groups[one.state, one.labels, tuple(reason.saw for reason in one.reasons)].append(one)
    found: list[list[Qualification]] = []
    for group in groups.values():
        found += [[one] for one in group] if len(group) <= _FEW_ALIKE else [group]
    return found


def _reason_lines(one: Qualification, advised: set[str], *, verbose: bool) -> Iterator[str]:
    """Why, and what to change; the same advice is given once."""
    most = len(one.reasons) if verbose else _MOST_REASONS
    for reason in one.reasons[:most]:
        yield reason.saw
        if reason.change and (verbose or reason.change not in advised):
            advised.add(reason.change)
            yield f"-> {reason.change}"
    if len(one.reasons) > most:
        yield f"and {len(one.reasons) - most} more; -v shows them"
    if verbose and one.mutants:
        failed = one.mutants - len(one.slipped)
        yield f"{failed} of {one.mutants} altered copies of the reference answer fail, as they should"
        yield from (f"passes, but should fail: {what}" for what in one.slipped)


def _summary(qualifications: Sequence[Qualification]) -> str:
    states = Counter(one.state for one in qualifications)
    counts = ", ".join(f"{states[state]} {state}" for state in ("qualified", "unproven", "rejected") if states[state])
    labels = Counter(label for one in qualifications for label in one.labels)
    with_labels = "".join(f"; {number} {label}" for label, number in labels.items())
    return f"{count(len(qualifications), 'case')}: {counts}{with_labels}"


def _families(cases: Sequence[Case]) -> str | None:
    """How many families there are and which are the largest; `None` where every case stands alone."""
    groups = sorted((family for family in by_family(cases) if family[0].family is not None), key=len, reverse=True)
    if not groups or len(groups[0]) == 1:
        return None
    shown = ", ".join(f"{family[0].family} {len(family)}" for family in groups[:_MOST_FAMILIES])
    more = ", …" if len(groups) > _MOST_FAMILIES else ""
    return f"{count(len(by_family(cases)), 'family', 'families')}, each counted once: {shown}{more}"


def show_written_cases(cases: Sequence[Case], console: Console) -> None:
    """A row per case: what it is for, how it is checked, and what it asks. Fits into 80 columns."""
    ordered = sorted(cases, key=lambda case: _USES.index(case.use) if case.use in _USES else 0)
    rows = []
    for case in ordered:
        kinds = "+".join(dict.fromkeys(check.kind for check in case.checks))
        task = textwrap.shorten(case.prompt, max(20, console.width - _BEFORE_TASK), placeholder=" …")
        rows.append([*map(Text, (case.id, use_name(case.use or ""), kinds, task))])
    show_table(("case", "use", "checks", "task"), rows, console, folded=(3,))
    found = Counter(case.use for case in cases)
    counts = ", ".join(f"{found[use]} {_NAMES[use]}" for use in _USES if found[use])
    console.print(Text(f"{count(len(cases), 'case')}, all qualified: {counts}"), soft_wrap=True)


def show_cases(trials: Iterable[Trial], console: Console, *, harness: str, prompts: Mapping[str, str]) -> None:
    """One table per student: what was asked, passed per arm, and the first thing that went wrong with the skill."""
    students: dict[str, dict[str, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        students[trial.student][trial.case_id].append(trial)
    for student, cases in students.items():
        arms = [arm for arm in ARMS if any(trial.arm == arm for mine in cases.values() for trial in mine)]
        ordered = sorted(cases.items())
        head, *rows = table_lines(
            ("case", *(arm_name(arm, harness) for arm in arms)),
            ([_question(id, prompts.get(id)), *(_tally(mine, arm) for arm in arms)] for id, mine in ordered),
            console.width,
            folded=(0,),
        )
        print_lines([Text(f"Cases, {student}"), *head], console)
        for row, (_, mine) in zip(rows, ordered, strict=True):
            print_lines(row, console)
            for line in _seen(mine):
                print_lines(line.wrap(console, console.width - 2), console, indent=2)
        print_lines([Text()], console)


def _question(case_id: str, prompt: str | None) -> Text:
    """What a case asks, then its id; the id alone where the prompt is not known."""
    if prompt is None:
        return Text(case_id)
    return Text.assemble(textwrap.shorten(prompt, _ANSWER, placeholder="…"), (f" {case_id}", "dim"))


def _tally(trials: list[Trial], arm: str) -> Text:
    mine = [trial.outcome for trial in trials if trial.arm == arm]
    scored = [outcome for outcome in mine if isinstance(outcome, Scored)]
    errored = len(mine) - len(scored)
    text = f"{sum(outcome.passed for outcome in scored)}/{len(scored)}" if mine else "-"
    return Text(text + (f" +{errored} errored" if errored else ""))


def _seen(trials: list[Trial]) -> list[Text]:
    """The skill's first failure explains most; without one, the first errored trial; otherwise the first look.

    What a check saw is cut where a word of it, such as a pattern, is wider than the terminal; answers are not.
    """
    offered = [trial for trial in trials if trial.arm == "offered"]
    given = offered or [trial for trial in trials if trial.arm == "with_skill"] or trials
    for trial in given:
        outcome = trial.outcome
        if isinstance(outcome, Scored) and not outcome.passed:
            looks = [result.saw for result in outcome.grade.results if not result.passed]
            said = [f"answer: {shortened(trial.answer, _ANSWER)}"]
            if trial.earlier:
                answers = enumerate((*trial.earlier, trial.answer), 1)
                said = [f"answer to turn {number}: {shortened(text, _ANSWER_OF_TURN)}" for number, text in answers]
            said += [f"files: {', '.join(sorted(trial.files)[:5])}"] if trial.files else []
            return _looked(looks or [f"ended: {outcome.end}"], said)
    for trial in trials:
        if isinstance(trial.outcome, Errored):
            return _looked([], [f"{trial.outcome.fault}: {trial.outcome.message[:_ANSWER]}"])
    first = given[0].outcome
    return _looked([result.saw for result in first.grade.results] if isinstance(first, Scored) else [], [])


def _looked(looks: Iterable[str], said: Iterable[str]) -> list[Text]:
    return [*(Text(look, overflow="ellipsis") for look in looks), *map(Text, said)]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorseCase:
    """A case that one model passed less often after the change than before it."""

    model: str
    case_id: str
    before: int
    """Repeats that passed before, of those scored on both sides."""
    after: int
    pairs: int


Repeats = Mapping[Arm, Mapping[int, bool]]
"""Whether each repeat of one case passed, by arm. A repeat that was asked again replaces the earlier one."""


def scored_pairs(repeats: Repeats, arm: Arm, against: Arm) -> list[tuple[bool, bool]]:
    """Whether one arm passed and the other one did, for each repeat that was scored in both."""
    mine, theirs = repeats.get(arm, {}), repeats.get(against, {})
    return [(passed, theirs[repeat]) for repeat, passed in mine.items() if repeat in theirs]


def worse_cases(evaluation: Evaluation, trials: Iterable[Trial]) -> tuple[WorseCase, ...]:
    """The cases that passed less often in the measured arm than in the other one, the largest drop first.

    `trials` is gone through once.
    """
    compared = {report.student.name: report.compared for report in evaluation.students if report.lifts}
    found: dict[tuple[str, str], dict[Arm, dict[int, bool]]] = defaultdict(lambda: defaultdict(dict))
    for trial in trials:
        if trial.student in compared and not isinstance(trial.outcome, Errored):
            found[trial.student, trial.case_id][trial.arm][trial.repeat] = trial.outcome.passed
    worse = []
    for (model, case_id), repeats in found.items():
        pairs = scored_pairs(repeats, *compared[model])
        before, after = sum(one for _, one in pairs), sum(one for one, _ in pairs)
        if after < before:
            worse.append(WorseCase(model=model, case_id=case_id, before=before, after=after, pairs=len(pairs)))
    return tuple(sorted(worse, key=lambda one: ((one.after - one.before) / one.pairs, one.case_id, one.model)))
