"""The comment on a pull request: what every changed skill does now, in Markdown."""

from collections.abc import Sequence

from upskill.domain.compared_skill import ComparedSkill
from upskill.reporting.glance import glance, markdown


def comment_text(rows: Sequence[ComparedSkill], *, report_url: str | None) -> str:
    """The comment, with a link to the full report where it has an address."""
    parts = [_part(one) for one in rows]
    parts += [] if report_url is None else [f"[Full report]({report_url})"]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _part(one: ComparedSkill) -> str:
    if one.evaluation is not None:
        return markdown(glance(one.evaluation))
    return f"**{one.name}**: {one.problem or one.state}"
