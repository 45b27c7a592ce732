"""Before an answer is handed in: the run tries it, and counts tokens as the student does."""

import json
from pathlib import Path

import pytest

import made_teacher
from handoff_server import HandoffServer, made_answer
from provider import Provider
from upskill.core.models.handoff import HandoffQuestion, place_request
from upskill.errors import UsageError
from upskill.generation.generate import generate
from upskill.generation.handoff import Finding, ask_the_run, handoff_status

from .test_handoff_teacher import _order, _settings


def test_a_run_tries_answers_and_says_what_came_of_each_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found: dict[str, list[Finding]] = {}

    def careful(question: HandoffQuestion, text: str) -> str:
        """Tries a bad answer, then the one that is handed in."""
        answer = made_answer(question, text)
        tried = found.setdefault(question.purpose, [])
        for one in (_spoilt(json.loads(answer)), answer):
            tried.append(ask_the_run(question.path.parent, "check", one, number=question.number))
        if question.purpose == "draft":
            tried.append(ask_the_run(question.path.parent, "count", "four words of text"))
        return answer

    with Provider(made_teacher.student) as student, HandoffServer(tmp_path, careful) as server:
        result = generate(_order(), settings=_settings(student.url, anyway=True))
    assert result.status == "helps", result
    assert [one.usable for one in found["plan"]] == [False, True]
    bad, good = found["cases"][:2]
    assert not bad.usable
    assert [line for line in bad.lines if "it also passes" in line or "passes" in line], bad
    assert good.usable
    assert good.lines[0].endswith("would be used: each passed its trials")
    spoilt, draft, counted = found["draft"]
    assert (spoilt.usable, draft.usable) == (False, True)
    assert draft.lines[0].startswith("the body has ")
    assert counted.lines == ("5 tokens, as the student counts them",)
    assert [one.usable for one in found["revision"]][:2] == [False, True]
    (run,) = (tmp_path / "runs").glob("*generate*")
    assert not list(run.rglob("check-*")), "nothing is left in the folders"
    assert handoff_status(run / "handoff" / "cases").outcomes == (
        "8 cases in use; nothing more is asked of who wrote them",
    )
    (outcome,) = handoff_status(run / "handoff" / "skill").outcomes
    assert outcome == f"the outcome: {result.sentence}"
    assert len(server.served) == result.by_teacher.calls
    with pytest.raises(UsageError, match="no question is open"):
        ask_the_run(run / "handoff", "count", "x")


def _spoilt(answer: dict[str, list[dict[str, object]]]) -> str:
    """The same answer with a fault that only the run can see."""
    if "facts" in answer:
        answer["facts"] = answer["facts"][:1]
    elif "cases" in answer:
        answer["cases"][0]["checks"] = [{"excludes": ["never"]}]
    elif "edits" in answer:
        answer["edits"][0]["heading"] = "Nowhere"
    else:
        answer["name"] = "../.."  # type: ignore[assignment]
    return json.dumps(answer)


def test_what_lies_there_and_is_no_file_is_named_and_ends_nothing(tmp_path: Path) -> None:
    from upskill.core.models import Handoff, Message, Question
    from upskill.core.models.handoff import place_question, prepare_side
    from upskill.core.runs.handing_off import form_problems

    prepare_side(tmp_path, "skill")
    asked = Question(purpose="draft", system="s", messages=(Message(role="user", text="t"),))
    question = place_question(tmp_path, asked, repeat=1)
    handoff = Handoff(folder=tmp_path, problems=form_problems)
    link = question.path / f"check-{'0' * 16}.txt"
    link.symlink_to(tmp_path / "elsewhere")
    said = place_request(question, "count", "text")
    handoff.serve_requests(question, None)
    assert json.loads(link.with_suffix(".json").read_text()) == {
        "usable": False,
        "lines": [f"{link.name} cannot be read: it is a link"],
    }
    assert not json.loads(said.read_text())["usable"], "no student is known"
    said = place_request(question, "check", "a text")
    handoff.serve_requests(question, lambda text: (True, [text.upper()]))
    assert json.loads(said.read_text()) == {"usable": True, "lines": ["A TEXT"]}
