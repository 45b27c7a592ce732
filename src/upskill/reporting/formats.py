"""The formats in which a result is written beside the table on a terminal, one entry each.

`upskill eval` and `upskill report` take their options from here. Not here: `--json`, which every command has, and the
page, which is what `upskill report` makes. A renderer is imported when it is used.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from upskill.domain import Evaluation, Trial
from upskill.domain.compared_skill import ComparedSkill

if TYPE_CHECKING:
    from upskill.reporting.glance import Glance


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
    """One format. `eval --NAME FILE` writes it beside its result; `report --NAME` prints it instead of a page."""

    name: str
    command: Literal["eval", "report"]
    help: str
    render: Callable[[Result], str]
    """One skill."""
    render_all: Callable[[Results], str] | None = None
    """Several skills in one text; `None` where there is no such text."""


def _junit(result: Result) -> str:
    from upskill.reporting.junit import junit_report

    return junit_report(result.evaluation, result.trials)


def _junit_of_all(results: Results) -> str:
    from upskill.reporting.junit import junit_of_skills

    return junit_of_skills(results.skills, results.trials_of)


def _csv(result: Result) -> str:
    from upskill.reporting.csv_report import csv_report

    return csv_report(result.evaluation, result.trials)


def _csv_of_all(results: Results) -> str:
    from upskill.reporting.csv_report import csv_of_evaluations

    return csv_of_evaluations([one.evaluation for one in results.skills if one.evaluation], results.trials_of)


def _comment(result: Result) -> str:
    from upskill.reporting.comment import comment_text

    name = result.evaluation.skill.name
    skill = ComparedSkill(folder=name, name=name, evaluation=result.evaluation)
    return comment_text([skill], trials_of=lambda _: result.trials)


def _comment_of_all(results: Results) -> str:
    from upskill.reporting.comment import comment_text

    return comment_text(results.skills, trials_of=results.trials_of)


def _markdown(result: Result) -> str:
    from upskill.reporting.markdown import markdown_report

    return markdown_report(result.evaluation, day=result.day, seen=result.glance)


FORMATS: list[Format] = [
    Format(name="junit", command="eval", help="Also write a JUnit report.", render=_junit, render_all=_junit_of_all),
    Format(name="csv", command="eval", help="Also write a row per answer.", render=_csv, render_all=_csv_of_all),
    Format(
        name="comment",
        command="eval",
        help="Also write a comment for a pull request, in Markdown.",
        render=_comment,
        render_all=_comment_of_all,
    ),
    Format(name="markdown", command="report", help="Print a short block for a README instead.", render=_markdown),
]
