"""Tests a new description against the old one on held-out prompts, once, and states what was shown.

The gate is that of other revisions: better on new prompts for at least one model, worse for none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from upskill.domain.description import DescriptionComparison
from upskill.domain.generated import StudentClaim, worst_of
from upskill.domain.text import count
from upskill.domain.trigger import TriggerPrompt
from upskill.measuring import level_after
from upskill.measuring.description import compare_descriptions
from upskill.measuring.looks import ordinal
from upskill.reporting.described import comparison_words
from upskill.workflows.generating.describe_refine import MeasureDescription


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionProof:
    """What held-out prompts showed, and whether the new description is accepted."""

    proven: bool
    reason: str
    """For a person."""
    comparisons: tuple[DescriptionComparison, ...] = ()
    """One for each model and company; empty where no held-out prompt was used."""
    held_out: tuple[str, ...] = ()
    """The digests of the prompts that were used: another use of one of them spends more of its error."""

    @property
    def claims(self) -> tuple[StudentClaim, ...]:
        """What is claimed for each model: the worst of its companies."""
        found: dict[str, list[DescriptionComparison]] = {}
        for one in self.comparisons:
            found.setdefault(one.student, []).append(one)
        return tuple(_claim(student, mine) for student, mine in found.items())


def stays(reason: str) -> DescriptionProof:
    """The old description stays, and no held-out prompt was used."""
    return DescriptionProof(proven=False, reason=reason)


def prove_description(
    old: str,
    new: str,
    *,
    held_out: Sequence[TriggerPrompt],
    measure: MeasureDescription,
    earlier: Sequence[bool] = (),
) -> DescriptionProof:
    """Measure both descriptions on held-out prompts and judge the new one.

    `earlier` says of each earlier use of these prompts whether it proved something. One model that decides better is
    enough, so each of several is tested at its share of the level. Raises what `measure` raises.
    """
    before, after = measure("held-out-old", old, held_out), measure("held-out-new", new, held_out)
    cut_short = before.cut_short or after.cut_short
    level = level_after(earlier) / max(1, len(after.scores))
    old_scores = {(score.student, score.company): score for score in before.scores}
    comparisons = tuple(
        _in_words(compare_descriptions(old_scores[key], score, level=level))
        for score in after.scores
        if (key := (score.student, score.company)) in old_scores  # a cap may have ended one of them early
    )
    hurt = [one for one in comparisons if one.verdict == "hurts" or one.worse]
    proven = cut_short is None and any(one.better for one in comparisons) and not hurt
    reason = comparisons[0].sentence if len(comparisons) == 1 else _of_several(comparisons)
    if not comparisons:
        reason = "nothing was measured"
    if earlier:
        reason += f" (stricter threshold: {ordinal(len(earlier) + 1)} look at these prompts)"
    if cut_short is not None:
        reason = f"{cut_short} before all held-out prompts were asked; so far, {reason}"
    return DescriptionProof(
        proven=proven,
        reason=reason,
        comparisons=comparisons,
        held_out=tuple(sorted(prompt.digest for prompt in held_out)),
    )


def _in_words(one: DescriptionComparison) -> DescriptionComparison:
    return replace(one, sentence=comparison_words(one))


def _of_several(comparisons: Sequence[DescriptionComparison]) -> str:
    better = sum(one.better for one in comparisons)
    hurt = sum(one.verdict == "hurts" or bool(one.worse) for one in comparisons)
    models = len({one.student for one in comparisons})
    where = "alone and among other skills, " if len(comparisons) > models else ""
    prompts = count(max(len(one.after.tallies) for one in comparisons), "held-out prompt")
    return (
        f"the new one is better in {better} of {len(comparisons)} comparisons and worse in {hurt or 'none'} "
        f"({count(models, 'model')}, {where}{prompts})"
    )


def _claim(student: str, mine: Sequence[DescriptionComparison]) -> StudentClaim:
    statuses = tuple("undecided" if one.verdict == "helps" and not one.better else one.verdict for one in mine)
    status = "hurts" if any(one.worse for one in mine) else worst_of(statuses)
    shown = next((one for one in mine if one.verdict == status), mine[0])
    return StudentClaim(student=student, status=status, sentence=shown.sentence, claim=shown.claim)
