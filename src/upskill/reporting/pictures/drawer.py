"""Which pictures a result has, and the process that draws them: it is given the pictures, and gives drawings back."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from upskill.domain import Evaluation
from upskill.reporting.estimate_path import StudentPath
from upskill.reporting.pictures.cases import cases_picture
from upskill.reporting.pictures.cost import cost_picture
from upskill.reporting.pictures.lift import lift_picture
from upskill.reporting.pictures.path import path_picture
from upskill.reporting.pictures.picture import DrawnPicture, Picture, PictureFailed
from upskill.reporting.pictures.tokens import tokens_picture
from upskill.reporting.sufficient_students import ENOUGH
from upskill.reporting.token_change import TokenRatio

SECONDS = 120
"""Drawing takes one or two. What takes so much longer will not end."""
_NEEDED = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TEMP",
    "SYSTEMROOT",
    "LD_LIBRARY_PATH",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONDONTWRITEBYTECODE",
)
"""The process that draws sees no key."""
_NOT_FROM_HERE = ("-P",)
"""A module in the folder where the command was typed is somebody else's: it must not be loaded in place of ours."""


def asked_pictures(
    evaluation: Evaluation,
    *,
    paths: Sequence[StudentPath] = (),
    ratios: Sequence[TokenRatio] = (),
    enough: float = ENOUGH,
) -> tuple[Picture, ...]:
    """In the order in which they are looked at."""
    pictures = (
        lift_picture(evaluation),
        cost_picture(evaluation.students, enough=enough),
        tokens_picture(evaluation.students, ratios),
        path_picture(evaluation, paths),
        cases_picture(evaluation),
    )
    return tuple(picture for picture in pictures if picture is not None)


def draw(pictures: Sequence[Picture]) -> dict[str, DrawnPicture]:
    """Draw them in another process, by their names. Raises `PictureFailed`; nothing else comes out of it."""
    # A name may hold half a character, which has no UTF-8.
    asked = json.dumps([asdict(picture) for picture in pictures], ensure_ascii=False).encode("utf-8", "replace")
    try:
        done = subprocess.run(
            [sys.executable, *_NOT_FROM_HERE, "-m", "upskill.reporting.pictures.drawing"],
            input=asked,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={name: os.environ[name] for name in _NEEDED if name in os.environ},
        )
    except subprocess.TimeoutExpired:
        raise PictureFailed(f"drawing took more than {SECONDS} seconds") from None
    except OSError as error:
        raise PictureFailed(f"the drawing process could not be started ({error})") from None
    if done.returncode:
        raise PictureFailed(_reason(done.stderr, done.returncode))
    try:
        return {name: _drawn(value) for name, value in json.loads(done.stdout).items()}
    except (ValueError, KeyError, AttributeError):
        raise PictureFailed("the drawing could not be read") from None


def _drawn(value: Mapping[str, str]) -> DrawnPicture:
    return DrawnPicture(svg=value["svg"], png=base64.b64decode(value["png"]))


def _reason(complaint: bytes, code: int) -> str:
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    if code < 0:
        return f"the drawing process was ended by {signal.Signals(-code).name}"
    said = [line for line in lines if re.match(r"\w+(\.\w+)*(Error|Exception)?: ", line)]
    return (said or lines)[-1][:200] if lines else f"the drawing process exited with code {code}"
