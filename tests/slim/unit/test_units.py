"""Units of a skill's Markdown: what can be cut, what stays with what, and that the rest is valid Markdown."""

import random

import pytest
from markdown_it import MarkdownIt

from upskill.core.nouns import Case, Check
from upskill.slim.units import Document, Unit, subjects_of

BODY = """
# Title

Words before
that go on.

## Steps

1. First.
   - nested

   more of it
2. Second
goes on lazily.
3. Third.

* * *

| flag | what |
|------|------|
| `-a` | one |
| `-b` | two |

---

> Quoted
> twice.

```sh
# no heading
- no item
<!-- keep -->
```

Then this:

    indented code

[link]: https://example.com
Underlined
----------

<!-- a comment
over lines -->
- tight one
- tight two
  ```
  fenced in an item

  - still inside
  ```
- tight three

<details>
<summary>More</summary>

Hidden words.

</details>

## Nothing below
## Last

The end.
"""


def _numbers(document: Document, *texts: str) -> set[int]:
    return {number for number, unit in enumerate(document.units) if unit.text.startswith(texts)}


def _version(document: Document, *texts: str) -> int:
    wanted = _numbers(document, *texts)
    return sum(1 << place for place, number in enumerate(document.cuttable) if number in wanted)


def test_what_a_body_consists_of() -> None:
    kinds = [(unit.kind, unit.text.split("\n")[0]) for unit in Document(BODY).units]
    assert kinds == [
        ("heading", "# Title"),
        ("text", "Words before"),
        ("heading", "## Steps"),
        ("item", "1. First."),
        ("item", "2. Second"),
        ("item", "3. Third."),
        ("rule", "* * *"),
        ("table head", "| flag | what |"),
        ("row", "| `-a` | one |"),
        ("row", "| `-b` | two |"),
        ("rule", "---"),
        ("text", "> Quoted"),
        ("code", "```sh"),
        ("text", "Then this:"),
        ("definition", "[link]: https://example.com"),
        ("heading", "Underlined"),
        ("comment", "<!-- a comment"),
        ("item", "- tight one"),
        ("item", "- tight two"),
        ("item", "- tight three"),
        ("text", "<details>"),
        ("heading", "## Nothing below"),
        ("heading", "## Last"),
        ("text", "The end."),
    ]


def test_definitions_and_tags_are_whole() -> None:
    document = Document(
        "[a]:\n  https://example.com\n  'T'\n\n<details>\n<details>\n\nx\n\n</details>\n\n</details>\n\nEnd.\n"
    )
    assert [(unit.kind, unit.text.count("\n")) for unit in document.units] == [
        ("definition", 2),
        ("text", 7),
        ("text", 0),
    ]
    assert [unit.text for unit in Document("| a |\n|---|\n| b\u2028c |\n").units] == ["| a |\n|---|", "| b\u2028c |"]


def test_all_units_make_the_same_body_byte_for_byte() -> None:
    for body in (BODY, BODY.replace("\n", "\r\n"), BODY.rstrip("\n")):
        document = Document(body)
        assert document.text((1 << len(document.cuttable)) - 1) == body


def test_a_heading_and_the_head_of_a_table_stay_with_what_is_below() -> None:
    document = Document(BODY)
    text = document.text(_version(document, "| `-b` |"))
    assert text.index("# Title") < text.index("## Steps") < text.index("|------|------|\n| `-b` | two |")
    assert "`-a`" not in text
    assert "Underlined" not in text
    assert "## Last" not in text
    assert "[link]: https://example.com" in text


def test_what_is_nested_in_an_item_goes_with_it() -> None:
    document = Document(BODY)
    text = document.text(_version(document, "2. Second", "- tight one", "- tight three"))
    assert "nested" not in text
    assert "2. Second\ngoes on lazily.\n" in text
    assert "- tight one\n- tight three\n" in text
    assert "fenced in an item" not in text


def test_what_is_cut_joins_no_two_paragraphs() -> None:
    document = Document("One.\n- item\n\nTwo.\n```\ncode\n```\nThree.\n---\n")
    assert [unit.kind for unit in document.units] == ["text", "item", "text", "code", "heading"]
    assert document.text(_version(document, "One", "Two")) == "One.\n\nTwo.\n"
    assert document.text(_version(document, "One", "Two", "Three")) == "One.\n\nTwo.\n\nThree.\n---\n"


SENTENCES = """## Facts

The file is `a.toml`.
Its port is 7413!
"Quoted."
- an item
goes on lazily.

<!-- keep -->
One stays.
Two stays.

A line that breaks
here. And ends.

Then:
this follows.

Four spaces are no sentence of their own.
    They would be code.

A name stands alone.
[name]: is a definition elsewhere.

**Never do X.
Always do Y.**

It is in a file, e.g.
the config.
"""


def test_lines_of_a_paragraph_are_cut_alone_where_each_ends_a_sentence() -> None:
    document = Document(SENTENCES)
    assert [document.units[number].text for number in document.cuttable][:4] == [
        "The file is `a.toml`.",
        "Its port is 7413!",
        '"Quoted."',
        "- an item\ngoes on lazily.",
    ]
    assert [unit.text for unit in document.units if unit.pinned] == ["<!-- keep -->", "One stays.", "Two stays."]
    whole = ("A line that breaks\n", "Then:\n", "Four spaces", "A name", "**Never do X.\n", "It is in a file, e.g.\n")
    assert all(any(unit.text.startswith(text) and "\n" in unit.text for unit in document.units) for text in whole)
    text = document.text(_version(document, "The file", '"Quoted'))
    assert text.startswith('## Facts\n\nThe file is `a.toml`.\n"Quoted."\n\n<!-- keep -->\nOne stays.\nTwo stays.\n')


@pytest.mark.parametrize("seed", range(40))
def test_sentences_that_are_left_are_one_paragraph_of_the_same_words(seed: int) -> None:
    document, drawn = Document(SENTENCES), random.Random(seed)
    version = drawn.getrandbits(len(document.cuttable))
    kept = "\n".join(document.units[number].text for number in sorted(document.kept(version)))
    left = _paragraph_lines(document.text(version))
    assert left == {line for line in _paragraph_lines(SENTENCES) if line in kept}


def _paragraph_lines(text: str) -> set[str]:
    return {line for block in _blocks(text) if block.type == "paragraph" for line in block.content.split("\n")}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_is_the_same_markdown(seed: int) -> None:
    """A parser sees every unit that stays as it saw it in the full text."""
    document, drawn = Document(BODY), random.Random(seed)
    version = drawn.getrandbits(len(document.cuttable))
    kept = [document.units[number] for number in sorted(document.kept(version))]
    seen = [(block.type, block.content) for block in _blocks(document.text(version))]
    full = [(block.type, block.content) for block in _blocks(BODY)]
    assert set(seen) <= set(full)
    headings = [unit for unit in kept if unit.kind == "heading"]
    assert sum(kind == "heading" for kind, _ in seen) == len(headings)
    assert sum(kind == "tr" for kind, _ in seen) == sum(unit.kind in ("row", "table head") for unit in kept)


class _Block:
    def __init__(self, kind: str, content: str) -> None:
        self.type, self.content = kind, content


def _blocks(text: str) -> list[_Block]:
    tokens = MarkdownIt().enable("table").parse(text)
    found = []
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type in ("fence", "code_block", "html_block"):
            found.append(_Block(token.type, token.content.strip()))
        elif token.type in ("heading_open", "paragraph_open") and following is not None:
            found.append(_Block(token.type.removesuffix("_open"), following.content))
        elif token.type == "tr_open":
            found.append(_Block("tr", ""))
    return found


def _pinned(body: str) -> list[str]:
    return [unit.text for unit in Document(body).units if unit.pinned]


def test_pins_hold_for_a_line_a_list_a_table_or_a_section() -> None:
    assert _pinned("- a <!-- keep -->\n- b\n") == ["- a <!-- keep -->"]
    assert _pinned("- a <!-- keep: lawyers ask for it -->\n- b\n") == ["- a <!-- keep: lawyers ask for it -->"]
    assert _pinned("<!-- KEEP -->\n- a\n- b\n\nc\n") == ["<!-- KEEP -->", "- a", "- b"]
    assert _pinned("<!--keep-->\n\n| a |\n|---|\n| b |\n\nc\n") == ["<!--keep-->", "| a |\n|---|", "| b |"]
    section = "## A <!-- keep -->\n\na\n\n### B\n\nb\n\n## C\n\nc\n"
    assert _pinned(section) == ["## A <!-- keep -->", "a", "### B", "b"]
    assert _pinned("```\n<!-- keep -->\n```\n") == []
    document = Document("## Head\n\n- a <!-- keep -->\n- b\n")
    assert document.text(0) == "## Head\n\n- a <!-- keep -->\n"


def _case(prompt: str, contains: str = "x") -> Case:
    return Case(id=prompt, prompt=prompt, checks=(Check(kind="contains", spec=contains),))


def _units(*texts: str) -> list[Unit]:
    return [Unit(kind="item", first=place, end=place + 1, text=text) for place, text in enumerate(texts)]


def test_a_line_is_on_the_subject_of_cases_that_share_a_name_or_two_words() -> None:
    case = _case("How do I list widgets of a ferry with quayctl?", contains="quay.lock")
    units = _units(
        "- `quayctl` prints them.",
        "- The file is quay.lock.",
        "- A ferry has widgets.",
        "- Ferries sleep.",
        "- Ferry crews sleep at home.",
        "- What should this have been with these?",
        "- Widgets.",
    )
    found = subjects_of([case], units)[case.id]
    assert [place for place in range(len(units)) if found >> place & 1] == [0, 1, 2, 6]


def test_words_that_are_everywhere_say_nothing() -> None:
    units = _units(*(f"- The `tool` has word{place}." for place in range(20)))
    cases = [_case(f"What does the tool say of word{place}?") for place in range(8)]
    found = subjects_of(cases, units)
    assert [bin(found[case.id]).count("1") for case in cases] == [1] * 8
