"""The files of a run of `generate`, read for its report.

The folder may be a stranger's. Files are read within limits, no recorded path is followed out of the folder, and what
cannot be read becomes a line in `problems`.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from upskill import storage
from upskill.domain import Case
from upskill.domain.skill import SKILL_FILE
from upskill.domain.skill_text import SkillText
from upskill.domain.student_profile import Aptitude
from upskill.domain.text import shortened
from upskill.errors import EngineError, UpskillError
from upskill.reporting.html.text_diff import TextDiff, text_diff
from upskill.storage.records import first_problem
from upskill.storage.skill_copy import skill_text
from upskill.storage.teaching_runs import APTITUDE_FILE, ATTEMPTS_FILE, MATERIAL_FILE, RefiningRecord, TeachingFolder
from upskill.workflows.evaluating.measured_skill import skill_of
from upskill.workflows.generating.material import GatheredMaterial, read_gathered

MOST_DRAFTS = 100
T = TypeVar("T")
_APTITUDES = TypeAdapter(tuple[Aptitude, ...])


class RecordedFiles:
    """One run folder. Each file is read once, when it is asked for. Drafts are named as seen from the folder."""

    def __init__(self, run: Path) -> None:
        self.problems: list[str] = []
        self._folder = TeachingFolder(path=run)
        self._texts: dict[str, SkillText | None] = {}

    @cached_property
    def gathered(self) -> GatheredMaterial | None:
        """What was read, without the skill that is improved."""

        def read() -> GatheredMaterial | None:
            text = self._folder.saved(MATERIAL_FILE)
            return None if text is None else read_gathered(text, previous=None, skill_folder=None)

        return self.tried(MATERIAL_FILE, read)

    @cached_property
    def refining(self) -> RefiningRecord:
        """Each draft on the learn cases."""
        return self.tried(ATTEMPTS_FILE, self._folder.read_attempts) or RefiningRecord()

    @cached_property
    def aptitudes(self) -> tuple[Aptitude, ...]:
        """What each student could do without a skill."""

        def read() -> tuple[Aptitude, ...] | None:
            text = self._folder.saved(APTITUDE_FILE)
            return None if text is None else _APTITUDES.validate_json(text)

        return self.tried(APTITUDE_FILE, read) or ()

    def cases(self, name: str) -> tuple[Case, ...] | None:
        """The cases of a file; `None` where there is none."""

        def read() -> tuple[Case, ...] | None:
            if self._folder.saved(name) is None:  # which refuses links and files without end
                return None
            return storage.read_case_file(self._folder.path / name, check_problems=lambda _: []).cases

        return self.tried(name, read)

    @cached_property
    def drafts(self) -> list[str]:
        """All drafts, in order."""
        below = (self._folder.path / "drafts").glob("[0-9]*/*")
        numbered = [path for path in below if path.parent.name.isdecimal() and path.is_dir()]
        ordered = sorted(numbered, key=lambda path: int(path.parent.name))
        return [path.relative_to(self._folder.path).as_posix() for path in ordered[-MOST_DRAFTS:]]

    @cached_property
    def previous(self) -> str | None:
        """The skill that is improved, as it was."""
        previous = self.tried("previous", lambda: self._folder.previous)
        return None if previous is None else previous.relative_to(self._folder.path).as_posix()

    def text(self, draft: str | None) -> SkillText | None:
        """The text of a draft of this run; `None` where it is not there, or not in this folder."""
        if draft is None:
            return None
        if draft not in self._texts:
            self._texts[draft] = self.tried(draft, lambda: self._read_draft(draft))
        return self._texts[draft]

    def _read_draft(self, draft: str) -> SkillText:
        path = self._folder.path / draft
        if path.resolve() != self._folder.path.resolve() / PurePosixPath(draft):
            raise EngineError("it is outside the run folder")
        return skill_text(path, storage.read_skill(path))

    def diff(self, before: str | None, after: str) -> TextDiff | None:
        """What changed between two drafts; `None` where one cannot be read."""
        old, new = self.text(before), self.text(after)
        return None if old is None or new is None else text_diff(_named_texts(old), _named_texts(new))

    def tried(self, what: str, read: Callable[[], T | None]) -> T | None:
        """What `read` returns; `None` and a line in `problems` where the file is damaged."""
        try:
            return read()
        except UpskillError as error:
            problem = "; ".join((error.message, *error.problems[:1]))
        except (OSError, ValueError, RecursionError) as error:
            problem = first_problem(error) if isinstance(error, ValidationError) else type(error).__name__
        self.problems.append(f"{shortened(what, 100)} could not be read: {shortened(problem, 300)}")
        return None


def _named_texts(text: SkillText) -> dict[str, str]:
    """What a teacher can change, by name. The rest of the frontmatter is only written otherwise by us."""
    body = skill_of(text).body.strip("\n")
    files = {file.path: file.text for file in text.files if file.text is not None}
    return {"description": text.description, SKILL_FILE: body, **files}
