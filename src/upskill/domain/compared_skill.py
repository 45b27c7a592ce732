"""The skills of one `upskill eval`: what was found for each, or why it was not measured."""

from dataclasses import dataclass, replace
from typing import Literal

from upskill.domain.evaluation import Evaluation, Purchase, Required
from upskill.domain.finding import Finding
from upskill.domain.skill_changes import NO_CASE_CHANGES, CaseChanges
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN

SkillState = Literal["measured", "unchanged", "failed", "not started"]
"""`unchanged`: equal to the version to compare with. `not started`: the command ended before its turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSkill:
    """One skill. Exactly the measured ones have an evaluation."""

    folder: str
    """As it was typed or found, with forward slashes."""
    name: str
    """The name of the skill; of its folder, where the skill cannot be read."""
    state: SkillState = "measured"
    evaluation: Evaluation | None = None
    problem: str | None = None
    """Why it was not measured, in one line; `None` for a measured or an unchanged skill."""
    hint: str | None = None
    """What to do about the problem."""
    compared_with: str | None = None
    """The older version to compare with, as it was typed: `git:HEAD~1`; `None` where no skill is the comparison."""
    commit: str | None = None
    """The commit of that version, by its full id."""
    is_new: bool = False
    """Whether an older version was asked for and does not have this skill, so that it is measured against no skill."""
    changed: tuple[str, ...] = ()
    """The parts that differ from the older version: `description`, `body`, `frontmatter`, paths of other files."""
    case_changes: CaseChanges = NO_CASE_CHANGES
    """How its cases differ from those of the older version, also where the skill is unchanged."""
    stand_ins: tuple[tuple[str, str], ...] = ()
    """Names that a script or a model of a settings file answered for, as student or judge, each with what answered."""
    required: Required | None = None
    """The value of `--require`."""
    findings: tuple[Finding, ...] | None = None
    """What lint found in it; `None` where that was not searched."""

    def exit_code(self) -> int:
        """The exit code that this skill by itself gives the command."""
        if self.evaluation is not None:
            return self.evaluation.exit_code()
        if self.state != "unchanged":
            return EXIT_FAILED
        return EXIT_NOT_SHOWN if self.required is not None and self.case_changes.refused else EXIT_DONE


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSkills:
    """Several skills that were evaluated one after the other, under the same caps."""

    skills: tuple[ComparedSkill, ...]
    bought: Purchase
    compared_with: str | None = None
    """The older version as it was typed, such as `git:HEAD~1`; `None` where no skill is the comparison."""
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """Those that there are, in order."""
        return tuple(one.evaluation for one in self.skills if one.evaluation is not None)

    def requiring(self, required: Required | None) -> "ComparedSkills":
        """The same with something required of every skill."""
        skills = []
        for one in self.skills:
            evaluation = None if one.evaluation is None else replace(one.evaluation, required=required)
            skills.append(replace(one, evaluation=evaluation, required=required))
        return replace(self, skills=tuple(skills))

    def exit_code(self) -> int:
        """The exit code of the command: interrupted, then no verdict, then a requirement that is not met."""
        codes = {one.exit_code() for one in self.skills}
        if self.interrupted or EXIT_INTERRUPTED in codes:
            return EXIT_INTERRUPTED
        return next((code for code in (EXIT_FAILED, EXIT_NOT_SHOWN) if code in codes), EXIT_DONE)
