"""The model that judges: who it is, how a check asks it, and what is known of its judgements."""

from collections.abc import Iterable
from dataclasses import replace

from upskill import measuring
from upskill.checks import CheckOutcome, GradingContext, JudgeMissing, JudgeQuestion, grade
from upskill.domain import Case, Grade, JudgeReport, Scored, Trial
from upskill.domain.thinking import without_thinking
from upskill.errors import UsageError
from upskill.models import Endpoint, JudgeClient, MeteredClient, Purpose, resolve_model
from upskill.settings import Settings


def judge_endpoint(settings: Settings, students: dict[str, Endpoint]) -> Endpoint | None:
    """The model named with --judge. It is at the students' server only if one of them has its name or nobody else does.

    So a local student can be judged by a model that is served elsewhere.
    """
    name = settings.judge
    if name is None:
        return None
    if name in students:
        return students[name]
    try:
        return resolve_model(name, aliases=settings.aliases)
    except UsageError:
        if settings.base_url is None:
            raise
        return resolve_model(name, base_url=settings.base_url, aliases=settings.aliases)


def identity(endpoint: Endpoint | None) -> str | None:
    """Who judged, as part of what a judgement rests on."""
    if endpoint is None:
        return None
    return endpoint.model if endpoint.base_url is None else f"{endpoint.model} at {endpoint.base_url}"


def with_judge(
    context: GradingContext, endpoint: Endpoint | None, client: MeteredClient
) -> tuple[GradingContext, JudgeClient | None]:
    """The grading context with somebody to ask, and whoever is asked, to be closed at the end."""
    if endpoint is None:
        return context, None
    judge_client = JudgeClient(client, endpoint)

    def ask(question: JudgeQuestion) -> str:
        purpose = Purpose(role="judge", case_id=question.case_id)
        return without_thinking(judge_client.ask(system=question.system, prompt=question.prompt, purpose=purpose))

    return replace(context, ask=ask, judge=identity(endpoint)), judge_client


def grade_without_asking(case: Case, trial: Trial, context: GradingContext, *, judge: str | None) -> Grade | None:
    """Grade a stored answer; judgements are those of its own last grade. `None` where one would have to be bought."""
    judged: dict[str, CheckOutcome] = {}
    if isinstance(trial.outcome, Scored):
        judged = {
            result.basis: CheckOutcome(result.passed, result.saw, result.basis)
            for result in trial.outcome.grade.results
            if result.basis is not None
        }
    if judged or context.ask is not None or context.judge != judge:
        context = replace(context, ask=None, judge=judge, judged=judged)
    try:
        return grade(case, trial.full_answer, context=context)
    except JudgeMissing:
        return None


def judge_report(judge: str | None, trials: Iterable[Trial], client: MeteredClient | None) -> JudgeReport | None:
    """How often the judge and the other checks agree, and what its calls took; `None` where nothing was judged."""
    if judge is None:
        return None
    agreement = measuring.judge_agreement(trials)
    spent = None if client is None else client.spent_by.get(("judge", None))
    return JudgeReport(
        model=judge,
        judged=agreement.judged,
        compared=agreement.compared,
        agreed=agreement.agreed,
        calls=0 if spent is None else spent.calls,
        cost=0.0 if spent is None else spent.cost,
    )
