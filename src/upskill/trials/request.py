"""What a student sees, and the identity of a trial, which is made of that and of who the student is.

The arms share one frame word for word. The skill is added to it in one marked place, or it is not.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from upskill.domain import Arm, Case, PlannedTrial, Skill, Student, digest_of
from upskill.trials.file_text import with_files
from upskill.trials.terms import SKILLS, Terms
from upskill.trials.tool_specs import TOOLS


def _text(name: str) -> str:
    return files("upskill.trials").joinpath(name).read_text(encoding="utf-8").strip()


FRAMES = {"chat": _text("frame.md"), "agent": _text("agent_frame.md")}
"""What every student of a harness is told first."""
OFFERED = _text("offered.md")
"""How a skill is listed for a student that may load it, in neutral words."""
HARNESSES = {"chat": "chat/2", "agent": "agent/2"}
"""The harnesses and their versions: one that asks in another way, or takes another answer, is another version."""
ASK_THE_SAME = {"chat": ("chat/1",), "agent": ("agent/1",)}
"""Earlier versions whose requests are those of today: a run that was begun with one can be resumed, under its ids."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The rendered first request of a student: all that it is told before it acts."""

    system: str
    prompt: str


class Requests:
    """The requests of an evaluation of one skill. What the arms say is rendered and digested once."""

    def __init__(
        self,
        skill: Skill,
        *,
        previous: Skill | None = None,
        harness: str = "chat",
        version: str | None = None,
        terms: Terms | None = None,
    ) -> None:
        """`previous` is an older version of the skill, where two versions are compared. Agents work under `terms`.

        `version` is that of the harness which a resumed run was begun with.
        """
        self.harness = version or HARNESSES[harness]
        self._terms = (terms or Terms()) if harness == "agent" else None
        frame = FRAMES[harness]
        # A baseline says nothing that depends on the skill, so that any skill can share it.
        self._systems: dict[Arm, str] = {"baseline": frame}
        self._skills: dict[Arm, Skill] = {}
        if self._terms is None:
            self._systems["with_skill"] = f"{frame}\n\n{_given(skill)}"
            if previous is not None:
                self._systems["previous"] = f"{frame}\n\n{_given(previous)}"
        else:
            self._systems["with_skill"] = f"{frame}\n\n{_given(skill, folder=skill_folder(skill, self._terms))}"
            self._systems["offered"] = f"{frame}\n\n{_listed(skill, self._terms)}"
            self._skills = {"with_skill": skill, "offered": skill}
            if previous is not None:
                self._systems["previous"] = f"{frame}\n\n{_listed(previous, self._terms)}"
                self._skills["previous"] = previous
        self._request_digests: dict[tuple[Arm, str, str], str] = {}
        self._cases: dict[int, tuple[Case, str, str]] = {}
        self._system_digests = {arm: digest_of(text) for arm, text in self._systems.items()}

    def render(self, case: Case, arm: Arm) -> Request:
        """What the student is told in one trial. Who has no tools is shown the case's files in the prompt."""
        return Request(system=self._systems[arm], prompt=self._shown(case)[1])

    def _shown(self, case: Case) -> tuple[Case, str, str]:
        """The case, its prompt as the student sees it, and the digest of the files that lie in its folder."""
        if not case.files:
            return case, case.prompt, ""
        # Asked for every trial of every plan, and files can be large. The case is kept, so its number stays its own.
        if id(case) not in self._cases:
            shown = (with_files(case), "") if self._terms is None else (case.prompt, _files_digest(case))
            self._cases[id(case)] = case, *shown
        return self._cases[id(case)]

    def skill_in(self, arm: Arm) -> Skill | None:
        """The skill whose files lie in the sandbox of this arm; `None` where none does."""
        return self._skills.get(arm)

    def trial_id(self, planned: PlannedTrial, student: Student) -> str:
        """Equal for two trials exactly when student, request and repeat are. Checks are not part of it."""
        _, prompt, there = self._shown(planned.case)
        key = planned.arm, prompt, there
        request = self._request_digests.get(key)
        if request is None:
            request = digest_of(self._seen(planned.arm, prompt, there))
            self._request_digests[key] = request
        # Joined as plain text: this is done for every trial of every plan.
        whole = f"{request}/{_student_digest(student, self.harness)}/{planned.repeat}"
        return hashlib.sha256(whole.encode("ascii")).hexdigest()

    def _seen(self, arm: Arm, prompt: str, files: str) -> dict[str, object]:
        seen: dict[str, object] = {"system": self._system_digests[arm], "prompt": prompt, "tools": [], "limits": {}}
        if self._terms is not None:
            seen |= {"tools": [tool.as_json() for tool in TOOLS], "limits": self._terms.as_json(), "files": files}
        if (skill := self.skill_in(arm)) is not None:
            seen["skill"] = [[file.path, file.sha256, file.executable] for file in skill.files]
        return seen


def skill_folder(skill: Skill, terms: Terms) -> str:
    """Where a student finds a skill. Without a sandbox there is no root of its own, so it lies beside its folder."""
    return f"{SKILLS}/{skill.name}" if terms.confined else f"..{SKILLS}/{skill.name}"


def _given(skill: Skill, *, folder: str | None = None) -> str:
    place = "" if folder is None else f' folder="{folder}"'
    return f'<skill name="{skill.name}"{place}>\n{skill.body.strip()}\n</skill>'


def _listed(skill: Skill, terms: Terms) -> str:
    path = f"{skill_folder(skill, terms)}/SKILL.md"
    return OFFERED.format(name=skill.name, description=skill.description, path=path)


def _files_digest(case: Case) -> str:
    return digest_of({path: hashlib.sha256(data).hexdigest() for path, data in case.files.items()})


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
