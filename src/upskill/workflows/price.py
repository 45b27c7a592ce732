"""What a plan will cost, before anything is bought."""

from dataclasses import dataclass

from upskill.domain import TrialPlan
from upskill.reporting import estimate_tokens
from upskill.trials import Requests


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceEstimate:
    """The most a plan can cost if every answer is as long as allowed."""

    known: float
    """For the students whose price is known."""
    unknown: tuple[str, ...]
    """Students whose price is unknown."""

    @property
    def words(self) -> str:
        """For a person: never calls an unknown price nothing."""
        sum_of_known = "$0" if self.known == 0 else f"${self.known:.2f}" if self.known >= 0.01 else f"${self.known:.2g}"
        if not self.unknown:
            return f"at most {sum_of_known}"
        if self.known == 0:
            return "unknown"
        return f"at most {sum_of_known}, and unknown for {', '.join(self.unknown)}"


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
    return PriceEstimate(known=total, unknown=tuple(unknown))
