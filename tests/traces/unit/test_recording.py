"""A recording as a file: encodings, line ends, compression, sizes, and what is said of what is broken."""

import json
from pathlib import Path

import pytest
import zstandard

from upskill.errors import UsageError
from upskill.traces import recording
from upskill.traces.excerpt import cut, tidy
from upskill.traces.readers import detect, read_traces
from upskill.traces.recording import OBSERVED, SAID, Recording

LINE = json.dumps({"role": "user", "content": "Say so."})


def write(path: Path, content: str | bytes) -> Recording:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Recording(path)


def test_a_byte_order_mark_windows_line_ends_and_blank_lines_change_nothing(tmp_path: Path) -> None:
    found = write(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + f"{LINE}\r\n\r\n  \r\n{LINE}\r\n".encode())
    assert [number for number, _ in found.records()] == [1, 4]
    assert [record["role"] for _, record in found.records()] == ["user", "user"]
    assert found.bad_lines == 0


def test_a_last_line_that_is_cut_off_is_counted_once_and_named_by_its_number(tmp_path: Path) -> None:
    found = write(tmp_path / "a.jsonl", f'{LINE}\n{{"role": "us')
    for _ in range(2):
        assert len(list(found.records())) == 1
    assert (found.bad_lines, found.notes) == (1, ("a.jsonl:2: the last line is incomplete, skipped",))


def test_several_frames_of_zstandard_are_read_as_one(tmp_path: Path) -> None:
    frames = [zstandard.compress(f"{LINE}\n".encode()) for _ in range(3)]
    found = write(tmp_path / "a.jsonl.zst", b"".join(frames))
    assert len(list(found.records())) == 3
    assert found.size == 3 * (len(LINE) + 1)


def test_a_compressed_file_that_is_damaged_is_read_up_to_the_damage(tmp_path: Path) -> None:
    whole = zstandard.compress(f"{LINE}\n".encode())
    found = write(tmp_path / "a.jsonl.zst", whole + whole[:4] + b"\xff" * 40)
    assert len(list(found.records())) == 1
    assert found.notes == ("a.jsonl.zst: the compressed file is damaged; it was read up to the damage",)


def test_a_line_that_is_too_long_is_left_out_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "LONGEST_LINE", 1_000)
    found = write(tmp_path / "a.jsonl", f'{LINE}\n"{"x" * 5_000}"\n{LINE}\n')
    assert [number for number, _ in found.records()] == [1, 3]
    assert (found.bad_lines, found.notes) == (1, ("a.jsonl:2: longer than 0 MB, skipped",))


def test_a_document_that_is_too_large_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "LARGEST_DOCUMENT", 1_000)
    with pytest.raises(UsageError, match="one JSON document of more than"):
        detect(write(tmp_path / "a.json", json.dumps({"messages": ["x" * 2_000]}, indent=1)))


def test_what_unpacks_to_more_than_anyone_records_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "LARGEST_UNPACKED", 10_000)
    found = write(tmp_path / "a.jsonl.zst", zstandard.compress(f"{LINE}\n".encode() * 1_000))
    with pytest.raises(UsageError, match="unpacks to more than"):
        list(found.records())


@pytest.mark.parametrize("deep", [b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"a":' + b"9" * 1_000_000 + b"}"])
def test_a_million_brackets_are_one_broken_line(tmp_path: Path, deep: bytes) -> None:
    found = write(tmp_path / "a.jsonl", deep + f"\n{LINE}\n".encode())
    assert [number for number, _ in found.records()] == [2]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n \n\n", "is empty"),
        (b"\xff\xfea\x00", "UTF-16"),
        (b"SQLite format 3\x00", "a database"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"%PDF-1.7", "a PDF"),
        (b"PK\x03\x04 and no more", "a damaged archive"),
        (b"\x7fELF\x00\x01", "neither text nor a session"),
        (b'{"messages": [', "cannot be parsed"),
        (b'{"kind": 1}\n{"kind": 2, "n": 3}\n', "keys seen: kind, n"),
        (b'{"kind": 1}', "keys seen: kind"),
        (b"[1, 2, 3]", "cannot be parsed"),
    ],
)
def test_what_is_no_recording_is_refused_with_the_reason(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        read_traces(path)


def test_a_log_that_begins_with_a_bracket_is_text(tmp_path: Path) -> None:
    assert detect(write(tmp_path / "a.log", "[12:00:01] INFO begun\n[12:00:02] done\n")) == "text"


@pytest.mark.parametrize("opening", ["{{ title }}", "{{#if user}}", "{% extends 'base.html' %}", "{# a comment #}"])
def test_a_template_that_begins_with_a_brace_is_text(tmp_path: Path, opening: str) -> None:
    assert detect(write(tmp_path / "a.md", f'{opening}\n{{"type": "object"}}\n')) == "text"


def test_no_such_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.jsonl", Path("a\x00b")):
        with pytest.raises(UsageError, match="cannot be read"):
            read_traces(path)


def test_keys_that_look_like_content_are_not_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        detect(write(tmp_path / "a.jsonl", json.dumps({"my password is hunter2": 1, "kind": 2}) + "\n{}\n"))
    assert "hunter2" not in refused.value.message
    assert "kind" in refused.value.message


def test_secrets_are_taken_out_before_a_text_is_cut(tmp_path: Path) -> None:
    """A secret that lies across the cut must not leave half of itself on either side."""
    found = Recording(write(tmp_path / "a", "x").path, clean=lambda text: text.replace("hunter2", "[gone]"))
    kept = found.clean("a " * (OBSERVED // 4 - 1) + "hunter2" + " b" * OBSERVED)
    assert "hun" not in kept
    assert "a a [g" in kept


def test_outputs_of_very_large_recordings_are_cut_shorter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "WHOLE_OUTPUTS", 1_000)
    small, large = write(tmp_path / "a", "x" * 1_000), write(tmp_path / "b", "x" * 4_000)
    text = "word " * 10_000
    assert len(large.clean(text)) < len(small.clean(text)) / 3
    assert len(large.clean(text, limit=SAID)) > SAID


def test_notes_are_said_once_and_do_not_fill_the_screen(tmp_path: Path) -> None:
    found = write(tmp_path / "a.jsonl", "x")
    for line in range(1_000):
        found.note("odd", line=line)
        found.note("odd", line=0)
    assert len(found.notes) == 21
    assert found.notes[-1] == "and 980 more notes"


def test_a_cut_says_what_was_removed() -> None:
    assert cut("line\n" * 100, limit=20) == "line\nline\n\n[… 480 characters, 97 lines left out …]\nline\nline\n"
    assert cut("short", limit=20) == "short"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07text", "red text"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a\x00b\x07c\td\n", "abc\td\n"),
        ("half \ud800 pair", "half ? pair"),
        ("A" * 599, "A" * 599),
        (
            "see data:image/png;base64," + "QUJD" * 500 + "== there",
            "see [2,024 characters of encoded data left out] there",
        ),
    ],
)
def test_what_nobody_reads_is_dropped(text: str, kept: str) -> None:
    assert tidy(text) == kept
