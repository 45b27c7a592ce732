"""What is known of the students before anything is asked of them: what servers say, and how long a skill may be."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from upskill.domain import Case, Draft, Skill, estimate_tokens, harness_info
from upskill.domain.harness import choose_harness
from upskill.domain.student_profile import SMALL_WINDOW, CountTokens, StudentProfile
from upskill.errors import ProviderError, WindowExceeded
from upskill.models import Endpoint, ServedModel
from upskill.models.preflight import count_tokens
from upskill.settings import ResolvedSettings, Settings
from upskill.teaching.draft_rules import BODY_TOKENS
from upskill.trials import Requests
from upskill.trials.tool_specs import TOOLS
from upskill.workflows.evaluating.prepare import MOST_ESTIMATE_ERROR

TINY_BODY_TOKENS = 640
"""The most for a tiny student: with so many, thirty facts were measured to help SmolLM2-135M (experiments.md)."""
LEAST_SKILL_TOKENS = 64
"""A student with less room than this can be taught nothing."""
_LONGEST_COUNTED = 3
"""The longest cases in characters are counted in tokens: the longest in tokens is among them."""

Served = Sequence[tuple[Endpoint, ServedModel]]
"""The students, each with what its server says."""


def with_output_cap(settings: ResolvedSettings, students: Served) -> ResolvedSettings:
    """An eighth of a small window as the longest answer, unless a person set one."""
    window = _narrowest(students)[1]
    if settings.origins["max_output_tokens"] != "default" or window is None or window > SMALL_WINDOW:
        return settings
    return replace(
        settings,
        values=replace(settings.values, max_output_tokens=max(128, window // 8)),
        origins={**settings.origins, "max_output_tokens": "the student's window"},
    )


def counter_for(students: Served) -> CountTokens:
    """Counts as the narrowest student does: by its server's tokenizer, else by an estimate.

    Where a window is known the estimate is half as much again, so that what seems to fit does fit.
    """
    endpoint, window = _narrowest(students)
    exact = count_tokens(endpoint, "a") is not None

    @cache
    def count(text: str) -> int:
        tokens = count_tokens(endpoint, text) if exact else None
        if tokens is not None:
            return tokens
        estimated = estimate_tokens(text)
        return estimated if window is None else -(-estimated * 3 // 2)

    return count


def build_profile(
    students: Served, settings: Settings, *, harness: str, count: CountTokens, cases: Iterable[Case] = ()
) -> StudentProfile:
    """Limits of the narrowest student, and the room they leave for a skill. Raises where there is none.

    Before there are `cases`, one may take a fifth of the window. `harness` may be `auto` until then.
    """
    endpoint, window = _narrowest(students)
    profile = StudentProfile(
        names=tuple(student.name for student, _ in students),
        window=window,
        output_tokens=settings.max_output_tokens,
        harness=harness,
        case_tokens=None if window is None else window // 5,
        skill_tokens=BODY_TOKENS,
        parameters=min((one.parameters for _, one in students if one.parameters), default=None),
        exact=count_tokens(endpoint, "a") is not None,
    )
    profile = with_cases(profile, cases, count)
    if (room := skill_room(profile, count)) is not None and room < LEAST_SKILL_TOKENS:
        raise ProviderError(
            f"{endpoint.name}: a context window of {window:,} tokens leaves no room for a skill: "
            f"{settings.max_output_tokens:,} are for the answer and {profile.case_tokens or 0:,} for a case",
            hint="serve the model with a larger context, or set a lower --max-output-tokens",
        )
    return profile


def require_room_for_old(old: Draft | None, profile: StudentProfile, count: CountTokens) -> None:
    """Raises where a skill that is improved exceeds the window: it is measured too, and is never cut.

    Students with tools read it piece by piece; while `harness` is `auto`, nobody knows.
    """
    if old is None or profile.window is None or profile.harness == "auto" or harness_info(profile.harness).with_tools:
        return
    tokens = count(old.body) if profile.exact else int(estimate_tokens(old.body) * MOST_ESTIMATE_ERROR)
    if tokens > profile.window:
        has = f"{'' if profile.exact else '~'}{tokens:,}"
        raise WindowExceeded(
            f"{old.name} does not fit {', '.join(profile.names)}: it has {has} tokens, the window is "
            f"{profile.window:,}, so no new version can be compared with it",
            hint="shorten the skill, or serve the model with a larger context",
        )


def with_cases(profile: StudentProfile, cases: Iterable[Case], count: CountTokens) -> StudentProfile:
    """The profile with the longest of these cases as it is asked, and the budget that this leaves."""
    requests = Requests(_EMPTY, harness=_asked_by(profile.harness))
    prompts = sorted((requests.render(case, "baseline").prompt for case in cases), key=len)[-_LONGEST_COUNTED:]
    if prompts and profile.window is not None:
        profile = replace(profile, case_tokens=max(map(count, prompts)))
    room = skill_room(profile, count)
    most = TINY_BODY_TOKENS if profile.is_tiny else BODY_TOKENS
    budget = most if room is None else max(LEAST_SKILL_TOKENS, min(most, room))
    return replace(profile, skill_tokens=budget)


def skill_room(profile: StudentProfile, count: CountTokens) -> int | None:
    """Tokens of the window that answer, case and our own words leave; `None` where the window is unknown."""
    if profile.window is None:
        return None
    margin = 32 + profile.window // 64
    taken = (profile.output_tokens or 0) + (profile.case_tokens or 0) + _frame_tokens(profile.harness, count)
    return profile.window - taken - margin


def _frame_tokens(harness: str, count: CountTokens) -> int:
    name = _asked_by(harness)
    words = Requests(_EMPTY, harness=name).render(Case(id="", prompt="", checks=()), "with_skill").system
    tools = json.dumps([tool.as_json() for tool in TOOLS]) if harness_info(name).with_tools else ""
    return count(words + tools)


def profile_lines(profile: StudentProfile, settings: ResolvedSettings) -> tuple[str, ...]:
    """The limits, for a person; nothing where no server tells any."""
    if profile.window is None:
        return ()
    origin = settings.origins["max_output_tokens"]
    chosen = ", an eighth of the window" if origin == "the student's window" else ""
    counted = "by its own tokenizer" if profile.exact else "estimated"
    return (
        f"  window: {profile.window:,} tokens; answers: at most {profile.output_tokens:,}{chosen}; skill: at most "
        f"{profile.skill_tokens:,} ({counted})",
    )


_EMPTY = Skill(name="skill-of-a-student", description="", body="", digest="")
"""Stands for a skill that is not written yet."""


def _asked_by(harness: str) -> str:
    return choose_harness(harness, tools=False)


def _narrowest(students: Served) -> tuple[Endpoint, int | None]:
    """The student with the smallest known window, else the first."""
    known = [(endpoint, window) for endpoint, served in students if (window := served.window or endpoint.window)]
    return min(known, key=lambda one: one[1]) if known else (students[0][0], None)
