"""The check before a release finds what is left to fill in, and a tag that does not fit."""

import re
from pathlib import Path

import pytest
from tools.release_check import EXPLAINED_IN, PLACEHOLDER, ROOT, changelog, main, problems_of_tag, tracked, unfilled

from upskill import __version__

CHANGES = """# Changelog

## [Unreleased]

## 0.2.0 - 2026-12-01

### Added

- Something.

## 0.1.0 - 2026-11-15

- The first.
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "src" / "upskill").mkdir(parents=True)
    (tmp_path / "src" / "upskill" / "__init__.py").write_text('__version__ = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    return tmp_path


def test_every_placeholder_of_this_repository_is_explained_to_the_publisher() -> None:
    explained = set(re.findall(r"^\| `([^`]+)` \|", (ROOT / "RELEASING.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert {place.path for place in unfilled(ROOT, tracked(ROOT))} <= explained


def test_no_address_of_ours_is_written_in_another_form() -> None:
    other = re.compile(r"example\.(com|org|net)/upskill|ADDRESS-OF|<address of|security@", re.IGNORECASE)
    pages = [path for path in tracked(ROOT) if Path(path).suffix in {".md", ".toml", ".yml"}]
    assert len(pages) > 50
    found = [path for path in pages if (ROOT / path).is_file() and other.search((ROOT / path).read_text("utf-8"))]
    assert found == []


def test_placeholders_and_the_taken_name_are_found_by_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "upskill"\nurl = "https://{PLACEHOLDER}/docs"\n')
    (tmp_path / "README.md").write_text("git clone https://forge.test/somebody/skills\n")
    (tmp_path / EXPLAINED_IN[0]).write_text(f"https://{PLACEHOLDER}\n")
    found = unfilled(tmp_path, ["README.md", "pyproject.toml", EXPLAINED_IN[0], "removed.md"])
    assert [(place.path, place.line) for place in found] == [("pyproject.toml", 2), ("pyproject.toml", 3)]


def test_a_tag_of_the_version_that_the_changelog_describes_has_no_problem(repository: Path) -> None:
    assert problems_of_tag(repository, "v0.2.0") == []


@pytest.mark.parametrize(
    ("tag", "changes", "problem"),
    [
        ("v0.3.0", CHANGES, "the tag is v0.3.0 and the version"),
        ("0.2.0", CHANGES, "the tag is 0.2.0 and the version"),
        ("v0.2.0", CHANGES.replace("## [Unreleased]\n", "## [Unreleased]\n\n- New.\n"), "under Unreleased"),
        ("v0.2.0", CHANGES.replace("## 0.2.0", "## 0.1.9"), "the newest section of CHANGELOG.md is 0.1.9"),
        ("v0.2.0", CHANGES.replace(" - 2026-12-01", ""), "has no date"),
        ("v0.2.0", "# Changelog\n", "is missing"),
    ],
)
def test_a_tag_that_does_not_fit_is_refused_with_the_reason(
    repository: Path, tag: str, changes: str, problem: str
) -> None:
    (repository / "CHANGELOG.md").write_text(changes)
    assert problem in "\n".join(problems_of_tag(repository, tag))


def test_notes_of_a_release_are_its_section_of_the_changelog(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--notes", "v0.2.0"], root=repository) == 0
    assert capsys.readouterr().out == "### Added\n\n- Something.\n"


def test_the_changelog_of_this_repository_describes_its_version() -> None:
    sections = changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert list(sections)[:2] == ["Unreleased", __version__]
    problems = problems_of_tag(ROOT, f"v{__version__}")
    assert [problem for problem in problems if "Unreleased" not in problem] == []
