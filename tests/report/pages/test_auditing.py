"""The audit itself: it sees what is wrong, and says nothing of what is right."""

from pathlib import Path

from report.pages.auditing import audit, serious
from report.pages.browser import Browser

GOOD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fine</title></head>
<body><main><h1>Fine</h1><p>Nothing to say.</p></main></body></html>"""
BAD = """<!doctype html><html><head><meta charset="utf-8"><title></title></head>
<body><img src="data:,"><p style="color:#ccc;background:#fff">Pale</p><button></button></body></html>"""


def test_a_sound_page_has_no_serious_finding(tmp_path: Path, browser: Browser) -> None:
    page = tmp_path / "page.html"
    page.write_text(GOOD)
    assert serious(audit(page, browser=browser)) == []


def test_a_page_without_names_and_contrast_is_found_out(tmp_path: Path, browser: Browser) -> None:
    page = tmp_path / "page.html"
    page.write_text(BAD)
    rules = {finding.rule for finding in audit(page, browser=browser)}
    assert {"html-has-lang", "image-alt", "color-contrast", "button-name"} <= rules
