"""Search skill folders for whatever a person should know before an agent reads them. Calls no model."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from upskill.domain.finding import Finding, RuleInfo
from upskill.domain.folder_contents import FolderContents
from upskill.domain.linted_skill import LintResult, OtherSkill
from upskill.errors import SkillInvalid
from upskill.shipping import ALL_RULES, lint_skill
from upskill.shipping.dangers.rule import Rule
from upskill.shipping.lint.overlap import Catalogue
from upskill.shipping.lint.rule import LintRule
from upskill.shipping.lint.rules import RULES as LINT_RULES
from upskill.shipping.lint.rules import in_order, skill_head
from upskill.storage.linted_folder import read_folder, skill_folders

Scan = Callable[[FolderContents], Sequence[Finding]]
"""What an outside scanner finds in one skill. Raises where it has no whole answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Others:
    """The skills that a linted one may compete with, and the runs that may show which of them were loaded instead."""

    catalogue: Catalogue
    runs_dir: Path | None = None


def lint(folder: Path, *, others: Others | None = None, scan: Scan | None = None) -> LintResult:
    """Every finding in one skill folder, whatever is in it, also of an outside scanner. Too large a folder is refused,
    not searched."""
    shown = folder.as_posix()
    try:
        contents = read_folder(folder)
    except SkillInvalid as error:
        return LintResult(folder=shown, name=folder.name, refused=error.message)
    skill, line = _described(folder, contents)
    found: Sequence[Finding] = lint_skill(contents)
    if others is not None and skill.description:
        instead = _loaded_instead(others.runs_dir, skill.name)
        found = in_order((*found, *others.catalogue.find(skill, line=line, instead=instead)))
    if scan is not None:
        found = in_order((*found, *scan(contents)))
    return LintResult(folder=shown, name=skill.name, digest=contents.digest, findings=tuple(found))


def all_rules() -> tuple[RuleInfo, ...]:
    """Every rule that `lint` knows, dangers first."""
    rules: tuple[Rule | LintRule, ...] = (*ALL_RULES, *LINT_RULES)
    return tuple(RuleInfo(id=one.id, severity=one.severity, reason=one.reason, remedy=one.remedy) for one in rules)


def folders_of(paths: Iterable[Path]) -> Iterator[Path]:
    """The skill folders that paths name, each once. A file that belongs to no skill names none."""
    seen: set[Path] = set()
    for path in paths:
        for folder in skill_folders(path):
            real = folder.resolve()
            if real not in seen:
                seen.add(real)
                yield folder


def read_others(folders: Iterable[Path], *, runs_dir: Path | None = None) -> Others:
    """The names and descriptions of all skills in these folders. One that cannot be read competes with none."""
    skills: list[OtherSkill] = []
    for folder in folders_of(folders):
        try:
            skill, _ = _described(folder, read_folder(folder))
        except SkillInvalid:
            continue
        skills.append(skill)
    return Others(catalogue=Catalogue([one for one in skills if one.description]), runs_dir=runs_dir)


def _described(folder: Path, contents: FolderContents) -> tuple[OtherSkill, int]:
    """What an agent lists of a skill, and the line of its description."""
    head = skill_head(contents)
    name, description = ("", "") if head is None else (head.written("name"), head.written("description"))
    described = OtherSkill(
        name=name or contents.name, description=description, folder=str(folder.resolve()), shown=folder.as_posix()
    )
    return described, 1 if head is None else head.line_of("description")


def _loaded_instead(runs_dir: Path | None, name: str) -> Mapping[str, int]:
    """Of each other skill, the most prompts in one measurement on which it was loaded in place of this one."""
    most: Counter[str] = Counter()
    if runs_dir is not None:
        from upskill.storage.trigger_runs import loaded_instead

        for numbers in loaded_instead(runs_dir, skill_name=name):
            most |= Counter(numbers)
    return most
