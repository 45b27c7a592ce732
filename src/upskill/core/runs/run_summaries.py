"""Summaries of past runs: plain JSON and no trials, so that hundreds of run folders are read at once.

`read_run` reads the whole record.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from upskill import disk
from upskill.core.nouns.evaluation import PastResult, PastRun
from upskill.core.nouns.harness import DEFAULT_HARNESS
from upskill.core.nouns.lift import Interval
from upskill.core.nouns.skill import (
    EVIDENCE_FILE,
    EVIDENCE_FORMAT,
    META_FILE,
    META_FORMAT,
    RECORD_FILES,
    RUN_FILE,
    SLIM_FILE,
    TEACHING_FILE,
    TOGETHER_FILE,
    TRIGGER_FILE,
)
from upskill.core.nouns.text import printable
from upskill.core.skills.skill_files import read_plain
from upskill.errors import EngineError, UpskillError

RUN_FORMAT = "upskill.run/1"
TEACHING_FORMAT = "upskill.generate/1"
TRIGGER_FORMAT = "upskill.trigger_run/1"
SLIM_FORMAT = "upskill.slim_run/1"
TOGETHER_FORMAT = "upskill.together_run/1"


USUAL_CONFIDENCE = 0.95
"""The confidence of intervals in records that do not say."""


def past_runs(runs_dir: Path) -> Iterator[PastRun]:
    """Every run in a folder, newest first. A folder that is not there holds none; a damaged one is named."""
    for folder in runs_in(runs_dir, marked_by=RECORD_FILES):
        if (folder / TEACHING_FILE).exists():
            yield _read(folder, TEACHING_FILE, TEACHING_FORMAT, _generated)
        elif (folder / TRIGGER_FILE).exists():
            yield _read(folder, TRIGGER_FILE, TRIGGER_FORMAT, _triggered)
        elif (folder / SLIM_FILE).exists():
            yield _read(folder, SLIM_FILE, SLIM_FORMAT, _slimmed)
        elif (folder / TOGETHER_FILE).exists():
            yield _read(folder, TOGETHER_FILE, TOGETHER_FORMAT, _measured_together)
        else:
            yield summarise_run(folder)


def summarise_run(folder: Path) -> PastRun:
    """One run. Never raises for what is in the file."""
    return _read(folder, RUN_FILE, RUN_FORMAT, _evaluated)


def measured_with(skill: Path) -> PastRun | None:
    """What `skill_meta.json` says was last measured, as a run of which nothing else is known; `None` where nothing was.

    Never raises for what is in the file.
    """
    try:
        meta = _object(json.loads(read_plain(skill / META_FILE)))
    except (OSError, UpskillError, ValueError, RecursionError):
        return None
    entries = [entry for one in _list(meta.get("measured")) if _number((entry := _object(one)).get("mean")) is not None]
    if meta.get("format") != META_FORMAT or not entries:
        return None
    newest = max(entries, key=lambda entry: _text(entry.get("at")) or "")
    version = _text(newest.get("version"))
    return PastRun(
        folder=_text(_object(meta.get("provenance")).get("run")) or "",
        status="finished",
        digest=version or _text(meta.get("digest")),
        started_at=_text(newest.get("at")),
        results=tuple(_measured(entry) for entry in entries if _text(entry.get("version")) == version),
    )


def _measured(entry: Mapping[str, Any]) -> PastResult:
    """One entry of `measured`, which has the fields of a student and of its lift side by side."""
    against = _text(entry.get("against")) or "baseline"
    rates = {"rate": entry.get("pass_rate"), "rate_against": entry.get("pass_rate_against")}
    return _result({**entry, "verdict": entry.get("status"), "lifts": [{**entry, **rates, "against": against}]})


def evidence_beside(skill: Path) -> PastRun | None:
    """What `evidence.json` says was measured, as a run that is elsewhere; `None` where it says nothing.

    Its author may have invented it: `upskill verify` says what holds. Never raises for what is in the file.
    """
    try:
        evidence = _object(json.loads(read_plain(skill / EVIDENCE_FILE)))
    except (OSError, UpskillError, ValueError, RecursionError):
        return None
    entries = [_object(entry) for entry in _list(evidence.get("results"))]
    if evidence.get("format") != EVIDENCE_FORMAT or not entries:
        return None
    return PastRun(
        folder="",
        status="evidence",
        digest=_text(_object(evidence.get("skill")).get("digest")),
        started_at=max(_text(entry.get("finished_at")) or "" for entry in entries),
        results=tuple(_attested(_object(entry.get("report"))) for entry in entries),
    )


def _attested(report: Mapping[str, Any]) -> PastResult:
    """One report of `evidence.json`, where the student is an object and an interval has names for its ends."""
    lifts = [_object(lift) for lift in _list(report.get("lifts"))[:1]]
    ends = [_object(lift.get("interval")) for lift in lifts]
    lifts = [{**lift, "interval": [end.get("low"), end.get("high")]} for lift, end in zip(lifts, ends, strict=True)]
    harness = (_text(report.get("harness")) or "").partition("/")[0]
    student = _object(report.get("student"))
    return _result({**report, "model": student.get("name"), "harness": harness, "lifts": lifts})


def _evaluated(run: PastRun, record: Mapping[str, Any]) -> PastRun:
    results = _object(record.get("results"))
    return replace(
        run,
        skill=_text(record.get("skill_name")),
        digest=_text(record.get("skill_digest")),
        results=tuple(_result(_object(student)) for student in _list(results.get("students"))),
        cost=_number(_object(results.get("bought")).get("cost")),
    )


def _generated(run: PastRun, record: Mapping[str, Any]) -> PastRun:
    """One `generate`: the skill that came of it and what it did on held-out cases, or how far it got."""
    results = _object(record.get("results"))
    return replace(
        run,
        skill=_text(_object(results.get("skill")).get("name")),
        digest=_text(_object(results.get("skill")).get("digest")),
        results=tuple(_result(_object(student)) for student in _list(_object(results.get("held_out")).get("students"))),
        cost=_spent(results),
        sentence=_text(results.get("sentence")) or f"generate, reached stage: {_text(record.get('stage')) or '?'}",
    )


def _triggered(run: PastRun, record: Mapping[str, Any]) -> PastRun:
    """One `trigger`: its sentence, and no lift."""
    return _told(run, record, instead="trigger, without a result")


def _slimmed(run: PastRun, record: Mapping[str, Any]) -> PastRun:
    """One `slim`: its sentence, and no lift."""
    return _told(run, record, instead="slim, without a result")


def _measured_together(run: PastRun, record: Mapping[str, Any]) -> PastRun:
    """Several skills in one evaluation: its sentence, and no lift."""
    return _told(run, record, instead="together, without a result")


def _told(run: PastRun, record: Mapping[str, Any], *, instead: str) -> PastRun:
    results = _object(record.get("results"))
    skill = _text(record.get("skill_name"))
    return replace(
        run,
        skill=skill,
        digest=_text(record.get("skill_digest")),
        cost=_number(_object(results.get("bought")).get("cost")),
        sentence=(_text(results.get("sentence")) or instead).removeprefix(f"{skill}: "),
    )


def _spent(results: Mapping[str, Any]) -> float | None:
    """What teacher and students cost together; `None` where one of them is unknown."""
    spent = _object(results.get("spent"))
    costs = [_number(_object(spent.get(who)).get("cost")) for who in ("teacher", "students")]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _read(folder: Path, name: str, wanted: str, more: Callable[[PastRun, Mapping[str, Any]], PastRun]) -> PastRun:
    """What a record says, `more` of it by its kind; or what to say of a folder whose record says nothing."""
    try:
        record = _object(json.loads(read_plain(folder / name)))
    except OSError as error:
        return _unreadable(folder, error.strerror or "it cannot be read")
    except UpskillError as error:
        return _unreadable(folder, error.message.removeprefix(f"{folder / name}: "))
    except (ValueError, RecursionError):
        return _unreadable(folder, f"{name} is not JSON")
    written_as = _text(record.get("format"))
    if written_as != wanted:
        return _unreadable(folder, f"{name} has the format {written_as!r}; this version reads {wanted}")
    run = PastRun(
        folder=folder.as_posix(),
        status=_text(record.get("status")) or "unreadable",
        started_at=_text(record.get("started_at")),
        finished_at=_text(record.get("finished_at")),
    )
    return more(run, record)


def _result(student: Mapping[str, Any]) -> PastResult:
    arms = _object(student.get("arms"))
    lift = _object(next(iter(_list(student.get("lifts"))), None))
    arm, against = _text(lift.get("arm")), _text(lift.get("against"))
    if arm is None:
        arm = next((name for name in arms if name not in ("baseline", "previous")), None)
    pairs = lift.get("pairs")
    return PastResult(
        model=_text(student.get("model")) or "?",
        harness=_text(student.get("harness")) or DEFAULT_HARNESS,
        verdict=_text(student.get("verdict")),
        sentence=_text(student.get("sentence")) or "",
        against=against,
        before=_number(lift.get("rate_against", _object(arms.get(against or "")).get("pass_rate"))),
        arm=arm,
        after=_number(lift.get("rate", _object(arms.get(arm or "")).get("pass_rate"))),
        lift=_number(lift.get("mean")),
        interval=_interval(lift.get("interval")),
        about=_text(lift.get("about")),
        pairs=pairs if isinstance(pairs, int) else None,
        spent=_number(student.get("spent")),
        confidence=_number(lift.get("confidence")) or USUAL_CONFIDENCE,
        answered_by=tuple(name for one in _list(student.get("answered_by")) if (name := _text(one))),
    )


def _unreadable(folder: Path, problem: str) -> PastRun:
    return PastRun(folder=folder.as_posix(), status="unreadable", problem=problem)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    """Printable, on one line: it goes to terminals."""
    return printable(value) if isinstance(value, str) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else None


def _interval(value: object) -> Interval | None:
    ends = [_number(end) for end in _list(value)]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        return None
    return Interval(low=ends[0], high=ends[1])


def runs_in(runs_dir: Path, *, marked_by: tuple[str, ...] = (RUN_FILE,)) -> Iterator[Path]:
    """Run folders, newest first: those in which a file of such a name lies."""
    try:
        folders = disk.folders(runs_dir)
    except OSError as error:
        raise EngineError(f"{runs_dir}: cannot be listed ({error.strerror})") from None
    for folder in reversed(folders):
        if any((folder / marker).exists() for marker in marked_by):
            yield folder


def names_of(model: str) -> frozenset[str]:
    """What a person may call a model: its name, the last part of it, and a script by its file name."""
    last = model.rpartition("/")[2]
    script = (last.removesuffix(".yaml"),) if model.startswith("scripted/") else ()
    return frozenset({model, last, *script})


def only_with(runs: Iterable[PastRun], *, skills: Collection[str], models: Collection[str]) -> Iterator[PastRun]:
    """The runs of these skills with what they found for these models; all where none is named.

    A model may be named by the last part of its name, and a script by its file name.
    """
    for run in runs:
        if skills and run.skill not in skills:
            continue
        results = tuple(one for one in run.results if not models or not names_of(one.model).isdisjoint(models))
        if results or not models:
            yield replace(run, results=results)
