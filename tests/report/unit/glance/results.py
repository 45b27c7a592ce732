"""Results as people meet them: one model, four models, no verdict, and names that nobody should trust."""

from dataclasses import replace
from typing import Any

from report.unit.evaluations import arm, evaluation, lift, report
from upskill.core.nouns import Evaluation, Interval, StudentReport
from upskill.core.nouns.lift import Claim


def student(
    name: str,
    before: float,
    after: float,
    verdict: str,
    interval: tuple[float, float],
    *,
    about: Claim = "new cases",
    confidence: float = 0.95,
    **changes: Any,
) -> StudentReport:
    """A student with rates and a lift over the same pairs of 12 cases, which are of 4 families where the lift is about
    these cases only."""
    measured = lift(
        mean=after - before,
        rate=after,
        rate_against=before,
        interval=Interval(low=interval[0], high=interval[1]),
        about=about,
        pairs=12,
        cases=12,
        units=12 if about == "new cases" else 4,
        confidence=confidence,
    )
    arms = (replace(arm("baseline"), tokens=26.0), replace(arm("with_skill"), tokens=130.0))
    return report(name, **({"verdict": verdict, "lifts": (measured,), "arms": arms} | changes))


HELPED = student("SmolLM2", 0.0, 0.89, "helps", (0.35, 1.0))
STRONG = student("strong", 0.04, 0.42, "helps", (1e-9, 0.75), about="these cases")
OPEN = student("open", 0.38, 0.545, "undecided", (-0.3, 0.63))
WORSE = student("worse", 0.73, 0.09, "hurts", (-1.0, -0.17))
SAME = student("same", 0.5, 0.51, "no difference", (-0.08, 0.1), about="these cases")
CHEAPER = student("cheap", 0.5, 0.52, "cheaper", (-0.05, 0.2))
LOST = report("lost", verdict="invalid", arms=(arm("baseline", errored=6), arm("with_skill", errored=3)))
ALONE = report("alone", verdict=None, arms=(arm("with_skill"),), lifts=())

HOSTILE = (
    'a|b <script>alert("1")</script> `x` [y](http://z) @someone',
    "\u202egnp.exe \x1b[31mred\x1b[0m\u2066\x9b2J",
    "漢字のとても長い名前のモデル" * 12,
    "e\u0301" * 200,
    "scripted/" + "deep/" * 60 + "student.yaml",
    "",
)
"""Names that would act, were they not only text."""


def found(*students: StudentReport, **changes: Any) -> Evaluation:
    return evaluation(*students, **({"cases": 12} | changes))


FOUR = found(HELPED, STRONG, OPEN, WORSE)
STRANGERS = found(*(student(name, 0.1, 0.9, "helps", (0.2, 0.9)) for name in HOSTILE))
EVERYTHING = found(HELPED, STRONG, OPEN, WORSE, SAME, CHEAPER, LOST, ALONE)
