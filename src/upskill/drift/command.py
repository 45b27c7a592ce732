"""`upskill drift`: parse flags, call the workflow for each skill and model, print what it came to."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_NOT_SHOWN, UpskillError, UsageError
from upskill.terminal import options
from upskill.terminal.display import TimedProgress
from upskill.terminal.output import ask_to_spend, print_json, print_lines, write_file

if TYPE_CHECKING:
    from upskill.core.nouns.case import Json
    from upskill.core.progress import PricedPlan
    from upskill.core.settings import ResolvedSettings
    from upskill.drift.watch import DriftOrder, DriftResult


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
    history; 3 failed; 130 interrupted.
    """
    from upskill.drift.watch import DriftOrder
    from upskill.drift.words import markdown, result_json, result_lines

    if sum((start, acknowledge, new_model is not None)) > 1:
        raise UsageError("--start, --acknowledge and --new-model do different things", hint="type one of them")
    if (at_once or dry_run) and not start:
        raise UsageError("--at-once and --dry-run belong to --start")
    if answers is not None and not (start or new_model):
        raise UsageError("--answers belongs to --start and --new-model")
    chosen = options.resolved(settings)
    if new_model is not None:
        return _replaced(skills, new_model, chosen, case_file, answers, as_json=as_json, file=file, yes=yes)
    if case_file is not None and len(skills) > 1:
        raise UsageError("-t is about one skill, and several were named", hint="watch them one by one")
    if not chosen.values.models:
        raise UsageError("no model was named", hint="add -m NAME, for example -m haiku")
    orders = [
        DriftOrder(skill=skill, model=model, case_file=case_file, answers=answers or 10, at_once=at_once)
        for skill in skills
        for model in dict.fromkeys(chosen.values.models)
    ]
    if dry_run:
        return _show_prices(orders, chosen, as_json=as_json)
    results: list[DriftResult] = []
    errors: list[UpskillError] = []
    with TimedProgress() as progress:
        for order in orders:
            # One that fails must not keep the others from their night.
            try:
                results.append(_watched(order, chosen, progress, start=start, acknowledge=acknowledge, yes=yes))
            except UpskillError as error:
                if len(orders) == 1:
                    raise
                errors.append(error)
    lines = [result_lines(result) for result in results]
    alarm = any(result.event == "alarm" for result in results)
    if file is not None:
        write_file(file, markdown(lines, alarm=alarm))
    if as_json:
        watches: list[Json] = [result_json(result) for result in results]
        print_json({"schema": "upskill.drift/1", "alarm": alarm, "watches": watches, "errors": list(map(str, errors))})
    else:
        print_lines(*(line for block in lines for line in block))
    print_lines(*(f"note: {note}" for result in results for note in result.notes), err=True)
    print_lines(*(f"error: {error}" for error in errors), err=True)
    if alarm:
        return EXIT_NOT_SHOWN
    if errors:
        return max(error.exit_code for error in errors)
    return EXIT_FAILED if any(result.unfinished for result in results) else EXIT_DONE


def _watched(
    order: "DriftOrder",
    settings: "ResolvedSettings",
    progress: TimedProgress,
    *,
    start: bool,
    acknowledge: bool,
    yes: bool,
) -> "DriftResult":
    from upskill.drift.watch import prepare_watch, tonight
    from upskill.drift.watch import start as start_watch

    def clock() -> datetime:
        return datetime.now(UTC)

    if start:
        return start_watch(
            order,
            settings,
            clock=clock,
            progress=progress,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
        )
    prepared = prepare_watch(order, settings, announce=progress.announce)
    return tonight(prepared, settings, clock=clock, progress=progress, acknowledge=acknowledge)


def _show_prices(orders: "list[DriftOrder]", settings: "ResolvedSettings", *, as_json: bool) -> int:
    from upskill.drift.watch import prepare_watch

    announce = partial(print_lines, err=True)
    prices = [(one, prepare_watch(one, settings, announce=announce, needs_keys=False).price) for one in orders]
    if as_json:
        parts = [
            {
                "skill": str(order.skill),
                "model": order.model,
                "history": price.history.as_json(),
                "year": price.year.as_json(),
                "alarm": price.alarm.as_json(),
            }
            for order, price in prices
        ]
        print_json({"schema": "upskill.drift_plan/1", "watches": parts})
    else:
        print_lines(
            *(f"{order.skill.name} on {order.model}, {line}" for order, price in prices for line in price.lines)
        )
    return EXIT_DONE


def _replaced(
    skills: tuple[Path, ...],
    models: str,
    settings: "ResolvedSettings",
    case_file: Path | None,
    answers: int | None,
    *,
    as_json: bool,
    file: Path | None,
    yes: bool,
) -> int:
    from upskill.drift.replaced import replace_model
    from upskill.drift.words import markdown, replacement_lines
    from upskill.report.json_report import evaluation_json
    from upskill.terminal.progress import TrialProgress

    def agree(estimate: "PricedPlan") -> bool:
        progress.show_plan()
        return yes or ask_to_spend(estimate)

    found = []
    with TrialProgress() as progress:
        for skill in skills:
            found.append(
                replace_model(
                    skill,
                    models,
                    settings,
                    case_file=case_file,
                    answers=answers,
                    progress=progress,
                    confirm=agree,
                )
            )
    lines = [replacement_lines(one) for one in found]
    hurts = any(one.need == "hurts now" for one in found)
    if file is not None:
        write_file(file, markdown(lines, alarm=hurts))
    if as_json:
        parts = [
            {
                "skill": one.evaluation.skill.name,
                "old": one.old,
                "new": one.new,
                "need": one.need,
                "tokens_saved": one.tokens_saved,
                "evaluation": evaluation_json(one.evaluation),
            }
            for one in found
        ]
        print_json({"schema": "upskill.drift_model/1", "skills": parts})
    else:
        print_lines(*(line for block in lines for line in block))
    if any(one.evaluation.interrupted for one in found):
        return max(one.evaluation.exit_code() for one in found)
    return EXIT_NOT_SHOWN if hurts else EXIT_DONE
