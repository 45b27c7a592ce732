"""`upskill mine`: parse flags, call the workflow, print and write what was found."""

import os
import re
import time
from pathlib import Path

import click

from upskill.core.hub import fetched
from upskill.errors import EXIT_DONE, UsageError
from upskill.terminal import options
from upskill.terminal.display import StepProgress
from upskill.terminal.output import print_json, print_lines

_SINCE = re.compile(r"(\d{1,5})([hdwm])")
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
@options.JSON
def command(source: tuple[str, ...], since: str | None, output: Path, fresh: bool, as_json: bool) -> int:
    """Find what is worth teaching in recorded sessions, without a model.

    Reads the sessions that coding agents keep on this machine, or those of FOLDER, and lists what happened again and
    again: corrections, commands that failed and the form that worked, look-ups, long searches, instructions. Each with
    its sessions, its cost a month and the command that writes a skill from it. Secrets are removed; nothing is sent.

    Exit codes: 0 done, also when nothing was found; 2 wrong usage or no sessions; 3 failed; 130 interrupted.
    """
    from platformdirs import user_cache_path

    from upskill.mining.mine import MineOrder, mine
    from upskill.mining.page import PAGE, write_mined
    from upskill.mining.words import mining_json, mining_lines

    folder, last = _asked(source)
    order = MineOrder(
        folder=folder,
        last=last,
        since=None if since is None else time.time() - _seconds(since),
        cache=None if fresh else user_cache_path("upskill", appauthor=False) / "mined",
        workers=max(1, min(8, os.cpu_count() or 1)),
    )
    with StepProgress() as progress:
        mining = mine(order, environment=os.environ, progress=progress)
    write_mined(mining, output)
    named = output.as_posix()
    if as_json:
        print_json(mining_json(mining, folder=named))
    else:
        print_lines(*mining_lines(mining, folder=named))
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
