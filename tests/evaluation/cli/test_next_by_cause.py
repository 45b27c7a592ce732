"""The command after `next` addresses the cause, and can be typed here as it is printed."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from provider import Behaviour, Provider
from report.unit.evaluations import CASE_STATES, LOADS, arm, evaluation, lift, report
from typed import Upskill
from upskill.core.nouns import Evaluation, Interval, RunEnd
from upskill.core.nouns.evaluation import BrokenCase
from upskill.core.nouns.plan import Again, Student
from upskill.report.next_step import next_step

CASES = 12
WIDE = Interval(low=-0.1, high=0.5)
FORCED = lift(arm="with_skill", mean=0.8, interval=Interval(low=0.5, high=0.9))
UNLOADED = replace(LOADS, loaded=0, rate=0.0)
SILENT = replace(UNLOADED, no_tool_called=True)
RARE = replace(LOADS, loaded=1, rate=0.1)


@dataclass(frozen=True, kw_only=True)
class Result:
    """A result made by hand, and what its next command must be about."""

    says: str
    verdict: str | None = "undecided"
    without: int = 4
    passed: int = 6
    """Of twelve answers with the skill."""
    harness: str = "chat"
    about: dict[str, Any] = field(default_factory=dict)
    """More of the report of each model."""
    whole: dict[str, Any] = field(default_factory=dict)
    """More of the evaluation."""
    prompts: bool = True
    against: str = "baseline"


OPEN = ("undecided", "no difference")
RESULTS = {
    "helps": Result(says="check it in every build", verdict="helps", passed=12),
    "helps these": Result(
        says="to say so of new ones", verdict="helps", passed=12, about={"lifts": (lift(about="these cases", units=4),)}
    ),
    "cheaper": Result(says="measure it again", verdict="cheaper"),
    "hurts": Result(says="let the teacher revise the skill", verdict="hurts", without=10),
    "wide": Result(says="write more cases, since these cannot decide it"),
    "small": Result(says="let the teacher revise the skill", verdict="no difference", without=6),
    "doubtful cases": Result(says="what to change in the cases", verdict="hurts", whole={"case_states": CASE_STATES}),
    "broken": Result(
        says="the broken cases",
        about={"broken": (BrokenCase(case_id="c1", answers=8, passed=0, passed_before=8),)},
        against="previous",
    ),
    "new version": Result(says="against no skill", verdict="helps", passed=12, against="previous"),
    "versions": Result(says="write more cases", without=0, passed=1, against="previous"),
    "easy to tell": Result(
        says="what to change in the cases", verdict="no difference", whole={"case_states": CASE_STATES[:1]}
    ),
    "alone": Result(says="with and without the skill", verdict=None),
    "errors": Result(says="retry only what errored", verdict="invalid"),
    "down": Result(says="retry only what errored", verdict="invalid", about={"end": "endpoint down"}),
    "lost": Result(
        says="ask everything again",
        verdict="invalid",
        about={"arms": (arm("baseline"), replace(arm("with_skill"), lost=12))},
    ),
    "cap": Result(says="the same budget", verdict="invalid", about={"end": "cap reached"}),
    "interrupted": Result(says="resume where it stopped", whole={"end": RunEnd(interrupted=True)}),
    "checks": Result(says="grade with these checks", about={"end": "checks changed"}),
    **{
        f"fail, {one}": Result(says="11 of 12 answers fail with the skill", verdict=one, without=0, passed=1)
        for one in OPEN
    },
    **{
        f"easy, {one}": Result(says="11 of 12 answers pass without the skill", verdict=one, without=11, passed=12)
        for one in OPEN
    },
    **{
        f"{name}, {one}": Result(says=says, verdict=one, harness="agent", about={"loads": loads}, prompts=prompts)
        for one in OPEN
        for name, says, loads, prompts in (
            ("silent", "the model calls no tool", SILENT, True),
            ("unloaded", "revise the description", UNLOADED, True),
            ("no prompts", "write prompts that should load it", UNLOADED, False),
        )
    },
    "rare": Result(
        says="revise the description", harness="agent", about={"loads": RARE, "lifts": (lift(arm="offered"), FORCED)}
    ),
    "offered, fail": Result(
        says="answers fail with the skill", without=0, passed=0, harness="agent", about={"loads": LOADS}
    ),
}
QUICK = (
    "fail, undecided-no-key",
    "silent, undecided-key",
    "no prompts, undecided-no-key",
    "wide-no-key",
    "small-no-key",
)
EVERY = [(name, teacher) for name in RESULTS for teacher in ("key", "no-key")]


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(lambda asked: Behaviour(text="right" if asked.has_skill else "wrong")) as serving:
        yield serving


@pytest.fixture
def run(here: Path, upskill: Upskill, provider: Provider) -> str:
    """A run of a skill with cases and trigger prompts, for what is about a run."""
    (here / "x" / "evals").mkdir(parents=True)
    (here / "x" / "SKILL.md").write_text("---\nname: x\ndescription: Answers.\n---\nSay right.\n")
    cases = [{"id": f"c{n}", "input": f"Question {n}?", "expected": {"contains": "right"}} for n in range(CASES)]
    (here / "x" / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    prompts = [
        {"id": f"p{n}", "prompt": f"Prompt {n}?", "should_load": bool(n % 2), "use": "learn" if n < 8 else "held-out"}
        for n in range(40)
    ]
    (here / "x" / "evals" / "triggers.json").write_text(
        json.dumps({"format": "upskill.triggers/1", "prompts": prompts})
    )
    done = upskill("eval", "x", "-m", "any", "--base-url", provider.url)
    assert done.returncode == 0, done.stderr
    (folder,) = (here / "runs").glob("*/run.json")
    return folder.parent.relative_to(here).as_posix()


def _evaluation(result: Result, *, run: str, url: str) -> Evaluation:
    measured = "offered" if result.harness == "agent" else "with_skill"
    arms = (
        arm(result.against, passed=result.without, trials=CASES),  # type: ignore[arg-type]
        arm(measured, passed=result.passed, trials=CASES),  # type: ignore[arg-type]
    )
    values: dict[str, Any] = {
        "verdict": result.verdict,
        "harness": f"{result.harness}/2",
        "arms": arms if result.verdict is not None else arms[1:],
        "lifts": (lift(interval=WIDE if result.verdict in OPEN else Interval(low=0.05, high=0.5)),),
        "student": Student(name="any", model="openai-api/endpoint/any", endpoint=url),
    }
    return evaluation(report(**(values | result.about)), run=run, **result.whole)


@pytest.mark.parametrize(
    ("name", "teacher"),
    [pytest.param(*one, id="-".join(one), marks=[] if "-".join(one) in QUICK else [pytest.mark.full]) for one in EVERY],
)
def test_the_next_command_addresses_the_cause_and_can_be_typed(
    name: str, teacher: str, upskill: Upskill, here: Path, run: str, provider: Provider
) -> None:
    result = RESULTS[name]
    again = Again(
        options=(f"--harness {result.harness}",) if result.harness != "chat" else (),
        by_hand=teacher == "no-key",
        has_prompts=result.prompts,
    )
    if not result.prompts:
        (here / "x" / "evals" / "triggers.json").unlink()
    step = next_step(_evaluation(result, run=run, url=provider.url), skill="x", again=again)
    assert result.says in step.what
    words = shlex.split(step.command)
    assert words[0] == "upskill"
    variables = {"ANTHROPIC_API_KEY": "sk-ant-none"} if teacher == "key" else {}
    if words[1] in ("eval", "generate", "trigger") or words[1:3] == ["cases", "write"]:
        words += ["--dry-run"] if "--resume" not in words else []
    if words[1] == "report":
        words.remove("--open")
    done = upskill(*words[1:], **variables)
    assert done.returncode in ((0, 1) if words[1:3] == ["cases", "check"] else (0,)), (step.command, done.stderr)
