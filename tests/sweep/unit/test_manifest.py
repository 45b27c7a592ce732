"""`sweep.toml` is read strictly: what is not known is an error that names the nearest."""

from pathlib import Path

import pytest

from upskill.core.models.retrying import RateLimit
from upskill.errors import SettingsError, UpskillError
from upskill.sweep.manifest import Manifest, listed_skills, read_manifest
from upskill.sweep.values import Caps, SweepPlan

LEAST = 'format = "upskill.sweep/1"\nskills = ["registry/*/"]\nstudents = ["haiku", "org/model"]\n'


def _read(folder: Path, text: str) -> Manifest:
    path = folder / "sweep.toml"
    path.write_text(text)
    return read_manifest(path)


def test_the_example_of_the_documentation_is_read(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        LEAST + 'groups = [["haiku"], ["org/model"]]\nbase_url = "http://localhost:8080/v1"\nconfirm = false\n'
        'max_cost = 500.0\nlogs = "none"\nruns = 3\nseed = 7\nharness = "chat"\ntemperature = 0\n'
        "[limits.haiku]\nrequests_per_minute = 4000\noutput_tokens_per_minute = 800000\n",
    )
    assert found == Manifest(
        path=tmp_path / "sweep.toml",
        skills=("registry/*/",),
        plan=SweepPlan(
            manifest="sweep.toml",
            groups=(("haiku",), ("org/model",)),
            harness="chat",
            runs=3,
            seed=7,
            settings={"base_url": "http://localhost:8080/v1", "temperature": 0},
            caps=Caps(max_cost=500.0),
            limits={"haiku": RateLimit(requests_per_minute=4000, output_tokens_per_minute=800000)},
            confirm=False,
            logs="none",
        ),
    )
    assert found.values.base_url == "http://localhost:8080/v1"


def test_what_is_not_said_has_the_default_of_every_command(tmp_path: Path) -> None:
    found = _read(tmp_path, LEAST).plan
    assert found.groups == (("haiku", "org/model"),)
    assert found.caps == Caps(max_cost=5.0)
    assert (found.confirm, found.logs, found.runs) == (True, "failures", None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "`format` is not upskill.sweep/1"),
        (LEAST + "max_costs = 3", "no key `max_costs`; did you mean `max_cost`?"),
        (LEAST + "max-cost = 3", "no key `max-cost`; did you mean `max_cost`?"),
        (LEAST + 'runs_dir = "x"', "no key `runs_dir`"),
        (LEAST + "max_cost = -3", "`max_cost` must be at least 0"),
        (LEAST + "concurrency = 0", "`concurrency` must be at least 1"),
        (LEAST + "runs = 0", "`runs` must be a number from 1"),
        (LEAST + 'confirm = "yes"', "`confirm` must be true or false"),
        (LEAST + 'logs = "some"', "`logs` must be one of all, failures, none"),
        (LEAST + 'groups = [["haiku"]]', "org/model is in no group"),
        (LEAST + 'groups = [["haiku", "org/model"], ["haiku"]]', "haiku is in more than one group"),
        (LEAST + 'groups = [["haiko", "org/model"]]', "names haiko, which is not in `students`; did you mean `haiku`?"),
        (LEAST + "[limits.haiko]\nrequests_per_minute = 1", "did you mean `haiku`?"),
        (LEAST + "[limits.haiku]\nrequests_per_minutes = 1", "did you mean `requests_per_minute`?"),
        (LEAST + "[limits.haiku]\nrequests_per_minute = 0", "must be a number above 0"),
        (LEAST + "[limits]\nhaiku = 3", "must be a table"),
        ('format = "upskill.sweep/1"\nskills = []\nstudents = ["a"]', "`skills` must be a list of names"),
        ('format = "upskill.sweep/1"\nskills = ["a"]\nstudents = "haiku"', "`students` must be a list of names"),
        ("format = ", "is not TOML"),
    ],
)
def test_a_mistake_is_named_with_what_to_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UpskillError) as error:
        _read(tmp_path, text)
    assert said in f"{error.value.message}; {error.value.hint}"


def test_a_wrong_setting_is_blamed_on_the_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"sweep\.toml: `temperature` must be between 0 and 2"):
        _read(tmp_path, LEAST + "temperature = 3")


def _skill(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("x")
    return folder


def test_patterns_name_folders_beside_the_manifest(tmp_path: Path) -> None:
    for name in ("registry/b", "registry/a", "deep/er/c", "registry/.hidden"):
        _skill(tmp_path / name)
    (tmp_path / "registry" / "no-skill").mkdir()
    (tmp_path / "deep" / "er" / "c" / "references").mkdir()
    (tmp_path / "registry" / "README.md").write_text("x")
    text = LEAST.replace('"registry/*/"', '"registry/*/", "registry/a", "deep/**/", "registry/*/SKILL.md"')
    listed = listed_skills(_read(tmp_path, text))
    # A folder without SKILL.md is refused by name later; below ** it is just a folder.
    assert [one.skill for one in listed] == ["registry/a", "registry/b", "registry/no-skill", "deep/er/c"]
    assert listed[0].folder == tmp_path / "registry" / "a"


def test_a_list_names_skills_with_their_cases_and_digests(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "all.jsonl").write_text(
        '{"skill": "../registry/a", "cases": "a.json", "digest": "abc"}\n\n{"skill": "b"}\n'
    )
    one, other = listed_skills(_read(tmp_path, LEAST.replace('["registry/*/"]', '"lists/all.jsonl"')))
    assert (one.skill, one.digest) == ("registry/a", "abc")
    assert one.case_file == tmp_path / "lists" / "a.json"
    assert (other.skill, other.case_file, other.digest) == ("lists/b", None, None)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[]", "must be an object"),
        ("{", "it is not JSON"),
        ('{"skill": "a", "case": "b"}', "no key `case`"),
        ('{"skill": "a", "cases": 3}', "`cases` must be a text"),
    ],
)
def test_a_mistake_in_a_list_is_named_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "all.jsonl").write_text(f'{{"skill": "a"}}\n{line}\n')
    with pytest.raises(UpskillError, match=r"all\.jsonl: line 2: ") as error:
        listed_skills(_read(tmp_path, LEAST.replace('["registry/*/"]', '"all.jsonl"')))
    assert said in error.value.message


@pytest.mark.parametrize("pattern", ["nowhere/*/", "nowhere"])
def test_a_pattern_without_a_skill_is_an_error(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(UpskillError, match="nowhere"):
        listed_skills(_read(tmp_path, LEAST.replace("registry/*/", pattern)))
