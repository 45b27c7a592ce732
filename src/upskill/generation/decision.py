"""The decision of a `generate` in one sentence: what was saved or which version stays, on what evidence, and whether
that is what was required of it."""

from upskill.core.nouns import Evaluation, StudentReport
from upskill.core.nouns.evaluation import Required
from upskill.core.nouns.text import count
from upskill.generation.generated import GenerateResult
from upskill.report.result_notes import Requirement, gap
from upskill.report.wording import confidence_interval, points

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
    return f"{what}{':' if generated.proven else ', but'} {_evidence(generated, subject='it')}."


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
    if words is None or (report.verdict == "helps" and not generated.proven):
        return generated.reason  # which says what speaks against it, or why there is no verdict
    return f"{subject} {words} {on_held_out_cases(evaluation)}{_figures(report)}"


def _figures(report: StudentReport) -> str:
    if not report.lifts:
        return ""
    lift = report.lifts[0]
    return f" ({points(lift.mean)} points, {confidence_interval(lift, report.interval)})"


def _of_several(generated: GenerateResult, evaluation: Evaluation) -> str:
    helped, hurt = (sum(one.status == side for one in generated.claims) for side in ("helps", "hurts"))
    better, worse = ("is better for", "worse for") if generated.revision else ("helps", "hurts")
    models = f"{better} {helped} of {len(generated.claims)} models and {worse} {hurt or 'none'}"
    return f"{models} {on_held_out_cases(evaluation)}"


def on_held_out_cases(evaluation: Evaluation) -> str:
    """The cases that the figures are of. Of a test that stopped early, "8 of 12" would read as a score."""
    seen = {lift.cases for report in evaluation.students for lift in report.lifts[:1]}
    asked = max((cases for cases in seen if cases is not None), default=evaluation.cases)
    return f"on {count(asked, 'held-out case')}"


def generate_requirements(generated: GenerateResult, required: Required | None) -> tuple[Requirement, ...]:
    """What was required of a `generate`: every student is helped (`no-harm`: none is hurt) on held-out cases, and no
    case is made worse."""
    if required is None:
        return ()
    unmet = {
        one.student: why
        for one in generated.claims
        if (why := gap(required, one.student, one.status, one.claim)) is not None
    }
    # Without `no-harm` a skill must be proven; with it a skill that helps fails where it makes a case worse.
    if not generated.proven and not unmet and (required != "no-harm" or _all_helped(generated)):
        unmet = {"": generated.reason}
    return (Requirement(what=f"--require {required}", unmet=unmet),)


def _all_helped(generated: GenerateResult) -> bool:
    """Also where nothing was measured."""
    return all(one.status == "helps" for one in generated.claims)
