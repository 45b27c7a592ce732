"""The formats in which a result is written beside the table on a terminal, one entry each.

`upskill eval --write FILE` and `upskill report` choose from here. Not here: `--json`, which every command has, and the
page, which is what `upskill report` makes. A renderer is imported when it is used.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upskill.core.by_name import by_name
from upskill.core.nouns import Evaluation, Trial
from upskill.core.nouns.evaluation import ComparedSkill

if TYPE_CHECKING:
    from upskill.report.glance import Glance


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a format is made from."""

    evaluation: Evaluation
    trials: Iterable[Trial] = ()
    """Gone through once at most."""
    day: str = ""
    glance: "Glance | None" = None
    """The answer where more is known than the evaluation: the skill's folder, or the decision of a `generate`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """What a format of several skills is made from, in the order in which they were evaluated."""

    skills: Sequence[ComparedSkill]
    trials_of: Callable[[Evaluation], Iterable[Trial]]
    """The trials of one of the evaluations. Gone through once at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """One format: `eval --write FILE` writes it if FILE ends with `suffix`; without one, `report --NAME` prints it."""

    name: str
    suffix: str = ""
    help: str = ""
    render: Callable[[Result], str]
    """One skill."""
    render_all: Callable[[Results], str] | None = None
    """Several skills in one text; `None` where there is no such text."""


def _junit(result: Result) -> str:
    from upskill.report.junit import junit_report

    return junit_report(result.evaluation, result.trials)


def _junit_of_all(results: Results) -> str:
    from upskill.report.junit import junit_of_skills

    return junit_of_skills(results.skills, results.trials_of)


def _csv(result: Result) -> str:
    from upskill.report.csv_report import csv_report

    return csv_report(result.evaluation, result.trials)


def _csv_of_all(results: Results) -> str:
    from upskill.report.csv_report import csv_of_evaluations

    return csv_of_evaluations([one.evaluation for one in results.skills if one.evaluation], results.trials_of)


def _comment(result: Result) -> str:
    name = result.evaluation.skill.name
    skill = ComparedSkill(folder=name, name=name, evaluation=result.evaluation)
    return _comment_of_all(Results(skills=[skill], trials_of=lambda _: result.trials))


def _comment_of_all(results: Results) -> str:
    """Loaded by its name: what is said in a pull request belongs to another feature."""
    comment: str = by_name("comment_text")(results.skills, trials_of=results.trials_of)
    return comment


def _markdown(result: Result) -> str:
    from upskill.report.markdown import markdown_report

    return markdown_report(result.evaluation, day=result.day, seen=result.glance)


FORMATS: list[Format] = [
    Format(name="JUnit", suffix=".xml", render=_junit, render_all=_junit_of_all),
    Format(name="a row per answer", suffix=".csv", render=_csv, render_all=_csv_of_all),
    Format(name="a comment", suffix=".md", render=_comment, render_all=_comment_of_all),
    Format(name="markdown", help="Print a short block for a README instead.", render=_markdown),
]
