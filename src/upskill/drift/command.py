"""`upskill drift`: parse flags, call the workflow for each skill and model, print what it came to."""

from collections.abc import Callable, Mapping, Sequence
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
    from upskill.core.models import MeteredClient
    from upskill.core.progress import PricedPlan
    from upskill.core.settings import ResolvedSettings
    from upskill.drift.replaced import Replacement
    from upskill.drift.watch import DriftOrder, DriftResult

NOT_MEASURED = "not measured"


@click.command("drift", cls=options.Grouped)
@click.argument("skills", metavar="SKILL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.students("A model that is watched; may be repeated.")
@options.BASE_URL
@click.option("--judge", metavar="MODEL", help="The model that grades checks written in prose.")
@options.CASE_FILE
@click.option("--start", is_flag=True, help="Price the history of a watch, and buy the part of today.")
@click.option("--answers", type=int, metavar="N", help="Answers per case.  [default: 10; with --new-model 5]")
@click.option("--at-once", is_flag=True, help="With --start: buy all of it today; the watch is less sensitive then.")
@click.option("--acknowledge", is_flag=True, help="Go on after an alarm, with the same history.")
@click.option("--new-model", metavar="OLD=NEW", help="Ask once whether NEW still needs the skill.")
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

    A night asks 20 answers with the skill and compares them with its history. On an alarm all cases are asked again,
    with and without the skill, to tell what changed: the model, the skill, or the checks. A second call on the same day
    (UTC) buys nothing.

    Exit codes: 0 no alarm; 1 alarm, or with --new-model `hurts now`; 2 wrong usage, or something changed since the
    history; 3 failed, or too many answers are missing; 130 interrupted.
    """
    from upskill.drift import words
    from upskill.drift.watch import DriftOrder
    from upskill.evaluation.estimate import client_for

    if sum((start, acknowledge, new_model is not None)) > 1:
        raise UsageError("--start, --acknowledge and --new-model do different things", hint="type one of them")
    if (at_once or dry_run) and not start:
        raise UsageError("--at-once and --dry-run belong to --start")
    if answers is not None and not (start or new_model):
        raise UsageError("--answers belongs to --start and --new-model")
    if case_file is not None and len(skills) > 1:
        raise UsageError("-t is about one skill, and several were named", hint="watch them one by one")
    chosen = options.resolved(settings)
    show = partial(_show, as_json=as_json, file=file)
    if new_model is not None:
        found = _replaced(skills, new_model, chosen, case_file, answers, yes=yes)
        hurts = any(one.need == "hurts now" for one in found)
        skilled = {"schema": "upskill.drift_model/1", "skills": [words.replacement_json(one) for one in found]}
        show([words.replacement_lines(one) for one in found], skilled, heading="alarm" if hurts else "no alarm")
        if any(one.evaluation.interrupted for one in found):
            return EXIT_INTERRUPTED
        return EXIT_NOT_SHOWN if hurts else max(one.evaluation.exit_code() for one in found)
    if not chosen.values.models:
        raise UsageError("no model was named", hint="add -m NAME, for example -m haiku")
    orders = [
        DriftOrder(skill=skill, model=model, case_file=case_file, answers=answers, at_once=at_once)
        for skill in skills
        for model in dict.fromkeys(chosen.values.models)
    ]
    if dry_run:
        return _show_prices(orders, chosen, as_json=as_json)
    results: list[DriftResult] = []
    errors: list[UpskillError] = []
    client = client_for(chosen.values)  # one for all watches: the caps are those of the command
    with TimedProgress() as progress:
        agree = _agreeing(yes, progress.ask)
        for order in orders:
            try:
                results.append(_watched(order, chosen, client, progress, agree, start=start, acknowledge=acknowledge))
            except UpskillError as error:  # one that fails must not keep the others from their night
                if len(orders) == 1:
                    if file is not None:
                        write_file(file, words.markdown([[error.message]], heading=NOT_MEASURED))
                    raise
                errors.append(error)
    alarm = any(result.event == "alarm" for result in results)
    watches = [words.result_json(result) for result in results]
    told = {"alarm": alarm, "watches": watches, "errors": [error.message for error in errors]}
    missing = bool(errors) or any(result.unfinished for result in results)
    heading = "alarm" if alarm else NOT_MEASURED if missing else "no alarm"
    blocks = [words.result_lines(result) for result in results]
    failed_blocks = [[f"NOT MEASURED: {error.message}"] for error in errors]
    show(blocks, {"schema": "upskill.drift/1", **told}, heading=heading, more=failed_blocks)
    print_lines(*(f"note: {note}" for result in results for note in result.notes), err=True)
    for one in errors:
        print_lines(f"error: {one.message}", *([] if one.hint is None else [f"hint:  {one.hint}"]), err=True)
    if alarm:
        return EXIT_NOT_SHOWN
    failed = EXIT_FAILED if any(result.unfinished for result in results) else EXIT_DONE
    return max([failed, *(error.exit_code for error in errors)])


def _show(
    blocks: Sequence[Sequence[str]],
    told: Mapping[str, object],
    *,
    heading: str,
    as_json: bool,
    file: Path | None,
    more: Sequence[Sequence[str]] = (),
) -> None:
    """`more` stands in the file alone: the terminal has it as errors."""
    from upskill.drift.words import markdown

    if file is not None:
        write_file(file, markdown([*blocks, *more], heading=heading))
    if as_json:
        print_json(told)
    else:
        print_lines(*(line for block in blocks for line in block))


def _agreeing(yes: bool, ask: Callable[[Callable[[], bool]], bool]) -> "Callable[[PricedPlan], bool]":
    return lambda estimate: yes or ask(partial(ask_to_spend, estimate))


def _watched(
    order: "DriftOrder",
    settings: "ResolvedSettings",
    client: "MeteredClient",
    progress: TimedProgress,
    agree: "Callable[[PricedPlan], bool]",
    *,
    start: bool,
    acknowledge: bool,
) -> "DriftResult":
    from upskill.drift import watch

    clock = partial(datetime.now, UTC)
    if start:
        return watch.start(order, settings, clock=clock, progress=progress, client=client, confirm=agree)
    prepared = watch.prepare_watch(order, settings, announce=progress.announce)
    return watch.tonight(prepared, settings, clock=clock, progress=progress, client=client, acknowledge=acknowledge)


def _show_prices(orders: "list[DriftOrder]", settings: "ResolvedSettings", *, as_json: bool) -> int:
    from upskill.drift.watch import prepare_watch

    announce = partial(print_lines, err=True)
    parts: list[dict[str, object]] = []
    for order in orders:
        prices = prepare_watch(order, settings, announce=announce, needs_keys=False).prices
        keys = zip(("history", "year", "alarm"), prices.values(), strict=True)
        parts.append({"skill": str(order.skill), "model": order.model} | {key: one.as_json() for key, one in keys})
        if not as_json:
            print_lines(f"{order.skill.name} on {order.model}")
            print_lines(*(f"  {what}: {one.calls}; price {one.price}" for what, one in prices.items()))
    if as_json:
        print_json({"schema": "upskill.drift_plan/1", "watches": parts})
    return EXIT_DONE


def _replaced(
    skills: tuple[Path, ...],
    models: str,
    settings: "ResolvedSettings",
    case_file: Path | None,
    answers: int | None,
    *,
    yes: bool,
) -> "list[Replacement]":
    from upskill.drift.replaced import models_of, replace_model
    from upskill.terminal.progress import TrialProgress

    replacing = models_of(models, skills, settings)
    with TrialProgress() as progress:

        def shown(question: Callable[[], bool]) -> bool:
            progress.show_plan()
            return question()

        asked = partial(replace_model, case_file=case_file, answers=answers, confirm=_agreeing(yes, shown))
        return [asked(skill, replacing, settings, progress=progress) for skill in skills]
