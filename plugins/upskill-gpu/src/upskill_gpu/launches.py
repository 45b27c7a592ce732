"""What a kernel is launched with and what must be in its arrays afterwards. Values are drawn and computed out here."""

import math
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Number = float | int
Type = Literal["float32", "int32"]
GARBAGE: dict[Type, Number] = {"float32": math.nan, "int32": -77_777}
"""What an output holds before the launch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Array:
    """An argument with elements."""

    values: tuple[Number, ...]
    shape: tuple[int, ...]
    dtype: Type = "float32"

    def to_json(self) -> dict[str, object]:
        """As the program in the sandbox reads it."""
        return {"values": list(self.values), "shape": list(self.shape), "dtype": self.dtype}


@dataclass(frozen=True, kw_only=True, slots=True)
class Scalar:
    """An argument that is one number."""

    value: Number
    dtype: Type = "float32"

    def to_json(self) -> dict[str, object]:
        """As the program in the sandbox reads it."""
        return {"scalar": self.value, "dtype": self.dtype}


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """One launch: its arguments, and the values of those that the kernel writes."""

    label: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Array | Scalar, ...]
    writes: int
    """Which argument is the output."""
    expected: tuple[float, ...]
    relative: float = 2e-5
    absolute: float = 2e-6

    @property
    def threads(self) -> int:
        """How many threads there are in the whole grid."""
        return math.prod(self.grid) * math.prod(self.block)


def single(value: float) -> float:
    """The nearest number that a float32 can hold."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def vector(values: Sequence[Number], dtype: Type = "float32") -> Array:
    """An array with one dimension."""
    exact = tuple(values) if dtype == "int32" else tuple(single(value) for value in values)
    return Array(values=exact, shape=(len(exact),), dtype=dtype)


def matrix(rows: Sequence[Sequence[Number]]) -> Array:
    """An array with two dimensions."""
    return Array(values=tuple(single(value) for row in rows for value in row), shape=(len(rows), len(rows[0])))


def garbage(*shape: int, dtype: Type = "float32") -> Array:
    """An output before the launch."""
    return Array(values=(GARBAGE[dtype],) * math.prod(shape), shape=shape, dtype=dtype)


def rows_of(array: Array) -> list[list[float]]:
    """The rows of a matrix, as they are in float32."""
    width = array.shape[1]
    return [[float(value) for value in array.values[at : at + width]] for at in range(0, len(array.values), width)]


def draw(seed: int, count: int, low: float = -2.0, high: float = 2.0) -> list[float]:
    """Numbers that are the same every time."""
    random_numbers = random.Random(seed)
    return [single(random_numbers.uniform(low, high)) for _ in range(count)]


def draw_rows(seed: int, rows: int, width: int, low: float = -2.0, high: float = 2.0) -> list[list[float]]:
    """Rows of such numbers."""
    numbers = draw(seed, rows * width, low, high)
    return [numbers[at : at + width] for at in range(0, rows * width, width)]
