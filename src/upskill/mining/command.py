"""`upskill mine`: parse flags, call the workflow, print and write what was found."""

import os
import re
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.core.hub import fetched
from upskill.errors import EXIT_DONE, UsageError
from upskill.terminal import options
from upskill.terminal.display import TimedProgress
from upskill.terminal.output import ask_to_spend, print_json, print_lines, refuse_what_is_ignored

if TYPE_CHECKING:
    from upskill.mining.teacher import Taught

_SINCE = re.compile(r"(\d{1,5})([hdwm])")
_WITHOUT_TEACHER = frozenset({"source", "since", "output", "fresh", "as_json"})
_SECONDS = {"h": 3_600.0, "d": 86_400.0, "w": 604_800.0, "m": 2_592_000.0}


@click.command("mine", cls=options.Grouped)
@click.argument("source", metavar="[FOLDER | last N]", nargs=-1)
@click.option("--since", metavar="30d", help="Only sessions of the last 30 days; also h, w, m.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("mined"),
    help="The folder for the page and the material.  [default: mined]",
)
@click.option("--fresh", is_flag=True, help="Read every session again.")
@click.option(
    "--with-teacher", is_flag=True, help="Let a teacher name, merge and judge the first 25, by their excerpts."
)
@options.teacher("The teacher.  [default: the strongest with a key]")
@options.TEACHER_BASE_URL
@options.max_cost("Stop at this cost.  [default: 5]")
@options.YES
@options.JSON
def command(
    source: tuple[str, ...],
    since: str | None,
    output: Path,
    fresh: bool,
    with_teacher: bool,
    as_json: bool,
    yes: bool,
    **settings: object,
) -> int:
    """Find what is worth teaching in recorded sessions, without a model.

    Reads the sessions that coding agents keep on this machine, or those of FOLDER, and lists what happened again and
    again: corrections, commands that failed and the form that worked, look-ups, long searches, instructions. Each with
    its sessions, its cost a month and the command that writes a skill from it. Secrets are removed; nothing is sent
    unless --with-teacher is typed: then three excerpts of each of the first candidates.

    Exit codes: 0 done, also when nothing was found; 2 wrong usage or no sessions; 3 failed; 130 interrupted.
    """
    from platformdirs import user_cache_path

    from upskill.mining.mine import MineOrder, mine
    from upskill.mining.page import PAGE, write_mined
    from upskill.mining.teacher import judged_by_teacher, teacher_json, teacher_lines
    from upskill.mining.words import mining_json, mining_lines

    if not with_teacher:
        refuse_what_is_ignored(_WITHOUT_TEACHER, why="only --with-teacher asks a model")
    folder, last = _asked(source)
    order = MineOrder(
        folder=folder,
        last=last,
        since=None if since is None else time.time() - _seconds(since),
        cache=None if fresh else user_cache_path("upskill", appauthor=False) / "mined",
        workers=max(1, min(8, os.cpu_count() or 1)),
    )
    taught: Taught | None = None
    with TimedProgress() as progress:
        mining = mine(order, environment=os.environ, progress=progress)
        if with_teacher:
            taught = judged_by_teacher(
                mining,
                options.resolved(settings).values,
                progress=progress,
                confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
            )
            mining = taught.mining
    write_mined(mining, output)
    named = output.as_posix()
    if as_json:
        print_json(mining_json(mining, folder=named) | teacher_json(taught))
    else:
        print_lines(*mining_lines(mining, folder=named), *teacher_lines(taught))
        print_lines(f"the page: {named}/{PAGE}", err=True)
    print_lines(*(f"skipped: {why}" for why in mining.read.skipped[:10]), err=True)
    return EXIT_DONE


def _asked(words: tuple[str, ...]) -> tuple[Path | None, int | None]:
    """The folder that was typed, or how many of the newest files."""
    if words[:1] == ("last",):
        if len(words) != 2 or not words[1].isdecimal() or not 0 < int(words[1]) < 10**9:
            raise UsageError("last: say how many sessions", hint="for example `upskill mine last 100`")
        return None, int(words[1])
    if len(words) > 1:
        raise UsageError("one folder can be mined at a time", hint="name the folder above them")
    if not words:
        return None, None
    folder = Path(fetched(words[0], lambda line: print_lines(line, err=True))).expanduser()
    if not folder.is_dir():
        raise UsageError(f"{words[0]}: no such folder", hint="name a folder of sessions, or none for all agents' own")
    return folder, None


def _seconds(since: str) -> float:
    found = _SINCE.fullmatch(since)
    if found is None:
        raise UsageError(f"--since {since}: not a time", hint="for example 30d, 12h, 8w or 3m")
    return int(found[1]) * _SECONDS[found[2]]
