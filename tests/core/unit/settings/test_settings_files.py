"""Which settings file is found, whose it is, and what it may set before it is trusted."""

import json
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from upskill.core.settings import resolve_settings, without_secrets
from upskill.core.settings.trust import (
    SettingsFile,
    demands_of,
    is_trusted,
    project_file,
    read_settings_file,
    revoke,
    trust,
    trusted_files,
)
from upskill.errors import SettingsError

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes as POSIX has them")
NOBODY = Path("/nonexistent")


def written(path: Path, text: str = "seed = 1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def found_from(folder: Path, *, home: Path = NOBODY) -> Path | None:
    folder.mkdir(parents=True, exist_ok=True)
    found = project_file(folder, home=home)
    return None if found is None else found.path


def read(path: Path) -> SettingsFile:
    found = read_settings_file(path)
    assert found is not None
    return found


# Where it is looked for


def test_outside_a_repository_and_the_home_only_the_folder_itself_is_looked_at(tmp_path: Path) -> None:
    above = written(tmp_path / "upskill.toml")
    assert found_from(tmp_path) == above
    assert found_from(tmp_path / "work") is None


@pytest.mark.parametrize("is_file", [False, True])
def test_a_repository_is_searched_up_to_its_root(tmp_path: Path, is_file: bool) -> None:
    written(tmp_path / "upskill.toml")
    repository = tmp_path / "repository"
    written(repository / ".git") if is_file else (repository / ".git").mkdir(parents=True)
    assert found_from(repository / "a" / "b", home=tmp_path) is None
    own = written(repository / "upskill.toml")
    assert found_from(repository / "a" / "b") == own
    nearer = written(repository / "a" / "pyproject.toml", "[tool.upskill]\nseed = 2")
    assert found_from(repository / "a" / "b") == nearer


def test_a_home_is_searched_up_to_itself(tmp_path: Path) -> None:
    written(tmp_path / "upskill.toml")
    assert found_from(tmp_path / "home" / "work", home=tmp_path / "home") is None
    own = written(tmp_path / "home" / "upskill.toml")
    assert found_from(tmp_path / "home" / "work", home=tmp_path / "home") == own


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only the superuser gives files away")
def test_a_repository_of_another_user_extends_no_search(tmp_path: Path) -> None:
    written(tmp_path / "upskill.toml")
    (tmp_path / ".git").mkdir()
    assert found_from(tmp_path / "work") == tmp_path / "upskill.toml"
    os.chown(tmp_path / ".git", 4242, 4242)
    assert found_from(tmp_path / "work") is None


# Whose it is


@needs_posix
def test_what_everybody_can_write_or_replace_is_nobodys_own(tmp_path: Path) -> None:
    path = written(tmp_path / "shared" / "upskill.toml")
    assert read(path).foreign is None
    path.chmod(0o646)
    assert read(path).foreign == "any user can write it"
    path.chmod(0o664)
    path.parent.chmod(0o777)
    assert read(path).foreign == "any user can replace it: its folder is writable by all"
    path.parent.chmod(0o1777)
    assert read(path).foreign is None
    path.chmod(0o646)
    with pytest.raises(SettingsError, match="is not used, because any user can write it"):
        resolve_settings(environment={}, folder=path.parent, user_folder=tmp_path)


def test_a_file_too_large_to_be_settings_is_not_read_on(tmp_path: Path) -> None:
    path = written(tmp_path / "upskill.toml", "#" * 1_000_001)
    with pytest.raises(SettingsError, match="larger than 1,000,000 bytes"):
        read_settings_file(path)


# What needs trust


def stopping(tmp_path: Path, values: Mapping[str, object], *, mine: Mapping[str, object] | None = None) -> list[str]:
    file = read(written(tmp_path / "upskill.toml"))
    return [one.name for one in demands_of(file, values, mine=mine or {}, folder=tmp_path) if one.stops]


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8080/v1",
        "https://localhost/v1",
        "http://127.0.0.1:11434/v1",
        "http://127.8.9.10/",
        "http://[::1]:8080/v1",
    ],
)
def test_a_server_on_this_machine_stops_nothing(tmp_path: Path, url: str) -> None:
    assert stopping(tmp_path, {"base_url": url, "teacher_base_url": url}) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://192.168.0.1/v1",
        "http://0.0.0.0:8080/v1",
        "http://localhost.example.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://127.0.0.1@example.com/v1",
        "http://127.0.0.1:80@example.com/v1",
        "http://127.0.0.1\\@example.com/v1",
        "http://example.com#@127.0.0.1/",
        "http://127.0.0.1/v1?to=example.com",
        "http://localhost:8080/v1\n",
        "//localhost/v1",
        "",
    ],
)
def test_every_other_url_does(tmp_path: Path, url: str) -> None:
    assert stopping(tmp_path, {"base_url": url}) == ["base_url"]


def test_caps_may_be_lowered_by_anybody_and_raised_by_nobody(tmp_path: Path) -> None:
    ordinary = {"max_cost": 5.0, "max_retries": 4, "max_turns": 3, "concurrency": 16, "max_output_tokens": 8192}
    assert stopping(tmp_path, ordinary) == []
    raised = {"max_cost": 5.1, "max_retries": 5, "max_turns": 31, "max_trial_tokens": 200_001, "max_trial_minutes": 11}
    assert stopping(tmp_path, raised) == list(raised)
    assert stopping(tmp_path, {"concurrency": 1_000, "max_output_tokens": 10**6}) == [
        "concurrency",
        "max_output_tokens",
    ]
    unlimited = {"max_calls": 10**6, "max_total_tokens": 10**9, "max_time_minutes": 10**4}
    assert stopping(tmp_path, unlimited) == []
    assert stopping(tmp_path, unlimited, mine=dict.fromkeys(unlimited, 10)) == list(unlimited)
    assert stopping(tmp_path, {"max_cost": 20.0}, mine={"max_cost": 20.0}) == []
    assert stopping(tmp_path, {"max_cost": 2.0}, mine={"max_cost": 1.0}) == ["max_cost"]


def test_files_are_written_within_the_project_only(tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside"
    assert stopping(tmp_path, {"runs_dir": "out/runs", "skills_dir": "a/../skills"}) == []
    assert stopping(tmp_path, {"ledger": "looks.jsonl"}) == ["ledger"]  # written within, but verdicts come from it
    assert stopping(tmp_path, {"runs_dir": str(tmp_path / "runs"), "teacher": "handoff/questions"}) == []
    leaving = {"runs_dir": "../runs", "skills_dir": "~/skills", "ledger": str(outside), "teacher": f"handoff/{outside}"}
    assert stopping(tmp_path, leaving) == list(leaving)
    assert stopping(tmp_path, {"models": ("a", " handoff/~/x"), "aliases": {"haiku": "handoff/.."}}) == [
        "models",
        "aliases",
    ]


@needs_posix
def test_a_link_in_the_project_leads_no_file_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to(tmp_path.parent)
    assert stopping(tmp_path, {"runs_dir": "runs"}) == ["runs_dir"]


def test_a_repository_in_the_home_is_the_project_and_the_home_itself_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / ".git").mkdir()
    file = read(written(tmp_path / "work" / "sub" / "upskill.toml"))
    assert file.root == tmp_path / "work" / "sub"
    (tmp_path / "work" / ".git").mkdir()
    assert file.root == tmp_path / "work"


def test_only_what_a_command_uses_needs_trust(tmp_path: Path) -> None:
    written(tmp_path / "project" / "upskill.toml", "max_cost = 50.0")
    resolve = partial(resolve_settings, folder=tmp_path / "project", user_folder=tmp_path / "user")
    assert resolve(environment={}, uses=["runs_dir"]).untrusted == {"max_cost"}
    with pytest.raises(SettingsError, match=r"max_cost = 50.0: above 5"):
        resolve(environment={})
    assert resolve(environment={"UPSKILL_MAX_COST": "60"}).untrusted == frozenset()
    assert resolve({"max_cost": 60.0}, environment={}).untrusted == frozenset()


# Trust


def test_trust_is_of_one_path_with_one_content(tmp_path: Path) -> None:
    path, user = written(tmp_path / "a" / "upskill.toml"), tmp_path / "user"
    other = written(tmp_path / "b" / "upskill.toml")

    def is_known(path: Path, **variables: str) -> bool:
        return is_trusted(read(path), environment=variables, user_folder=user)

    assert not is_known(path)
    trust(read(path), user)
    trust(read(path), user)
    assert is_known(path)
    assert not is_known(other)
    assert is_known(other, UPSKILL_TRUST=read(path).digest.upper())
    written(path, "seed = 2")
    assert not is_known(path)
    assert [one["path"] for one in trusted_files(user)] == [str(path)]
    assert revoke(path, user)
    assert not revoke(path, user)
    assert trusted_files(user) == []


@pytest.mark.parametrize("text", ["yes", "0" * 63, "g" * 64, f"sha256:{'0' * 64}"])
def test_the_variable_takes_digests_only(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "upskill.toml")
    with pytest.raises(SettingsError, match="is not a SHA-256 digest"):
        is_trusted(read(path), environment={"UPSKILL_TRUST": text}, user_folder=tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": [{}]}', '{"files": 3}', "\xff"])
def test_a_damaged_list_of_trusted_files_trusts_nothing_and_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "trusted.json").write_text(text, encoding="latin-1")
    with pytest.raises(SettingsError, match="cannot be read"):
        trusted_files(tmp_path)


def test_a_value_can_forge_no_line_of_what_is_shown(tmp_path: Path) -> None:
    file = read(written(tmp_path / "upskill.toml"))
    (one,) = demands_of(file, {"base_url": "http://a\n\x1b[2Ksha256: 0"}, mine={}, folder=tmp_path)
    assert str(one).isprintable()


# Secrets in URLs


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://me:pass@host/v1", "http://[hidden]@host/v1"),
        ("http://me:pa/ss@host/v1", "http://[hidden]@host/v1"),
        ("http://token@host/v1", "http://[hidden]@host/v1"),
        ("https://host/v1?key=pass", "https://host/v1?[hidden]"),
        ("me:pass@host", "[hidden]@host"),
        (json.dumps(["http://me:pass@host"]), '["http://[hidden]@host"]'),
        ("http://localhost:8080/v1", "http://localhost:8080/v1"),
    ],
)
def test_a_password_in_a_url_is_hidden(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


# Where it is written without being told


@pytest.mark.parametrize("name", ["runs_dir", "skills_dir"])
def test_a_link_out_of_the_project_is_not_written_through_unless_somebody_named_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: Literal["runs_dir", "skills_dir"]
) -> None:
    project, default = tmp_path / "project", name.removesuffix("_dir")
    (project / ".git").mkdir(parents=True)
    (project / "kept").mkdir()
    (tmp_path / "victim").mkdir()
    monkeypatch.chdir(project)
    settings = partial(resolve_settings, environment={}, user_folder=NOBODY)
    assert settings().place(name) == Path(default), "there is no such folder yet"
    (project / default).symlink_to("kept")
    assert settings().place(name) == Path(default), "the link stays in the project"
    (project / default).unlink()
    (project / default).symlink_to("../victim")
    with pytest.raises(SettingsError, match=f"{default}: is a link out of the project, to {tmp_path}/victim") as e:
        settings().place(name)
    how = {"runs_dir": "set UPSKILL_RUNS_DIR=", "skills_dir": "type -o "}[name]
    assert f"{how}{default};" in str(e.value.hint)
    typed = (settings({name: default}), settings(environment={f"UPSKILL_{name.upper()}": default}))
    for one in typed:
        assert one.place(name) == Path(default)
