"""Files of trigger prompts: written and read back, the community's form too, and every problem named."""

import json
from pathlib import Path

import pytest

from upskill.core.cases.prompts import read_skill_triggers, read_trigger_file, triggers_path, write_trigger_file
from upskill.core.nouns.trigger import TriggerPrompt
from upskill.errors import SkillInvalid, UsageError

PROMPTS = (
    TriggerPrompt(id="a", prompt="Fix the gauge.", should_load=True, use="learn", family="f", why="it is for that"),
    TriggerPrompt(id="b", prompt="When is the tide?", should_load=False, use="held-out"),
    TriggerPrompt(id="c", prompt="Écrire «ça»\n```x```", should_load=False),
)


def test_prompts_are_read_as_they_were_written(tmp_path: Path) -> None:
    skill = tmp_path / "gauge-care"
    skill.mkdir()
    assert read_skill_triggers(skill) is None
    write_trigger_file(triggers_path(skill), PROMPTS, written_by={"model": "x"})
    found = read_skill_triggers(skill / "SKILL.md")
    assert found is not None
    assert found.path == skill / "evals" / "triggers.json"
    assert found.prompts == PROMPTS
    assert found.written_by == {"model": "x"}


def test_the_form_of_the_community_is_read_and_names_come_from_the_content(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    items = [{"query": "Fix it.", "should_trigger": True}, {"query": "Bake.", "should_trigger": False}]
    path.write_text(json.dumps(items))
    names = [prompt.id for prompt in read_trigger_file(path).prompts]
    path.write_text(json.dumps(items[::-1]))
    again = read_trigger_file(path).prompts
    assert [prompt.id for prompt in again] == names[::-1]
    assert [prompt.should_load for prompt in again] == [False, True]


def test_the_same_prompt_twice_is_refused_whatever_its_label_and_use(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    items = [
        {"id": "one", "prompt": "Fix it.", "should_load": True, "use": "learn"},
        {"id": "two", "prompt": "Fix  it.\n", "should_load": True, "use": "held-out"},
        {"id": "three", "prompt": "Fix it.", "should_load": False},
    ]
    path.write_text(json.dumps(items))
    with pytest.raises(SkillInvalid) as raised:
        read_trigger_file(path)
    assert list(raised.value.problems) == [
        "`one` and `two` are the same prompt",
        "`one` and `three` are the same prompt",
    ]


def test_every_problem_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    items = [
        "text",
        {"prompt": " ", "should_load": True},
        {"prompt": "a"},
        {"prompt": "a", "should_load": "yes"},
        {"prompt": "a", "should_load": True, "use": "practice", "id": True, "should_lode": 1},
        {"prompt": "a", "should_load": True, "id": 7},
        {"prompt": "b", "should_load": True, "id": "7"},
    ]
    path.write_text(json.dumps({"prompts": items, "promts": []}))
    with pytest.raises(SkillInvalid) as raised:
        read_trigger_file(path)
    assert list(raised.value.problems) == [
        "`promts` is not a known key; did you mean `prompts`?",
        "prompt 1: must be an object with `prompt` and `should_load`",
        "prompt 2: `prompt` must be a text",
        "prompt 3: has no `should_load`",
        "prompt 4: `should_load` must be true or false",
        "prompt 5: `should_lode` is not a known key; did you mean `should_load`?",
        "prompt 5: `id` must be a string or a whole number",
        "prompt 5: `use` must be one of learn, held-out",
        "two prompts have the id `7`",
    ]


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"prompts": 1}', '{"format": "upskill.triggers/9", "prompts": []}'])
def test_what_is_no_file_of_prompts_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(SkillInvalid):
        read_trigger_file(path)
    with pytest.raises(UsageError, match="no such file"):
        read_trigger_file(tmp_path / "other.json")
