"""A few persons for every attack; the full tables are in benchmarks/."""

import random

import pytest
from tools.simulation.attacks import ATTACKS, Attack, Person, count_false
from tools.simulation.coverage import cover_responders
from tools.simulation.populations import generator
from tools.simulation.teaching import at_most

pytestmark = pytest.mark.full

SLOW = "a CI gate, 50 edits that change nothing"
"""It takes as long as all others together; `make full` runs it."""


@pytest.mark.parametrize(
    "attack",
    [pytest.param(attack, id=what) for attack in ATTACKS for what in [attack.rows[-1].what]],
)
def test_skill_without_effect_is_rarely_said_to_help_whatever_a_person_does(attack: Attack) -> None:
    row = attack.rows[-1]
    persons = max(5, round(40 * attack.share))
    told = {
        population: count_false(attack, population, persons=persons, seed=f"{row.what}/{population}")[row.step, "wide"]
        for population in attack.populations
    }
    assert not row.claimed or sum(told.values()) <= at_most(persons * len(told), 0.05), told


@pytest.mark.parametrize("runs", [1, 5, 20])
@pytest.mark.parametrize("cases", [6, 7, 12, 16, 20, 50, 100])
def test_interval_covers_where_cases_respond_all_or_nothing(cases: int, runs: int) -> None:
    assert min(cover_responders(cases, runs).values()) >= 94


def test_tenth_honest_edit_of_a_helping_skill_is_still_said_to_help() -> None:
    rng = random.Random(0)
    told = 0
    for _ in range(20):
        person = Person(rng=rng, cases=generator("gain35").cases(rng, 30))
        verdicts = [person.evaluate(version=version).verdict for version in range(1, 11)]
        told += verdicts[-1] == "helps"
    assert told >= 12


def test_an_unchanged_evaluation_returns_its_recorded_judgement_and_buys_nothing() -> None:
    rng = random.Random(0)
    person = Person(rng=rng, cases=generator("half").cases(rng, 20))
    first = person.evaluate()
    state = rng.getstate()
    assert all(person.evaluate() is first for _ in range(50))
    assert rng.getstate() == state
