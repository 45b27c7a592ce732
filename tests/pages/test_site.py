"""The site of the docs, opened from its folder in a browser: usable by everybody, searchable, no server asked."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forking import run_program
from pages.auditing import audit, serious
from pages.browser import Browser

ROOT = Path(__file__).parent.parent.parent
AUDITED = (
    "index.html",
    "tutorial/first-skill.html",
    "reference/settings.html",
    "explanation/what-the-interval-means.html",
)
"""One of each kind: lists, commands, a table, pictures."""


def _build(config: Path, into: Path) -> "subprocess.CompletedProcess[str]":
    return run_program(
        [str(Path(sys.executable).parent / "mkdocs"), "build", "--config-file", str(config), "--site-dir", str(into)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does. A warning fails it."""
    folder = tmp_path_factory.mktemp("site")
    done = _build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[gone](gone.md)", "'gone.md'"),
        ("[gone](#gone)", "'#gone'"),
        ("<script src='https://example.org/a.js'></script>", "would fetch from a server"),
    ],
)
def test_a_page_with_a_fault_fails_the_build(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text(f"# Here\n\n{text}\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: docs\nhooks: [{ROOT / 'tools' / 'site.py'}]\nnav: [README.md]\n"
    )

    done = _build(config, tmp_path / "site")

    assert done.returncode != 0
    assert why in done.stderr


@pytest.mark.parametrize("page", AUDITED)
def test_a_page_of_the_docs_has_no_serious_finding(page: str, site: Path, browser: Browser) -> None:
    assert serious(audit(site / page, browser=browser)) == []


@pytest.mark.full
def test_no_page_of_the_docs_has_a_serious_finding_in_any_look(site: Path, browser: Browser) -> None:
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    assert len(pages) > 40
    found = {str(page.relative_to(site)): serious(audit(page, browser=browser)) for page in pages}
    assert {page: faults for page, faults in found.items() if faults} == {}


def test_the_search_works_from_a_folder_and_nothing_is_asked_of_a_server(site: Path, browser: Browser) -> None:
    browser.open(site / "how-to" / "write-cases.html")
    browser.run(
        "document.querySelector('[data-md-toggle=search]').click();"
        "const field = document.querySelector('[data-md-component=search-query]');"
        "field.focus(); field.value = 'bubblewrap'; field.dispatchEvent(new Event('keyup')); 0"
    )
    found: list[str] = []
    deadline = time.monotonic() + 20
    while not found and time.monotonic() < deadline:
        found = browser.run("[...document.querySelectorAll('.md-search-result__link')].map(link => link.href)")
        time.sleep(0.1)

    assert any("get-a-sandbox.html" in link for link in found), found
    assert [asked for asked in browser.requests() if not asked.startswith(("file:", "data:"))] == []
