"""Serve a hand-off: what is open, whether an answer has the right form, and taking it, for commands that ask and for
`upskill handoff`, which answers."""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import click

from upskill import disk
from upskill.core.models.handoff import (
    MOST_ANSWER_BYTES,
    AnsweredAlready,
    HandoffQuestion,
    RequestKind,
    State,
    answer_of,
    place_request,
    questions_in,
    read_safely,
    read_state,
    side_folders,
    take_answer,
)
from upskill.core.models.teacher_answers import value_in
from upskill.core.nouns.skill import TEACHING_FILE
from upskill.core.runs.handing_off import form_problems
from upskill.core.runs.own_runs import resume_command
from upskill.core.runs.run_folders import is_held
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_NOT_SHOWN, UpskillError, UsageError
from upskill.processes import edited
from upskill.terminal import options
from upskill.terminal.output import print_json, print_lines

POLL_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenQuestion:
    """A question without a usable answer."""

    question: HandoffQuestion
    problems: tuple[str, ...]
    """What is wrong with the answer that lies there; empty where there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HandoffStatus:
    """What a hand-off, or one of its two folders, waits for."""

    folder: Path
    open: tuple[OpenQuestion, ...]
    answered: int
    state: State
    """`running` only while the command that asks is at work."""
    outcomes: tuple[str, ...] = ()
    """What came of each side, once it is finished."""


class AnswerRefused(UpskillError):
    """An answer does not have the form that was asked for; `problems` lists everything that is wrong."""

    exit_code = UsageError.exit_code


def handoff_status(folder: Path) -> HandoffStatus:
    """What is open in a hand-off, or in one of its folders, and whether more may be asked."""
    opened: list[OpenQuestion] = []
    questions = questions_in(folder)
    for question in questions:
        text, problems = answer_of(question, form_problems)
        if text is None:
            opened.append(OpenQuestion(question=question, problems=problems))
    sides = [_state_of_side(side) for side in side_folders(folder)]
    states = [state for state, _ in sides]
    return HandoffStatus(
        folder=folder,
        open=tuple(opened),
        answered=len(questions) - len(opened),
        state=next((state for state in ("running", "waiting", "stopped") if state in states), "finished"),
        outcomes=tuple(outcome for state, outcome in sides if state == "finished" and outcome),
    )


def _state_of_side(side: Path) -> tuple[State, str]:
    state, outcome = read_state(side)
    killed = state == "running" and sys.platform != "win32" and not is_held(side)
    return "stopped" if killed or state is None else state, outcome


def wait_for_question(folder: Path, *, poll_seconds: float = POLL_SECONDS) -> HandoffStatus:
    """Blocks until a question is open, or nobody is there who could ask one."""
    while True:
        status = handoff_status(folder)
        if status.open or status.state != "running":
            return status
        time.sleep(poll_seconds)


def answer_question(folder: Path, number: int, text: str) -> HandoffQuestion:
    """Take an answer, unless its form is wrong or there is one already. The first that is taken stays."""
    found = [one for one in questions_in(folder) if one.number == number]
    if not found:
        known = ", ".join(str(one.question.number) for one in handoff_status(folder).open) or "none"
        raise UsageError(f"{folder}: has no question {number}", hint=f"open questions: {known}")
    if len(found) > 1:
        raise UsageError(
            f"{folder}: has two questions with the number {number}", hint="name its subfolder cases or skill"
        )
    (question,) = found
    there, problems = answer_of(question, form_problems)
    if problems:
        raise AnswerRefused(
            f"question {number}: the file {question.answer_path} exists but cannot be used",
            problems=problems,
            hint="fix it, or remove it and answer again",
        )
    if there is not None or question.answered_at is not None:
        raise AnsweredAlready(
            f"question {number} ({question.purpose}) was already answered at {question.answered_at}",
            hint="the first answer counts",
        )
    take_answer(question, _usable(question, text))
    return question


def _usable(question: HandoffQuestion, text: str) -> str:
    try:
        schema = question.schema
    except ValueError as error:
        raise AnswerRefused(
            f"question {question.number} ({question.purpose}): its schema cannot be used",
            problems=[str(error)],
            hint=f"remove {question.path} and resume the run; the question is then asked again",
        ) from None
    if problems := form_problems(text, schema):
        raise AnswerRefused(
            f"question {question.number} ({question.purpose}): this answer cannot be used",
            problems=problems,
            hint=f"fix it and submit it again; the form is described in {question.path}",
        )
    return text if schema is None else json.dumps(value_in(text, schema), indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What the run says of a text before it is handed in."""

    usable: bool
    lines: tuple[str, ...]


def ask_the_run(
    folder: Path, kind: RequestKind, text: str, *, number: int | None = None, poll_seconds: float = POLL_SECONDS
) -> Finding:
    """Let the run that asks try an answer to a question, or count the tokens of a text. Blocks until it has.

    Raises `UsageError` where no such question is open, or no run is there to say.
    """
    status = handoff_status(folder)
    found = [one.question for one in status.open if number in (None, one.question.number)]
    if not found or status.state != "running":
        what = "no question is open" if number is None else f"question {number} is not open"
        why = what if not found else _STATES[status.state]
        raise UsageError(f"{folder}: {why}", hint="only a run that waits for an answer can try one")
    file = place_request(found[0], kind, text)
    while (said := read_safely(file)) is None:
        if handoff_status(folder).state != "running":
            raise UsageError(f"{folder}: the run ended before it said anything", hint="resume it, then ask again")
        time.sleep(poll_seconds)
    disk.remove(file)
    value = json.loads(said)
    return Finding(usable=value["usable"], lines=tuple(value["lines"]))


_STATES = {
    "running": "the run is working and may ask more",
    "waiting": "the run ended with UPSKILL_WAIT=false: resume it when all questions are answered",
    "stopped": "the run was interrupted",
    "finished": "there are no more questions",
}


@click.command("handoff")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--wait", is_flag=True, help="Wait until a question is open or the run has ended.")
@click.option(
    "--answer",
    nargs=2,
    type=(int, str),
    metavar="NUMBER FILE",
    help="Check the form of an answer and submit it; - reads it from stdin.",
)
@click.option(
    "--check",
    nargs=2,
    type=(int, str),
    metavar="NUMBER FILE",
    help="Try an answer without submitting it: the machine trials of cases, whether edits apply, the size after them.",
)
@click.option("--edit", type=int, metavar="NUMBER", help="Write an answer in $EDITOR, and submit it when you save.")
@click.option("--count", metavar="FILE", help="Count the tokens of a text as the student does.")
@options.JSON
def command(
    folder: Path,
    wait: bool,
    answer: tuple[int, str] | None,
    check: tuple[int, str] | None,
    edit: int | None,
    count: str | None,
    as_json: bool,
) -> int:
    """List the unanswered questions of a hand-off, or answer one.

    A hand-off is a folder in which a run with `--model handoff` writes its questions to the teacher. You or your agent
    answer them. DIR is the hand-off folder, or its subfolder `cases` or `skill`. Each question is a folder with
    question.md and schema.json. Answer cases and skill in two conversations that share no context.

    Exit codes: 0 listed, accepted or usable; 2 wrong usage, or the answer was rejected. With --wait and no open
    question: 1 nothing more will be asked; 3 it was interrupted, and asks again when it is resumed.
    """
    if sum((wait, *(one is not None for one in (answer, check, edit, count)))) > 1:
        raise UsageError("--wait, --answer, --check, --edit and --count cannot be combined", hint="use one at a time")
    if edit is not None:
        _show_taken(_edited(folder, edit), as_json=as_json)
        return EXIT_DONE
    if answer is not None:
        number, file = answer
        _show_taken(answer_question(folder, number, _read(file)), as_json=as_json)
        return EXIT_DONE
    if check is not None:
        number, file = check
        return _show_finding(ask_the_run(folder, "check", _read(file), number=number), as_json=as_json)
    if count is not None:
        return _show_finding(ask_the_run(folder, "count", _read(count)), as_json=as_json)
    status = wait_for_question(folder) if wait else handoff_status(folder)
    _show(status, as_json=as_json)
    if not wait or status.open:
        return EXIT_DONE
    return EXIT_NOT_SHOWN if status.state == "finished" else EXIT_FAILED


def _edited(folder: Path, number: int) -> HandoffQuestion:
    """Let a person write the answer beside its question, until it has the right form or they give up."""
    found = next((one.question for one in handoff_status(folder).open if one.question.number == number), None)
    if found is None:
        return answer_question(folder, number, "")  # says what is open
    asked = read_safely(found.path / "question.md") or ""
    suffix = found.answer_path.suffix
    answer = "{}\n" if suffix == ".json" else ""
    problems: Sequence[str] = ()
    while True:
        wrong = ["# What is wrong with the answer\n\n", *(f"- {one}\n" for one in problems), "\n"] if problems else []
        written = edited(answer, suffix=suffix, question="".join([*wrong, asked]))
        if written is None:
            raise UsageError("nothing was saved, so nothing was submitted")
        answer = written
        try:
            return answer_question(folder, number, answer)
        except AnswerRefused as refused:
            if tuple(refused.problems) == tuple(problems):
                raise
            problems = refused.problems


def _show_finding(found: Finding, *, as_json: bool) -> int:
    if as_json:
        print_json({"schema": "upskill.handoff/1", "usable": found.usable, "lines": list(found.lines)})
    else:
        print_lines(*(found.lines or ("the answer can be used",)))
    return EXIT_DONE if found.usable else UsageError.exit_code


def _read(file: str) -> str:
    most = MOST_ANSWER_BYTES
    try:
        data = sys.stdin.buffer.read(most + 1) if file == "-" else disk.read(disk.named(Path(file)), most=most)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from None
    if len(data) > most:
        raise UsageError(f"{file}: is larger than {most:,} bytes and was not accepted")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: is not UTF-8 text") from None


def _show_taken(question: HandoffQuestion, *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": "upskill.handoff/1", "taken": _question_json(question)})
        return
    print_lines(f"accepted: question {question.number} ({question.purpose}), {question.answer_path}")


def _show(status: HandoffStatus, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "schema": "upskill.handoff/1",
                "folder": status.folder.as_posix(),
                "state": status.state,
                "answered": status.answered,
                "outcomes": list(status.outcomes),
                "open": [{**_question_json(one.question), "problems": list(one.problems)} for one in status.open],
            }
        )
        return
    for one in status.open:
        question = one.question
        print_lines(f"{question.number} ({question.purpose}): {(question.path / 'question.md').as_posix()}")
        print_lines(*(f"  {question.answer_path.name} cannot be used: {problem}" for problem in one.problems))
    if not status.open:
        print_lines("no question is open", *status.outcomes)
    print_lines(f"{status.answered:,} answered; {_STATES[status.state]}", err=True)
    if status.state in ("waiting", "stopped"):
        print_lines(f"resume it with: {_resuming(status.folder)}", err=True)
    if status.open:
        print_lines(f"answer with: upskill handoff {quote(status.folder.as_posix())} --answer NUMBER FILE", err=True)


def _resuming(folder: Path) -> str:
    """What is typed so that more is asked: that which resumes the run that the folder is in."""
    run = next((one for one in folder.resolve().parents[:2] if (one / TEACHING_FILE).is_file()), None)
    return "the command that asked, typed again" if run is None else resume_command(Path(os.path.relpath(run)))


def _question_json(question: HandoffQuestion) -> dict[str, object]:
    return {
        "number": question.number,
        "purpose": question.purpose,
        "side": question.side,
        "question": (question.path / "question.md").as_posix(),
        "schema": (question.path / "schema.json").as_posix() if question.answer_path.suffix == ".json" else None,
        "answer": question.answer_path.as_posix(),
    }
