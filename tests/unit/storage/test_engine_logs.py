"""Logs of the engine are cleaned where they lie."""

import subprocess
import sys
import zipfile
from importlib import import_module
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


def test_a_log_as_the_engine_packs_it_is_read_where_the_engine_was_not_loaded(tmp_path: Path) -> None:
    import_module("zipfile_zstd")  # teaches zipfile; the process below has to learn it by itself
    with zipfile.ZipFile(tmp_path / "a.eval", "w", 93) as archive:
        archive.writestr("one.json", "it was hunter2")
    code = (
        "import sys; from pathlib import Path; from upskill.storage import clean_logs;"
        "print(clean_logs(Path(sys.argv[1]), lambda text: text.replace('hunter2', 'gone')))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "()", done.stdout
    with zipfile.ZipFile(tmp_path / "a.eval") as archive:
        assert archive.read("one.json") == b"it was gone"
