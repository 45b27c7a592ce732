"""Every case with what happened to it in each arm: the long form behind `-v`."""

from collections import defaultdict
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from upskill.domain import Errored, Scored, Trial
from upskill.domain.trial import ARMS
from upskill.reporting.arms import arm_name

_ANSWER = 100


def show_cases(trials: Iterable[Trial], console: Console, *, harness: str) -> None:
    """One table per student: passed per arm, and the first thing that went wrong with the skill given."""
    students: dict[str, dict[str, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        students[trial.student][trial.case_id].append(trial)
    for student, cases in students.items():
        table = Table(title=Text(f"Test cases, {student}"), title_justify="left", expand=False)
        seen = {trial.arm for mine in cases.values() for trial in mine}
        arms = [arm for arm in ARMS if arm in seen]
        for name in ("Test Case", *(arm_name(arm, harness).title() for arm in arms), "Seen"):
            table.add_column(name, overflow="fold")
        for case_id, mine in sorted(cases.items()):
            table.add_row(Text(case_id), *(_tally(mine, arm) for arm in arms), Text(_seen(mine)))
        console.print(table)


def _tally(trials: list[Trial], arm: str) -> Text:
    mine = [trial.outcome for trial in trials if trial.arm == arm]
    scored = [outcome for outcome in mine if isinstance(outcome, Scored)]
    errored = len(mine) - len(scored)
    text = f"{sum(outcome.passed for outcome in scored)}/{len(scored)}" if mine else "-"
    return Text(text + (f" +{errored} errored" if errored else ""))


def _seen(trials: list[Trial]) -> str:
    """The skill's first failure explains most; without one, the first errored trial; otherwise the first look."""
    offered = [trial for trial in trials if trial.arm == "offered"]
    given = offered or [trial for trial in trials if trial.arm == "with_skill"] or trials
    for trial in given:
        outcome = trial.outcome
        if isinstance(outcome, Scored) and not outcome.passed:
            looks = [result.saw for result in outcome.grade.results if not result.passed]
            why = "; ".join(looks) or f"ended: {outcome.end}"
            said = " ".join(trial.answer.split())
            left = f" · left: {', '.join(sorted(trial.files)[:5])}" if trial.files else ""
            return f"{why} · said: {said[:_ANSWER]}{'…' if len(said) > _ANSWER else ''}{left}"
    for trial in trials:
        if isinstance(trial.outcome, Errored):
            return f"{trial.outcome.fault}: {trial.outcome.message[:_ANSWER]}"
    first = given[0].outcome
    return "; ".join(result.saw for result in first.grade.results) if isinstance(first, Scored) else ""
