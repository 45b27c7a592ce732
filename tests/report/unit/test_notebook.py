"""What a notebook shows of a result: one small table, in which every text is only text."""

import re
from dataclasses import replace

from report.unit.evaluations import SKILL, arm, evaluation, lift, report
from upskill.core.nouns import Interval
from upskill.library.results import evaluation_table, preformatted


def cells(html: str) -> list[str]:
    return re.findall(r"<t[hd] [^>]*>([^<]*)<", html)


def test_a_row_holds_rates_lift_interval_pairs_and_the_verdict_in_words() -> None:
    first = report()
    (lift, *_) = first.lifts
    shown = cells(evaluation_table(evaluation(students=(first,))))
    assert shown[:6] == ["model", "without the skill", "with the skill", "lift in points", "pairs", "verdict"]
    assert shown[6] == first.student.name
    assert shown[-2:] == [str(lift.pairs), first.sentence]


def test_the_interval_has_its_confidence() -> None:
    strict = report(lifts=(lift(interval=Interval(low=0.3, high=0.4), confidence=0.975),))
    assert "+25 (97.5% CI +30 to +40)" in cells(evaluation_table(evaluation(strict)))


def test_without_a_baseline_there_is_no_lift() -> None:
    alone = replace(report(), arms=(arm("with_skill", passed=3, trials=6),), lifts=(), verdict=None)
    shown = cells(evaluation_table(evaluation(students=(alone,))))
    assert shown[7:11] == ["–", "50%", "–", "–"]


def test_everything_is_escaped() -> None:
    hostile = "<script>alert(1)</script>"
    student = replace(report().student, name=hostile)
    html = evaluation_table(
        evaluation(
            skill=replace(SKILL, name=hostile),
            students=(replace(report(), student=student, sentence=hostile),),
            notes=(hostile,),
            run=hostile,
        )
    )
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 5
    assert preformatted(hostile) == "<pre>&lt;script&gt;alert(1)&lt;/script&gt;</pre>"
