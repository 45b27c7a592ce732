"""Help and hurt stay apart for eyes that mix up red and green, and everything can be read on its paper."""

import math

import pytest

from upskill.report.dumbbell import DARK, LIGHT

DEUTERANOPIA = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
PROTANOPIA = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))
"""Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB."""
SRGB_TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)
APART = 40
"""In CIE76: 2.3 is just noticeable, and the former green and red came to less than this under deuteranopia."""

Colour = tuple[float, ...]
Matrix = tuple[Colour, ...]


def linear(colour: str) -> Colour:
    shares = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return tuple(one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)


def times(matrix: Matrix, colour: Colour) -> Colour:
    return tuple(sum(one * part for one, part in zip(row, colour, strict=True)) for row in matrix)


def lab(colour: Colour) -> Colour:
    clipped = tuple(min(1.0, max(0.0, one)) for one in colour)
    ratios = (one / white for one, white in zip(times(SRGB_TO_XYZ, clipped), WHITE, strict=True))
    x, y, z = (one ** (1 / 3) if one > 216 / 24389 else (24389 / 27 * one + 16) / 116 for one in ratios)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one: str, other: str, vision: Matrix) -> float:
    """How far apart two colours are for such eyes."""
    return math.dist(*(lab(times(vision, linear(colour))) for colour in (one, other)))


def contrast(one: str, other: str) -> float:
    light, dark = sorted(
        (sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear(c), strict=True)) for c in (one, other)),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("vision", [DEUTERANOPIA, PROTANOPIA], ids=["deuteranopia", "protanopia"])
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_help_and_hurt_stay_apart(colours: dict[str, str], vision: Matrix) -> None:
    assert difference(colours["good"], colours["bad"], vision) > APART
    assert difference("#19752f", "#c11f2b", vision) < APART, "the arithmetic must be able to fail"


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_what_is_not_clear_stays_apart_from_both(colours: dict[str, str]) -> None:
    assert difference(colours["unsure"], colours["good"], DEUTERANOPIA) > 20
    assert difference(colours["unsure"], colours["bad"], DEUTERANOPIA) > 20


@pytest.mark.parametrize("meaning", ["good", "bad", "unsure", "ink", "muted"])
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_stands_out_from_its_paper(colours: dict[str, str], meaning: str) -> None:
    assert contrast(colours[meaning], colours["paper"]) >= 3.0
