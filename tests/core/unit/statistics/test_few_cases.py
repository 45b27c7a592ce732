"""What few cases cannot exclude, in words."""

import pytest

from upskill.core.statistics import Pair, Pairing, breakage_note, measure_lift


def note_of(worse: int, cases: int, *, families: int | None = None) -> str | None:
    """The note of so many cases, each asked once, of which some passed before and fail now."""
    pairs = tuple(
        Pair(
            case_id=f"c{number:02}",
            repeat=1,
            passed=number >= worse,
            passed_against=True,
            family=None if families is None else f"f{number % families}",
        )
        for number in range(cases)
    )
    lift = measure_lift(Pairing(arm="with_skill", against="baseline", pairs=pairs))
    assert lift is not None
    return breakage_note(lift)


@pytest.mark.parametrize(
    ("worse", "said"),
    [
        (0, "none of 12 cases broke; up to 22%"),
        (1, "1 of 12 cases got worse; up to 34%"),
        (2, "2 of 12 cases got worse; up to 44%"),
        (3, "3 of 12 cases got worse; up to 53%"),
    ],
)
def test_the_bound_is_that_of_what_broke(worse: int, said: str) -> None:
    assert note_of(worse, 12) == f"{said} of new ones {'may' if worse else 'still may'}"


def test_families_are_what_is_counted() -> None:
    assert note_of(0, 40, families=7) == "none of 7 families broke; up to 35% of new ones still may"


def test_twenty_cases_are_enough_and_five_say_nothing_of_others() -> None:
    assert note_of(0, 20) is None
    assert note_of(0, 5) is None
