"""Where the reference validator reports a problem, so do we; where only we do, the table says why."""

from pathlib import Path

import pytest
import skills_ref

from skill_corpus.entries import bad_skills, good_skills
from upskill.core.nouns.finding import Finding
from upskill.lint.folder import FolderContents
from upskill.lint.lint_skill import lint_skill

NAME = "pdf-merge"
PLAIN = "name: pdf-merge\ndescription: Merges PDF files. Use when a user has several PDF files.\n"
LONG = "x" * 1025

BOTH_ACCEPT = {
    "plain": f"---\n{PLAIN}---\nText\n",
    "CRLF": f"---\n{PLAIN}---\nText\n".replace("\n", "\r\n"),
    "folded": "---\nname: pdf-merge\ndescription: >\n  Merges PDF files.\n  Use when asked.\n---\nText\n",
    "literal": "---\nname: pdf-merge\ndescription: |\n  Merges PDF files.\n  Use when asked.\n---\nText\n",
    "quoted": "---\nname: 'pdf-merge'\ndescription: \"Use when: asked # twice\"\n---\nText\n",
    "comment line": f"---\n# a comment\n{PLAIN}---\nText\n",
    "comment behind the name": "---\nname: pdf-merge # short\ndescription: Use when asked for it.\n---\nText\n",
    "all six fields": f"---\n{PLAIN}license: A\ncompatibility: A\nmetadata:\n  a: b\nallowed-tools: Read\n---\nText\n",
    "1,024 characters": f"---\nname: pdf-merge\ndescription: {'x' * 1024}\n---\nText\n",
    "500 characters": f"---\n{PLAIN}compatibility: {'x' * 500}\n---\nText\n",
    "dashes in the body": f"---\n{PLAIN}---\nText\n\n---\n\nMore\n",
    "empty body": f"---\n{PLAIN}---\n",
    "number in metadata": f"---\n{PLAIN}metadata:\n  version: 1.0\n---\nText\n",
    "value over two lines": "---\nname: pdf-merge\ndescription: Merges PDF files.\n  Use when asked.\n---\nText\n",
}
BOTH_REFUSE = {
    "no frontmatter": ("no-frontmatter", 1, "# A title\n"),
    "empty file": ("no-frontmatter", 1, ""),
    "not closed": ("frontmatter-not-closed", 1, f"---\n{PLAIN}Text\n"),
    "byte order mark": ("byte-order-mark", 1, f"\ufeff---\n{PLAIN}---\nText\n"),
    "blank first line": ("frontmatter-not-first", 1, f"\n---\n{PLAIN}---\nText\n"),
    "text first": ("no-frontmatter", 1, f"Hello\n---\n{PLAIN}---\nText\n"),
    "colon in a value": ("not-yaml", 3, "---\nname: pdf-merge\ndescription: Use when: asked\n---\nText\n"),
    "open quote": ("not-yaml", 3, '---\nname: pdf-merge\ndescription: "Use when asked\n---\nText\n'),
    "tab indent": ("not-yaml", 5, f"---\n{PLAIN}metadata:\n\ta: b\n---\nText\n"),
    "control character": ("not-yaml", 3, "---\nname: pdf-merge\ndescription: Use when \x07 asked\n---\nText\n"),
    "a list": ("frontmatter-not-fields", 2, "---\n- name\n- description\n---\nText\n"),
    "a word": ("frontmatter-not-fields", 2, "---\nname\n---\nText\n"),
    "dashes in quotes": (
        "dashes-in-frontmatter",
        3,
        '---\nname: pdf-merge\ndescription: "Use when --- asked"\n---\nText\n',
    ),
    "flow table": ("flow-style", 4, f"---\n{PLAIN}metadata: {{a: b}}\n---\nText\n"),
    "flow list": ("flow-style", 4, f"---\n{PLAIN}allowed-tools: [Read, Bash]\n---\nText\n"),
    "anchor": ("yaml-anchor", 4, f"---\n{PLAIN}license: &a MIT\n---\nText\n"),
    "tag": ("yaml-tag", 4, f"---\n{PLAIN}license: !!str MIT\n---\nText\n"),
    "duplicate key": ("duplicate-key", 4, f"---\n{PLAIN}name: pdf-merge\n---\nText\n"),
    "duplicate in metadata": ("duplicate-key", 6, f"---\n{PLAIN}metadata:\n  a: b\n  a: c\n---\nText\n"),
    "no name": ("name-missing", 1, "---\ndescription: Use when asked for it.\n---\nText\n"),
    "empty name": ("name-missing", 2, "---\nname:\ndescription: Use when asked for it.\n---\nText\n"),
    "no description": ("description-missing", 1, "---\nname: pdf-merge\n---\nText\n"),
    "empty description": ("description-missing", 3, "---\nname: pdf-merge\ndescription: ''\n---\nText\n"),
    "blank description": ("description-missing", 3, "---\nname: pdf-merge\ndescription: '  '\n---\nText\n"),
    "long description": ("description-too-long", 3, f"---\nname: pdf-merge\ndescription: {LONG}\n---\nText\n"),
    "description list": ("field-not-text", 3, "---\nname: pdf-merge\ndescription:\n- a\n---\nText\n"),
    "name list": ("field-not-text", 2, "---\nname:\n- a\ndescription: Use when asked for it.\n---\nText\n"),
    "other folder": ("name-not-folder", 2, "---\nname: pdf-split\ndescription: Use when asked for it.\n---\nText\n"),
    "capitals": ("name-invalid", 2, "---\nname: PDF-merge\ndescription: Use when asked for it.\n---\nText\n"),
    "underscore": ("name-invalid", 2, "---\nname: pdf_merge\ndescription: Use when asked for it.\n---\nText\n"),
    "hyphen first": ("name-invalid", 2, "---\nname: -pdf\ndescription: Use when asked for it.\n---\nText\n"),
    "two hyphens": ("name-invalid", 2, "---\nname: pdf--merge\ndescription: Use when asked for it.\n---\nText\n"),
    "long name": ("name-too-long", 2, f"---\nname: {'x' * 65}\ndescription: Use when asked for it.\n---\nText\n"),
    "long compatibility": ("compatibility-length", 4, f"---\n{PLAIN}compatibility: {'x' * 501}\n---\nText\n"),
    "compatibility list": ("field-not-text", 4, f"---\n{PLAIN}compatibility:\n- a\n---\nText\n"),
    "unknown key": ("unknown-key", 4, f"---\n{PLAIN}author: me\n---\nText\n"),
    "misspelt key": ("unknown-key", 4, f"---\n{PLAIN}licence: MIT\n---\nText\n"),
}
ONLY_A_WARNING = {
    "model": ("client-key", 4, f"---\n{PLAIN}model: opus\n---\nText\n"),
    "disable-model-invocation": ("client-key", 4, f"---\n{PLAIN}disable-model-invocation: true\n---\nText\n"),
}
"""The validator refuses each key that it does not know. A key that an agent reads is a warning here."""
ONLY_WE_REFUSE = {
    "cut at #": ("value-cut-at-hash", 3, "---\nname: pdf-merge\ndescription: fix C# code # when asked\n---\nText\n"),
    "cut at # in the second line": (
        "value-cut-at-hash", 4, "---\nname: pdf-merge\ndescription: Use when\n  asked # twice\n---\nText\n"
    ),
    "dashes in a folded value": (
        "dashes-in-frontmatter", 5, "---\nname: pdf-merge\ndescription: >\n  Use when\n  asked --- twice\n---\nText\n"
    ),
    "empty compatibility": ("compatibility-length", 4, f"---\n{PLAIN}compatibility: ''\n---\nText\n"),
    "list of tools": ("field-not-text", 4, f"---\n{PLAIN}allowed-tools:\n- Read\n- Bash\n---\nText\n"),
    "table in metadata": ("metadata-not-strings", 5, f"---\n{PLAIN}metadata:\n  a:\n    b: c\n---\nText\n"),
    "metadata is a text": ("metadata-not-strings", 4, f"---\n{PLAIN}metadata: text\n---\nText\n"),
}  # fmt: skip
"""The validator cuts the value silently, or does not check the type that the specification asks for."""


def _errors(text: bytes, name: str = NAME) -> list[Finding]:
    found = lint_skill(FolderContents(name=name, files={"SKILL.md": text}, digests={}))
    return [one for one in found if one.severity == "error"]


def _validated(folder: Path, text: bytes) -> list[str]:
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_bytes(text)
    try:
        return list(skills_ref.validate(folder))
    except AttributeError as error:  # of its YAML library, on a control character
        return [str(error)]


@pytest.mark.parametrize("kind", BOTH_ACCEPT)
def test_what_the_validator_accepts_has_no_error(kind: str, tmp_path: Path) -> None:
    text = BOTH_ACCEPT[kind].encode()
    assert _validated(tmp_path / NAME, text) == []
    assert _errors(text) == []


@pytest.mark.parametrize("kind", BOTH_REFUSE)
def test_what_the_validator_refuses_is_an_error_in_its_line(kind: str, tmp_path: Path) -> None:
    rule, line, text = BOTH_REFUSE[kind]
    assert _validated(tmp_path / NAME, text.encode()) != []
    assert (rule, line) in [(one.rule, one.line) for one in _errors(text.encode())]


@pytest.mark.parametrize("kind", ONLY_A_WARNING)
def test_a_key_of_an_agent_is_a_warning(kind: str, tmp_path: Path) -> None:
    rule, line, text = ONLY_A_WARNING[kind]
    assert _validated(tmp_path / NAME, text.encode()) != []
    found = lint_skill(FolderContents(name=NAME, files={"SKILL.md": text.encode()}, digests={}))
    assert [(one.rule, one.line, one.severity) for one in found] == [(rule, line, "warning")]


@pytest.mark.parametrize("kind", ONLY_WE_REFUSE)
def test_what_the_validator_overlooks_is_an_error(kind: str, tmp_path: Path) -> None:
    rule, line, text = ONLY_WE_REFUSE[kind]
    assert _validated(tmp_path / NAME, text.encode()) == []
    assert [(one.rule, one.line) for one in _errors(text.encode())] == [(rule, line)]


def test_both_agree_on_every_skill_of_the_corpora(tmp_path: Path) -> None:
    for skill in (*good_skills(), *bad_skills()):
        problems = _validated(tmp_path / skill.name, skill.files["SKILL.md"])
        errors = _errors(skill.files["SKILL.md"], skill.name)
        assert bool(problems) == bool(errors), (skill.name, problems, errors)
