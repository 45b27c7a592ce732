"""The worked example of a plug-in: built, installed, found by its name, and put to answers right and wrong."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from upskill.core.cases.files import read_case_file
from upskill.core.checks import GradingContext, check_problems, grade, needs
from upskill.core.nouns import Answer, Case
from upskill.sandbox import open_sandbox

EXAMPLE = Path(__file__).parents[3] / "examples" / "plugin"
BENCH = GradingContext(open_sandbox=open_sandbox)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plug-in, built and unpacked as an installer does it."""
    place = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, place / "source")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(build, cwd=place / "source", check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    shutil.unpack_archive(wheel, place / "installed", "zip")
    # The superuser's sandbox is somebody else, who must be able to see what is mounted.
    for folder in (place, place.parent, place.parent.parent):
        folder.chmod(0o755)
    return place / "installed"


@pytest.fixture
def case(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.syspath_prepend(str(installed))
    (found,) = read_case_file(EXAMPLE / "cases.json", check_problems=check_problems).cases
    return found


def test_the_example_tells_right_from_wrong(case: Case) -> None:
    assert needs(case) == {"files", "sandbox"}
    assert case.reference is not None
    right = grade(case, case.reference, context=BENCH)
    assert [result.saw for result in right.results] == ["9 of 9 lists in order", "solve.py: as expected"]
    assert right.passed
    in_chat = Answer(text=f"```python\n{case.reference.files['solve.py'].decode()}```")
    assert grade(case, in_chat, context=BENCH).passed
    for wrong in (*case.wrong, Answer(), Answer(text="I cannot.")):
        assert not grade(case, wrong, context=BENCH).passed


@pytest.mark.parametrize(
    ("program", "saw"),
    [
        ("def ordered(numbers): return numbers", "3 of 9 lists in order"),
        ("import os; os._exit(0)", "it left no result"),
        ("raise SystemExit(3)", "exit 3:"),
        ("import pathlib; pathlib.Path('result.json').write_text('[]'); import os; os._exit(0)", "0 of 9 lists"),
        ("import os; os.symlink('/etc/passwd', 'result.json'); os._exit(0)", "it left no result"),
    ],
)
def test_what_the_program_does_fails_the_answer_and_is_no_error(case: Case, program: str, saw: str) -> None:
    graded = grade(case, Answer(files={"solve.py": program.encode()}), context=BENCH)
    assert graded.results[0].saw.startswith(saw)
    assert not graded.passed
