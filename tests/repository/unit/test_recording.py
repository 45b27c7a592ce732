"""The terminal recording of the README shows the commands of the README."""

import re
from pathlib import Path

from tools.recording import CAST, COMMANDS, PICTURE, REPORT, shown

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_commands_of_the_readme_were_recorded_in_order() -> None:
    block = re.findall(r"^```console\n(.*?)^```", README, re.DOTALL | re.MULTILINE)[0]
    assert [line.removeprefix("$ ") for line in block.splitlines()] == list(COMMANDS)
    typed = [line for line in shown(CAST.read_text(encoding="utf-8")).splitlines() if line.startswith("$ ")]
    assert typed == [f"$ {command}" for command in COMMANDS]


def test_the_readme_shows_the_recording_and_the_report() -> None:
    for picture in (PICTURE, REPORT):
        assert picture.is_file()
        assert f"({picture.relative_to(ROOT).as_posix()})" in README
