"""What a plan will cost, before anything is bought."""

from dataclasses import dataclass

from upskill.domain import TrialPlan
from upskill.reporting import estimate_tokens
from upskill.trials import Requests


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceEstimate:
    """The most a plan can cost if every answer is as long as allowed; `None` where a price is unknown."""

    at_most: float | None
    unknown: tuple[str, ...]
    """Students whose price is unknown."""


def estimate_price(plan: TrialPlan, requests: Requests) -> PriceEstimate:
    """Prompt tokens are estimated, answers are taken at their longest, retries are not counted."""
    prompts = sum(
        estimate_tokens(request.system) + estimate_tokens(request.prompt)
        for case in plan.cases
        for arm in plan.arms
        for request in (requests.render(case, arm),)
    )
    calls = len(plan.cases) * len(plan.arms)
    total = 0.0
    unknown = []
    for student in plan.students:
        if student.price is None:
            unknown.append(student.name)
            continue
        once = student.price.of(input_tokens=prompts, output_tokens=calls * (student.max_output_tokens or 0))
        total += once * plan.repeats
    return PriceEstimate(at_most=None if unknown else total, unknown=tuple(unknown))
