"""The tasks of `cuda-simulated`: for each a kernel's name, what it must use, and its launches with expected values.

The values are computed in double precision from the numbers that the kernel gets. Every task has inputs that break
almost-right kernels: one element, widths that no block divides, constant rows, large numbers, equal maxima.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from upskill_gpu.launches import Array, Launch, Scalar, draw, draw_rows, garbage, matrix, rows_of, single, vector

EPSILON = single(1e-6)
WIDE = 32
"""Threads of a block where the task says so."""
WIDEST = 4_100
"""Of a row; a little more than the arrays that kernels with a fixed width have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What is asked of a kernel."""

    kernel: str
    launches: Callable[[], tuple[Launch, ...]]
    uses: frozenset[str] = frozenset()
    """Calls that the task asks for by name."""
    combines: float = 32
    """How many accesses per thread of its block one thread may do beside its share of the elements: enough to combine
    what each thread of the block found, in shared memory."""
    most_uses: int | None = None
    """How often an element of an input may be read, on average, where the task asks for tiles of all inputs."""
    coalesced: bool = False
    """Whether the task asks that neighbouring threads use neighbouring elements."""


def _blocks(count: int, threads: int) -> int:
    return max(1, -(-count // threads))


def _scale_add() -> tuple[Launch, ...]:
    factor = single(1.7)
    made = []
    for count in (1, 31, 64, 100):
        x, y = draw(count, count), draw(count + 1, count)
        made.append(
            Launch(
                label=f"{count} elements",
                grid=(_blocks(count, WIDE),),
                block=(WIDE,),
                arguments=(Scalar(value=factor), vector(x), vector(y), garbage(count)),
                writes=3,
                expected=tuple(factor * one + other for one, other in zip(x, y, strict=True)),
            )
        )
    return tuple(made)


def _squared_relu() -> tuple[Launch, ...]:
    made = []
    for count in (1, 63, 64, 65, 500, 3_000):
        x = draw(7 * count, count)
        made.append(
            Launch(
                label=f"{count} elements",
                grid=(2,),
                block=(WIDE,),
                arguments=(vector(x), garbage(count)),
                writes=1,
                expected=tuple(max(one, 0.0) ** 2 for one in x),
            )
        )
    return tuple(made)


def _block_sums() -> tuple[Launch, ...]:
    made = []
    for count, threads in ((1, 32), (70, 32), (96, 48), (130, 48), (64, 64)):
        x = draw(3 * count, count)
        blocks = _blocks(count, threads)
        made.append(
            Launch(
                label=f"{count} elements in blocks of {threads}",
                grid=(blocks,),
                block=(threads,),
                arguments=(vector(x), garbage(blocks)),
                writes=1,
                expected=tuple(math.fsum(x[at * threads : (at + 1) * threads]) for at in range(blocks)),
                absolute=1e-5,
            )
        )
    return tuple(made)


def _histogram() -> tuple[Launch, ...]:
    bins = 16
    random_numbers = random.Random(16)
    inputs: tuple[tuple[str, list[int]], ...] = (
        ("one value", [15]),
        ("values from 0 to 15", [random_numbers.randrange(bins) for _ in range(150)]),
        ("equal values", [3] * 100),
        ("values outside of the bins", [random_numbers.randrange(-20, 40) for _ in range(120)]),
        ("only edges", [-1, 0, 15, 16] * 20),
        ("1,500 values", [random_numbers.randrange(bins) for _ in range(1_500)]),
    )
    made = []
    for label, values in inputs:
        before = [random_numbers.randrange(5) for _ in range(bins)]
        counts = [held + values.count(at) for at, held in enumerate(before)]
        made.append(
            Launch(
                label=label,
                grid=(3,),
                block=(WIDE,),
                arguments=(vector(values, "int32"), vector(before, "int32")),
                writes=1,
                expected=tuple(float(count) for count in counts),
                relative=0.0,
                absolute=0.0,
            )
        )
    return tuple(made)


def _row_inputs(seed: int) -> tuple[tuple[str, list[list[float]]], ...]:
    return (
        ("width 1", draw_rows(seed, 2, 1)),
        ("width 37", draw_rows(seed + 1, 3, 37)),
        ("width 64", draw_rows(seed + 2, 2, 64)),
        ("width 100", draw_rows(seed + 3, 2, 100, -5.0, 5.0)),
        (f"width {WIDEST}", draw_rows(seed + 4, 1, WIDEST)),
    )


def _rms_norm() -> tuple[Launch, ...]:
    inputs = (*_row_inputs(50), ("a row of zeros", [[0.0] * 37, *draw_rows(55, 1, 37)]), ("tiny", [[1e-4] * 33]))
    made = []
    for label, rows in inputs:
        x = matrix(rows)
        width = x.shape[1]
        weight = draw(56, width, 0.5, 1.5)
        expected = []
        for row in rows_of(x):
            scale = 1.0 / math.sqrt(math.fsum(value * value for value in row) / width + EPSILON)
            expected += [value * scale * gain for value, gain in zip(row, weight, strict=True)]
        made.append(_by_row(label, x, (vector(weight), Scalar(value=EPSILON)), expected))
    return tuple(made)


def _softmax() -> tuple[Launch, ...]:
    inputs = (
        *_row_inputs(60),
        ("numbers near 10,000", [[10_000.0 - value for value in range(37)]]),
        ("numbers near -10,000", [[-10_000.0 + value for value in range(40)], [-10_000.0] * 40]),
        ("equal numbers", [[3.0] * 45]),
        ("numbers from -5,000 to 5,000", draw_rows(65, 2, 61, -5_000.0, 5_000.0)),
    )
    made = []
    for label, rows in inputs:
        x = matrix(rows)
        expected: list[float] = []
        for row in rows_of(x):
            most = max(row)
            powers = [math.exp(value - most) for value in row]
            total = math.fsum(powers)
            expected += [power / total for power in powers]
        made.append(_by_row(label, x, (), expected))
    return tuple(made)


def _layer_norm_gelu() -> tuple[Launch, ...]:
    inputs = (
        *_row_inputs(70),
        ("a constant row", [[2.5] * 37, *draw_rows(74, 1, 37)]),
        ("a row far from zero", [[3_000.0 + value for value in draw(75, 50, -1.0, 1.0)]]),
        ("differences of one hundredth", [draw(78, 40, -0.01, 0.01)]),
    )
    epsilon = single(1e-5)
    made = []
    for label, rows in inputs:
        x = matrix(rows)
        width = x.shape[1]
        gain, bias = draw(76, width, 0.5, 1.5), draw(77, width, -1.0, 1.0)
        expected = []
        for row in rows_of(x):
            mean = math.fsum(row) / width
            scale = 1.0 / math.sqrt(math.fsum((value - mean) ** 2 for value in row) / width + epsilon)
            for value, times, plus in zip(row, gain, bias, strict=True):
                normal = (value - mean) * scale * times + plus
                expected.append(0.5 * normal * (1.0 + math.erf(normal / math.sqrt(2.0))))
        made.append(
            _by_row(label, x, (vector(gain), vector(bias), Scalar(value=epsilon)), expected, loose="far" in label)
        )
    return tuple(made)


def _row_argmax() -> tuple[Launch, ...]:
    inputs = (
        *_row_inputs(80),
        ("equal maxima", [[1.0, 5.0, 2.0] * 20, [4.0] * 60]),
        ("only negative numbers", [[-3.0 - abs(value) for value in draw(84, 41)]]),
        ("the last one", [[0.0] * 69 + [1.0]]),
        ("the last one of a wide row", [[0.0] * (WIDEST - 1) + [1.0]]),
    )
    made = []
    for label, rows in inputs:
        x = matrix(rows)
        expected = tuple(float(row.index(max(row))) for row in rows_of(x))
        made.append(
            Launch(
                label=label,
                grid=(len(rows),),
                block=(WIDE,),
                arguments=(x, garbage(len(rows), dtype="int32")),
                writes=1,
                expected=expected,
                relative=0.0,
                absolute=0.0,
            )
        )
    return tuple(made)


def _by_row(
    label: str, x: Array, between: tuple[Array | Scalar, ...], expected: Sequence[float], *, loose: bool = False
) -> Launch:
    return Launch(
        label=label,
        grid=(x.shape[0],),
        block=(WIDE,),
        arguments=(x, *between, garbage(*x.shape)),
        writes=1 + len(between),
        expected=tuple(expected),
        relative=5e-3 if loose else 5e-5,
        absolute=2e-3 if loose else 5e-6,
    )


def _transpose() -> tuple[Launch, ...]:
    made = []
    for rows, columns in ((1, 1), (8, 8), (13, 7), (5, 20)):
        x = matrix(draw_rows(rows * 100 + columns, rows, columns))
        turned = [value for column in zip(*rows_of(x), strict=True) for value in column]
        made.append(
            Launch(
                label=f"{rows} x {columns}",
                grid=(_blocks(columns, 8), _blocks(rows, 8)),
                block=(8, 8),
                arguments=(x, garbage(columns, rows)),
                writes=1,
                expected=tuple(turned),
            )
        )
    return tuple(made)


def _inclusive_scan() -> tuple[Launch, ...]:
    made = []
    for count in (1, 2, 37, 64):
        x = [float(round(10 * value)) for value in draw(90 + count, count)]
        made.append(
            Launch(
                label=f"{count} elements",
                grid=(1,),
                block=(64,),
                arguments=(vector(x), garbage(count)),
                writes=1,
                expected=tuple(math.fsum(x[: at + 1]) for at in range(count)),
            )
        )
    return tuple(made)


def _matmul() -> tuple[Launch, ...]:
    made = []
    for rows, inner, columns in ((8, 8, 8), (9, 13, 7), (1, 17, 3), (5, 1, 10)):
        a = matrix(draw_rows(rows + inner, rows, inner))
        b = matrix(draw_rows(inner + columns + 1, inner, columns))
        turned = list(zip(*rows_of(b), strict=True))
        made.append(
            Launch(
                label=f"{rows} x {inner} by {inner} x {columns}",
                grid=(_blocks(columns, 8), _blocks(rows, 8)),
                block=(8, 8),
                arguments=(a, b, garbage(rows, columns)),
                writes=2,
                expected=tuple(
                    math.fsum(x * y for x, y in zip(row, column, strict=True))
                    for row in rows_of(a)
                    for column in turned
                ),
                absolute=1e-5,
            )
        )
    return tuple(made)


def _moving_sum() -> tuple[Launch, ...]:
    made = []
    for count in (1, 2, 32, 33, 100):
        x = draw(30 + count, count)
        padded = [0.0, *x, 0.0]
        made.append(
            Launch(
                label=f"{count} elements",
                grid=(_blocks(count, WIDE),),
                block=(WIDE,),
                arguments=(vector(x), garbage(count)),
                writes=1,
                expected=tuple(math.fsum(padded[at : at + 3]) for at in range(count)),
            )
        )
    return tuple(made)


def _dot() -> tuple[Launch, ...]:
    made = []
    for count in (1, 64, 200, 2_000):
        x, y = draw(40 + count, count), draw(41 + count, count)
        made.append(
            Launch(
                label=f"{count} elements",
                grid=(2,),
                block=(WIDE,),
                arguments=(vector(x), vector(y), vector([0.0])),
                writes=2,
                expected=(math.fsum(one * other for one, other in zip(x, y, strict=True)),),
                absolute=1e-4,
            )
        )
    return tuple(made)


SHARED = frozenset({"cuda.shared.array"})
TASKS = {
    "scale-add": Task(kernel="scale_add", launches=_scale_add),
    "squared-relu": Task(kernel="squared_relu", launches=_squared_relu),
    "block-sums": Task(kernel="block_sums", launches=_block_sums, uses=SHARED),
    "dot": Task(kernel="dot", launches=_dot),
    "histogram": Task(kernel="histogram", launches=_histogram),
    "rms-norm": Task(kernel="rms_norm", launches=_rms_norm),
    "softmax": Task(kernel="softmax", launches=_softmax),
    "layer-norm-gelu": Task(kernel="layer_norm_gelu", launches=_layer_norm_gelu),
    "row-argmax": Task(kernel="row_argmax", launches=_row_argmax),
    "transpose": Task(kernel="transpose", launches=_transpose, uses=SHARED, combines=1, coalesced=True),
    "inclusive-scan": Task(kernel="inclusive_scan", launches=_inclusive_scan, uses=SHARED, combines=1.5),
    "matmul": Task(kernel="matmul", launches=_matmul, uses=SHARED, combines=8, most_uses=4),
    "moving-sum": Task(kernel="moving_sum", launches=_moving_sum, uses=SHARED),
}
