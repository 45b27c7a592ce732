"""A trial as JSON: whatever a student left comes back byte for byte."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.domain import Grade, Scored, SkillUse, Trial
from upskill.storage.trial_log import NotText, UnreadableTrial, trial_from_json, trial_json

TRIAL = Trial(
    id="a" * 64,
    student="s",
    case_id="c",
    arm="offered",
    repeat=1,
    outcome=Scored(end="answered", grade=Grade(results=())),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(
    files=st.dictionaries(TEXT, st.one_of(st.binary(max_size=60), TEXT.map(str.encode)), max_size=5),
    answer=st.one_of(TEXT, st.sampled_from(['"files":{', '{"files":{"a":"b"}}', ',"files":{}'])),
)
def test_files_of_any_kind_come_back_byte_for_byte(files: dict[str, bytes], answer: str) -> None:
    use = SkillUse(listed=True, loaded=True, files=("SKILL.md",))
    trial = replace(TRIAL, files=files, answer=answer, skill_use=use, turns=3)
    line = trial_json(trial)
    assert b"\n" not in line
    assert trial_from_json(line) == trial


def test_text_stands_as_text_and_anything_else_as_base64() -> None:
    value = json.loads(trial_json(replace(TRIAL, files={"a.txt": b"hi\n", "b.bin": b"\xff"})))
    assert value["files"] == {"a.txt": "hi\n", "b.bin": {"base64": "/w=="}}


def test_a_trial_without_files_says_nothing_of_files() -> None:
    assert b"files" not in trial_json(TRIAL)


def test_a_name_that_is_no_text_is_kept_as_well() -> None:
    trial = replace(TRIAL, files={"odd-\udcff": b"x"})
    assert trial_from_json(trial_json(trial)) == trial


def test_half_a_character_in_an_answer_is_refused_or_lost_as_asked() -> None:
    trial = replace(TRIAL, answer="half \ud83d", files={"a": b"x"})
    with pytest.raises(NotText):
        trial_json(trial)
    assert trial_from_json(trial_json(trial, lossy=True)) == replace(trial, answer="half ?")


@pytest.mark.parametrize(
    "files", ['{"a": 1}', '{"a": {"base64": "%%%"}}', '{"a": {"base64": 3}}', '{"a": ["x"]}', '{"a": null}']
)
def test_damaged_files_are_a_damaged_line(files: str) -> None:
    line = trial_json(replace(TRIAL, files={"a": b"x"})).replace(b'{"a":"x"}', files.encode())
    with pytest.raises(UnreadableTrial):
        trial_from_json(line)


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"files":{', b'{"files":{}}', b"null"])
def test_what_is_no_trial_is_said_to_be_none(line: bytes) -> None:
    with pytest.raises(UnreadableTrial):
        trial_from_json(line)
