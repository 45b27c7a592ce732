"""Fenced blocks: which have a name, which are files, and what no text can make them do."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.checks.answer_files import MOST_FILES, read_fenced
from upskill.core.nouns.skill import clash, path_problem


@pytest.mark.parametrize(
    "text",
    [
        "```toml build.toml\na = 1\n```",
        "```toml:build.toml\na = 1\n```",
        "```build.toml\na = 1\n```",
        '```toml title="build.toml"\na = 1\n```',
        "```toml {filename='build.toml'}\na = 1\n```",
        "```toml file=build.toml\na = 1\n```",
        "```toml ./build.toml\na = 1\n```",
        "`build.toml`\n```toml\na = 1\n```",
        "`build.toml`:\n\n```toml\na = 1\n```",
        "**build.toml**\n```toml\na = 1\n```",
        "**`build.toml`**\n```toml\na = 1\n```",
        "**build.toml:**\n```toml\na = 1\n```",
        "### build.toml\n```toml\na = 1\n```",
        "## 1. `build.toml`\n```toml\na = 1\n```",
        "- build.toml\n```toml\na = 1\n```",
        "File: build.toml\n```toml\na = 1\n```",
        "**File:** `build.toml`\n```toml\na = 1\n```",
        "build.toml:\n```toml\na = 1\n```",
        "build.toml: ```toml\na = 1\n```",
        "`build.toml`: ```\na = 1\n```",
        "**build.toml:** ```toml\na = 1\n```\n",
        "build.toml:~~~\na = 1\n~~~",
        "~~~toml build.toml\na = 1\n~~~",
        "`````toml build.toml\na = 1\n``````",
        "1. Write it:\n   ```toml build.toml\n   a = 1\n   ```",
        "```toml build.toml\r\na = 1\r\n```\r\n",
        "```toml build.toml\nfirst\n```\nNo, better:\n```toml build.toml\na = 1\n```",
    ],
)
def test_a_named_block_is_a_file(text: str) -> None:
    assert read_fenced(text).files == {"build.toml": b"a = 1\n"}


@pytest.mark.parametrize(
    ("first", "path"),
    [
        ("# build.toml", "build.toml"),
        ("// src/kernel.cu", "src/kernel.cu"),
        ("-- schema.sql", "schema.sql"),
        ("/* style.css */", "style.css"),
        ("<!-- page.html -->", "page.html"),
        ("# File: run.py", "run.py"),
        ("# Makefile", "Makefile"),
    ],
)
def test_a_first_comment_that_is_only_a_name_names_the_block_and_stays_in_it(first: str, path: str) -> None:
    assert read_fenced(f"```\n{first}\nx\n```").files == {path: f"{first}\nx\n".encode()}


def test_in_json_the_naming_comment_is_taken_out() -> None:
    assert read_fenced("```json\n// a.json\n{}\n```").files == {"a.json": b"{}\n"}


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```",
        "Now run `a.py`:\n```sh\npython a.py\n```",
        "The file a.py\n```sh\npython a.py\n```",
        "a.py\n```sh\nx\n```",
        "### Node\n```js\nx\n```",
        "# build.toml\n\n\n```toml\nx\n```",
        "```\n# see build.toml\nx\n```",
        "```\n#!/usr/bin/env python3\nx\n```",
        "```c++\nx\n```",
        "```python3.11\nx\n```",
        "```asp.net\nx\n```",
    ],
)
def test_a_block_without_a_name_is_no_file(text: str) -> None:
    found = read_fenced(text)
    assert found.files == {}
    assert len(found.blocks) == 1
    assert found.only_block == found.blocks[0].content


@pytest.mark.parametrize(
    ("name", "why"),
    [("../x.py", "leads out"), ("/etc/passwd", "not relative"), ("a/../../x.py", "leads out"), ("~/x.py", "relative")],
)
def test_a_name_that_leads_elsewhere_is_refused_and_said(name: str, why: str) -> None:
    found = read_fenced(f"```py {name}\nx\n```\n```py ok.py\ny\n```")
    assert found.files == {"ok.py": b"y\n"}
    assert why in found.refused[0]


def test_a_longer_fence_holds_shorter_ones_and_tildes_hold_backticks() -> None:
    inner = "```sh\nls\n```\n"
    assert read_fenced(f"````md README.md\n{inner}````").files == {"README.md": inner.encode()}
    assert read_fenced(f"~~~md README.md\n{inner}~~~").files == {"README.md": inner.encode()}


def test_a_block_that_is_cut_off_is_no_file() -> None:
    found = read_fenced("```py a.py\nx\n```\n```py b.py\ny\n")
    assert found.files == {"a.py": b"x\n"}
    assert found.refused == ("a fenced block is not closed",)


def test_a_file_cannot_be_the_folder_of_another() -> None:
    found = read_fenced("```x a.d\n1\n```\n```x a.d/b.c\n2\n```")
    assert found.files == {"a.d/b.c": b"2\n"}
    assert "also the folder" in found.refused[0]


def test_so_many_files_and_no_more() -> None:
    found = read_fenced("".join(f"```py f{number}.py\n```\n" for number in range(MOST_FILES + 5)))
    assert len(found.files) == MOST_FILES
    assert found.refused


_PIECES = st.sampled_from(
    [
        *(
            "```",
            "````",
            "~~~",
            "\n",
            " ",
            "a.py",
            "../b",
            "/c",
            "# ",
            "// ",
            ":",
            "`",
            "**",
            "title=",
            '"',
            "x",
            "\t",
            "é",
        )
    ]
)


@given(text=st.one_of(st.lists(_PIECES, max_size=40).map("".join), st.text(max_size=60)))
def test_whatever_a_text_says_its_files_have_safe_names(text: str) -> None:
    found = read_fenced(text)
    assert all(path_problem(path) is None for path in found.files)
    assert clash(dict(found.files)) is None
    assert read_fenced(text) == found


@pytest.mark.parametrize("text", ["```\n" * 100_001, "````x\n" + "```\n" * 100_000, "**" * 200_000 + "\n```\n```"])
def test_a_hostile_text_is_read_in_time_that_grows_with_its_length(text: str) -> None:
    began = time.process_time()
    read_fenced(text)
    assert time.process_time() - began < 5
