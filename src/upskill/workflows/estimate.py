"""What a plan will take, before anything is bought: calls, price, and the smallest lift it can find."""

from dataclasses import dataclass

from upskill import measuring
from upskill.domain import TrialPlan
from upskill.reporting import dollars, estimate_tokens
from upskill.trials import Requests

EXPECTED_SHARE = 0.5
"""A sequential design uses about half of its cap where there is no lift, and less where there is a large one."""
EXPECTED_ANSWER_TOKENS = 300
"""How long an answer is taken to be, where it may be longer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanEstimate:
    """Expected, and at most: every answer as long as allowed, every trial run, no retries."""

    calls_expected: int
    calls_at_most: int
    price_expected: float
    price_at_most: float
    """In dollars, for the students whose price is known."""
    unknown: tuple[str, ...]
    """Students whose price is unknown."""
    detectable: str
    """The smallest lift the plan can find, in words."""

    @property
    def calls(self) -> str:
        """In words."""
        if self.calls_expected == self.calls_at_most:
            return f"{self.calls_at_most:,} calls"
        return f"about {self.calls_expected:,} calls, at most {self.calls_at_most:,}"

    @property
    def price(self) -> str:
        """In words: an unknown price is never called nothing."""
        known = f"about {dollars(self.price_expected)}, at most {dollars(self.price_at_most)}"
        if self.price_at_most == 0:
            known = "$0"
        if not self.unknown:
            return known
        if self.price_at_most == 0:
            return "unknown"
        return f"{known}, and unknown for {', '.join(self.unknown)}"


def estimate_plan(plan: TrialPlan, requests: Requests) -> PlanEstimate:
    """Prompt tokens are estimated; retries are not counted."""
    prompts = sum(
        estimate_tokens(request.system) + estimate_tokens(request.prompt)
        for case in plan.cases
        for arm in plan.arms
        for request in (requests.render(case, arm),)
    )
    round_calls = len(plan.cases) * len(plan.arms)
    sequential = plan.design == "sequential"
    share = EXPECTED_SHARE if sequential else 1.0
    expected = at_most = 0.0
    for student in plan.students:
        if student.price is not None:
            longest = student.max_output_tokens or 0
            usual = min(longest, EXPECTED_ANSWER_TOKENS)
            rounds = plan.repeats
            expected += student.price.of(input_tokens=prompts, output_tokens=round_calls * usual) * rounds * share
            at_most += student.price.of(input_tokens=prompts, output_tokens=round_calls * longest) * rounds
    return PlanEstimate(
        calls_expected=round(len(plan) * share),
        calls_at_most=len(plan),
        price_expected=expected,
        price_at_most=at_most,
        unknown=tuple(student.name for student in plan.students if student.price is None),
        detectable=(
            measuring.describe_plan(cases=len(plan.cases), repeats=plan.repeats, sequential=sequential)
            if plan.against is not None
            else "no baseline, so no lift"
        ),
    )
