"""What a `generate` has spent, before it was resumed and since: the teacher's share and the students' apart."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from upskill.domain import Purchase
from upskill.models import Ask, MeteredClient, NoAnswer, Question, Reply, Spending
from upskill.storage.teaching_runs import TeachingFolder
from upskill.teaching.answers import TeacherUnusable
from upskill.workflows.evaluating.spending import purchase_of, spent_in


class PriorSpending:
    """Counts what was spent before on the metered client, so that a cap holds for all of it."""

    def __init__(self, folder: TeachingFolder, client: MeteredClient) -> None:
        self._client = client
        self._teacher_before = _on_teacher(folder)
        self._students_before = reduce(_sum, map(spent_in, folder.stages()), Spending())
        client.spent = _sum(self._teacher_before, self._students_before)

    @property
    def by_teacher(self) -> Purchase:
        """The teachers' share."""
        return purchase_of(_sum(self._teacher_before, self._teacher_since))

    @property
    def by_students(self) -> Purchase:
        """The students' share."""
        total, teacher = self._client.spent, _sum(self._teacher_before, self._teacher_since)
        since = [spent.cost for (role, _), spent in self._client.spent_by.items() if role != "teacher"]
        unknown = self._students_before.cost is None or None in since
        return Purchase(
            calls=total.calls - teacher.calls,
            failed_calls=total.failed_calls - teacher.failed_calls,
            tokens=total.tokens - teacher.tokens,
            cost=None if unknown else total.cost_known - total.cost_lost - teacher.cost_known + teacher.cost_lost,
            lost=total.cost_lost - teacher.cost_lost,
        )

    @property
    def whole(self) -> Purchase:
        return purchase_of(self._client.spent)

    @property
    def _teacher_since(self) -> Spending:
        spent = self._client.spent_by.get(("teacher", None))
        return Spending() if spent is None else replace(spent)


def _on_teacher(folder: TeachingFolder) -> Spending:
    answers = folder.journal.all()
    return reduce(
        _sum,
        (Spending(calls=one.calls, tokens=one.tokens, cost=one.cost, cost_known=one.cost or 0.0) for one in answers),
        Spending(),
    )


def _sum(one: Spending, other: Spending) -> Spending:
    return Spending(
        calls=one.calls + other.calls,
        failed_calls=one.failed_calls + other.failed_calls,
        tokens=one.tokens + other.tokens,
        tokens_lost=one.tokens_lost + other.tokens_lost,
        tokens_estimated=one.tokens_estimated + other.tokens_estimated,
        cost=None if one.cost is None or other.cost is None else one.cost + other.cost,
        cost_known=one.cost_known + other.cost_known,
        cost_lost=one.cost_lost + other.cost_lost,
    )


def ending_at_a_cap(ask: Ask) -> Ask:
    """Make a cap that is reached during refining end it, so that the best draft so far is saved."""

    def asked(questions: Sequence[Question], /) -> tuple[Reply, ...]:
        try:
            return ask(questions)
        except NoAnswer as error:
            if error.fault != "budget":
                raise
            raise TeacherUnusable(str(error)) from None

    return asked
