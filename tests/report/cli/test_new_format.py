"""An output format is one renderer and one entry in the table: the commands take their options from there."""

import sys
from pathlib import Path

from forking import Done, run_program

ROOT = Path(__file__).parents[3]
ADDED = """
from upskill.report.formats import FORMATS, Format
FORMATS.append(Format(name="gull", suffix="{suffix}", help="Also cry.", render=lambda result:
    "".join(f"{{one.skill.name}} cries {{sum(1 for _ in result.trials_of(one))}} times\\n"
        for one in result.evaluations)))
from upskill.cli import main
main()
"""


def _upskill(suffix: str, *words: str, here: Path, environment: dict[str, str]) -> Done:
    return run_program([sys.executable, "-c", ADDED.format(suffix=suffix), *words], cwd=here, env=environment)


def test_a_format_in_the_table_is_an_option_of_its_command_and_is_written(
    here: Path, environment: dict[str, str]
) -> None:
    student = f"scripted/{ROOT / 'examples' / 'scripted' / 'student.yaml'}"
    words = ("eval", str(ROOT / "examples" / "tarnctl"), "-m", student, "--runs", "1", "--write", "cry.gull")
    done = _upskill(".gull", *words, here=here, environment=environment)
    assert done.returncode == 0, done.stderr
    cry = (here / "cry.gull").read_text().split()
    assert cry[:2] == ["tarnctl", "cries"]
    assert int(cry[2]) > 0
    printed = _upskill("", "report", "--gull", here=here, environment=environment)
    assert printed.stdout == "tarnctl cries 0 times\n"
