"""How the answers of a run are graded: in which sandbox, by which judge, and without a new judgement."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from upskill.checks import CheckOutcome, GradingContext, JudgeMissing, JudgeQuestion, grade
from upskill.domain import Case, Grade, Scored, Trial
from upskill.domain.thinking import without_thinking
from upskill.models import Endpoint, JudgeClient, MeteredClient, Purpose
from upskill.sandbox import SandboxFacts, open_sandbox
from upskill.workflows.evaluating.judge import identity


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
