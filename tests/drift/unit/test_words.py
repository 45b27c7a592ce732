"""What an alarm says first."""

from dataclasses import replace

from upskill.core.nouns import Interval
from upskill.drift.chart import Change
from upskill.drift.state import Attribution
from upskill.drift.words import cause_words

FELL = Change(before=0.8, now=0.5, interval=Interval(low=-0.4, high=-0.2))
FLOOR = Change(before=0.05, now=0.01, interval=Interval(low=-0.14, high=0.06))
FOUND = Attribution(
    cause="undecided",
    sure=True,
    skilled=FELL,
    baseline=FLOOR,
    lift=0.48,
    lift_interval=Interval(low=0.4, high=0.5),
    regraded=280,
    now_fail=0,
    now_pass=0,
)


def test_an_alarm_that_answers_do_not_explain_says_that_the_server_describes_another_model() -> None:
    assert cause_words(FOUND).endswith("do not tell whether the model changed")
    assert cause_words(replace(FOUND, other_model=True)).endswith(
        "the server describes another model than in the history"
    )
    known = replace(FOUND, cause="the checks broke", other_model=True)
    assert cause_words(known) == "the checks broke"
