"""What answers cost with and without the skill, and how the estimate settled, pair by pair, as plain SVG."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from upskill.core.nouns import Evaluation, Interval, Purchase, StudentReport
from upskill.core.nouns.text import count
from upskill.report.dumbbell import verdict_colour
from upskill.report.facts import REASONS, PathPoint, StudentPath, TokenRatio, cheapest_words, token_change
from upskill.report.html.shell import Fold, render
from upskill.report.wording import arm_titles, between, dollars, paid, points


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


MOST_MODELS = 12
ROWS_PER_MODEL = 8
WIDTH, HEIGHT = 320, 120
LEFT, RIGHT, TOP, BOTTOM = 40, 310, 8, 100
"""Where the plot lies inside the drawing; what is left of it and below it is for the figures of the axes."""
APART = 14
"""Figures of an axis that are nearer to each other could not be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Model:
    """One model that has something to draw: each point with the interval that the verdict rests on."""

    report: StudentReport
    path: StudentPath
    estimates: tuple[tuple[PathPoint, Interval], ...]


def settled_fold(evaluation: Evaluation, paths: Sequence[StudentPath]) -> Fold | None:
    """`None` where no model has two pairs and a verdict."""
    reports = {report.student.name: report for report in evaluation.students}
    known = ((reports.get(path.student), path) for path in paths)
    models = [
        _Model(report=report, path=path, estimates=estimates)
        for report, path in known
        if report is not None and report.verdict != "invalid" and len(estimates := tuple(_estimates(report, path))) > 1
    ]
    if not models:
        return None
    shown = models[:MOST_MODELS]
    body = render(
        "settled.html",
        panels=_panels(evaluation, shown),
        rows=[row for model in shown for row in _estimate_rows(model)],
        left_out=len(models) - len(shown),
        where=(LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT),
    )
    return Fold(name="settled", title="How the estimate settled", finding=_summary(models), body=body)


def _estimates(report: StudentReport, path: StudentPath) -> Iterator[tuple[PathPoint, Interval]]:
    """The interval is of one kind from the first to the last point."""
    new_cases = report.claim != "these cases" and bool(path.points) and path.points[-1].cases_like_these is not None
    for point in path.points:
        interval = point.cases_like_these if new_cases else point.these_cases
        if interval is not None:
            yield point, interval


def _summary(models: Sequence[_Model]) -> str:
    pairs = sorted({model.path.points[-1].pairs for model in models})
    between_them = f"{pairs[0]} to {pairs[-1]} pairs" if len(pairs) > 1 else count(pairs[0], "pair")
    return between_them if len(models) == 1 else f"{len(models)} models, {between_them} each"


def _panels(evaluation: Evaluation, models: Sequence[_Model]) -> list[dict[str, object]]:
    ends = [end for model in models for _, interval in model.estimates for end in (interval.low, interval.high)]
    low, high = max(-1.0, min(*ends, -0.1)), min(1.0, max(*ends, 0.1))
    most = max(model.path.points[-1].pairs for model in models)

    def x(pairs: int) -> float:
        return LEFT + (RIGHT - LEFT) * pairs / most

    def y(lift: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (min(high, max(low, lift)) - low) / (high - low)

    panels = []
    for model in models:
        upper = [(x(point.pairs), y(interval.high)) for point, interval in model.estimates]
        lower = [(x(point.pairs), y(interval.low)) for point, interval in reversed(model.estimates)]
        line = [(x(point.pairs), y(point.mean)) for point in model.path.points]
        panels.append(
            {
                "name": model.report.student.name,
                "colour": verdict_colour(model.report.verdict),
                "band": _coordinates([*upper, *lower]),
                "line": _coordinates(line),
                "end": line[-1],
                "zero": y(0),
                "most": most,
                "marks": [
                    ("0", y(0) + 4),
                    *((points(end), y(end) + 4) for end in (low, high) if abs(y(end) - y(0)) > APART),
                ],
                "finding": _settled_finding(evaluation, model),
            }
        )
    return panels


def _coordinates(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{across:.1f},{down:.1f}" for across, down in places)


def _settled_finding(evaluation: Evaluation, model: _Model) -> str:
    return f"{_clear(model)} {_stopped(evaluation, model)}"


def _clear(model: _Model) -> str:
    """From which pair on the interval excluded no lift at all."""
    since = None
    for point, interval in model.estimates:
        if interval.low <= 0 <= interval.high:
            since = None
        elif since is None:
            since = point
    if since is None:
        return "The confidence interval still includes 0."
    side = "above" if since.mean > 0 else "below"
    return f"The confidence interval has been {side} 0 since pair {since.pairs}."


def _stopped(evaluation: Evaluation, model: _Model) -> str:
    report, last, cap = model.report, model.path.points[-1].pairs, model.path.cap
    dropped = report.lifts[0].dropped if report.lifts else 0
    if report.stopped is None and not (evaluation.interrupted and last + dropped < cap):
        return f"All {cap} planned pairs were run."
    why = REASONS.get(report.stopped or "interrupted", report.stopped)
    late = f" {count(report.late, 'answer')} arrived later and did not count." if report.late else ""
    return f"Stopped after {last} of at most {count(cap, 'pair')} because {why}.{late}"


def _estimate_rows(model: _Model) -> Iterator[tuple[str, ...]]:
    """The estimate at a few numbers of pairs, the last always among them."""
    step = -(-len(model.estimates) // ROWS_PER_MODEL)
    chosen = model.estimates[::-1][::step][::-1]
    for point, interval in chosen:
        yield model.report.student.name, str(point.pairs), points(point.mean), between(interval)
