"""The search for lines that a case needs, on simulated answers."""

import random
from collections.abc import Mapping

from upskill.slim.search import MOST_CALLS, CaseSearch, find_lines, rates, weigh_together

LINES = 20
ALL = (1 << LINES) - 1


def searched(needs: Mapping[str, int], *, passes: float = 0.9, without: float = 0.1, seed: int = 0) -> list[CaseSearch]:
    """Searches that are over; a case that needs bit `LINES` never passes."""
    drawn = random.Random(seed)
    searches = [CaseSearch(case_id, LINES) for case_id in needs]
    while open_ := weigh_together(searches):
        for search in open_:
            version = search.next_version()
            rate = passes if needs[search.case_id] & ~version == 0 else without
            search.add(version, drawn.random() < rate)
    return searches


def test_one_line_two_lines_and_none_are_found() -> None:
    needs = {"one": 1 << 3, "two": 1 << 5 | 1 << 9, "none": 0}
    for search in searched(needs, passes=1.0, without=0.0):
        found = search.needs()
        assert sum(1 << line for line in range(LINES) if found[line] > 0.9) == needs[search.case_id]
        assert search.is_telling
        assert len(search.asked) < MOST_CALLS


def test_a_case_that_never_passes_says_nothing_of_any_line() -> None:
    searches = searched({"hopeless": 1 << LINES, "one": 1 << 3}, passes=1.0, without=0.0)
    assert [search.is_telling for search in searches] == [False, True]
    lines = find_lines(searches, {"hopeless": ALL, "one": ALL})
    assert [line.needed_by for line in lines if line.is_needed] == [("one",)]
    assert lines[0].tested_by == ("one",)


def test_a_line_is_tested_only_by_cases_on_its_subject() -> None:
    searches = searched({"one": 1 << 3}, passes=1.0, without=0.0)
    lines = find_lines(searches, {"one": 1 << 3 | 1 << 4})
    assert [place for place, line in enumerate(lines) if line.tested_by] == [4]
    assert lines[3].is_needed


def test_the_same_answers_lead_to_the_same_questions() -> None:
    needs = {f"c{number}": 1 << number % 5 for number in range(8)}
    first, again = searched(needs), searched(needs)
    assert [search.asked for search in first] == [search.asked for search in again]
    assert len({tuple(search.asked) for search in first}) == len(needs)


def test_few_lines_are_lost_or_kept_wrongly_with_a_noisy_student() -> None:
    needs = {f"c{number}": 1 << number % 6 for number in range(30)}
    searches = searched(needs)
    lines = find_lines(searches, dict.fromkeys(needs, ALL))
    assert all(line.is_needed for line in lines[:6])
    assert sum(line.is_needed for line in lines[6:]) <= 2
    high, low = rates(searches)
    assert 0.82 < high < 0.97
    assert 0.04 < low < 0.2


def test_a_case_that_is_set_aside_is_over() -> None:
    search = CaseSearch("c", LINES)
    search.set_aside = True
    assert weigh_together([search]) == []
    assert not search.is_telling
