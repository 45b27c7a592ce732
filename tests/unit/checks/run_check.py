"""One kind of check, put to one answer."""

from upskill.checks import KINDS, CheckOutcome, GradingContext
from upskill.checks.kind import Kind, Submission
from upskill.domain import Answer, Case, Files
from upskill.domain.case import Json


def run_check(
    kind: Kind | str,
    spec: Json,
    text: str = "",
    *,
    files: Files | None = None,
    case_files: Files | None = None,
    context: GradingContext | None = None,
    reference: Answer | None = None,
) -> CheckOutcome:
    """What a check sees in an answer, after its spec was found to be in order."""
    found = KINDS[kind] if isinstance(kind, str) else kind
    case = Case(id="c", prompt="Write it.", checks=(), files=case_files or {}, reference=reference)
    return found.check(
        spec, Submission(case=case, answer=Answer(text=text, files=files or {}), context=context or GradingContext())
    )
