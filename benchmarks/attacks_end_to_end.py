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
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks.page_sections import write_last_section
from provider import Behave, Behaviour, Provider, ReceivedRequest
from tool_students import tool_call
from upskill.cli import app

PAGE = Path(__file__).parent / "results" / "attacks.md"
CASES = 20
RATE = 0.5
REMOVED = 4
BUILDS = 50
EDITS = 20
MOST_FALSE = 5
"""Of 60 evaluations without a lift, so many may say `helps`."""
HERE_ONLY = "helps here"
LOST = r"lost answers: .*"
COPIES = r"note: (repeats (?:are copies|returned the same answers).*)"
FEWER = r"note: (.* fewer than last time)"
UNCHANGED = r"note: (unchanged since .*)"
AGAIN = r"note: (\d+\w\w look at this skill.*)"
CHANGED = r"note: (the checks of .*|\d+\w\w look at this skill.*)"
RESTARTS = 5
DESCRIPTIONS = 10
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
    """Of every command; `helps here` where `helps` was said of these cases only."""
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
        cases = [{"id": str(n), "input": _QUESTION.format(n=n), "expected": {"equals": "yes"}} for n in numbers]
        self.write_cases(cases)

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
        expected = {str(n): {"regex": "yes|no"} if str(n) in worst else {"equals": "yes"} for n in range(CASES)}
        cases = [{"id": n, "input": _QUESTION.format(n=n), "expected": one} for n, one in expected.items()]
        self.write_cases(cases)

    def _worst(self, run: str) -> list[str]:
        lift: Counter[str] = Counter()
        for line in (self.folder / run / "trials.jsonl").read_text().splitlines():
            trial = json.loads(line)
            passed = all(check["passed"] for check in trial["outcome"]["grade"]["results"])
            lift[trial["case_id"]] += passed * (1 if trial["arm"] == "with_skill" else -1)
        return sorted(map(str, range(CASES)), key=lambda case: lift[case])[:REMOVED]

    def eval(self, *words: str, **variables: str) -> Step:
        """`upskill eval thing -m any …`"""
        whole = ("thing", "-m", "any", "--base-url", self._provider.url, "--concurrency", "32", *words)
        return self._type(*whole, **variables)

    def trigger(self) -> Step:
        """`upskill trigger thing -m any …`; `helps` stands for `triggers well`."""
        return self._type("trigger", "thing", "-m", "any", "--base-url", self._provider.url)

    def build(self) -> Step:
        """The same in CI: a clean machine, and a ledger that is committed."""
        step = self.eval(UPSKILL_LEDGER="looks.jsonl")
        self._cache += 1
        shutil.rmtree(self.folder / "runs", ignore_errors=True)  # a recorded verdict makes none
        return step

    def resume(self, run: str) -> Step:
        """`upskill eval --resume RUN`"""
        return self._type("--resume", run, "--base-url", self._provider.url)

    def _type(self, *words: str, **variables: str) -> Step:
        environment = {
            **{"PATH": os.environ["PATH"], "HOME": str(self.folder), "COLUMNS": "1000", "UPSKILL_REPORT": "false"},
            **{"XDG_CACHE_HOME": str(self.folder / f"cache{self._cache}"), **self._environment},
            **variables,
        }
        before = len(self._provider.requests)
        triggers = words[0] == "trigger"
        arguments = [*words, "--json"] if triggers else ["eval", *words, "--require", "helps", "--json"]
        with patch.dict(os.environ, environment, clear=True), chdir(self.folder), redirect_stdout(StringIO()) as out:
            code = app.main(arguments, standalone_mode=False, prog_name="upskill")
        evaluation = json.loads(out.getvalue())
        if triggers:
            verdict = evaluation["scores"][0]["verdict"]
            return Step(
                verdict="helps" if verdict == "triggers well" else verdict,
                sentence=evaluation["sentence"],
                run=evaluation["run"],
                text="\n".join(f"note: {note}" for note in evaluation["notes"]),
                calls=len(self._provider.requests) - before,
                code=int(code or 0),
            )
        (student,) = evaluation["students"]
        lost = [f"{arm['lost']} {name}" for name, arm in student["arms"].items() if arm["lost"]]
        return Step(
            verdict=_verdict(student["verdict"], student["claim"]),
            sentence=student["sentence"],
            run=evaluation["run"],
            text="\n".join(
                [*(f"note: {note}" for note in evaluation["notes"]), f"lost answers: {lost}" if lost else ""]
            ),
            calls=len(self._provider.requests) - before,
            code=int(code or 0),
        )


def _verdict(verdict: str, claim: str | None) -> str:
    if verdict == "helps" and claim == "these cases":
        return HERE_ONLY
    return "no verdict" if verdict == "invalid" else verdict


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


def unchanged_gate(folder: Path, seed: int, *, builds: int = BUILDS) -> Sequence[Step]:
    """A gate in CI: nothing changes, and each build has nothing but the ledger that is committed."""
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        return [desk.build() for _ in range(builds)]


def idle_edits(folder: Path, seed: int, *, builds: int = EDITS) -> Sequence[Step]:
    """The same gate, with a new comment in SKILL.md before every build."""
    steps = []
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        for number in range(builds):
            desk.write_skill(f"Say yes.\n<!-- edit {number} -->")
            steps.append(desk.build())
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
            desk.write_cases(
                cases=[{"id": str(n), "input": asked[n], "expected": {"equals": "yes"}} for n in range(CASES)]
            )
            steps.append(desk.eval())
    return steps


def other_cases(folder: Path, seed: int) -> Sequence[Step]:
    """The same with other cases each time."""
    steps = []
    with _desk(folder, NullStudent(seed), seed=seed) as desk:
        for nth in range(RESTARTS):
            numbers = range(CASES * nth, CASES * nth + CASES)
            cases = [{"id": str(n), "input": f"Question {n}?", "expected": {"equals": "yes"}} for n in numbers]
            desk.write_cases(cases)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One attack, how often it is tried, and which line should say that it was found out."""

    attack: Attack
    count: int = 60
    line: str


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
    f"{BUILDS} builds, nothing changed": Row(attack=unchanged_gate, count=5, line=UNCHANGED),
    f"{EDITS} builds, an idle edit before each": Row(attack=idle_edits, count=20, line=AGAIN),
}


def measure(name: str, seed: int) -> Found:
    """One attack with one seed, in a folder that is gone afterwards."""
    row = ROWS[name]
    with tempfile.TemporaryDirectory() as folder:
        steps = row.attack(Path(folder), seed)
    last = steps[-1]
    line = re.search(row.line, last.text)
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
answers with the skill break off, without retries. Caching model: always the same answer to the same request.

"Helps" is about new cases, and only that meets `--require helps`; "here" is `helps` on these cases. Both are given for
any command / the last one; the other columns are for the last one. "Reported": how often the output names the lost
answers, the copies, the removed cases, the changed checks or the earlier looks. Of descriptions, "helps" is
`triggers well`.

| attack | evaluations | helps | here | undecided | no verdict | other | reported |
|---|---|---|---|---|---|---|---|"""

GATES = """\

### A gate in CI

`--require helps` with `UPSKILL_LEDGER`; every build starts without a cache and without run folders. An idle edit is
another comment in `SKILL.md`.

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
    other = len(mine) - sum(last[verdict] for verdict in ("helps", HERE_ONLY, "undecided", "no verdict"))
    seen = sum(one.line is not None for one in mine)
    helps = [f"{ever[verdict]} / {last[verdict]}" for verdict in ("helps", HERE_ONLY)]
    return _cells(name, len(mine), *helps, last["undecided"], last["no verdict"], other, f"{seen} of {len(mine)}")


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
    return int(any(count > MOST_FALSE for count in false.values()))


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
