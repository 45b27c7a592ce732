"""`judge`: criteria in prose, decided by a model. The only kind that costs money, and the only one that may vary.

Its outcome carries a basis: the digest of everything the judgement rests on. Grading again reuses a judgement with the
same basis and never asks a model. A comparison with the reference asks in both orders, and each of them twice: models
prefer what comes first, and a preference that changes with the order is none.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from upskill import disk
from upskill.core.checks.answer_files import answer_files_of
from upskill.core.checks.kind import CheckOutcome, JudgeQuestion, Need, ObjectKind, Submission, shown, type_name
from upskill.core.nouns import Answer, Case, digest_of
from upskill.core.nouns.answer import answer_digest
from upskill.core.nouns.case import Json

MOST_SHOWN = 60_000
"""Characters of an answer, and of its files together, that a judge is given."""
ROUNDS = 2
_REPAIR = "Your reply could not be used: {problem}. Reply again, with the one JSON object asked for and nothing else."
Reply = TypeVar("Reply")


class JudgeMissing(Exception):
    """A judgement is needed, and there is no judge to ask."""


class JudgeUnclear(Exception):
    """The judge gave two replies that could not be read. Nothing was measured."""


class Judge(ObjectKind):
    """Passes when the judge finds every criterion met; with `against`, when the answer is never the worse one."""

    name = "judge"
    keys = ("rubric", "statements", "expected", "against")
    short_for = "rubric"
    judges = True
    rules = (
        "The judge reads the text as it is and the files of the answer.",
        f"At most {MOST_SHOWN:,} characters of each are read.",
    )

    def problems(self, spec: Json) -> list[str]:
        """A rubric, or an object with `rubric`, `statements` or `expected`, and perhaps `against`."""
        if not isinstance(spec, str | dict):
            return [f"`judge` must be a rubric, or an object with `rubric` or `statements`, not {type_name(spec)}"]
        spec = self.as_object(spec)
        problems = self.unknown_keys(spec)
        for key in ("rubric", "expected"):
            if key in spec and not (isinstance(spec[key], str) and str(spec[key]).strip()):
                problems.append(f"`judge`: `{key}` must be a text")
        statements = spec.get("statements", [])
        if not isinstance(statements, list) or ("statements" in spec and not statements):
            problems.append("`judge`: `statements` must be a list of statements")
        elif any(item is None or (isinstance(item, str) and not item.strip()) for item in statements):
            problems.append("`judge`: a statement is empty")
        if not problems and not criteria_of(spec):
            problems.append("`judge`: has nothing to judge by; add `rubric` or `statements`")
        if spec.get("against", "reference") != "reference":
            problems.append('`judge`: `against` can only be "reference"')
        return problems

    def describe(self, spec: Json) -> str:
        than = "is never worse than the reference: " if _compares(spec) else ""
        return f"the judge finds that the answer {than or 'meets: '}{'; '.join(criteria_of(spec))}"

    def needs(self, spec: Json) -> frozenset[Need]:
        return frozenset({"judge"})

    def case_problems(self, spec: Json, case: Case) -> list[str]:
        if not _compares(spec) or case.reference is not None:
            return []
        return [f"case {case.id}: the judge compares with the reference, and there is none; add `reference`"]

    def questions(self, spec: Json) -> int:
        """A comparison is asked in both orders, several times."""
        return 2 * ROUNDS if _compares(spec) else 1

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """Reuses a judgement that was paid for before; asks the judge otherwise."""
        against = _compares(spec)
        if against and submission.case.reference is None:
            raise JudgeMissing(f"case {submission.case.id}: the judge compares with the reference, and there is none")
        basis = _basis(spec, submission, against=against)
        known = submission.context.judged.get(basis)
        if known is not None:
            return known
        if submission.context.ask is None:
            raise JudgeMissing(
                f"case {submission.case.id}: this check has no stored judgement of this answer, and there is no judge"
            )
        outcome = _compare(spec, submission) if against else _meets(spec, submission)
        return outcome._replace(basis=basis)


def _compares(spec: Json) -> bool:
    return isinstance(spec, dict) and "against" in spec


def criteria_of(spec: Json) -> list[str]:
    """The criteria to judge by."""
    if not isinstance(spec, dict):
        return [str(spec).strip()]
    found = [str(spec["rubric"]).strip()] if spec.get("rubric") else []
    statements = spec.get("statements")
    for item in statements if isinstance(statements, list) else []:
        found.append(item.strip() if isinstance(item, str) else json.dumps(item, ensure_ascii=False))
    if spec.get("expected"):
        found.append(f"The answer is as is expected here: {str(spec['expected']).strip()}")
    return found


def _basis(spec: Json, submission: Submission, *, against: bool) -> str:
    reference = submission.case.reference
    return digest_of(
        {
            "judge": submission.context.judge,
            "prompt": _prompt("judge_compare" if against else "judge_criteria"),
            "spec": spec,
            "case": submission.case.prompt,
            "answer": answer_digest(submission.answer),
            "reference": answer_digest(reference) if against and reference is not None else None,
        }
    )


def _meets(spec: Json, submission: Submission) -> CheckOutcome:
    criteria = criteria_of(spec)
    prompt = "\n\n".join(
        (
            _marked("task", submission.case.prompt),
            _marked("answer", _shown_answer(submission, submission.answer)),
            "Criteria:\n" + "\n".join(f"{number}. {text}" for number, text in enumerate(criteria, 1)),
        )
    )
    met = _asked("judge_criteria", prompt, submission, read=lambda reply: _read_criteria(reply, len(criteria)))
    failed = [number for number, (passed, _) in enumerate(met, 1) if not passed]
    if not failed:
        return CheckOutcome(
            True, f"judge: all {len(criteria)} met" if len(criteria) > 1 else f"judge: met: {met[0][1]}"
        )
    why = "; ".join(f"{shown(criteria[number - 1])}: {met[number - 1][1]}" for number in failed[:3])
    return CheckOutcome(False, f"judge: {len(failed)} of {len(criteria)} not met: {why}")


def _compare(spec: Json, submission: Submission) -> CheckOutcome:
    mine = _shown_answer(submission, submission.answer)
    other = _shown_answer(submission, submission.case.reference or Answer())
    criteria = "Criteria:\n" + "\n".join(f"- {text}" for text in criteria_of(spec))
    verdicts: list[str] = []
    reasons: list[str] = []
    for _ in range(ROUNDS):
        for first, second, mine_is in ((mine, other, "A"), (other, mine, "B")):
            prompt = "\n\n".join(
                (
                    _marked("task", submission.case.prompt),
                    _marked("answer A", first),
                    _marked("answer B", second),
                    criteria,
                )
            )
            better, why = _asked("judge_compare", prompt, submission, read=_read_comparison)
            verdicts.append("same" if better == "same" else "better" if better == mine_is else "worse")
            reasons.append(why)
    told = ", ".join(f"{verdicts.count(word)} {word}" for word in ("better", "same", "worse") if word in verdicts)
    if "worse" not in verdicts:
        return CheckOutcome(True, f"judge: against the reference {told}")
    if set(verdicts) == {"worse"}:
        return CheckOutcome(False, f"judge: against the reference {told}: {reasons[0]}")
    return CheckOutcome(False, f"judge: gave different verdicts when asked again or in the other order: {told}")


def _asked(name: str, prompt: str, submission: Submission, *, read: Callable[[str], Reply]) -> Reply:
    """The reply, read strictly. The judge may repair one that cannot be read once."""
    ask = submission.context.ask
    if ask is None:
        raise JudgeMissing("there is no judge")
    question = JudgeQuestion(system=_prompt(name), prompt=prompt, case_id=submission.case.id)
    reply = ask(question)
    try:
        return read(reply)
    except ValueError as error:
        again = f"{prompt}\n\n{_marked('your reply', reply[:4_000])}\n\n{_REPAIR.format(problem=error)}"
    reply = ask(replace(question, prompt=again))
    try:
        return read(reply)
    except ValueError as error:
        raise JudgeUnclear(f"the judge's reply could not be used twice: {error}; its reply: {shown(reply)}") from None


def _read_criteria(reply: str, count: int) -> list[tuple[bool, str]]:
    listed = _object_in(reply).get("criteria")
    if not isinstance(listed, list) or len(listed) != count:
        raise ValueError(f"`criteria` must be a list of {count}")
    found = []
    for number, item in enumerate(listed, 1):
        if not isinstance(item, dict) or item.get("number") != number or not isinstance(item.get("met"), bool):
            raise ValueError(f"criterion {number} must be an object with `number` {number} and `met` true or false")
        found.append((bool(item["met"]), _reason(item)))
    return found


def _read_comparison(reply: str) -> tuple[str, str]:
    found = _object_in(reply)
    if found.get("better") not in ("A", "B", "same"):
        raise ValueError('`better` must be "A", "B" or "same"')
    return str(found["better"]), _reason(found)


def _reason(item: dict[str, Any]) -> str:
    return " ".join(str(item.get("why") or "no reason given").split())[:200]


def _object_in(reply: str) -> dict[str, Any]:
    """The one object of a reply. A fence around it is allowed, other words are not."""
    text = reply.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.split("\n", 1)[1].rsplit("```", 1)[0]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is not one JSON object") from None
    if not isinstance(value, dict):
        raise ValueError("it is not one JSON object")
    return value


def _shown_answer(submission: Submission, answer: Answer) -> str:
    """The text and the real files of an answer, cut where a judge could not read it all."""
    fenced = answer_files_of(replace(submission, answer=answer)).fenced
    parts = [_cut(answer.text)]
    room = MOST_SHOWN
    for path, data in sorted(answer.files.items()):
        text = data.decode("utf-8", "replace")
        parts.append(f"[file {path}, {len(data):,} bytes]\n{_cut(text, most=max(room, 0))}")
        room -= len(text)
    if not answer.files and fenced.refused:
        parts.append(f"[{'; '.join(fenced.refused[:3])}]")
    return "\n\n".join(part for part in parts if part.strip()) or "[the answer is empty]"


def _cut(text: str, *, most: int = MOST_SHOWN) -> str:
    return text if len(text) <= most else f"{text[:most]}\n[cut here; {len(text) - most:,} more characters]"


def _marked(name: str, content: str) -> str:
    """The content between marker lines that it cannot contain: the marker is its own digest."""
    mark = digest_of(content)[:16]
    return f"--- {name} {mark} begins ---\n{content}\n--- {name} {mark} ends ---"


@cache
def _prompt(name: str) -> str:
    return disk.packaged("upskill.core.checks", f"{name}.md").strip()
