"""What a person asks an evaluation for, the older version of the skill to compare with, and the skills beside it."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from upskill.core.nouns import Files, Skill, harness_info
from upskill.core.nouns.case import CaseChanges
from upskill.core.nouns.evaluation import Required
from upskill.core.nouns.harness import Ceiling
from upskill.core.nouns.skill import (
    MOST_HANDED_BYTES,
    MOST_OTHERS,
    SKILL_FILE,
    Among,
    OtherSkill,
    OtherSkills,
    OtherSource,
)
from upskill.core.nouns.text import count, on_one_line
from upskill.core.skills.git_version import GIT_PREFIX, open_git_version
from upskill.core.skills.skills import find_skills, read_contents, read_skill, shipped_skills
from upskill.errors import SkillInvalid, UpskillError, UsageError
from upskill.evaluation.cases import Half, changed_cases, find_cases
from upskill.lint.lint_skill import lint
from upskill.sandbox import MOST_READ_ONLY, Backend

FOLDER_PREFIX = "previous:"
_COMMIT = re.compile(r"git:([0-9a-f]{40}|[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationOrder:
    """What a person asks an evaluation for."""

    skill: Path
    case_file: Path | None = None
    more_case_files: tuple[Path, ...] = ()
    """Files whose cases are measured with those of `case_file`."""
    repeats: int | None = None
    """Repeats per case of a fixed design; `None` for the design that suits the comparison."""
    baseline: bool = True
    min_lift: float | None = None
    """The lift that must be shown."""
    required: Required | None = None
    """What must be shown of every model. `no-harm` asks again for cases that look broken."""
    previous: Path | None = None
    """An older version of the skill to measure against, instead of no skill."""
    previous_revision: str | None = None
    """Where that is a version in git: `git:REF` as it was typed; once it lies in `previous`, `git:` and the commit."""
    ceiling: Ceiling | None = None
    """Run the ceiling arm too, without a skill and with the passage of each case: beside the others, where it decides
    nothing; or `alone` with the baseline, on the cases that name a passage, and then nothing of the skill is shown."""
    controls: bool = False
    """Run a placebo and the corrupted skill beside the others, where they decide nothing."""
    fresh: bool = False
    """Ask again even where nothing has changed since it was answered."""
    sandbox: Backend = "bubblewrap"
    """What confines executed programs. `none` is never read from a file: a person typed it."""
    half: Half | None = None
    """One half of the cases, where there are enough: a winner is confirmed on the half that did not choose it."""
    among: Among = field(default_factory=Among)
    """The skills that lie beside the measured one, in every arm."""
    agent_bin: Path | None = None
    """The coding agent that the harness runs, where it is not the one on the search path. Never read from a file."""
    accept_findings: bool = False
    """Run a skill with dangers even where nothing confines programs. Never read from a file: a person typed it."""
    accept_changed_cases: bool = False
    """Measure the cases as they are now, although the older version in git has others. Never read from a file."""
    practice: bool = False
    """Ask the practice cases alone, with the skill alone: nothing is claimed, and it is no look."""
    yes: bool = False
    """The price needs no confirmation."""

    def typed(self) -> tuple[str, ...]:
        """The options that a person types for this and that no setting holds, without those that name a place."""
        flags = {
            "--practice": self.practice,
            "--no-baseline": not self.baseline and self.previous is None and not self.practice,
            "--controls": self.controls,
            "--accept-findings": self.accept_findings,
            "--accept-changed-cases": self.accept_changed_cases,
            "--yes": self.yes,
        }
        values: dict[str, object] = {"--runs": None if self.practice else self.repeats, "--min-lift": self.min_lift}
        if self.sandbox != "bubblewrap":
            values["--sandbox"] = self.sandbox
        given = (f"{flag} {value}" for flag, value in values.items() if value is not None)
        return (*given, *(flag for flag, on in flags.items() if on))

    @property
    def is_gate(self) -> bool:
        """Whether cases that look broken are asked again until that is known."""
        return self.previous is not None or self.required == "no-harm"

    def __post_init__(self) -> None:
        """Refuse what cannot be asked for together."""
        if self.repeats is not None and self.repeats < 1:
            raise UsageError(f"--runs must be at least 1, or auto, not {self.repeats}")
        if self.min_lift is not None and not -1 <= self.min_lift <= 1:
            raise UsageError(
                f"--min-lift must be between -1 and 1, not {self.min_lift:g}", hint="write 10 points as 0.1"
            )
        if self.min_lift is not None and not self.baseline and self.previous is None:
            raise UsageError("--min-lift needs answers without the skill", hint="remove --no-baseline")
        if self.required == "no-harm" and self.repeats is not None:
            raise UsageError(
                "--require no-harm asks each case twice, and those that look broken six times more",
                hint="remove --runs",
            )
        if self.practice and (self.baseline or self.previous is not None or self.ceiling is not None):
            raise UsageError("practice asks for answers with the skill alone", hint="remove --compare and the ceiling")
        if self.ceiling is not None and (not self.baseline or self.previous is not None):
            raise UsageError("the ceiling needs answers without the skill", hint="remove --no-baseline and --compare")
        if self.controls:
            self._require_fit_for_controls()

    def _require_fit_for_controls(self) -> None:
        for flag, refused, why in (
            ("--compare", self.previous is not None or self.previous_revision is not None, "compares two versions"),
            ("--practice", self.practice, "claims nothing"),
            ("--no-baseline", not self.baseline, "asks with the skill alone"),
            ("--require no-harm", self.required == "no-harm", "asks cases that look broken eight times"),
            ("--among", bool(self.among), "gives other skills, of which the placebo is made"),
        ):
            if refused:
                raise UsageError(f"--controls explain one lift, and {flag} {why}", hint=f"remove {flag} or --controls")


class SameVersion(UsageError):
    """Both versions are equal, so there is nothing to compare."""

    def __init__(self, message: str, *, commit: str, case_changes: CaseChanges) -> None:
        super().__init__(message)
        self.commit = commit
        self.case_changes = case_changes


class Previous(NamedTuple):
    """Where an older version is; both are `None` where none was asked for."""

    folder: Path | None = None
    revision: str | None = None
    """`git:REF`, in the repository that holds the skill."""


def read_compare(text: str | None) -> Previous:
    """The value of `--compare`. Raises `UsageError` where it is neither `previous:PATH` nor `git:REF`."""
    if text is None:
        return Previous()
    if text.startswith(GIT_PREFIX) and text != GIT_PREFIX:
        return Previous(revision=text)
    if text.startswith(FOLDER_PREFIX) and text != FOLDER_PREFIX:
        return Previous(folder=Path(text.removeprefix(FOLDER_PREFIX)))
    raise UsageError(f"--compare {text}: is not understood", hint="write --compare previous:PATH, or --compare git:REF")


def recorded_revision(source: str | None) -> str | None:
    """The commit that the record of a run names as the older version; `None` for a folder."""
    return source if source is not None and _COMMIT.fullmatch(source) else None


@contextmanager
def opened_previous(order: EvaluationOrder) -> Iterator[EvaluationOrder]:
    """The order with its older version in a folder, and the commit by its full id, as long as this lasts.

    Raises `NotInCommit` where the commit does not have the skill, and `SameVersion` where it has the same one.
    """
    asked = order.previous_revision
    if asked is None:
        yield order
        return
    current = read_skill(order.skill)
    with open_git_version(order.skill, asked.removeprefix(GIT_PREFIX)) as version:
        try:
            previous = read_skill(version.folder)
        except UpskillError as error:
            error.message = f"{asked}: {error.message}"
            error.hint = "leave out --compare, or compare with another version"
            raise
        if previous.digest == current.digest:
            same = f"{order.skill}: is the same in {asked}, so there is nothing to compare"
            now = find_cases(order.skill, None, judge=True)
            cases = () if now is None else now.cases
            _, changes = changed_cases(version.folder, cases, accepted=order.accept_changed_cases)
            raise SameVersion(same, commit=version.commit, case_changes=changes)
        yield replace(order, previous=version.folder, previous_revision=version.name)


MOST_FILES = MOST_READ_ONLY - 20
"""Files of all skills together: a sandbox takes so many, its own and an agent's settings included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundOthers:
    """The other skills of an evaluation, with their files."""

    skills: tuple[Skill, ...] = ()
    """Sorted by name; no two have the same one."""
    contents: Mapping[str, Files] = field(default_factory=dict)
    """Their files, by the digest of each."""
    record: OtherSkills | None = None
    """What is recorded and reported of them; `None` where none was asked for."""
    notes: tuple[str, ...] = ()


def require_offered_by(harness: str, among: Among) -> None:
    """Raise where this harness cannot offer what `--among` asks for. In `chat` other skills are given, not offered."""
    info = harness_info(harness)
    if among.bundled and not info.program:
        raise UsageError(
            f"--among bundled: the harness {harness} has no skills of its own",
            hint="name a coding agent, for example --harness codex",
        )


def find_others(among: Among, *, measured: Sequence[Skill]) -> FoundOthers:
    """Read the other skills. One with the name of a measured skill is left out, and so is a second one of a name.

    `measured` are the versions of the skill that are compared. Raises with all that is wrong with the folders.
    """
    if not among:
        return FoundOthers()
    found = _Found(measured)
    for folder in among.folders:
        found.add_folder(Path(folder))
    for skill, files in shipped_skills(among.shipped):
        found.add(skill, files, source="shipped")
    if found.twins and not found.skills and not among.bundled:
        hint = "name a folder with other skills; or rename one of the two in its SKILL.md"
        raise UsageError(f"--among: no other skill is left: {found.twins[0]}", hint=hint)
    found.require_bounds()
    names = sorted(found.skills)
    return FoundOthers(
        skills=tuple(found.skills[name] for name in names),
        contents=found.contents,
        record=OtherSkills(
            skills=tuple(
                OtherSkill(name=name, digest=found.skills[name].digest, source=found.sources[name]) for name in names
            ),
            bundled=among.bundled,
            shipped=among.shipped,
        ),
        notes=tuple(found.notes),
    )


class _Found:
    """Collects other skills, the first of each name."""

    def __init__(self, measured: Sequence[Skill]) -> None:
        self._names = {skill.name for skill in measured}
        self._measured_files = max((len(skill.files) for skill in measured), default=0)
        self._digests = {skill.digest for skill in measured}
        self.skills: dict[str, Skill] = {}
        self.sources: dict[str, OtherSource] = {}
        self.contents: dict[str, Files] = {}
        self.notes: list[str] = []
        self.twins: list[str] = []

    def add_folder(self, folder: Path) -> None:
        """Every skill in a folder; a folder without one is a mistake."""
        shown = on_one_line(str(folder))
        if not folder.is_dir():
            raise UsageError(f"--among {shown}: no such folder", hint="name a folder of skills, a number or bundled")
        paths = list(find_skills(folder))
        if not paths:
            raise UsageError(f"--among {shown}: has no skill", hint="a skill is a folder with a SKILL.md")
        problems: list[str] = []
        for path in paths[: MOST_OTHERS + 2]:
            try:
                skill = read_skill(path)
                if skill.name in self._names:
                    self.twins.append(f"{on_one_line(str(path))} and the measured skill are both named {skill.name}")
                if skill.digest not in self._digests:
                    self.add(skill, read_contents(path, skill), source="folder")
            except SkillInvalid as error:
                problems += [f"{path.name}: {problem}" for problem in error.problems or (error.message,)]
            except UpskillError as error:
                problems.append(error.message)
        if problems:
            raise UsageError(
                f"--among {shown}: {count(len(problems), 'problem')} with its skills",
                problems=problems,
                hint="repair these skills, or move them elsewhere",
            )

    def add(self, skill: Skill, files: Files, *, source: OtherSource) -> None:
        """Keep a skill unless its name is taken; of equal ones nothing is said."""
        taken = self.skills.get(skill.name)
        if skill.name in self._names:
            self.notes.append(f"--among: another skill is named {skill.name} too; only the measured one is offered")
        elif taken is None:
            self.skills[skill.name], self.sources[skill.name] = skill, source
            self.contents[skill.digest] = files
        elif taken.digest != skill.digest:
            self.notes.append(f"--among: two skills are named {skill.name}; only the first one is offered")

    def require_bounds(self) -> None:
        """Raise where they are too many for a sandbox."""
        number = self._measured_files + sum(len(files) for files in self.contents.values())
        size = sum(len(data) for files in self.contents.values() for data in files.values())
        problems = [
            f"{found:,} {what}; {most:,} are allowed"
            for found, most, what in (
                (len(self.skills), MOST_OTHERS, "skills"),
                (number, MOST_FILES, "files with those of the measured skill"),
                (size, MOST_HANDED_BYTES, "bytes"),
            )
            if found > most
        ]
        if problems:
            raise UsageError("--among: these are too many other skills for a sandbox", problems=problems)


_MOST_RULES = 5


def dangers_in(folder: Path, *, what: str) -> str | None:
    """How many dangers `lint` finds in a skill and of which rules, or why it could not look; `None` for none."""
    result = lint(folder)
    if result.refused is not None:
        return f"{what} was not searched for danger ({result.refused})"
    named = list(dict.fromkeys(one.rule for one in result.dangers))
    if not named:
        return None
    more = f", and {len(named) - _MOST_RULES} more" if len(named) > _MOST_RULES else ""
    return f"{count(len(result.dangers), 'dangerous finding')} in {what} ({', '.join(named[:_MOST_RULES])}{more})"


def danger_notes(skill: Path, *, previous: Path | None, refuse: bool) -> tuple[str, ...]:
    """Notes on dangers in a skill and in the version that it is compared with. With `refuse`, because models could run
    programs unconfined and nobody agreed to that, it raises where there are any."""
    folder = skill.parent if skill.name == SKILL_FILE and skill.is_file() else skill
    here = dangers_in(folder, what="this skill")
    there = None if previous is None else dangers_in(previous, what="the version that it is compared with")
    if refuse and (found := here or there) is not None:
        raise UsageError(
            f"{folder.resolve().name}: {found}, and programs would run unconfined (--sandbox none)",
            hint="remove --sandbox none; or read the skill (upskill lint shows the places) and add --accept-findings",
        )
    listed = () if here is None else (f"{here}: upskill lint {shlex.quote(on_one_line(str(folder)))}",)
    return listed if there is None else (*listed, there)
