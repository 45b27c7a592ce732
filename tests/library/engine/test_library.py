"""The library: what the commands do, from Python, with an event loop running and without, and interrupted."""

import asyncio
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import made_teacher
import upskill
from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.nouns import Scored

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(8)]
Skill = Callable[..., Path]
Script = Callable[..., str]
Call = Callable[[Callable[[], Any]], Any]


def directly(work: Callable[[], Any]) -> Any:
    """As a script does."""
    return work()


def in_a_coroutine(work: Callable[[], Any]) -> Any:
    """Where an event loop is running that handles Ctrl-C itself."""

    async def main() -> Any:
        return work()

    return asyncio.run(main())


def as_in_a_notebook(work: Callable[[], Any]) -> Any:
    """Where an event loop is running and Ctrl-C raises, as a kernel has it."""

    async def main() -> Any:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return work()

    return asyncio.run(main())


EVERYWHERE = pytest.mark.parametrize("call", [directly, in_a_coroutine, as_in_a_notebook])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def helped(script: Script) -> str:
    """A student that passes with the skill only."""
    return script({"arm": "with_skill", "replies": ["yes"]}, {"replies": ["no"]})


@EVERYWHERE
def test_a_skill_is_evaluated_wherever_it_is_called(call: Call, skill: Skill, helped: str, here: Path) -> None:
    result = call(lambda: upskill.evaluate(skill(CASES), models=helped, runs=2, store=False, report=False))
    assert isinstance(result, upskill.EvaluationResult)
    assert result.verdict == "helps"
    assert result.students[0].claim == "new cases"
    assert result.meets()
    assert result.meets("no-harm")
    assert [report.lifts[0].mean for report in result.students] == [1.0]
    assert len([trial for trial in result.trials() if trial.answer == "yes"]) == 16
    assert result.to_dict()["schema"] == "upskill.eval/1"
    assert result.run.parent == here / "runs"
    assert "The skill helps student: from 0% to 100% of 8 cases, +100 points" in str(result)
    assert "upskill" not in {thread.name for thread in threading.enumerate()}, "no thread of ours is left"


def test_a_version_that_breaks_a_case_does_not_meet_no_harm(skill: Skill, script: Script, here: Path) -> None:
    folder = skill(CASES)
    older = shutil.copytree(folder, here / "older" / folder.name)
    (older / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "As it was.\n")
    broken = script({"arm": "with_skill", "when": "Question 3", "replies": ["no"]}, {"replies": ["yes"]})
    result = upskill.evaluate(folder, models=broken, previous=older, require="no-harm", store=False, report=False)
    (student,) = result.students
    assert [(one.case_id, one.answers, one.passed, one.passed_before) for one in student.broken] == [("c3", 4, 0, 4)]
    assert student.verdict == "undecided"
    assert not result.meets("no-harm")


def test_a_server_that_a_file_names_is_told_before_it_is_asked(
    skill: Skill, here: Path, recwarn: pytest.WarningsRecorder
) -> None:
    def told() -> list[str]:
        return [str(one.message) for one in recwarn if issubclass(one.category, UserWarning)]

    seen: list[list[str]] = []

    def behave(_: ReceivedRequest) -> Behaviour:
        seen.append(told())
        return Behaviour(text="yes")

    folder = skill(CASES[:1])
    with Provider(behave) as provider:
        line = f"models are asked at {provider.url} (base_url in ./upskill.toml)"
        upskill.evaluate(folder, models="any", base_url=provider.url, runs=1, store=False, report=False)
        assert told() == [], "what is typed is known"
        (here / "upskill.toml").write_text(f'base_url = "{provider.url}"\n')
        result = upskill.evaluate(folder, models="any", runs=1, fresh=True, report=False)
        assert seen[-1] == [line]
        upskill.resume(result.run)
        upskill.evaluate_skills([folder], models="any", runs=1, store=False, report=False)
        assert told() == [line] * 3
    recwarn.clear()
    (here / "upskill.toml").write_text('teacher_base_url = "http://127.0.0.1:9/v1"\n')
    with pytest.raises(upskill.UpskillError):
        upskill.generate("A task.", teacher="any", no_eval=True, yes=True)
    assert told()[0] == "the teacher is asked at http://127.0.0.1:9/v1 (teacher_base_url in ./upskill.toml)"


def test_a_report_is_written_where_the_run_wrote_none(skill: Skill, helped: str) -> None:
    result = upskill.evaluate(skill(CASES), models=[helped], runs=1, store=False, report=False)
    assert not (result.run / "report.html").exists()
    assert "<!doctype html>" in result.report().read_text()
    assert result.report() == result.run / "report.html"


def test_a_regraded_run_has_the_new_grades_and_its_answers(skill: Skill, helped: str) -> None:
    folder = skill(CASES)
    result = upskill.evaluate(folder, models=helped, runs=1, store=False, report=False)
    meta = folder / "skill_meta.json"
    meta.write_text(meta.read_text().replace('"yes"', '"no"'))
    regraded = upskill.regrade(result.run)
    assert regraded.verdict == "undecided", "the checks changed after the answers were seen"
    assert regraded.students[0].lifts[0].mean == -1
    passed = [trial.answer for trial in regraded.trials() if isinstance(trial.outcome, Scored) and trial.outcome.passed]
    assert passed == ["no"] * 8
    with pytest.raises(upskill.UsageError, match="regraded"):
        regraded.report()


@EVERYWHERE
def test_an_interrupt_ends_the_run_in_good_order_and_is_raised(call: Call, skill: Skill, here: Path) -> None:
    stopped_at, is_slow = 6, True
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def behave(asked: ReceivedRequest) -> Behaviour:
        if is_slow and asked.number == stopped_at:
            threading.Timer(0.5, press).start()
        slow = is_slow and asked.number >= stopped_at
        text = f"{'yes' if asked.has_skill else 'no'} {asked.number}"
        return Behaviour(text=text, latency=60.0 if slow else 0.0)

    before = signal.getsignal(signal.SIGINT)
    with Provider(behave) as provider:
        try:
            with pytest.raises(KeyboardInterrupt, match=r"upskill\.resume\('runs/[^']*'\)$"):
                call(
                    lambda: upskill.evaluate(
                        skill(CASES),
                        models="any",
                        runs=2,
                        base_url=provider.url,
                        concurrency=2,
                        store=False,
                        report=False,
                    )
                )
        finally:
            signal.signal(signal.SIGINT, before)
        assert time.monotonic() - pressed[0] < 30, "the answers would come after sixty"
        (run,) = (path for path in (here / "runs").iterdir() if path.is_dir())
        assert json.loads((run / "run.json").read_text())["status"] == "interrupted"
        is_slow, bought = False, len(provider.requests)
        result = upskill.resume(run, base_url=provider.url)
        assert result.students[0].lifts[0].pairs == 16
        assert len(provider.requests) - bought <= 32 - 4, "what was scored is not bought again"


@EVERYWHERE
def test_an_interrupted_generate_can_be_resumed(call: Call, here: Path) -> None:
    is_slow = True

    def teacher(asked: ReceivedRequest) -> Behaviour:
        answer = made_teacher.teacher(made_teacher.THINGS[:8], known_at_first=8, negatives=0)(asked)
        if is_slow and made_teacher.kind_of(asked.prompt) == "sections":
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            return Behaviour(text=answer.text, latency=60.0)
        return answer

    before = signal.getsignal(signal.SIGINT)
    with Provider(teacher) as teaches, Provider(made_teacher.student) as learns:

        def work() -> upskill.GenerationResult:
            return upskill.generate(
                made_teacher.TASK,
                teacher="any",
                models="any",
                teacher_base_url=teaches.url,
                base_url=learns.url,
                cases="4+4+0",
                revisions=0,
                store=False,
            )

        try:
            with pytest.raises(KeyboardInterrupt, match=r"upskill\.resume_generate\('runs/"):
                call(work)
        finally:
            signal.signal(signal.SIGINT, before)
        (run,) = (path for path in (here / "runs").iterdir() if path.is_dir())
        is_slow = False
        result = upskill.resume_generate(run, base_url=learns.url, teacher_base_url=teaches.url)
    assert result.saved == here / "skills" / "quarn"
    assert result.evaluation is not None
    assert result.status == result.to_dict()["status"]
    assert len(list(result.evaluation.trials())) >= 8
    assert "quarn" in str(result)
    assert "<table" in result._repr_html_()


def test_what_costs_much_is_refused_with_its_price(skill: Skill, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    with pytest.raises(upskill.UsageError, match=r"price .*\$.*yes=True"):
        upskill.evaluate(skill(CASES), models="haiku", runs=5000, store=False)
    with pytest.raises(upskill.UsageError, match=r"teacher: .*\$.*yes=True"):
        upskill.generate("write kernels", teacher="opus", models=["haiku"])
    assert not (here / "runs").exists()


def test_a_cap_is_an_argument(skill: Skill, helped: str) -> None:
    result = upskill.evaluate(skill(CASES), models=helped, runs=2, max_calls=10, store=False, report=False)
    assert result.evaluation.bought.calls == 10
    assert result.evaluation.end.cap is not None


def test_what_is_wrong_is_said_with_what_would_be_right(skill: Skill, helped: str) -> None:
    folder = skill(CASES)
    with pytest.raises(upskill.SettingsError, match="no setting `max_csot`") as wrong:
        upskill.evaluate(folder, models=helped, max_csot=1)
    assert wrong.value.__notes__ == ["hint: did you mean `max_cost`?"]
    with pytest.raises(upskill.UsageError, match="sandbox must be bubblewrap or podman or docker or none"):
        upskill.evaluate(folder, models=helped, sandbox="chroot")  # type: ignore[arg-type]


def test_a_key_of_the_user_is_in_no_error(skill: Skill, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-proj-7hQ2vX9kLm4Rt8Yw1Zc3"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(upskill.UpskillError) as error:
        upskill.evaluate(f"skills/{key}", models="haiku")
    assert key not in str(error.value)


def test_of_several_models_each_has_a_verdict_of_its_own(skill: Skill, helped: str, here: Path) -> None:
    (here / "other.yaml").write_text("rules: [{replies: ['no']}]\n")
    models = [helped, "scripted/other.yaml"]
    result = upskill.evaluate(skill(CASES), models=models, runs=3, store=False, report=False)
    assert [report.verdict for report in result.students] == ["helps", "undecided"]
    assert not result.meets()
    assert result.meets("no-harm")
    with pytest.raises(upskill.UsageError, match="2 models were measured"):
        _ = result.verdict
    assert result._repr_html_().count("<tr>") == 3


def test_a_frame_needs_pandas_and_says_so(skill: Skill, helped: str) -> None:
    result = upskill.evaluate(skill(CASES[:4]), models=helped, runs=1, store=False, report=False)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.to_frame()


@EVERYWHERE
def test_a_recording_is_read(call: Call) -> None:
    recording = Path(__file__).parents[3] / "examples" / "traces" / "session.jsonl"
    result = call(lambda: upskill.read_trace(recording))
    assert result.digest == result.source.digest.text
    assert result.to_dict()["schema"] == "upskill.trace/1"
    assert "session.jsonl" in str(result)
    assert result._repr_html_().startswith("<pre>")


def test_a_piped_recording_is_not_waited_for() -> None:
    with pytest.raises(upskill.UsageError, match="nothing was piped in"):
        upskill.read_trace("-")
