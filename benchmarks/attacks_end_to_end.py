"""What people and sick servers do around an evaluation: the command itself, on loopback students without any lift.

    python -m benchmarks.attacks_end_to_end                  every row; writes the last section of attacks.md
    python -m benchmarks.attacks_end_to_end -n 3 ROW …       fewer evaluations of the rows that are named
    python -m benchmarks.attacks_end_to_end --log FILE       keeps each evaluation, and continues after those in it

The command is called in this process, with an environment, a cache and a folder of its own for each evaluation.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks.page_sections import write_last_section
from made_teacher import THINGS, teachers_answer
from provider import Behave, Behaviour, Provider, ReceivedRequest
from tool_students import tool_call
from upskill.cli import app

PAGE = Path(__file__).parent / "results" / "attacks.md"
CASES = 20
RATE = 0.5
REMOVED = 4
BUILDS = 50
EDITS = 20
MOST_FALSE = {60: 5, 20: 2, 5: 1}
"""Of so many evaluations without a lift, so many may say `helps`."""
LOST = r"lost answers: .*"
COPIES = r"note: (answers repeat themselves.*)"
FEWER = r"note: (.* fewer than last time)"
UNCHANGED = r"note: (unchanged since .*)"
AGAIN = r"note: (\d+\w\w look at this skill.*)"
ONCE = r"note: (counted once.*)"
CHANGED = r"note: (the checks of .*|\d+\w\w look at this skill.*)"
RESTARTS = 5
DESCRIPTIONS = 10
MANY = 24
"""Cases of whoever looks at answers before the evaluation."""
FACTS = 8
"""What cases ask about, each three times in other words or in one session."""
PROMPTS = 12
"""That should load the skill, and as many near misses."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One command, and what it said."""

    verdict: str
    sentence: str
    run: str
    text: str
    calls: int
    """Requests that reached the server."""
    code: int
    """The exit code; `helps` was required."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One attack on one student: what its commands came to."""

    row: str
    seed: int
    verdicts: list[str]
    """Of every command."""
    codes: list[int]
    calls: list[int]
    line: str | None
    """The line of the last output that says what was found; `None` where there was none."""
    sentence: str


_QUESTION = "For item {n} of the list: what does the sheet say about part {n}, number {n}?"


class NullStudent:
    """Passes half of all answers with and without the skill; some failing answers with it come to grief."""

    def __init__(self, seed: int, *, fault: str = "reset", share: float = 0.0) -> None:
        """`share` of the failing answers with the skill never arrive."""
        self._draw = random.Random(seed)
        self._share = share
        self._fault = fault

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        if self._draw.random() < RATE:
            return Behaviour(text="yes")
        lost = asked.has_skill and self._draw.random() < self._share
        return Behaviour(fault=self._fault) if lost else Behaviour(text="no")


class CachingStudent:
    """Gives one answer to one request, however often it comes; half of these pass, with the skill and without."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        drawn = random.Random(f"{self._seed} {asked.has_skill} {asked.prompt}").random()
        return Behaviour(text="yes" if drawn < RATE else "no")


class NearlyCopyingStudent:
    """Nearly always gives one answer to one request: of 100, 15 are right with the skill only and 15 without it only.

    The words are never the same, and one answer of forty is another one than usual.
    """

    def __init__(self, seed: int, *, about: str = r".+", right: Callable[[str], str] = lambda _: "yes") -> None:
        """What the pattern `about` finds in a prompt decides the answer: other words about it change nothing. `right`
        is the right answer about it."""
        self._draw = random.Random(seed)
        self._seed = seed
        self._about = about
        self._right = right

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        subject = re.findall(self._about, asked.prompt, re.DOTALL)[-1]
        chance = random.Random(f"{self._seed} {subject}").random()
        passes = chance < 0.15 if asked.has_skill else 0.15 <= chance < 0.3
        right = (passes or 0.3 <= chance < 0.65) != (self._draw.random() < 0.025)
        return Behaviour(text=f"{self._right(subject) if right else 'no'}, {self._draw.randrange(10**6)}")


class KillingStudent(NullStudent):
    """Answers as a student without any effect; after so many answers the command that asks is gone."""

    def __init__(self, seed: int, *, answers: int) -> None:
        super().__init__(seed)
        self._left = answers
        self.command: subprocess.Popen[bytes] | None = None

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        if self.command is not None and self.command.poll() is None:
            self._left -= 1
            if self._left < 0:
                self.command.kill()
        return super().__call__(asked)


class Desk:
    """Where somebody types commands: a folder with a skill and 20 cases, and a server that answers."""

    def __init__(self, folder: Path, provider: Provider, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._provider = provider
        self._environment = environment
        self._cache = 0
        self._write_cases(range(CASES))
        self.write_skill("Say yes.")

    def write_skill(self, body: str, *, description: str = "For measurements.") -> None:
        """Write SKILL.md with this body."""
        text = f"---\nname: thing\ndescription: {description}\n---\n{body}\n"
        (self.folder / "thing" / "SKILL.md").write_text(text)

    def _write_cases(self, numbers: Iterable[int]) -> None:
        self.write_cases([case(number) for number in numbers])

    def write_numbered(self, cases: int) -> None:
        """Write so many cases."""
        self._write_cases(range(cases))

    def keep(self, cases: Iterable[str]) -> None:
        """Delete all other cases."""
        self._write_cases(map(int, cases))

    def write_cases(self, cases: Sequence[Mapping[str, object]]) -> None:
        """Write these cases of the skill."""
        (self.folder / "thing").mkdir(exist_ok=True)
        (self.folder / "thing" / "skill_meta.json").write_text(json.dumps({"cases": cases}))

    def delete_worst_cases(self, run: str) -> None:
        """Delete the cases that lost most with the skill."""
        worst = self._worst(run)
        self._write_cases(n for n in range(CASES) if str(n) not in worst)

    def loosen_worst_checks(self, run: str) -> None:
        """Let the cases that lost most with the skill pass whatever is answered."""
        worst = self._worst(run)
        loose = {"expected": {"regex": "yes|no"}}
        self.write_cases([{**case(n), **(loose if str(n) in worst else {})} for n in range(CASES)])

    def _worst(self, run: str) -> list[str]:
        lift = self.lifts(run)
        return sorted(map(str, range(CASES)), key=lambda case: lift[case])[:REMOVED]

    def lifts(self, run: str) -> Counter[str]:
        """What anybody can read in the folder of a run, however it ended: by case, passed answers with the skill less
        those without it."""
        lift: Counter[str] = Counter()
        for line in (self.folder / run / "trials.jsonl").read_text().splitlines():
            trial = json.loads(line)
            passed = all(check["passed"] for check in trial["outcome"]["grade"]["results"])
            lift[trial["case_id"]] += passed * (1 if trial["arm"] == "with_skill" else -1)
        return lift

    def eval(self, *words: str, **variables: str) -> Step:
        """`upskill eval thing -m any …`"""
        whole = ("thing", "-m", "any", "--base-url", self._provider.url, "--concurrency", "32", *words)
        return self._type(*whole, **variables)

    def trigger(self) -> Step:
        """`upskill trigger thing -m any …`; `helps` stands for `triggers well`."""
        return self._type("trigger", "thing", "-m", "any", "--base-url", self._provider.url)

    def build(self, *, cache: bool) -> Step:
        """The same in CI: a ledger that is committed, and a clean machine with or without the cache of the last."""
        step = self.eval(UPSKILL_LEDGER="looks.jsonl")
        self._cache += not cache
        shutil.rmtree(self.folder / "runs")
        return step

    def eval_until_killed(self, student: KillingStudent) -> str:
        """The same in a process of its own, which the student kills; the run that is left."""
        words = ("eval", "thing", "-m", "any", "--base-url", self._provider.url, "--concurrency", "1")
        command = (sys.executable, "-c", "from upskill.cli import main; main()", *words)
        with subprocess.Popen(
            command, cwd=self.folder, env=self._variables(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as student.command:
            pass
        assert student.command.returncode == -signal.SIGKILL
        (run,) = (trials.parent for trials in (self.folder / "runs").glob("*/trials.jsonl"))
        return str(run.relative_to(self.folder))

    def generate(self, *words: str) -> Step:
        """`upskill generate`; a skill that is proven counts as `helps`."""
        both = ("--model", "teacher", "--base-url", self._provider.url)
        students = ("--eval-model", "any", "--eval-base-url", self._provider.url)
        before = len(self._provider.requests)
        code, found = self.output(["generate", "answer questions about the sheet", *both, *students, *words, "--json"])
        return Step(
            verdict="helps" if found["proven"] else "undecided",
            sentence=found["sentence"],
            run=found["run"],
            text="\n".join(f"note: {note}" for note in found["notes"]),
            calls=len(self._provider.requests) - before,
            code=code,
        )

    def resume(self, run: str) -> Step:
        """`upskill eval --resume RUN`"""
        return self._type("--resume", run, "--base-url", self._provider.url)

    def _variables(self, **variables: str) -> dict[str, str]:
        return {
            **{"PATH": os.environ["PATH"], "HOME": str(self.folder), "COLUMNS": "1000", "UPSKILL_REPORT": "false"},
            **{"XDG_CACHE_HOME": str(self.folder / f"cache{self._cache}"), **self._environment},
            **variables,
        }

    def output(self, arguments: Sequence[str], **variables: str) -> tuple[int, Any]:
        """The exit code of a command, and the object that it prints."""
        environment = self._variables(**variables)
        with patch.dict(os.environ, environment, clear=True), chdir(self.folder), redirect_stdout(StringIO()) as out:
            code = app.main(list(arguments), standalone_mode=False, prog_name="upskill")
        return int(code or 0), json.loads(out.getvalue())

    def _type(self, *words: str, **variables: str) -> Step:
        before = len(self._provider.requests)
        triggers = words[0] == "trigger"
        alone = not {"--no-baseline", "--practice"}.isdisjoint(
            words
        )  # nothing can be required of answers without others beside them
        required = () if triggers or alone else ("--require", "helps")
        code, evaluation = self.output([*(() if triggers else ("eval",)), *words, *required, "--json"], **variables)
        if triggers:
            verdict = evaluation["scores"][0]["verdict"]
            return Step(
                verdict="helps" if verdict == "triggers well" else verdict,
                sentence=evaluation["sentence"],
                run=evaluation["run"],
                text="\n".join(f"note: {note}" for note in evaluation["notes"]),
                calls=len(self._provider.requests) - before,
                code=code,
            )
        (student,) = evaluation["students"]
        lost = [f"{arm['lost']} {name}" for name, arm in student["arms"].items() if arm["lost"]]
        return Step(
            verdict={"invalid": "no verdict", None: "none"}.get(student["verdict"], student["verdict"]),
            sentence=student["sentence"],
            run=evaluation["run"],
            text="\n".join(
                [*(f"note: {note}" for note in evaluation["notes"]), f"lost answers: {lost}" if lost else ""]
            ),
            calls=len(self._provider.requests) - before,
            code=code,
        )


def case(number: int, *, asked: str | None = None, **more: object) -> dict[str, object]:
    """A case as it stands in a file."""
    return {
        "id": str(number),
        "input": _QUESTION.format(n=number) if asked is None else asked,
        "expected": {"regex": "^yes"},
        **more,
    }


# ---------------------------------------------------------------- the rows

Attack = Callable[[Path, int], Sequence[Step]]
"""Types commands in a folder of its own, with this seed, and returns what each of them said."""


@contextmanager
def _desk(folder: Path, student: Behave, **settings: object) -> Iterator[Desk]:
    with Provider(student) as provider:
        yield Desk(folder, provider, {f"UPSKILL_{name.upper()}": str(value) for name, value in settings.items()})


def slow_failing_student(folder: Path, seed: int, *, share: float) -> Sequence[Step]:
    """Failing answers with the skill are slow: they time out, and are asked for again until they come."""
    student = NullStudent(seed, fault="stall", share=share)
    with _desk(folder, student, seed=seed, attempt_timeout_seconds=2, max_retries=8, max_retry_wait_seconds=1) as desk:
        return [desk.eval()]


def caching_student(folder: Path, seed: int, *, words: Sequence[str] = ()) -> Sequence[Step]:
    """The same request always gets the same answer, so that repeats are copies."""
    with _desk(folder, CachingStudent(seed), seed=seed) as desk:
        return [desk.eval(*words)]


def dropped_pairs_then_resume(folder: Path, seed: int) -> Sequence[Step]:
    """Failing answers with the skill break off, so that pairs are dropped; then the run is resumed, twice."""
    with _desk(folder, NullStudent(seed, share=0.5), seed=seed, max_retries=0) as desk:
        first = desk.eval()
        return [first, desk.resume(first.run), desk.resume(first.run)]


def dropped_pairs_typed_again(folder: Path, seed: int) -> Sequence[Step]:
    """The same with a fixed design that is typed three times: what was scored comes from the trial store."""
    with _desk(folder, NullStudent(seed, share=0.5), seed=seed, max_retries=0) as desk:
        return [desk.eval("--runs", "3") for _ in range(3)]


def deleted_cases(folder: Path, seed: int) -> Sequence[Step]:
    """The cases that lost most are deleted, and the command is typed again."""
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        first = desk.eval()
        desk.delete_worst_cases(first.run)
        return [first, desk.eval()]


def unchanged_gate(folder: Path, seed: int, *, builds: int = BUILDS, cache: bool) -> Sequence[Step]:
    """A gate in CI: nothing changes, and each build has the ledger that is committed, and the `cache` or not."""
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        return [desk.build(cache=cache) for _ in range(builds)]


def idle_edits(folder: Path, seed: int, *, builds: int = EDITS) -> Sequence[Step]:
    """The same gate, with a new comment in SKILL.md before every build."""
    steps = []
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        for number in range(builds):
            desk.write_skill(f"Say yes.\n<!-- edit {number} -->")
            steps.append(desk.build(cache=False))
    return steps


def other_settings(folder: Path, seed: int) -> Sequence[Step]:
    """The same command with another length of answers each time, as if it were a first look."""
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        return [desk.eval(UPSKILL_MAX_OUTPUT_TOKENS=str(100 + nth)) for nth in range(RESTARTS)]


def other_words(folder: Path, seed: int) -> Sequence[Step]:
    """The same with a sentence more in every prompt."""
    steps = []
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        for nth in range(RESTARTS):
            more = f" Answer {nth}." if nth else ""
            asked = [_QUESTION.format(n=n) + more for n in range(CASES)]
            desk.write_cases([case(n, asked=asked[n]) for n in range(CASES)])
            steps.append(desk.eval())
    return steps


def other_cases(folder: Path, seed: int) -> Sequence[Step]:
    """The same with other cases each time."""
    steps = []
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        for nth in range(RESTARTS):
            numbers = range(CASES * nth, CASES * nth + CASES)
            desk.write_cases([case(n, asked=f"Question {n}?") for n in numbers])
            steps.append(desk.eval())
    return steps


def loosened_checks(folder: Path, seed: int) -> Sequence[Step]:
    """The checks of the cases that lost most pass everything; typed again, then asked again."""
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        first = desk.eval()
        desk.loosen_worst_checks(first.run)
        return [first, desk.eval(), desk.eval("--fresh")]


def new_descriptions(folder: Path, seed: int) -> Sequence[Step]:
    """One description after the other on the same prompts; each loads as often as is just too little."""
    asked = [{"id": str(n), "prompt": f"Request {n}?", "should_load": n < PROMPTS} for n in range(2 * PROMPTS)]
    draw, steps = random.Random(seed), []

    def route(request: ReceivedRequest) -> Behaviour:
        messages = request.body["messages"]
        if any(message["role"] == "assistant" for message in messages):
            return Behaviour(text="done")
        number = int(re.findall(r"Request (\d+)\?", str(messages[1]["content"]))[0])
        path = re.findall(r"\(([^()]*SKILL\.md)\)", request.system)[0]
        loads = draw.random() < (0.75 if number < PROMPTS else 0.25)
        return tool_call(request, "shell", command=f"cat {path}" if loads else "ls")

    with _desk(folder, route, seed=seed) as desk:
        (folder / "thing" / "evals").mkdir()
        (folder / "thing" / "evals" / "triggers.json").write_text(json.dumps(asked))
        for nth in range(DESCRIPTIONS):
            desk.write_skill("Say yes.", description=f"For measurements, in words {nth}.")
            steps.append(desk.trigger())
    return steps


def seen_without_a_baseline(folder: Path, seed: int) -> Sequence[Step]:
    """Answers with the skill alone are read, cases that failed are deleted, and the rest is compared."""
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        desk.write_numbered(MANY)
        first = desk.eval("--no-baseline")
        passed = [case for case, lift in desk.lifts(first.run).items() if lift > 0]
        desk.keep(passed)
        return [first, desk.eval("--runs", "1")]


def seen_then_killed(folder: Path, seed: int, *, words: Sequence[str] = ()) -> Sequence[Step]:
    """The run is watched and killed, cases that failed with the skill are deleted, and the command is typed again."""
    student = KillingStudent(seed, answers=2 * MANY - 4)
    with _desk(folder, student, seed=seed) as desk:
        desk.write_numbered(MANY)
        lifts = desk.lifts(desk.eval_until_killed(student))
        desk.keep(str(number) for number in range(MANY) if lifts[str(number)] >= 0)
        return [desk.eval(*words)]


def practised_then_deleted(folder: Path, seed: int, *, words: Sequence[str] = ()) -> Sequence[Step]:
    """All cases are practice cases: answers with the skill are read, and cases that failed are deleted."""
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        desk.write_cases([case(number, use="learn") for number in range(MANY)])
        first = desk.eval("--practice")
        passed = [number for number, lift in desk.lifts(first.run).items() if lift > 0]
        desk.write_cases([case(int(number), use="learn") for number in passed])
        return [first, desk.eval(*words)]


def losing_checks_loosened(folder: Path, seed: int, *, words: Sequence[str] = ()) -> Sequence[Step]:
    """Of 50 cases those that lost get a check that passes whatever is answered, so that they cannot count any more."""
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        desk.write_numbered(50)
        first = desk.eval(*words)
        lost = {number for number, lift in desk.lifts(first.run).items() if lift < 0}
        loose = {"expected": {"regex": "yes|no"}}
        desk.write_cases([{**case(n), **(loose if str(n) in lost else {})} for n in range(50)])
        return [first, desk.eval(*words)]


_OWN_WORDS = (
    "What does the sheet say about the valve of part {n}?",
    "I am standing in front of part {n}. Tell me what is written on its valve.",
    "Someone asks for the plate on part {n}; which is it?",
)


def three_own_wordings_of_each(folder: Path, seed: int, *, words: Sequence[str] = ()) -> Sequence[Step]:
    """Every question is there in three wordings of a person, each with the same value as its answer."""

    def value(subject: str) -> str:
        return f"v-{7000 + int(subject.split()[1])}"

    with _desk(folder, NearlyCopyingStudent(seed, about=r"part \d+", right=value), seed=seed) as desk:
        asked = [(n, said.format(n=n)) for n in range(FACTS) for said in _OWN_WORDS]
        desk.write_cases(
            [
                case(number, asked=one, expected={"contains": value(f"part {n}")})
                for number, (n, one) in enumerate(asked)
            ]
        )
        return [desk.eval(*words)]


_WORDINGS = (
    "What does the sheet say about the valve of part {n}?",
    "In one line: what does the sheet say about the valve of part {n}?",
    "Please, what does the sheet of the valve say about part {n}?",
)


def three_wordings_of_each(folder: Path, seed: int, *, words: Sequence[str] = ()) -> Sequence[Step]:
    """Every question is there in three wordings, and nobody says that they are one."""
    with _desk(folder, NearlyCopyingStudent(seed, about=r"part \d+"), seed=seed) as desk:
        questions = [said.format(n=n) for n in range(FACTS) for said in _WORDINGS]
        desk.write_cases([case(number, asked=one) for number, one in enumerate(questions)])
        return [desk.eval(*words)]


def three_prefixes_of_each(folder: Path, seed: int, *, words: Sequence[str] = ()) -> Sequence[Step]:
    """Each conversation is there three times, as one, two and three turns."""
    with _desk(folder, NearlyCopyingStudent(seed, about=r"of part \d+"), seed=seed) as desk:
        cases = []
        for number in range(FACTS):
            said = [f"{what} of part {number}?" for what in ("Which valve is that", "And the age", "And the owner")]
            turns = [{"input": one, "expected": {"regex": "^yes"}} for one in said]
            cases.append(case(3 * number, asked=said[0]))
            cases += [{"id": str(3 * number + more), "turns": turns[: more + 1]} for more in (1, 2)]
        desk.write_cases(cases)
        return [desk.eval(*words)]


def three_of_each_session(folder: Path, seed: int, *, words: Sequence[str] = ()) -> Sequence[Step]:
    """Each recorded session gave three cases, and says so."""
    with _desk(folder, NearlyCopyingStudent(seed, about=r"of part \d+"), seed=seed) as desk:
        asked = ("Name the colour of part {n}.", "Who owns the key of part {n}?", "How old is the rope of part {n}?")
        questions = [(n, one.format(n=n)) for n in range(FACTS) for one in asked]
        desk.write_cases([case(at, asked=one, extra={"session": str(n)}) for at, (n, one) in enumerate(questions)])
        return [desk.eval(*words)]


def nearly_copying_student(folder: Path, seed: int, *, words: Sequence[str], cases: int) -> Sequence[Step]:
    """Answers that are copies but for a word, and repeats of them."""
    with _desk(folder, NearlyCopyingStudent(seed), seed=seed) as desk:
        desk.write_numbered(cases)
        return [desk.eval(*words)]


def generated_skill(folder: Path, seed: int) -> Sequence[Step]:
    """A skill without effect is written, and proven on 12 held-out cases of a person."""
    student = NearlyCopyingStudent(seed)

    def behave(asked: ReceivedRequest) -> Behaviour:
        if asked.body["model"] == "teacher":
            return Behaviour(text=json.dumps(teachers_answer(asked.prompt, THINGS, 5, 0)))
        return student(asked)

    with _desk(folder, behave, seed=seed) as desk:
        cases = [case(number, use="learn" if number < 6 else "held-out") for number in range(18)]
        (folder / "cases.json").write_text(json.dumps({"cases": cases}))
        return [desk.generate("-t", "cases.json", "--yes")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One attack, how often it is tried, and which line should say that it was found out."""

    attack: Attack
    count: int = 60
    line: str | None = None


ROWS: Mapping[str, Row] = {
    "slow failing model, 30%": Row(attack=partial(slow_failing_student, share=0.3), line=LOST),
    "slow failing model, 50%": Row(attack=partial(slow_failing_student, share=0.5), line=LOST),
    "caching model": Row(attack=caching_student, line=COPIES),
    "caching model, `--runs 5`": Row(attack=partial(caching_student, words=("--runs", "5")), line=COPIES),
    "dropped pairs, then `--resume` twice": Row(attack=dropped_pairs_then_resume, line=LOST),
    "dropped pairs, `--runs 3` typed three times": Row(attack=dropped_pairs_typed_again, line=LOST),
    "four worst cases deleted, typed again": Row(attack=deleted_cases, line=FEWER),
    f"{RESTARTS} other settings": Row(attack=other_settings, count=20, line=AGAIN),
    f"{RESTARTS} other wordings": Row(attack=other_words, count=20, line=AGAIN),
    f"{RESTARTS} other sets of cases": Row(attack=other_cases, count=20, line=AGAIN),
    "worst checks loosened, typed again, then `--fresh`": Row(attack=loosened_checks, count=20, line=CHANGED),
    f"{DESCRIPTIONS} descriptions on the same prompts": Row(attack=new_descriptions, count=20, line=AGAIN),
    "answers seen without a baseline, failed cases deleted": Row(attack=seen_without_a_baseline, count=20, line=FEWER),
    "seen, killed, failed cases deleted": Row(attack=seen_then_killed, count=20, line=FEWER),
    "seen, killed, failed cases deleted, `--runs 1`": Row(
        attack=partial(seen_then_killed, words=("--runs", "1")), count=20, line=FEWER
    ),
    "practised, failed cases deleted": Row(attack=practised_then_deleted, count=20, line=FEWER),
    "practised, failed cases deleted, `--runs 1`": Row(
        attack=partial(practised_then_deleted, words=("--runs", "1")), count=20, line=FEWER
    ),
    "50 cases, checks of losing ones loosened": Row(attack=losing_checks_loosened, count=20, line=FEWER),
    "50 cases, checks of losing ones loosened, `--runs 1`": Row(
        attack=partial(losing_checks_loosened, words=("--runs", "1")), count=20, line=FEWER
    ),
    "three wordings of each, by a person, `--runs 1`": Row(
        attack=partial(three_own_wordings_of_each, words=("--runs", "1")), count=20, line=ONCE
    ),
    "three wordings of each": Row(attack=three_wordings_of_each, count=20, line=ONCE),
    "three prefixes of each conversation": Row(attack=three_prefixes_of_each, count=20, line=ONCE),
    "three cases of each session": Row(attack=three_of_each_session, count=20, line=ONCE),
    "three cases of each session, `--runs 1`": Row(
        attack=partial(three_of_each_session, words=("--runs", "1")), count=20, line=ONCE
    ),
    "nearly copying model, 12 cases, `--runs 5`": Row(
        attack=partial(nearly_copying_student, words=("--runs", "5"), cases=12), count=20
    ),
    "nearly copying model, 40 cases, `--runs 5`": Row(
        attack=partial(nearly_copying_student, words=("--runs", "5"), cases=40), count=20
    ),
    "a useless skill is generated": Row(attack=generated_skill, count=20),
    f"{BUILDS} builds with the cache, nothing changed": Row(
        attack=partial(unchanged_gate, cache=True), count=5, line=UNCHANGED
    ),
    f"{BUILDS} builds without a cache, nothing changed": Row(
        attack=partial(unchanged_gate, cache=False), count=5, line=AGAIN
    ),
    f"{EDITS} builds, an idle edit before each": Row(attack=idle_edits, count=20, line=AGAIN),
}


def measure(name: str, seed: int) -> Found:
    """One attack with one seed, in a folder that is gone afterwards."""
    row = ROWS[name]
    with tempfile.TemporaryDirectory() as folder:
        steps = row.attack(Path(folder), seed)
    last = steps[-1]
    line = None if row.line is None else re.search(row.line, last.text)
    return Found(
        row=name,
        seed=seed,
        verdicts=[step.verdict for step in steps],
        codes=[step.code for step in steps],
        calls=[step.calls for step in steps],
        line=None if line is None else line[0].removeprefix("note: "),
        sentence=last.sentence,
    )


# ---------------------------------------------------------------- the page

HEADING = "## 7. End to end"
HEAD = f"""\
{HEADING}

The real command (`python -m benchmarks.attacks_end_to_end`) against a loopback server whose model passes half of all
answers, with the skill and without it. So every `helps` is false. Each evaluation has its own seed, folder, cache and
ledger.
"""
TABLE = """\
Slow failing model: so many failing answers with the skill time out and are retried. Dropped pairs: half of the failing
answers with the skill break off, without retries. Caching model: always the same answer to the same request. Nearly
copying model: the same but for a word, of 100 cases 15 are right with the skill only and 15 without it only.

"Helps" is given for any command / the last one; the other columns are for the last one. "Reported": how often the
output names the lost answers, the copies, the removed cases, the families, the changed checks or the earlier looks. Of
descriptions, "helps" is `triggers well`; of a generated skill, that it is proven.

| attack | evaluations | helps | undecided | no verdict | other | reported |
|---|---|---|---|---|---|---|"""

GATES = """\

### A gate in CI

`--require helps` with `UPSKILL_LEDGER`; every build starts without run folders. An idle edit is another comment in
`SKILL.md`; its builds have no cache.

| gate | times | ever passed | calls of first builds | calls of later builds | one verdict throughout |
|---|---|---|---|---|---|"""


def page(found: Sequence[Found]) -> str:
    """The tables as Markdown."""
    rows: defaultdict[str, list[Found]] = defaultdict(list)
    for one in found:
        rows[one.row].append(one)
    attacks = [_attack(name, rows[name]) for name in ROWS if rows[name] and "builds" not in name]
    gates = [_gate(name, rows[name]) for name in ROWS if rows[name] and "builds" in name]
    commands = sum(len(one.verdicts) for one in found)
    count = f"{datetime.now(UTC).date()}: {len(found)} seeds, {commands:,} commands, {CASES} cases."
    return "\n".join([HEAD, count, "", TABLE, *attacks, GATES, *gates]) + "\n"


def _attack(name: str, mine: Sequence[Found]) -> str:
    ever = Counter(verdict for one in mine for verdict in {*one.verdicts})
    last = Counter(one.verdicts[-1] for one in mine)
    other = len(mine) - sum(last[verdict] for verdict in ("helps", "undecided", "no verdict"))
    seen = "" if ROWS[name].line is None else f"{sum(one.line is not None for one in mine)} of {len(mine)}"
    helps = f"{ever['helps']} / {last['helps']}"
    return _cells(name, len(mine), helps, last["undecided"], last["no verdict"], other, seen)


def _gate(name: str, mine: Sequence[Found]) -> str:
    passed = sum(0 in one.codes for one in mine)
    first, later = sum(one.calls[0] for one in mine), sum(sum(one.calls[1:]) for one in mine)
    same = sum(len(set(one.verdicts)) == 1 for one in mine)
    return _cells(name, len(mine), passed, f"{first:,}", f"{later:,}", same)


def _cells(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main() -> int:
    """Run what is not in the log yet, then write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"one of: {'; '.join(ROWS)}")
    parser.add_argument("-n", type=int, help="evaluations of a row, instead of 60 (5 and 20 of the gates)")
    parser.add_argument("--log", type=Path, help="a file of JSON lines, one per evaluation")
    parser.add_argument("-o", "--output", type=Path, default=PAGE, help="the page whose last section is replaced")
    options = parser.parse_args()
    found = _read(options.log)
    done = {(one.row, one.seed) for one in found}
    measure("caching model", 0)  # whatever comes first waits for imports, and could time out
    for name in options.rows or ROWS:
        for seed in range(ROWS[name].count if options.n is None else options.n):
            if (name, seed) not in done:
                found.append(measure(name, seed))
                _tell(found[-1], options.log)
    write_last_section(options.output, page(found))
    false = Counter(one.row for one in found if "helps" in one.verdicts)
    return int(any(count > MOST_FALSE[ROWS[name].count] for name, count in false.items()))


def _read(log: Path | None) -> list[Found]:
    if log is None or not log.exists():
        return []
    return [Found(**json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]


def _tell(one: Found, log: Path | None) -> None:
    line = json.dumps(asdict(one))
    print(line, flush=True)
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
