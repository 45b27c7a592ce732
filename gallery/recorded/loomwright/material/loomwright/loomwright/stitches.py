"""Registry of stitches, the `treadle` decorator and the built-in stitches."""

import inspect
import re
from collections import namedtuple
from pathlib import Path

from .errors import Snag

NAME = re.compile(r"[a-z]{3,8}[a-rt-z]")
PARAMETERS = ["reach", "tone", "pick"]
REGISTRY = {}
Stitch = namedtuple("Stitch", "name draw tone rank")


def treadle(name, *, tone="^", rank=55):
    """Decorator that registers `draw_<name>(reach, tone, pick)` as a stitch.

    A stitch replaces one of the same name only if its rank is higher.
    """
    def register(draw):
        if not NAME.fullmatch(name):
            raise Snag("LW33", name)
        given = list(inspect.signature(draw).parameters)
        if draw.__name__ != f"draw_{name}" or given != PARAMETERS:
            raise Snag("LW39", draw.__name__)
        if not 10 <= rank <= 80:
            raise Snag("LW41", str(rank))
        if not draw.__doc__:
            raise Snag("LW43", name)
        if name in REGISTRY and rank <= REGISTRY[name].rank:
            raise Snag("LW35", name)
        REGISTRY[name] = Stitch(name, draw, tone, rank)
        return draw
    return register


@treadle("tarn", tone="=", rank=20)
def draw_tarn(reach, tone, pick):
    """Draws the tone in every column."""
    return tone * reach


@treadle("sley", tone="+", rank=20)
def draw_sley(reach, tone, pick):
    """Draws tone and underscore in turn; even picks begin with the underscore."""
    pair = tone + "_" if pick % 2 else "_" + tone
    return (pair * reach)[:reach]


@treadle("knurl", tone="o", rank=20)
def draw_knurl(reach, tone, pick):
    """Draws two hyphens, then the tone, again and again."""
    return (f"--{tone}" * reach)[:reach]


@treadle("tally", tone="#", rank=20)
def draw_tally(reach, tone, pick):
    """Draws the last digit of the pick number, then the tone up to the end."""
    return str(pick % 10) + tone * (reach - 1)


BUILT_IN = dict(REGISTRY)  # built-in stitches stand above this line


def load_bobbins(folder):
    """Reset the registry, then load the bobbin files of a folder from Z to A."""
    REGISTRY.clear()
    REGISTRY.update(BUILT_IN)
    for path in sorted(Path(folder).glob("[!_]*.py"), reverse=True):
        if not path.name.endswith("_bobbin.py"):
            raise Snag("LW31", path.name)
        exec(compile(path.read_text("utf-8"), path, "exec"), {"__name__": path.stem})


def skeins(wound_only=False):
    """List the stitches, highest rank first; optionally only those from bobbins."""
    chosen = [stitch for stitch in REGISTRY.values()
              if not (wound_only and stitch is BUILT_IN.get(stitch.name))]
    chosen.sort(key=lambda stitch: (-stitch.rank, stitch.name))
    return [f"{stitch.rank} {stitch.name} {stitch.tone} "
            f"{stitch.draw.__doc__.splitlines()[0]}" for stitch in chosen]
