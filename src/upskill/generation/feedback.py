"""Comments of a person on a run: the file that a browser saved from its report, the skill they are about, the cases
that are learned from because of them, and what a teacher is shown. A comment on a held-out case goes nowhere unless the
person retires that case. The file may be a stranger's, and is read strictly. Spends nothing."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from upskill import disk
from upskill.core.cases.family import by_family
from upskill.core.cases.files import read_case_file, read_skill_cases
from upskill.core.cases.skill_meta import write_cases_into_meta
from upskill.core.foreign_json import parse_json
from upskill.core.nouns import Case, Scored, Skill, Trial
from upskill.core.nouns.skill import META_FILE, RUN_FILE, TEACHING_FILE
from upskill.core.nouns.text import count, on_one_line, visible, whole_characters
from upskill.core.nouns.trial import Arm, TrialKey
from upskill.core.runs.own_runs import is_inside
from upskill.core.runs.records import RunRecord, read_run
from upskill.core.runs.run_folders import RunFolder, evaluation_in, name_of_run
from upskill.core.skills.skills import read_skill
from upskill.errors import UsageError
from upskill.generation.draft import without_hidden
from upskill.generation.failures import answer_text
from upskill.generation.files import CASES_FILE, read_teaching_run, shown_path
from upskill.generation.gathering import skill_in
from upskill.generation.material import CommentedAnswer, Material, Opinion, Subject
from upskill.generation.order import GenerateOrder, order_from
from upskill.redaction import redactor_from

_UNSEEN = ("held-out", "negative")
"""Uses of cases that no teacher sees."""

FEEDBACK_FORMAT = "upskill.feedback/1"
MOST_BYTES = 1_000_000
MOST_COMMENTS = 1_000
MOST_NOTE = 4_000
"""Characters of one note; the page lets nobody write more."""
MOST_PROBLEMS = 10
_HOW = "save it with `Save comments` in the report of a run; see docs/how-to/improve-a-skill.md"

_Name = Annotated[str, Field(min_length=1, max_length=500)]
_Count = Annotated[int, Field(ge=1, le=10_000_000)]
_Digest = Annotated[str, Field(min_length=8, max_length=128)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class MeasuredSkill(_Strict):
    """The skill that was measured."""

    name: _Name
    digest: _Digest


class Comment(_Strict):
    """What a person said of one answer. The answer itself is in the run."""

    case: _Name
    case_digest: _Digest | None = None
    """The case as it was on the page; `None` where the page did not know it."""
    model: _Name
    arm: Arm
    repeat: _Count
    line: _Count | None = None
    """The line of the trial in `trials.jsonl`, from 1."""
    opinion: Opinion | None = None
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""

    @property
    def key(self) -> TrialKey:
        """Which answer it is about."""
        return self.model, self.case, self.arm, self.repeat


class Feedback(_Strict):
    """The file as it is saved by the page of a run."""

    schema_: Literal["upskill.feedback/1"] = Field(alias="schema")
    run: _Name
    """The name of the run folder; of an evaluation in a `generate`, with its path in it."""
    skill: MeasuredSkill
    comments: Annotated[list[Comment], Field(min_length=1, max_length=MOST_COMMENTS)]
    retire: Annotated[list[_Name], Field(max_length=MOST_COMMENTS)] = []
    """Held-out cases that become practice cases; added by hand."""


def read_feedback(path: Path) -> Feedback:
    """The comments of a file; of several on one answer, the last. Raises `UsageError` with every problem found."""
    try:
        data = disk.read(disk.named(path), most=MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{on_one_line(str(path))}: cannot be read ({error.strerror})", hint=_HOW) from None
    try:
        found = Feedback.model_validate(parse_json(data))
    except ValidationError as error:
        raise _damaged(path, [_problem(one["loc"], one["msg"]) for one in error.errors()]) from None
    except ValueError as error:
        raise _damaged(path, [str(error)]) from None
    found.comments = list({comment.key: comment for comment in found.comments}.values())
    return found


def _problem(place: tuple[int | str, ...], said: str) -> str:
    """`comment 3, opinion: Input should be 'right', 'wrong' or 'unclear'`."""
    first, *rest = place or ("the file",)
    if first == "comments" and rest and isinstance(rest[0], int):
        first, *rest = f"comment {rest[0] + 1}", *rest[1:]
    return on_one_line(f"{', '.join(map(str, (first, *rest)))}: {said}")


def _damaged(path: Path, problems: list[str]) -> UsageError:
    shown = problems[:MOST_PROBLEMS]
    if more := len(problems) - len(shown):
        shown.append(f"and {count(more, 'more problem')}")
    return UsageError(f"{path}: cannot be read as {FEEDBACK_FORMAT}", problems=shown, hint=_HOW)


@dataclass(frozen=True, kw_only=True, slots=True)
class AppliedFeedback:
    """What comments change of a `generate`."""

    order: GenerateOrder
    """The order with the skill in the place of the run."""
    skill: Path
    run: str
    comments: tuple[CommentedAnswer, ...]
    retired: frozenset[str]
    """Digests of cases that are not held out any more."""
    notes: tuple[str, ...]

    @property
    def line(self) -> str:
        """For a person: which skill is improved, and from what."""
        used = count(len(self.comments), "comment")
        return f"Improving: {shown_path(self.skill)}, from {used} on {on_one_line(self.run)}"

    def applied(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """The cases, with those that were retired to learn from."""
        return tuple(replace(case, use="learn") if case.digest in self.retired else case for case in cases)

    def record_retired(self) -> None:
        """Write into the skill which of its cases are no longer held out, whatever becomes of the new version."""
        found = read_skill_cases(self.skill, check_problems=lambda _: [])
        if not self.retired or found is None or found.path.name != META_FILE:
            return
        write_cases_into_meta(self.skill, self.applied(found.cases))


def with_comments(material: Material, feedback: AppliedFeedback) -> Material:
    """The material with the comments, and with what a person should know of them."""
    return replace(
        material,
        comments=feedback.comments,
        sources=(*material.sources, feedback.run),
        notes=(*feedback.notes, *material.notes),
    )


def apply_feedback(order: GenerateOrder) -> AppliedFeedback | None:
    """Read the comments of an order and everything they are about; `None` where it names none.

    Raises `UsageError`, with what to type, where they do not fit the run, or none of them can be used.
    """
    if order.feedback is None:
        if order.retire:
            raise UsageError("`retire` needs comments", hint="name their file as `feedback`")
        return None
    file = Path(order.feedback).expanduser()
    feedback = read_feedback(file)
    order = replace(order, retire=tuple(dict.fromkeys((*order.retire, *feedback.retire))))
    run, others = _run_of(order)
    commented = _commented_run(run, feedback, file)
    record = read_run(commented)
    _require_fitting(feedback, record, commented, file)
    answers = _answers(feedback, commented, file)
    skill = _skill_folder(run, commented, record, others, file)
    version = read_skill(skill)
    cases, case_file = _cases(order, skill, run, record, feedback)
    sorted_out = _Sorted.of(feedback.comments, cases, record, retire=order.retire)
    sorted_out.require_some(file)
    shown = _commented_answers(sorted_out.used, answers, record, version)
    typed = tuple(one for one in others if skill_in(one) is None)
    elsewhere = f"{case_file}: retired cases are still marked held-out; change their `use` to learn"
    return AppliedFeedback(
        order=replace(order, sources=(str(skill.resolve()), *typed), case_file=case_file),
        skill=skill,
        run=feedback.run,
        comments=shown,
        retired=frozenset(case.digest for case in sorted_out.retired),
        notes=(
            *sorted_out.notes,
            *([visible(elsewhere)] if sorted_out.retired and case_file else []),
            *_doubts(shown, skill),
        ),
    )


def _run_of(order: GenerateOrder) -> tuple[Path, list[str]]:
    """The run among the sources, and the other sources."""
    runs = [one for one in order.sources if _is_run(Path(one).expanduser())]
    if len(runs) != 1:
        raise UsageError(
            "--feedback needs the run that was commented on"
            if not runs
            else "--feedback takes comments on one run, not several",
            hint=f"upskill generate --from RUN --feedback {quote(str(order.feedback))}",
        )
    return Path(runs[0]).expanduser(), [one for one in order.sources if one != runs[0]]


def _is_run(path: Path) -> bool:
    try:
        return any((path / name).is_file() for name in (RUN_FILE, TEACHING_FILE))
    except OSError:  # a name no file system could hold
        return False


def _commented_run(run: Path, feedback: Feedback, file: Path) -> Path:
    """The evaluation that was commented on: the run itself, or one in a `generate`."""
    runs = [one for one in (run, *disk.folders(run / "trials")) if disk.is_file(one / RUN_FILE)]
    found = [one for one in runs if name_of_run(one) == feedback.run]
    if not found and name_of_run(run) == feedback.run:  # the page of a whole `generate`
        found = [evaluation_in(run)]
    if not found:
        raise UsageError(
            on_one_line(f"{file}: these are comments on the run {feedback.run}, not on {name_of_run(run)}"),
            hint="name the run whose report they were made in with --from",
        )
    return found[0]


def _require_fitting(feedback: Feedback, record: RunRecord, run: Path, file: Path) -> None:
    """Raise where a comment names what the run does not have."""
    problems = []
    if feedback.skill.digest != record.skill_digest:
        problems.append("the comments are about another version of the skill than this run measured")
    digests = {case.id: case.digest for case in record.cases}
    models = {student.name for student in record.students}
    for number, one in enumerate(feedback.comments, 1):
        if one.case not in digests:
            problems.append(f"comment {number}: this run has no case `{one.case}`")
        elif one.case_digest not in (None, digests[one.case]):
            problems.append(f"comment {number}: the case `{one.case}` was different in this run")
        if one.model not in models:
            problems.append(f"comment {number}: this run has no model `{one.model}`")
    if problems:
        raise _misfit(file, run, problems)


def _misfit(file: Path, run: Path, problems: Sequence[str]) -> UsageError:
    shown = [on_one_line(problem) for problem in problems[:10]]
    return UsageError(f"{file}: does not match {run}", problems=shown, hint="save the comments again from its report")


def _answers(feedback: Feedback, run: Path, file: Path) -> Mapping[TrialKey, Trial]:
    """The trial of each comment: the last that was scored, else the last."""
    wanted = {one.key: one for one in feedback.comments}
    found: dict[TrialKey, Trial] = {}
    lines: dict[TrialKey, set[int]] = {}
    for line, trial in enumerate(RunFolder(path=run).trials.read(), 1):
        if trial.key not in wanted:
            continue
        lines.setdefault(trial.key, set()).add(line)
        if trial.supersedes(found.get(trial.key)):
            found[trial.key] = trial
    problems = [
        f"this run has no answer of {one.model} to `{one.case}` ({one.arm}, repeat {one.repeat})"
        for key, one in wanted.items()
        if key not in found or (one.line is not None and one.line not in lines[key])
    ]
    if problems:
        raise _misfit(file, run, problems)
    return found


def _skill_folder(run: Path, commented: Path, record: RunRecord, others: Sequence[str], file: Path) -> Path:
    """The skill that was measured: as it was typed, or where the run says, in the working folder.

    A record is never an order: it names a skill only where that is the version that was measured.
    """
    typed = next((found for one in others if (found := skill_in(one)) is not None), None)
    recorded = _recorded_skills(run, commented, record)
    places = [typed] if typed is not None else [one for one in recorded if is_inside(run, one)]
    wanted = {record.skill_digest, record.previous_digest}
    for place in places:
        if skill_in(str(place)) is not None and read_skill(place).digest in wanted:
            return place
    command = visible(f"upskill generate --from {quote(str(run))} --from SKILL --feedback {quote(str(file))}")
    if any(skill_in(str(place)) is not None for place in places):
        raise UsageError(
            f"{shown_path(places[0])}: is not the version that {run} measured and the comments are about",
            hint=f"evaluate it again and comment on the new run, or name the folder of the measured version: {command}",
        )
    where = f": {visible(str(recorded[0]))}" if recorded else ""
    raise UsageError(
        f"{run}: the skill that it measured is outside the working folder or no longer exists{where}",
        hint=f"name its folder: {command}",
    )


def _recorded_skills(run: Path, commented: Path, record: RunRecord) -> list[Path]:
    """Where the versions that were measured lie, as the record says; of a `generate`, where it saves."""
    if (run / TEACHING_FILE).is_file():
        target = order_from(read_teaching_run(run).order).target
        return [] if target is None else [target.for_name(record.skill_name)]
    sources = (record.skill_source, record.previous_source)
    return [(commented / source).resolve() for source in sources if source is not None]


def _cases(
    order: GenerateOrder, skill: Path, run: Path, record: RunRecord, feedback: Feedback
) -> tuple[tuple[Case, ...], str | None]:
    """The cases that are improved on: those that were named, those of the skill, or those that a `generate` wrote."""
    if order.case_file is not None:
        return _read(Path(order.case_file).expanduser()), order.case_file
    own = read_skill_cases(skill, check_problems=lambda _: [])
    cases = () if own is None else own.cases
    written = run / CASES_FILE
    if written.is_file() and not all(_now(one, cases, record) for one in feedback.comments):
        # By what is asked: a run may be a stranger's, and other checks make another case of the same text.
        held_out = {case.prompt_digest for case in cases if case.use in _UNSEEN}
        if not any(case.prompt_digest in held_out and case.use not in _UNSEEN for case in _read(written)):
            return _read(written), str(written.resolve())
    return cases, None


def _read(path: Path) -> tuple[Case, ...]:
    return read_case_file(path, check_problems=lambda _: []).cases


def _now(comment: Comment, cases: Iterable[Case], record: RunRecord) -> Case | None:
    """The case of a comment as it is now; `None` where its prompt or its files are not what the student was asked."""
    asked = next(reference for reference in record.cases if reference.id == comment.case)
    for case in cases:
        if case.id == asked.id:
            same = case.digest == asked.digest or case.prompt_digest == asked.prompt_digest
            return case if same else None
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sorted:
    """Comments that are used, and those that are not, and why."""

    used: tuple[tuple[Comment, Case], ...]
    unseen: tuple[Case, ...]
    """Commented cases that no teacher may see."""
    withheld: int
    """Comments on them."""
    changed: tuple[str, ...]
    """Commented cases that were others in the run."""
    retired: tuple[Case, ...]
    """Cases that were held out before."""

    @classmethod
    def of(
        cls, comments: Sequence[Comment], cases: Sequence[Case], record: RunRecord, *, retire: Sequence[str]
    ) -> "_Sorted":
        family = {case.id: family for family in by_family(cases) for case in family}
        now = [(comment, _now(comment, cases, record)) for comment in comments]
        found = [(comment, case) for comment, case in now if case is not None]
        retired = _retired(retire, {case.id: case for _, case in found}, family)
        seen = [(comment, case) for comment, case in found if case.id in retired or _may_learn(family[case.id])]
        unseen = [case for _, case in found if case.id not in retired and not _may_learn(family[case.id])]
        return cls(
            used=tuple(seen),
            unseen=tuple({case.id: case for case in unseen}.values()),
            withheld=len(unseen),
            changed=tuple(dict.fromkeys(comment.case for comment, case in now if case is None)),
            retired=tuple(retired.values()),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not used, and how it could be; which cases are not held out any more."""
        notes = []
        if self.withheld:
            one = self.withheld == 1
            said = (
                "1 comment is on a held-out case and was" if one else f"{self.withheld} comments are on held-out cases"
            )
            listed = json.dumps([case.id for case in self.unseen if case.use != "negative"], ensure_ascii=False)
            how = f'; to use {"it" if one else "them"}, add to the file: "retire": {listed}' if listed != "[]" else ""
            notes.append(visible(f"{said}{'' if one else ' and were'} not used{how}"))
        if self.changed:
            listed = ", ".join(self.changed)
            notes.append(
                visible(f"comments not used, since these cases changed or are in another file (-t FILE): {listed}")
            )
        if self.retired:
            listed = ", ".join(case.id for case in self.retired)
            notes.append(visible(f"retired, now practice cases and never held out again: {listed}"))
        return tuple(notes)

    def require_some(self, file: Path) -> None:
        """Raise where not a single comment can be used: then nothing would be done that was asked for."""
        if not self.used:
            raise UsageError(f"{file}: none of these comments can be used", problems=self.notes)


def _may_learn(family: Sequence[Case]) -> bool:
    """Whether a teacher may see a case of this family: one side for all of it."""
    uses = {case.use for case in family}
    return "learn" in uses or uses == {None}


def _retired(
    names: Sequence[str], commented: Mapping[str, Case], family: Mapping[str, Sequence[Case]]
) -> dict[str, Case]:
    """The cases to retire, each with its whole family, since one case of a family gives the others away."""
    found: dict[str, Case] = {}
    for name in names:
        case = commented.get(name)
        if case is None:
            raise UsageError(
                f"retire {name}: there is no comment on that case", hint="remove it, or check the spelling"
            )
        if case.use == "negative":
            raise UsageError(f"retire {name}: an unrelated case cannot become a practice case")
        found |= {one.id: one for one in family[case.id] if one.use != "negative"}
    return found


def _commented_answers(
    used: Sequence[tuple[Comment, Case]], answers: Mapping[TrialKey, Trial], record: RunRecord, skill: Skill
) -> tuple[CommentedAnswer, ...]:
    """Each comment with its task and its answer, all of it without secrets."""
    redactor = redactor_from(os.environ)
    digests = {case.id: case.digest for case in record.cases}

    def clean(text: str) -> str:
        return redactor.clean(without_hidden(whole_characters(text)))

    shown = []
    for comment, case in used:
        trial = answers[comment.key]
        graded = isinstance(trial.outcome, Scored) and case.digest == digests[case.id]
        shown.append(
            CommentedAnswer(
                case_id=case.id,
                prompt=clean(case.prompt),
                answer=clean(answer_text(trial)),
                model=comment.model,
                subject=_subject(comment.arm, record, skill),
                passed=trial.outcome.passed if graded and isinstance(trial.outcome, Scored) else None,
                opinion=comment.opinion,
                note=clean(comment.note.strip()),
            )
        )
    return tuple(shown)


def _subject(arm: Arm, record: RunRecord, skill: Skill) -> Subject:
    if arm in ("baseline", "ceiling"):
        return "no skill"
    given = record.previous_digest if arm == "previous" else record.skill_digest
    return "the skill" if given == skill.digest else "another version"


def _doubts(comments: Sequence[CommentedAnswer], skill: Path) -> tuple[str, ...]:
    """For each case whose checks disagree with the person, which, and how to correct it."""
    check = f"`upskill cases check {quote(shown_path(skill))}`"
    lines = []
    for one in comments:
        if one.doubts_checks:
            said, key = ("failed", "reference") if one.opinion == "right" else ("passed", "wrong")
            wrong = f"{one.case_id}: its checks {said} an answer that you call {one.opinion}"
            lines.append(
                visible(f"{wrong}; add that answer to the case as `{key}`, correct the checks, then run {check}")
            )
    return tuple(dict.fromkeys(lines))
