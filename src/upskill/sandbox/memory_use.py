"""How much memory one sandbox uses, counted from outside: its processes, its files, the buffers of its sockets.

For where no control group counts. Nothing here asks anybody inside.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

PROC = Path("/proc")
ENTRY_BYTES = 2_048
"""What the kernel keeps for a file or folder, however empty: 1 to 1.6 KB were measured, more with a long name."""
DATAGRAMS = 12
"""How many messages wait in one datagram socket, each up to a whole buffer, also after their senders are gone."""
_OF_A_PROCESS = (b"VmRSS:", b"VmSwap:", b"VmPTE:", b"HugetlbPages:")
_OF_A_MAPPING = (b"Pss:", b"SwapPss:")


def in_files(places: Iterable[int]) -> int:
    """What lies in the memory file systems of these descriptors; removed files that are still open included."""
    total = 0
    for place in places:
        facts = os.fstatvfs(place)
        total += (facts.f_blocks - facts.f_bfree) * facts.f_frsize
        total += (facts.f_files - facts.f_ffree) * ENTRY_BYTES
    return total


def devices_of(places: Iterable[int]) -> frozenset[bytes]:
    """The file systems of these descriptors, as the kernel writes them in a list of mappings."""
    numbers = [os.fstat(place).st_dev for place in places]
    return frozenset(f"{os.major(number):02x}:{os.minor(number):02x}".encode() for number in numbers)


def in_sockets(process: int) -> int:
    """What the sockets in the network namespace of this process may hold, those that nobody has accepted included."""
    folder = PROC / str(process) / "net"
    if _lines(folder / "sockstat")[:1] in ([], [b"sockets: used 0"]):
        return 0
    total = 0
    for line in _lines(folder / "unix")[1:]:
        # A name with a line break makes more lines than there are sockets, to its owner's cost.
        total += _buffer_bytes() * (DATAGRAMS if line.split()[4:5] == [b"0002"] else 1)
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for line in _lines(folder / name)[1:]:
            sent, _, received = line.split()[4].partition(b":")
            total += 2 * (int(sent, 16) + int(received, 16))
    return total


def are_over(processes: Sequence[int], ceiling: int, *, devices: Collection[bytes]) -> bool:
    """Whether these processes together have more, without mapped files of these devices, which are counted as files.

    What is shared is counted in full at first; only above the ceiling come the fair and slower counts.
    """
    counts: tuple[Callable[[int], int], ...] = (
        _resident,
        _proportional,
        lambda process: _without(process, devices),
    )
    return all(sum(map(count, processes)) > ceiling for count in counts)


def _resident(process: int) -> int:
    return _sum_of(_lines(PROC / str(process) / "status"), _OF_A_PROCESS)


def _proportional(process: int) -> int:
    return _sum_of(_lines(PROC / str(process) / "smaps_rollup"), _OF_A_MAPPING) or _resident(process)


def _without(process: int, devices: Collection[bytes]) -> int:
    """A process that hides its mappings is counted in full."""
    lines = _lines(PROC / str(process) / "smaps")
    kept, of_files = [], False
    for line in lines:
        words = line.split(maxsplit=5)
        if len(words) > 3 and b"-" in words[0]:
            of_files = words[3] in devices
        elif not of_files:
            kept.append(line)
    return _sum_of(kept, _OF_A_MAPPING) if lines else _resident(process)


def _sum_of(lines: Iterable[bytes], names: tuple[bytes, ...]) -> int:
    return sum(int(line.split()[1]) * 1_024 for line in lines if line.startswith(names))


@cache
def _buffer_bytes() -> int:
    """The size of a socket's buffer, which the filter lets nobody change."""
    lines = _lines(PROC / "sys/net/core/wmem_default")
    return int(lines[0]) if lines else 212_992


def _lines(path: Path) -> Sequence[bytes]:
    """None for a process that has ended, or whose user hides it from us."""
    try:
        return path.read_bytes().splitlines()
    except OSError:
        return ()
