"""The card says what the evidence says, what it rests on and what it does not show; foreign text stays text."""

import hashlib
from dataclasses import replace

import pytest

from share.made_evidence import ARM, EVIDENCE, RESULT, with_report
from upskill.core.nouns import Interval
from upskill.core.nouns.evaluation import BrokenCase
from upskill.core.nouns.harness import harness_names
from upskill.core.nouns.lift import LabelLift, Loads
from upskill.share.card import card_text
from upskill.share.evidence import CARD_FORMAT, MissingLook

BREAKS = replace(
    with_report(
        arms=(replace(ARM, arm="previous"), replace(ARM, arm="with_skill", passed=9)),
        lift={"against": "previous"},
        broken=(BrokenCase(case_id="c" * 12, answers=8, passed=0, passed_before=8),),
    ),
    against="d" * 64,
    design="gate",
    repeats=8,
)
RECALL = LabelLift(label="recall", cases=1, lift=None)


def test_the_card_of_one_model() -> None:
    card = card_text(EVIDENCE)
    assert "# Evidence for port\n" in card
    assert "**The skill helps haiku: from 25% to 75% of 12 cases, +50 points (95% CI +10 to +90).**" in card
    assert "| haiku | chat | `·····○━━━━━━━━━●·····` | 25% | 75% | +50 (+10 to +90) | ▲ helps | 12 | 12 |" in card
    assert "- haiku, chat: anthropic/haiku; 12 cases, 1 repeat of each; 2026-11-15.\n" in card
    assert "- Measured with upskill 0.1.0, chat/2.\n" in card
    assert "```sh\nupskill verify .\n```" in card


def test_another_text_of_the_card_is_another_format_of_it() -> None:
    """`verify` compares cards of one format. If this fails because the words changed, raise `CARD_FORMAT`."""
    every = replace(
        with_report(label_lifts=(RECALL,), lift={"dropped": 1}),
        judge="x/judge", look=2, other_looks={"hurts": 1}, sandbox="bubblewrap",
    )  # fmt: skip
    cards = card_text(EVIDENCE) + card_text(replace(EVIDENCE, results=(every, replace(every, against="d" * 64))))
    cards += card_text(replace(EVIDENCE, results=(BREAKS,)))
    narrow = with_report(lift={"about": "these cases", "cases": 4, "units": 4, "better": 3})
    cards += card_text(replace(EVIDENCE, results=(narrow,))) + card_text(replace(EVIDENCE, results=(RESULT, narrow)))
    assert (CARD_FORMAT, hashlib.sha256(cards.encode()).hexdigest()[:16]) == (2, "54a81a20f15b1d3d")


def test_several_models_and_older_versions_have_tables_of_their_own() -> None:
    worse = {"mean": -0.5, "rate": 0.25, "rate_against": 0.75}
    ends = {"interval": Interval(low=-0.9, high=-0.1)}
    hurt = with_report(student=("opus", "anthropic/opus"), verdict="hurts", lift=worse | ends)
    older = replace(RESULT, against="d" * 64)
    card = card_text(replace(EVIDENCE, results=(RESULT, hurt, older)))
    assert "**The skill helps 1 of 2 models and hurts 1.**" in card
    assert "Compared with the older version `dddddddddddd`:" in card
    assert "| Older | This version |" in card
    assert card.count("| Model | How |") == 2


@pytest.mark.skipif("codex" not in harness_names(), reason="coding agents were removed")
def test_one_model_in_two_harnesses_is_not_counted_as_two_models() -> None:
    loads = Loads(answers=4, loaded=2, cases=2, rate=0.5, interval=Interval(low=0, high=1), about="these cases")
    arms = (ARM, replace(ARM, arm="offered"))
    report = with_report(harness="codex/2", arms=arms, lift={"arm": "offered"}, loads=loads)
    offered = replace(report, agent="0.9.1", others=20)
    card = card_text(replace(EVIDENCE, results=(RESULT, offered)))
    assert "**The skill helps in 2 of 2 measurements.**" in card
    assert "codex 0.9.1, skill offered" in card
    assert "beside 20 other skills; loaded in 50% of answers" in card


def test_whatever_speaks_against_a_result_is_on_the_card() -> None:
    report = with_report(
        student=("haiku", "scripted/haiku"),
        answered_by=("haiku-mini",),
        lift={"dropped": 2, "about": "these cases", "units": 4, "better": 3},
        arms=(replace(ARM, errored=1, lost=2), replace(ARM, arm="with_skill", lost=1)),
        label_lifts=(replace(RECALL, cases=2),),
    )
    doubtful = replace(
        report,
        own_server=True,
        look=5,
        other_looks={"hurts": 2},
        judge="x/judge",
        uses={"held-out": 2},
    )
    missing = MissingLook(model="m", against="baseline", verdict="hurts", claim=None, at="2026-11-16T00:00:00+00:00")
    card = card_text(replace(EVIDENCE, results=(doubtful,), left_out=1, missing_looks=(missing,)))
    for words in (
        "A script answered, not a model",
        "at a server of the author's",
        "answered by haiku-mini",
        "2 dropped pairs; 1 answer that could not be scored; 3 lost answers; look 5 at this skill with this model; "
        "other looks at the same cases: 2 hurts; judged by x/judge",
        "12 cases (2 held-out)",
        "1 run of this version was left out",
        "1 more look at this version was recorded, without a run here: 1 hurts.",
        "anything about new cases of this kind",
        "2 cases show little: label `recall` (asks for",
        "That the figures are true.",
    ):
        assert words in card, words


def test_broken_cases_come_before_the_lift() -> None:
    card = card_text(replace(EVIDENCE, results=(BREAKS,)))
    assert "**This version breaks 1 of 12 cases (cccccccccccc) for haiku: from 25% to 75%, +50 points (95% CI" in card
    assert "| ▼ breaks | 12 | 12 |" in card
    assert "12 cases, up to 8 repeats of each" in card


def test_foreign_text_is_no_markup() -> None:
    evil = with_report(student=("[a](http://x.example)|<img src=x>", "anthropic/haiku"), sentence="*b*")
    card = card_text(replace(EVIDENCE, results=(evil,)))
    assert "](http" not in card
    assert card.count("<img") == card.count("\\<img") == 3
    assert "http://" not in card


def test_without_a_verdict_there_are_no_figures() -> None:
    arms = (replace(ARM, trials=3, errored=9, faults=(("transport", 9),)), replace(ARM, arm="with_skill"))
    invalid = with_report(verdict="invalid", arms=arms)
    card = card_text(replace(EVIDENCE, results=(invalid,)))
    assert "**No verdict: 9 of 24 answers did not arrive: the connection broke.**" in card
    assert "| – | – | – | – no verdict |" in card


def test_a_version_that_nobody_measured_says_so() -> None:
    assert "**This version was not measured.**" in card_text(replace(EVIDENCE, results=(), date=None))
