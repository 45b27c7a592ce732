"""What every backend promises: commands, files, ends. The same tests with bubblewrap, podman and nothing."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from sandbox.escapes.scenes import processes_named
from upskill.sandbox import (
    Backend,
    FileRefused,
    Limits,
    Sandbox,
    SandboxGone,
    SandboxSpec,
    SandboxUnavailable,
    describe_sandbox,
    open_sandbox,
    require_sandbox,
)

FURNISHED = SandboxSpec(
    limits=Limits(memory_mb=300, output_bytes=100_000, file_mb=16),
    read_only={"/skill/SKILL.md": b"Say so.\n", "/skill/scripts/say": b"#!/bin/sh\necho said $1\n"},
    executable=frozenset({"/skill/scripts/say"}),
)


@pytest.fixture(params=["bubblewrap", "podman", "none"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    if request.param == "podman":
        request.getfixturevalue("podman")
    with open_sandbox(FURNISHED, backend=cast(Backend, request.param), scratch=tmp_path) as sandbox:
        yield sandbox


def test_a_command_has_streams_a_code_and_an_environment_of_its_own(place: Sandbox) -> None:
    ran = place.run(
        ["sh", "-c", 'cat; echo "$WORD" >&2; exit 7'], seconds=20, stdin=b"in\n", environment={"WORD": "an ü"}
    )
    assert (ran.ended, ran.exit_code, ran.stdout, ran.stderr) == ("exit", 7, b"in\n", "an ü\n".encode())


def test_a_missing_program_is_an_exit_and_not_a_fault(place: Sandbox) -> None:
    ran = place.run(["no-such-program"], seconds=20)
    assert (ran.ended, ran.exit_code) == ("exit", 127)
    assert b"no-such-program" in ran.stderr


def test_a_missing_folder_is_said(place: Sandbox) -> None:
    ran = place.run(["true"], seconds=20, folder="/workspace/nowhere")
    assert (ran.ended, ran.exit_code) == ("exit", 126)
    assert b"nowhere: No such file or directory" in ran.stderr


def test_death_by_signal_is_a_negative_code(place: Sandbox) -> None:
    assert place.run(["sh", "-c", "kill -SEGV $$"], seconds=20).exit_code == -11


def test_large_input_goes_through_and_unread_input_hurts_nobody(place: Sandbox) -> None:
    content = b"x" * 3_000_000
    assert place.run(["wc", "-c"], seconds=20, stdin=content).stdout.strip() == b"3000000"
    assert place.run(["true"], seconds=20, stdin=content).exit_code == 0


def test_files_go_in_and_come_out(place: Sandbox) -> None:
    place.put({"a/b.txt": b"one", "tool": b"#!/bin/sh\necho ran\n"}, executable=["tool"])
    place.put({"a/b.txt": b"two"})
    assert place.read("a/b.txt") == b"two"
    assert place.run(["./tool"], seconds=20).stdout == b"ran\n"
    assert place.take() == {"a/b.txt": b"two", "tool": b"#!/bin/sh\necho ran\n"}


def test_what_its_spec_asks_for_is_there(place: Sandbox) -> None:
    assert place.read("/skill/SKILL.md") == b"Say so.\n"
    assert place.run([place.where("/skill/scripts/say"), "hi"], seconds=20).stdout == b"said hi\n"


def test_links_pipes_and_second_names_are_refused(place: Sandbox) -> None:
    script = (
        "echo x > plain; ln -s plain link; ln plain hard; mkfifo pipe; mkdir real; echo d > real/d; ln -s real away"
    )
    place.run(["sh", "-c", script], seconds=20)
    for path in ("link", "hard", "pipe", "away/d", "real", "../escape", "a/../../b"):
        with pytest.raises(FileRefused):
            place.read(path)
    with pytest.raises(FileNotFoundError):
        place.read("none")
    assert place.take() == {"real/d": b"d\n"}


def test_put_replaces_a_link_and_never_follows_it(place: Sandbox) -> None:
    place.run(["sh", "-c", "echo keep > target; ln -s target answer; mkfifo pipe"], seconds=20)
    place.put({"answer": b"new", "pipe": b"file"})
    assert place.take() == {"target": b"keep\n", "answer": b"new", "pipe": b"file"}


def test_put_does_not_go_through_a_linked_folder(place: Sandbox) -> None:
    place.run(["sh", "-c", "mkdir real; ln -s real away"], seconds=20)
    with pytest.raises(FileRefused, match="goes through a link"):
        place.put({"away/x": b"1"})


def test_too_many_or_too_large_is_refused_and_the_sandbox_lives(place: Sandbox) -> None:
    place.run(["sh", "-c", "for n in 1 2 3; do echo $n > f$n; done; head -c 5000 /dev/zero > big"], seconds=20)
    with pytest.raises(FileRefused, match="more than 3 files"):
        place.take(most_files=3)
    with pytest.raises(FileRefused, match="4000"):
        place.take(most_bytes=4000)
    with pytest.raises(FileRefused, match="5000 bytes, more than 4999"):
        place.read("big", most_bytes=4999)
    assert len(place.take()) == 4


def test_locked_files_are_taken_all_the_same(place: Sandbox) -> None:
    place.run(["sh", "-c", "mkdir d; echo x > d/f; chmod 000 d/f d; echo y > g; chmod 000 g; chmod 000 ."], seconds=20)
    assert place.take() == {"d/f": b"x\n", "g": b"y\n"}


def test_time_is_up_after_the_limit_and_nobody_is_left(place: Sandbox, marker: str) -> None:
    script = f"(setsid sleep {marker} &); nohup sleep {marker} >/dev/null 2>&1 & echo before; sleep {marker}"
    started = time.monotonic()
    ran = place.run(["sh", "-c", script], seconds=1)
    assert ran.ended == "timeout"
    assert ran.exit_code is None
    assert ran.stdout == b"before\n"
    assert 1 <= time.monotonic() - started < 15
    assert processes_named(marker) == []
    assert place.run(["echo", "alive"], seconds=20).stdout == b"alive\n"


def test_output_is_cut_over_both_streams_together(place: Sandbox) -> None:
    ran = place.run(["sh", "-c", "yes & yes >&2"], seconds=20)
    assert ran.ended == "output"
    assert 0 < len(ran.stdout) + len(ran.stderr) <= 100_000
    exact = place.run(["head", "-c", "100000", "/dev/zero"], seconds=20)
    assert (exact.ended, len(exact.stdout)) == ("exit", 100_000)


def test_a_background_process_that_holds_the_output_holds_nobody_up(place: Sandbox, marker: str) -> None:
    started = time.monotonic()
    ran = place.run(["sh", "-c", f"sleep {marker} & echo there"], seconds=20)
    assert (ran.ended, ran.stdout) == ("exit", b"there\n")
    assert time.monotonic() - started < 15
    assert processes_named(marker)
    place.close()


HOGS = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        content = bytearray(120 << 20)
        content[::4096] = b"x" * len(content[::4096])
        time.sleep(30)
        os._exit(0)
time.sleep(30)
"""


def test_memory_is_bounded_over_the_whole_tree_and_the_files_stay_where_there_is_a_control_group(
    place: Sandbox, request: pytest.FixtureRequest
) -> None:
    if describe_sandbox(request.node.callspec.params["place"]).memory_by == "process":
        return
    place.put({"kept": b"1"})
    ran = place.run(["python3", "-c", HOGS], seconds=25)
    assert ran.ended == "memory"
    assert ran.seconds < 20
    assert place.take() == {"kept": b"1"}


def test_one_command_after_the_other_from_many_threads(place: Sandbox) -> None:
    said: dict[int, bytes] = {}

    def ask(number: int) -> None:
        said[number] = place.run(["echo", str(number)], seconds=30).stdout

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {number: f"{number}\n".encode() for number in range(8)}


def test_stop_ends_the_command_from_another_thread_and_keeps_the_files(place: Sandbox, marker: str) -> None:
    place.put({"kept": b"1"})
    timer = threading.Timer(0.5, place.stop)
    timer.start()
    ran = place.run(["sleep", marker], seconds=30)
    assert ran.ended == "timeout"
    assert ran.seconds < 10
    assert place.take() == {"kept": b"1"}


def test_close_from_another_thread_ends_a_run_as_gone(place: Sandbox, marker: str) -> None:
    timer = threading.Timer(0.5, place.close)
    timer.start()
    assert place.run(["sleep", marker], seconds=30).ended == "gone"
    timer.join()


def test_closed_means_gone(place: Sandbox) -> None:
    place.close()
    place.close()
    assert place.run(["true"], seconds=1).ended == "gone"
    for call in (lambda: place.put({"a": b""}), lambda: place.read("a"), place.take):
        with pytest.raises(SandboxGone):
            call()


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_nonsense_times_are_refused_before_anything_runs(place: Sandbox, seconds: float) -> None:
    with pytest.raises(ValueError, match="cannot run for"):
        place.run(["true"], seconds=seconds)


def test_an_empty_command_and_zero_bytes_are_refused(place: Sandbox) -> None:
    with pytest.raises(ValueError, match="no command"):
        place.run([], seconds=1)
    with pytest.raises(ValueError, match="zero byte"):
        place.run(["echo", "a\0b"], seconds=1)


def test_without_confinement_nothing_is_left_of_the_folder(tmp_path: Path) -> None:
    with open_sandbox(backend="none", scratch=tmp_path) as place:
        place.put({"x": b"1"})
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_without_confinement_no_variable_of_ours_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY_OF_OURS", "s3cret")
    with open_sandbox(backend="none", scratch=tmp_path) as place:
        script = "env; cat /proc/$PPID/environ"
        assert b"s3cret" not in place.run(["sh", "-c", script], seconds=20).stdout


def test_no_confinement_needs_a_folder_to_work_in() -> None:
    with pytest.raises(SandboxUnavailable):
        open_sandbox(backend="none")


def test_what_confines_a_run_can_be_written_down() -> None:
    facts = require_sandbox("bubblewrap")
    assert facts.backend == "bubblewrap"
    assert facts.version is not None
    assert facts.profile is not None
    assert facts.probes == (1, 3, 4, 5, 6, 14, 33)
    assert require_sandbox("bubblewrap") is facts
    assert require_sandbox("none").probes == ()
