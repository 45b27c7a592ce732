"""The words of a page: explained on it, as in the glossary, and only those that it uses."""

import re
from pathlib import Path

import pytest

from report.unit.evaluations import EVALUATIONS
from report.unit.pages import Parsed, page
from upskill.report.html.shell import WORDS, with_link, words_on

GLOSSARY = Path(__file__).parents[3] / "docs" / "reference" / "glossary.md"


def test_a_page_explains_words_as_the_glossary_does() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\*.*? \| (.+) \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    meanings = {name: re.sub(r"[`*]|\[(.+?)\]\(.+?\)", r"\1", meaning) for name, meaning in rows}
    labels = {"leaks", "recall"}
    assert {word.name: word.meaning for word in WORDS if word.name not in labels} == {
        word.name: meanings[word.name] for word in WORDS if word.name not in labels
    }


@pytest.mark.parametrize("name", EVALUATIONS)
def test_every_word_that_is_a_link_is_explained_on_the_page(name: str) -> None:
    text = page(EVALUATIONS[name])
    linked, explained = (set(re.findall(rf'{what}(word-[a-z0-9-]+)"', text)) for what in ('href="#', 'id="'))
    assert linked <= explained
    assert "word-case" in explained
    assert re.search(r'<details id="words">.*</details>\s*</section>\s*</main>', text, re.DOTALL)


def test_only_words_that_a_page_uses_are_explained() -> None:
    used = words_on("<p title='teacher'>Lifts of +3 points</p>", "<script>pair</script>")
    assert [word.name for word in used] == ["lift", "points"]
    assert "The model that writes the skill" not in Parsed(page()).text


def test_text_around_a_link_is_only_text() -> None:
    assert with_link("<b> let the teacher & others", "teacher").startswith("&lt;b&gt; let the <a ")
    assert with_link("<b>", "teacher") == "&lt;b&gt;"
