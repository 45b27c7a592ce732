"""Practice: cases that a person may ask as often as they like, apart from those that prove a skill.

A case file is split once; each case keeps the side that it got. Practice asks for answers with the skill alone and
compares them with those of the practice before. It claims nothing and is no look.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upskill import disk
from upskill.core.cases.files import LIST_KEYS, CaseFile, is_foreign
from upskill.core.cases.split import CaseCounts, split_cases
from upskill.core.foreign_json import read_json
from upskill.core.nouns import Case, CaseUse, Errored, Evaluation
from upskill.core.nouns.look import Look, case_key
from upskill.core.nouns.text import count, shortened
from upskill.core.runs.records import read_run
from upskill.core.runs.run_summaries import runs_in
from upskill.errors import UpskillError, UsageError
from upskill.evaluation.cases import SPLIT, find_cases, split_side
from upskill.evaluation.past_runs import trials_of
from upskill.evaluation.report import prompts_of

PRACTICE_FLAG = "--practice"
_MOST_SHOWN = 8


def split_once(skill: Path, case_file: Path | None, *, practice: float, looks: Sequence[Look]) -> tuple[str, ...]:
    """Give every case of a file its side, by family, and write that into the file: lines for a person.

    Raises `UsageError` where they were split before. `looks` are earlier ones: what they have seen is said.
    """
    found = find_cases(skill, case_file, judge=True)
    if found is None:
        raise UsageError(f"{skill}: there are no cases", hint="name a case file with -t FILE")
    if any(split_side(case) is not None or case.use in ("learn", "held-out") for case in found.cases):
        sides = _counted(found.cases)
        raise UsageError(
            f"{found.path}: these cases are split already: {sides}",
            hint="a second split could turn cases that somebody practised on into proof; write new cases instead",
        )
    learn = round(1_000 * practice)
    cases = split_cases(found.cases, CaseCounts(learn=learn, held_out=1_000 - learn, negative=0))
    _write_sides(found, {case.id: case.use for case in cases if case.use is not None})
    seen = {one.key for look in looks for one in look.cases}
    held = [case for case in cases if case.use == "held-out"]
    known = sum(case_key(case) in seen for case in held)
    lines = [f"{found.path}: {_counted(cases)}"]
    if known:
        are = "was" if known == 1 else "were"
        lines.append(
            f"note: {known} of the {len(held)} held-out cases {are} looked at before, and stay so: a proof on them is "
            "tested more strictly; new cases are not"
        )
    return tuple(lines)


def _write_sides(found: CaseFile, sides: Mapping[str, CaseUse]) -> None:
    value: Any = read_json(found.path)
    items = value if isinstance(value, list) else next(value[key] for key in LIST_KEYS if value.get(key))
    foreign = is_foreign(value, found.path.name)  # there, whatever key is not ours is kept as `extra`
    for item, case in zip(items, found.cases, strict=True):
        item["use"] = sides[case.id]
        if foreign:
            item[SPLIT] = sides[case.id]
        else:
            item["extra"] = {**(item.get("extra") or {}), SPLIT: sides[case.id]}
    disk.write(found.path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _counted(cases: Sequence[Case]) -> str:
    uses = [case.use for case in cases]
    others = uses.count("negative")
    unrelated = f", {others} unrelated" if others else ""
    return f"{uses.count('learn')} practice and {uses.count('held-out')} held-out cases{unrelated}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Practised:
    """What changed since the practice before, for one model."""

    student: str
    passed: int
    of: int
    before: int | None
    """How many of the same cases passed then; `None` where there was no practice before."""
    now_pass: tuple[str, ...] = ()
    now_fail: tuple[str, ...] = ()
    """What these cases ask, or their ids."""

    def lines(self) -> Iterator[str]:
        """For a person: the count, then each case that changed."""
        then = "" if self.before is None else f", {self.before} before"
        yield f"practice, {self.student}: {self.passed} of {count(self.of, 'case')} pass{then}"
        for words, asked in (("now passes", self.now_pass), ("now fails", self.now_fail)):
            yield from (f"  {words}: {shortened(one, 100)}" for one in asked[:_MOST_SHOWN])
            if len(asked) > _MOST_SHOWN:
                yield f"  {words}: {len(asked) - _MOST_SHOWN} more"


def practised(evaluation: Evaluation, run: Path, *, runs_dir: Path) -> tuple[Practised, ...]:
    """What a practice came to, beside the newest earlier one of the same skill and model."""
    prompts, now = prompts_of(run), _passes(run)
    before: dict[str, Mapping[str, bool]] = {}
    for earlier in _earlier(run, runs_dir):
        for student, passes in _passes(earlier).items():
            before.setdefault(student, passes)
        if len(before) >= len(now):
            break
    found = []
    for report in evaluation.students:
        mine, then = now.get(report.student.name, {}), before.get(report.student.name)
        shared = {case: passed for case, passed in mine.items() if then is not None and case in then}
        better = [case for case, passed in shared.items() if then and passed and not then[case]]
        worse = [case for case, passed in shared.items() if then and not passed and then[case]]
        found.append(
            Practised(
                student=report.student.name,
                passed=sum(mine.values()),
                of=len(mine),
                before=sum(then[case] for case in shared) if then and shared else None,
                now_pass=tuple(prompts.get(case, case) for case in better),
                now_fail=tuple(prompts.get(case, case) for case in worse),
            )
        )
    return tuple(found)


def _earlier(run: Path, runs_dir: Path) -> Iterator[Path]:
    """Earlier practices of the same skill folder, newest first."""
    place = (run / read_run(run).skill_source).resolve()
    for other in runs_in(runs_dir):
        if other.resolve() == run.resolve():
            continue
        try:
            record = read_run(other)
        except UpskillError:  # of another version, or cut short: it is no practice to compare with
            continue
        if PRACTICE_FLAG in record.typed and (other / record.skill_source).resolve() == place:
            yield other


def _passes(run: Path) -> dict[str, dict[str, bool]]:
    """By student and case: whether most of the scored answers passed."""
    ends: dict[str, dict[str, list[bool]]] = {}
    for trial in trials_of(run):
        if not isinstance(trial.outcome, Errored):
            ends.setdefault(trial.student, {}).setdefault(trial.case_id, []).append(trial.outcome.passed)
    return {
        student: {case: 2 * sum(passed) > len(passed) for case, passed in cases.items()}
        for student, cases in ends.items()
    }
