"""How answers are graded in a run: by which judge and in which sandbox, or without a new judgement."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from upskill.core import checks, statistics
from upskill.core.checks import CheckOutcome, GradingContext, JudgeMissing, JudgeQuestion, grade
from upskill.core.models import Endpoint, JudgeClient, MeteredClient, Purpose, resolve_model
from upskill.core.models.endpoint import show_model
from upskill.core.models.preflight import SERVERS, Servers
from upskill.core.nouns import Case, Grade, JudgeReport, Scored, Student, Trial
from upskill.core.nouns.answer_schemas import without_thinking
from upskill.core.settings import Settings
from upskill.errors import UsageError
from upskill.sandbox import SandboxFacts, open_sandbox

_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d\d-\d\d|latest)$")
"""How providers mark one version of a model. The name without it is served by one of those versions."""
_THIS_MACHINE = frozenset({"localhost", "::1", "0.0.0.0"})


def judge_for(
    settings: Settings,
    students: dict[str, Endpoint],
    cases: Sequence[Case],
    *,
    needs_key: bool = True,
    servers: Servers = SERVERS,
) -> tuple[Endpoint | None, tuple[str, ...]]:
    """The judge that the cases need, if any, and notes on it. Raises where it is one of the students, unless the
    settings allow that. A plan that asks nobody does without its key."""
    judge = needed_judge(settings, students, cases)
    if judge is None:
        unused = settings.judge and not _is_judged(cases)
        return None, ("no case needs a judge, so --judge is not used",) if unused else ()
    same = [name for name, student in students.items() if is_same_model(judge, student, servers=servers)]
    if same and not settings.judge_is_student:
        raise UsageError(
            f"{same[0]} would judge its own answers, and models rate their own answers too high",
            hint="name a model that is not measured with --judge; "
            "to allow it, set UPSKILL_JUDGE_IS_STUDENT=true (setting: judge_is_student)",
        )
    notes = () if judge.name in students else servers.probe(judge, needs_key=needs_key).notes
    return judge, (*notes, *map(own_judge_note, same))


def needed_judge(settings: Settings, students: dict[str, Endpoint], cases: Sequence[Case]) -> Endpoint | None:
    """The judge that is named, if a case needs one. Asks nobody."""
    return judge_endpoint(settings, students) if _is_judged(cases) else None


def _is_judged(cases: Sequence[Case]) -> bool:
    return any("judge" in checks.needs(case) for case in cases)


def own_judge_note(student: str) -> str:
    """What every result says where a student judged itself."""
    return f"{student} judged its own answers (setting: judge_is_student); models rate their own answers too high"


def own_judges(judge: str | None, students: Iterable[Student]) -> tuple[str, ...]:
    """The students of a recorded run that judged themselves, as far as names show it."""
    return tuple(
        student.name
        for student in students
        if judge is not None
        and judge == (student.model if student.endpoint is None else f"{student.model} at {student.endpoint}")
    )


def is_same_model(one: Endpoint, other: Endpoint, *, servers: Servers = SERVERS) -> bool:
    """Whether two names are answered by the same model: one name at one place, or one model that a server has behind
    both names, as a server of a single model has behind any."""
    if _place(one.base_url) != _place(other.base_url):
        return False
    names = {one.model, other.model}
    if len(names) == 1 or (len({_DATE.sub("", name) for name in names}) == 1 and any(map(_is_undated, names))):
        return True
    if not (one.is_custom and other.is_custom):
        return False
    mine, its = servers.probe(one), servers.probe(other)
    return any(
        known is not None and known == same for known, same in ((mine.weights, its.weights), (mine.only, its.only))
    )


def _is_undated(name: str) -> bool:
    return _DATE.search(name) is None


def _place(url: str | None) -> tuple[str, int | None, str] | None:
    if url is None:
        return None
    parts = urlsplit(url)
    host = parts.hostname or ""
    return "127.0.0.1" if host in _THIS_MACHINE else host, parts.port, parts.path.rstrip("/")


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
        endpoint = resolve_model(name, aliases=settings.aliases, alias_origin=settings.untyped.get("aliases"))
    except UsageError:
        if settings.base_url is None:
            raise
        return show_model(name, settings=settings)
    if endpoint.is_handoff:
        raise UsageError(f"{name}: a hand-off can teach, but not judge", hint="name a model with --judge")
    return endpoint


def identity(endpoint: Endpoint | None) -> str | None:
    """The model and where it is served, as records name it."""
    if endpoint is None:
        return None
    return endpoint.model if endpoint.base_url is None else f"{endpoint.model} at {endpoint.base_url}"


def judge_report(judge: str | None, trials: Iterable[Trial], client: MeteredClient | None) -> JudgeReport | None:
    """How often the judge and the other checks agree, and what its calls cost; `None` where there is no judge."""
    if judge is None:
        return None
    agreement = statistics.judge_agreement(trials)
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
    """Grade a stored answer; judgements are those of its own last grade. `None` where one would have to be bought.

    Raises `NotRecorded` where a check asks for what was not recorded.
    """
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
