"""An answer, its files and its tool calls -> what was seen, pass or fail. Knows nothing of trials or models.

One module per kind. `KINDS` is the registry: a new kind is a new module and one line here.
"""

import json
from dataclasses import replace

from upskill.core.checks.command import Command
from upskill.core.checks.commands import Commands, FilesRead
from upskill.core.checks.contains import Contains, Equals, Excludes, File, Lines
from upskill.core.checks.judge import Judge, JudgeMissing
from upskill.core.checks.kind import (
    CheckOutcome,
    GradingContext,
    JudgeQuestion,
    Kind,
    Need,
    NotRecorded,
    Submission,
    suggestion,
)
from upskill.core.checks.python import Python
from upskill.core.checks.regex import Regex
from upskill.core.checks.structured import JSON, TOML, YAML
from upskill.core.checks.tools import Tokens, Tools, Turns
from upskill.core.nouns import Answer, Case, Check, CheckOffer, CheckResult, Grade
from upskill.core.nouns.case import dialogue, turn_name
from upskill.core.nouns.text import printable

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        *(Contains(), Excludes(), Equals(), Lines(), Regex(), File(), JSON, TOML, YAML, Command()),
        *(Python(), Judge(), Tools(), Commands(), FilesRead(), Turns(), Tokens()),
    )
}

MOST_SEEN = 2_000
_ON_WORDS = [f"`{kind.name}`" for kind in KINDS.values() if kind.only_words]
NO_JUDGE = (
    "checks in prose need a judge; name a model with --judge, "
    f"or add {', '.join(_ON_WORDS[:-1])} or {_ON_WORDS[-1]} checks"
)


def check_problems(check: Check, *, judge: bool = False) -> list[str]:
    """What is wrong with a check, in words for the person who wrote it; empty when it can be graded.

    `judge` says whether there is a model that judges. Without one, a check that needs it cannot be graded.
    """
    kind = KINDS.get(check.kind)
    if kind is not None:
        return [NO_JUDGE] if kind.judges and not judge else kind.problems(check.spec)
    return [f"unknown kind of check `{check.kind[:40]}`; {suggestion(check.kind, sorted(KINDS))}"]


def case_problems(case: Case) -> list[str]:
    """What is wrong with checks that only the whole case can show; asked once each check by itself is in order."""
    found = [
        problem
        for part in case.parts
        for check in part.checks
        for problem in KINDS[check.kind].case_problems(check.spec, part)
    ]
    for number, turn in enumerate(case.turns[:-1], 1):
        found += [
            f"case {case.id}, {turn_name(number, case.turns)}: `{check.kind}` looks at what is left and done "
            "at the end; move it to the last turn"
            for check in turn.checks
            if KINDS[check.kind].of_the_way or "files" in KINDS[check.kind].needs(check.spec)
        ]
    return list(dict.fromkeys(found))


def describe(check: Check) -> str:
    """What a check asks for, in words for a person who reads a result; any spec has a description."""
    kind = KINDS.get(check.kind)
    said = json.dumps(check.spec, ensure_ascii=False) if kind is None else kind.describe(check.spec)
    return said if len(said) <= MOST_SEEN else said[:MOST_SEEN] + "…"


def needs(case: Case) -> frozenset[Need]:
    """What the checks of a case need beside the text of an answer."""
    return frozenset(need for check in case.checks for need in KINDS[check.kind].needs(check.spec))


def grade(case: Case, answer: Answer, *, context: GradingContext = GradingContext()) -> Grade:  # noqa: B008 - frozen
    """Run every check of a case on an answer. A check that crashes raises: that is never a failed answer.

    In a conversation the checks of a turn see the answer to it. Files and tool calls are for those of the last turn.
    """
    if not case.turns:
        submission = Submission(case=case, answer=answer, context=context)
        return Grade(results=tuple(_run(check, submission) for check in case.checks))
    prompts, answers = [turn.prompt for turn in case.turns], (*answer.earlier, answer.text)
    results: list[CheckResult] = []
    for number, part in enumerate(case.parts, 1):
        name = turn_name(number, prompts)
        if number > len(answers):
            unasked = f"{name}: the conversation ended before it"
            results += (CheckResult(kind=check.kind, passed=False, saw=unasked) for check in part.checks)
            continue
        if number > 1:  # a judge reads what was said before
            part = replace(part, prompt=dialogue(prompts[:number], answers[: number - 1]))
        mine = replace(answer, earlier=()) if number == len(prompts) else Answer(text=answers[number - 1])
        submission = Submission(case=part, answer=mine, context=context)
        found = (_run(check, submission) for check in part.checks)
        results += (replace(result, saw=f"{name}: {result.saw}") for result in found)
    return Grade(results=tuple(results))


def _run(check: Check, submission: Submission) -> CheckResult:
    outcome = KINDS[check.kind].check(check.spec, submission)
    # What was seen goes to terminals and reports, and part of it was written by a model.
    saw = outcome.saw if len(outcome.saw) <= MOST_SEEN else outcome.saw[:MOST_SEEN] + "…"
    saw = printable(saw, instead="\ufffd")
    return CheckResult(kind=check.kind, passed=outcome.passed, saw=saw, basis=outcome.basis)


def judge_questions(case: Case) -> int:
    """How many questions the judge is asked to grade one answer of a case."""
    return sum(KINDS[check.kind].questions(check.spec) for check in case.checks)


def offers() -> tuple[CheckOffer, ...]:
    """The kinds that a teacher may write checks of, in the order of the registry."""
    return tuple(
        CheckOffer(
            kind=kind.name,
            guidance=" ".join((kind.guidance, *kind.rules)) if kind.guidance else "",
            schema=kind.schema,
            runs_programs="sandbox" in kind.needs({}),
            only_words=kind.only_words,
        )
        for kind in KINDS.values()
        if kind.schema is not None
    )


__all__ = [
    "KINDS",
    "CheckOutcome",
    "GradingContext",
    "JudgeMissing",
    "JudgeQuestion",
    "Need",
    "NotRecorded",
    "case_problems",
    "check_problems",
    "describe",
    "grade",
    "judge_questions",
    "needs",
    "offers",
]
