"""`upskill lint`: what a person should know about a skill before an agent reads it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN, EXIT_USAGE, UsageError
from upskill.plugin import Offer
from upskill.terminal import options
from upskill.terminal.output import console, print_json, print_lines, write_file

if TYPE_CHECKING:
    from upskill.lint.lint_skill import LintResult, LoadedInstead


class ReadLoads(Protocol):
    """Reads, for each measurement of a skill, the prompts on which each other skill was loaded in its place."""

    def __call__(self, runs_dir: Path, *, skill_name: str) -> Iterable[Mapping[str, int]]: ...


LOADED_INSTEAD: Offer[ReadLoads] = Offer("say what was loaded instead")


@click.command("lint")
@click.argument("skills", type=options.SkillPath(), nargs=-1, metavar="[SKILL]...")
@click.option(
    "--among",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="DIR",
    help="A folder of other skills: name those whose descriptions compete; may be repeated.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings, too.")
@click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF for code scanning.")
@options.JSON
def command(
    skills: tuple[Path, ...],
    among: tuple[Path, ...],
    strict: bool,
    sarif: Path | None,
    as_json: bool,
) -> int:
    """Check skills for danger, the specification, agents and quality. Calls no model.

    SKILL is the folder of a skill, a file in it, or a folder of skills. Default: the setting `skills_dir`. Exit code: 1
    on a danger or an error, 2 where a skill cannot be searched. No findings does not mean safe.
    """
    from upskill.lint.lint_skill import folders_of, lint, read_others

    if str(sarif) == "-":
        raise UsageError("--sarif -: stdout already shows the result", hint="name a file")
    settings = options.resolved({}, uses=["runs_dir"]).values
    named = skills or (Path(settings.skills_dir),)
    folders = list(folders_of(named))
    others = read_others(among) if among else None
    instead = _loaded_instead(Path(settings.runs_dir))
    results = [lint(folder, others=others, loaded_instead=instead) for folder in folders]
    if sarif is not None:
        from upskill import __version__
        from upskill.lint.words import sarif_text

        write_file(sarif, sarif_text(results, version=__version__, start=Path.cwd().as_posix()))
    if as_json:
        from upskill.lint.words import lint_json

        print_json(lint_json(results))
    elif not results:
        print_lines("nothing to lint: these files belong to no skill", err=True)
    else:
        from upskill.lint.words import show_findings

        show_findings(results, console())
    return _exit_code(results, strict=strict)


def _loaded_instead(runs_dir: Path) -> "LoadedInstead":
    """What was measured of loads, where that is installed."""
    measured = LOADED_INSTEAD.load_if_offered()
    if measured is None:
        return lambda _: ()
    return lambda name: measured(runs_dir, skill_name=name)


def _exit_code(results: "Sequence[LintResult]", *, strict: bool) -> int:
    refused = [result.refused for result in results if result.refused is not None]
    print_lines(*(f"error: {message}" for message in refused), err=True)
    if refused:
        return EXIT_USAGE
    return EXIT_NOT_SHOWN if any(result.fails(strict=strict) for result in results) else EXIT_DONE
