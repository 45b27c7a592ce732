"""`upskill list` and `cases`: the skills in a folder, each with what was last measured, and the cases of one skill."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

import click

from upskill import plugin
from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN, SkillInvalid, UsageError
from upskill.terminal import options
from upskill.terminal.display import StepProgress
from upskill.terminal.output import ask_to_spend, console, print_json, print_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from upskill.core.nouns import Skill
    from upskill.core.nouns.case import Json
    from upskill.core.nouns.evaluation import PastRun


@click.group("cases")
def command() -> None:
    """Check the cases of a skill, or have a teacher write them."""


@command.command("check", cls=options.Grouped)
@click.argument("skill", type=click.Path(path_type=Path))
@options.CASE_FILE
@click.option("--probe", is_flag=True, help="Ask each MODEL each case without the skill, at most 5 times.")
@options.students("A model for --probe; may be repeated.")
@options.BASE_URL
@options.max_cost("Stop probing at this cost.  [default: 5]")
@options.JSON
@click.option(
    "-v", "--verbose", is_flag=True, help="Show every reason, and every altered answer that passes but should fail."
)
@options.YES
def check(
    skill: Path,
    case_file: Path | None,
    probe: bool,
    models: tuple[str, ...],
    as_json: bool,
    verbose: bool,
    yes: bool,
    **settings: object,
) -> int:
    """Check each case of SKILL against known good and bad answers. Calls no model without --probe.

    A case is rejected if an empty or evasive answer passes, or the reference answer fails. It is qualified if the
    reference passes and altered copies of it fail, and unproven otherwise. Every evaluation starts with this check.

    Exit codes: 0 no case is rejected; 1 some are; 2 the cases cannot be read.
    """
    from upskill.evaluation.check_cases import check_cases
    from upskill.report.cases import cases_json, show_case_states

    chosen = options.resolved({**settings, "models": models}, uses=None if probe else ["runs_dir"])
    if models and not probe:
        raise UsageError("-m needs --probe", hint="add --probe to ask this model")
    with StepProgress() as steps:
        checked = check_cases(
            skill,
            case_file=case_file,
            runs_dir=None if probe else Path(chosen.values.runs_dir),
            progress=steps,
        )
    if probe and any(one.state != "rejected" for one in checked.qualifications):
        from upskill.evaluation.check_cases import probe_cases

        with StepProgress() as steps:
            checked = probe_cases(
                checked,
                skill,
                settings=chosen,
                confirm=lambda estimate: yes or ask_to_spend(estimate),
                progress=steps,
            )
    if as_json:
        print_json(cases_json(checked.skill, checked.qualifications, cases=checked.cases, notes=checked.notes))
    else:
        out = console()
        show_case_states(checked.qualifications, out, cases=checked.cases, verbose=verbose)
        print_lines(*(f"note: {note}" for note in checked.notes), err=True)
    return EXIT_NOT_SHOWN if any(one.state == "rejected" for one in checked.qualifications) else EXIT_DONE


for _name, _entry in plugin.names("commands").items():
    if _name.startswith("cases "):  # a teacher does that
        command.add_command(plugin.load(_entry.place))


@command.command("split")
@click.argument("skill", type=click.Path(path_type=Path))
@options.CASE_FILE
@click.option("--practice", metavar="SHARE", default="1/3", help="How many to practise on.  [default: 1/3]")
def split(skill: Path, case_file: Path | None, practice: str) -> int:
    """Split the cases of SKILL once into practice and held-out cases, whole families at a time, and write that into
    the case file.

    Practice cases can be asked as often as you like (`upskill eval SKILL --practice`); held-out cases prove the skill.

    Exit codes: 0 written; 2 wrong usage, or the cases are split already.
    """
    from fractions import Fraction

    from upskill.evaluation.cases import typed_cases
    from upskill.evaluation.looks import open_ledger
    from upskill.evaluation.practice import split_once

    try:
        share = float(Fraction(practice))
    except (ValueError, ZeroDivisionError):
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(f"--practice {practice}: must be between 0 and 1", hint="write 1/3, or 0.25")
    settings = options.resolved({}, uses=["ledger"]).values
    ledger = open_ledger(settings, scripted=False)
    looks = () if ledger is None else ledger.read()
    print_lines(*split_once(skill, case_file, practice=share, looks=looks))
    print_lines(f"next, practise: upskill eval {typed_cases(skill, case_file)} --practice -m MODEL", err=True)
    return EXIT_DONE


_MOST_NAMES = 2
_NEEDED = "▲▼◆–…"


@click.command("list")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("-d", "--dir", "other", type=click.Path(path_type=Path), metavar="DIR", help="The same as FOLDER.")
@click.option("-v", "--verbose", is_flag=True, help="Show full descriptions, and the files of each skill.")
@options.JSON
def list_command(folder: Path | None, other: Path | None, verbose: bool, as_json: bool) -> None:
    """List the skills in FOLDER and its subfolders, each with its last result. Default: the setting `skills_dir`."""
    if folder is not None and other is not None:
        raise UsageError(f"{folder} and --dir {other}: name only one folder")
    settings = options.resolved({}, uses=["runs_dir"]).values
    where = folder or other or Path(settings.skills_dir)
    found = tuple(list_skills(where, runs_dir=Path(settings.runs_dir)))
    if as_json:
        print_json({"schema": "upskill.list/1", "skills": [_skill_row(listed) for listed in found]})
    elif found:
        _show_skills(found, console(), verbose=verbose)
    else:
        print_lines(f"no skills in {where}", err=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedSkill:
    """One skill folder: the skill and its number of cases, or why it cannot be used."""

    folder: Path
    skill: "Skill | None" = None
    cases: int | None = None
    tokens: int | None = None
    """Tokens of its body, estimated."""
    problem: str | None = None
    measured: "PastRun | None" = None
    """The newest result, of the runs folder, `skill_meta.json` or `evidence.json`; `None` where there is none."""

    @property
    def changed(self) -> bool | None:
        """Whether the skill changed since it was measured; `None` where that is unknown."""
        if self.skill is None or self.measured is None or self.measured.digest is None:
            return None
        return self.measured.digest != self.skill.digest


def list_skills(folder: Path, *, runs_dir: Path) -> Iterator[ListedSkill]:
    """Every skill below a folder, in order of their paths. Past runs are looked for in `runs_dir`."""
    from upskill.core import checks
    from upskill.core.cases.files import read_skill_cases
    from upskill.core.runs.run_summaries import past_runs
    from upskill.core.skills.skills import find_skills, read_skill

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", hint="name the folder of your skills")
    runs = [run for run in past_runs(runs_dir) if run.results]
    for path in find_skills(folder):
        try:
            skill = read_skill(path)
            found = read_skill_cases(path, check_problems=checks.check_problems)
        except SkillInvalid as error:
            yield ListedSkill(folder=path, problem="; ".join(error.problems) or error.message)
            continue
        yield ListedSkill(
            folder=path,
            skill=skill,
            cases=len(found.cases) if found else 0,
            tokens=skill.tokens,
            measured=_last_measured(path, skill, runs),
        )


def _last_measured(folder: Path, skill: "Skill", runs: "Sequence[PastRun]") -> "PastRun | None":
    """The newest measurement of this very version; else the newest of any version."""
    from upskill.core.runs.run_summaries import evidence_beside, measured_with

    noted = (one for one in (measured_with(folder), evidence_beside(folder)) if one is not None)
    known = [*(run for run in runs if run.skill == skill.name), *noted]
    known.sort(key=lambda run: run.started_at or "", reverse=True)
    this = (run for run in known if run.digest == skill.digest)
    return next(this, known[0] if known else None)


def _skill_row(listed: ListedSkill) -> "Json":
    from upskill.report.runs import student_row

    skill, measured = listed.skill, listed.measured
    return {
        "skill": skill.name if skill else listed.folder.name,
        "cases": listed.cases,
        "tokens": listed.tokens,
        "folder": listed.folder.as_posix(),
        "description": skill.description if skill else None,
        "problem": listed.problem,
        "digest": skill.digest if skill else None,
        "measured": None
        if measured is None
        else {
            "at": measured.started_at,
            "run": measured.folder or None,
            "digest": measured.digest,
            "changed": listed.changed,
            "students": [student_row(result) for result in measured.results],
        },
    }


def _show_skills(skills: Sequence[ListedSkill], console: "Console", *, verbose: bool) -> None:
    """Print a row for each skill, below it a line of its description; all of it, and its files, with
    `verbose`."""
    from rich.text import Text

    from upskill.core.nouns.text import visible
    from upskill.report import wording
    from upskill.report.console import print_lines as print_texts
    from upskill.report.console import table_lines

    plain = not wording.can_draw(console, _NEEDED)
    cells = []
    for one in skills:
        cases = "" if one.cases is None else str(one.cases)
        tokens = "" if one.tokens is None else f"~{one.tokens}"
        cells.append((Text(one.folder.as_posix()), Text(cases), Text(tokens), _last_verdict(one, plain=plain)))
    heads = ("skill", "cases", "tokens", "last verdict")
    head, *rows = table_lines(heads, cells, console.width, folded=(3,), right=(1, 2))
    print_texts(head, console)
    for one, row in zip(skills, rows, strict=True):
        description = visible(" ".join(one.skill.description.split())) if one.skill else ""
        files = [visible(file.path) for file in one.skill.files] if one.skill and verbose else []
        print_texts(row, console)
        below = (description if verbose else shorten(description, console.width - 2, placeholder=" …"), *files)
        print_texts((Text(line, style="dim") for line in below if line), console, indent=2)


def _last_verdict(listed: ListedSkill, *, plain: bool) -> "Text":
    """`▲ helps haiku, ? undecided kimi, 2026-11-15`, and whether the skill changed since."""
    from rich.text import Text

    from upskill.core.nouns.lift import with_scope
    from upskill.report.runs import verdict_words
    from upskill.report.terminal import style_of
    from upskill.report.wording import names_by_model

    if listed.problem is not None:
        return Text(f"cannot be used: {listed.problem}")
    if listed.measured is None:
        return Text("not measured")
    results = listed.measured.results
    names = names_by_model([one.model for one in results])
    by_verdict: dict[tuple[str | None, str | None], list[str]] = {}
    for result in results:
        about = None if result.verdict == "invalid" else result.about
        by_verdict.setdefault((result.verdict, about), []).append(names[result.model])
    text = Text()
    for (verdict, about), models in by_verdict.items():
        who = ", ".join(models) if len(models) <= _MOST_NAMES else f"{len(models)} models"
        text.append(f"{verdict_words(verdict, plain=plain)} ", style=style_of(verdict or ""))
        text.append(f"{with_scope(who, about)}, ")
    says = ", says evidence.json" if listed.measured.status == "evidence" else ""
    return text.append(listed.measured.day + says + (", changed since" if listed.changed else ""))
