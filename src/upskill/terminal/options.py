"""The options that several commands share, so that a flag means the same wherever it is typed.

An option that stands for a setting hands its value over under the name of that setting. So a command takes all of these
together, as `**settings`, and passes them on as they are; the others it names one by one.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import click

from upskill.errors import UsageError
from upskill.report.formats import FORMATS, Format

if TYPE_CHECKING:
    from upskill.core.settings import ResolvedSettings, Settings

_Command = TypeVar("_Command", bound=Callable[..., object])


class Option(Protocol):
    """A decorator of a command that keeps its type."""

    def __call__(self, command: _Command, /) -> _Command: ...


def resolved(settings: Mapping[str, object], *, uses: Collection[str] | None = None) -> "ResolvedSettings":
    """The settings of the command that runs now; a typed value has its flag as origin.

    `uses` are those that the command depends on, by default all: no others need trust.
    """
    from upskill.core.settings import NAMES, resolve_settings

    options = [one for one in click.get_current_context().command.params if isinstance(one, click.Option)]
    typed = {str(one.name): max(one.opts, key=len) for one in options}
    return resolve_settings(settings, typed=typed, uses=NAMES if uses is None else uses)


WRITE = click.option(
    "--write",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help=f"Also write {', '.join(f'{one.name} ({one.suffix})' for one in FORMATS if one.suffix)}; may be repeated.",
)
"""A file beside the printed result. A format is added in the table of formats."""


def written_formats(files: Iterable[Path]) -> list[tuple[Format, Path]]:
    """The format of each file, by the end of its name. Raises `UsageError` where there is none."""
    found = []
    for file in files:
        if str(file) == "-":
            raise UsageError("--write -: stdout already shows the result", hint="name a file")
        format = next((one for one in FORMATS if one.suffix and file.name.endswith(one.suffix)), None)
        if format is None:
            ends = ", ".join(one.suffix for one in FORMATS if one.suffix)
            raise UsageError(f"--write {file}: the name says no format", hint=f"names end with {ends}")
        found.append((format, file))
    return found


def printed_formats() -> Option:
    """An option for each format that `report` prints instead of a page."""

    def add(function: _Command, /) -> _Command:
        for format in reversed([one for one in FORMATS if not one.suffix]):
            function = click.option(f"--{format.name}", is_flag=True, help=format.help)(function)
        return function

    return add


class Grouped(click.Command):
    """A command whose options are listed under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {name: title for title, names in HEADINGS.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in HEADINGS}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None:
                rows[titles.get(str(parameter.name), _OUTPUT)].append(record)
        for title, listed in rows.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)


_OUTPUT = "Output"
HEADINGS: dict[str, tuple[str, ...]] = {
    "Which": (
        "agents",
        "user",
        "undo",
        "skills",
        "looks",
        "show_all",
        "older_than",
        "keep",
        "runs_dir",
        "history",
        "against",
        "named",
        "private",
    ),
    "Material": ("examples", "sources", "feedback", "description_only", "plan_file"),
    "Models": ("models", "base_url", "judge", "teacher", "teacher_base_url", "test_gen_model"),
    "Cases": ("case_file", "case_files", "prompt_file", "write", "counts", "replace", "probe"),
    "Design": (
        *(
            "runs",
            "together",
            "start",
            "answers",
            "at_once",
            "acknowledge",
            "new_model",
            "practice",
            "controls",
            "no_eval",
            "no_baseline",
            "compare",
            "accept_changed_cases",
            "min_lift",
            "require",
            "revisions",
            "explain",
            "drop_untested",
            "per_model",
        ),
        *("effort", "harness", "among", "sandbox", "accept_findings"),
    ),
    "Limits": (
        "max_cost",
        "max_calls",
        "dry_run",
        "store",
        "concurrency",
        "resume",
        "yes",
    ),
    _OUTPUT: (),
}
"""The options of commands with many by heading; the others come last."""


# What a command works on.


class SkillPath(click.Path):
    """A skill that is only read: a folder on this machine, or `hf://` for one on the Hugging Face Hub."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self, value: "str | os.PathLike[str]", param: click.Parameter | None, ctx: click.Context | None
    ) -> "str | bytes | os.PathLike[str]":
        """Download what is on the Hub, and name it on stderr."""
        if isinstance(value, str) and value.startswith(("hf://", "https://")):
            from upskill.core.hub import fetched_skill
            from upskill.terminal.output import print_lines

            return fetched_skill(value, lambda line: print_lines(line, err=True))
        return super().convert(value, param, ctx)


def only_one(name: str, files: tuple[Path, ...], *, by: str) -> Path | None:
    """The file that was named. Raises where several were: else the last would silently be all that is read."""
    if len(files) > 1:
        raise UsageError(f"{name}: {by} reads one file, and {len(files)} were named", hint="put them into one file")
    return files[0] if files else None


def tests_file(name: str, help: str) -> Option:
    """-t for a command that reads one file."""
    return click.option(
        *("-t", "--tests", name),
        type=click.Path(path_type=Path),
        multiple=True,
        callback=lambda context, _, files: only_one("--tests", files, by=str(context.info_name)),
        metavar="FILE",
        help=help,
    )


CASE_FILE = tests_file("case_file", "A file of cases.")
COUNTS = click.option("--cases", "counts", metavar="P+H+U", help="Practice, held-out, unrelated.  [default: 10+32+4]")
REQUIRE = click.option(
    "--require",
    type=click.Choice(["helps", "no-harm"]),
    metavar="WHAT",
    help="Exit with 1 unless the skill `helps` every model on new cases of this kind, or does `no-harm`: hurts none, "
    "and breaks no case.",
)
RESUME = click.option("--resume", type=click.Path(path_type=Path), metavar="RUN", help="Resume an interrupted run.")
SANDBOX = click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "podman", "docker", "none"]),
    default="bubblewrap",
    metavar="NAME",
    help="What confines programs: bubblewrap, a container of podman or docker, or none: they have your rights.  "
    "[default: bubblewrap]",
)
ACCEPT_FINDINGS = click.option(
    "--accept-findings",
    is_flag=True,
    help="With --sandbox none: run a skill with dangers that you have read.",
)
OTHER_SKILLS = "a folder, `bundled` with the coding agent, or N that ship with upskill; may be repeated."


def among(help: str) -> Option:
    """Which other skills are offered, too."""
    return click.option("--among", multiple=True, metavar="SKILLS", help=help)


# Settings.


class _ModelOption(click.Option):
    """Understands `--m` too, as one mistypes `-m`, and does not show it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        return None if record is None else (record[0].replace(", --m ", " "), record[1])


def students(help: str) -> Option:
    return click.option("-m", "--model", "--m", "models", cls=_ModelOption, multiple=True, metavar="MODEL", help=help)


def teacher(help: str) -> Option:
    """The one model that a command is about, also by -m."""
    return click.option("-m", "--model", "--m", "teacher", cls=_ModelOption, metavar="TEACHER", help=help)


BASE_URL = click.option("--base-url", metavar="URL", help="An OpenAI-compatible server.")
TEACHER_BASE_URL = click.option(
    "--base-url", "teacher_base_url", metavar="URL", help="An OpenAI-compatible server for the teacher."
)


def harness(*, auto: str, with_tools: bool = False) -> Option:
    """`auto` says in the help when students get tools by default.

    `with_tools` lists only harnesses that have some. Others can be typed all the same: the workflow says what is wrong.
    """
    from upskill.core.nouns.harness import harness_choices, harness_info

    choices = harness_choices()
    listed = [name for name in choices if not with_tools or name == "auto" or harness_info(name).with_tools]
    return click.option(
        "--harness",
        type=click.Choice(choices),
        metavar="NAME",
        help=f"How models work: {', '.join(listed)}.  [default: auto, {auto}]",
    )


def agent_program(settings: "Settings") -> Path | None:
    """The program that the setting `agent_bin` names; `None` where the harness runs no coding agent, or the one on the
    search path."""
    from upskill.core.nouns.harness import known_harness

    harness = known_harness(settings.harness)
    runs_one = harness is not None and harness.program
    return Path(settings.agent_bin).expanduser() if settings.agent_bin and runs_one else None


def max_cost(help: str) -> Option:
    return click.option("--max-cost", type=float, metavar="DOLLARS", help=help)


MAX_CALLS = click.option("--max-calls", type=int, metavar="N", help="Stop after N requests.")


def fresh(help: str) -> Option:
    """Turns the setting `store` off; without the flag the setting is not touched."""
    return click.option(
        "--fresh", "store", is_flag=True, callback=lambda *given: False if given[-1] else None, help=help
    )


def ledger_path(setting: str | None) -> Path:
    """The ledger that is named, or the user's own."""
    from upskill.core.runs.look_ledger import default_ledger_path

    return default_ledger_path() if setting is None else Path(setting)


def concurrency(*, per: str) -> Option:
    """`per` says in the help whose calls are counted."""
    return click.option("--concurrency", type=int, metavar="N", help=f"Parallel calls per {per}.  [default: 8]")


# How a command behaves.


def dry_run(help: str) -> Option:
    return click.option("-n", "--dry-run", is_flag=True, help=help)


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
YES = click.option("--yes", is_flag=True, help="Do not ask before spending.")
VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Show every figure, note and case.")
