"""Runs beside each other: two runs, or one skill over its versions, drawn as models are in a report.

Nothing here is a verdict: the runs were made apart, and what differs besides the skill is only named."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from upskill.core.nouns import Evaluation, StudentReport
from upskill.core.nouns.text import count, points
from upskill.report.glance import Glance, GlanceRow, counted_cases, row_of
from upskill.report.next_step import NextStep, compare_versions
from upskill.report.wording import is_scripted, names_by_model, unique_names

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
    models = [name for name in _models_of(second) if name in _models_of(first)]
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


def _models_of(side: RunSide) -> list[str]:
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
    every_model = {*_models_of(first), *_models_of(second)}
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
    models = list(dict.fromkeys((*_models_of(first), *_models_of(second))))
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


MOST_VERSIONS = 40
"""Rows of one model; the newest ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """What one run measured of one version of a skill on one student."""

    day: str
    digest: str
    """Digest of the skill."""
    run: str
    cases: frozenset[str]
    """The digests of the cases."""
    report: StudentReport
    folder: str | None = None
    """Where the skill lies, as it is typed; `None` where that is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """What happened over the versions, and a picture for each model."""

    skill: str
    sentences: tuple[str, ...]
    """The answer first."""
    models: tuple[Glance, ...]
    versions: tuple[tuple[Version, ...], ...]
    """What the rows of each model are made of, oldest first."""
    next_step: NextStep | None

    def rows(self) -> Iterator[tuple[Version, GlanceRow]]:
        """Every row that is drawn, with what it is made of."""
        for model, versions in zip(self.models, self.versions, strict=True):
            yield from zip(versions, model.rows, strict=True)


def history(skill: str, versions: Sequence[Version]) -> History | None:
    """The latest run of each version and student, oldest version first; `None` where nothing was measured."""
    latest: dict[tuple[str, str], Version] = {}
    for version in versions:
        latest[version.digest, version.report.student.name] = version
    shown = tuple(latest.values())
    if not shown:
        return None
    students = list(dict.fromkeys(version.report.student.name for version in shown))
    by_model = tuple(
        tuple(one for one in shown if one.report.student.name == student)[-MOST_VERSIONS:] for student in students
    )
    models = tuple(map(partial(_model, skill), unique_names(students), by_model))
    return History(
        skill=skill,
        sentences=_sentences(skill, shown, models),
        models=models,
        versions=by_model,
        next_step=_compare(shown),
    )


def _model(skill: str, name: str, versions: Sequence[Version]) -> Glance:
    rows = tuple(_version_row(version) for version in versions)
    return Glance(
        skill=skill,
        sentences=(f"{name}: {_course(rows)}.",),
        rows=rows,
        scripted=all(is_scripted(version.report.student.model) for version in versions),
        next_step=None,
        rows_are="version",
    )


def _version_row(version: Version) -> GlanceRow:
    row = row_of(
        version.report,
        name=f"{version.day} {version.digest[:6]}",
        cases=counted_cases(version.report, of=len(version.cases)),
    )
    return replace(row, model=f"{version.report.student.name}, version {version.digest[:12]}")


def _course(rows: Sequence[GlanceRow]) -> str:
    """What became of the lift from the first version to the newest."""
    first, newest = rows[0], rows[-1]
    if newest.lift is None or first.lift is None:
        known = f"the newest has {newest.verdict}" if newest.lift is None else f"the newest: {newest.verdict}"
        return f"{count(len(rows), 'version')}, {known}"
    if len(rows) == 1:
        return f"one version, {newest.verdict}, {newest.lift} points"
    return f"lift from {first.lift} to {newest.lift} points over {len(rows)} versions; the newest: {newest.verdict}"


def _sentences(skill: str, versions: Sequence[Version], models: Sequence[Glance]) -> tuple[str, ...]:
    number = len({version.digest for version in versions})
    if len(models) == 1:
        first = f"{skill} on {models[0].sentences[0]}"
    else:
        newest = [model.rows[-1].verdict for model in models]
        found = ", ".join(f"{newest.count(verdict)} {verdict}" for verdict in dict.fromkeys(newest))
        first = f"{skill}, {count(number, 'version')} on {len(models)} models. Newest version per model: {found}."
    if number == 1:
        return (first,)
    return (first, f"{_cases(versions, models)} The versions were not tested against each other.")


def _cases(versions: Sequence[Version], models: Sequence[Glance]) -> str:
    """Whether lifts of two versions are of the same cases."""
    if len({version.cases for version in versions}) > 1:
        return "The cases changed between versions, so a change in lift may come from the cases."
    asked = sorted({row.cases for model in models for row in model.rows})
    all_of = len(versions[0].cases)
    if asked == [all_of]:
        return f"All versions were measured on the same {all_of} cases."
    numbers = str(asked[0]) if len(asked) == 1 else f"{asked[0]} to {asked[-1]}"
    return f"All versions were measured on {numbers} of the same {all_of} cases."


def _compare(versions: Sequence[Version]) -> NextStep | None:
    """The test of the newest version against an older one; `None` where there is one version only."""
    newest = versions[-1]
    if len({version.digest for version in versions}) == 1:
        return None
    students = [version.report.student for version in versions if version.digest == newest.digest]
    return compare_versions(students, skill=newest.folder)
