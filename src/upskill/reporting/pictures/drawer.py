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
from types import TracebackType
from typing import Self

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


class Drawer:
    """A process that draws, once. It loads its library while others work; use it in a `with` block."""

    def __init__(self) -> None:
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                [sys.executable, *_NOT_FROM_HERE, "-m", "upskill.reporting.pictures.drawing"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={name: os.environ[name] for name in _NEEDED if name in os.environ},
                start_new_session=True,  # Ctrl-C ends the trials, and what there is shall still be drawn
            )
        except OSError:
            self._process = None

    def draw(self, pictures: Sequence[Picture], *, png: bool = False) -> Mapping[str, DrawnPicture]:
        """By their names. Raises `PictureFailed`; nothing else comes out of it."""
        if not pictures:
            return {}
        if self._process is None:
            raise PictureFailed("the process that draws could not be started")
        order = {"png": png, "pictures": [asdict(picture) for picture in pictures]}
        # A name may hold half a character, which has no UTF-8.
        asked = json.dumps(order, ensure_ascii=False).encode("utf-8", "replace")
        try:
            out, complaint = self._process.communicate(asked, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise PictureFailed(f"drawing took more than {SECONDS} seconds") from None
        except (OSError, ValueError) as error:
            raise PictureFailed(f"the process that draws went away ({error})") from None
        if self._process.returncode:
            raise PictureFailed(_reason(complaint, self._process.returncode))
        try:
            return {name: _drawn(value) for name, value in json.loads(out).items()}
        except (ValueError, KeyError, AttributeError):
            raise PictureFailed("what was drawn could not be read") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it, whatever it is doing."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except OSError:
                    continue  # it went away before it had read everything
        process.wait()


def _drawn(value: Mapping[str, str]) -> DrawnPicture:
    png = value.get("png")
    return DrawnPicture(wide=value["wide"], narrow=value["narrow"], png=None if png is None else base64.b64decode(png))


def _reason(complaint: bytes, code: int) -> str:
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    if code < 0:
        return f"the process that draws was ended by {signal.Signals(-code).name}"
    said = [line for line in lines if re.match(r"\w+(\.\w+)*(Error|Exception)?: ", line)]
    return (said or lines)[-1][:200] if lines else f"the process that draws ended with {code}"
