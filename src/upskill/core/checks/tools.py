"""`tools`, `turns` and `tokens`: which tools a model used, in which order, how often, and how long it took."""

from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from typing import ClassVar

from upskill.core.checks.kind import (
    NEEDS_TRAJECTORY,
    NOTHING,
    CheckOutcome,
    Kind,
    Need,
    NotRecorded,
    Submission,
    TrajectoryKind,
    shown_call,
    string_problems,
    strings_of,
    trajectory_of,
    type_name,
    unseen_calls,
)
from upskill.core.nouns import Answer
from upskill.core.nouns.answer import TOOL_KINDS, ToolCall, Trajectory
from upskill.core.nouns.case import Json
from upskill.core.nouns.text import count

_LISTS = ("used", "forbidden", "order")
_TOO_CLOSE = 0.9


class Tools(TrajectoryKind):
    """Passes when every tool of `used` and `order` was used, none of `forbidden`, and none more than `at_most`."""

    name = "tools"
    keys = (*_LISTS, "at_most")
    short_for = "used"
    too_weak = "`tools` asks only what was not done; add `used`, or a check of the result"
    rules = (
        f"A tool is named by its kind ({', '.join(f'`{kind}`' for kind in TOOL_KINDS)}) or as the agent names it.",
        "A call counts for `forbidden` and `at_most` only if the tool refused it or does not exist, or if a subagent "
        "made it.",
    )

    def problems(self, spec: Json) -> list[str]:
        wanted = self.as_object(spec)
        problems = self.unknown_keys(wanted)
        for key in _LISTS:
            if key in wanted:
                problems += _name_problems(wanted[key], key)
        if "at_most" in wanted:
            problems += _most_problems(wanted["at_most"])
        if not problems and not wanted:
            problems.append("`tools` is empty, so it checks nothing")
        return problems

    def asked(self, wanted: Mapping[str, Json]) -> list[str]:
        return [
            *(f"uses {_listed(wanted[key])}" for key in ("used",) if key in wanted),
            *(f"does not use {_listed(wanted[key])}" for key in ("forbidden",) if key in wanted),
            *(f"uses in this order {_listed(wanted[key])}" for key in ("order",) if key in wanted),
            *(f"makes at most {_most_words(wanted[key])}" for key in ("at_most",) if key in wanted),
        ]

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """Everything that is wrong is named; a pass says what was used."""
        wanted, trajectory = self.as_object(spec), trajectory_of(submission)
        done = [call for call in trajectory.calls if call.is_shown]
        wrong = [
            f"`{name}` was not used"
            for name in strings_of(wanted.get("used", []))
            if not any(call.is_called(name) for call in done)
        ]
        wrong += _forbidden(strings_of(wanted.get("forbidden", [])), trajectory)
        wrong += _disorder(strings_of(wanted.get("order", [])), done)
        wrong += _too_many(wanted.get("at_most"), trajectory)
        return CheckOutcome(False, "; ".join(wrong)) if wrong else CheckOutcome(True, _summary(trajectory))


def _name_problems(value: Json, key: str) -> list[str]:
    problems = string_problems(value, kind=f"tools: {key}", many=True)
    return problems or [problem for name in strings_of(value) for problem in _misspelt(name, key)]


def _misspelt(name: str, key: str) -> list[str]:
    """A forbidden tool that no agent has would never be found: what is nearly a known kind is one."""
    if name.casefold() in TOOL_KINDS:
        return []
    near = get_close_matches(name.casefold().replace("-", "_"), TOOL_KINDS, n=1, cutoff=_TOO_CLOSE)
    return [f"`tools: {key}`: there is no tool `{name[:40]}`; did you mean `{near[0]}`?"] if near else []


def _most_problems(value: Json) -> list[str]:
    if isinstance(value, dict):
        if not value:
            return ["`tools: at_most` is empty, so it checks nothing"]
        return [problem for name, most in value.items() for problem in (*_misspelt(name, "at_most"), *_number(most))]
    return _number(value)


def _number(value: Json) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, int):
        return [f"`tools: at_most` must be a whole number, or one for each tool, not {type_name(value)}"]
    return [] if value >= 0 else ["`tools: at_most` must not be negative"]


def _forbidden(names: list[str], trajectory: Trajectory) -> list[str]:
    found = [
        f"`{name}` was used: {shown_call(call)}"
        for name in names
        if (call := next((call for call in trajectory.calls if call.is_called(name)), None)) is not None
    ]
    # Names are never cut: only calls that were not kept can hide one.
    unseen = unseen_calls(trajectory) if names and trajectory.left_out and not found else None
    return [*found, *([unseen] if unseen else [])]


def _disorder(names: list[str], done: list[ToolCall]) -> list[str]:
    """The calls hold these tools one after the other, with any others between them."""
    left = iter(done)
    for number, name in enumerate(names):
        if not any(call.is_called(name) for call in left):
            before = f" after `{names[number - 1]}`" if number else ""
            return [f"`{name}` was not used{before}"]
    return []


def _too_many(most: Json, trajectory: Trajectory) -> list[str]:
    calls = trajectory.calls
    if isinstance(most, dict):
        counted = {name: sum(call.is_called(name) for call in calls) + trajectory.left_out for name in most}
        return [
            f"`{name}` was called {_times(counted[name])}; at most {_times(limit)}"
            for name, limit in most.items()
            if isinstance(limit, int) and counted[name] > limit
        ]
    made = len(calls) + trajectory.left_out
    return [f"{count(made, 'tool call')}; at most {most}"] if isinstance(most, int) and made > most else []


def _summary(trajectory: Trajectory) -> str:
    if not trajectory.calls:
        return "no tool was used"
    used = Counter(call.tool for call in trajectory.calls)
    return ", ".join(f"{tool} {_times(times)}" for tool, times in used.most_common(8))


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _listed(value: Json) -> str:
    return ", ".join(strings_of(value))


def _most_words(value: Json) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{most} of {name}" for name, most in value.items())
    return f"{value} tool calls"


class _AtMost(Kind):
    """A kind whose spec is the largest number that passes."""

    only_forbids = True
    of_the_way = True
    too_weak: ClassVar[str | None] = "a limit alone asks for nothing; add a check of the result"

    def problems(self, spec: Json) -> list[str]:
        if isinstance(spec, bool) or not isinstance(spec, int):
            return [f"`{self.name}` must be a whole number, the most that passes, not {type_name(spec)}"]
        return [] if spec > 0 else [f"`{self.name}` must be at least 1"]

    def describe(self, spec: Json) -> str:
        return f"the answer takes at most {spec} {self.name}"

    def reads_words(self, spec: Json) -> bool:
        return False

    def used(self, answer: Answer) -> int | None:
        """How many were used; `None` where it was not recorded."""
        raise NotImplementedError

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        used = self.used(submission.answer)
        if used is None:
            raise NotRecorded(f"the {self.name} of this answer were not recorded")
        within = isinstance(spec, int) and used <= spec
        return CheckOutcome(within, f"{used:,} {self.name}{'' if within else f'; at most {spec}'}")


class Turns(_AtMost):
    """Passes when the model gave at most so many answers, those that only call tools included."""

    name = "turns"
    rules = (
        "Every answer of the model is a turn, also one that only calls tools; turns of subagents are not counted.",
    )

    def needs(self, spec: Json) -> frozenset[Need]:
        return NEEDS_TRAJECTORY

    def used(self, answer: Answer) -> int | None:
        return answer.turns


class Tokens(_AtMost):
    """Passes when all calls for the answer took at most so many tokens."""

    name = "tokens"
    rules = (
        "Input and output of all calls together, as the provider reports them; the skill and what is read count too.",
        "A provider that does not report them makes the answer errored.",
    )

    def needs(self, spec: Json) -> frozenset[Need]:
        return NOTHING

    def used(self, answer: Answer) -> int | None:
        return answer.tokens
