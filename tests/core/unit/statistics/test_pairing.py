"""From trials to pairs, where some trials errored and were run again."""

from dataclasses import replace

from upskill.core.nouns import Arm, CheckResult, Errored, Grade, Outcome, Scored, Trial
from upskill.core.statistics import DroppedPair, Pair, Pairing, pair_trials, pair_up


def trial(case: str, repeat: int, arm: Arm, passed: bool | None) -> Trial:
    """A trial that passed, failed, or errored (`None`)."""
    outcome: Outcome = (
        Errored(fault="provider", message="gone")
        if passed is None
        else Scored(end="answered", grade=Grade(results=(CheckResult(kind="contains", passed=passed, saw=""),)))
    )
    return Trial(id=f"{case}{repeat}{arm}", student="s", case_id=case, arm=arm, repeat=repeat, outcome=outcome)


def drops(pairing: Pairing) -> list[tuple[bool | None, bool | None]]:
    return [(drop.passed, drop.passed_against) for drop in pairing.drops]


def test_pair_with_an_errored_trial_is_dropped_from_both_arms() -> None:
    one, other = trial("a", 1, "with_skill", None), trial("a", 1, "baseline", True)
    assert pair_up(one, other) == DroppedPair(case_id="a", repeat=1, passed=None, passed_against=True)
    pairing = pair_trials([one, other], arm="with_skill", against="baseline")
    assert (pairing.pairs, drops(pairing)) == ((), [(None, True)])


def test_pair_that_was_run_again_counts_and_its_error_is_not_forgotten() -> None:
    trials = [trial("a", 1, "baseline", False), trial("a", 1, "with_skill", None), trial("a", 1, "with_skill", True)]
    pairing = pair_trials(trials, arm="with_skill", against="baseline")
    assert pairing.pairs == (Pair(case_id="a", repeat=1, passed=True, passed_against=False),)
    assert drops(pairing) == [(None, False)]


def test_both_arms_errored_is_one_drop() -> None:
    trials = [trial("a", 1, "baseline", None), trial("a", 1, "with_skill", None)]
    pairing = pair_trials(trials, arm="with_skill", against="baseline")
    assert drops(pairing) == [(None, None)]


def test_trial_without_a_partner_is_left_out_and_not_dropped() -> None:
    pairing = pair_trials([trial("a", 1, "baseline", None)], arm="with_skill", against="baseline")
    assert (pairing.pairs, pairing.dropped) == ((), 0)


def test_tallies_are_in_order_of_the_cases_ids() -> None:
    trials = [trial(case, 1, arm, True) for case in ("b", "a") for arm in ("baseline", "with_skill")]
    tallies = pair_trials(trials, arm="with_skill", against="baseline").tallies
    assert [tally.case_id for tally in tallies] == ["a", "b"]


def test_losses_are_those_of_all_trials_by_request() -> None:
    trials = [
        replace(trial("a", 1, "with_skill", None), outcome=Errored(fault="timeout", message="late"), lost=4),
        replace(trial("a", 1, "with_skill", True), lost=1),
        trial("a", 1, "baseline", True),
        replace(trial("b", 1, "with_skill", None), outcome=Errored(fault="check", message="crashed")),
        replace(trial("b", 1, "baseline", True), refused=3),
        replace(trial("c", 1, "baseline", None), outcome=Errored(fault="cancelled", message="stopped"), lost=2),
    ]
    pairing = pair_trials(trials, arm="with_skill", against="baseline")
    one, other = pairing.losses, pairing.losses_against
    assert (one.lost, one.refused) == (6, 0)
    assert (other.lost, other.refused) == (2, 3)
    assert one.lost_in == one.asked_in == other.asked_in == frozenset({("a", 1), ("b", 1)})
    assert other.refused_in == frozenset({("b", 1)})


def test_errored_trial_of_an_older_log_counts_once_as_lost_or_as_refused() -> None:
    late = replace(trial("a", 1, "baseline", None), outcome=Errored(fault="timeout", message="late"))
    assert (late.lost_answers, late.refused_requests) == (1, 0)
    gone = trial("a", 1, "baseline", None)
    crashed = Errored(fault="agent", message="it crashed")
    agent = replace(trial("a", 1, "with_skill", None), outcome=crashed, calls=9, refused=2)
    assert (agent.lost_answers, agent.refused_requests) == (1, 2), "a retry before it does not hide the crash"
    assert (gone.lost_answers, gone.refused_requests) == (0, 0), "nothing was sent to an endpoint that is down"
    assert (replace(gone, calls=4).lost_answers, replace(gone, calls=4).refused_requests) == (0, 1)
