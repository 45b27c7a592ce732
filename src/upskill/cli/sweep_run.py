"""`upskill sweep run`: buy what the plan of a sweep still needs."""

import re
import time
from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.output import confirm, is_interactive, print_json, print_lines
from upskill.domain.text import count
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, UsageError

if TYPE_CHECKING:
    from upskill.workflows.sweeping.engines import Engine
    from upskill.workflows.sweeping.run import SweepRun
    from upskill.workflows.sweeping.standing import Shard

_LINE_SECONDS = 5.0
"""Progress is a line at most this often."""
_MOST_LISTED = 5


class _ShardType(click.ParamType["Shard"]):
    """A part of a sweep, as 3/64."""

    name = "shard"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> "Shard":
        from upskill.workflows.sweeping.standing import Shard

        if isinstance(value, Shard):
            return value
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", str(value).strip())
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            self.fail(f"{value!r} is not a part; write I/N with I from 1 to N, e.g. 3/64", param, ctx)
        return Shard(number=int(found[1]), of=int(found[2]))


@click.command("run")
@click.argument("place", metavar="PLACE")
@click.option(
    "-j",
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Evaluations at the same time.  [default: one per CPU]",
)
@click.option(
    "--shard",
    type=_ShardType(),
    metavar="I/N",
    help="Run part I of N, with an Nth of caps and rate limits; run the others elsewhere.",
)
@click.option(
    "--ray",
    "address",
    metavar="ADDRESS",
    help="Run on a Ray cluster: auto (the one this machine is in), HOST:PORT (of its head), or local (a new one).",
)
@click.option("--again", is_flag=True, help="Also try evaluations that ended three times without a result.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@options.JSON
def command(
    place: str,
    workers: int | None,
    shard: "Shard | None",
    address: str | None,
    again: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Run the evaluations of the sweep at PLACE that have no result yet, and confirm the winners.

    May be ended and run again at any time: what was answered is not bought again.
    """
    from upskill.storage.sweep_folder import SweepFolder
    from upskill.workflows.sweeping.run import prepare_run
    from upskill.workflows.sweeping.standing import Shard, read_standing

    folder = SweepFolder(place)
    at = place if folder.objects.folder is None else str(folder.objects.folder.absolute())
    run = prepare_run(read_standing(folder), at=at, shard=shard or Shard(), again=again)
    if run.waiting:
        _announce(run)
        if not yes:
            _ask(run)
        from upskill.workflows.sweeping.run import run_sweep

        run_sweep(run, folder, open_engine=lambda: _engine(workers, address), progress=_Lines())
    if as_json:
        print_json(_as_json(run, place))
    else:
        print_lines(*_result_lines(run))
        print_lines(_next(run, place, address), err=True, wrap=False)
    if run.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if run.failed or run.stopped == "unanswered" else EXIT_DONE


def _engine(workers: int | None, address: str | None) -> "Engine":
    """Nothing of it is imported before something is to be run."""
    from upskill.workflows.sweeping.attempt import run_attempt

    if address is not None:
        from upskill.workflows.sweeping.engines.ray import RayEngine

        return RayEngine(run_attempt, address=address, workers=workers)
    import os

    from upskill.workflows.sweeping.engines.local import LocalEngine

    return LocalEngine(run_attempt, workers=workers or os.cpu_count() or 1)


class _Lines:
    """Progress as lines on stderr, not more often than somebody reads."""

    def __init__(self) -> None:
        self._last = 0.0
        self._deaths = 0

    def note(self, line: str) -> None:
        print_lines(line, err=True)

    def counted(self, run: "SweepRun") -> None:
        if time.monotonic() - self._last >= _LINE_SECONDS or not run.left or run.deaths > self._deaths:
            self._last, self._deaths = time.monotonic(), run.deaths
            line = f"{run.done:,} done, {run.left:,} left; charged {_charged(run)}; {run.last}"
            print_lines(line, err=True)


def _announce(run: "SweepRun") -> None:
    from upskill.workflows.sweeping.job_settings import require_planned_endpoints

    students = dict.fromkeys(student for job in run.waiting for student in job.students)
    for line in require_planned_endpoints(run.standing.plan, students):
        print_lines(f"note: {line}", err=True)
    killed = sum(run.standing.attempts[job.id].killed for job in run.waiting if job.id in run.standing.attempts)
    if killed:
        print_lines(
            f"note: {count(killed, 'attempt')} began and did not end, and {'is' if killed == 1 else 'are'} charged in "
            "full; if another `upskill sweep run` works on these evaluations now, end it: both would buy the same",
            err=True,
        )


def _ask(run: "SweepRun") -> None:
    """Ask the person about much money. Raises where there is no terminal, or the person does not agree."""
    from upskill.reporting import dollars
    from upskill.workflows.evaluating.estimate import ASK_ABOVE_DOLLARS

    expected = sum(job.cost_expected or 0.0 for job in run.waiting)
    at_most = sum(job.cost_at_most or 0.0 for job in run.waiting)
    if run.budget.caps.max_cost is not None:
        at_most = min(at_most, max(0.0, run.budget.caps.max_cost - run.budget.charged.cost))
    if at_most <= ASK_ABOVE_DOLLARS:
        return
    more = ", and confirmations of winners within the cap" if run.standing.plan.confirm else ""
    question = (
        f"{count(len(run.waiting), 'evaluation')}; price about {dollars(min(expected, at_most))}, at most "
        f"{dollars(at_most)}{more if run.budget.caps.max_cost is not None else ''}."
    )
    if not is_interactive():
        raise UsageError(question + " Nothing was run.", hint="add --yes to run without confirmation")
    if not confirm(f"{question} Continue?"):
        raise UsageError("nothing was run and nothing was spent")


def _charged(run: "SweepRun") -> str:
    from upskill.reporting import dollars

    caps, charged = run.budget.caps, run.budget.charged
    cost = dollars(charged.cost) + ("" if caps.max_cost is None else f" of {dollars(caps.max_cost)}")
    calls = f"{charged.calls:,}" + ("" if caps.max_calls is None else f" of {caps.max_calls:,}")
    return f"{cost}, {calls} calls"


def _result_lines(run: "SweepRun") -> list[str]:
    planned, confirmations = _counts(run)
    part = "" if run.shard.of == 1 else f"part {run.shard.number} of {run.shard.of}: "
    lines = [f"{part}{planned[0]:,} of {count(planned[1], 'evaluation')} done"]
    if confirmations[1]:
        lines[0] += f"; {confirmations[0]:,} of {count(confirmations[1], 'confirmation')} done"
    lines += [f"not reached: {count(jobs, 'evaluation')} ({why})" for why, jobs in run.not_reached().items()]
    if run.failed:
        lines.append(f"without a result: {count(len(run.failed), 'evaluation')}")
        listed = list(run.failed.values())[:_MOST_LISTED]
        lines += [f"  {one.job.name} on {', '.join(one.job.students)}: {one.why}" for one in listed]
        if len(listed) < len(run.failed):
            lines.append(f"  and {len(run.failed) - len(listed):,} more")
    lines.append(f"charged {_charged(run)}")
    return lines


def _counts(run: "SweepRun") -> tuple[tuple[int, int], tuple[int, int]]:
    """Done and known: of the plan, and of the confirmations."""
    jobs = run.jobs.values()
    known = [job for job in jobs if not job.confirms], [job for job in jobs if job.confirms]
    planned, confirmations = ((sum(job.id in run.results for job in part), len(part)) for part in known)
    return planned, confirmations


def _next(run: "SweepRun", place: str, address: str | None) -> str:
    """The command that goes on, or the one that shows what was found."""
    from shlex import quote

    if run.stopped is not None or not run.results:
        on = "" if address is None else f" --ray {quote(address)}"
        return f"next, go on: upskill sweep run {quote(place)}{run.shard.words}{on}"
    return f"next, show what was found: upskill sweep report {quote(place)}"


def _as_json(run: "SweepRun", place: str) -> dict[str, object]:
    from upskill.settings.values import without_secrets

    planned, confirmations = _counts(run)
    charged, caps = run.budget.charged, run.budget.caps
    return {
        "schema": "upskill.sweep-run/1",
        "at": without_secrets(place),
        "shard": {"number": run.shard.number, "of": run.shard.of},
        "evaluations": {"done": planned[0], "planned": planned[1]},
        "confirmations": {"done": confirmations[0], "planned": confirmations[1]},
        "not_reached": [{"why": why, "evaluations": jobs} for why, jobs in run.not_reached().items()],
        "without_result": [
            {"id": job, "skill": one.job.skill, "models": list(one.job.students), "why": one.why}
            for job, one in run.failed.items()
        ],
        "stopped": run.stopped,
        "charged": {"cost": charged.cost, "calls": charged.calls, "tokens": charged.tokens},
        "caps": {"cost": caps.max_cost, "calls": caps.max_calls, "tokens": caps.max_total_tokens},
    }
