"""The one sentence and the one picture of a result: made here, used on the page, the terminal, in Markdown and docs."""

from upskill.domain import Evaluation
from upskill.reporting.glance.arms import compared_titles
from upskill.reporting.glance.dumbbell_svg import dumbbell_css, svg
from upskill.reporting.glance.headline import sentences_of
from upskill.reporting.glance.markdown_block import markdown
from upskill.reporting.glance.names import is_scripted
from upskill.reporting.glance.rows import rows_of
from upskill.reporting.glance.terminal_block import terminal_lines
from upskill.reporting.glance.values import Glance, GlanceRow
from upskill.reporting.next_step import NextStep, next_step

__all__ = ["Glance", "GlanceRow", "dumbbell_css", "glance", "glance_of_nothing", "markdown", "svg", "terminal_lines"]


def glance(
    evaluation: Evaluation,
    *,
    skill: str | None = None,
    tests: str | None = None,
    resume: str | None = None,
    decision: str | None = None,
) -> Glance:
    """What an evaluation found. `decision` is a sentence of a `generate` that comes before everything else.

    `skill` is the folder as it was typed, `tests` the file of the cases where they are not the skill's own, `resume`
    the command that resumes the run, where they are known.
    """
    rows = rows_of(evaluation)
    before, after = compared_titles(evaluation)
    return Glance(
        skill=evaluation.skill.name,
        sentences=sentences_of(evaluation, rows, decision=decision),
        rows=rows,
        before=before,
        after=after,
        scripted=bool(rows) and all(is_scripted(report.student.model) for report in evaluation.students),
        next_step=next_step(evaluation, skill=skill, tests=tests, resume=resume),
    )


def glance_of_nothing(skill: str, decision: str, next_step: NextStep | None) -> Glance:
    """A `generate` that measured nothing: its decision, and no rows."""
    return Glance(
        skill=skill,
        sentences=(decision,),
        rows=(),
        scripted=False,
        next_step=next_step,
    )
