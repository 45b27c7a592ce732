"""What was required of a result, whether it is met, and why not: for the last line, `--json` and JUnit."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from upskill.core.nouns import Evaluation, StudentReport
from upskill.core.nouns.case import Json
from upskill.core.nouns.evaluation import ComparedSkill, Required, meets
from upskill.core.nouns.text import count
from upskill.core.skills.git_version import CaseChanges
from upskill.report.wording import points

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
            if (why := gap(required, report.student.name, report.verdict, report.claim)) is not None
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


def gap(required: Required, name: str, verdict: str | None, claim: str | None) -> str | None:
    """Why a model does not meet what was required, in words; `None` where it does."""
    if meets(required, verdict=verdict, claim=claim):
        return None
    if verdict == "helps":
        return f"{name} is helped on these cases only (--require helps-here accepts that)"
    if verdict is None or verdict == "invalid":
        return f"{name} has no verdict"
    return f"{name} {_UNMET.get(verdict, f'is {verdict}')}"


def _lift_gap(min_lift: float, report: StudentReport) -> str | None:
    if report.clears:
        return None
    asked = f"{points(min_lift)} points"
    missing = f"a lift of {asked} is excluded" if report.clears is False else f"a lift of at least {asked} is not shown"
    return f"{report.student.name}: {missing}"
