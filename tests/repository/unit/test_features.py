"""A feature lives in one folder: outside of it, and of the core, only a table of strings names its modules."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "upskill"
FEATURES = ("trigger", "together", "drift", "mining", "slim", "sweep", "share", "agents", "generation", "setup")
BELOW = ("core", "redaction", "sandbox", "report", "terminal", "lint", "controls", "evaluation", "traces")


def _imported(folder: Path) -> set[str]:
    """Folders of the house that modules in `folder` import, also inside functions."""
    found = set()
    for path in folder.rglob("*.py"):
        for line in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [line.module or ""] if isinstance(line, ast.ImportFrom) else []
            names += [alias.name for alias in line.names] if isinstance(line, ast.Import) else []
            found |= {name.split(".")[1] for name in names if name.startswith("upskill.")}
    return found


@pytest.mark.parametrize("folder", [*BELOW, *FEATURES])
def test_no_other_folder_imports_a_feature(folder: str) -> None:
    assert _imported(SOURCE / folder) & {*FEATURES} <= {folder}


@pytest.mark.parametrize("feature", ["trigger", "together", "drift", "mining", "slim", "sweep", "share", "agents"])
def test_a_feature_has_its_tests_in_one_folder(feature: str) -> None:
    """Tests of other folders stay green when the feature is removed (`make removable`): they do not import it."""
    tests = SOURCE.parents[1] / "tests"
    others = [folder for folder in tests.iterdir() if folder.is_dir() and folder.name in BELOW]
    assert {folder.name for folder in others if feature in _imported(folder)} == set()
