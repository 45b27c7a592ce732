"""Prepares a measurement of triggering: everything is checked before a run folder exists or a call is made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from upskill import storage
from upskill.domain import Skill
from upskill.domain.harness import HARNESSES, harness_info
from upskill.domain.harness import choose_harness as harness_for
from upskill.domain.other_skills import Among
from upskill.domain.progress import SILENT, Progress
from upskill.domain.text import count
from upskill.domain.trigger import Company, TriggerPrompt, TriggerUse
from upskill.errors import UsageError
from upskill.sandbox import Backend
from upskill.settings import Settings
from upskill.storage.triggers import TRIGGERS_FILE
from upskill.workflows.evaluating.estimate import ASK_ABOVE_DOLLARS, ASK_ABOVE_MINUTES, Estimate
from upskill.workflows.evaluating.prepare import EvaluationOrder, PreparedEvaluation, prepare

ENOUGH_PROMPTS = 24
"""Held-out prompts of each kind that are written. With so many, a description that is right in 95% of all prompts of
both kinds is found to trigger well in 97% of all measurements; at most 2 of each kind may go wrong."""
FEWEST_TO_PASS = 10
"""Prompts of each kind below which not even an answer that is always right shows that a skill triggers well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerOrder:
    """What a person asks `upskill trigger` for."""

    skill: Path
    prompt_file: Path | None = None
    """A file of trigger prompts, instead of those that lie with the skill."""
    prompts: tuple[TriggerPrompt, ...] = ()
    """For a part of a longer run: these very prompts."""
    use: TriggerUse = "held-out"
    """Which prompts of a file are asked; those that were never split are asked in any case."""
    repeats: int = 1
    among: Among = field(default_factory=Among)
    """Other skills: the prompts are asked without them, and again beside them."""
    sandbox: Backend = "bubblewrap"
    agent_bin: Path | None = None
    """The coding agent that the harness runs, where it is not the one on the search path."""
    accept_findings: bool = False
    """Run a skill with dangers even where nothing confines programs: a person typed it."""
    searched: bool = False
    """For a part of a longer run that searches its drafts itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedTriggering:
    """A measurement that was checked and planned: a plan for each company, alone first."""

    order: TriggerOrder
    skill: Skill
    prompts: tuple[TriggerPrompt, ...]
    source: Path
    """Where the prompts come from."""
    parts: tuple[tuple[Company, PreparedEvaluation], ...]
    notes: tuple[str, ...] = ()

    @property
    def answers(self) -> int:
        """The answers of all models in all companies."""
        return sum(len(part.plan) for _, part in self.parts)

    @property
    def estimate(self) -> "TriggerEstimate":
        """What all of it will take."""
        return _together([part.estimate for _, part in self.parts])

    @property
    def is_much(self) -> bool:
        """Whether a person is asked first."""
        whole = self.estimate
        return (whole.price_at_most or 0) > ASK_ABOVE_DOLLARS or (whole.minutes_at_most or 0) > ASK_ABOVE_MINUTES

    @property
    def lines(self) -> tuple[str, ...]:
        """What it takes, for a person."""
        should = sum(prompt.should_load for prompt in self.prompts)
        near = count(len(self.prompts) - should, "near miss", "near misses")
        return f"{count(should, 'prompt')} that should load it, {near}", self.estimate.words


def prepare_triggering(
    order: TriggerOrder,
    settings: Settings,
    *,
    progress: Progress = SILENT,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
) -> PreparedTriggering:
    """Read, resolve, probe and plan. Raises, with what to do, if no call could succeed."""
    skill = storage.read_skill(order.skill)
    if order.repeats < 1:
        raise UsageError(f"--runs must be at least 1, not {order.repeats}")
    prompts, source = _prompts(order, skill)
    harness = harness_for(settings.harness, tools=True)
    if not harness_info(harness).with_tools:
        able = ", ".join(info.name for info in HARNESSES.values() if info.with_tools)
        raise UsageError(f"with the harness {harness} a model cannot load a skill", hint=f"choose one of {able}")
    asked = replace(settings, harness=harness)
    evaluation = EvaluationOrder(
        skill=order.skill,
        case_file=source,
        repeats=order.repeats,
        baseline=False,
        every_case=True,
        sandbox=order.sandbox,
        agent_bin=order.agent_bin,
        accept_findings=order.accept_findings,
        searched=order.searched,
        prompts=tuple(prompt.as_case for prompt in prompts),
    )
    parts: list[tuple[Company, PreparedEvaluation]] = []
    for company, wanted in _companies(evaluation, order.among):
        first = not parts
        part = prepare(
            wanted, asked, progress=progress, announce=announce if first else lambda _: None, needs_keys=needs_keys
        )
        parts.append((company, part))
    noted = dict.fromkeys(note for _, part in parts for note in part.notes)
    return PreparedTriggering(
        order=order,
        skill=skill,
        prompts=prompts,
        source=source,
        parts=tuple(parts),
        notes=(*noted, *_few_prompts(prompts)),
    )


def _companies(alone: EvaluationOrder, among: Among) -> list[tuple[Company, EvaluationOrder]]:
    companies: list[tuple[Company, EvaluationOrder]] = [("alone", alone)]
    if among:
        companies.append(("among", replace(alone, among=among)))
    return companies


def _prompts(order: TriggerOrder, skill: Skill) -> tuple[tuple[TriggerPrompt, ...], Path]:
    """The prompts that are asked, and where they lie. Raises where there are none of a kind."""
    path = order.prompt_file
    if order.prompts:
        return order.prompts, path or order.skill
    found = storage.read_skill_triggers(order.skill) if path is None else storage.read_trigger_file(path)
    if found is None:
        raise UsageError(
            f"{skill.name}: there are no trigger prompts",
            hint=f"let a teacher write them with `upskill trigger {order.skill} --write`, or add {TRIGGERS_FILE}; "
            "see docs/how-to/check-when-a-skill-loads.md",
        )
    prompts = tuple(prompt for prompt in found.prompts if prompt.use in (None, order.use))
    missing = [words for kind, words in _KINDS.items() if not any(one.should_load is kind for one in prompts)]
    if missing:
        raise UsageError(f"{found.path}: has no {_USES[order.use]} prompt {' and none '.join(missing)}")
    return prompts, found.path


_KINDS = {True: "that should load the skill", False: "that is a near miss"}
_USES = {"held-out": "held-out", "learn": "practice"}


def _few_prompts(prompts: Sequence[TriggerPrompt]) -> tuple[str, ...]:
    few = min(sum(prompt.should_load is kind for prompt in prompts) for kind in (True, False))
    if few >= FEWEST_TO_PASS:
        return ()
    return (
        f"with fewer than {FEWEST_TO_PASS} prompts of each kind no description can be shown to trigger well; "
        f"{ENOUGH_PROMPTS} of each are enough for a good one",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerEstimate(Estimate):
    """What a measurement of triggering will take; most answers end before their last turn."""

    @property
    def calls(self) -> str:
        """In words."""
        return f"at most {count(self.calls_at_most, 'call')}"

    @property
    def minutes(self) -> str:
        """In words; unknown where there was no run like this one."""
        return "time unknown" if self.minutes_at_most is None else self.duration


def _together(estimates: Sequence[Estimate]) -> TriggerEstimate:
    def total(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    return TriggerEstimate(
        calls_expected=sum(one.calls_expected for one in estimates),
        calls_at_most=sum(one.calls_at_most for one in estimates),
        price_expected=total([one.price_expected for one in estimates]),
        price_at_most=total([one.price_at_most for one in estimates]),
        minutes_expected=total([one.minutes_expected for one in estimates]),
        minutes_at_most=total([one.minutes_at_most for one in estimates]),
        unknown=tuple(dict.fromkeys(name for one in estimates for name in one.unknown)),
    )
