"""What an evaluation will take, before anything is bought; the caps of every call, and what a run has bought."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import mul
from pathlib import Path
from typing import Self

from upskill.core import statistics
from upskill.core.checks import judge_questions
from upskill.core.models import Budget, CallPolicy, Endpoint, MeteredClient, Spending
from upskill.core.models.client import MOST_JUDGE_OUTPUT_TOKENS
from upskill.core.nouns import Purchase, TrialPlan, estimate_tokens, harness_info
from upskill.core.nouns.case import Json
from upskill.core.nouns.plan import Student
from upskill.core.nouns.text import count
from upskill.core.runs.records import RunRecord, read_run
from upskill.core.runs.run_folders import RunFolder
from upskill.core.runs.run_summaries import runs_in
from upskill.core.runs.trial_log import emptied
from upskill.core.settings import Settings
from upskill.core.trials.harness import Requests
from upskill.core.trials.schedule import gate_rounds
from upskill.core.trials.trial_run import TrialLimits
from upskill.errors import UpskillError
from upskill.report.wording import dollars

ASK_ABOVE_DOLLARS = 1.0
ASK_ABOVE_MINUTES = 10.0
"""A person is asked before more is spent."""
EXPECTED_SHARE = 0.6
"""Of two looks the second is needed in about half of all evaluations."""
_EXPECTED_GATE_SHARE = 1.1
"""A version that breaks nothing takes so many times the answers that every case is asked for."""
EXPECTED_ANSWER_TOKENS = 300
"""The assumed length of an answer, where it may be longer."""
JUDGE_INPUT_TOKENS = 1_200
"""The assumed input of a judge for one question: instructions, task and answer."""
JUDGE_OUTPUT_TOKENS = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """What something will take: expected, and at most. Retries are not counted."""

    calls_expected: int
    calls_at_most: int
    price_expected: float | None
    price_at_most: float | None
    """In dollars, for the models whose price is known; `None` where no sum is known."""
    minutes_expected: float | None = None
    minutes_at_most: float | None = None
    """At the pace of the last run like this one; `None` where there was none."""
    unknown: tuple[str, ...] = ()
    """Models whose price is unknown."""

    @property
    def is_much(self) -> bool:
        """Whether a person is asked first."""
        return (self.price_at_most or 0) > ASK_ABOVE_DOLLARS or (self.minutes_at_most or 0) > ASK_ABOVE_MINUTES

    @property
    def calls(self) -> str:
        """In words."""
        if self.calls_expected == self.calls_at_most:
            return count(self.calls_at_most, "call")
        return f"about {count(self.calls_expected, 'call')}, at most {self.calls_at_most:,}"

    @property
    def price(self) -> str:
        """In words: an unknown price is never called nothing."""
        if self.price_expected is None or self.price_at_most is None or (self.unknown and self.price_at_most == 0):
            return "unknown"
        known = f"about {dollars(self.price_expected)}, at most {dollars(self.price_at_most)}"
        if self.price_at_most == 0:
            known = "$0"
        return known if not self.unknown else f"{known}; unknown for {', '.join(self.unknown)}"

    @property
    def duration(self) -> str:
        """In words; never `0 min`."""
        if self.minutes_expected is None or self.minutes_at_most is None:
            return "time estimate after the first pair"
        if self.minutes_at_most < 1:
            return "less than a minute"
        return f"about {max(1, round(self.minutes_expected))} min, at most {max(1, round(self.minutes_at_most))}"

    @property
    def minutes(self) -> str:
        """In words."""
        return self.duration

    @property
    def words(self) -> str:
        """All of it in one line."""
        return f"{self.calls}; price {self.price}; {self.minutes}"

    @classmethod
    def total(cls, estimates: "Iterable[Estimate]", *, most_minutes: float | None = None) -> Self:
        """What several things take that are done one after the other; a time or a price is unknown where one is.

        `most_minutes` is the cap on the time of all, if there is one.
        """
        all_of = tuple(estimates)
        cap = math.inf if most_minutes is None else most_minutes
        minutes = (_sum(one.minutes_expected for one in all_of), _sum(one.minutes_at_most for one in all_of))
        return cls(
            calls_expected=sum(one.calls_expected for one in all_of),
            calls_at_most=sum(one.calls_at_most for one in all_of),
            price_expected=_sum(one.price_expected for one in all_of),
            price_at_most=_sum(one.price_at_most for one in all_of),
            minutes_expected=None if minutes[0] is None else min(minutes[0], cap),
            minutes_at_most=None if minutes[1] is None else min(minutes[1], cap),
            unknown=tuple(dict.fromkeys(name for one in all_of for name in one.unknown)),
        )

    def as_json(self) -> dict[str, Json]:
        """The same for programs; what is unknown is null."""
        return {
            "calls": {"expected": self.calls_expected, "at_most": self.calls_at_most},
            "price": {"expected": self.price_expected, "at_most": self.price_at_most},
            "minutes": {"expected": self.minutes_expected, "at_most": self.minutes_at_most},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanEstimate(Estimate):
    """What an evaluation will take; at most: every answer as long as allowed, every trial run."""

    detectable: str
    """The smallest lift the plan can find, in words."""
    output_tokens_expected: int = 0
    tokens_at_most: int = 0
    """Input and output of the students."""

    @property
    def minutes(self) -> str:
        """In words, and where they come from."""
        return self.duration if self.minutes_at_most is None else f"{self.duration}, at the pace of the last run"


def _sum(numbers: Iterable[float | None]) -> float | None:
    total = 0.0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


def expected_share(plan: TrialPlan) -> float:
    """The share of the plan that is usually needed."""
    match plan.design:
        case "fixed":
            return 1.0
        case "two looks":
            return EXPECTED_SHARE
        case "gate":
            return _EXPECTED_GATE_SHARE * gate_rounds(plan) / plan.repeats


def estimate_plan(
    plan: TrialPlan,
    requests: Requests,
    *,
    trial_limits: TrialLimits | None = None,
    judge: Endpoint | None = None,
    pace: float | None = None,
    most_minutes: float | None = None,
) -> PlanEstimate:
    """Estimate an evaluation from its prompts. Students with tools work under `trial_limits`.

    `pace` is in seconds per call, where it is known; `most_minutes` is the cap on time, if there is one.
    """
    trial_limits = trial_limits or TrialLimits()
    prompts = earlier = asked = 0  # in all requests: tokens of ours, answers to earlier turns; how many requests
    for case in plan.cases:
        for arm in plan.arms_of(case):
            request, turns = requests.render(case, arm), len(case.turns) or 1
            said = [estimate_tokens(text) for text in (request.prompt, *request.later)]
            prompts += turns * estimate_tokens(request.system) + sum(map(mul, said, range(turns, 0, -1)))
            earlier += turns * (turns - 1) // 2
            asked += turns
    share = expected_share(plan)
    trials = sum(len(plan.arms_of(case)) for case in plan.cases)
    rounds = plan.most_turns / len(plan.cases)
    with_tools = harness_info(plan.harness).with_tools
    put = plan.trials_per_student
    if asked > trials:
        put = sum(len(turn.arms) * (len(turn.case.turns) or 1) for turn in plan.turns())
    expected = at_most = output = tokens = 0.0
    calls = usual_calls = 0
    for student in plan.students:
        longest = student.max_output_tokens or 0
        likely = min(longest, EXPECTED_ANSWER_TOKENS)
        # A turn of the user is answered as a case is. What limits a trial with tools limits all its turns together.
        usual = requests.harness.expected(
            asked, prompt_tokens=prompts + earlier * likely, answer_tokens=likely, trial_limits=trial_limits
        )
        most = requests.harness.at_most(
            trials if with_tools else asked,
            prompt_tokens=prompts + earlier * longest,
            answer_tokens=longest,
            trial_limits=trial_limits,
        )
        most_calls = (plan.trials_per_student if with_tools else put) * most.turns
        usual_calls += min(put * usual.turns, most_calls)
        calls += most_calls
        output += usual.output_tokens * rounds * share
        tokens += (most.input_tokens + most.output_tokens) * rounds
        if student.price is not None:
            expected += usual.cost(student.price) * rounds * share
            at_most += most.cost(student.price) * rounds
    judged = 0  # questions to the judge if every trial is run and every reply can be read
    if judge is not None:
        asked = sum(judge_questions(case) * len(plan.arms_of(case)) for case in plan.cases)
        judged = len(plan.students) * plan.repeats * asked
    unknown = tuple(student.name for student in plan.students if student.price is None)
    if judge is not None and judge.price is not None:
        expected += judged * share * judge.price.of(input_tokens=JUDGE_INPUT_TOKENS, output_tokens=JUDGE_OUTPUT_TOKENS)
        # Every question may have to be asked twice.
        at_most += (
            2 * judged * judge.price.of(input_tokens=2 * JUDGE_INPUT_TOKENS, output_tokens=MOST_JUDGE_OUTPUT_TOKENS)
        )
    elif judge is not None and judge.name not in unknown:
        unknown += (judge.name,)
    calls_expected, calls_at_most = round((usual_calls + judged) * share), calls + 2 * judged
    cap = math.inf if most_minutes is None else most_minutes
    return PlanEstimate(
        calls_expected=calls_expected,
        calls_at_most=calls_at_most,
        minutes_expected=None if pace is None else min(calls_expected * pace / 60, cap),
        minutes_at_most=None if pace is None else min(calls_at_most * pace / 60, cap),
        price_expected=min(expected, at_most),
        price_at_most=at_most,
        unknown=unknown,
        output_tokens_expected=round(output),
        tokens_at_most=math.ceil(tokens),
        detectable=(
            statistics.describe_plan(units=plan.units, pairs=plan.most_turns, at_most=plan.design != "fixed")
            if plan.against is not None
            else "no lift: nothing is measured without the skill"
        ),
    )


MOST_RUNS = 20
LEAST_CALLS = 10
"""A run of fewer calls is mostly start-up, and says nothing about pace."""


def seconds_per_call(students: Iterable[Student], harness: str, runs_dir: Path) -> float | None:
    """The pace of the newest run of the same models and harness, by the clock; `None` where there is none."""
    asked = {(student.model, student.endpoint) for student in students}
    for folder in islice(runs_in(runs_dir), MOST_RUNS):
        try:
            pace = _pace(read_run(folder), asked, harness)
        except (UpskillError, ValueError, TypeError):
            continue  # somebody's damaged run is no reason to stop; `upskill runs` names it
        if pace is not None:
            return pace
    return None


def _pace(record: RunRecord, asked: set[tuple[str, str | None]], harness: str) -> float | None:
    bought = (record.results or {}).get("bought")
    calls = bought.get("calls") if isinstance(bought, dict) else None
    same = {(student.model, student.endpoint) for student in record.students} == asked
    if not same or record.harness.partition("/")[0] != harness or record.finished_at is None:
        return None
    if not isinstance(calls, int) or calls < LEAST_CALLS:
        return None
    seconds = (datetime.fromisoformat(record.finished_at) - datetime.fromisoformat(record.started_at)).total_seconds()
    # A resumed run was idle in between, and a clock can be set back: neither gives a pace.
    return seconds / calls if 0 <= seconds < 86_400 else None


def client_for(settings: Settings) -> MeteredClient:
    """The metered client, with the caps that were set."""
    minutes = settings.max_time_minutes
    return MeteredClient(
        policy=CallPolicy(
            attempt_seconds=settings.attempt_timeout_seconds,
            call_seconds=settings.call_timeout_seconds,
            max_retries=settings.max_retries,
            max_wait_seconds=settings.max_retry_wait_seconds,
            concurrency=settings.concurrency,
            text_calls=settings.text_calls,
        ),
        budget=Budget(
            max_cost=settings.max_cost,
            max_calls=settings.max_calls,
            max_total_tokens=settings.max_total_tokens,
            max_seconds=None if minutes is None else minutes * 60,
        ),
    )


def purchase_of(spent: Spending) -> Purchase:
    """All that was spent, as it is reported."""
    return Purchase(
        calls=spent.calls,
        failed_calls=spent.failed_calls,
        tokens=spent.tokens,
        cost=spent.cost,
        lost=spent.cost_lost,
    )


def purchase_since(spent: Spending, before: Spending) -> Purchase:
    """What was spent since, as it is reported."""
    cost = None if spent.cost is None or before.cost is None else spent.cost - before.cost
    return Purchase(
        calls=spent.calls - before.calls,
        failed_calls=spent.failed_calls - before.failed_calls,
        tokens=spent.tokens - before.tokens,
        # Once a price was unknown the sum is unknown; what was bought since may still be known to be nothing.
        cost=0.0 if spent.calls == before.calls else cost,
        lost=spent.cost_lost - before.cost_lost,
    )


def spent_in(folder: RunFolder) -> Spending:
    """What the finished trials of a run cost; a cost that is unknown, or cannot be read, is `None`."""
    spent = Spending()
    bought = []
    try:
        for trial in folder.trials.read():
            if not trial.calls:
                continue
            bought.append(emptied(trial))
            spent.calls += trial.calls
            spent.tokens += trial.usage.tokens or 0
            spent.cost_known += trial.usage.cost or 0.0
        spent.cost = statistics.spent_on(bought, priced=any(trial.usage.cost is not None for trial in bought))
    except UpskillError:
        spent.cost = None
    return spent
