"""What a student sees, and the identity of a trial, which is made of that and of who the student is."""

import hashlib
from functools import cache

from upskill.core.nouns import DEFAULT_HARNESS, Arm, Case, PlannedTrial, Skill, Student, digest_of
from upskill.core.trials.harness import CaseRequest, Request, load_harness, passage_block
from upskill.core.trials.trial_limits import TrialLimits


class Requests:
    """The requests of an evaluation of one skill. What the arms say is rendered and digested once."""

    def __init__(
        self,
        skill: Skill,
        *,
        previous: Skill | None = None,
        harness: str = DEFAULT_HARNESS,
        trial_limits: TrialLimits | None = None,
    ) -> None:
        """`previous` is an older version of the skill, where two versions are compared. Agents work under
        `trial_limits`.
        """
        self.harness = load_harness(harness)
        self._trial_limits = trial_limits or TrialLimits()
        self._arms = self.harness.arms(skill, previous=previous, trial_limits=self._trial_limits)
        self._request_digests: dict[tuple[Arm, CaseRequest, str | None], str] = {}
        self._cases: dict[int, tuple[Case, CaseRequest]] = {}

    def render(self, case: Case, arm: Arm) -> Request:
        """What the student is told in one trial."""
        return Request(system=self._system(case, arm), prompt=self._shown(case).prompt)

    def _system(self, case: Case, arm: Arm) -> str:
        """What the student is told first. In the ceiling arm the passage stands where a skill would, in any harness."""
        if arm != "ceiling":
            return self._arms[arm].system
        return f"{self._arms['baseline'].system}\n\n{passage_block(case)}"

    def _shown(self, case: Case) -> CaseRequest:
        if not case.files:
            return self.harness.show(case)
        # Asked for every trial of every plan, and files can be large. The case is kept, so its number stays its own.
        if id(case) not in self._cases:
            self._cases[id(case)] = case, self.harness.show(case)
        return self._cases[id(case)][1]

    def skill_in(self, arm: Arm) -> Skill | None:
        """The skill whose files lie in the sandbox of this arm; `None` where none does."""
        return None if arm == "ceiling" else self._arms[arm].skill

    def forces(self, arm: Arm) -> bool:
        """Whether the student of this arm is made to load its skill."""
        return arm != "ceiling" and self._arms[arm].forced

    def trial_id(self, planned: PlannedTrial, student: Student) -> str:
        """Equal for two trials exactly when student, request and repeat are. Checks are not part of it."""
        case, arm = planned.case, planned.arm
        key = arm, self._shown(case), case.passage if arm == "ceiling" else None
        request = self._request_digests.get(key)
        if request is None:
            request = digest_of(self._seen(case, arm))
            self._request_digests[key] = request
        # Joined as plain text: this is done for every trial of every plan.
        whole = f"{request}/{_student_digest(student, self.harness.version)}/{planned.repeat}"
        return hashlib.sha256(whole.encode("ascii")).hexdigest()

    def _seen(self, case: Case, arm: Arm) -> dict[str, object]:
        shown = self._shown(case)
        seen = {
            "system": digest_of(self._system(case, arm)),
            "prompt": shown.prompt,
            **self.harness.identity(self._trial_limits, files=shown.files),
        }
        if (skill := self.skill_in(arm)) is not None:
            seen["skill"] = [[file.path, file.sha256, file.executable] for file in skill.files]
            if self._trial_limits.setup.program is not None:
                seen["name"] = skill.name  # of its folder, if its text has none: an agent lists it so
        if self.forces(arm):
            seen["forced"] = True
        return seen


@cache
def _student_digest(student: Student, harness: str) -> str:
    return digest_of(
        {
            "harness": harness,
            "model": student.model,
            "endpoint": student.endpoint,
            "temperature": student.temperature,
            "max_output_tokens": student.max_output_tokens,
        }
    )
