"""What evidence says as a whole: the worst verdict, whether anything is shown, and what a text digest ignores."""

from dataclasses import replace

import pytest

from share.made_evidence import EVIDENCE, RESULT, with_report
from upskill.core.nouns import Skill, Verdict
from upskill.share.evidence import MissingLook, text_digest

SKILL = Skill(name="port", description="d", body="One.\nTwo.\n", digest="a" * 64)


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ((), None),
        (("helps",), "helps"),
        (("helps", "no difference"), "no difference"),
        (("helps", "invalid", "undecided"), "invalid"),
        (("helps", "hurts", "invalid"), "hurts"),
    ],
)
def test_the_worst_verdict(verdicts: tuple[Verdict, ...], worst: Verdict | None) -> None:
    results = tuple(with_report(verdict=verdict) for verdict in verdicts)
    assert replace(EVIDENCE, results=results).worst_verdict == worst


def test_a_deleted_run_that_hurt_counts_until_a_later_look_replaces_it() -> None:
    look = MissingLook(model="haiku", against="baseline", verdict="hurts", claim=None, at="2026-11-16T00:00:00+00:00")
    assert replace(EVIDENCE, missing_looks=(look,)).worst_verdict == "hurts"
    earlier = replace(look, at="2026-11-14T00:00:00+00:00")
    assert replace(EVIDENCE, missing_looks=(earlier,)).worst_verdict == "helps"


def test_scripts_and_older_versions_show_nothing() -> None:
    assert EVIDENCE.is_shown
    assert not replace(EVIDENCE, results=(with_report(student=("haiku", "scripted/haiku")),)).is_shown
    assert not replace(EVIDENCE, results=(replace(RESULT, against="d" * 64),)).is_shown
    assert not replace(EVIDENCE, results=(with_report(verdict="undecided"),)).is_shown


def test_the_text_digest_ignores_line_endings_and_description_only() -> None:
    same = replace(SKILL, body="\r\nOne.\r\nTwo.", description="another")
    assert text_digest(same) == text_digest(SKILL)
    assert text_digest(replace(SKILL, body="One, Two.")) != text_digest(SKILL)
    assert text_digest(replace(SKILL, name="ports")) != text_digest(SKILL)
