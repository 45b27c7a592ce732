"""What a `generate` came to, as people read it and as programs do."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from upskill.core.nouns import Evaluation, Purchase, Skill, StudentReport, Trial, TrialPlan
from upskill.core.nouns.case import Json
from upskill.core.nouns.evaluation import Required
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.lift import Interval
from upskill.core.nouns.text import count, shortened
from upskill.core.nouns.trigger import TriggerRate, TriggerScore
from upskill.core.progress import RunProgress
from upskill.generation.aptitude import aptitude_figures, aptitude_json
from upskill.generation.description import company_words, rate_words
from upskill.generation.generated import DescriptionRevision, GenerateResult
from upskill.report.console import print_lines
from upskill.report.glance import glance
from upskill.report.json_report import evaluation_json
from upskill.report.result_notes import (
    Requirement,
    ResultNote,
    found_notes,
    gap,
    merged_notes,
    requirements_json,
    unmet_notes,
)
from upskill.report.terminal import TerminalResult, most_rows, picture
from upskill.report.wording import confidence_interval, names_by_model, percents, points, spent_on, unique_names
from upskill.terminal.display import TimedProgress

MOST_REASON = 200
"""Characters of why revising ended: a teacher's faults may be in it."""
GENERATED_SCHEMA = "upskill.generate/1"
ROWS_OF_GENERATE = 2
"""Rows that a `generate` may take more than an evaluation."""
ROWS_OF_DESCRIPTION = 6
"""The same where only a description was revised: both descriptions are shown."""


def attempt_lines(evaluation: Evaluation, *, cases: int) -> Iterator[str]:
    """How an attempt did on the learn cases, a line per student. Nothing is claimed from these."""
    names = unique_names([report.student.name for report in evaluation.students])
    for short, report in zip(names, evaluation.students, strict=True):
        arm, against = report.compared
        before, after = report.rate(against), report.rate(arm)
        name = f"{short}: " if len(names) > 1 else ""
        on = f"on {count(cases, 'practice case')}"
        if before is None or after is None:
            yield f"{name}nothing was measured {on}"
            continue
        mark = "" if after > before else ", no better" if after == before else ", worse"
        errored = sum(one.errored for one in report.arms)
        lost = f", {errored} errored" if errored else ""
        shown, shown_after = percents(before, after, after - before)
        yield f"{name}{shown} → {shown_after} ({points(after - before)} points){mark}, {on}{lost}"


def show_generated(
    generated: GenerateResult,
    console: Console,
    *,
    required: Required | None = None,
    taken: int = 0,
    every_note: bool = False,
) -> None:
    """The decision, the held-out test as a picture, how it came about, what it took, and where everything is.

    `required` is what was asked of every student, if anything. `taken` rows of those it may take are used already.
    """
    evaluation, revision = generated.evaluation, generated.description
    rows = ROWS_OF_GENERATE if revision is None else ROWS_OF_DESCRIPTION
    result = TerminalResult(
        head=(
            Text(decision(generated), style="bold"),
            *([] if evaluation is None else picture(glance(evaluation), console)),
        ),
        facts=tuple(_facts(generated) if revision is None else _revision_facts(generated, revision)),
        notes=tuple(_notes(generated, required)),
        where=tuple(_where(generated)),
        run=generated.run.removeprefix("./"),
    )
    most = None if every_note else rows + most_rows(len(generated.students)) - taken
    print_lines(result.lines(console, most=most), console)


def _facts(generated: GenerateResult) -> Iterator[str]:
    skill = generated.skill
    files = f", {count(len(skill.other_files), 'more file')}" if skill.other_files else ""
    learn, held_out, negative = generated.cases
    cases = f"cases: {learn} practice, {held_out} held-out, {negative} unrelated"
    which = ", the revision" if generated.saved is None and generated.kept is not None else ""
    yield f"{skill.name}{which}: SKILL.md ~{skill.tokens} tokens{files}; {cases}"
    if len(generated.attempts) > 1 or any(one.passed < one.of for one in generated.attempts):
        several = len({one.presentation for one in generated.attempts}) > 1
        shown = ", ".join(
            f"{one.passed}/{one.of}" + (f" {one.presentation}" if several else "") for one in generated.attempts
        )
        yield f"attempts on practice cases: {shown}; {shortened(generated.refined or 'not revised', MOST_REASON)}"
    yield f"spent: teacher {spent_on(generated.by_teacher)}, models {spent_on(generated.by_students)}"


def _where(generated: GenerateResult) -> Iterator[str]:
    if generated.saved is not None:
        yield f"Saved to {generated.saved}"
    elif generated.kept is not None:
        yield f"Revision saved in {generated.kept}"


def _notes(generated: GenerateResult, required: Required | None) -> Iterator[ResultNote]:
    """Those of the held-out test, then what each student could do before, then remarks on the whole."""
    names = names_by_model(generated.students)
    yield from unmet_notes(generate_requirements(generated, required), names)
    if generated.evaluation is not None:
        yield from found_notes(generated.evaluation)
    for one in generated.aptitude:
        if one.lift is not None:
            yield ResultNote(text=f"before: {names.get(one.student, one.student)}: {aptitude_figures(one)}")
    for line in merged_notes(generated.notes, names):
        yield ResultNote(text=f"note: {line}")


def generated_json(generated: GenerateResult, required: Required | None = None) -> dict[str, Json]:
    """Plain JSON values; what is unknown is null. `required` is what was asked of every student, if anything."""
    learn, held_out, negative = generated.cases
    return {
        "schema": GENERATED_SCHEMA,
        "skill": {
            "name": generated.skill.name,
            "description": generated.skill.description,
            "digest": generated.skill.digest,
        },
        "saved": generated.saved,
        "kept": generated.kept,
        "revision": generated.revision,
        "status": generated.status,
        "sentence": generated.sentence,
        "decision": decision(generated),
        "proven": generated.proven,
        "teacher": generated.teacher,
        "students": [
            {"model": claim.student, "status": claim.status, "claim": claim.claim, "sentence": claim.sentence}
            for claim in generated.claims
        ],
        "cases": {"learn": learn, "held_out": held_out, "negative": negative},
        "attempts": [
            {
                "number": one.number,
                "passed": one.passed,
                "of": one.of,
                "presentation": one.presentation,
                "revises": one.revises,
                "chosen": one.chosen,
                "draft": one.draft,
                "edits": list(one.edits),
            }
            for one in generated.attempts
        ],
        "refined": generated.refined,
        "spent": {"teacher": _spent_json(generated.by_teacher), "students": _spent_json(generated.by_students)},
        "held_out": None if generated.evaluation is None else evaluation_json(generated.evaluation),
        "required": requirements_json(generate_requirements(generated, required)),
        "run": generated.run,
        "notes": list(generated.notes),
        "aptitude": aptitude_json(generated.aptitude),
        "findings": [asdict(one) for one in generated.findings],
        "description": _revision_json(generated.description),
    }


def caution_lines(found: Sequence[Finding]) -> Iterator[str]:
    """One line for all that is worth knowing and no danger; none where there is nothing."""
    if cautions := [one for one in found if one.severity == "caution"]:
        hosts = dict.fromkeys(one.excerpt.split("://")[-1].split("/")[0] for one in cautions if one.rule == "url")
        others = Counter(one.rule for one in cautions if one.rule != "url")
        named = [f"{rule} ({number})" for rule, number in others.items()]
        yield "caution: the draft contains " + ", ".join([*named, *(f"host {host}" for host in hosts)])


def _spent_json(bought: Purchase) -> Json:
    return {"calls": bought.calls, "failed_calls": bought.failed_calls, "tokens": bought.tokens, "cost": bought.cost}


def _revision_facts(generated: GenerateResult, revision: DescriptionRevision) -> Iterator[str]:
    """Both descriptions with their rates, and what it took, a line each."""
    names = names_by_model(generated.students)
    yield f"old: {revision.before}"
    if revision.after != revision.before:
        yield f"new: {revision.after}"
    for one in revision.held_out:
        who = f"{names.get(one.student, one.student)}{company_words(one.company)}"
        lift = "no verdict"
        if one.lift is not None:
            lift = f"{points(one.lift.mean)} points ({confidence_interval(one.lift)})"
        yield (
            f"{who}: {lift}; recall {_with_interval(one.before.recall)} → {_with_interval(one.after.recall)}; "
            f"near misses {_with_interval(one.before.near_miss)} → {_with_interval(one.after.near_miss)}"
        )
    learn, held_out = revision.prompts
    attempts = ", ".join(f"{one.right}/{one.answers}" for one in revision.attempts)
    stopped = shortened(generated.refined or "not revised", MOST_REASON)
    yield f"prompts: {learn} practice, {held_out} held-out; right on practice prompts: {attempts}; {stopped}"
    yield f"spent: teacher {spent_on(generated.by_teacher)}, models {spent_on(generated.by_students)}"


def _with_interval(rate: TriggerRate | None) -> str:
    if rate is None:
        return "unknown"
    ends = rate.interval
    return f"{rate_words(rate)} ({round(ends.low * 100)} to {round(ends.high * 100)})"


def _revision_json(revision: DescriptionRevision | None) -> Json:
    """Plain JSON values; what is unknown is null."""
    if revision is None:
        return None
    learn, held_out = revision.prompts
    return {
        "before": revision.before,
        "after": revision.after,
        "prompts": {"learn": learn, "held_out": held_out},
        "attempts": [
            {
                "number": one.number,
                "description": one.description,
                "right": one.right,
                "answers": one.answers,
                "j": one.j,
                "chosen": one.chosen,
                "draft": one.draft,
                "scores": [_score_json(score) for score in one.scores],
            }
            for one in revision.attempts
        ],
        "held_out": [
            {
                "model": one.student,
                "harness": one.harness,
                "company": one.company,
                "verdict": one.verdict,
                "claim": one.claim,
                "better": one.better,
                "worse": list(one.worse),
                "gain": one.gain,
                "mean": None if one.lift is None else one.lift.mean,
                "interval": None if one.lift is None else _ends(one.lift.interval),
                "about": None if one.lift is None else one.lift.about,
                "confidence": None if one.lift is None else one.lift.confidence,
                "sentence": one.sentence,
                "before": _score_json(one.before),
                "after": _score_json(one.after),
            }
            for one in revision.held_out
        ],
    }


def _score_json(score: TriggerScore) -> Json:
    return {
        "model": score.student,
        "company": score.company,
        "verdict": score.verdict,
        "recall": None if score.recall is None else score.recall.as_json(),
        "near_miss": None if score.near_miss is None else score.near_miss.as_json(),
        "j": score.j,
        "interval": _ends(score.interval),
        "errored": score.errored,
    }


def _ends(interval: Interval | None) -> Json:
    """Both ends; null where there is no interval."""
    return None if interval is None else [interval.low, interval.high]


_ANSWERS = "answers"


class TeachingProgress(TimedProgress, RunProgress):
    """Shows the stages of a `generate`. Before there is a run, a clock runs only while material is read."""

    def __init__(self) -> None:
        super().__init__()
        self._total = self._done = 0
        self._indent = ""
        self.run: Path | None = None
        """The run folder, once there is one."""

    def note(self, line: str) -> None:
        """Show the line, indented where it belongs to a stage."""
        super().note(f"{self._indent}{line}")

    def step(self, what: str, done: int, of: int | None) -> None:
        """Show how the material is read. Steps within a stage are not shown: its answers are."""
        if self.run is None:
            super().step(what, done, of)

    def generate_planned(self, lines: Sequence[str]) -> None:
        self.show(None)  # a person may be asked next
        for line in lines:
            self.note(line)

    def run_created(self, run: Path) -> None:
        self.run = run

    def stage_begun(self, line: str) -> None:
        """Show the line; the notes that follow are indented."""
        super().note(line)
        self._indent = "  "

    def evaluation_planned(self, plan: TrialPlan, *, skill: Skill, lines: Sequence[str], notes: Sequence[str]) -> None:
        """Show only how many answers there will be: the price of the whole was shown before."""
        self._total, self._done = len(plan), 0
        self._begin(_ANSWERS, self._total)

    def trial_finished(self, trial: Trial) -> None:
        self._done += 1
        self.show_step(_ANSWERS, self._done, self._total)

    def _begin(self, what: str, of: int | None) -> None:
        if self.run is not None:
            super()._begin(what, of)


_NEW = {
    "helps": "helps",
    "hurts": "hurts",
    "no difference": "makes no difference",
    "cheaper": "only saves tokens",
    "undecided": "was not shown to help",
}
_REVISION = {
    **_NEW,
    "helps": "is better",
    "hurts": "is worse",
    "undecided": "was not shown to be better",
}


def decision(generated: GenerateResult) -> str:
    """The decision with its reason: the first sentence of the report, and in the record for every later one."""
    if generated.description is not None:
        return f"{_described(generated)}. {generated.reason[:1].upper()}{generated.reason[1:]}."
    if generated.saved is None:
        return f"The old version stays: {_evidence(generated, subject='the revision')}."
    what = "The new version was saved" if generated.revision else "The skill was saved"
    if generated.evaluation is None:
        return f"{what}, {generated.reason}."
    mark = ":" if generated.proven else ", but is not proven:" if _is_doubted(generated) else ", but"
    return f"{what}{mark} {_evidence(generated, subject='it')}."


def _is_doubted(generated: GenerateResult) -> bool:
    """Whether it helps the only model, and something else speaks against it."""
    helps = generated.evaluation is not None and [one.verdict for one in generated.evaluation.students] == ["helps"]
    return helps and not generated.proven


def _described(generated: GenerateResult) -> str:
    if generated.saved is None:
        return "The old description stays"
    in_place = generated.saved == generated.improved
    return "The old description is replaced" if in_place else "The skill was copied with the new description"


def _evidence(generated: GenerateResult, *, subject: str) -> str:
    evaluation = generated.evaluation
    if evaluation is None:
        return generated.reason.removeprefix("not proven: ")
    if len(evaluation.students) > 1:
        return f"{subject} {_of_several(generated, evaluation)}"
    (report,) = evaluation.students
    words = (_REVISION if generated.revision else _NEW).get(report.verdict or "")
    if words is None or _is_doubted(generated):
        # Which says what speaks against it, or why there is no verdict.
        return generated.reason if words is None or generated.revision else f"it {generated.reason}"
    about = f", {generated.about}" if generated.about else ""
    return f"{subject} {words} {on_held_out_cases(evaluation)}{_figures(report)}{about}"


def _figures(report: StudentReport) -> str:
    if not report.lifts:
        return ""
    lift = report.lifts[0]
    return f" ({points(lift.mean)} points, {confidence_interval(lift)})"


def _of_several(generated: GenerateResult, evaluation: Evaluation) -> str:
    helped, hurt = (sum(one.status == side for one in generated.claims) for side in ("helps", "hurts"))
    better, worse = ("is better for", "worse for") if generated.revision else ("helps", "hurts")
    models = f"{better} {helped} of {len(generated.claims)} models and {worse} {hurt or 'none'}"
    return f"{models} {on_held_out_cases(evaluation)}"


def on_held_out_cases(evaluation: Evaluation) -> str:
    """The cases that the figures are of. Where no pair of some case was scored, "8 of 12" would read as a score."""
    seen = {lift.cases for report in evaluation.students for lift in report.lifts[:1]}
    asked = max((cases for cases in seen if cases is not None), default=evaluation.cases)
    return f"on {count(asked, 'held-out case')}"


def generate_requirements(generated: GenerateResult, required: Required | None) -> tuple[Requirement, ...]:
    """What was required of a `generate`: every student is helped (`no-harm`: none is hurt) on held-out cases, and no
    case is broken."""
    if required is None:
        return ()
    unmet = {
        one.student: why
        for one in generated.claims
        if (why := gap(required, one.student, one.status, one.claim)) is not None
    }
    # Without `no-harm` a skill must be proven; with it a skill fails where it breaks a case, or nobody looked for that.
    if not generated.proven and not unmet and (required != "no-harm" or _may_break(generated)):
        unmet = {"": generated.reason}
    return (Requirement(what=f"--require {required}", unmet=unmet),)


def _may_break(generated: GenerateResult) -> bool:
    """Whether a case is broken; or not known not to be, where it helps on new cases or where nothing was measured."""
    if any(one.broken for one in generated.claims):
        return True
    return all(one.status == "helps" and one.claim == "new cases" for one in generated.claims)
