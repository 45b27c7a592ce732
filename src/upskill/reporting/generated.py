"""What a `generate` came to, as people read it and as programs do."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from upskill.domain import Evaluation, Purchase
from upskill.domain.case import Json
from upskill.domain.evaluation import Required
from upskill.domain.finding import Finding
from upskill.domain.generated import GenerateResult
from upskill.domain.text import count, shortened
from upskill.reporting.aptitude import aptitude_figures, aptitude_json
from upskill.reporting.decision import decision
from upskill.reporting.described import revision_json
from upskill.reporting.glance import glance
from upskill.reporting.glance.names import names_by_model, unique_names
from upskill.reporting.json_report import evaluation_json
from upskill.reporting.lines import print_lines
from upskill.reporting.requirements import generate_requirements, requirements_json
from upskill.reporting.result_notes import ResultNote, found_notes, merged_notes, unmet_notes
from upskill.reporting.terminal import TerminalResult, most_rows, picture
from upskill.reporting.wording import percents, points, spent_on

MOST_REASON = 200
"""Characters of why revising ended: a teacher's faults may be in it."""
GENERATED_SCHEMA = "upskill.generate/1"
ROWS_OF_GENERATE = 2
"""Rows that a `generate` may take more than an evaluation."""


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
        mark = "OK" if after > before else "no better" if after == before else "worse"
        errored = sum(one.errored for one in report.arms)
        lost = f", {errored} errored" if errored else ""
        shown, shown_after = percents(before, after, after - before)
        yield f"{name}{shown} → {shown_after} ({points(after - before)} points) {mark}, {on}{lost}"


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
    evaluation = generated.evaluation
    result = TerminalResult(
        head=(
            Text(decision(generated), style="bold"),
            *([] if evaluation is None else picture(glance(evaluation), console)),
        ),
        facts=tuple(_facts(generated)),
        notes=tuple(_notes(generated, required)),
        where=tuple(_where(generated)),
        run=generated.run.removeprefix("./"),
    )
    most = None if every_note else ROWS_OF_GENERATE + most_rows(len(generated.students)) - taken
    print_lines(result.lines(console, most=most), console)


def _facts(generated: GenerateResult) -> Iterator[str]:
    skill = generated.skill
    files = f", {count(len(skill.other_files), 'more file')}" if skill.other_files else ""
    learn, held_out, negative = generated.cases
    reports = () if generated.evaluation is None else generated.evaluation.students
    used = max((report.lifts[0].cases or 0 for report in reports if report.lifts), default=0)
    stopped = f" ({used} were enough)" if 0 < used < held_out and generated.proven else ""
    cases = f"cases: {learn} practice, {held_out} held-out{stopped}, {negative} unrelated"
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
        "description": revision_json(generated.description),
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
