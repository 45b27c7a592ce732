"""What is known of the students before anything is asked of them."""

from dataclasses import replace

import pytest

from upskill.core.models import Endpoint, ServedModel
from upskill.core.models.preflight import THE_SERVER, fitted
from upskill.core.nouns import Case, estimate_tokens
from upskill.core.settings import ResolvedSettings, Settings, settings_from
from upskill.errors import ProviderError
from upskill.generation.student import (
    Served,
    build_profile,
    counter_for,
    profile_lines,
    skill_room,
    student_told,
    with_cases,
)


def served(*windows: int | None) -> Served:
    return tuple(
        (Endpoint(name=f"s{number}", model=f"x/s{number}", how=""), ServedModel(window=window))
        for number, window in enumerate(windows)
    )


def capped(*windows: int | None, **settings: object) -> ResolvedSettings:
    chosen = settings_from(settings, where="test")
    fit, _ = fitted(chosen.values, [one for _, one in served(*windows)], unchosen=chosen.unchosen)
    return chosen.following(fit, THE_SERVER)


@pytest.mark.parametrize(
    ("window", "longest"), [(512, 128), (1_024, 128), (2_048, 256), (8_192, 1_024), (8_193, 2_048), (None, 2_048)]
)
def test_a_small_window_sets_the_longest_answer(window: int | None, longest: int) -> None:
    assert capped(window).values.max_output_tokens == longest


def test_what_a_person_set_stays_and_the_narrowest_student_counts() -> None:
    assert capped(1_024, max_output_tokens=300).values.max_output_tokens == 300
    assert capped(None, 64_000, 2_048).values.max_output_tokens == 256


def test_the_budget_is_what_the_window_leaves() -> None:
    students, settings = served(1_024), capped(1_024)
    profile = build_profile(students, settings.values, harness="chat", count=counter_for(students))
    assert profile.case_tokens == 204
    assert profile.skill_tokens == skill_room(profile, counter_for(students))
    assert 500 < profile.skill_tokens < 1_024 - 128 - 204
    assert profile_lines(profile, settings) == (
        "  window: 1,024 tokens; answers: at most 128, an eighth of the window; skill: at most "
        f"{profile.skill_tokens} (estimated)",
    )
    assert "at most 1,024 tokens" in student_told(profile)


def test_longer_cases_leave_less_and_the_budget_is_never_negative() -> None:
    students, count = served(1_024), counter_for(served(1_024))
    profile = build_profile(students, capped(1_024).values, harness="chat", count=count)
    cases = [Case(id=str(size), prompt="word " * size, checks=()) for size in (5, 200, 3_000)]
    assert with_cases(profile, cases[:1], count).skill_tokens > profile.skill_tokens
    assert with_cases(profile, cases[:2], count).case_tokens == count(cases[1].prompt)
    assert with_cases(profile, cases, count).skill_tokens == 64


def test_tools_take_room_too() -> None:
    students, count = served(2_048), counter_for(served(2_048))
    chat, agent = (
        build_profile(students, replace(Settings(), max_output_tokens=256), harness=harness, count=count).skill_tokens
        for harness in ("auto", "agent")
    )
    assert chat > agent


def test_no_known_window_is_no_limit() -> None:
    students = served(None)
    profile = build_profile(students, Settings(), harness="auto", count=counter_for(students))
    assert (profile.window, profile.case_tokens, profile.skill_tokens) == (None, None, 1_200)
    assert profile_lines(profile, capped(None)) == ()


def test_an_estimate_for_a_known_window_is_rather_too_high() -> None:
    text = "some text of a skill " * 20
    assert counter_for(served(None))(text) == estimate_tokens(text)
    assert counter_for(served(2_048))(text) >= 1.5 * estimate_tokens(text)


def test_a_window_without_room_is_refused_with_what_to_do() -> None:
    students = served(64_000, 256)
    with pytest.raises(ProviderError, match="s1: a context window of 256 tokens leaves no room for a skill") as refused:
        build_profile(students, capped(64_000, 256).values, harness="auto", count=counter_for(students))
    assert "UPSKILL_MAX_OUTPUT_TOKENS" in str(refused.value.hint)
