"""Rules of this repository that a person could forget."""

import ast
import re
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_BLOCK = re.DOTALL | re.MULTILINE
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_names_no_address_and_hashes_every_package(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert text.count("==") <= text.count("--hash=sha256:")


def test_users_get_the_very_files_that_the_tests_ran_with() -> None:
    """Every package of the users' lock is in ours, in the same version and with the same hashes."""
    user, dev = ((ROOT / "requirements" / name).read_text(encoding="utf-8") for name in ("user.lock", "dev.lock"))
    packages = re.findall(r"^\S+==\S+.*(?:\n    .*)+", user, re.MULTILINE)
    assert len(packages) > 80
    assert [one.splitlines()[0] for one in packages if one.rstrip("\\ ") not in dev] == []
    assert re.match(r"# resolved \d{4}-\d{2}-\d{2}\n", user)


def test_litellm_is_not_in_any_lock() -> None:
    assert LOCKS
    assert not [lock.name for lock in LOCKS if re.search(r"^litellm", lock.read_text(), re.MULTILINE)]


def test_the_map_for_tools_stays_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text().splitlines()) < 60


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    drawers = {"utils.py", "misc.py", "common.py", "helpers.py", "base.py"}
    assert not [path for path in (ROOT / "src").rglob("*.py") if path.name in drawers]


def test_every_dependency_says_why_it_is_here() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    blocks = re.findall(r"^(?:dependencies|dev) = \[\n(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    wanted = [line for block in blocks for line in block.splitlines()]
    assert len(wanted) > 15
    assert [line for line in wanted if not re.fullmatch(r'  "[^"]+", +# .+', line)] == []


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    # In pieces, so that this file does not name them itself.
    names = ["py" + "pi.org", "python" + "hosted", "npm" + "js.", "deb.deb" + "ian", "/wo" + "rk/", "/ro" + "ot/"]
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = [
        (path, name)
        for path in tracked.stdout.split("\0")
        if path and (ROOT / path).is_file()
        for name in names
        if name in (ROOT / path).read_text(encoding="utf-8", errors="replace")
    ]
    assert found == []


def test_python_in_the_docs_can_be_parsed_and_imports_what_is_there() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md"))]
    blocks = [
        (page, block) for page in pages for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), _BLOCK)
    ]
    assert len(blocks) > 10
    for page, block in blocks:
        if page.name == "python.md" and not block.startswith(('"""', "import")):
            continue  # signatures, generated from the code
        for line in ast.walk(ast.parse(block, filename=page.name)):
            if isinstance(line, ast.ImportFrom) and str(line.module).partition(".")[0] == "upskill":
                module = import_module(str(line.module))
                assert [alias.name for alias in line.names if not hasattr(module, alias.name)] == [], page.name


def test_no_test_imports_a_benchmark_and_no_unit_test_starts_a_process_or_loads_the_engine() -> None:
    assert _importing("tests", "benchmarks") == []
    assert _importing("tests/*/unit", "subprocess|multiprocessing|inspect_ai") == ["test_repository.py"], (
        "this one, for git"
    )


def _importing(folder: str, modules: str) -> list[str]:
    wanted = re.compile(rf"^ *(?:from|import) (?:{modules})\b", re.MULTILINE)
    return [path.name for path in ROOT.glob(f"{folder}/**/*.py") if wanted.search(path.read_text(encoding="utf-8"))]
