"""What is worth knowing beside a result, the most important first, and what was required of it, met or not.

One line says it for all models that it is about.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from upskill.core.nouns import Evaluation, JudgeReport, StudentReport
from upskill.core.nouns.case import CaseChanges, Json
from upskill.core.nouns.evaluation import NO_HARM, ComparedSkill, Required, meets
from upskill.core.nouns.text import count
from upskill.report.wording import (
    arm_name,
    ceiling_words,
    confidence_interval,
    control_lines,
    counted_by_arm,
    dollars,
    faults_words,
    loading_lines,
    loss_lines,
    names_by_model,
    percent,
    points,
    rate_words,
)

_MOST_NAMED = 3
_GOOD_JUDGE, _LEAST_COMPARED = 0.9, 10
"""A judge that agrees less often with the other checks, on so many answers, is mentioned beside the verdict."""
_UNMET = {"hurts": "is hurt", "no difference": "shows no difference", "cheaper": "is cheaper, but not better"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirement:
    """One thing that was required of every student."""

    what: str
    """The option, as it is typed."""
    unmet: Mapping[str, str] = field(default_factory=dict)
    """Why it is not met, by student, or by "" where that is about none of them; empty where it is met."""

    @property
    def met(self) -> bool:
        """Whether every student meets it."""
        return not self.unmet

    @property
    def why(self) -> str | None:
        """Everything that is missing, in words; `None` where nothing is."""
        return "; ".join(self.unmet.values()) or None


def requirements(evaluation: Evaluation) -> tuple[Requirement, ...]:
    """What was required of an evaluation; empty where nothing was."""
    found = []
    if (required := evaluation.required) is not None:
        unmet = {
            report.student.name: why
            for report in evaluation.students
            if (why := _report_gap(required, report)) is not None
        }
        unmet |= _case_gap(evaluation.case_changes)
        found.append(Requirement(what=f"--require {required}", unmet=unmet))
    if (min_lift := evaluation.min_lift) is not None:
        unmet = {report.student.name: why for report in evaluation.students if (why := _lift_gap(min_lift, report))}
        found.append(Requirement(what=f"--min-lift {min_lift:g}", unmet=unmet))
    return tuple(found)


def skill_requirements(one: ComparedSkill) -> tuple[Requirement, ...]:
    """What was required of one of several skills; of an unchanged one, that its cases are unchanged too."""
    if one.evaluation is not None:
        return requirements(one.evaluation)
    unmet = {} if one.required is None or one.state != "unchanged" else _case_gap(one.case_changes)
    return (Requirement(what=f"--require {one.required}", unmet=unmet),) if unmet else ()


def _case_gap(changes: CaseChanges) -> dict[str, str]:
    if not changes.refused:
        return {}
    were = "was" if len(changes.refused) == 1 else "were"
    what = f"{count(len(changes.refused), 'old case')} {were} changed or removed"
    return {"": f"{what}; after reading the change, accept it with --accept-changed-cases"}


def requirements_json(found: tuple[Requirement, ...]) -> Json:
    """A list with an object for each requirement."""
    return [{"what": one.what, "met": one.met, "why": one.why} for one in found]


def not_met_line(found: tuple[Requirement, ...], *, short: bool = False) -> str:
    """All requirements that are not met, in one line, `short` without the reasons; empty where all are met."""
    unmet = "; ".join(one.what if short else f"{one.what}, {one.why}" for one in found if not one.met)
    return f"not met: {unmet}" if unmet else ""


def _report_gap(required: Required, report: StudentReport) -> str | None:
    if required == "no-harm" and report.broken and report.verdict != "invalid":
        return f"{report.student.name}: {broken_in_short(report)}"
    if required == "no-harm" and report.suspected and report.verdict != "invalid":
        cases = count(len(report.suspected), "case")
        return f"{report.student.name}: {cases} may be broken, and could not be asked often enough to tell"
    return gap(required, report.student.name, report.verdict, report.claim)


def gap(required: Required, name: str, verdict: str | None, claim: str | None) -> str | None:
    """Why a model does not meet what was required, in words; `None` where it does."""
    if meets(required, verdict=verdict, claim=claim):
        return None
    if verdict is None or verdict == "invalid":
        return f"{name} has no verdict"
    if verdict == "helps":
        return f"{name} is helped on these cases, which are too few to say so of new ones"
    return f"{name} {_UNMET.get(verdict, f'is {verdict}')}"


def broken_in_short(report: StudentReport) -> str:
    """Which cases a new version broke, by their ids."""
    named = ", ".join(one.case_id for one in report.broken[:_MOST_NAMED])
    more = f" and {len(report.broken) - _MOST_NAMED} more" if len(report.broken) > _MOST_NAMED else ""
    return f"{count(len(report.broken), 'case')} broken ({named}{more})"


def _lift_gap(min_lift: float, report: StudentReport) -> str | None:
    if report.clears:
        return None
    asked = f"{points(min_lift)} points"
    missing = f"a lift of {asked} is excluded" if report.clears is False else f"a lift of at least {asked} is not shown"
    return f"{report.student.name}: {missing}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultNote:
    """One line beside a result."""

    text: str
    must_show: bool = False
    """Whether it is shown however little room there is."""
    short: str | None = None
    """The same in one row, where there is room for no more."""
    is_fact: bool = False
    """Whether it is a part of the result itself, not a remark on it."""


def result_notes(evaluation: Evaluation) -> Iterator[ResultNote]:
    """All of them: the cap that ended it, requirements not met, what went wrong, what else was found, then remarks."""
    names = headline_names(evaluation)
    stopped = None if evaluation.end.cap is None else f"stopped at {evaluation.end.cap}"
    if stopped is not None:
        yield ResultNote(text=stopped, must_show=True)
    yield from unmet_notes(requirements(evaluation), names)
    if evaluation.required == "no-harm":
        yield from (ResultNote(text=line, must_show=True, is_fact=True) for line in _losses(evaluation, names))
    yield from found_notes(evaluation)
    for line in merged_notes(tuple(note for note in evaluation.notes if note != stopped), names):
        yield ResultNote(text=f"note: {line}")


def _losses(evaluation: Evaluation, names: Mapping[str, str]) -> Iterator[str]:
    """The largest loss of each model that its interval includes: what `no-harm` lets through."""
    for report in evaluation.students:
        if (interval := report.interval) is not None and interval.low < 0 and report.verdict in NO_HARM:
            who = f"{names[report.student.name]}: " if len(evaluation.students) > 1 else ""
            loss = count(round(-100 * interval.low), "point")
            yield f"{who}no-harm: a loss of up to {loss} is not excluded; --min-lift -0.1 demands less than 10"


def unmet_notes(found: tuple[Requirement, ...], names: Mapping[str, str]) -> Iterator[ResultNote]:
    """One note on all that was required and not shown, with short names of models; none where all is met."""
    if line := not_met_line(found):
        text = with_short_names(line, names)
        yield ResultNote(text=text, must_show=True, short=not_met_line(found, short=True))


def found_notes(evaluation: Evaluation) -> Iterator[ResultNote]:
    """What the figures of an evaluation say beside its verdicts; what went wrong comes first."""
    if trouble := "; ".join(_trouble(evaluation)):
        yield ResultNote(text=trouble, must_show=True, short=_trouble_in_short(evaluation))
    for line in _answered_by(evaluation):
        yield ResultNote(text=line)
    if (others := others_words(evaluation)) is not None:
        yield ResultNote(text=others, is_fact=True)
    for line in (*_loading(evaluation), *_ceilings(evaluation), *_controls(evaluation)):
        yield ResultNote(text=line, is_fact=True)
    if (judge := evaluation.judge) is not None:
        errs = judge.agreement is not None and judge.compared >= _LEAST_COMPARED and judge.agreement < _GOOD_JUDGE
        yield ResultNote(text=judge_words(judge), must_show=errs)


def merged_notes(notes: tuple[str, ...], names: Mapping[str, str]) -> Iterator[str]:
    """Notes without the name of the only model, and once where they are the same for several.

    `names` are short names by the full ones, with which notes on one model begin.
    """
    about: dict[str, list[str]] = {}
    for note in notes:
        model = next((name for name in names if note.startswith(f"{name}: ")), None)
        text = with_short_names(note if model is None else note.removeprefix(f"{model}: "), names)
        about.setdefault(text, []).extend([] if model is None else [names[model]])
    for text, models in about.items():
        if not models or len(names) == 1:
            yield text
        else:
            yield f"{models[0] if len(models) == 1 else f'{len(models)} models'}: {text}"


def with_short_names(text: str, names: Mapping[str, str]) -> str:
    """The text with the short name of each model, the longest full name first: one may begin like another."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    return text


def judge_words(judge: JudgeReport) -> str:
    """The judge, and how far that agrees with the other checks, in one line."""
    line = f"judge: {judge.model}, {count(judge.judged, 'answer')}"
    line += f", {judge.calls:,} calls, {dollars(judge.cost)}" if judge.calls else ""
    if judge.agreement is None:
        return f"{line}; no answer had other checks to compare it with"
    agrees = f"{judge.agreed} of {judge.compared} ({percent(judge.agreement)})"
    return f"{line}; agrees with the other checks in {agrees}; the interval does not include its errors"


def headline_names(evaluation: Evaluation) -> dict[str, str]:
    """The name that each model has in the headline, by its full name."""
    return names_by_model([report.student.name for report in evaluation.students])


def _trouble(evaluation: Evaluation) -> Iterator[str]:
    if len(evaluation.students) == 1:
        yield from _errors(evaluation.students[0])
        yield from loss_lines(evaluation.students[0])
    else:
        yield from _errors_of_several(evaluation)
    if evaluation.interrupted:
        done = sum(arm.trials + arm.errored for report in evaluation.students for arm in report.arms)
        yield f"interrupted after {done:,} of {evaluation.planned:,} answers"


def _trouble_in_short(evaluation: Evaluation) -> str:
    arms = [arm for report in evaluation.students for arm in report.arms]
    counts = {
        "errored": sum(arm.errored for arm in arms),
        "lost": sum(arm.lost for arm in arms),
        "refused": sum(arm.refused for arm in arms),
    }
    said = [f"{number:,} {what}" for what, number in counts.items() if number]
    answers = [f"answers: {', '.join(said)}, not counted as failures"] if said else []
    return "; ".join([*answers, *(["interrupted"] if evaluation.interrupted else [])])


def _errors(report: StudentReport) -> Iterator[str]:
    errors = [
        f"{arm_name(arm.arm, report.harness)} {arm.errored} ({faults_words(arm.faults)})"
        for arm in report.arms
        if arm.errored
    ]
    if errors:
        yield f"errored, not counted as failures: {', '.join(errors)}"


def _errors_of_several(evaluation: Evaluation) -> Iterator[str]:
    errored = [report for report in evaluation.students if any(arm.errored for arm in report.arms)]
    if errored:
        faults: Counter[str] = Counter()
        for report in errored:
            for arm in report.arms:
                faults.update(dict(arm.faults))
        whose = f"{count(sum(arm.errored for one in errored for arm in one.arms), 'answer')} of "
        whose += headline_names(evaluation)[errored[0].student.name] if len(errored) == 1 else f"{len(errored)} models"
        yield f"errored, not counted as failures: {whose} ({faults_words(faults.most_common())})"
    arms = [(arm_name(arm.arm, report.harness), arm) for report in evaluation.students for arm in report.arms]
    for what, counted in (
        ("lost answers", [(name, arm.lost) for name, arm in arms]),
        ("refused requests", [(name, arm.refused) for name, arm in arms]),
    ):
        totals = Counter[str]()
        for name, number in counted:
            totals[name] += number
        if totals.total():
            yield f"{what}: {counted_by_arm(totals.items())}"


def _answered_by(evaluation: Evaluation) -> Iterator[str]:
    """Models that servers name otherwise than was asked for: a verdict says which model it is about."""
    names = headline_names(evaluation)
    found = [report for report in evaluation.students if report.answered_by]
    if len(evaluation.students) == 1 and found:
        yield f"the server names the model {_served(found[0])} (asked for: {found[0].student.name})"
    elif found:
        several = "; ".join(f"{names[report.student.name]} is {_served(report)}" for report in found[:_MOST_NAMED])
        more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        yield f"model names given by the servers: {several}{more}"


def _served(report: StudentReport) -> str:
    return ", ".join(report.answered_by[:3]) + (" …" if len(report.answered_by) > 3 else "")


def _loading(evaluation: Evaluation) -> Iterator[str]:
    """For students that may load the skill: how many did, and what it does when forced."""
    names = headline_names(evaluation)
    if len(evaluation.students) == 1:
        yield from loading_lines(evaluation.students[0])
        return
    offered = [(names[one.student.name], one.loads, one.forced) for one in evaluation.students if one.loads is not None]
    if offered:
        yield "load rate: " + "; ".join(f"{name} {rate_words(loads)}" for name, loads, _ in offered)
    forced = [f"{name} {points(lift.mean)} ({confidence_interval(lift)})" for name, _, lift in offered if lift]
    if forced:
        yield f"{arm_name('with_skill', evaluation.students[0].harness)}: {'; '.join(forced)}"


def _ceilings(evaluation: Evaluation) -> Iterator[str]:
    names = headline_names(evaluation)
    if len(evaluation.students) == 1:
        words = ceiling_words(evaluation.students[0], cases=evaluation.cases)
        yield from [] if words is None else [words]
        return
    measured = [(report, report.ceiling) for report in evaluation.students if report.ceiling is not None]
    if measured:
        lifts = ", ".join(f"{names[report.student.name]} {points(lift.mean)}" for report, lift in measured if lift)
        yield f"with the passage itself in the prompt: {lifts}"


def _controls(evaluation: Evaluation) -> Iterator[str]:
    names = headline_names(evaluation)
    for report in evaluation.students:
        who = f"{names[report.student.name]}: " if len(names) > 1 else ""
        yield from (f"{who}{line}" for line in control_lines(report))


def others_words(evaluation: Evaluation) -> str | None:
    """How many other skills there were, and which were loaded in each arm; `None` where none was asked for."""
    if evaluation.others is None:
        return None
    totals: dict[str, Counter[str]] = {}
    for report in evaluation.students:
        for arm in report.arms:
            name = arm_name(arm.arm, report.harness)
            totals.setdefault(name, Counter()).update(dict(arm.other_skills))
    loaded = [f"{name} {_with_counts(found)}" for name, found in totals.items() if found]
    said = "; other skills loaded: " + ", ".join(loaded) if loaded else "; no other skill was loaded"
    return f"measured {evaluation.others.words}{said}"


def _with_counts(found: Counter[str]) -> str:
    first = ", ".join(f"{name} {number}" for name, number in found.most_common(_MOST_NAMED))
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f"({first}{more})"
