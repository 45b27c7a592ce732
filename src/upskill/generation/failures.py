"""What a teacher is shown of answers: failed trials on learn cases, and comments of a person.

No reference answer, and nothing of a held-out case: callers pass learn cases only."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from upskill.core.nouns import Case, Check, CheckResult, Files, Scored, Trial
from upskill.core.nouns.text import decoded
from upskill.generation.material import CommentedAnswer, Opinion, Subject
from upskill.generation.prompts import prompt, quoted

MOST_FAILURES = 12
MOST_CHARACTERS = 36_000
"""For all failures of one request together, about nine thousand tokens."""
LEAST_EACH = 1_200
MOST_PROMPT = 3_000
MOST_SEEN = 1_300
"""The end of both streams of a program, as its check reports them."""
MOST_ASKED = 600
MOST_FILES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """One failed trial of a learn case."""

    case_id: str
    prompt: str
    answer: str
    saw: tuple[str, ...]
    """What each check saw, and how the trial ended where it did not end with an answer."""
    student: str = ""
    passes_without: bool | None = None
    """Whether the same student passes the case without the skill; `None` where that was not measured."""
    files: str = ""
    """The files of the task."""
    passage: str = ""
    """The part of the material that the answer rests on."""
    without: str = ""
    """The same student's answer without the skill."""
    reachable: bool | None = None
    """Whether the student passed the case in aptitude, in either arm; `None` where that was not measured."""


def failure_of(
    case: Case,
    trial: Trial,
    *,
    without: Trial | None = None,
    passes_without: bool | None = None,
    reachable: bool | None = None,
) -> Failure | None:
    """What a teacher is shown of one trial; `None` where it passed, or measured nothing. `without`: no skill."""
    outcome = trial.outcome
    if not isinstance(outcome, Scored) or outcome.passed:
        return None
    saw = _saw(case.checks, outcome.grade.results)
    if outcome.end == "cut":
        tokens = trial.usage.output_tokens
        at = "" if tokens is None else f" at {tokens:,} tokens"
        saw.insert(0, f"the answer was cut{at}, the longest that this student may give")
    elif outcome.end != "answered":
        saw.insert(0, f"the trial ended with: {outcome.end}")
    use = trial.skill_use
    if use is not None and use.listed and not use.loaded:
        saw.insert(0, "the student was offered the skill by its name and description, and did not load it")
    return Failure(
        case_id=case.id,
        prompt=case.prompt,
        answer=answer_text(trial),
        saw=tuple(saw),
        student=trial.student,
        passes_without=passes_without,
        files="\n\n".join(_shown(case.files)),
        passage=case.passage or "",
        without="" if without is None else answer_text(without),
        reachable=reachable,
    )


def _saw(checks: Sequence[Check], results: Sequence[CheckResult]) -> list[str]:
    """A line for every check, with what a failed program check ran; what several saw alike stands once."""
    lines: Counter[str] = Counter()
    for number, result in enumerate(results):
        asked = checks[number] if number < len(checks) and checks[number].kind == result.kind else None
        ran = asked is not None and asked.kind in ("command", "python", "regex") and not result.passed
        told = f" (the check: {cut(_spec(asked), MOST_ASKED)})" if ran and asked is not None else ""
        seen = cut(_without_repeats(result.saw), MOST_SEEN)
        lines[f"{'passed' if result.passed else 'FAILED'} {result.kind}: {seen}{told}"] += 1
    return [line if times == 1 else f"{line} ({times} times)" for line, times in lines.items()]


def _without_repeats(saw: str) -> str:
    """What a check saw, each line of a program's output once."""
    first, *rest = re.split(r"(; std(?:err|out): | / )", saw)
    kept, seen = [first], {first}
    for mark, line in zip(rest[::2], rest[1::2], strict=True):
        if mark != " / " or line not in seen:
            kept += (mark, line)
        seen.add(line)
    return "".join(kept)


def _spec(check: Check) -> str:
    return check.spec if isinstance(check.spec, str) else json.dumps(check.spec, ensure_ascii=False)


def choose(failures: Iterable[Failure], *, most: int = MOST_FAILURES) -> tuple[Failure, ...]:
    """The failures to show: those that the skill caused, then one of each student in turn, by case; last those that the
    student failed even with the passage."""
    broken: list[Failure] = []
    rest: dict[tuple[bool, str], list[Failure]] = {}
    for failure in sorted(failures, key=lambda one: (one.case_id, one.student)):
        if failure.passes_without:
            broken.append(failure)
        else:
            rest.setdefault((failure.reachable is False, failure.student), []).append(failure)
    in_turn = [
        one
        for hopeless in (False, True)
        for turn in zip_longest(*(ones for (out_of_reach, _), ones in rest.items() if out_of_reach is hopeless))
        for one in turn
        if one is not None
    ]
    return tuple([*broken, *in_turn][:most])


def describe(failures: Sequence[Failure], *, most: int = MOST_CHARACTERS) -> str:
    """The failures as a teacher reads them, within about so many characters."""
    most = min(most, MOST_CHARACTERS)
    shown = choose(failures, most=max(1, min(MOST_FAILURES, most // LEAST_EACH)))
    if not shown:
        return "The student passed every task.\n"
    parts = [_describe(number, failure, most // len(shown)) for number, failure in enumerate(shown, start=1)]
    if left := len(failures) - len(shown):
        parts.append(f"{left} more failed trial{'' if left == 1 else 's'} on these cases are not shown.\n")
    return "\n".join(parts)


def _describe(number: int, failure: Failure, most: int) -> str:
    passes = {True: "yes: the skill does harm here", False: "no", None: "not measured"}[failure.passes_without]
    known = {True: "yes, or without a skill", False: "no; plainer words may still help", None: "not measured"}
    reach = known[failure.reachable]
    saw = cut("\n".join(f"- {one}" for one in failure.saw), most // 4)
    task = cut(failure.prompt, min(MOST_PROMPT, most // 4))
    passage = cut(failure.passage, min(MOST_PROMPT, most // 6))
    files = cut(failure.files, min(MOST_PROMPT, most // 6))
    left = most - sum(map(len, (saw, task, passage, files)))
    without = cut(failure.without, left // 3)
    answer = cut(failure.answer, left - len(without))
    return (
        prompt(
            "failure",
            number=number,
            task=quoted(task),
            files=_part("Its files:", files),
            passage=_part("The passage of the material that the answer rests on:", passage),
            answer=quoted(answer or "(nothing)"),
            without_answer=_part("Its answer without the skill:", without),
            saw=quoted(saw),
            without=passes,
            reachable=reach,
        )
        + "\n"
    )


def _part(title: str, text: str) -> str:
    return f"\n{title}\n\n{quoted(text)}\n" if text.strip() else ""


def answer_text(trial: Trial) -> str:
    """What a student answered, with the first of the files that it left."""
    parts = [trial.said.strip(), *_shown(trial.files)]
    parts += [f"[removed {path}]" for path in trial.removed[:MOST_FILES]]
    return "\n\n".join(part for part in parts if part)


def _shown(files: Files) -> list[str]:
    shown = [f"[file {path}]\n{_text(data)}" for path, data in sorted(files.items())[:MOST_FILES]]
    more = len(files) - MOST_FILES
    return [*shown, f"[{more} more files]"] if more > 0 else shown


def _text(data: bytes) -> str:
    text = decoded(data)
    return f"({len(data):,} bytes that are no text)" if text is None else cut(text, MOST_PROMPT)


def cut(text: str, most: int) -> str:
    """A text within so many characters: its beginning and its end, since answers end with their conclusion."""
    if len(text) <= most:
        return text
    mark = f"\n[… {len(text) - most:,} characters left out …]\n"
    head = max(0, (most - len(mark)) * 2 // 3)
    tail = max(0, most - len(mark) - head)
    return f"{text[:head]}{mark}{text[len(text) - tail :] if tail else ''}"


MOST_COMMENTS = 20
MOST_OF_COMMENTS = 24_000
"""For all comments of one request together, about six thousand tokens."""
LEAST_OF_A_COMMENT = 600
_OPINIONS: dict[Opinion | None, str] = {
    "right": "the person calls the answer right",
    "wrong": "the person calls the answer wrong",
    "unclear": "the person calls the answer unclear",
    None: "a note of the person",
}
_SUBJECTS: dict[Subject, str] = {
    "the skill": "given with this skill",
    "another version": "given with another version of the skill, which you do not see",
    "no skill": "given without any skill",
}
_CHECKS = {True: "its checks passed it", False: "its checks failed it", None: "what its checks say of it is not known"}


def comments_text(comments: Sequence[CommentedAnswer], *, most: int = MOST_OF_COMMENTS, end: str = "\n") -> str:
    """The comments, those that ask for a change first, within about so many characters; empty where there are none."""
    if not comments:
        return ""
    most = max(LEAST_OF_A_COMMENT, min(most, MOST_OF_COMMENTS))
    shown = sorted(comments, key=lambda one: not one.is_wish)[: max(1, min(MOST_COMMENTS, most // LEAST_OF_A_COMMENT))]
    parts = [_one(number, comment, most // len(shown)) for number, comment in enumerate(shown, start=1)]
    if left := len(comments) - len(shown):
        parts.append(f"{left} more comment{'' if left == 1 else 's'} are not shown.")
    return prompt("comments", comments="\n\n".join(parts)) + end


def _one(number: int, comment: CommentedAnswer, most: int) -> str:
    checks = _CHECKS[comment.passed]
    if comment.doubts_checks:
        checks += ", and the person disagrees"
    note = cut(comment.note, most // 3)
    return prompt(
        "comment",
        number=number,
        opinion=_OPINIONS[comment.opinion],
        task=quoted(cut(comment.prompt, most // 3)),
        subject=_SUBJECTS[comment.subject],
        checks=checks,
        answer=quoted(cut(comment.answer, most // 3) or "(nothing)"),
        note=f"\nThe person's note:\n\n{quoted(note)}" if note else "",
    ).rstrip()
