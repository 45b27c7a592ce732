"""What a few packed kilobytes may cost: the size they unpack to, the time that takes, and what is said about it."""

import json
import struct
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
import zstandard

from upskill.errors import UsageError
from upskill.traces.readers import read_traces
from upskill.traces.recording import LEAST_ALLOWED, MEGABYTE, Recording

HEAD = b'{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/x"}}\n'


def _packed(path: Path, *parts: bytes, times: int) -> Path:
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as writer:
        writer.write(HEAD)
        for _ in range(times):
            for part in parts:
                writer.write(part)
    return path


def _log(path: Path, *samples: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.json", "{}")
        for number, sample in enumerate(samples):
            archive.writestr(f"samples/{number}.json", sample)
    return path


@pytest.mark.parametrize("part", [b" " * MEGABYTE, b"a" * MEGABYTE])
def test_a_small_file_that_unpacks_to_hundreds_of_megabytes_is_refused(tmp_path: Path, part: bytes) -> None:
    path = _packed(tmp_path / "a.jsonl.zst", part, times=400)
    assert path.stat().st_size < 40_000
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(UsageError) as caught:
        read_traces(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * MEGABYTE
    assert time.process_time() - began < 60
    assert str(path) in caught.value.message
    assert "the limit for a" in caught.value.message
    assert caught.value.hint == "if you trust its source, unpack it yourself and name the files inside"


def test_a_small_file_that_takes_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upskill.traces.recording.SECONDS", 0.05)
    path = _packed(tmp_path / "a.jsonl.zst", b'{"a":1}\n' * 1_000, times=1_000)
    with pytest.raises(UsageError, match="takes longer to read than 0 s, the limit for a compressed file of its size"):
        list(Recording(path).records())


def test_a_recording_that_packs_well_is_read(tmp_path: Path) -> None:
    said = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "x" * 900}]}}
    path = _packed(tmp_path / "a.jsonl.zst", json.dumps(said).encode() + b"\n", times=LEAST_ALLOWED // 1_100)
    assert path.stat().st_size * 500 < LEAST_ALLOWED
    assert len(list(Recording(path).records())) == LEAST_ALLOWED // 1_100 + 1


@pytest.mark.parametrize("part", [b"{},", b"[],", b"1,", b'"",'])
def test_a_sample_of_millions_of_values_is_left_out_and_the_error_says_so(tmp_path: Path, part: bytes) -> None:
    path = _log(tmp_path / "a.eval", b'{"messages":[' + part * (30 * MEGABYTE // len(part)) + b"1]}")
    tracemalloc.start()
    with pytest.raises(UsageError) as caught:
        read_traces(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * MEGABYTE
    assert caught.value.problems == ("a.eval: sample 1 unpacks to more than 16 MB, skipped",)


def test_samples_that_share_their_bytes_count_each_time(tmp_path: Path) -> None:
    """An archive may name the same bytes as often as it likes."""
    sample = json.dumps({"messages": [{"role": "user", "content": "a" * 9 * MEGABYTE}]}).encode()
    path = _log(tmp_path / "a.eval", sample)
    with zipfile.ZipFile(path) as archive:
        entry = archive.infolist()[1]
        start = archive.start_dir
    packed = path.read_bytes()[:start]
    names = [b"header.json", *(b"samples/%d.json" % number for number in range(50))]
    listed = b""
    for name in names:
        at = entry.header_offset if name != b"header.json" else 0
        size = entry.compress_size if name != b"header.json" else 4
        fields = (20, 20, 0, 8, 0, 0, zlib.crc32(sample), size, len(sample), len(name), 0, 0, 0, 0, 0, at)
        listed += struct.pack("<4s6H3I5H2I", b"PK\x01\x02", *fields) + name
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(names), len(names), len(listed), start, 0)
    path.write_bytes(packed + listed + end)
    with pytest.raises(UsageError, match="unpacks to more than 16 MB, the limit for a file of its size"):
        read_traces(path)


def test_a_document_of_millions_of_lists_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"[" + b"[]," * 4_000_001 + b"1]")
    with pytest.raises(UsageError, match="one JSON document of more than 4,000,000 lists and objects"):
        Recording(path).document()
