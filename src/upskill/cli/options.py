"""The options that several commands share, so that a flag means the same wherever it is typed.

An option that stands for a setting hands its value over under the name of that setting. So a command takes all of these
together, as `**settings`, and passes them on as they are; the others it names one by one.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import click

from upskill.errors import UsageError
from upskill.reporting.formats import FORMATS, Format

if TYPE_CHECKING:
    from upskill.settings import ResolvedSettings

_Command = TypeVar("_Command", bound=Callable[..., object])


class Option(Protocol):
    """A decorator of a command that keeps its type."""

    def __call__(self, command: _Command, /) -> _Command: ...


def resolved(settings: Mapping[str, object], *, uses: Collection[str] | None = None) -> "ResolvedSettings":
    """The settings of the command that runs now; a typed value has its flag as origin.

    `uses` are those that the command depends on, by default all: no others need trust.
    """
    from upskill.settings import NAMES, resolve_settings

    options = [one for one in click.get_current_context().command.params if isinstance(one, click.Option)]
    typed = {str(one.name): max(one.opts, key=len) for one in options}
    return resolve_settings(settings, typed=typed, uses=NAMES if uses is None else uses)


def formats(command: str) -> Option:
    """An option for each format that the command writes or prints."""

    def add(function: _Command, /) -> _Command:
        for format in reversed([one for one in FORMATS if one.command == command]):
            if command == "eval":
                one = click.option(
                    f"--{format.name}", type=click.Path(path_type=Path), metavar="FILE", help=format.help
                )
            else:
                one = click.option(f"--{format.name}", is_flag=True, help=format.help)
            function = one(function)
        return function

    return add


def asked_formats(command: str, given: dict[str, object]) -> list[tuple[Format, object]]:
    """The formats that were asked for, each with what was typed; all formats are removed from `given`."""
    known = [(format, given.pop(format.name)) for format in FORMATS if format.command == command]
    if to_stdout := [format.name for format, typed in known if str(typed) == "-"]:
        raise UsageError(f"--{to_stdout[0]} -: stdout already shows the result", hint="name a file")
    return [(format, typed) for format, typed in known if typed]


# What a command works on.

CASE_FILE = click.option(
    "-t", "--tests", "case_file", type=click.Path(path_type=Path), metavar="FILE", help="A file of cases."
)
COUNTS = click.option(
    "--cases", "counts", metavar="P+H+U", help="Practice, held-out and unrelated cases.  [default: 10+32+4]"
)
REQUIRE = click.option(
    "--require",
    type=click.Choice(["helps", "helps-here", "no-harm"]),
    help="Exit with 1 unless the skill helps every model on new cases of this kind (helps-here: on these cases; "
    "no-harm: if it hurts one).",
)
RESUME = click.option("--resume", type=click.Path(path_type=Path), metavar="RUN", help="Resume an interrupted run.")
SANDBOX = click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "docker", "none"]),
    default="bubblewrap",
    help="What confines programs; docker: containers of the image $UPSKILL_SANDBOX_IMAGE; none runs programs on this "
    "machine with your rights.  [default: bubblewrap]",
)
ACCEPT_FINDINGS = click.option(
    "--accept-findings",
    is_flag=True,
    help="With --sandbox none: run a skill despite dangerous content that you have read.",
)
OTHER_SKILLS = (
    "a folder of skills, those that come with the coding agent, or N that ship with upskill; may be repeated."
)


def among(help: str) -> Option:
    """Which other skills are offered, too."""
    return click.option("--among", multiple=True, metavar="DIR|bundled|N", help=help)


# Settings.


def students(help: str) -> Option:
    return click.option("-m", "--model", "--m", "models", multiple=True, metavar="MODEL", help=help)


def teacher(help: str) -> Option:
    """The one model that a command is about, also by -m."""
    return click.option("-m", "--model", "--m", "teacher", metavar="TEACHER", help=help)


BASE_URL = click.option("--base-url", metavar="URL", help="An OpenAI-compatible server, e.g. http://localhost:8080/v1.")
TEACHER_BASE_URL = click.option(
    "--base-url", "teacher_base_url", metavar="URL", help="An OpenAI-compatible server for the teacher."
)


def harness(*, auto: str, with_tools: bool = False) -> Option:
    """`auto` says in the help when students get tools by default.

    `with_tools` lists only harnesses that have some. Others can be typed all the same: the workflow says what is wrong.
    """
    from upskill.domain.harness import HARNESSES, harness_choices

    choices = harness_choices()
    listed = [name for name in choices if not with_tools or name == "auto" or HARNESSES[name].with_tools]
    text_only = "" if with_tools else "chat in text only, "
    return click.option(
        "--harness",
        type=click.Choice(choices),
        metavar=f"[{'|'.join(listed)}]",
        help=f"How models work: {text_only}agent with tools in a sandbox, the others in a coding agent that you have "
        f"installed.  [default: auto, {auto}]",
    )


AGENT_BIN = click.option(
    "--agent-bin",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The program of the coding agent.  [default: the one on the search path]",
)
MAX_TURNS = click.option("--max-turns", type=int, metavar="N", help="Turn limit of a model with tools.  [default: 30]")


def max_cost(help: str) -> Option:
    return click.option("--max-cost", type=float, metavar="DOLLARS", help=help)


MAX_CALLS = click.option("--max-calls", type=int, metavar="N", help="Stop after N requests.")
MAX_TOTAL_TOKENS = click.option("--max-total-tokens", type=int, metavar="N", help="Stop after N tokens.")
MAX_TIME = click.option(
    "--max-time", "max_time_minutes", type=float, metavar="MINUTES", help="Stop after this many minutes."
)


def fresh(help: str) -> Option:
    """Turns the setting `store` off; without the flag the setting is not touched."""
    return click.option(
        "--fresh", "store", is_flag=True, callback=lambda *given: False if given[-1] else None, help=help
    )


LEDGER = click.option(
    "--ledger",
    metavar="FILE",
    help="The file that records looks (verdicts), e.g. one that you commit.  [default: beside the cache]",
)


def ledger_path(setting: str | None) -> Path:
    """The ledger that is named, or the user's own."""
    from upskill.storage import default_ledger_path

    return default_ledger_path() if setting is None else Path(setting)


def concurrency(*, per: str) -> Option:
    """`per` says in the help whose calls are counted."""
    return click.option("--concurrency", type=int, metavar="N", help=f"Parallel calls per {per}.  [default: 8]")


def temperature(help: str) -> Option:
    return click.option("--temperature", type=float, metavar="T", help=f"{help}  [default: the model's own]")


def max_output_tokens(help: str) -> Option:
    return click.option("--max-output-tokens", type=int, metavar="N", help=f"{help}  [default: 2048]")


def runs_dir(help: str = "Where the run folder is saved.") -> Option:
    return click.option("--runs-dir", metavar="DIR", help=f"{help}  [default: runs]")


# How a command behaves.


def dry_run(help: str) -> Option:
    return click.option("-n", "--dry-run", is_flag=True, help=help)


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
SENTENCE_ONLY = click.option("-q", "--quiet", is_flag=True, help="Print only the result, in one sentence.")
YES = click.option("--yes", is_flag=True, help="Do not ask before spending.")
VERBOSE = click.option(
    "-v", "--verbose", is_flag=True, help="Show every figure, note and case, and what each check saw."
)
NO_COLOR = click.option("--no-color", is_flag=True, help="Print no colour, as with NO_COLOR set.")
