"""Names of files that travel: every system can hold them, and none is taken for another."""

import pytest

from upskill.core.nouns.skill import name_clashes, shared_path_problem


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        *((name, "is the name of a device on Windows")
          for name in ("CON.md", "nul", "aux.txt", "COM1", "lpt9.log.md", "con .md", "CONIN$", "docs/Prn/x.md")),
        *((name, "cannot be a file on Windows")
          for name in ("end.", "a. /b", "x/ /b", "a/ b", "ab:c.md", "<x>.md", 'a"b', "a|b", "what?.md", "*.md")),
        *((name, "holds a character that cannot be seen")
          for name in ("end ", "tab\t.md", "nul\0.md", "\x7f", "gnp.\u202eexe", "zero\u200bwidth", "x\u2066y",
                       "a\u00a0b", "x\ufe0f.md", "hangul\u115f", "\u2800", "joined\u200d", "half\udcff", "\ue000")),
        ("..\\x.md", "holds a backslash; write folders with /"),
        ("C:x.md", "is not relative"),
        ("../x.md", "leads out of its folder"),
        ("ｆｕｌｌ.md", "is another way to write 'full.md'"),
        ("\ufb01le.md", "is another way to write 'file.md'"),
        ("e\u0301.md", "is another way to write 'é.md'"),
        ("COM\u00b9.txt", "is another way to write 'COM1.txt'"),
        ("hangul\u3164", "holds a character that cannot be seen"),
        ("p\u0430ypal.md", "mixes letters of two alphabets in one word"),
        ("\u0405KILL.md", "mixes letters of two alphabets in one word"),
        (".GIT/config", "is never part of a skill"),
        ("a/.Upskill-Install.json", "is never part of a skill"),
        ("é" * 130, "has a part of more than 255 bytes"),
        ("x" * 241, "is longer than 240 characters"),
        ("", "is empty"),
    ],
)  # fmt: skip
def test_a_name_that_some_system_cannot_hold_or_that_deceives_has_a_problem(path: str, problem: str) -> None:
    assert shared_path_problem(path) == problem


@pytest.mark.parametrize(
    "path",
    [
        *("SKILL.md", "scripts/run.py", ".gitignore", "a b.md", "console.md", "com.md", "common/auxiliary", "v1.2.md"),
        *("отчёт.md", "отчёт-v2.md", "résumé.md", "日本語.md", "한국어.md", "α-β.md", "ملف.md"),
        "हिन्दी.md",
        "naïve_тест.md",
    ],
)  # fmt: skip
def test_letters_of_any_one_alphabet_and_ordinary_names_are_fine(path: str) -> None:
    assert shared_path_problem(path) is None


def test_files_and_folders_that_are_one_on_some_systems_are_named_once() -> None:
    paths = [
        "Docs/a.md",
        "docs/b.md",
        "docs/c.md",
        "read.md",
        "Read.md",
        "\u00e9",
        "e\u0301",
        "x",
        "X/y.md",
        "stra\u00dfe",
        "STRASSE",
    ]
    assert list(name_clashes(paths)) == [
        ("Docs", "docs"),
        ("read.md", "Read.md"),
        ("\u00e9", "e\u0301"),
        ("x", "X"),
        ("stra\u00dfe", "STRASSE"),
    ]
    assert list(name_clashes(["a/x.md", "a/y.md", "b/x.md"])) == []
