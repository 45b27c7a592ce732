"""What differs between two versions of a skill, and which cases pass less often with the newer one. Arithmetic only."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from upskill.domain import Arm, Errored, Evaluation, Skill, Trial
from upskill.domain.skill import SKILL_FILE


@dataclass(frozen=True, kw_only=True, slots=True)
class WorseCase:
    """A case that one model passed less often after the change than before it."""

    model: str
    case_id: str
    before: int
    """Repeats that passed before, of those scored on both sides."""
    after: int
    pairs: int


@dataclass(slots=True)
class _Repeats:
    """Whether each repeat of one case passed, by arm. A repeat that was asked again replaces the earlier one."""

    scored: dict[Arm, dict[int, bool]] = field(default_factory=dict)


def changed_parts(before: Skill, after: Skill) -> tuple[str, ...]:
    """The parts that differ: `description`, `body`, `frontmatter`, and the paths of other files."""
    parts = []
    if before.description != after.description:
        parts.append("description")
    if before.body != after.body:
        parts.append("body")
    if not parts and _content(before).get(SKILL_FILE) != _content(after).get(SKILL_FILE):
        parts.append("frontmatter")
    return (*parts, *_changed_files(before, after))


def _changed_files(before: Skill, after: Skill) -> Iterator[str]:
    old, new = _content(before), _content(after)
    for path in sorted({*old, *new} - {SKILL_FILE}):
        if path not in old:
            yield f"{path} (added)"
        elif path not in new:
            yield f"{path} (deleted)"
        elif old[path] != new[path]:
            yield path


def _content(skill: Skill) -> dict[str, tuple[str, bool]]:
    return {file.path: (file.sha256, file.executable) for file in skill.files}


def worse_cases(evaluation: Evaluation, trials: Iterable[Trial]) -> tuple[WorseCase, ...]:
    """The cases that passed less often in the measured arm than in the other one, the largest drop first.

    `trials` is gone through once.
    """
    compared = {report.student.name: report.compared for report in evaluation.students if report.lifts}
    found: dict[tuple[str, str], _Repeats] = {}
    for trial in trials:
        if trial.student in compared and not isinstance(trial.outcome, Errored):
            case = found.setdefault((trial.student, trial.case_id), _Repeats())
            case.scored.setdefault(trial.arm, {})[trial.repeat] = trial.outcome.passed
    worse = []
    for (model, case_id), case in found.items():
        arm, against = compared[model]
        mine, theirs = case.scored.get(arm, {}), case.scored.get(against, {})
        pairs = [(theirs[repeat], passed) for repeat, passed in mine.items() if repeat in theirs]
        before, after = sum(one for one, _ in pairs), sum(one for _, one in pairs)
        if after < before:
            worse.append(WorseCase(model=model, case_id=case_id, before=before, after=after, pairs=len(pairs)))
    return tuple(sorted(worse, key=lambda one: ((one.after - one.before) / one.pairs, one.case_id, one.model)))
