"""List the skills in a folder, the broken ones included, each with what was last measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from upskill import checks, storage
from upskill.domain import Skill
from upskill.domain.evaluation import PastRun
from upskill.errors import SkillInvalid, UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedSkill:
    """One skill folder: the skill and its number of cases, or why it cannot be used."""

    folder: Path
    skill: Skill | None = None
    cases: int | None = None
    problem: str | None = None
    measured: PastRun | None = None
    """The newest run with a result, from the runs folder or from `skill_meta.json`; `None` where there is none."""

    @property
    def changed(self) -> bool | None:
        """Whether the skill changed since it was measured; `None` where that is unknown."""
        if self.skill is None or self.measured is None or self.measured.digest is None:
            return None
        return self.measured.digest != self.skill.digest


def list_skills(folder: Path, *, runs_dir: Path | None = None) -> Iterator[ListedSkill]:
    """Every skill below a folder, in order of their paths. Past runs are looked for in `runs_dir`."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", hint="name the folder of your skills")
    runs = [] if runs_dir is None else [run for run in storage.past_runs(runs_dir) if run.results]
    for path in storage.find_skills(folder):
        try:
            skill = storage.read_skill(path)
            found = storage.read_skill_cases(path, check_problems=checks.check_problems)
        except SkillInvalid as error:
            yield ListedSkill(folder=path, problem="; ".join(error.problems) or error.message)
            continue
        cases = len(found.cases) if found else 0
        yield ListedSkill(folder=path, skill=skill, cases=cases, measured=_last_measured(path, skill, runs))


def _last_measured(folder: Path, skill: Skill, runs: Sequence[PastRun]) -> PastRun | None:
    """The newest measurement of this very version; else the newest of any version."""
    noted = storage.measured_with(folder)
    known = [run for run in runs if run.skill == skill.name]
    if noted is not None:
        # Its run says which version was saved, where an older upskill did not note it.
        same = next((run for run in known if noted.folder and run.folder.endswith(noted.folder)), None)
        digest = noted.digest or (None if same is None else same.digest)
        known.append(replace(noted, digest=digest))
    known.sort(key=lambda run: run.started_at or "", reverse=True)
    this = (run for run in known if run.digest == skill.digest)
    return next(this, known[0] if known else None)
