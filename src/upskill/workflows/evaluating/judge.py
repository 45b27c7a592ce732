"""How answers are graded in a run: by which judge and in which sandbox, or without a new judgement."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from upskill import measuring
from upskill.checks import CheckOutcome, GradingContext, JudgeMissing, JudgeQuestion, grade
from upskill.domain import Case, Grade, JudgeReport, Scored, Trial
from upskill.domain.thinking import without_thinking
from upskill.errors import UsageError
from upskill.models import Endpoint, JudgeClient, MeteredClient, Purpose, resolve_model
from upskill.sandbox import SandboxFacts, open_sandbox
from upskill.settings import Settings


def judge_endpoint(settings: Settings, students: dict[str, Endpoint]) -> Endpoint | None:
    """The model named with --judge, so that a local student can be judged by a model that is served elsewhere.

    It is at the students' server only if a student has its name, or no provider knows it.
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
    """The model and where it is served, as records name it."""
    if endpoint is None:
        return None
    return endpoint.model if endpoint.base_url is None else f"{endpoint.model} at {endpoint.base_url}"


def judge_report(judge: str | None, trials: Iterable[Trial], client: MeteredClient | None) -> JudgeReport | None:
    """How often the judge and the other checks agree, and what its calls cost; `None` where there is no judge."""
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


def grading_context(sandbox: SandboxFacts | None, scratch: Path) -> GradingContext:
    """The context without a judge; with sandboxes in `scratch` where anything is executed."""
    if sandbox is None:
        return GradingContext()
    return GradingContext(open_sandbox=partial(open_sandbox, backend=sandbox.backend, scratch=scratch))


def with_judge(
    context: GradingContext, endpoint: Endpoint | None, client: MeteredClient
) -> tuple[GradingContext, JudgeClient | None]:
    """The context with a judge to ask, and the client by which it is asked, to be closed at the end."""
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
    try:
        return grade(case, trial.full_answer, context=replace(context, ask=None, judge=judge, judged=judged))
    except JudgeMissing:
        return None
