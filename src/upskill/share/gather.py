"""Gathers the evidence of one version of a skill from all runs that measured exactly this version.

A run folder may be a stranger's: a result is computed again from its answers, and one that contradicts them is left
out. Whether the answers are real cannot be computed.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Any

from pydantic import TypeAdapter

from upskill import __version__
from upskill.core.cases.files import read_skill_cases
from upskill.core.nouns import StudentReport, Verdict, digest_of
from upskill.core.nouns.evaluation import BrokenCase
from upskill.core.nouns.look import CUT_SHORT, Look
from upskill.core.nouns.skill import CASE_FILES, RUN_FILE, TEACHING_FILE
from upskill.core.nouns.text import count, on_one_line
from upskill.core.runs.look_ledger import LookLedger
from upskill.core.runs.records import HELD_OUT, RunRecord, read_run
from upskill.core.runs.run_folders import name_of_run
from upskill.core.runs.run_summaries import runs_in, summarise_run
from upskill.core.skills.skills import read_skill
from upskill.core.statistics.pairs import CaseTally
from upskill.core.statistics.verdict import broken_words
from upskill.errors import EXIT_NOT_SHOWN, UpskillError, UsageError
from upskill.evaluation.replay import Contradiction, recompute
from upskill.redaction import redactor_from
from upskill.share.evidence import (
    MOST_RESULTS,
    SCRIPTED,
    Evidence,
    EvidenceResult,
    MissingLook,
    measured_skill,
    result_contradiction,
)

_MEASURED = ("with_skill", "offered")
_CUSTOM = "openai-api/endpoint/"
_SHORT = 12
"""Characters of a digest that name a case."""
_REPORT = TypeAdapter(StudentReport)


class NothingMeasured(UpskillError):
    """No run measured a version of a skill, so that there is no evidence to write."""

    exit_code = EXIT_NOT_SHOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class GatheredEvidence:
    """The evidence, and what a person should know about how it was gathered."""

    evidence: Evidence
    notes: tuple[str, ...]
    runs: tuple[Path, ...]
    """The folders of all runs with a result, those of earlier looks too."""


def gather(skill: Path, *, runs_dir: Path, ledger: Path | None) -> GatheredEvidence:
    """The evidence of the skill in a folder, from every run below `runs_dir` with its very digest.

    Nothing is chosen: of each model, harness, comparison and set of cases the last complete look is shown, and the
    other ones are counted. Without such a run the evidence has no results.
    """
    found = read_skill(skill)
    book = None if ledger is None else LookLedger(ledger)
    looks = () if book is None else book.read()
    reader = _Reader(digest=found.digest, looks=looks, uses=_uses(skill))
    for folder in _evaluations(runs_dir):
        reader.read(folder)
    results = _last_of_each(reader.results)
    if len(results) > MOST_RESULTS:
        raise UsageError(
            f"{runs_dir}: {len(results):,} results are more than evidence can hold ({MOST_RESULTS})",
            hint="move runs to another folder and name it with UPSKILL_RUNS_DIR",
        )
    evidence = Evidence(
        skill=measured_skill(skill, found),
        results=results,
        missing_looks=reader.missing_looks(),
        left_out=reader.left_out,
        date=max((result.finished_at[:10] for result in results), default=None),
    )
    notes = (*reader.notes, *(() if book is None else book.notes))
    return GatheredEvidence(evidence=evidence, notes=notes, runs=tuple(dict.fromkeys(reader.runs)))


def _evaluations(runs_dir: Path) -> Iterator[Path]:
    """Every evaluation in a folder, oldest first; of a `generate` its test on held-out cases."""
    for folder in sorted(runs_in(runs_dir, marked_by=(RUN_FILE, TEACHING_FILE))):
        if not (folder / TEACHING_FILE).exists():
            yield folder
        elif (folder / HELD_OUT / RUN_FILE).is_file() and (folder / HELD_OUT).resolve() == folder.resolve() / HELD_OUT:
            yield folder / HELD_OUT


def _uses(skill: Path) -> dict[str, str]:
    """By digest, what the cases beside the skill are for. A damaged case file says nothing."""
    with suppress(UpskillError):
        file = read_skill_cases(skill, check_problems=lambda _: [])
        return {case.digest: case.use for case in (() if file is None else file.cases) if case.use is not None}
    return {}


@dataclass(slots=True)
class _Reader:
    """Reads runs of one version, and keeps what they show."""

    digest: str
    looks: Sequence[Look]
    uses: Mapping[str, str]
    results: list[EvidenceResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    runs: list[Path] = field(default_factory=list)
    left_out: int = 0
    seen: set[tuple[str, str]] = field(default_factory=set)
    """Name of the run and student of every look whose run is here."""

    def read(self, folder: Path) -> None:
        """Read one run, if it measured this version."""
        summary = summarise_run(folder)
        if summary.problem is not None:
            self._note(folder, summary.problem)
        elif summary.digest == self.digest:
            try:
                self._read(folder, read_run(folder))
            except UpskillError as error:
                self._leave_out(folder, error.message)
            except Contradiction as error:
                self._leave_out(folder, str(error))

    def _read(self, folder: Path, record: RunRecord) -> None:
        if not set(_MEASURED) & set(record.arms) or not {"baseline", "previous"} & set(record.arms):
            return  # nothing was compared with the skill
        if ("previous" in record.arms) != (record.previous_digest is not None):
            raise Contradiction("its record does not say which version it was compared with")
        again = recompute(folder, record)
        if again.differs is not None:
            if record.versions.get("upskill") == __version__:
                raise Contradiction(f"its result does not follow from its answers: {again.differs}")
            self._note(folder, f"another version of upskill wrote it, so this one computed it again: {again.differs}")
        for report in again.evaluation.students:
            self._take(folder, record, report)

    def _take(self, folder: Path, record: RunRecord, report: StudentReport) -> None:
        name = report.student.name
        self.seen.add((folder.resolve().name, name))
        if report.verdict is None or report.compared[0] not in _MEASURED:
            return
        if report.end in CUT_SHORT:
            self._leave_out(folder, f"{_public_name(name)}: not finished ({report.end})")
            return
        result = self._result(folder, record, report)
        if (problem := result_contradiction(result)) is not None:
            raise Contradiction(problem)
        self.results.append(result)
        self.runs.append(folder)

    def _result(self, folder: Path, record: RunRecord, report: StudentReport) -> EvidenceResult:
        student, others = report.student, record.others
        cases = tuple(sorted(case.digest for case in record.cases))
        from_generate = name_of_run(folder) != folder.resolve().name
        uses, terms = Counter(self.uses[case] for case in cases if case in self.uses), record.looks.get(student.name)
        return EvidenceResult(
            report=public_report(
                report, harness=record.harness, digests={case.id: case.digest for case in record.cases}
            ),
            own_server=student.endpoint is not None or student.model.startswith(_CUSTOM),
            agent=_text_in(record.agent, "version"),
            others=None if others is None else len(others.skills),
            others_digest=None
            if others is None or not others.skills
            else digest_of([[one.name, one.digest] for one in others.skills]),
            bundled=others is not None and others.bundled,
            against=record.previous_digest or "baseline",
            design=record.design,
            repeats=record.repeats,
            look=None if terms is None else 1 + len(report.looks),
            level=None if terms is None else terms.level,
            cases=cases,
            own_cases=from_generate or _is_own(record.case_source, record.skill_source),
            uses={"held-out": len(cases)} if from_generate else dict(sorted(uses.items())),
            judge=None if record.judge is None else _public(record.judge.partition(" at ")[0]),
            sandbox=_text_in(record.sandbox, "backend"),
            versions={_public(name): _public(version) for name, version in sorted(record.versions.items())},
            finished_at=_public(record.finished_at or record.started_at),
        )

    def missing_looks(self) -> tuple[MissingLook, ...]:
        """The looks at this version that no run here is of."""
        return tuple(
            MissingLook(
                model=_public_name(look.student),
                against=look.against,
                verdict=look.verdict,
                claim=look.claim,
                at=look.at,
            )
            for look in self.looks
            if look.version == self.digest
            and look.verdict is not None
            and (look.run.rpartition("/")[2], look.student) not in self.seen
        )

    def _leave_out(self, folder: Path, why: str) -> None:
        self.left_out += 1
        self._note(folder, why)

    def _note(self, folder: Path, why: str) -> None:
        self.notes.append(on_one_line(f"{folder.as_posix()}: left out: {why}"))


def _last_of_each(results: Sequence[EvidenceResult]) -> tuple[EvidenceResult, ...]:
    """The last look of each comparison, with the verdicts of the others. One with a verdict stands before others."""
    groups: dict[tuple[object, ...], list[EvidenceResult]] = {}
    for one in results:
        group = groups.setdefault(_comparison(one), [])
        if one not in group:  # a copy of a run folder is no other look
            group.append(one)
    last = []
    for group in groups.values():
        shown = max(group, key=lambda one: (one.verdict != "invalid", one.finished_at, one.look or 0))
        others: Counter[Verdict] = Counter(one.verdict for one in group if one is not shown)
        last.append(replace(shown, other_looks=dict(sorted(others.items()))))
    return tuple(
        sorted(
            last,
            key=lambda one: (one.scripted, one.against != "baseline", one.model, one.report.harness, one.finished_at),
        )
    )


def _comparison(one: EvidenceResult) -> tuple[object, ...]:
    """Equal for looks at the same: the model as it was asked, how, compared with what, on which cases."""
    return (
        *(one.report.student, one.own_server, one.report.harness, one.agent, one.others_digest, one.bundled),
        *(one.report.compared[0], one.against, one.cases, one.judge),
    )


def public_report(report: StudentReport, *, harness: str, digests: Mapping[str, str]) -> StudentReport:
    """A report that anybody may read: no address, price or cost, no name of another skill, figures to six digits; cases
    by the beginning of their digest (`digests` by id)."""
    student, loads = report.student, report.loads
    shown = replace(
        _with_digests(report, digests),
        student=replace(
            student, name=_public_name(student.name), model=_public_name(student.model), endpoint=None, price=None
        ),
        harness=harness,
        arms=tuple(replace(arm, cost=None, spent=None, other_skills=()) for arm in report.arms),
        spent=None,
        answered_by=tuple(map(_public_name, report.answered_by)),
        loads=None if loads is None else replace(loads, instead=()),
        looks=tuple(replace(look, run=Path(look.run).name) for look in report.looks),
        controls=None,  # they name cases, and were not computed again from the answers
    )
    return _REPORT.validate_python(_public_value(_REPORT.dump_python(shown)))


def _with_digests(report: StudentReport, digests: Mapping[str, str]) -> StudentReport:
    broken = tuple(replace(one, case_id=digests.get(one.case_id, "")[:_SHORT]) for one in report.broken)
    sentence = report.sentence
    if broken:
        sentence = _broken_words(report, broken) + sentence.removeprefix(_broken_words(report, report.broken))
    return replace(
        report,
        broken=broken,
        suspected=tuple(digests.get(case_id, "")[:_SHORT] for case_id in report.suspected),
        unguarded=tuple(digests.get(case_id, "")[:_SHORT] for case_id in report.unguarded),
        sentence=sentence,
    )


def _broken_words(report: StudentReport, broken: Sequence[BrokenCase]) -> str:
    """How the sentence of a report with broken cases begins."""
    tallies = [
        CaseTally(case_id=one.case_id, pairs=one.answers, passed=one.passed, passed_against=one.passed_before)
        for one in broken
    ]
    return broken_words(tallies, cases=report.lifts[0].cases) if report.lifts else ""


def _public_value(value: object) -> object:
    """Texts that anybody may read; numbers to six digits that count, so that an end next to zero stays beside it."""
    if isinstance(value, str):
        return _public(value)
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _public_value(inner) for key, inner in value.items()}
    return tuple(map(_public_value, value)) if isinstance(value, tuple | list) else value


def _public_name(name: str) -> str:
    """A model's name without what is only of use on the machine where it was measured."""
    if name.startswith(SCRIPTED):
        return _public(SCRIPTED + PurePosixPath(name.replace("\\", "/")).name)
    return _public(name.rpartition("://")[2].rpartition("@")[2].partition("/")[2] if "://" in name else name)


def _public(text: str) -> str:
    """A text that anybody may read: without keys of the user's own, on one line."""
    return on_one_line(redactor_from(os.environ).clean_own(text))[:400]


def _text_in(record: Mapping[str, Any] | None, key: str) -> str | None:
    found = None if record is None else record.get(key)
    return _public(found) if isinstance(found, str) else None


def _is_own(path: str, folder: str) -> bool:
    """Whether these are the cases that travel with a skill."""
    return os.path.normpath(path) in {os.path.normpath(f"{folder}/{file}") for file in CASE_FILES}


def require_results(evidence: Evidence, *, skill: Path, runs_dir: Path) -> None:
    """Raise `NothingMeasured` where the evidence has no results."""
    if not evidence.results:
        also = "" if not evidence.left_out else f"; {count(evidence.left_out, 'run')} of it could not be used"
        raise NothingMeasured(
            on_one_line(f"{evidence.skill.name}: no finished run in {runs_dir} measured this version{also}"),
            hint=f"measure it first: upskill eval {quote(on_one_line(str(skill)))} -m MODEL",
        )
