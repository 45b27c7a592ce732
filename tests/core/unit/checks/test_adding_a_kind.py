"""A kind of check is one class and one entry in the registry: all that others know of it, they ask the kind."""

import json
from functools import partial
from pathlib import Path

import pytest

from generation.unit.teaching.scripted_teacher import Teacher
from upskill.core.cases.files import read_case_file
from upskill.core.cases.split import CaseCounts
from upskill.core.cases.states import qualify
from upskill.core.checks import KINDS, CheckOutcome, check_problems, grade, offers
from upskill.core.checks.kind import Kind, Submission
from upskill.core.nouns import Answer, CheckResult, Skill
from upskill.core.nouns.answer_schemas import TEXT
from upskill.core.nouns.case import Json
from upskill.generation.case_writing import write_cases
from upskill.generation.material import Material

SKILL = Skill(name="quay", description="Facts.", body="Nothing.", digest="d")


class Ends(Kind):
    """Passes when the answer ends with the spec."""

    name = "ends"
    only_words = True
    schema = TEXT
    guidance = '`{"ends": "7413"}`: the answer ends so.'

    def problems(self, spec: Json) -> list[str]:
        return [] if isinstance(spec, str) and spec else ["`ends` must be a text"]

    def expected(self, spec: Json) -> list[str]:
        return [str(spec)]

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        return CheckOutcome(submission.answer.text.endswith(str(spec)), f"ends with {submission.answer.text[-4:]!r}")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, Ends.name, Ends())


def test_a_case_file_with_it_is_read_qualified_and_graded(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(
        '[{"input": "Which port?", "checks": [{"ends": "7413"}], "reference": "port 7413", "wrong": ["7412"]},'
        ' {"input": "Is it 7413?", "checks": [{"ends": "7413"}], "reference": "7413"}]'
    )
    case, leaking = read_case_file(path, check_problems=check_problems).cases
    assert grade(case, Answer(text="it is 7412")).results == (
        CheckResult(kind="ends", passed=False, saw="ends with '7412'"),
    )
    assert grade(case, Answer(text="it is 7413")).passed
    (fine,), (given_away,) = qualify([case], SKILL), qualify([leaking], SKILL)
    assert fine.state == "qualified"
    assert "leaks" not in fine.labels
    assert "leaks" in given_away.labels, "what it expects stands in the prompt, and the kind says what it expects"


def test_what_is_wrong_with_it_and_a_near_miss_of_its_name_are_told(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text('[{"input": "Which port?", "checks": [{"ends": 7413}, {"endz": "7413"}]}]')
    with pytest.raises(Exception, match=r"`ends` must be a text[\s\S]*did you mean `ends`"):
        read_case_file(path, check_problems=check_problems)


def test_it_is_offered_to_teachers_and_what_they_write_with_it_counts() -> None:
    item = {
        "input": "Which port does quayctl use?",
        "checks": [{"ends": "7413"}],
        "reference": {"text": "port 7413"},
        "wrong": [{"text": "port 80"}, {"text": "port 7412"}],
    }
    teacher = Teacher(json.dumps({"cases": [item]}))
    result = write_cases(
        Material(task="quays"),
        teacher,
        counts=CaseCounts(learn=0, held_out=1, negative=0),
        examine=partial(qualify, skill=SKILL),
    )
    assert [check.kind for case in result.cases for check in case.checks] == ["ends"]
    (question,) = teacher.asked
    assert Ends.guidance in question.system
    assert '{"ends": {"type": "string"}}' in str(question.schema).replace("'", '"')


def test_a_kind_without_a_schema_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ends, "schema", None)
    assert "ends" not in [offer.kind for offer in offers()]
    assert [offer.kind for offer in offers()] == [
        *("contains", "excludes", "equals", "lines", "regex", "file", "json", "toml", "yaml", "command")
    ]
    assert [offer.kind for offer in offers() if offer.runs_programs] == ["command"]
