"""An answer -> what was seen, pass or fail. One module per kind; knows nothing of trials, files or models.

`KINDS` is the registry: a new kind is a new module and one line here.
"""

from difflib import get_close_matches

from upskill.checks.bench import Bench, JudgeQuestion, Look
from upskill.checks.command import Command
from upskill.checks.contains import Contains, Excludes
from upskill.checks.equals import Equals
from upskill.checks.file import File
from upskill.checks.json_text import JSON
from upskill.checks.kind import Kind, Need, Work
from upskill.checks.regex import Regex
from upskill.checks.toml_text import TOML
from upskill.checks.yaml_text import YAML
from upskill.domain import Answer, Case, Check, CheckResult, Grade

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (Contains(), Excludes(), Equals(), Regex(), File(), JSON, TOML, YAML, Command())
}

KINDS_TO_COME = {
    "judge": "statements in prose need a judge, which this version does not have; "
    "add `contains`, `excludes`, `equals` or `regex` checks"
}
"""Kinds that are read and kept but cannot be graded yet, with what to do about it."""


def check_problems(check: Check) -> list[str]:
    """What is wrong with a check, in words for the person who wrote it; empty when it can be graded."""
    kind = KINDS.get(check.kind)
    if kind is not None:
        return kind.problems(check.spec)
    if check.kind in KINDS_TO_COME:
        return [KINDS_TO_COME[check.kind]]
    near = get_close_matches(check.kind, KINDS, n=1)
    guess = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(sorted(KINDS))}"
    return [f"unknown kind of check `{check.kind[:40]}`; {guess}"]


def needs(case: Case) -> frozenset[Need]:
    """What the checks of a case need beside the text of an answer."""
    return frozenset(need for check in case.checks for need in KINDS[check.kind].needs(check.spec))


def grade(case: Case, answer: Answer, *, bench: Bench = Bench()) -> Grade:  # noqa: B008 - frozen
    """Run every check of a case on an answer. A check that crashes raises: that is never a failed answer."""
    work = Work(case=case, answer=answer, bench=bench)
    return Grade(results=tuple(_run(check, work) for check in case.checks))


def _run(check: Check, work: Work) -> CheckResult:
    look = KINDS[check.kind].look(check.spec, work)
    return CheckResult(kind=check.kind, passed=look.passed, saw=look.saw, basis=look.basis)


__all__ = ["KINDS", "Bench", "JudgeQuestion", "Look", "Need", "check_problems", "grade", "needs"]
