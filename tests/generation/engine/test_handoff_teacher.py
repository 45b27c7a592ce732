"""A teacher that is asked by files: metered, as long as it takes, never twice, and each side apart."""

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import made_teacher
from handoff_server import HandoffServer, wait_until
from provider import Provider
from typing_again import generate_again
from upskill.core.cases.split import read_counts
from upskill.core.models import (
    Budget,
    CallPolicy,
    Handoff,
    HandoffOpen,
    Message,
    MeteredClient,
    NoAnswer,
    Question,
    Teacher,
)
from upskill.core.models.endpoint import resolve_model
from upskill.core.models.handoff import HandoffQuestion, prepare_side, questions_in
from upskill.core.runs.handing_off import asking_in, form_problems
from upskill.core.runs.journal import Journal
from upskill.core.settings import ResolvedSettings, resolve_settings
from upskill.errors import UsageError
from upskill.generation.case_writing import WrittenCases
from upskill.generation.generate import GenerateOrder, generate, plan_generate, resume_generate
from upskill.generation.handoff import answer_question, handoff_status
from upskill.generation.teaching import ask_function
from upskill.generation.write_for_skill import CasesOrder, write_for_skill
from upskill.redaction import redactor_from

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def question(text: str = "Write.", **more: Any) -> Question:
    return Question(purpose="draft", system="You teach.", messages=(Message(role="user", text=text),), **more)


class Asked:
    """A teacher by hand-off with a journal, as a `generate` has it; made anew, it is the run that goes on."""

    def __init__(self, folder: Path, *, client: MeteredClient | None = None, wait: bool = True) -> None:
        self.folder = folder / "handoff"
        for side in ("cases", "skill"):
            prepare_side(self.folder, side)
        self.client = client or MeteredClient()
        self.told: list[str] = []
        handoff = Handoff(folder=self.folder, problems=form_problems, wait=wait, report=self.told.append)
        teacher = Teacher(self.client, resolve_model("handoff"), handoff=handoff)
        self.ask = ask_function(teacher, Journal(folder / "teacher.jsonl"), redactor_from({}))


def test_a_question_becomes_a_file_and_its_answer_is_counted_without_a_price(tmp_path: Path) -> None:
    asked = Asked(tmp_path, client=MeteredClient(policy=CallPolicy(attempt_seconds=0.1, call_seconds=0, max_retries=0)))

    def slow(one: HandoffQuestion, text: str) -> str:
        time.sleep(0.6)  # longer than a model may take
        assert "You teach." in text
        assert "Write it." in text
        return '{"name": "x"}'

    with HandoffServer(tmp_path, slow):
        (reply,) = asked.ask([question("Write it.", schema=SCHEMA)])
    assert json.loads(reply.text) == {"name": "x"}
    spent = asked.client.spent_by["teacher", None]
    assert (spent.calls, spent.failed_calls, spent.cost) == (1, 0, None)
    assert spent.tokens > 0
    assert "waiting for an answer" in asked.told[0]
    assert f"upskill handoff {asked.folder / 'skill'}" in asked.told[2]


def test_many_questions_are_open_at_once_whatever_the_limit_for_models_is(tmp_path: Path) -> None:
    asked = Asked(tmp_path, client=MeteredClient(policy=CallPolicy(concurrency=1)), wait=False)
    with pytest.raises(HandoffOpen):
        asked.ask([question(str(number)) for number in range(12)])
    assert [one.question.number for one in handoff_status(asked.folder).open] == list(range(1, 13))


def test_the_same_question_asked_again_is_a_question_of_its_own(tmp_path: Path) -> None:
    with HandoffServer(tmp_path, lambda one, _: json.dumps({"name": str(one.number)})) as server:
        for _ in range(2):
            asked = Asked(tmp_path)
            replies = [*asked.ask([question(schema=SCHEMA)]), *asked.ask([question(schema=SCHEMA)])]
            assert [json.loads(reply.text)["name"] for reply in replies] == ["1", "2"]
    assert len(server.served) == 2


@pytest.mark.parametrize("point", ["half a folder", "open", "answered", "taken", "journalled"])
def test_what_was_asked_before_a_kill_is_found_again(point: str, tmp_path: Path) -> None:
    first = Asked(tmp_path, wait=False)
    asked = question(schema=SCHEMA)
    with pytest.raises(HandoffOpen):
        first.ask([asked])
    (made,) = questions_in(first.folder)
    if point == "half a folder":
        made.path.rename(made.path.with_name(f".{made.path.name}.tmp"))
        (made.path.with_name(f".{made.path.name}.tmp") / "question.md").write_text("hal")
    if point in ("answered", "taken", "journalled"):
        answer_question(first.folder, 1, '{"name": "first"}')
    if point in ("taken", "journalled"):
        Asked(tmp_path).ask([asked])
    if point == "taken":  # killed before the line was on the disk
        journal = tmp_path / "teacher.jsonl"
        journal.write_bytes(journal.read_bytes()[:-9])
    served = HandoffServer(tmp_path, lambda *_: '{"name": "second"}')
    with served:
        (reply,) = Asked(tmp_path).ask([asked])
    (again,) = questions_in(first.folder)
    assert again == made
    assert "Write." in (again.path / "question.md").read_text()
    answered_before = point in ("answered", "taken", "journalled")
    assert json.loads(reply.text) == {"name": "first" if answered_before else "second"}
    assert len(served.served) == (0 if answered_before else 1)
    assert len((tmp_path / "teacher.jsonl").read_text().splitlines()) == 1


def test_an_answer_by_hand_is_taken_once_it_is_whole_and_fits(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    replies: list[str] = []
    work = threading.Thread(
        target=lambda: replies.extend(reply.text for reply in asked.ask([question(schema=SCHEMA), question("text")]))
    )
    work.start()
    wait_until(lambda: len(questions_in(asked.folder)) == 2)
    with_schema, as_text = questions_in(asked.folder)
    with_schema.answer_path.write_text('{"name": "x"')
    wait_until(lambda: any("not valid JSON" in line for line in asked.told))
    with_schema.answer_path.write_text('{"nome": "x"}')
    wait_until(lambda: any("lacks `name`" in line for line in asked.told))
    (listed,) = [one for one in handoff_status(asked.folder).open if one.problems]
    assert listed.problems == ("the answer lacks `name`",)
    as_text.answer_path.write_text("A text.")
    with_schema.answer_path.write_text('{"name": "by hand"}')
    work.join(20)
    assert replies == ['{"name": "by hand"}', "A text."]
    assert sum("lacks `name`" in line for line in asked.told) == 1, "told once, not with every look"


def test_caps_hold_while_a_person_thinks(tmp_path: Path) -> None:
    timed = Asked(tmp_path / "time", client=MeteredClient(budget=Budget(max_seconds=0.5)))
    began = time.monotonic()
    with pytest.raises(NoAnswer, match=r"the cap of .* was reached") as raised:
        timed.ask([question()])
    assert raised.value.fault == "budget"
    assert time.monotonic() - began < 10
    assert len(questions_in(timed.folder)) == 1, "it stays, to be answered"

    counted = Asked(tmp_path / "calls", client=MeteredClient(budget=Budget(max_calls=2)), wait=False)
    with pytest.raises(HandoffOpen):
        counted.ask([question(str(number)) for number in range(5)])
    assert len(questions_in(counted.folder)) == 2


def test_ctrl_c_ends_the_wait_at_once(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        asked.ask([question()])
    assert time.monotonic() - began < 10


# A whole `generate`

SECRET = "ghp_" + "k3Jx9" * 7 + "a"


def _settings(student: str, **others: object) -> ResolvedSettings:
    return resolve_settings(
        {"teacher": "handoff", "models": ("any",), "base_url": student, "store": False, "report": False, **others}
    )


def _order(**others: Any) -> GenerateOrder:
    return GenerateOrder(task=made_teacher.TASK, counts=read_counts("2+6+0"), **others)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_a_skill_is_made_and_who_writes_it_sees_no_held_out_case_and_no_secret(here: Path) -> None:
    (here / "notes.md").write_text(f"# quarn\n\nquarn is a tide gauge. Its old token was {SECRET}.\n")
    with Provider(made_teacher.student) as student, HandoffServer(here) as server:
        found = generate(_order(sources=("notes.md",)), settings=_settings(student.url, anyway=True))
    assert found.status == "helps", found
    assert found.by_teacher.cost is None
    assert found.by_teacher.calls == len(server.served)
    (run,) = (here / "runs").glob("*generate*")
    cases = json.loads((run / "cases.json").read_text())["cases"]
    held_out = [case["input"] for case in cases if case["use"] == "held-out"]
    assert len(held_out) == 6
    skill = _texts(run / "handoff" / "skill")
    assert not [text for text in held_out if text in skill]
    assert all(text in _texts(run / "handoff" / "cases") for text in held_out), "the search can find them"
    assert {path.name for path in (run / "handoff").iterdir()} == {"cases", "skill"}
    assert "question.md" in skill
    assert "Its old token was" in skill, "the material is there"
    assert SECRET not in skill + _texts(run / "handoff" / "cases")
    assert handoff_status(run / "handoff").state == "finished"
    meta = (here / "skills" / "quarn" / "skill_meta.json").read_text()
    assert json.loads(meta)["provenance"]["teacher_model"] == "handoff"
    assert str(here) not in meta


def _texts(folder: Path) -> str:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return "\n".join(f"{path.name}\n{json.dumps(path.read_text())}\n{path.read_text()}" for path in files)


def test_without_waiting_it_ends_with_each_question_and_goes_on_from_another_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = HandoffServer(here / "answers")
    with Provider(made_teacher.student) as student:
        settings = _settings(student.url, teacher="handoff/answers", runs_dir=str(here / "runs"), wait=False)
        with pytest.raises(HandoffOpen, match=r"waiting for an answer in .*answers/cases: 1 \(plan\)") as ended:
            generate(_order(), settings=settings)
        assert ended.value.hint is not None
        assert "upskill generate --resume" in ended.value.hint
        assert handoff_status(here / "answers").state == "waiting"
        (run,) = (here / "runs").glob("*generate*")
        assert json.loads((run / "generate.json").read_text())["status"] == "interrupted"
        other = here / "other"
        other.mkdir()
        monkeypatch.chdir(other)
        found = None
        for _ in range(8):
            server.serve_once()
            try:
                typed = generate_again(run, teacher=f"handoff/{here}/answers", wait=False)
                found = resume_generate(run, typed=typed)
                break
            except HandoffOpen:
                continue
    assert found is not None
    assert found.status == "helps"
    assert [number for number, _ in server.served] == list(range(1, len(server.served) + 1))
    assert not list(other.rglob("question.md"))


def test_a_hand_off_is_not_measured_and_its_price_and_time_are_unknown(here: Path) -> None:
    with pytest.raises(UsageError, match="there is no model to measure") as refused:
        plan_generate(_order(), settings=_settings("http://127.0.0.1:9", models=(), base_url=None, wait=False))
    assert "--eval-model" in str(refused.value.hint)
    with pytest.raises(UsageError, match="but not be measured"):
        plan_generate(_order(), settings=_settings("", models=("handoff/x",), base_url=None))
    plan = plan_generate(_order(evaluate=False), settings=_settings("", models=(), base_url=None, wait=False))
    assert plan.estimate.teacher.price_expected is None
    assert plan.estimate.teacher.minutes_expected is None


def test_a_place_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "handoff").mkdir()
    (tmp_path / "handoff" / "skill").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a link"):
        prepare_side(tmp_path / "handoff", "skill")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_cases_of_a_skill_are_written_by_hand_off_in_a_folder_that_is_named(here: Path) -> None:
    skill = here / "skills" / "quarn"
    skill.mkdir(parents=True)
    lines = "\n".join(map(made_teacher.line_for, made_teacher.THINGS[:8]))
    (skill / "SKILL.md").write_text(f"---\nname: quarn\ndescription: Facts about quarn.\n---\n{lines}\n")
    order = CasesOrder(skill=skill, counts=read_counts("2+6+0"))
    with pytest.raises(UsageError, match="no run folder"):
        write_for_skill(order, settings=resolve_settings({"teacher": "handoff"}))
    with HandoffServer(here) as server:
        found = write_for_skill(order, settings=resolve_settings({"teacher": "handoff/questions"}))
    assert isinstance(found.written, WrittenCases)
    assert len(found.written.cases) == 8
    assert {purpose for _, purpose in server.served} == {"plan", "cases"}
    assert {path.name for path in (here / "questions").iterdir()} == {"cases"}


def test_a_folder_belongs_to_one_run_at_a_time(here: Path) -> None:
    with asking_in([(here / "questions", "skill")]):
        settings = _settings("", teacher="handoff/questions", models=(), base_url=None, wait=False)
        with pytest.raises(UsageError, match="another process is using this run"):
            generate(_order(evaluate=False), settings=settings)
