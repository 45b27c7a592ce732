"""One skill over its versions: a row for each, drawn as models are in a report. Claims nothing between versions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from upskill.domain import StudentReport
from upskill.domain.text import count
from upskill.reporting.glance import Glance, GlanceRow
from upskill.reporting.glance.names import is_scripted, unique_names
from upskill.reporting.glance.rows import counted_cases, row_of
from upskill.reporting.next_step import NextStep, compare_versions

MOST_VERSIONS = 40
"""Rows of one model; the newest ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """What one run measured of one version of a skill on one student."""

    day: str
    digest: str
    """Of the skill."""
    run: str
    cases: frozenset[str]
    """The digests of the cases."""
    report: StudentReport


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
    """Of each version and student the latest run, oldest version first; `None` where nothing was measured."""
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
    rows = tuple(_row(version) for version in versions)
    return Glance(
        skill=skill,
        sentences=(f"{name}: {_course(rows)}.",),
        rows=rows,
        scripted=all(is_scripted(version.report.student.model) for version in versions),
        next_step=None,
        rows_are="version",
    )


def _row(version: Version) -> GlanceRow:
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
    return compare_versions(students)
