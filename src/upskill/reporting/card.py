"""The card `evidence.md`: the evidence beside a skill as Markdown, for people."""

from upskill.domain.evidence import Evidence, EvidenceResult
from upskill.domain.text import count, points
from upskill.reporting.glance.markdown_block import markdown_text


def card_text(evidence: Evidence) -> str:
    """The text of the card. It follows from the evidence alone: equal evidence has equal cards."""
    lines = [f"# Evidence for {markdown_text(evidence.skill.name)}", "", _headline(evidence)]
    for one in evidence.results:
        lines.append(f"- {markdown_text(one.model)}: {markdown_text(one.sentence)}")
    return "\n".join(lines) + "\n"


def _headline(evidence: Evidence) -> str:
    if not evidence.results:
        return "Nothing was measured."
    return f"{count(len(evidence.results), 'result')}, {evidence.date}."


def _lift(one: EvidenceResult) -> str:
    return "–" if one.lift is None else points(one.lift)
