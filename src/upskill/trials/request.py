"""What a student sees, and the identity of a trial, which is made of that and of who the student is.

The arms share one frame word for word. The skill is added to it in one marked place, or it is not.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from upskill.domain import Arm, Case, PlannedTrial, Skill, Student, digest_of

FRAME = files("upskill.trials").joinpath("frame.md").read_text(encoding="utf-8").strip()
HARNESSES = {"chat": "chat/1"}
"""The harnesses and their versions: a harness that asks in another way is another version."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The rendered request of a chat student: all that it is told."""

    system: str
    prompt: str


class Requests:
    """The requests of an evaluation of one skill. What the arms say is rendered and digested once."""

    def __init__(self, skill: Skill, *, previous: Skill | None = None, harness: str = "chat") -> None:
        """`previous` is an older version of the skill, where two versions are compared."""
        self.harness = HARNESSES[harness]
        # A baseline says nothing that depends on the skill, so that any skill can share it.
        self._systems: dict[Arm, str] = {"baseline": FRAME, "with_skill": _given(skill)}
        if previous is not None:
            self._systems["previous"] = _given(previous)
        self._request_digests: dict[tuple[Arm, str], str] = {}
        self._system_digests = {arm: digest_of(text) for arm, text in self._systems.items()}

    def render(self, case: Case, arm: Arm) -> Request:
        """What the student is told in one trial."""
        return Request(system=self._systems[arm], prompt=case.prompt)

    def trial_id(self, planned: PlannedTrial, student: Student) -> str:
        """Equal for two trials exactly when student, request and repeat are. Checks are not part of it."""
        key = planned.arm, planned.case.prompt
        request = self._request_digests.get(key)
        if request is None:
            system = self._system_digests[planned.arm]
            request = digest_of({"system": system, "prompt": planned.case.prompt, "tools": [], "limits": {}})
            self._request_digests[key] = request
        # Joined as plain text: this is done for every trial of every plan.
        whole = f"{request}/{_student_digest(student, self.harness)}/{planned.repeat}"
        return hashlib.sha256(whole.encode("ascii")).hexdigest()


def _given(skill: Skill) -> str:
    return f'{FRAME}\n\n<skill name="{skill.name}">\n{skill.body.strip()}\n</skill>'


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
