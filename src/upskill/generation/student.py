"""What is known of the students before a skill is written for them: limits of the server, what they can do, the room
that they leave for a skill, and what writers are told of all that."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from upskill.core.cases.skill_meta import Aptitude
from upskill.core.models import Endpoint, ServedModel
from upskill.core.models.preflight import SMALL_WINDOW, THE_SERVER, count_tokens
from upskill.core.nouns import Case, Skill, estimate_tokens, harness_info
from upskill.core.nouns.harness import choose_harness
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.trials.harness import Requests
from upskill.core.trials.trajectory import TOOLS
from upskill.errors import ProviderError, WindowExceeded
from upskill.evaluation.prepare import MOST_ESTIMATE_ERROR
from upskill.generation.draft import BODY_TOKENS, Draft
from upskill.generation.prompts import prompt

CountTokens = Callable[[str], int]
"""Counts tokens as the student does: by its server's tokenizer, or by an estimate that is rather too high."""

TINY = 1_000_000_000
"""A student with fewer parameters copies what it reads, and can do little more: it is asked for that."""

RUNGS = ("answer", "snippet", "file")
"""How much a case asks for: one line, a few lines, a whole file or program. A written case names its own in `extra`."""
RUNG_SIZES = {"answer": "one line", "snippet": "a few lines", "file": "a whole file or program"}
LEAST_OUTPUT = {"snippet": 100, "file": 400}
"""Tokens of the longest answer from which on a student is asked for so much."""
RUNG_NAMES = {"answer": "one-line answers", "snippet": "snippets", "file": "files and programs"}
"""The rungs as people call them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentProfile:
    """What everybody who writes is told of the students. Of several, the narrowest limits count."""

    names: tuple[str, ...]
    window: int | None
    """Tokens of prompt and answer together; `None` if no server says."""
    output_tokens: int | None
    """Where answers are cut; `None` without a cap."""
    harness: str
    case_tokens: int | None
    """The most tokens of a case's prompt with its files; `None` without a known window."""
    skill_tokens: int
    """The most tokens of a skill's body, as the student counts them."""
    parameters: int | None = None
    """How many the smallest of them has; `None` if no server says."""
    exact: bool = False
    """Whether the student's own tokenizer counts; else tokens are estimated."""
    aptitudes: tuple[Aptitude, ...] = ()
    """Empty until aptitude is measured."""

    @property
    def is_small(self) -> bool:
        """Whether its window is known to be small."""
        return self.window is not None and self.window <= SMALL_WINDOW

    @property
    def is_tiny(self) -> bool:
        """Whether it is known to have few parameters."""
        return self.parameters is not None and self.parameters < TINY

    def reachable(self, student: str) -> frozenset[str] | None:
        """The learn cases that this student passed in aptitude; `None` where none was shown with its passage."""
        measured = [one for one in self.aptitudes if one.student == student and one.ceiling is not None]
        return frozenset(case_id for one in measured for case_id in one.reachable) if measured else None


def rungs_for(profile: StudentProfile | None) -> tuple[str, ...]:
    """What a student can be asked for, by its size and its longest answer alone."""
    if profile is not None and profile.is_tiny:
        return RUNGS[:1]
    longest = None if profile is None else profile.output_tokens
    return tuple(rung for rung in RUNGS if longest is None or longest >= LEAST_OUTPUT.get(rung, 0))


TINY_BODY_TOKENS = 640
"""The most for a tiny student: with so many, thirty facts helped SmolLM2-135M (benchmarks/results/experiments.md)."""
LEAST_SKILL_TOKENS = 64
"""A student with less room than this can be taught nothing."""
_LONGEST_COUNTED = 3
"""The longest cases in characters are counted in tokens: the longest in tokens is among them."""

Served = Sequence[tuple[Endpoint, ServedModel]]
"""The students, each with what its server says."""


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
            hint="serve the model with a larger context, or set a lower UPSKILL_MAX_OUTPUT_TOKENS",
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
    chosen = ", an eighth of the window" if settings.origins["max_output_tokens"] == THE_SERVER else ""
    if settings.origins["concurrency"] == THE_SERVER:
        chosen += f", {settings.values.concurrency} at a time"
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


def student_told(profile: StudentProfile | None) -> str:
    """A section of a prompt; empty where no student is known."""
    if profile is None:
        return ""
    window, output = profile.window, profile.output_tokens
    return prompt(
        "student",
        names=", ".join(profile.names) + _size(profile.parameters),
        window=f"Question, skill and answer together have at most {window:,} tokens. " if window else "",
        output=f"Answers are cut at {output:,} tokens. " if output else "",
        harness=_how(profile.harness),
        budget=f"{profile.skill_tokens:,}",
        counted=_counted(profile),
        aptitude="".join(f"\n\n{_measured(one)}" for one in profile.aptitudes),
    )


def _size(parameters: int | None) -> str:
    if parameters is None:
        return ""
    millions = parameters / 1_000_000
    return (
        f" ({millions / 1000:.1f} billion parameters)" if millions >= 1000 else f" ({millions:.0f} million parameters)"
    )


def _counted(profile: StudentProfile) -> str:
    if profile.exact:
        return "as the student's own tokenizer counts them"
    return "estimated at four bytes each" if profile.window is None else "estimated at three for eight bytes"


def reader_told(profile: StudentProfile | None) -> str:
    """What the writer of a skill is told of its reader: the student, and how to write for one that is small or tiny."""
    if profile is None:
        return "Of the student nothing is known: leave out only what any language model does right unasked."
    if profile.is_tiny:
        return f"{student_told(profile)}\n\n{prompt('tiny_student')}"
    return student_told(profile) + (f"\n\n{prompt('small_student')}" if profile.is_small else "")


def asked_told(profile: StudentProfile | None) -> str:
    """What whoever plans or writes cases is told: the student, and what can be asked of one that is tiny."""
    return student_told(profile) + (f"\n\n{prompt('tiny_cases')}" if profile is not None and profile.is_tiny else "")


def _how(harness: str) -> str:
    if harness == "auto":
        return (
            "It answers once, without tools, unless a case has files or its checks run programs: then it works with "
            "tools in a sandbox, if it can."
        )
    info = harness_info(harness)
    if info.with_tools:
        return "It works with tools in a sandbox, where the files of the task and of the skill lie."
    return (
        "It answers once, without tools: the skill's body stands in its system message, the files of a task in the "
        "prompt, and it delivers a file as a fenced block with the path in the line above. It reads no other file of "
        "the skill."
    )


def _measured(one: Aptitude) -> str:
    if one.baseline is None:
        return f"What {one.student} can do was not measured."
    parts = [f"Measured on the cases to learn from, {one.student} passes {one.baseline:.0%} without anything"]
    if one.ceiling is not None:
        parts.append(f", and {one.ceiling:.0%} with the passage that holds the answer in the prompt")
    told = "".join(parts) + "."
    if one.ceiling is not None and one.rungs:
        listed = ", ".join(
            f"{RUNG_NAMES.get(rung.rung, rung.rung)} {rung.ceiling} of {rung.cases}" for rung in one.rungs
        )
        told += f" By kind, with the passage: {listed}."
    if one.cut:
        told += f" {one.cut} of {one.trials} answers were cut at the longest answer."
    return told
