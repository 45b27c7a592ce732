"""Two descriptions of one skill on the same prompts: which decides more of them rightly, judged like any two arms.

A decision is right where a prompt that should load the skill does, or a near miss does not. The sum of both kinds can
grow while one of them gets worse, so each kind is judged alone as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from upskill.domain.description import DescriptionComparison
from upskill.domain.trigger import PromptTally, TriggerScore
from upskill.measuring.intervals import FIXED
from upskill.measuring.pairs import DroppedPair, Pair, Pairing
from upskill.measuring.verdict import judge


def compare_descriptions(before: TriggerScore, after: TriggerScore, *, level: float) -> DescriptionComparison:
    """Judge the new description against the old one; `level` is the one-sided error that this look is allowed.

    Both scores are of one student in one company, on the same prompts.
    """
    pairs = _paired(before.tallies, after.tallies)
    judgement = judge(_pairing(pairs), level=replace(FIXED, error=level))
    worse = [
        name
        for name, kind in (("recall", True), ("near misses", False))
        if judge(_pairing([pair for pair in pairs if pair[0].prompt.should_load is kind])).verdict == "hurts"
    ]
    return DescriptionComparison(
        student=after.student,
        harness=after.harness,
        company=after.company,
        before=before,
        after=after,
        verdict=judgement.verdict,
        claim=judgement.claim,
        lift=judgement.lift,
        worse=tuple(worse),
    )


def _paired(before: Iterable[PromptTally], after: Iterable[PromptTally]) -> list[tuple[PromptTally, PromptTally]]:
    """Both tallies of each prompt, the new one first."""
    old = {tally.prompt.id: tally for tally in before}
    return [(tally, old[tally.prompt.id]) for tally in after if tally.prompt.id in old]


def _pairing(pairs: Sequence[tuple[PromptTally, PromptTally]]) -> Pairing:
    found: list[Pair] = []
    drops: list[DroppedPair] = []
    for new, old in pairs:
        prompt, measured = new.prompt, min(new.answers, old.answers)
        # Where errors left more answers with one of them, what is left out speaks against the new one.
        right = (new.answers - new.wrong) * measured // max(1, new.answers)
        right_before = -((old.wrong - old.answers) * measured // max(1, old.answers))
        # Repeats of a prompt are alike: which of them is paired with which changes no estimate.
        found += [
            Pair(
                case_id=prompt.id,
                repeat=number,
                passed=number <= right,
                passed_against=number <= right_before,
                family=prompt.family,
            )
            for number in range(1, measured + 1)
        ]
        asked = max(new.answers + new.errored, old.answers + old.errored)
        drops += [
            DroppedPair(case_id=prompt.id, repeat=number, passed=None, passed_against=None)
            for number in range(measured + 1, asked + 1)
        ]
    return Pairing(arm="offered", against="previous", pairs=tuple(found), drops=tuple(drops))
