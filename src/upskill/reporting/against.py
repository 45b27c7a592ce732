"""Two runs beside each other: what differs between them, and what the answers with the skill came to in each.

Nothing here is a verdict: the runs were made apart, and what differs besides the skill is only named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from upskill.domain import Evaluation, StudentReport
from upskill.domain.text import count, points
from upskill.reporting.glance import Glance, GlanceRow
from upskill.reporting.glance.names import is_scripted, names_by_model, unique_names
from upskill.reporting.glance.rows import row_of
from upskill.reporting.next_step import NextStep, compare_versions

NOT_A_TEST = "The two runs were separate, so this is a description, not a test."


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSide:
    """One of the two runs."""

    label: str
    """`A` or `B`."""
    run: str
    day: str
    evaluation: Evaluation
    cases: Mapping[str, str]
    """The digest of each case by its id."""
    harness: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Shared:
    """What one model came to with the skill in both runs, over the cases that are the same and scored in both."""

    model: str
    rates: Mapping[str, tuple[float, float]]
    """By case: the share of answers that passed in the first run, and in the second."""

    @property
    def means(self) -> tuple[float, float]:
        """Over the cases, each counting once."""
        first, second = zip(*self.rates.values(), strict=True)
        return sum(first) / len(first), sum(second) / len(second)


@dataclass(frozen=True, kw_only=True, slots=True)
class Against:
    """Everything that is said of two runs."""

    first: RunSide
    second: RunSide
    glance: Glance
    shared: tuple[Shared, ...]
    """What can be compared case by case."""


def against(
    first: RunSide, second: RunSide, rates: Mapping[tuple[str, str], tuple[float, float]], *, skill: str | None
) -> Against:
    """Lay two runs beside each other.

    `rates` are by model and case, of the cases that are shared; `skill` is the folder of the second run's skill.
    """
    shared_cases = tuple(case for case, digest in second.cases.items() if first.cases.get(case) == digest)
    models = [name for name in _models(second) if name in _models(first)]
    shared = [
        Shared(model=model, rates=found)
        for model in models
        if (found := {case: rate for (who, case), rate in rates.items() if who == model and case in shared_cases})
    ]
    glance = Glance(
        skill=second.evaluation.skill.name,
        sentences=(*_answer(shared), _differs(first, second, shared_cases, models), NOT_A_TEST),
        rows=tuple(_rows(first, second)),
        scripted=all(
            is_scripted(report.student.model) for side in (first, second) for report in side.evaluation.students
        ),
        next_step=_next(first, second, skill),
        rows_are="run, model",
    )
    return Against(first=first, second=second, glance=glance, shared=tuple(shared))


def _models(side: RunSide) -> list[str]:
    return [report.student.name for report in side.evaluation.students]


def _answer(shared: Sequence[Shared]) -> Iterator[str]:
    """What changed from the first run to the second, a sentence for each model."""
    if not shared:
        yield "No case was answered by the same model in both runs, so the answers cannot be compared."
    for one in shared:
        first, second = one.means
        better = sum(after > before for before, after in one.rates.values())
        worse = sum(after < before for before, after in one.rates.values())
        yield (
            f"With the skill, {unique_names([one.model])[0]} passes {first:.0%} of "
            f"{count(len(one.rates), 'shared case')} in A and {second:.0%} in B "
            f"({points(round(second, 2) - round(first, 2))} points): {better} better, {worse} worse."
        )


def _differs(first: RunSide, second: RunSide, shared_cases: Sequence[str], models: Sequence[str]) -> str:
    """What is the same and what is not, in one sentence."""
    one, other = first.evaluation.skill, second.evaluation.skill
    all_cases = set(first.cases) | set(second.cases)
    every_model = {*_models(first), *_models(second)}
    same = {
        "the skill's text": one.digest == other.digest,
        "the cases": len(shared_cases) == len(all_cases),
        "the models": len(models) == len(every_model),
        "the harness": first.harness == second.harness,
    }
    if one.name != other.name:
        return f"These are two different skills, {one.name} and {other.name}."
    different = [what for what, is_same in same.items() if not is_same]
    if not different:
        return "The skill's text, the cases, the models and the harness are the same, so any difference is chance."
    kept = [what for what, is_same in same.items() if is_same]
    rest = f" The same: {', '.join(kept)}." if kept else ""
    cases = f" ({len(shared_cases)} of {len(all_cases)} cases are shared)" if "the cases" in different else ""
    return f"Different: {', '.join(different)}{cases}.{rest}"


def _rows(first: RunSide, second: RunSide) -> Iterator[GlanceRow]:
    """The rows of both runs, model by model; a model that only one run asked has one row."""
    models = list(dict.fromkeys((*_models(first), *_models(second))))
    names = names_by_model(models)
    for model in models:
        for side in (first, second):
            for report in side.evaluation.students:
                if report.student.name == model:
                    yield _row(side, report, names[model])


def _row(side: RunSide, report: StudentReport, name: str) -> GlanceRow:
    row = row_of(report, name=f"{side.label} {name}", cases=side.evaluation.cases)
    return replace(row, model=f"{side.label}: {report.student.name}, {side.run}")


def _next(first: RunSide, second: RunSide, skill: str | None) -> NextStep | None:
    one, other = first.evaluation.skill, second.evaluation.skill
    if one.name != other.name or one.digest == other.digest:
        return None
    return compare_versions([report.student for report in second.evaluation.students], skill=skill)
