"""Run folders: never shared, always readable, listed even when damaged."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from made_runs import record
from upskill import disk
from upskill.core.nouns import Price, Student
from upskill.core.runs.records import CaseReference, SettingRecord, now, read_run
from upskill.core.runs.run_folders import create_run
from upskill.core.runs.run_summaries import runs_in
from upskill.errors import EngineError, UsageError

RECORD = record(
    cases=(CaseReference(id="c1", digest="e" * 64, prompt_digest="f" * 64),),
    students=(
        Student(name="haiku", model="anthropic/haiku", price=Price(input_per_million=1.0, output_per_million=5.0)),
        Student(name="local", model="openai-api/endpoint/local", endpoint="http://localhost:8080/v1"),
    ),
    settings={
        "models": SettingRecord(value=["haiku", "local"], origin="--model"),
        "aliases": SettingRecord(value={"a": "b"}, origin="upskill.toml"),
        "temperature": SettingRecord(value=None, origin="default"),
    },
    notes=("a note",),
    results={"schema": "upskill.eval/1", "students": [{"lift": 0.5}]},
)


def test_a_record_comes_back_equal(tmp_path: Path) -> None:
    run = create_run(tmp_path / "runs", skill_name="pdf-merge")
    run.write_record(RECORD)
    assert read_run(run.path) == RECORD


def test_settings_kept_as_tuples_are_written_as_lists(tmp_path: Path) -> None:
    run = create_run(tmp_path, skill_name="a")
    # `asdict` of the settings leaves tuples in them, which JSON does not have.
    setting = SettingRecord(value=("haiku",), origin="--model")  # type: ignore[arg-type]
    run.write_record(replace(RECORD, settings={"models": setting}))
    assert read_run(run.path).settings["models"].value == ["haiku"]


def test_a_run_folder_is_named_by_time_skill_and_a_short_id(tmp_path: Path) -> None:
    run = create_run(tmp_path / "runs", skill_name="pdf-merge")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-\d{6}-pdf-merge-[0-9a-f]{6}", run.path.name)
    assert run.logs.is_dir()
    assert run.trials.path == run.path / "trials.jsonl"


def test_runs_in_the_same_second_get_different_folders(tmp_path: Path) -> None:
    assert len({create_run(tmp_path, skill_name="a").path for _ in range(200)}) == 200


@pytest.mark.parametrize("name", ["../../etc", "/etc/passwd", "a/b", "..", "", "x" * 300, "C:\\x", "é"])
def test_a_run_folder_never_leaves_the_folder_of_runs(tmp_path: Path, name: str) -> None:
    run = create_run(tmp_path / "runs", skill_name=name)
    assert run.path.parent == tmp_path / "runs"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]


def test_runs_are_kept_out_of_version_control(tmp_path: Path) -> None:
    create_run(tmp_path / "runs", skill_name="a")
    assert (tmp_path / "runs" / ".gitignore").read_text().splitlines()[-1] == "*"


def test_a_gitignore_of_ones_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    create_run(tmp_path, skill_name="a")
    assert (tmp_path / ".gitignore").read_text() == "mine\n"


def test_a_place_where_no_run_can_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EngineError, match="a run folder cannot be created here") as caught:
        create_run(tmp_path / "file", skill_name="a")
    assert caught.value.hint == "name another folder with UPSKILL_RUNS_DIR"


def test_a_record_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    run = create_run(tmp_path, skill_name="a")
    run.write_record(RECORD)
    run.write_record(replace(RECORD, status="finished"))
    assert read_run(run.path).status == "finished"
    assert sorted(path.name for path in run.path.iterdir()) == ["logs", "run.json"]


def test_a_record_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    run = create_run(tmp_path, skill_name="a")
    run.write_record(RECORD)
    with pytest.raises(UnicodeEncodeError):
        disk.write(run.path / "run.json", "half \ud83d")
    assert read_run(run.path) == RECORD
    assert sorted(path.name for path in run.path.iterdir()) == ["logs", "run.json"]


def test_a_folder_that_vanished_is_explained(tmp_path: Path) -> None:
    run = create_run(tmp_path, skill_name="a")
    run.logs.rmdir()
    run.path.rmdir()
    with pytest.raises(EngineError, match="cannot be written"):
        run.write_record(RECORD)


def test_a_path_that_is_not_utf8_does_not_stop_the_run(tmp_path: Path) -> None:
    run = create_run(tmp_path, skill_name="a")
    run.write_record(replace(RECORD, case_source="caf\udce9.json", notes=("half \ud83d",)))
    assert read_run(run.path).case_source == "caf?.json"


def test_a_folder_without_a_record_is_not_a_run(tmp_path: Path) -> None:
    for folder, why in ((tmp_path, "not a run folder"), (tmp_path / "missing", "no such folder")):
        with pytest.raises(UsageError, match=why) as caught:
            read_run(folder)
        assert caught.value.hint == "list the runs with `upskill runs`"


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"started_at": 1}', b'{"format": "upskill.run/1"}'],
)
def test_a_damaged_record_is_explained(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "run.json").write_bytes(damage)
    with pytest.raises(EngineError, match=r"cannot be read as upskill\.run/1"):
        read_run(tmp_path)


def test_a_record_of_another_format_is_not_misread(tmp_path: Path) -> None:
    run = create_run(tmp_path, skill_name="a")
    run.write_record(replace(RECORD, format="upskill.run/2"))
    with pytest.raises(EngineError, match=r"has the format 'upskill\.run/2'"):
        read_run(run.path)


def test_keys_of_a_later_version_are_forgiven(tmp_path: Path) -> None:
    run = create_run(tmp_path, skill_name="a")
    run.write_record(RECORD)
    value = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**value, "later": 1}))
    assert read_run(run.path) == RECORD


def test_runs_are_listed_newest_first_damaged_ones_included(tmp_path: Path) -> None:
    for name, text in {"2026-01-02-a": "{}", "2026-01-03-b": "damaged", "2026-01-01-c": "{}"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(text)
    (tmp_path / "not-a-run").mkdir()
    (tmp_path / ".gitignore").write_text("*")
    assert [path.name for path in runs_in(tmp_path)] == ["2026-01-03-b", "2026-01-02-a", "2026-01-01-c"]


def test_no_folder_holds_no_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert list(runs_in(tmp_path / "missing")) == list(runs_in(tmp_path / "file")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="links as POSIX has them")
def test_a_record_that_is_a_loop_of_links_is_explained(tmp_path: Path) -> None:
    (tmp_path / "run.json").symlink_to("run.json")
    with pytest.raises(EngineError, match="cannot be read"):
        read_run(tmp_path)


def test_the_label_of_a_moment_carries_its_time_zone() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", now())
