"""The filter, run by a small machine of our own: what it decides for each call on each architecture."""

import errno
import re
import struct
from pathlib import Path

import pytest

from upskill.sandbox.profile import NEWEST, NOT_THERE, NUMBERS, UNUSED, WHOSE, compile_filter, supported

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
TABLE = Path(__file__).parent / "syscalls.txt"
GENERIC = Path("/usr/include/asm-generic/unistd.h")
INTEL = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")

BY_ARGUMENT = frozenset({"clone", "socket", "socketpair", "prlimit64", "ioctl", "setsockopt", *WHOSE})
"""Refused for some arguments only."""


def decide(program: bytes, *, architecture: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """Classic BPF as the kernel runs it: load, three kinds of jump, return."""
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("<iIQ6Q", number, architecture, 0, *padded)
    steps = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return int(value)
        else:
            met = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            at += if_true if met else if_false


def judge(machine: str, name: str, *arguments: int) -> int:
    number = NUMBERS[name][0 if machine == "x86_64" else 1]
    assert number is not None
    return decide(
        compile_filter(machine), architecture=ARCHITECTURES[machine], number=number, arguments=tuple(arguments)
    )


def numbers() -> dict[str, tuple[int | None, int | None]]:
    rows = [line.split() for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return {name: (None if one == "-" else int(one), None if two == "-" else int(two)) for name, one, two in rows}


def test_the_numbers_are_those_of_the_kernels_headers() -> None:
    assert dict(NUMBERS) == numbers()


@pytest.mark.parametrize(("header", "column"), [(INTEL, 0), (GENERIC, 1)])
def test_the_table_agrees_with_the_headers_of_this_machine(header: Path, column: int) -> None:
    if not header.exists():
        # The table was made from them; where they are not installed it stands for itself.
        return
    text = header.read_text()
    for name, known in numbers().items():
        found = re.search(rf"__NR(?:3264)?_{name}\s+(\d+)", text)
        assert known[column] == (int(found[1]) if found else None), name


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_what_is_refused_whole_is_refused_with_any_argument(machine: str) -> None:
    for name in set(NUMBERS) - BY_ARGUMENT - NOT_THERE:
        if NUMBERS[name][0 if machine == "x86_64" else 1] is not None:
            assert judge(machine, name, 1, 2, 3) == ERRNO | errno.EPERM, name
    for name in NOT_THERE:
        assert judge(machine, name) == ERRNO | errno.ENOSYS, name


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_ordinary_calls_go_through(machine: str) -> None:
    refused = {pair[0 if machine == "x86_64" else 1] for pair in NUMBERS.values()}
    for number in set(range(NEWEST + 1)) - set(range(*UNUSED[machine])) - refused:
        assert decide(compile_filter(machine), architecture=ARCHITECTURES[machine], number=number) == ALLOW, number


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_calls_that_nobody_has_judged_are_not_there(machine: str) -> None:
    program, architecture = compile_filter(machine), ARCHITECTURES[machine]
    for number in (*range(*UNUSED[machine]), *range(NEWEST + 1, 600), 0x3FFFFFFF):
        decided = decide(program, architecture=architecture, number=number)
        assert decided == ERRNO | errno.ENOSYS, number


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_nobody_takes_the_processor_from_process_1(machine: str) -> None:
    for name, whose in WHOSE.items():
        for who, decided in ((0, ALLOW), (1, ERRNO | errno.EPERM), (17, ALLOW)):
            arguments = [0, 0, 0]
            arguments[whose] = who
            assert judge(machine, name, *arguments) == decided, (name, who)
    assert judge(machine, "setpriority", 2, 0) == ERRNO | errno.EPERM
    assert judge(machine, "ioprio_set", 3, 0) == ERRNO | errno.EPERM


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_buffers_of_sockets_keep_their_size_and_other_options_are_set(machine: str) -> None:
    assert [judge(machine, "setsockopt", 3, 1, option) for option in (7, 8)] == [ERRNO, ERRNO]
    assert [judge(machine, "setsockopt", 3, *rest) for rest in ((1, 2), (1, 9), (6, 7), (6, 8))] == [ALLOW] * 4


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_threads_and_forks_may_be_made_and_namespaces_may_not(machine: str) -> None:
    assert judge(machine, "clone", 17) == ALLOW
    assert judge(machine, "clone", 0x003D0F00) == ALLOW
    for flag in (0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x02000000, 0x04000000, 0x08000000):
        assert judge(machine, "clone", flag | 17) == ERRNO | errno.EPERM, hex(flag)


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize("name", ["socket", "socketpair"])
def test_three_families_of_sockets(machine: str, name: str) -> None:
    allowed = {family for family in range(64) if judge(machine, name, family) == ALLOW}
    assert allowed == {1, 2, 10}
    assert judge(machine, name, 40) == ERRNO | errno.EAFNOSUPPORT


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_limits_of_oneself_and_requests_that_type_nothing(machine: str) -> None:
    assert judge(machine, "prlimit64", 0, 7) == ALLOW
    assert judge(machine, "prlimit64", 1, 7) == ERRNO | errno.EPERM
    assert judge(machine, "ioctl", 0, 0x5401) == ALLOW
    assert judge(machine, "ioctl", 0, 0x5412) == ERRNO | errno.EPERM
    # The kernel looks at the low half of a request only, and so does the filter.
    assert judge(machine, "ioctl", 0, 0x7_0000_5412) == ERRNO | errno.EPERM


def test_other_architectures_are_killed_and_x32_is_refused() -> None:
    for machine in ARCHITECTURES:
        assert decide(compile_filter(machine), architecture=0x40000003, number=0) == KILL
    program = compile_filter("x86_64")
    assert decide(program, architecture=ARCHITECTURES["x86_64"], number=0x40000000 | 1) == ERRNO | errno.EPERM
    assert not supported("riscv64")
    with pytest.raises(KeyError):
        compile_filter("riscv64")
