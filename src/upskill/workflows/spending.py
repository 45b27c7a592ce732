"""What a `generate` has spent, before it was gone on with and since: the teacher's share and the students' apart."""

from dataclasses import replace

from upskill.domain import Bought
from upskill.models import Door, Spent
from upskill.storage.teaching_runs import TeachingFolder
from upskill.workflows.measuring_runs import spent_in


class Spending:
    """Puts what was spent before on the door's account, so that a cap holds across all of it."""

    def __init__(self, folder: TeachingFolder, door: Door) -> None:
        self._door = door
        self._teacher_before = _on_teacher(folder)
        self._students_before = _on_students(folder)
        door.spent = _sum(self._teacher_before, self._students_before)

    @property
    def by_teacher(self) -> Bought:
        """All that went to teachers."""
        return _bought(_sum(self._teacher_before, self._teacher_since))

    @property
    def by_students(self) -> Bought:
        """All the rest."""
        total, teacher = self._door.spent, _sum(self._teacher_before, self._teacher_since)
        since = [spent.cost for (role, _), spent in self._door.spent_by.items() if role != "teacher"]
        unknown = self._students_before.cost is None or None in since
        return Bought(
            calls=total.calls - teacher.calls,
            failed_calls=total.failed_calls - teacher.failed_calls,
            tokens=total.tokens - teacher.tokens,
            cost=None if unknown else total.cost_known - total.cost_lost - teacher.cost_known + teacher.cost_lost,
            lost=total.cost_lost - teacher.cost_lost,
        )

    @property
    def whole(self) -> Bought:
        """Both shares."""
        return _bought(self._door.spent)

    @property
    def _teacher_since(self) -> Spent:
        spent = self._door.spent_by.get(("teacher", None))
        return Spent() if spent is None else replace(spent)


def _bought(spent: Spent) -> Bought:
    return Bought(
        calls=spent.calls,
        failed_calls=spent.failed_calls,
        tokens=spent.tokens,
        cost=spent.cost,
        lost=spent.cost_lost,
    )


def _on_teacher(folder: TeachingFolder) -> Spent:
    spent = Spent()
    for answered in folder.journal.all():
        spent.calls += answered.calls
        spent.tokens += answered.tokens
        spent.cost_known += answered.cost or 0.0
        spent.cost = None if spent.cost is None or answered.cost is None else spent.cost + answered.cost
    return spent


def _on_students(folder: TeachingFolder) -> Spent:
    spent = Spent()
    for stage in folder.stages():
        calls, tokens, cost = spent_in(stage)
        spent.calls += calls
        spent.tokens += tokens
        spent.cost_known += cost or 0.0
        spent.cost = None if spent.cost is None or cost is None else spent.cost + cost
    return spent


def _sum(one: Spent, other: Spent) -> Spent:
    return Spent(
        calls=one.calls + other.calls,
        failed_calls=one.failed_calls + other.failed_calls,
        tokens=one.tokens + other.tokens,
        tokens_lost=one.tokens_lost + other.tokens_lost,
        tokens_estimated=one.tokens_estimated + other.tokens_estimated,
        cost=None if one.cost is None or other.cost is None else one.cost + other.cost,
        cost_known=one.cost_known + other.cost_known,
        cost_lost=one.cost_lost + other.cost_lost,
    )
