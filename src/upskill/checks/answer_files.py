"""The folder as an answer leaves it: the files of the case, and over them those of the answer."""

from dataclasses import dataclass

from upskill.checks.fenced import Fenced, read_fenced
from upskill.checks.kind import Submission
from upskill.domain import Files


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerFiles:
    """The files that a check looks at."""

    own: Files
    """The answer's own files: real ones, or, where there are none, those of its fenced blocks."""
    given: Files
    """The files of the case that are still there."""
    fenced: Fenced

    @property
    def all(self) -> Files:
        """Everything in the folder."""
        return {**self.given, **self.own}

    def read(self, path: str) -> bytes | None:
        """One file. A text whose only block has no name is the file that is asked for."""
        if path in self.own:
            return self.own[path]
        if not self.own and self.fenced.only_block is not None:
            return self.fenced.only_block.encode("utf-8", "replace")
        return self.given.get(path)

    def missing(self, path: str) -> str:
        """Why a file is not there, in words."""
        names = ", ".join(sorted(self.all)[:5]) or "no file"
        why = f"; {'; '.join(self.fenced.refused[:3])}" if self.fenced.refused and path not in self.given else ""
        return f"there is no {path}; there is {names}{', …' if len(self.all) > 5 else ''}{why}"


def answer_files_of(submission: Submission) -> AnswerFiles:
    """The files of the folder as the answer left it."""
    answer = submission.answer
    given = {path: data for path, data in submission.case.files.items() if path not in answer.removed}
    if answer.files or answer.removed:
        return AnswerFiles(own=answer.files, given=given, fenced=Fenced(files={}, blocks=()))
    fenced = read_fenced(answer.text)
    return AnswerFiles(own=fenced.files, given=given, fenced=fenced)
