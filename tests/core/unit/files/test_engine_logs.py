"""Logs of the engine: where a trial stands in them, and how they are cleaned where they lie."""

import zipfile
from pathlib import Path

from upskill.core.runs.engine_logs import LogSamples, clean_logs


def _log(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(f"{name}.json", text)
    return path


def _clean(text: str) -> str:
    return text.replace("hunter2", "[redacted: A_KEY]")


def test_only_a_log_that_holds_a_key_is_written_again(tmp_path: Path) -> None:
    sound = _log(tmp_path / "a.eval", header="{}", one="fine")
    before = sound.stat().st_mtime_ns, sound.stat().st_ino
    held = _log(tmp_path / "b.eval", header="{}", one="it was hunter2")
    assert clean_logs(tmp_path, _clean) == ()
    assert (sound.stat().st_mtime_ns, sound.stat().st_ino) == before
    with zipfile.ZipFile(held) as archive:
        assert archive.namelist() == ["header.json", "one.json"]
        assert archive.read("one.json") == b"it was [redacted: A_KEY]"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.eval", "b.eval"]


def test_a_log_that_was_cut_short_costs_a_note_and_not_the_run(tmp_path: Path) -> None:
    whole = _log(tmp_path / "a.eval", one="hunter2" * 1000).read_bytes()
    (tmp_path / "a.eval").write_bytes(whole[: len(whole) // 2])
    notes = clean_logs(tmp_path, _clean)
    assert len(notes) == 1
    assert notes[0].startswith("a.eval: incomplete")


def log(folder: Path, name: str, *samples: str) -> None:
    with zipfile.ZipFile(folder / name, "w") as opened:
        opened.writestr("_journal/start.json", "{}")
        for sample in samples:
            opened.writestr(f"samples/{sample}_epoch_1.json", "{}")


def test_a_sample_is_found_by_student_case_arm_and_repeat(tmp_path: Path) -> None:
    log(tmp_path, "2026_thing-1_abc.eval", "000001-port-baseline-1", "000002-port-with_skill-1")
    log(tmp_path, "2026_thing-2_def.eval", "000001-a_b-with_skill-3")
    samples = LogSamples(tmp_path, ["port", "a b"])
    assert samples.find(1, "port", "with_skill", 1) == ("2026_thing-1_abc.eval", "000002-port-with_skill-1")
    assert samples.find(2, "a b", "with_skill", 3) == ("2026_thing-2_def.eval", "000001-a_b-with_skill-3")
    assert samples.find(2, "port", "with_skill", 1) is None


def test_of_several_tries_the_last_is_found(tmp_path: Path) -> None:
    log(tmp_path, "2026-1_thing-1_abc.eval", "000001-port-baseline-1", "000009-port-baseline-1")
    log(tmp_path, "2026-2_thing-1_abc.eval", "000001-port-baseline-1")
    assert LogSamples(tmp_path, ["port"]).find(1, "port", "baseline", 1) == (
        "2026-2_thing-1_abc.eval",
        "000001-port-baseline-1",
    )


def test_cases_whose_names_cannot_be_told_apart_have_no_sample(tmp_path: Path) -> None:
    log(tmp_path, "2026_thing-1_abc.eval", "000001-a_b-baseline-1")
    samples = LogSamples(tmp_path, ["a b", "a/b", "c"])
    assert samples.find(1, "a b", "baseline", 1) is None


def test_a_log_without_its_end_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "2026_thing-1_abc.eval").write_bytes(b"PK\x03\x04 cut")
    assert LogSamples(tmp_path, ["port"]).find(1, "port", "baseline", 1) is None
    assert LogSamples(tmp_path / "gone", ["port"]).find(1, "port", "baseline", 1) is None
