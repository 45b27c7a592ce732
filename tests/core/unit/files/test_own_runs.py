"""Your own runs are known by a seal; others are refused with a sentence that says how to trust them."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_runs import RECORD
from upskill.core.runs import own_runs
from upskill.core.runs.run_folders import RunFolder, create_run
from upskill.core.settings import ResolvedSettings, settings_from, user_settings_folder
from upskill.errors import UsageError


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("UPSKILL_TRUST", raising=False)
    return tmp_path / "config" / "upskill"


@pytest.fixture
def run(tmp_path: Path, config: Path) -> Path:
    folder = create_run(tmp_path / "runs", skill_name="tarn")
    folder.write_record(folder.sealed(RECORD))
    return folder.path


def change(run: Path, **values: Any) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, **values}))


def test_an_own_run_is_known_whatever_came_of_it(run: Path) -> None:
    assert own_runs.is_own_run(run)
    change(run, status="finished", notes=["a"], results={"x": 1}, finished_at="now")
    (run / "trials.jsonl").write_text("answers are data\n")
    assert own_runs.is_own_run(run)


def test_the_key_is_for_its_user_alone_and_is_made_once(run: Path, config: Path) -> None:
    key = config / own_runs.KEY_FILE
    assert key.stat().st_mode & 0o777 == 0o600
    assert config.stat().st_mode & 0o777 == 0o700
    before = key.read_bytes()
    assert own_runs.seal_of(run, "{}") is not None
    assert key.read_bytes() == before
    key.chmod(0o644)
    assert not own_runs.is_own_run(run), "others could have read it"
    assert "cannot be used" in str(own_runs.not_own(run))


def _changed_settings(run: Path) -> Path:
    settings = json.loads((run / "run.json").read_text())["settings"]
    change(run, settings={**settings, "base_url": {"value": "http://far/v1", "origin": "--base-url"}})
    return run


def _changed_plan(run: Path) -> Path:
    change(run, skill_source="../../other")
    return run


def _moved(run: Path) -> Path:
    return Path(shutil.move(run, run.parent.parent / run.name))


def _renamed(run: Path) -> Path:
    return run.rename(run.with_name("other"))


def _of_somebody_else(run: Path) -> Path:
    (user_settings_folder() / own_runs.KEY_FILE).write_text("ab" * 32)
    return run


def _without_a_key(run: Path) -> Path:
    (user_settings_folder() / own_runs.KEY_FILE).unlink()
    return run


def _without_a_seal(run: Path) -> Path:
    change(run, seal=None)
    return run


@pytest.mark.parametrize(
    "edit",
    [_changed_settings, _changed_plan, _moved, _renamed, _of_somebody_else, _without_a_key, _without_a_seal],
)
def test_any_other_run_is_refused_with_how_to_trust_it_until_it_is_trusted(edit: Any, run: Path) -> None:
    run = edit(run)
    assert not own_runs.is_own_run(run)
    refusal = own_runs.not_own(run)
    assert isinstance(refusal, UsageError)
    assert f"upskill trust {run}" in str(refusal.hint)
    own_runs.trust_run(run)
    assert own_runs.is_own_run(run)
    change(run, repeats=9)
    assert not own_runs.is_own_run(run), "trust is for a run as it is"


def test_trust_is_revoked(run: Path) -> None:
    assert own_runs.revoke_run(run)
    assert not own_runs.is_own_run(run)
    assert not own_runs.revoke_run(run)


def test_a_digest_in_a_variable_is_trust_wherever_the_run_lies(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = own_runs.run_digest(run)
    moved = _without_a_seal(_moved(run))
    assert own_runs.run_digest(moved) == digest
    monkeypatch.setenv("UPSKILL_TRUST", digest)
    assert own_runs.is_own_run(moved)
    change(moved, repeats=9)
    assert not own_runs.is_own_run(moved)


def test_without_a_place_for_the_key_a_run_has_no_seal_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    folder = create_run(tmp_path / "runs", skill_name="tarn")
    record = folder.sealed(RECORD)
    assert record.seal is None
    folder.write_record(record)
    assert not own_runs.is_own_run(folder.path)
    assert "there is no key of yours" in str(own_runs.not_own(folder.path))


def test_a_key_that_was_cleaned_out_of_a_record_does_not_break_its_seal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-" + "a1B2c3D4" * 5
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    folder: RunFolder = create_run(tmp_path / "runs", skill_name="tarn")
    folder.write_record(folder.sealed(replace(RECORD, skill_source=f"../{secret}")))
    assert secret not in (folder.path / "run.json").read_text()
    assert own_runs.is_own_run(folder.path)


def test_what_a_run_asks_for_is_listed_without_characters_that_hide_something(run: Path) -> None:
    change(run, sandbox={"backend": "none"}, skill_source="\x1b[2J../../x")
    lines = list(own_runs.asks_for(run))
    assert 'sandbox.backend = "none"' in lines
    assert not any("\x1b" in line for line in lines)


def _settings(where: str = "default", **values: object) -> ResolvedSettings:
    return settings_from(values, where=where)


def test_an_own_run_has_its_own_settings_and_the_caps_that_are_typed() -> None:
    recorded = _settings("--x", max_calls=9, max_cost=20.0, base_url="http://there:1/v1", models=("a", "b"))
    held = own_runs.resumed_settings(Path("runs/x"), recorded, _settings("upskill.toml", max_calls=4, concurrency=2))
    assert held.values == recorded.values
    typed = own_runs.resumed_settings(Path("runs/x"), recorded, _settings("--max-calls", max_calls=30, concurrency=1))
    assert (typed.values.max_calls, typed.values.concurrency, typed.values.max_cost) == (30, 1, 20.0)
    variable = own_runs.resumed_settings(Path("runs/x"), recorded, _settings("UPSKILL_MAX_CALLS", max_calls=50))
    assert variable.values.max_calls == 50, "a cap without an option is raised by its variable"
    assert own_runs.resumed_settings(Path("runs/x"), recorded, _settings("--model", models=("b",))).values.models == (
        "a",
        "b",
    )


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"models": ("c",)}, "was started with a, b, not with c"),
        ({"base_url": "http://else/v1"}, "was started with http://there:1/v1, not with http://else/v1"),
        ({"teacher": "opus"}, "was started without --it"),
    ],
)
def test_what_contradicts_a_run_is_refused(typed: dict[str, Any], said: str) -> None:
    recorded = _settings("--x", base_url="http://there:1/v1", models=("a", "b"))
    with pytest.raises(UsageError, match=said):
        own_runs.resumed_settings(Path("runs/x"), recorded, _settings("--it", **typed))


def test_an_address_with_a_password_is_typed_again() -> None:
    recorded = _settings("--base-url", base_url="http://[hidden]@there:1/v1")
    with pytest.raises(UsageError, match="had a password"):
        own_runs.resumed_settings(Path("runs/x"), recorded, _settings())
    whole = "http://me:secret@there:1/v1"
    held = own_runs.resumed_settings(Path("runs/x"), recorded, _settings("--base-url", base_url=whole))
    assert held.values.base_url == whole


def test_an_address_of_a_file_gets_no_key_unless_today_names_it_too() -> None:
    recorded = _settings("/p/upskill.toml", base_url="http://there:1/v1")
    held = own_runs.resumed_settings(Path("runs/x"), recorded, _settings())
    assert held.values.untyped["base_url"].keys is False
    typed = own_runs.resumed_settings(Path("runs/x"), _settings("--base-url", base_url="http://a:1/v1"), _settings())
    assert typed.values.untyped == {}


def test_settings_that_differ_are_named_and_caps_are_not() -> None:
    recorded = _settings("--x", base_url="http://there:1/v1", max_calls=9, concurrency=2)
    assert own_runs.differing_settings(recorded, _settings()) == ["base_url"]
    assert own_runs.differing_settings(recorded, _settings(base_url="http://there:1/v1/")) == []
    assert own_runs.differing_settings(recorded, _settings(), unused=("base_url",)) == []


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_key_that_is_a_link_is_not_used(run: Path, config: Path, tmp_path: Path) -> None:
    key = config / own_runs.KEY_FILE
    shutil.move(key, tmp_path / "key")
    key.symlink_to(tmp_path / "key")
    assert not own_runs.is_own_run(run)
