"""`upskill handoff`: what is open in the folder of a hand-off, waiting for it, and taking an answer."""

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_NOT_SHOWN, UsageError
from upskill.terminal import options
from upskill.terminal.output import print_json, print_lines

if TYPE_CHECKING:
    from upskill.core.models.handoff import HandoffQuestion
    from upskill.generation.handoff import HandoffStatus

_STATES = {
    "running": "the run is working and may ask more",
    "waiting": "the run ended with --no-wait: resume it when all questions are answered",
    "stopped": "the run was interrupted: resume it",
    "finished": "the run has finished: there are no more questions",
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
@options.JSON
def command(folder: Path, wait: bool, answer: tuple[int, str] | None, as_json: bool) -> int:
    """List the unanswered questions of a hand-off, or answer one.

    A hand-off is a folder in which a run with `--model handoff` writes its questions to the teacher. You or your agent
    answer them. DIR is the hand-off folder, or its subfolder `cases` or `skill`. Each question is a folder with
    question.md and schema.json. Answer cases and skill in two conversations that share no context.

    Exit codes: 0 listed or accepted; 2 wrong usage, or the answer was rejected. With --wait and no open question: 1 the
    run has finished; 3 it was interrupted, and asks again when it is resumed.
    """
    from upskill.generation.handoff import answer_question, handoff_status, wait_for_question

    if answer is not None:
        if wait:
            raise UsageError("--wait and --answer cannot be combined", hint="answer first, then wait")
        number, file = answer
        _show_taken(answer_question(folder, number, _read(file)), as_json=as_json)
        return EXIT_DONE
    status = wait_for_question(folder) if wait else handoff_status(folder)
    _show(status, as_json=as_json)
    if not wait or status.open:
        return EXIT_DONE
    return EXIT_NOT_SHOWN if status.state == "finished" else EXIT_FAILED


def _read(file: str) -> str:
    from upskill.core.models.handoff import MOST_ANSWER_BYTES

    try:
        if file == "-":
            data = sys.stdin.buffer.read(MOST_ANSWER_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MOST_ANSWER_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from None
    if len(data) > MOST_ANSWER_BYTES:
        raise UsageError(f"{file}: is larger than {MOST_ANSWER_BYTES:,} bytes and was not accepted")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: is not UTF-8 text") from None


def _show_taken(question: "HandoffQuestion", *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": "upskill.handoff/1", "taken": _question_json(question)})
        return
    print_lines(f"accepted: question {question.number} ({question.purpose}), {question.answer_path}")


def _show(status: "HandoffStatus", *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "schema": "upskill.handoff/1",
                "folder": status.folder.as_posix(),
                "state": status.state,
                "answered": status.answered,
                "open": [{**_question_json(one.question), "problems": list(one.problems)} for one in status.open],
            }
        )
        return
    for one in status.open:
        question = one.question
        print_lines(f"{question.number} ({question.purpose}): {(question.path / 'question.md').as_posix()}")
        print_lines(*(f"  {question.answer_path.name} cannot be used: {problem}" for problem in one.problems))
    if not status.open:
        print_lines("no question is open")
    print_lines(f"{status.answered:,} answered; {_STATES[status.state]}", err=True)
    if status.open:
        print_lines(f"answer with: upskill handoff {quote(status.folder.as_posix())} --answer NUMBER FILE", err=True)


def _question_json(question: "HandoffQuestion") -> dict[str, object]:
    return {
        "number": question.number,
        "purpose": question.purpose,
        "side": question.side,
        "question": (question.path / "question.md").as_posix(),
        "schema": (question.path / "schema.json").as_posix() if question.answer_path.suffix == ".json" else None,
        "answer": question.answer_path.as_posix(),
    }
