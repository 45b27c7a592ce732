"""What `generate` does around its stages: with a scripted teacher, and before anything is measured."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import made_teacher
from generation.unit.teaching.case_teacher import good_case
from made_teacher import THINGS, line_for
from provider import Behaviour, Provider, ReceivedRequest
from typing_again import generate_again
from upskill.core.cases.split import read_counts
from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns import Trial
from upskill.core.progress import RunProgress
from upskill.core.settings import ResolvedSettings, resolve_settings
from upskill.errors import EngineError, ProviderError, SkillInvalid, UsageError
from upskill.generation.generate import (
    GenerateOrder,
    generate,
    plan_generate,
    resume_generate,
)

CASES = "[" + ", ".join(f'{{"input": "What is {n}?", "expected": {{"contains": ["a{n}"]}}}}' for n in range(6)) + "]"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a skill, a document, and a teacher that says nothing of use."""
    monkeypatch.chdir(tmp_path)
    skill = tmp_path / "skills" / "gauge"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: gauge\ndescription: Reads gauges. Use for gauges.\n---\nRead it.\n")
    (skill / "skill_meta.json").write_text(f'{{"cases": {CASES}}}')
    (tmp_path / "page.html").write_text("<p>The port is 7413.</p>")
    (tmp_path / "teacher.yaml").write_text(yaml.safe_dump({"rules": [{"replies": ["no"]}]}))
    return tmp_path


def test_what_is_edited_while_the_price_is_looked_at_is_what_is_improved(here: Path) -> None:
    class Slow(RunProgress):
        def generate_planned(self, lines: Sequence[str]) -> None:
            with (here / "skills" / "gauge" / "SKILL.md").open("a") as file:
                file.write("A line of mine.\n")

    order = GenerateOrder(sources=("skills/gauge", "page.html"))
    with pytest.raises(TeacherUnusable):
        generate(order, settings=_settings(), progress=Slow())
    (asked,) = (here / "runs").glob("*/teacher.jsonl")
    assert "A line of mine." in asked.read_text()


def _settings(**others: object) -> ResolvedSettings:
    return resolve_settings({"teacher": "scripted/teacher.yaml", "models": ("scripted/teacher.yaml",), **others})


def test_the_price_is_that_of_the_cases_that_are_there(here: Path) -> None:
    few = plan_generate(GenerateOrder(sources=("skills/gauge",)), settings=_settings())
    cases = [{"input": f"What is {n}?", "expected": {"contains": [f"a{n}"]}} for n in range(60)]
    (here / "own.json").write_text(json.dumps({"cases": cases}))
    many = plan_generate(GenerateOrder(sources=("skills/gauge",), case_file="own.json"), settings=_settings())
    assert few.own_cases == 6
    assert many.own_cases == 60
    assert few.estimate.students is not None
    assert many.estimate.students is not None
    assert many.estimate.students.calls_at_most >= 5 * few.estimate.students.calls_at_most


def test_a_student_that_would_judge_itself_is_refused_before_the_teacher_is_asked(here: Path) -> None:
    cases = [{"input": f"{n}?", "checks": [{"judge": {"rubric": "is kind"}}]} for n in range(4)]
    (here / "own.json").write_text(json.dumps({"cases": cases}))
    settings = _settings(judge="scripted/teacher.yaml")
    with pytest.raises(UsageError, match="would judge its own answers"):
        plan_generate(GenerateOrder(task="x", case_file="own.json"), settings=settings)


def test_cases_that_want_a_judge_are_refused_before_anything_is_asked(here: Path) -> None:
    cases = [{"input": f"{n}?", "checks": [{"judge": {"rubric": "is kind"}}]} for n in range(4)]
    (here / "own.json").write_text(json.dumps({"cases": cases}))
    order = GenerateOrder(task="x", sources=("page.html",), case_file="own.json")
    with pytest.raises(SkillInvalid) as refused:
        generate(order, settings=_settings())
    assert "--judge" in str(refused.value.problems)
    assert not (here / "runs").exists()


def test_checks_that_do_not_fit_their_cases_are_refused_before_anything_is_asked(here: Path) -> None:
    check = {"judge": {"rubric": "is kinder", "against": "reference"}}  # and there is no reference
    cases = [{"input": f"{n}?", "checks": [check]} for n in range(4)]
    (here / "own.json").write_text(json.dumps({"cases": cases}))
    with pytest.raises(UsageError, match="the checks do not match their cases"):
        generate(GenerateOrder(task="x", case_file="own.json"), settings=_settings(judge="scripted/teacher.yaml"))
    assert not (here / "runs").exists()


def test_what_a_person_asks_already_is_not_asked_by_a_written_case_as_well(here: Path) -> None:
    written = [good_case(number) for number in range(1, 9)]
    by_hand = [
        {"id": f"mine-{n}", "input": case["input"], "checks": [*case["checks"], {"excludes": ["perhaps"]}]}
        for n, case in enumerate(written[:4])
    ]
    (here / "skills" / "gauge" / "skill_meta.json").write_text(json.dumps({"cases": by_hand}))
    rules = [{"when": "What to write", "replies": [json.dumps({"cases": written})]}, {"replies": ["no"]}]
    (here / "teacher.yaml").write_text(yaml.safe_dump({"rules": rules}))
    order = GenerateOrder(task="know more", sources=("skills/gauge", "page.html"), counts=read_counts("4+4+0"))
    with pytest.raises(TeacherUnusable, match="draft"):
        generate(order, settings=_settings())
    (path,) = (here / "runs").glob("*/cases.json")
    cases = json.loads(path.read_text())["cases"]
    assert len(cases) == 8, "four of a person, and four that ask something else"
    assert len({case["input"] for case in cases}) == 8


def test_a_family_of_own_and_written_cases_is_on_one_side(here: Path) -> None:
    written = [{**good_case(number), "family": f"berth {number % 4}"} for number in range(1, 13)]
    written.append({**good_case(20), "family": "", "input": "How deep is gauge 17?"})
    by_hand: list[dict[str, Any]] = [
        {"id": f"mine-{n}", "input": f"How long is a {word}?", "expected": {"contains": word}, "family": f"berth-{n}"}
        for n, word in enumerate(("rope", "plank", "crane"))
    ]
    by_hand.append({"id": "gauge", "input": "How deep is gauge 2?", "checks": [{"equals": "3"}]})
    (here / "skills" / "gauge" / "skill_meta.json").write_text(json.dumps({"cases": by_hand}))
    rules = [{"when": "What to write", "replies": [json.dumps({"cases": written})]}, {"replies": ["no"]}]
    (here / "teacher.yaml").write_text(yaml.safe_dump({"rules": rules}))
    order = GenerateOrder(task="know more", sources=("skills/gauge", "page.html"), counts=read_counts("5+8+0"))
    with pytest.raises(TeacherUnusable, match="draft"):
        generate(order, settings=_settings())
    (path,) = (here / "runs").glob("*/cases.json")
    cases = json.loads(path.read_text())["cases"]
    assert len(cases) == 17
    members = {name: [case for case in cases if case["family"] == name] for name in {case["family"] for case in cases}}
    assert {name: len(mine) for name, mine in members.items()} == {
        "berth-0": 4, "berth-1": 4, "berth-2": 4, "berth-3": 3, "gauge": 2
    }  # fmt: skip
    assert all(len({case["use"] for case in mine}) == 1 for mine in members.values())
    assert {case["use"] for case in cases} == {"learn", "held-out"}


def test_a_record_that_cannot_be_written_still_says_how_to_go_on(here: Path) -> None:
    class Spoiling(RunProgress):
        def run_created(self, run: Path) -> None:
            (run / "generate.json").unlink()
            (run / "generate.json").mkdir()  # as good as a full disk: nothing can be put in its place

    with pytest.raises(EngineError, match="cannot be written") as error:
        generate(GenerateOrder(sources=("skills/gauge",)), settings=_settings(), progress=Spoiling())
    assert "upskill generate --resume runs/" in str(error.value.hint)


class Stopping(RunProgress):
    """Presses Ctrl-C when the held-out cases come."""

    def stage_begun(self, line: str) -> None:
        if "held-out cases" in line:
            raise KeyboardInterrupt


def test_what_was_measured_of_one_draft_is_never_told_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sick, revisions = True, 0
    lost: list[str] = []

    def student(asked: ReceivedRequest) -> Behaviour:
        # One learn case cannot be answered at first: a failure less for the teacher to be shown.
        answer = made_teacher.student(asked)
        if sick and revisions == 0 and asked.has_skill and "I do not know" in answer.text:
            lost.append(asked.prompt)
            if asked.prompt == lost[0]:
                return Behaviour(status=400, error={"message": "not now"})
        return answer

    def teacher(asked: ReceivedRequest) -> Behaviour:
        nonlocal revisions
        if made_teacher.kind_of(asked.prompt) == "edits":
            revisions += 1
            if revisions > 1:
                useless = {**made_teacher.revision([])["edits"][0], "text": "- Of no use"}
                return Behaviour(text=json.dumps({"cause": "", "edits": [useless]}))
        return made_teacher.teacher(THINGS[:12], known_at_first=4, negatives=0)(asked)

    with Provider(teacher) as teaches, Provider(student) as learns:
        settings = resolve_settings(
            {
                "teacher": "any",
                "teacher_base_url": teaches.url,
                "models": ("any",),
                "base_url": learns.url,
                "store": False,
                "max_retries": 0,
            }
        )
        order = GenerateOrder(task=made_teacher.TASK, counts=read_counts("6+6+0"), revisions=1)
        with pytest.raises(KeyboardInterrupt) as stopped:
            generate(order, settings=settings, progress=Stopping())
        assert "the best draft so far is ./runs/" in stopped.value.__notes__[0]
        (run,) = (path for path in (tmp_path / "runs").iterdir() if path.is_dir())
        sick = False
        made = resume_generate(run, typed=generate_again(run))
        assert revisions == 1, "what the teacher was shown stays as it was, and with it what it said"
        assert "Of no use" not in made.skill.body
        record = json.loads((run / "trials" / "held-out" / "run.json").read_text())
        assert record["skill_digest"] == made.skill.digest
        (run / "trials" / "held-out" / "run.json").write_text(json.dumps({**record, "skill_digest": "0" * 64}))
        with pytest.raises(UsageError, match="held-out was started with another draft"):
            resume_generate(run, typed=generate_again(run))


def test_an_outage_of_the_teacher_names_the_best_draft_and_how_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def teacher(asked: ReceivedRequest) -> Behaviour:
        if made_teacher.kind_of(asked.prompt) in ("edits", "presentations"):
            return Behaviour(status=400, error={"message": "not now"})
        return made_teacher.teacher(THINGS[:8], known_at_first=4, negatives=0)(asked)

    with Provider(teacher) as teaches, Provider(made_teacher.student) as learns:
        chosen = {"teacher": "any", "teacher_base_url": teaches.url, "models": ("any",), "base_url": learns.url}
        settings = resolve_settings({**chosen, "store": False, "max_retries": 0, "anyway": True})
        order = GenerateOrder(task=made_teacher.TASK, counts=read_counts("4+4+0"))
        with pytest.raises(ProviderError, match="nothing was saved") as error:
            generate(order, settings=settings)
    (note,) = error.value.__notes__
    found = re.fullmatch(r"the best draft so far is (\S+) \(practice cases: (\d) of 4 passed\)", note)
    assert found is not None, note
    assert (tmp_path / found[1] / "SKILL.md").is_file()


def test_a_wordy_teacher_and_a_student_with_a_small_window_end_in_a_saved_skill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    history = {"heading": "History", "text": "Long ago it was otherwise. " * 300, "sources": []}

    def teacher(asked: ReceivedRequest) -> Behaviour:
        said = made_teacher.teachers_answer(asked.prompt, THINGS[:8], 3, 0)
        if "sections" in said:
            said = {**said, "sections": [history, *said["sections"]], "drop_first": ["History"]}
        return Behaviour(text=json.dumps(said))

    with Provider(teacher) as teaches, Provider(made_teacher.student, window=1_024, tokenizer=True) as learns:
        chosen = {"teacher": "any", "teacher_base_url": teaches.url, "models": ("any",), "base_url": learns.url}
        settings = resolve_settings({**chosen, "store": False})
        order = GenerateOrder(task=made_teacher.TASK, counts=read_counts("4+4+0"), revisions=1)
        made = generate(order, settings=settings)
    asked = [made_teacher.kind_of(request.prompt) for request in teaches.requests]
    assert asked.count("sections") == 3, "the draft, and twice to shorten it"
    assert made.saved is not None
    assert "Long ago" not in made.skill.body
    assert [one.presentation for one in made.attempts][:2] == ["prose", "table"]
    assert made.attempts[-1].passed > made.attempts[0].passed


class StoppingAtAnAnswer(RunProgress):
    """Presses Ctrl-C at the first answer."""

    def trial_finished(self, trial: Trial) -> None:
        raise KeyboardInterrupt


def test_the_held_out_test_has_two_looks_and_asks_each_case_three_times_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = [{**good_case(number), "use": "held-out"} for number in range(32)]
    keys = ("id", "input", "checks", "use", "family")
    (tmp_path / "own.json").write_text(json.dumps([{key: case[key] for key in keys} for case in cases]))
    (tmp_path / "student.yaml").write_text(yaml.safe_dump({"rules": [{"replies": ["no"]}]}))
    with Provider(made_teacher.teacher(THINGS[:12], known_at_first=4, negatives=0)) as teaches:
        settings = resolve_settings(
            {"teacher": "any", "teacher_base_url": teaches.url, "models": ("scripted/student.yaml",), "store": False}
        )
        order = GenerateOrder(task=made_teacher.TASK, case_file="own.json")
        with pytest.raises(KeyboardInterrupt):
            generate(order, settings=settings, progress=StoppingAtAnAnswer())
    (path,) = (tmp_path / "runs").glob("*/trials/held-out/run.json")
    record = json.loads(path.read_text())
    assert (len(record["cases"]), record["repeats"], record["design"]) == (32, 3, "two looks")


def test_conversations_of_a_teacher_go_through_a_whole_teaching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Path(__file__).parents[2] / "samples" / "traces" / "claude-code" / "session.jsonl"  # directed twice
    (tmp_path / "session.jsonl").write_bytes(session.read_bytes())

    def teacher(asked: ReceivedRequest) -> Behaviour:
        said = made_teacher.teachers_answer(asked.prompt, THINGS[:8], 3, 0)
        for case in said.get("cases", ()):
            turn = {key: case.pop(key) for key in ("input", "checks", "reference", "wrong")}
            case["turns"] = [turn, {"input": "Thanks."}, {**turn, "input": f"Once more: {turn['input']}"}]
        return Behaviour(text=json.dumps(said))

    def student(asked: ReceivedRequest) -> Behaviour:
        """Answers what was asked first, all the way."""
        first = {**asked.body, "messages": asked.body["messages"][:2]}
        return made_teacher.student(replace(asked, body=first))

    with Provider(teacher) as teaches, Provider(student) as learns:
        chosen = {"teacher": "any", "teacher_base_url": teaches.url, "models": ("any",), "base_url": learns.url}
        order = GenerateOrder(
            task=made_teacher.TASK, sources=("session.jsonl",), counts=read_counts("4+4+0"), revisions=1
        )
        made = generate(order, settings=resolve_settings({**chosen, "store": False}))
    told = [asked.system for asked in teaches.requests if made_teacher.kind_of(asked.prompt) == "cases"]
    assert told
    assert all("may be a conversation" in system for system in told)
    shown = next(asked.prompt for asked in teaches.requests if made_teacher.kind_of(asked.prompt) == "edits")
    assert "turn 3 of 3: not found" in shown, "the teacher reads which turn failed"
    assert "Turn 1: I do not know." in shown
    assert made.saved is not None
    (path,) = (tmp_path / "runs").glob("*/cases.json")
    assert [len(case["turns"]) for case in json.loads(path.read_text())["cases"]] == [3] * 8
    assert all(line_for(thing) in made.skill.body for thing in THINGS[:8])
