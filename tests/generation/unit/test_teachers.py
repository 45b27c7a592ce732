"""Who teaches when nobody is named, whose key goes where, and where a skill may be saved."""

from pathlib import Path

import pytest

from upskill.core.models.endpoint import ENDPOINT_KEY, TEACHER_KEY, student_endpoint
from upskill.core.models.teachers import case_writer_for, teacher_for
from upskill.core.settings import Origin, Settings, settings_from
from upskill.errors import ProviderError, UsageError
from upskill.generation.order import GenerateOrder, target_for

ONE, OTHER = "http://localhost:1/v1", "http://localhost:2/v1"


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HF_TOKEN"], "opus"),
        (["HF_TOKEN", "OPENAI_API_KEY"], "openai/gpt-5.5"),
        (["HF_TOKEN"], "kimi"),
        (["DEEPSEEK_API_KEY", "HF_TOKEN"], "deepseek/deepseek-v4-pro"),
    ],
)
def test_the_strongest_with_a_key_teaches(keys: list[str], name: str) -> None:
    assert teacher_for(Settings(), environment=dict.fromkeys(keys, "made-up")).name == name


def test_a_blank_key_is_none_and_without_any_the_way_out_is_named() -> None:
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY") as raised:
        teacher_for(Settings(), environment={"ANTHROPIC_API_KEY": "  "})
    assert "--base-url" in (raised.value.hint or "")


def test_a_server_without_a_model_is_asked_about() -> None:
    with pytest.raises(UsageError, match="no model was named"):
        teacher_for(Settings(teacher_base_url=ONE), environment={"ANTHROPIC_API_KEY": "made-up"})


def test_each_key_goes_to_its_own_server_only() -> None:
    apart = Settings(teacher="a", teacher_base_url=ONE, models=("b",), base_url=OTHER)
    assert teacher_for(apart).key_variables == (TEACHER_KEY,)
    assert student_endpoint("b", apart).key_variables == (ENDPOINT_KEY,)
    same = Settings(teacher="a", teacher_base_url=f"{ONE}/", models=("b",), base_url=ONE)
    assert set(teacher_for(same).key_variables) == {TEACHER_KEY, ENDPOINT_KEY}
    assert set(student_endpoint("b", same).key_variables) == {TEACHER_KEY, ENDPOINT_KEY}
    hosted = Settings(teacher="opus", models=("b",), base_url=OTHER)
    assert teacher_for(hosted).key_variables == ("ANTHROPIC_API_KEY",)


def test_whoever_writes_the_cases_may_live_elsewhere() -> None:
    settings = Settings(teacher="a", teacher_base_url=ONE, test_gen_model="haiku")
    assert case_writer_for(settings).model.startswith("anthropic/")
    local = Settings(teacher="a", teacher_base_url=ONE, test_gen_model="small")
    assert case_writer_for(local).base_url == ONE
    assert case_writer_for(Settings(teacher="a", teacher_base_url=ONE)).name == "a"


def test_a_skill_is_saved_under_its_name_in_a_folder_or_as_the_folder_that_was_named(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "SKILL.md").write_text("x")
    settings = settings_from({"skills_dir": str(tmp_path / "skills")}, where="here")
    assert target_for(GenerateOrder(), settings, skill=None).for_name("a") == tmp_path / "skills" / "a"
    into = target_for(GenerateOrder(output=str(tmp_path / "there")), settings, skill=None)
    assert into.for_name("a") == tmp_path / "there" / "a"
    named = target_for(GenerateOrder(output=str(tmp_path / "new-one")), settings, skill=None)
    assert named.for_name("a") == tmp_path / "new-one"
    with pytest.raises(UsageError, match="overwritten"):
        target_for(GenerateOrder(output=str(tmp_path / "taken")), settings, skill=None)
    assert target_for(GenerateOrder(output=str(tmp_path / "taken")), settings, skill=tmp_path / "taken").in_place
    (tmp_path / "link").symlink_to(tmp_path / "taken")
    with pytest.raises(UsageError, match="is a link"):
        target_for(GenerateOrder(), settings, skill=tmp_path / "link")


def test_no_file_without_trust_says_who_may_have_the_teachers_key() -> None:
    for keys, variables in ((True, (ENDPOINT_KEY, TEACHER_KEY)), (False, (ENDPOINT_KEY,))):
        origin = {"teacher_base_url": Origin(where="teacher_base_url in ./upskill.toml", keys=keys)}
        typed = Settings(teacher="a", base_url=ONE, teacher_base_url=ONE, untyped=origin)
        assert student_endpoint("b", typed).key_variables == variables
        assert (teacher_for(typed).key_variable({TEACHER_KEY: "made-up"}) is not None) is keys
