"""What answers cost with and without the skill, and which model is the cheapest that is good enough."""

from collections.abc import Iterator, Sequence

from upskill.domain import Evaluation, Purchase
from upskill.domain.text import count
from upskill.reporting.html.changed import arm_titles
from upskill.reporting.html.folds import Fold
from upskill.reporting.html.templating import render
from upskill.reporting.sufficient_students import cheapest_words
from upskill.reporting.token_change import TokenRatio, token_change
from upskill.reporting.wording import dollars, paid


def cost_fold(evaluation: Evaluation, ratios: Sequence[TokenRatio], *, enough: float, title: str = "Cost") -> Fold:
    """Tokens and cost per answer and arm, and what was bought."""
    # A model without a verdict is not recommended.
    judged = [report for report in evaluation.students if report.verdict != "invalid"]
    body = render(
        "cost.html",
        cheapest=cheapest_words(judged, enough=enough) if judged else None,
        rows=list(_rows(evaluation, {ratio.student: ratio for ratio in ratios})),
        bought=" ".join(_bought(evaluation.bought)),
    )
    return Fold(name="cost", title=title, finding=_finding(evaluation), body=body)


def _finding(evaluation: Evaluation) -> str:
    bought = evaluation.bought
    if not bought.calls:
        return "nothing was bought"
    return f"{count(bought.calls, 'call')}, {count(bought.tokens, 'token')}, {paid(bought.cost)}"


def _rows(evaluation: Evaluation, ratios: dict[str, TokenRatio]) -> Iterator[tuple[str, ...]]:
    for report in evaluation.students:
        ratio = ratios.get(report.student.name)
        titles = arm_titles(evaluation, [arm.arm for arm in report.arms])
        for arm, title in zip(report.arms, titles, strict=True):
            measured = ratio is not None and arm.arm == report.compared[0]
            yield (
                report.student.name,
                title,
                "unknown" if arm.tokens is None else f"{arm.tokens:,.0f}",
                token_change(ratio) if ratio is not None and measured else "–",
                dollars(arm.cost),
            )


def _bought(bought: Purchase) -> Iterator[str]:
    """What the sum does not say."""
    if bought.failed_calls:
        lost = f" (about {dollars(bought.lost)})" if bought.lost else ""
        yield f"{count(bought.failed_calls, 'call')} brought no answer{lost}."
    if bought.reused:
        yield f"{count(bought.reused, 'answer')} came from earlier runs and cost nothing."
