"""Plans one skill of a sweep: reads it with its cases, checks them as every evaluation does, and keeps the archive."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from upskill.domain import PlannedTrial, digest_of
from upskill.domain.sweep import PlannedJob, Refused
from upskill.domain.text import on_one_line, shortened
from upskill.errors import UpskillError, UsageError, WindowExceeded
from upskill.models.preflight import Servers
from upskill.redaction import redactor_from
from upskill.settings import Settings
from upskill.storage.raw_skill import raw_digest
from upskill.storage.skill_archive import archive_bytes, archive_digest
from upskill.workflows.evaluating.judge import identity as judge_identity
from upskill.workflows.evaluating.prepare import EvaluationOrder, PreparedEvaluation, prepare
from upskill.workflows.evaluating.reuse import requests_of
from upskill.workflows.sweeping.archives import Archives
from upskill.workflows.sweeping.listed_skills import ListedSkill, with_folder

_MOST_WHY = 300
Planned = tuple[PlannedJob | None, list[Refused]]
"""The job of a skill on a group of models, and the models that cannot be asked, with the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillPlanner:
    """Plans skills under the conditions of one sweep."""

    settings: Settings
    runs: int | None
    servers: Servers
    served: Mapping[str, str | None]
    """What each model was found to be."""
    archives: Archives

    def plan(self, listed: ListedSkill, group: tuple[str, ...], *, raw: str | None) -> Planned:
        """Read the skill and its cases, check them as every evaluation does, and keep the archive."""
        refused: list[Refused] = []
        try:
            try:
                prepared = self._prepared(listed, group)
            except WindowExceeded:
                fitting = tuple(student for student in group if self._fits(student, listed, refused))
                if not fitting:
                    return None, [replace(one, raw=raw or "") for one in refused]
                prepared = self._prepared(listed, fitting)
            archive = archive_bytes(listed.folder, listed.case_file)
            name = prepared.skill.frontmatter.get("name")
            key = raw if isinstance(name, str) and name.strip() else with_folder(raw, listed)
            job = self._job(listed, prepared, input=archive_digest(archive), raw=key)
            if raw_digest(listed.folder, listed.case_file) != raw:
                raise UsageError("it changed while it was being read")
        except UpskillError as error:
            return None, [Refused(skill=listed.skill, why=_why(error, listed), students=group)]
        self.archives.keep(archive)
        return job, [replace(one, raw=key or "") for one in refused]

    def _prepared(self, listed: ListedSkill, group: tuple[str, ...]) -> PreparedEvaluation:
        order = EvaluationOrder(skill=listed.folder, case_file=listed.case_file, repeats=self.runs, searched=True)
        settings = replace(self.settings, models=group)
        return prepare(order, settings, needs_keys=False, servers=self.servers)

    def _fits(self, student: str, listed: ListedSkill, refused: list[Refused]) -> bool:
        try:
            self._prepared(listed, (student,))
        except WindowExceeded as error:
            refused.append(Refused(skill=listed.skill, why=_why(error, listed), students=(student,)))
            return False
        return True

    def _job(self, listed: ListedSkill, prepared: PreparedEvaluation, *, input: str, raw: str | None) -> PlannedJob:
        estimate = prepared.estimate
        unpriced = cost_at_most(prepared) is None
        return PlannedJob(
            id=job_id(prepared, self.served),
            skill=listed.skill,
            name=prepared.skill.name,
            version=prepared.skill.digest,
            input=input,
            case_file=None if listed.case_file is None else f"cases/{listed.case_file.name}",
            cases=len(prepared.plan.cases),
            students=tuple(student.name for student in prepared.plan.students),
            calls_expected=estimate.calls_expected,
            calls_at_most=estimate.calls_at_most,
            cost_expected=None if unpriced else estimate.price_expected,
            cost_at_most=cost_at_most(prepared),
            output_tokens_expected=estimate.output_tokens_expected,
            tokens_at_most=estimate.tokens_at_most,
            raw=raw or "",
        )


def cost_at_most(prepared: PreparedEvaluation) -> float | None:
    """Dollars, for the models whose price is known, the judge among them; `None` where none is known."""
    known = any(student.price is not None for student in prepared.plan.students)
    return prepared.estimate.price_at_most if known else prepared.estimate.price_at_most or None


def job_id(prepared: PreparedEvaluation, served: Mapping[str, str | None]) -> str:
    """The id of an evaluation. `served` is what each model was found to be.

    A trial's own id stands for the model, where it is served, the harness with its version, the limits of a trial and
    all that the model is told. Names of folders, caps and how fast requests are sent change nothing.
    """
    plan, requests = prepared.plan, requests_of(prepared)
    asked = [
        [
            student.name,
            served[student.name],
            [
                requests.trial_id(PlannedTrial(case=case, arm=arm, repeat=1), student)
                for case in plan.cases
                for arm in plan.arms_of(case)
            ],
        ]
        for student in plan.students
    ]
    return digest_of(
        {
            "skill": [prepared.skill.name, prepared.skill.digest],
            "cases": [[case.id, case.digest, case.family] for case in plan.cases],
            "students": asked,
            "judge": judge_identity(prepared.judge),
            "arms": plan.arms,
            "design": [plan.design, plan.repeats, plan.turn_cap],
            "seed": plan.seed,
        }
    )[:32]


def _why(error: UpskillError, listed: ListedSkill) -> str:
    """Why a skill is refused, in one line, without a key of the user's own."""
    said = "; ".join((error.message, *error.problems[:2]))
    said = said.replace(str(listed.folder), listed.skill)
    said = said.removeprefix(f"{listed.skill}: ").removeprefix(f"{listed.folder.name}: ")
    return shortened(on_one_line(redactor_from(os.environ).clean_own(said)), _MOST_WHY)
