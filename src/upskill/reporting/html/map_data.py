"""The map's data: cases x arms x repeats as compact JSON, from which the page draws only what is looked at."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from upskill.domain import DEFAULT_HARNESS, Errored, Evaluation, Files, Trial
from upskill.domain.case import Json
from upskill.domain.trial import ARMS
from upskill.reporting.arms import arm_name
from upskill.reporting.html.facts import CaseText, LoggedTrial
from upskill.reporting.html.texts import Texts, longest_for, room_for

PASSED, FAILED, ERRORED = 1, 0, 2
FILES_SHOWN = 5
FILE_CHARACTERS = 2_000
SAW_CHARACTERS = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class MapData:
    """What the script of the page reads, and the same in short for whoever has no script."""

    json: dict[str, Json]
    tallies: dict[tuple[int, int], dict[int, str]]
    """By student and case: per arm, a sign for each repeat."""
    arms: tuple[str, ...]
    trials: int


def map_data(
    evaluation: Evaluation, cases: Sequence[CaseText], logged: Iterable[LoggedTrial], *, expected: int
) -> MapData:
    """Numbers in place of names, every text once. `expected` is how many trials there will be, about."""
    texts = Texts(longest=longest_for(expected))
    grades: dict[tuple[tuple[str, bool, int], ...], int] = {}
    students = [report.student.name for report in evaluation.students]
    harness = evaluation.students[0].harness if evaluation.students else DEFAULT_HARNESS
    number_of_student = {name: number for number, name in enumerate(students)}
    number_of_case = {case.id: number for number, case in enumerate(cases)}
    ran = {arm.arm for report in evaluation.students for arm in report.arms}
    arms = [arm for arm in ARMS if arm in ran]
    prompts: list[Json] = [None if case.prompt is None else texts.add(case.prompt) for case in cases]
    logs: dict[str, int] = {}
    rows: list[Json] = []
    tallies: dict[tuple[int, int], dict[int, str]] = {}
    for one in logged:
        trial = one.trial
        if trial.arm not in arms or trial.case_id not in number_of_case or trial.student not in number_of_student:
            continue
        state, detail = _outcome(trial, texts, grades)
        student, case, arm = number_of_student[trial.student], number_of_case[trial.case_id], arms.index(trial.arm)
        signs = tallies.setdefault((student, case), {})
        signs[arm] = signs.get(arm, "") + "✗✓!"[state]
        rows.append(
            [
                student,
                case,
                arm,
                trial.repeat,
                state,
                detail,
                texts.add(trial.answer) if trial.answer else -1,
                one.line,
                trial.usage.input_tokens,
                trial.usage.output_tokens,
                None if trial.usage.cost is None else float(f"{trial.usage.cost:.3g}"),
                None if trial.seconds is None else round(trial.seconds, 1),
                logs.setdefault(one.log, len(logs)) if one.log else -1,
                one.sample or 0,
                _more(one, texts),
            ]
        )
    states = {one.case_id: one for one in evaluation.case_states}
    known: list[Json] = [
        [
            case.id,
            prompt,
            states[case.id].state if case.id in states else "",
            list(states[case.id].labels) if case.id in states else [],
            case.use or "",
            list(case.files),
        ]
        for case, prompt in zip(cases, prompts, strict=True)
    ]
    json: dict[str, Json] = {
        "students": list(students),
        "arms": [arm_name(arm, harness) for arm in arms],
        "measured": _measured(evaluation, arms),
        "cases": known,
        "grades": [[[kind, passed, saw] for kind, passed, saw in grade] for grade in grades],
        "logs": list(logs),
        "trials": rows,
        "texts": texts.cut_to(room_for(len(rows))),
    }
    return MapData(json=json, tallies=tallies, arms=tuple(arm_name(arm, harness) for arm in arms), trials=len(rows))


def _measured(evaluation: Evaluation, arms: Sequence[str]) -> Json:
    """Which two arms the verdict compares, by number; null where nothing was compared."""
    if not evaluation.students or not evaluation.students[0].lifts:
        return None
    measured, against = evaluation.students[0].compared
    return [arms.index(measured), arms.index(against)] if measured in arms and against in arms else None


def _outcome(trial: Trial, texts: Texts, grades: dict[tuple[tuple[str, bool, int], ...], int]) -> tuple[int, Json]:
    """The state, and what stands behind it: the number of the grade, with the end where it is unusual; or the fault."""
    outcome = trial.outcome
    if isinstance(outcome, Errored):
        return ERRORED, [outcome.fault, texts.add(outcome.message[:SAW_CHARACTERS])]
    seen = tuple((one.kind, one.passed, texts.add(one.saw[:SAW_CHARACTERS])) for one in outcome.grade.results)
    number = grades.setdefault(seen, len(grades))
    return (PASSED if outcome.passed else FAILED), (number if outcome.end == "answered" else [number, outcome.end])


def _more(one: LoggedTrial, texts: Texts) -> Json:
    """What most trials have nothing of; 0 then."""
    trial = one.trial
    more: dict[str, Json] = {}
    if not one.counted:
        more["late"] = True
    if one.tries > 1:
        more["tries"] = one.tries
    if trial.turns:
        more["turns"] = trial.turns
    if trial.stored_at:
        more["stored"] = trial.stored_at
    if trial.skill_use is not None:
        more["loaded"] = trial.skill_use.loaded
        more["read"] = list(trial.skill_use.files)
    if trial.removed:
        more["removed"] = list(trial.removed)
    if trial.files:
        more["files"] = _files(trial.files, texts)
    return more or 0


def _files(files: Files, texts: Texts) -> Json:
    """Name, size and text of the first files; of the others the name and size."""
    found: list[Json] = []
    for number, (path, data) in enumerate(sorted(files.items())):
        shown = -1
        if number < FILES_SHOWN and b"\0" not in data[:FILE_CHARACTERS]:
            shown = texts.add(data[: FILE_CHARACTERS * 4].decode("utf-8", "replace")[:FILE_CHARACTERS])
        found.append([path, len(data), shown])
        if number >= 50:
            break
    return found
