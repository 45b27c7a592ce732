"""Logs of the engine are cleaned where they lie."""

import zipfile
from pathlib import Path

from upskill.storage import clean_logs


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
    assert notes[0].startswith("a.eval: cut short")
