"""The failed trials on learn cases as a teacher sees them: the task, the answer, what each check saw. Nothing else.

No reference answer and no held-out case: the caller passes learn cases only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from upskill.domain import Case, Scored, Trial
from upskill.domain.text import decoded
from upskill.teaching.prompts import prompt, quoted

MOST_FAILURES = 12
MOST_CHARACTERS = 36_000
"""For all failures of one request together, about nine thousand tokens."""
LEAST_EACH = 1_200
MOST_PROMPT = 3_000
MOST_SEEN = 600
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


def failure_of(case: Case, trial: Trial, *, passes_without: bool | None = None) -> Failure | None:
    """What a teacher is shown of one trial; `None` where it passed, or measured nothing."""
    outcome = trial.outcome
    if not isinstance(outcome, Scored) or outcome.passed:
        return None
    saw = [
        f"{'passed' if result.passed else 'FAILED'} {result.kind}: {cut(result.saw, MOST_SEEN)}"
        for result in outcome.grade.results
    ]
    if outcome.end != "answered":
        saw.insert(0, f"the trial ended with: {outcome.end}")
    use = trial.skill_use
    if use is not None and use.listed and not use.loaded:
        saw.insert(0, "the student was offered the skill by its name and description, and did not load it")
    return Failure(
        case_id=case.id,
        prompt=case.prompt,
        answer=_answer(trial),
        saw=tuple(saw),
        student=trial.student,
        passes_without=passes_without,
    )


def choose(failures: Iterable[Failure], *, most: int = MOST_FAILURES) -> tuple[Failure, ...]:
    """The failures to show: first those that the skill caused, then one of each student in turn, by case."""
    broken: list[Failure] = []
    rest: dict[str, list[Failure]] = {}
    for failure in sorted(failures, key=lambda one: (one.case_id, one.student)):
        if failure.passes_without:
            broken.append(failure)
        else:
            rest.setdefault(failure.student, []).append(failure)
    in_turn = [one for turn in zip_longest(*rest.values()) for one in turn if one is not None]
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
    without = {True: "yes: the skill does harm here", False: "no", None: "not measured"}[failure.passes_without]
    saw = cut("\n".join(f"- {one}" for one in failure.saw), most // 3)
    task = cut(failure.prompt, min(MOST_PROMPT, most // 3))
    answer = cut(failure.answer, most - len(saw) - len(task))
    told = {"task": quoted(task), "answer": quoted(answer or "(nothing)"), "saw": quoted(saw)}
    return prompt("failure", number=number, without=without, **told) + "\n"


def _answer(trial: Trial) -> str:
    parts = [trial.answer.strip()]
    parts += [f"[file {path}]\n{_text(data)}" for path, data in sorted(trial.files.items())[:MOST_FILES]]
    more = len(trial.files) - MOST_FILES
    if more > 0:
        parts.append(f"[{more} more files]")
    parts += [f"[removed {path}]" for path in trial.removed[:MOST_FILES]]
    return "\n\n".join(part for part in parts if part)


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
