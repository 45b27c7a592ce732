"""The traps that others fell into, each as a test. Traps 2 to 4 and 11 are in `test_controls`, 10 beside the init
process."""

import os
from dataclasses import replace

import pytest

from in_sandbox import Open
from sandbox.escapes.suite import run_probes
from upskill.sandbox import Limits, Sandbox, SandboxSpec
from upskill.sandbox.bubblewrap import open_bubblewrap
from upskill.sandbox.probes import SECRET_VARIABLE
from upskill.sandbox.profile import HARDENED


def test_trap_1_bubblewrap_itself_starts_with_an_empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--clearenv` cleans the command and not process 1: an init process that can be read must have nothing to show."""
    monkeypatch.setenv("UPSKILL_TRAP", "s3cret-of-the-parent")
    readable = HARDENED.init_process.replace(b"(PR_SET_DUMPABLE, 0)", b"(PR_SET_DUMPABLE, 1)")
    with open_bubblewrap(SandboxSpec(), recipe=replace(HARDENED, init_process=readable)) as sandbox:
        shown = sandbox.run(["sh", "-c", "cat /proc/1/environ; cat /proc/[0-9]*/environ"], seconds=20).stdout
    assert b"HOME=/home/agent" in shown
    assert b"s3cret" not in shown


def test_trap_1_the_bait_is_really_in_our_environment() -> None:
    seen = []

    def look(spec: SandboxSpec) -> Sandbox:
        seen.append(os.environ[SECRET_VARIABLE])
        return open_bubblewrap(spec)

    (result,) = run_probes(look, only={5})
    assert result.held
    assert seen
    assert SECRET_VARIABLE not in os.environ


def test_trap_5_and_9_a_sum_is_bounded_though_each_process_stays_under_its_own_limit(opened: Open) -> None:
    """Each process takes 60 MB of the 1 GiB it may have; together they pass 200 MB."""
    sandbox = opened(SandboxSpec(limits=Limits(memory_mb=200)))
    take = "content = bytearray(60 << 20); content[::4096] = b'x' * len(content[::4096]); import time; time.sleep({})"
    alone = sandbox.run(["python3", "-c", take.format(0)], seconds=20)
    assert (alone.ended, alone.exit_code) == ("exit", 0)
    script = f'for n in 1 2 3 4 5 6; do python3 -c "{take.format(20)}" & done; wait'
    assert sandbox.run(["sh", "-c", script], seconds=20).ended == "memory"


def test_trap_6_a_failing_command_and_a_failing_sandbox_are_told_apart(sandbox: Sandbox) -> None:
    """bubblewrap returns 1 for both; what it returns is not asked. See also the refusals of the command line."""
    ran = sandbox.run(["sh", "-c", "exit 1"], seconds=20)
    assert (ran.ended, ran.exit_code) == ("exit", 1)
    sandbox.close()
    assert sandbox.run(["sh", "-c", "exit 1"], seconds=20).ended == "gone"


LIMITS = """
import resource
kinds = ("AS", "CPU", "FSIZE", "NOFILE", "NPROC", "CORE")
for kind in kinds:
    print(kind, *resource.getrlimit(getattr(resource, "RLIMIT_" + kind)), flush=True)
"""


def test_trap_7_every_limit_is_really_set_soft_and_hard(opened: Open) -> None:
    limits = Limits(address_space_mb=512, cpu_seconds=7, file_mb=3, open_files=99, processes=33)
    said = opened(SandboxSpec(limits=limits)).run(["python3", "-c", LIMITS], seconds=20).stdout.decode().splitlines()
    assert said == [
        f"AS {512 << 20} {512 << 20}",
        "CPU 7 7",
        f"FSIZE {3 << 20} {3 << 20}",
        "NOFILE 99 99",
        "NPROC 33 33",
        "CORE 1 1",
    ]


def test_trap_8_the_root_holds_what_was_put_there_and_nothing_else(sandbox: Sandbox) -> None:
    names = set(sandbox.run(["ls", "-A", "/"], seconds=20).stdout.decode().split())
    system = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr"}
    assert names - system == {"dev", "etc", "home", "proc", "run", "tmp", "var", "workspace"}
    etc = set(sandbox.run(["ls", "-A", "/etc"], seconds=20).stdout.decode().split())
    assert etc <= {"alternatives", "group", "hosts", "ld.so.cache", "os-release", "passwd"}


def test_a_crash_leaves_no_core(sandbox: Sandbox) -> None:
    sandbox.run(["sh", "-c", "ulimit -c unlimited; kill -SEGV $$"], seconds=20)
    assert sandbox.take() == {}


def test_compilers_and_interpreters_run_inside(opened: Open) -> None:
    sandbox = opened(SandboxSpec(limits=Limits(tmp_mb=128)))
    sandbox.put({"a.py": b"import threading, subprocess, sqlite3\nprint(subprocess.check_output(['echo', 'hi']))\n"})
    assert sandbox.run(["python3", "a.py"], seconds=20).stdout == b"b'hi\\n'\n"
    script = (
        "t=$(printf 'b\\na\\n' | sort | tr -d '\\n'); echo $t; awk 'BEGIN{print 6*7}'; perl -e 'print qq(p\\n)' || true"
    )
    assert sandbox.run(["sh", "-c", script], seconds=20).stdout.startswith(b"ab\n42\n")


def test_what_one_command_used_up_is_not_held_against_the_next(opened: Open) -> None:
    sandbox = opened(SandboxSpec(limits=Limits(memory_mb=120)))
    hog = "content = [bytearray(b'x' * (20 << 20)) for _ in range(20)]"
    for _ in range(3):
        assert sandbox.run(["python3", "-c", hog], seconds=20).ended == "memory"
        assert sandbox.run(["sleep", "0.3"], seconds=20).ended == "exit"
