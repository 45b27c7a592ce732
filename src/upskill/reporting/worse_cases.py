"""Which cases one model passes less often on the measured side than on the other. Arithmetic only."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from upskill.domain import Arm, Errored, Evaluation, Trial


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
