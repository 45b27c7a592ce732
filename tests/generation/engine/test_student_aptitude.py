"""What `generate` finds out of its students before it drafts: a person reads one line, and nothing is spent in vain."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import made_teacher
from made_teacher import FACTS, THINGS, line_for, question_about
from provider import Behave, Behaviour, Provider, ReceivedRequest
from typing_again import generate_again
from upskill.core.cases.split import read_counts
from upskill.core.models import ServedModel, preflight, resolve_model
from upskill.core.progress import RunProgress
from upskill.core.settings import ResolvedSettings, resolve_settings
from upskill.errors import ProviderError, StudentCannotProfit, WindowExceeded
from upskill.generation.generate import GenerateOrder, generate, plan_generate, resume_generate
from upskill.generation.generated import GenerateResult
from upskill.generation.student import counter_for


class Noted(RunProgress):
    """Remembers the lines that a person reads."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)

    def generate_planned(self, lines: Sequence[str]) -> None:
        self.lines += lines


LEARN, HELD_OUT = THINGS[:10], THINGS[10:16]


def case(number: int, thing: str, *, use: str, passage: bool = True, **others: object) -> dict[str, Any]:
    passages = {"passage": f"Notes on quarn: {line_for(thing)}."} if passage else {}
    rung = ("answer", "snippet", "file")[number % 3]
    fact = FACTS[thing]
    return {
        "id": f"case-{number}", "input": question_about(thing), "checks": [{"contains": fact}], "use": use,
        "reference": f"It is {fact}.", "wrong": ["It is 8080."], "extra": {"rung": rung}, **passages, **others,
    }  # fmt: skip


def write_own_cases(folder: Path, **others: object) -> None:
    cases = [case(number, thing, use="learn", **others) for number, thing in enumerate(LEARN)]  # type: ignore[arg-type]
    cases += [case(10 + number, thing, use="held-out", **others) for number, thing in enumerate(HELD_OUT)]  # type: ignore[arg-type]
    (folder / "own.json").write_text(json.dumps({"cases": cases}))


def copies(asked: ReceivedRequest) -> Behaviour:
    """Says what stands in its system message, be it a skill or a passage, and knows nothing of its own."""
    text = str(asked.body["messages"])
    thing = next((thing for thing in THINGS if thing in asked.prompt), "")
    found = re.search(rf"The {thing} is ([\w-]+)", text) if thing else None
    return Behaviour(text=f"It is {found[1]}." if found else f"I do not know ({asked.number}).")


def cannot_copy(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=f"Once upon a time there were {asked.number} gulls.")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_own_cases(tmp_path)
    return tmp_path


def settings(teaches: Provider, learns: Provider, **others: object) -> ResolvedSettings:
    return resolve_settings(
        {
            "teacher": "any", "teacher_base_url": teaches.url, "models": ("any",), "base_url": learns.url,
            "max_retries": 0, **others,
        }
    )  # fmt: skip


ORDER = GenerateOrder(task=made_teacher.TASK, case_file="own.json", revisions=0)
TEACHER = made_teacher.teacher(THINGS[:16], known_at_first=16, negatives=0)


def run(student: Behave, *, window: int | None = None, **others: object) -> tuple[GenerateResult, Noted]:
    noted = Noted()
    with Provider(TEACHER) as teaches, Provider(student, window=window, tokenizer=window is not None) as learns:
        return generate(ORDER, settings=settings(teaches, learns, store=False, **others), progress=noted), noted


def test_passages_of_a_recorded_session_stop_nothing(here: Path) -> None:
    session = Path(__file__).parents[3] / "examples" / "traces" / "session.jsonl"
    order = replace(ORDER, sources=(str(session),))
    with Provider(TEACHER) as teaches, Provider(cannot_copy) as learns:
        made = generate(order, settings=settings(teaches, learns, store=False))
    assert [one.ceiling for one in made.aptitude] == [0.0]
    assert teaches.requests, "a draft was asked for"


def test_a_student_that_cannot_copy_is_stopped_before_drafting_in_one_line(here: Path) -> None:
    trained = False
    with (
        Provider(TEACHER) as teaches,
        Provider(lambda asked: (copies if trained else cannot_copy)(asked)) as learns,
    ):
        with pytest.raises(StudentCannotProfit) as stopped:
            generate(ORDER, settings=settings(teaches, learns))
        assert not teaches.requests, "nothing was drafted"
        assert len(learns.requests) == 2 * 10 * 4, "two arms, ten cases, four rounds"
        assert stopped.value.message == (
            "no skill from this material is expected to help, so none was written; any: 0% without a skill, "
            "0% with the passage in the prompt (0 points, 95% CI −9 to +9, 10 practice cases), "
            "one-line answers 0 of 4, snippets 0 of 3, files and programs 0 of 3"
        )
        assert stopped.value.exit_code == 3
        (folder,) = (path for path in (here / "runs").iterdir() if path.is_dir())
        assert f"`UPSKILL_ANYWAY=true upskill generate --resume runs/{folder.name}`" in str(stopped.value.hint)
        assert len(json.loads((folder / "cases.json").read_text())["cases"]) == 16
        (kept,) = json.loads((folder / "aptitude.json").read_text())
        assert (kept["baseline"], kept["ceiling"], kept["reachable"], kept["trials"]) == (0.0, 0.0, [], 80)
        page = (folder / "report.html").read_text()
        assert "Nothing was saved: no skill from this material is expected to help" in page
        assert "UPSKILL_ANYWAY=true" in page
        trained = True
        made = resume_generate(folder, typed=generate_again(folder, anyway=True))
        assert made.saved is not None
        assert [one.trials for one in made.aptitude] == [80]
        again = [asked for asked in learns.requests[80:] if any(thing in asked.prompt for thing in LEARN)]
        assert all(asked.has_skill for asked in again), "nothing is bought twice"


def test_a_student_that_answers_alike_every_time_is_asked_once_more_only(here: Path) -> None:
    with (
        Provider(TEACHER) as teaches,
        Provider(lambda _: Behaviour(text="The gulls.")) as learns,
        pytest.raises(StudentCannotProfit, match=r"0 points on these 10 practice cases"),
    ):
        generate(ORDER, settings=settings(teaches, learns))
    assert 20 < len(learns.requests) <= 40


def test_at_temperature_0_one_round_is_enough(here: Path) -> None:
    with (
        Provider(TEACHER) as teaches,
        Provider(cannot_copy) as learns,
        pytest.raises(StudentCannotProfit, match=r"0 points on these"),
    ):
        generate(ORDER, settings=settings(teaches, learns, temperature=0.0))
    assert len(learns.requests) == 2 * 10


def test_a_student_that_copies_is_taught_and_its_baseline_is_bought_once(here: Path) -> None:
    with Provider(TEACHER) as teaches, Provider(copies) as learns:
        noted = Noted()
        made = generate(ORDER, settings=settings(teaches, learns), progress=noted)
        assert made.status == "helps"
        (aptitude,) = made.aptitude
        assert (aptitude.baseline, aptitude.ceiling, aptitude.trials, len(aptitude.reachable)) == (0.0, 1.0, 20, 10)
        assert (
            "any: 0% without a skill, 100% with the passage in the prompt (+100 points, 95% CI +61 to +100, "
            "10 practice cases)"
        ) in noted.lines
        learn = [asked for asked in learns.requests if any(thing in asked.prompt for thing in LEARN)]
        assert len(learn) == 30, "baseline, ceiling and with the skill, once each"
        told = [asked.prompt for asked in teaches.requests if made_teacher.kind_of(asked.prompt) == "sections"]
        assert len(told) == 1
        again = generate(ORDER, settings=settings(teaches, learns))
        assert [one.trials for one in again.aptitude] == [20]
        learn = [asked for asked in learns.requests if any(thing in asked.prompt for thing in LEARN)]
        without = [asked for asked in learn if not asked.has_skill]
        assert len(without) == 40, "aptitude trials are neither kept in the trial store nor taken from it"
    record = json.loads((here / "skills" / "quarn" / "skill_meta.json").read_text())
    assert record["provenance"]["aptitude"][0]["ceiling"] == 1.0


def test_a_window_of_1024_tokens_gets_a_shorter_skill_and_shorter_answers(here: Path) -> None:
    made, noted = run(copies, window=1024)
    assert made.status == "helps"
    (line,) = [line for line in noted.lines if "window" in line]
    assert line == (
        "  window: 1,024 tokens; answers: at most 128, an eighth of the window; skill: at most 828 "
        "(by its own tokenizer)"
    )
    (path,) = (here / "runs").glob("*/generate.json")
    assert json.loads(path.read_text())["settings"]["max_output_tokens"]["value"] == 128
    assert json.loads((path.parent / "student.json").read_text())["output_tokens"] == 128


def test_a_server_that_counts_otherwise_makes_a_resumed_run_ask_nothing_again(here: Path) -> None:
    down = [True]

    def teacher(asked: ReceivedRequest) -> Behaviour:
        said = made_teacher.teachers_answer(asked.prompt, THINGS[:16], 3, 0)
        return Behaviour(status=401) if down and "edits" in said else Behaviour(text=json.dumps(said))

    with Provider(teacher) as teaches:
        with Provider(copies, window=1_024, tokenizer=True) as learns, pytest.raises(ProviderError):
            generate(replace(ORDER, revisions=1), settings=settings(teaches, learns, store=False))
        asked = Counter(made_teacher.kind_of(one.prompt) for one in teaches.requests)
        down.clear()
        (record,) = (here / "runs").glob("*/generate.json")
        with Provider(copies, window=1_024, port=learns.port):
            resume_generate(record.parent, typed=generate_again(record.parent))
    again = Counter(made_teacher.kind_of(one.prompt) for one in teaches.requests) - asked
    assert asked["sections"] == 1
    assert not again.keys() & {"lessons", "sections", "presentations"}


def test_a_window_without_room_for_a_skill_is_refused_before_anything_is_spent(here: Path) -> None:
    with (
        Provider(TEACHER) as teaches,
        Provider(copies, window=192) as learns,
        pytest.raises(
            ProviderError, match="a context window of 192 tokens leaves no room for a skill: 128 are for the answer"
        ),
    ):
        plan_generate(ORDER, settings=settings(teaches, learns))
    assert not learns.requests


def test_a_skill_that_exceeds_the_window_is_refused_before_anything_is_drafted(here: Path) -> None:
    (here / "quarn").mkdir()
    front = "---\nname: quarn\ndescription: Facts about quarn. Use for any question about quarn.\n---\n\n## Facts\n\n"
    (here / "quarn" / "SKILL.md").write_text(front + "long ago it was otherwise\n" * 300)
    known = GenerateOrder(sources=("quarn",), case_file="own.json", revisions=0)
    with Provider(TEACHER) as teaches, Provider(copies, window=1_024, tokenizer=True) as learns:
        chosen = settings(teaches, learns, store=False)
        with pytest.raises(WindowExceeded, match="quarn does not fit any: it has 1,502 tokens, the window is 1,024"):
            plan_generate(known, settings=chosen)
        with pytest.raises(WindowExceeded, match="no new version can be compared with it"):
            generate(replace(known, case_file=None, counts=read_counts("4+4+0")), settings=chosen)
    assert not learns.requests
    assert {made_teacher.kind_of(one.prompt) for one in teaches.requests} == {"facts", "cases"}


def test_a_student_that_cannot_call_tools_is_asked_without_them(here: Path) -> None:
    write_own_cases(here, files={"notes.txt": "Nothing of use.\n"})
    made, noted = run(copies)
    assert made.status == "helps"
    (line,) = [line for line in noted.lines if "tool" in line]
    assert line == (
        "any: no tool call could be read in 20 answers, so no tools are offered from now on (--harness agent "
        "keeps them)"
    )
    assert line in made.notes
    assert [one.harness for one in made.aptitude] == ["chat"]
    assert made.evaluation is not None
    assert [report.harness for report in made.evaluation.students] == ["chat"]


def test_a_server_that_refuses_tools_is_asked_without_them(here: Path) -> None:
    write_own_cases(here, files={"notes.txt": "Nothing of use.\n"})

    def no_tools(asked: ReceivedRequest) -> Behaviour:
        return (
            Behaviour(status=400, error={"message": "tools are not supported"})
            if "tools" in asked.body
            else copies(asked)
        )

    made, _ = run(no_tools)
    assert made.status == "helps"
    assert [one.harness for one in made.aptitude] == ["chat"]


def test_without_any_passage_only_the_baseline_is_measured_and_nothing_stops(here: Path) -> None:
    write_own_cases(here, passage=False)
    made, _ = run(copies)
    assert made.status == "helps"
    (aptitude,) = made.aptitude
    assert (aptitude.baseline, aptitude.ceiling, aptitude.lift, aptitude.trials) == (0.0, None, None, 10)
    assert len(aptitude.reachable) == 10, "of a case without a ceiling nothing is known"
    assert any("no practice case names a passage" in note for note in made.notes)


def test_a_busy_server_is_waited_for_and_its_count_is_never_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "SECONDS", 0.05)
    with Provider(tokenizer=True, counts_after=0.2) as busy:
        students = [(resolve_model("s", base_url=busy.url), ServedModel(window=2_048))]
        assert counter_for(students)("three words here") == 3
