"""The model that judges: which one it is, and what is known of its judgements."""

from collections.abc import Iterable

from upskill import measuring
from upskill.domain import JudgeReport, Trial
from upskill.errors import UsageError
from upskill.models import Endpoint, MeteredClient, resolve_model
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
