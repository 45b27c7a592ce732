"""The host's end of the line: an init process that lies, says too much or nothing at all."""

import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.sandbox import FileRefused, Limits, SandboxGone
from upskill.sandbox.init_process.files import pack, unpack
from upskill.sandbox.wire import (
    Wire,
    WireLost,
    WireSilent,
    check_name,
    command_result,
    expect_ok,
    put_request,
    taken_files,
)


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Wire(ours), theirs


@given(st.lists(st.binary(max_size=200)))
def test_fields_come_out_as_they_went_in(fields: list[bytes]) -> None:
    assert unpack(pack(fields)[4:]) == fields


@given(st.binary(max_size=60))
def test_damaged_frames_are_fields_or_an_error_and_never_more_than_was_sent(body: bytes) -> None:
    try:
        fields = unpack(body)
    except ValueError:
        return
    assert sum(len(field) + 4 for field in fields) == len(body)


def test_an_answer_that_announces_too_much_is_not_waited_for(ends: tuple[Wire, socket.socket]) -> None:
    line, init_process = ends
    init_process.sendall(b"\xff\xff\xff\x7f")
    with pytest.raises(WireLost, match="2147483647 bytes"):
        line.answer(time.monotonic() + 5, 1000)


def test_silence_and_half_an_answer_end_at_the_deadline(ends: tuple[Wire, socket.socket]) -> None:
    line, init_process = ends
    init_process.sendall(pack([b"ok", b"x" * 100])[:50])
    started = time.monotonic()
    with pytest.raises(WireSilent):
        line.answer(time.monotonic() + 0.2, 1000)
    assert time.monotonic() - started < 3


def test_a_line_that_nobody_reads_ends_at_the_deadline(ends: tuple[Wire, socket.socket]) -> None:
    line, _ = ends
    with pytest.raises(WireSilent):
        line.ask([b"put", b"x" * 10_000_000], seconds=0.2, most_bytes=0)


def test_a_cut_line_and_nonsense_are_lost(ends: tuple[Wire, socket.socket]) -> None:
    line, init_process = ends
    init_process.sendall(pack([]))
    with pytest.raises(WireLost, match="empty"):
        line.answer(time.monotonic() + 5, 1000)
    init_process.close()
    with pytest.raises(WireLost):
        line.answer(time.monotonic() + 5, 1000)


LIMITS = Limits(output_bytes=10)


@pytest.mark.parametrize(
    "answer",
    [
        [b"ran"],
        [b"ok"],
        [b"fault", b"MemoryError"],
        [b"ran", b"won", b"0", b"", b"", b"1"],
        [b"ran", b"exit", b"zero", b"", b"", b"1"],
        [b"ran", b"exit", b"", b"", b"", b"1"],
        [b"ran", b"exit", b"0", b"", b"", b"soon"],
        [b"ran", b"exit", b"0", b"x" * 6, b"y" * 5, b"1"],
    ],
)
def test_what_is_no_account_of_a_run_is_no_run(answer: list[bytes]) -> None:
    with pytest.raises(WireLost):
        command_result(answer, LIMITS)


def test_a_code_counts_only_for_a_command_that_ended_by_itself() -> None:
    told = command_result([b"ran", b"timeout", b"0", b"a", b"b", b"1.5"], LIMITS)
    assert (told.ended, told.exit_code, told.stdout, told.seconds) == ("timeout", None, b"a", 1.5)


@pytest.mark.parametrize("name", [b"/etc/passwd", b"../x", b"a/../../x", b"a//b", b"./a", b"a/", b"", b"a\0b"])
def test_files_with_names_that_lead_elsewhere_are_not_taken(name: bytes) -> None:
    with pytest.raises(WireLost):
        taken_files([name, b"content"], most_files=10, most_bytes=100)


def test_more_than_was_asked_for_is_not_taken() -> None:
    with pytest.raises(WireLost):
        taken_files([b"a", b"1", b"b", b"2"], most_files=1, most_bytes=100)
    with pytest.raises(WireLost):
        taken_files([b"a", b"x" * 101], most_files=1, most_bytes=100)
    with pytest.raises(WireLost):
        taken_files([b"a"], most_files=1, most_bytes=100)


@pytest.mark.parametrize("name", ["", "..", "a/../b", "a/", "a\0b"])
def test_names_that_are_no_plain_path_are_refused_before_they_are_sent(name: str) -> None:
    with pytest.raises(FileRefused):
        check_name(name)
    with pytest.raises(FileRefused):
        put_request({name: b""}, ())


def test_refusals_and_faults_are_told_apart() -> None:
    with pytest.raises(FileRefused) as refusal:
        expect_ok([b"refused", b"a: is a directory", b"folder"], "read a")
    assert refusal.value.kind == "folder"
    with pytest.raises(FileNotFoundError):
        expect_ok([b"missing", b"a"], "read a")
    with pytest.raises(SandboxGone, match="could not read a: OSError"):
        expect_ok([b"fault", b"OSError"], "read a")
    with pytest.raises(WireLost):
        expect_ok([b"won"], "read a")
