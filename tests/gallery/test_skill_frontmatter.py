"""What the check `skill-valid` of the gallery says about ways to write a frontmatter."""

import pytest

from upskill_gallery.agent_skills_frontmatter import require_text_values, require_whole_description
from upskill_gallery.agent_skills_paths import Refused, unreached

WHOLE = {
    "plain": "description: Posts to the team.",
    "quotes": 'description: "Posts to #team."',
    "single quotes": "description: 'Posts to #team.'",
    "a quoted key": '"description": "Posts to #team."',
    "a key in single quotes": "'description' : 'Posts to #team.'",
    "a folded block": "description: >\n  Posts to\n  one #team and #leads.",
    "a literal block with a comment": "description: |- # as it is\n  Posts to #team.",
    "an indented map": '  name: post\n  description: "Posts to #team."',
    "quotes on the next line": 'description:\n  "Posts to #team."',
    "a comment behind quotes": 'description: "Posts." # short',
    "a comment of its own": "description: Posts.\n  # short\nlicense: MIT",
    "a comment above the text": "description: # in one line\n  Posts to the team.",
    "a # inside a word": "description: Posts in C#.",
    "another description in metadata": 'metadata:\n  description: Posts #x\ndescription: "Posts to #team."',
    "a block in another field": 'compatibility: |\n  description: a #b\ndescription: "Posts to #team."',
}
CUT = {
    "a # in plain text": "description: Posts to #team.",
    "a # in a second line": "description: Posts\n  to #team.",
    "a # behind an empty line": "description: Posts\n\n  to #team.",
    "a # on the next line only": "description:\n  Posts to #team.",
    "an indented map": "  name: post\n  description: Posts to #team.",
    "a quoted key": '"description": Posts to #team.',
    "three hyphens": 'description: "Posts --- daily."',
    "no description": "name: post",
    "a list": "- description: Posts.\n- name: post",
}


@pytest.mark.parametrize("frontmatter", WHOLE.values(), ids=list(WHOLE))
def test_a_description_that_agents_read_whole(frontmatter: str) -> None:
    require_whole_description(f"---\n{frontmatter}\n---\n\nBody: description: a #b\n", "Posts")


@pytest.mark.parametrize("frontmatter", CUT.values(), ids=list(CUT))
def test_a_description_that_agents_do_not_read_whole(frontmatter: str) -> None:
    with pytest.raises(Refused):
        require_whole_description(f"---\n{frontmatter}\n---\n\nBody: description: a #b\n", "Posts")


def test_a_version_without_quotes_is_a_number() -> None:
    require_text_values('metadata:\n  version: "1.40"\n', {"version": "1.40"})
    require_text_values("metadata:\n  version: 2.3.0\n", {"version": "2.3.0"})
    with pytest.raises(Refused, match="quote"):
        require_text_values("metadata:\n  version: 1.40 # new\n", {"version": "1.40"})


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Read references/db.md for db-\nalerts.", None),
        ("## Databases (db-)\n\nRead [this](references/db.md).", None),
        ("| db- | references/db.md |", None),
        ("1. Find the kind: db- or mq-.\n\nSee references/db.md.", "references/db.md"),
        ("- db-: references/mq.md\n- mq-: references/db.md", "references/db.md"),
        ("- references/db.md", "references/db.md"),
    ],
)
def test_a_document_says_when_to_read_a_file(text: str, missing: str | None) -> None:
    assert unreached(text, {"references/db.md": ["db-"]}) == missing
