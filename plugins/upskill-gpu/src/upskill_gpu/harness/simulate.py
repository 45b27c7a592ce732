# mypy: ignore-errors
"""Runs inside the sandbox: launches the kernel of `kernel.py` on numba's simulator, as standard input says.

It decides nothing: it writes down what is in the arrays afterwards, or what went wrong. Three things of the simulator
are replaced. The threads of a block run one at a time, in an order drawn from a seed, up to the next barrier or their
end, so that the same kernel always does the same. Shared and local arrays begin as NaN, for every block anew. And every
access to an array is noted, so that two threads that use the same element without a barrier between them are a fault.
The simulator has no warps; `cuda.syncwarp` and the shuffles are added.
"""

import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import importlib.util
import json
import math
import random
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
from numba.cuda import types
from numba.cuda.np import numpy_support
from numba.cuda.simulator import kernel as simulator
from numba.cuda.simulator import kernelapi
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray, FakeWithinKernelCUDAArray

SHARED_BYTES = 49_152
MOST_ACCESSES = 150_000
LOCAL_BYTES = 65_536
LANES = 32
STALE = 77
"""What shared arrays hold, and keep, in a launch in which nothing can be written to them."""
DISCONNECTED = False
POISON = {"f": math.nan, "i": -77_777, "u": 77_777, "b": True}


class KernelFault(Exception):
    """The kernel did what no kernel may do."""


class Watcher:
    """Which thread used which element since the last barrier, and which block ever did."""

    def __init__(self):
        self.accesses = {}
        self.total = 0
        self.block = None
        self.since_barrier = {}
        self.of_block = {}
        self.by_blocks = {}
        self.owned = set()
        self.arguments = {}
        self.written = set()
        self.warp_barriers = {}

    def begin_block(self, block):
        self.block, self.since_barrier, self.of_block, self.warp_barriers = block, {}, {}, {}

    def barrier(self):
        self.since_barrier = {}

    def warp_barrier(self, warp):
        self.warp_barriers[warp] = self.warp_barriers.get(warp, 0) + 1

    def end_block(self):
        for address, (kinds, value) in self.of_block.items():
            theirs = self.by_blocks.setdefault(address, (set(), value))
            both = kinds | theirs[0]
            if theirs[0] and conflict(kinds, theirs[0]) and not (both == {"write"} and same(value, theirs[1])):
                raise KernelFault(f"block {self.block} and another one use the same element, and one of them writes it")
            theirs[0].update(kinds)

    def note(self, array, index, kind, value):
        thread = threading.current_thread()
        key = (self.block, thread.thread_id)
        self.accesses[key] = self.accesses.get(key, 0) + 1
        self.total += 1
        if self.total > MOST_ACCESSES:
            raise KernelFault(f"the kernel uses elements of arrays more than {MOST_ACCESSES} times in one launch")
        if getattr(thread, "atomic", False):
            kind = "atomic"
        address = address_of(array, index)
        if address not in self.owned:
            whole = array if array.base is None else array.base
            if kind != "read":
                self.written.add(id(whole))
            of_argument = self.arguments.setdefault(id(whole), (whole, {}))[1]
            of_argument.setdefault((self.block, thread.threadIdx.y, thread.threadIdx.x), []).append(address)
        warp = thread.thread_id // LANES
        me = (thread.thread_id, self.warp_barriers.get(warp, 0))
        users = self.since_barrier.setdefault(address, {})
        for (other, barriers), (kinds, written) in users.items():
            if other // LANES == warp and barriers != me[1]:
                continue
            if other != thread.thread_id and conflict({kind}, kinds):
                if kind == "write" and kinds == {"write"} and same(value, written):
                    continue
                low, high = sorted((other, thread.thread_id))
                raise KernelFault(
                    f"threads {low} and {high} of a block use the same element without a barrier between them, "
                    "and one of them writes it"
                )
        mine = users.setdefault(me, (set(), None))
        mine[0].add(kind)
        users[me] = (mine[0], value if kind == "write" else mine[1])
        if address not in self.owned:
            ours = self.of_block.setdefault(address, (set(), value))
            ours[0].add(kind)
            if kind == "write":
                self.of_block[address] = (ours[0], value)

    def uses(self):
        """Of each argument: its size, all uses, how many elements one thread uses at most, and what neighbours use."""
        return [
            {
                "size": whole.size,
                "written": id(whole) in self.written,
                "uses": sum(len(addresses) for addresses in by_thread.values()),
                "most": max(len(set(addresses)) for addresses in by_thread.values()),
                **beside(by_thread, whole.itemsize),
            }
            for whole, by_thread in self.arguments.values()
        ]


def beside(by_thread, itemsize):
    """How often threads that follow each other in x use an array, and how often elements that are beside each other."""
    pairs = [
        abs(one - other) == itemsize
        for (block, y, x), addresses in by_thread.items()
        for one, other in zip(addresses, by_thread.get((block, y, x + 1), ()), strict=False)
    ]
    return {"pairs": len(pairs), "beside": sum(pairs)}


def conflict(some, others):
    """Whether two uses of one element by different threads depend on their order."""
    both = some | others
    return both not in ({"read"}, {"atomic"})


def same(one, other):
    try:
        return bool(one == other) or bool(one != one and other != other)
    except ValueError:
        return False


def address_of(array, index):
    places = index if isinstance(index, tuple) else (index,)
    address = array.__array_interface__["data"][0]
    for place, size, stride in zip(places, array.shape, array.strides, strict=True):
        address += (int(place) + (size if place < 0 else 0)) * stride
    return address


WATCHER = Watcher()
plain_get = FakeCUDAArray.__getitem__
plain_set = FakeCUDAArray.__setitem__


def watched_get(self, index):
    array = self._item._ary
    found = plain_get(self._item, index)
    if isinstance(found, FakeCUDAArray):
        return FakeWithinKernelCUDAArray(found)
    WATCHER.note(array, index, "read", found)
    return found


def watched_set(self, index, value):
    array = self._item._ary
    places = index if isinstance(index, tuple) else (index,)
    if len(places) != array.ndim:
        raise KernelFault("the kernel assigns to a whole row at once")
    if DISCONNECTED and address_of(array, index) in WATCHER.owned:
        return
    plain_set(self._item, index, value)
    WATCHER.note(array, index, "write", array[index])


FakeWithinKernelCUDAArray.__getitem__ = watched_get
FakeWithinKernelCUDAArray.__setitem__ = watched_set


def poisoned(shape, dtype, most_bytes):
    if isinstance(dtype, types.Type):
        dtype = numpy_support.as_dtype(dtype)
    if math.prod(shape if isinstance(shape, tuple) else (shape,)) * dtype.itemsize > most_bytes:
        raise KernelFault(f"the kernel has an array of more than {most_bytes} bytes")
    array = np.empty(shape, dtype)
    array[...] = STALE if DISCONNECTED else POISON[array.dtype.kind]
    return array


class PoisonedShared(kernelapi.FakeCUDAShared):
    """Shared arrays, one per place in the source and block."""

    def array(self, shape, dtype, alignment=None):
        frame = sys._getframe(1)
        key = (WATCHER.block, frame.f_code.co_name, frame.f_lasti)
        found = self._allocations.get(key)
        if found is None:
            found = poisoned(shape, dtype, SHARED_BYTES)
            used = sum(one.nbytes for (block, *_), one in self._allocations.items() if block == WATCHER.block)
            if used + found.nbytes > SHARED_BYTES:
                raise KernelFault(f"the kernel uses more than {SHARED_BYTES} bytes of static shared memory")
            self._allocations[key] = found
            at = found.__array_interface__["data"][0]
            WATCHER.owned.update(range(at, at + found.nbytes, found.itemsize))
        return FakeWithinKernelCUDAArray(FakeCUDAArray(found))


class PoisonedLocal(kernelapi.FakeCUDALocal):
    """Arrays of one thread."""

    def array(self, shape, dtype, alignment=None):
        return poisoned(shape, dtype, LOCAL_BYTES)


kernelapi.FakeCUDAShared = PoisonedShared
kernelapi.FakeCUDALocal = PoisonedLocal


def atomic(method):
    def marked(self, *given):
        thread = threading.current_thread()
        thread.atomic = True
        try:
            return method(self, *given)
        finally:
            thread.atomic = False

    return marked


for name in ("add", "sub", "max", "min", "exch", "cas", "compare_and_swap", "inc", "dec", "and_", "or_", "xor"):
    setattr(kernelapi.FakeCUDAAtomic, name, atomic(getattr(kernelapi.FakeCUDAAtomic, name)))


def place():
    """Where in the kernel, and in which functions that it calls, the current thread is."""
    frame, found = sys._getframe(1), []
    while frame is not None:
        found.append((frame.f_code.co_name, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


class OneAtATime(simulator.BlockThread):
    """A thread of a block that runs only when it is its turn."""

    def __init__(self, *given):
        super().__init__(*given)
        self.turn = threading.Semaphore(0)
        self.ended = False
        self.waits_at = None
        self.offered, self.seen = None, {}
        self.warp, self.lane = divmod(self.thread_id, LANES)

    def run(self):
        self.turn.acquire()
        try:
            if not self.abort:
                super().run()
        finally:
            self.ended = True
            self._manager.handed_back.release()

    def wait(self, *barrier):
        self.waits_at = (*barrier, place())
        self._manager.handed_back.release()
        self.turn.acquire()
        if self.abort:
            raise KernelFault("another thread failed")

    def syncthreads(self):
        self.wait("block", None)

    def syncwarp(self, mask):
        self.wait("warp", self.in_mask(mask))

    def shuffled(self, mask, value, lane):
        """The value that another lane offers; what a lane that takes no part offers is not defined."""
        self.offered = value
        self.wait("shuffle", self.in_mask(mask))
        return self.seen[lane] if lane in self.seen else POISON[np.asarray(value).dtype.kind]

    def in_mask(self, mask):
        lanes = frozenset(lane for lane in range(LANES) if int(mask) >> lane & 1)
        if self.lane not in lanes:
            raise KernelFault(f"lane {self.lane} takes part in an operation of its warp, but is not in its mask")
        return lanes


class Turns(simulator.BlockManager):
    """Gives each thread of a block its turn, in an order drawn from a seed, from barrier to barrier."""

    def run(self, grid_point, *args):
        self.handed_back = threading.Semaphore(0)
        WATCHER.begin_block(tuple(int(one) for one in grid_point))

        def target():
            self._f(*args)

        threads = [OneAtATime(target, self, grid_point, point, self._debug) for point in np.ndindex(*self._block_dim)]
        for thread in threads:
            thread.start()
        try:
            while any(not thread.ended for thread in threads):
                ready = [thread for thread in threads if not thread.ended and thread.waits_at is None]
                ORDER.shuffle(ready)
                for thread in ready:
                    thread.turn.release()
                    self.handed_back.acquire()
                    if thread.exception:
                        raise thread.exception[0]
                let_go(threads)
            WATCHER.end_block()
        finally:
            for thread in threads:
                thread.abort = True
                if not thread.ended:
                    thread.turn.release()


def let_go(threads):
    """End the wait of each group of threads that are all at its barrier: the lanes of a mask, or the block."""
    waiting = [thread for thread in threads if not thread.ended]
    groups = {}
    for thread in waiting:
        kind, lanes, _ = thread.waits_at
        groups.setdefault((kind, lanes, None if kind == "block" else thread.warp), []).append(thread)
    gone = False
    for (kind, lanes, warp), group in groups.items():
        members = [one for one in threads if kind == "block" or (one.warp == warp and one.lane in lanes)]
        if len(group) < len(members):
            continue
        if len({one.waits_at for one in group}) > 1:
            raise KernelFault(
                "threads wait at different barriers for each other; every thread must reach every barrier"
            )
        if kind == "block":
            WATCHER.barrier()
        if kind == "warp":
            WATCHER.warp_barrier(warp)
        seen = {one.lane: one.offered for one in group}
        for one in group:
            one.seen, one.waits_at, gone = seen, None, True
    if waiting and not gone:
        raise KernelFault("some threads of a block end while others wait at a barrier, which every thread must reach")


class WithWarps(simulator.FakeCUDAModule):
    """What a kernel knows as `cuda`, with the operations of a warp."""

    def syncwarp(self, mask=0xFFFFFFFF):
        threading.current_thread().syncwarp(mask)

    def shfl_sync(self, mask, value, lane):
        return threading.current_thread().shuffled(mask, value, lane % LANES)

    def shfl_up_sync(self, mask, value, delta):
        thread = threading.current_thread()
        return thread.shuffled(mask, value, thread.lane - delta if thread.lane >= delta else thread.lane)

    def shfl_down_sync(self, mask, value, delta):
        thread = threading.current_thread()
        return thread.shuffled(mask, value, thread.lane + delta if thread.lane + delta < LANES else thread.lane)

    def shfl_xor_sync(self, mask, value, lanes):
        thread = threading.current_thread()
        return thread.shuffled(mask, value, thread.lane ^ lanes)


simulator.FakeCUDAModule = WithWarps
simulator.BlockManager = Turns
ORDER = random.Random(0)


def argument(given):
    if "scalar" in given:
        return int(given["scalar"]) if given["dtype"] == "int32" else np.dtype(given["dtype"]).type(given["scalar"])
    return np.array(given["values"], dtype=given["dtype"]).reshape(given["shape"])


def in_words(error):
    if isinstance(error, KernelFault):
        return str(error).rpartition("]: ")[2]
    return f"{type(error).__name__}: {error}"[:400]


def launched(kernel, launch):
    global WATCHER, ORDER, DISCONNECTED
    WATCHER, ORDER = Watcher(), random.Random(launch["seed"])
    DISCONNECTED = launch.get("disconnected", False)
    arguments = [argument(one) for one in launch["arguments"]]
    try:
        kernel[tuple(launch["grid"]), tuple(launch["block"])](*arguments)
    except Exception as error:  # noqa: BLE001 - what the kernel did, whatever it is, is what was seen
        return {"fault": in_words(error)}
    arrays = [one.ravel().tolist() if isinstance(one, np.ndarray) else None for one in arguments]
    return {"arrays": arrays, "accesses": sorted(WATCHER.accesses.values()), "uses": WATCHER.uses()}


def main():
    threading.stack_size(512 * 1024)
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    work = json.load(sys.stdin)
    spec = importlib.util.spec_from_file_location("kernel", "kernel.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        kernel = getattr(module, work["kernel"])
    except Exception as error:  # noqa: BLE001 - the same: it cannot be loaded
        results = {"fault": f"{type(error).__name__}: {error}"[:400]}
    else:
        if type(kernel) is not simulator.FakeCUDAKernel or kernel._device:
            results = {"fault": f"{work['kernel']} is not a kernel"}
        else:
            results = {"launches": [launched(kernel, one) for one in work["launches"]]}
    Path("result.json").write_text(json.dumps(results), encoding="utf-8")


main()
