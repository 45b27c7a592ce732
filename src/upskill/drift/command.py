"""`upskill drift`: parse flags, call the workflow for each skill and model, print what it came to."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN, UpskillError, UsageError
from upskill.terminal import options
from upskill.terminal.display import TimedProgress
from upskill.terminal.output import ask_to_spend, print_json, print_lines, write_file

if TYPE_CHECKING:
    from upskill.core.settings import ResolvedSettings
    from upskill.drift.watch import DriftOrder, DriftResult, Step


@click.command("drift", cls=options.Grouped)
@click.argument("skills", metavar="SKILL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.students("A model that is watched; may be repeated.")
@options.BASE_URL
@click.option("--judge", metavar="MODEL", help="The model that grades checks written in prose.")
@options.CASE_FILE
@click.option("--start", is_flag=True, help="Price the history, and buy the first night of it.")
@click.option(
    "--answers", type=int, metavar="N", help="Answers per case with the skill.  [default: 10; with --new-model 5]"
)
@click.option(
    "--at-once", is_flag=True, help="With --start: buy the whole history today; falls are noticed later then."
)
@click.option("--acknowledge", is_flag=True, help="End an alarm, and go on with the same history.")
@click.option(
    "--new-model", metavar="OLD=NEW", help="Ask once whether NEW needs the skill; the history was bought with OLD."
)
@options.harness(auto="tools if a case needs them")
@options.max_cost("Stop at this cost.  [default: 5]")
@options.MAX_CALLS
@options.dry_run("With --start: show the price of the history and of a year; call no model.")
@options.JSON
@click.option("--write", "file", type=click.Path(path_type=Path), metavar="FILE", help="Also write Markdown to FILE.")
@options.YES
def command(
    skills: tuple[Path, ...],
    case_file: Path | None,
    start: bool,
    answers: int | None,
    at_once: bool,
    acknowledge: bool,
    new_model: str | None,
    dry_run: bool,
    as_json: bool,
    file: Path | None,
    yes: bool,
    **settings: object,
) -> int:
    """Watch whether SKILL still does for each MODEL what it did. Type it once with --start, then every night.

    --start buys a history, with and without the skill, over five nights. Each night after that asks 20 answers with the
    skill and compares them with the history. On an alarm cases are asked again, with and without the skill, to tell
    what changed: the model, the skill, or the checks. A second call on the same day (UTC) buys nothing.

    Exit codes: 0 no alarm; 1 alarm, or with --new-model `hurts now`; 2 wrong usage, or something changed since the
    history; 3 failed, or too many answers are missing; 130 interrupted.
    """
    from upskill.drift import words
    from upskill.drift.watch import DriftOrder, watch_skill
    from upskill.evaluation.estimate import client_for
    from upskill.evaluation.prepare import students_named

    if sum((start, acknowledge, new_model is not None)) > 1:
        raise UsageError("--start, --acknowledge and --new-model do different things", hint="type one of them")
    if (at_once or dry_run) and not start:
        raise UsageError("--at-once and --dry-run belong to --start")
    if answers is not None and not (start or new_model):
        raise UsageError("--answers belongs to --start and --new-model")
    if case_file is not None and len(skills) > 1:
        raise UsageError("-t is about one skill, and several were named", hint="watch them one by one")
    chosen = options.resolved(settings)
    if new_model is not None:
        return _replace(skills, new_model, chosen, case_file, answers, yes=yes, as_json=as_json, file=file)
    orders = [
        DriftOrder(skill=skill, model=model, case_file=case_file, answers=answers, at_once=at_once)
        for skill in skills
        for model in students_named(chosen.values)
    ]
    if dry_run:
        return _show_prices(orders, chosen, as_json=as_json)
    results: list[DriftResult] = []
    errors: list[UpskillError] = []
    step: Step = "start" if start else "acknowledge" if acknowledge else "night"
    client = client_for(chosen.values)  # one for all watches: the caps are those of the command
    with TimedProgress() as progress:
        asked = partial(
            watch_skill,
            settings=chosen,
            clock=partial(datetime.now, UTC),
            progress=progress,
            client=client,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
            step=step,
        )
        for order in orders:
            try:
                results.append(asked(order))
            except UpskillError as error:  # one that fails must not keep the others from their night
                errors.append(error)
    alarm = any(result.event == "alarm" for result in results)
    missing = bool(errors) or any(result.unfinished for result in results)
    heading = "alarm" if alarm else "not measured" if missing else "no alarm"
    blocks = [words.result_lines(result) for result in results]
    if file is not None:
        failed = [[f"NOT MEASURED: {error.message}"] for error in errors]
        write_file(file, words.markdown([*blocks, *failed], heading=heading))
    if len(orders) == len(errors) == 1:
        raise errors[0]
    watches = [words.result_json(result) for result in results]
    told = {"schema": "upskill.drift/1", "alarm": alarm, "watches": watches}
    _show(blocks, told | {"errors": [error.message for error in errors]}, as_json=as_json)
    print_lines(*(f"note: {note}" for result in results for note in result.notes), err=True)
    for one in errors:
        print_lines(f"error: {one.message}", *([] if one.hint is None else [f"hint:  {one.hint}"]), err=True)
    if alarm:
        return EXIT_NOT_SHOWN
    incomplete = EXIT_FAILED if any(result.unfinished for result in results) else EXIT_DONE
    return max([incomplete, *(error.exit_code for error in errors)])


def _show(blocks: Sequence[Sequence[str]], told: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        print_json(told)
    else:
        print_lines(*(line for block in blocks for line in block))


def _show_prices(orders: "list[DriftOrder]", settings: "ResolvedSettings", *, as_json: bool) -> int:
    from upskill.drift.watch import prepare_watch

    parts: list[dict[str, object]] = []
    blocks: list[list[str]] = []
    for order in orders:
        prepared = prepare_watch(order, settings, announce=partial(print_lines, err=True), needs_keys=False)
        keys = zip(("history", "year", "alarm"), prepared.prices.values(), strict=True)
        parts.append({"skill": str(order.skill), "model": order.model} | {key: one.as_json() for key, one in keys})
        blocks.append([f"{order.skill.name} on {order.model}", *(f"  {line}" for line in prepared.price_lines)])
    _show(blocks, {"schema": "upskill.drift_plan/1", "watches": parts}, as_json=as_json)
    return EXIT_DONE


def _replace(
    skills: tuple[Path, ...],
    models: str,
    settings: "ResolvedSettings",
    case_file: Path | None,
    answers: int | None,
    *,
    yes: bool,
    as_json: bool,
    file: Path | None,
) -> int:
    from upskill.drift import words
    from upskill.drift.replaced import evaluate_new, models_of, need_after
    from upskill.evaluation.output import agrees
    from upskill.terminal.progress import TrialProgress

    old, new = models_of(models, skills, settings)
    with TrialProgress() as progress:
        asked = partial(evaluate_new, case_file=case_file, answers=answers, progress=progress)
        found = [
            asked(skill, new, settings, confirm=lambda estimate: yes or agrees(estimate, progress)) for skill in skills
        ]
    hurts = any(need_after(one) == "hurts now" for one in found)
    blocks = [words.replacement_lines(old, one) for one in found]
    if file is not None:
        write_file(file, words.markdown(blocks, heading="alarm" if hurts else "no alarm"))
    told = {"schema": "upskill.drift_model/1", "skills": [words.replacement_json(old, one) for one in found]}
    _show(blocks, told, as_json=as_json)
    if any(one.interrupted for one in found):
        return EXIT_INTERRUPTED
    return EXIT_NOT_SHOWN if hurts else max(one.exit_code() for one in found)
