"""What answers cost with and without the skill."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from upskill.core.nouns import Evaluation, Purchase
from upskill.core.nouns.text import count
from upskill.report.facts import TokenRatio, cheapest_words, token_change
from upskill.report.html.shell import Fold, render
from upskill.report.wording import arm_titles, dollars, paid


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What one part of a run cost."""

    part: str
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    """Dollars; `None` where a price is unknown."""


def cost_fold(
    evaluation: Evaluation | None, ratios: Sequence[TokenRatio], *, enough: float, spent: Sequence[Spent] = ()
) -> Fold | None:
    """What was bought, and tokens and cost per answer; `spent` are the parts of a generate. `None` without either."""
    if evaluation is None:
        if not spent:
            return None
        body = render("cost.html", cheapest=None, parts=_parts(spent), rows=[], bought="")
        return Fold(name="cost", title="Cost", finding=_finding(spent), body=body)
    # A model without a verdict is not recommended.
    judged = [report for report in evaluation.students if report.verdict != "invalid"]
    bought = evaluation.bought
    body = render(
        "cost.html",
        cheapest=cheapest_words(judged, enough=enough) if judged else None,
        parts=_parts(spent),
        rows=list(_rows(evaluation, {ratio.student: ratio for ratio in ratios})),
        bought=" ".join(_bought(bought)),
    )
    whole = spent or [Spent(part="", calls=bought.calls, tokens=bought.tokens, cost=bought.cost)]
    return Fold(name="cost", title="Cost", finding=_finding(whole), body=body)


def _parts(spent: Sequence[Spent]) -> list[tuple[str, ...]]:
    rows = spent if len(spent) < 2 else [*spent, _sum(spent)]
    return [(one.part, f"{one.calls:,}", f"{one.tokens:,}", dollars(one.cost)) for one in rows]


def _sum(spent: Sequence[Spent]) -> Spent:
    costs = [one.cost for one in spent if one.cost is not None]
    return Spent(
        part="Total",
        calls=sum(one.calls for one in spent),
        tokens=sum(one.tokens for one in spent),
        cost=sum(costs) if len(costs) == len(spent) else None,
    )


def _finding(spent: Sequence[Spent]) -> str:
    whole = _sum(spent)
    if not whole.calls:
        return "no calls"
    return f"{count(whole.calls, 'call')}, {count(whole.tokens, 'token')}, {paid(whole.cost)}"


def _rows(evaluation: Evaluation, ratios: dict[str, TokenRatio]) -> Iterator[tuple[str, ...]]:
    for report in evaluation.students:
        ratio = ratios.get(report.student.name)
        titles = arm_titles(evaluation, [arm.arm for arm in report.arms])
        for arm, title in zip(report.arms, titles, strict=True):
            measured = report.verdict != "invalid" and arm.arm == report.compared[0]
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
        yield f"{count(bought.failed_calls, 'call')} returned no answer{lost}."
    if bought.reused:
        yield f"{count(bought.reused, 'answer')} came from the cache and cost nothing."
