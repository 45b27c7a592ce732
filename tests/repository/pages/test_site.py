"""The site of the docs, opened from its folder in a browser: usable by everybody, searchable, no server asked."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from forking import run_program
from report.pages.auditing import LOOKS, audit, serious
from report.pages.browser import Browser

ROOT = Path(__file__).parents[3]
AUDITED = (
    "tutorial/first-skill.html",
    "explanation/what-the-interval-means.html",
)
"""Commands and lists; tables and pictures. `make full` audits every page."""


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
    assert serious(audit(site / page, browser=browser, looks=(LOOKS[0], LOOKS[-1]))) == []


@pytest.mark.full
def test_no_page_of_the_docs_has_a_serious_finding_in_any_look(site: Path, browser: Browser) -> None:
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    assert len(pages) > 30
    found = {str(page.relative_to(site)): serious(audit(page, browser=browser)) for page in pages}
    assert {page: faults for page, faults in found.items() if faults} == {}


CLICKED = 3
"""How many results of a search a reader looks at."""


class Question(NamedTuple):
    """What is typed into the search, the pages that answer it, and words of the answer."""

    typed: str
    pages: tuple[str, ...]
    words: str


QUESTIONS = (
    Question("use skill in my agent", ("how-to/share-a-skill.html",), ".claude/skills"),
    Question("what does invalid mean", ("reference/glossary.html",), "no verdict"),
    Question("what does undecided mean", ("reference/glossary.html",), "undecided"),
    Question("what will it cost", ("how-to/spend-little.html",), "--dry-run"),
    Question("without a key", ("tutorial/first-skill.html", "how-to/generate-a-skill.html"), "key"),
    Question("how many cases", ("how-to/write-cases.html",), "cases"),
    Question("ollama", ("reference/models.html",), "Ollama"),
    Question("resume a run", ("how-to/spend-little.html", "how-to/generate-a-skill.html"), "--resume"),
    Question("github actions", ("how-to/run-in-ci.html",), "workflow"),
    Question("claude code session", ("reference/sessions.html",), "Claude Code"),
    Question("secrets keys redacted", ("explanation/what-is-redacted.html",), "redact"),
)


def _linked(browser: Browser, selector: str) -> list[str]:
    links = browser.run(f"[...document.querySelectorAll('{selector}')].map(link => link.href.split(/[?#]/)[0])")
    assert isinstance(links, list)
    return list(dict.fromkeys(links))


def _searched(browser: Browser, typed: str) -> list[str]:
    """The pages of the results, best first. The page may have been searched before."""
    browser.run(
        "{ const toggle = document.querySelector('[data-md-toggle=search]'); if (!toggle.checked) toggle.click();"
        "document.querySelectorAll('.md-search-result__link').forEach(link => link.remove());"
        "const field = document.querySelector('[data-md-component=search-query]');"
        f"field.focus(); field.value = {typed!r}; field.dispatchEvent(new Event('keyup')); }} 0"
    )
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if found := _linked(browser, ".md-search-result__link"):
            return found
        time.sleep(0.1)
    return []


def test_the_search_works_from_a_folder_and_nothing_is_asked_of_a_server(site: Path, browser: Browser) -> None:
    browser.open(site / "how-to" / "write-cases.html")
    found = _searched(browser, "bubblewrap")

    assert any("sandbox.html" in link for link in found), found
    assert [asked for asked in browser.requests() if not asked.startswith(("file:", "data:"))] == []


def test_a_question_is_answered_within_two_clicks(site: Path, browser: Browser) -> None:
    browser.open(site / "index.html")
    for question in QUESTIONS:
        found = _searched(browser, question.typed)[:CLICKED]
        answers = [link for link in found if link.endswith(question.pages)]

        assert answers, f"{question.typed}: {found}"
        page = Path(answers[0].removeprefix("file://")).read_text(encoding="utf-8")
        assert question.words.lower() in page.lower(), question.typed


def test_the_front_page_leads_to_most_answers_in_one_click(site: Path, browser: Browser) -> None:
    browser.open(site / "index.html")
    links = _linked(browser, "article a")
    direct = [question for question in QUESTIONS if any(link.endswith(question.pages) for link in links)]
    assert len(direct) >= 8, [question.typed for question in QUESTIONS if question not in direct]
