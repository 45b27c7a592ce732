"""What a `generate` came to, as people read it and as programs do."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial

from rich.console import Console
from rich.text import Text

from upskill.domain import Evaluation, Purchase, estimate_tokens
from upskill.domain.case import Json
from upskill.domain.evaluation import Required
from upskill.domain.finding import Finding
from upskill.domain.generated import GenerateResult
from upskill.domain.text import count
from upskill.reporting.aptitude import aptitude_figures, aptitude_json
from upskill.reporting.decision import decision
from upskill.reporting.json_report import evaluation_json
from upskill.reporting.requirements import generate_requirements, requirements_json
from upskill.reporting.terminal import bars, print_lines, signed, style_of, table
from upskill.reporting.wording import dollars, percents

GENERATED_SCHEMA = "upskill.generate/1"
_print = partial(print_lines, break_words=False)
"""A path that is broken in two cannot be copied."""


def attempt_lines(evaluation: Evaluation, *, cases: int) -> Iterator[str]:
    """How an attempt did on the learn cases, a line per student. Nothing is claimed from these."""
    for report in evaluation.students:
        arm, against = report.compared
        before, after = report.rate(against), report.rate(arm)
        name = f"{report.student.name}: " if len(evaluation.students) > 1 else ""
        on = f"on {count(cases, 'learn case')}"
        if before is None or after is None:
            yield f"{name}nothing could be measured {on}"
            continue
        mark = "OK" if after > before else "no better" if after == before else "worse"
        errored = sum(one.errored for one in report.arms)
        lost = f", {errored} errored" if errored else ""
        shown, shown_after = percents(before, after, after - before)
        yield f"{name}{shown} -> {shown_after} ({signed(after - before)}) {mark}, {on}{lost}"


def show_generated(generated: GenerateResult, console: Console) -> None:
    """The skill, what it does, and where it is. The last line says where, and what is known of it."""
    console.print()
    _print(_skill(generated), console, indent=2)
    if (evaluation := generated.evaluation) is not None:
        if len(evaluation.students) == 1:
            _print(bars(evaluation.students[0], console), console, indent=2)
        else:
            console.print(table(evaluation, console))
    _print(_claims(generated), console, indent=2)
    console.print()
    _print(_facts(generated), console)
    if console.is_terminal:
        _print([Text(last_line(generated))], console)
    else:
        console.print(last_line(generated), markup=False, soft_wrap=True)


def last_line(generated: GenerateResult) -> str:
    """Where the skill is, and its status with the interval."""
    if generated.saved is None:
        return f"The old version stays ({generated.reason})"
    return f"Saved to {generated.saved} ({generated.sentence})"


def _skill(generated: GenerateResult) -> Iterator[Text]:
    skill = generated.skill
    yield Text(skill.name, style="bold")
    yield Text(" ".join(skill.description.split()))
    yield Text()
    yield Text(f"SKILL.md              ~{estimate_tokens(skill.body)} tokens")
    for file in skill.other_files:
        yield Text(f"{file.path:<21} ~{-(-file.size // 4)} tokens")
    yield Text()


def _claims(generated: GenerateResult) -> Iterator[Text]:
    several = len(generated.claims) > 1
    for claim in generated.claims:
        sentence = f"{claim.student}: {claim.sentence}" if several else generated.sentence
        yield Text(sentence, style=style_of(claim.status))


def _facts(generated: GenerateResult) -> Iterator[Text]:
    learn, held_out, negative = generated.cases
    yield Text(f"cases: {learn} to learn from, {held_out} held out, {negative} negative", style="dim")
    for one in generated.aptitude:
        if one.lift is not None:
            yield Text(f"before: {one.student}: {aptitude_figures(one)}", style="dim")
    if len(generated.attempts) > 1:
        several = len({one.presentation for one in generated.attempts}) > 1
        shown = ", ".join(
            f"{one.passed}/{one.of}" + (f" {one.presentation}" if several else "") for one in generated.attempts
        )
        yield Text(f"attempts on learn cases: {shown}; {generated.refined}", style="dim")
    yield Text(f"spent: teacher {_spent(generated.by_teacher)}; students {_spent(generated.by_students)}", style="dim")
    for note in generated.notes:
        yield Text(f"note: {note}", style="dim")
    if generated.saved is None and generated.kept is not None:
        yield Text(f"The revision is kept in {generated.kept}", style="dim")
    yield Text(f"Run kept in {generated.run}", style="dim")


def _spent(bought: Purchase) -> str:
    calls = count(bought.calls, "call")
    return f"{dollars(bought.cost if bought.calls else 0.0)}, {calls}, {bought.tokens:,} tokens"


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
    }


def caution_lines(found: Sequence[Finding]) -> Iterator[str]:
    """One line for all that is worth knowing and no danger; none where there is nothing."""
    if cautions := [one for one in found if one.severity == "caution"]:
        hosts = dict.fromkeys(one.excerpt.split("://")[-1].split("/")[0] for one in cautions if one.rule == "url")
        others = Counter(one.rule for one in cautions if one.rule != "url")
        named = [f"{rule} ({number})" for rule, number in others.items()]
        yield "caution: the draft has " + ", ".join([*named, *(f"host {host}" for host in hosts)])


def _spent_json(bought: Purchase) -> Json:
    return {"calls": bought.calls, "failed_calls": bought.failed_calls, "tokens": bought.tokens, "cost": bought.cost}
