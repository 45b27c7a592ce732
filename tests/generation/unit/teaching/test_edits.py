"""Edits apply where they say, exactly, or not at all."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.generation.draft import Draft, SectionSource
from upskill.generation.edits import MOST_EDITS, Edit, apply_edits, texts_of, with_texts

BODY = """# Tarn

Ask for the port first.

## Starting

1. Run `tarnctl up`.
2. Wait for the lamp.

```sh
# Starting is not a heading here
tarnctl up
```

## Stopping

Run `tarnctl down`.
Never pull the plug.
"""
DRAFT = Draft(
    name="tarn",
    description="Starts and stops tarns. Use when a tarn is named.",
    body=BODY,
    files={
        "references/ports.md": b"# Ports\n\n7413 is the first.\n",
        "scripts/up.sh": b"tarnctl up\n",
        "assets/lamp.png": b"\x89PNG\0",
    },
    executable=frozenset({"scripts/up.sh"}),
    sources=(SectionSource(heading="Starting", lessons=("1",)), SectionSource(heading="Stopping")),
)


def edited(*edits: Edit, **options: bool) -> str:
    applied = apply_edits(DRAFT, edits, **options)
    assert applied.problems == ()
    assert applied.edits == edits
    return applied.draft.body


def problem(edit: Edit, **options: bool) -> str:
    applied = apply_edits(DRAFT, [edit], **options)
    assert applied.draft == DRAFT, "an edit that does not apply changes nothing"
    (said,) = applied.problems
    return said


def test_quoted_words_are_replaced_and_nothing_else() -> None:
    body = edited(Edit(file="SKILL.md", action="replace", quote="Wait for the lamp.", text="Wait for the green lamp."))
    assert body == BODY.replace("Wait for the lamp.", "Wait for the green lamp.")


def test_quoted_words_are_deleted() -> None:
    assert edited(Edit(file="SKILL.md", action="delete", quote="Never pull the plug.\n")) == BODY.replace(
        "Never pull the plug.\n", ""
    )


def test_text_is_inserted_on_a_line_of_its_own_behind_the_words() -> None:
    body = edited(Edit(file="SKILL.md", action="insert", quote="Wait for the", text="3. Note the port."))
    assert "2. Wait for the lamp.\n3. Note the port.\n\n```sh" in body


def test_text_is_inserted_at_the_end_of_a_section() -> None:
    body = edited(Edit(file="SKILL.md", action="insert", heading="## Starting", text="Then look twice."))
    assert "tarnctl up\n```\nThen look twice.\n\n## Stopping" in body


def test_section_is_inserted_with_space_around_it() -> None:
    body = edited(Edit(file="SKILL.md", action="insert", quote="Ask for the port first.", text="## Ports\n\n7413."))
    assert "Ask for the port first.\n\n## Ports\n\n7413.\n\n## Starting" in body


def test_text_without_a_place_is_inserted_at_the_end() -> None:
    assert edited(Edit(file="SKILL.md", action="insert", text="Say what you did.")) == BODY + "Say what you did.\n"


def test_section_is_replaced_with_its_heading_up_to_the_next() -> None:
    body = edited(
        Edit(file="SKILL.md", action="replace", heading="stopping", text="## Stopping\n\nRun `tarnctl down --soft`.")
    )
    assert body == BODY[: BODY.index("## Stopping")] + "## Stopping\n\nRun `tarnctl down --soft`.\n"


def test_section_that_is_deleted_takes_its_source_along() -> None:
    applied = apply_edits(DRAFT, [Edit(file="SKILL.md", action="delete", heading="Stopping")])
    assert "plug" not in applied.draft.body
    assert [source.heading for source in applied.draft.sources] == ["Starting"]


def test_description_is_edited_by_its_words() -> None:
    applied = apply_edits(
        DRAFT, [Edit(file="description", action="replace", quote="a tarn is named", text="a tarn or a port is named")]
    )
    assert applied.draft.description == "Starts and stops tarns. Use when a tarn or a port is named."
    longer = apply_edits(DRAFT, [Edit(file="description", action="insert", quote="tarns.", text="Reads ports.")])
    assert longer.draft.description == "Starts and stops tarns. Reads ports. Use when a tarn is named."


def test_reference_is_edited_and_a_new_one_added() -> None:
    applied = apply_edits(
        DRAFT,
        [
            Edit(file="references/ports.md", action="replace", quote="7413", text="7414"),
            Edit(file="references/lamps.md", action="insert", text="Green is good."),
        ],
    )
    assert applied.problems == ()
    assert applied.draft.files["references/ports.md"] == b"# Ports\n\n7414 is the first.\n"
    assert applied.draft.files["references/lamps.md"] == b"Green is good.\n"
    assert applied.draft.files["assets/lamp.png"] == DRAFT.files["assets/lamp.png"]


def test_edits_see_what_those_before_them_left() -> None:
    body = edited(
        Edit(file="SKILL.md", action="replace", quote="Wait for the lamp.", text="Wait a minute."),
        Edit(file="SKILL.md", action="replace", quote="a minute", text="two minutes"),
    )
    assert "Wait two minutes." in body


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (Edit(file="SKILL.md", action="replace", quote="tarnctl", text="x"), "stands there 3 times; quote more of it"),
        (
            Edit(file="SKILL.md", action="replace", quote="Wait for a lamp.", text="x"),
            "the quoted text is not there; the nearest line is “2. Wait for the lamp.”",
        ),
        (
            Edit(file="SKILL.md", action="delete", heading="Ending"),
            "there is no such heading; there are “tarn”, “starting”, “stopping”",
        ),
        (Edit(file="SKILL.md", action="replace", quote="Run", text="x"), "stands there 2 times"),
        (Edit(file="SKILL.md", action="delete"), "it names no place"),
        (Edit(file="SKILL.md", action="insert", quote="Ask", text="```\nls"), "leaves a code block open"),
        (Edit(file="SKILL.md", action="delete", quote="tarnctl up\n```\n"), "leaves a code block open"),
        (Edit(file="SKILL.md", action="replace", quote="Ask", text=" "), "to remove it, delete it"),
        (Edit(file="SKILL.md", action="insert", quote="Ask", text=""), "there is no text to insert"),
        (Edit(file="skill.md", action="replace", quote="Ask", text="x"), "there is no such file; there are"),
        (Edit(file="scripts/up.sh", action="replace", quote="up", text="down"), "programs were run as they are"),
        (Edit(file="scripts/new.sh", action="insert", text="rm -rf /"), "programs were run as they are"),
        (Edit(file="assets/lamp.png", action="insert", text="x"), "it is no text file"),
        (Edit(file="references/../../x.md", action="insert", text="x"), "leads out of its folder"),
        (Edit(file="/etc/x.md", action="insert", text="x"), "is not relative"),
        (Edit(file="references/all.md", action="insert", text="x" * 30_000), "a new file may have 20,000"),
        (Edit(file="evals/evals.json", action="insert", text="x"), "a Markdown file in references/"),
        (Edit(file="description", action="delete", heading="Use"), "the description has no headings"),
        (Edit(file="description", action="delete", quote=DRAFT.description), "nothing would be left of description"),
    ],
)
def test_edit_that_does_not_apply_says_why(edit: Edit, said: str) -> None:
    assert said in problem(edit)


def test_no_file_is_added_where_none_may_be() -> None:
    assert "no such file" in problem(Edit(file="references/new.md", action="insert", text="x"), may_add=False)


def test_skill_is_never_written_anew() -> None:
    said = problem(Edit(file="SKILL.md", action="replace", heading="Tarn", text="# Tarn\n\nBe good."))
    assert "only 8% of the lines of SKILL.md are left" in said
    # Nor bit by bit: what is left is counted from the draft as it was.
    bit_by_bit = [
        Edit(file="SKILL.md", action="replace", quote=line, text=f"Other {number}.")
        for number, line in enumerate(
            [
                "# Tarn",
                "Ask for the port first.",
                "1. Run `tarnctl up`.",
                "2. Wait for the lamp.",
                "Run `tarnctl down`.",
                "Never pull the plug.",
                "## Stopping",
                "# Starting is not a heading here",
            ]
        )
    ]
    applied = apply_edits(DRAFT, bit_by_bit)
    assert len(applied.edits) == 6
    assert len(applied.problems) == 2
    assert "is refused" in applied.problems[0]


def test_few_edits_are_taken() -> None:
    edits = [Edit(file="SKILL.md", action="insert", text=f"Line {number}.") for number in range(MOST_EDITS + 5)]
    applied = apply_edits(DRAFT, edits)
    assert len(applied.edits) == MOST_EDITS
    assert applied.problems == (f"there are 17 edits; at most {MOST_EDITS} are taken: keep those that matter most",)


def test_texts_and_back_is_the_same_draft() -> None:
    assert with_texts(DRAFT, texts_of(DRAFT)) == DRAFT
    assert list(texts_of(DRAFT)) == ["description", "SKILL.md", "references/ports.md", "scripts/up.sh"]


def test_hostile_lengths_are_applied_in_no_time() -> None:
    body = "# Tarn\n" + "# " + " " * 100_000 + "x\n" + "\n".join(f"line {number} " + "y" * 300 for number in range(400))
    draft = Draft(name="x", description="d", body=body)
    edits = [
        Edit(file="SKILL.md", action="replace", quote="z" * 200_000, text="x"),
        Edit(file="SKILL.md", action="delete", heading="#" * 100_000),
        Edit(file="SKILL.md", action="insert", heading="Tarn", text="#" + " " * 100_000),
    ]
    began = time.monotonic()
    apply_edits(draft, edits)
    assert time.monotonic() - began < 5


WORDS = st.text(alphabet="#`~ \n\r\tab.-é", max_size=40)


@given(
    st.lists(
        st.builds(
            Edit,
            file=st.sampled_from(
                ["SKILL.md", "description", "references/ports.md", "references/n.md", "scripts/up.sh"]
            ),
            action=st.sampled_from(["replace", "insert", "delete"]),
            quote=st.none() | WORDS | st.sampled_from(BODY.splitlines()),
            heading=st.none() | WORDS | st.sampled_from(["Starting", "Stopping", "Tarn"]),
            text=WORDS,
        ),
        max_size=6,
    )
)
def test_whatever_is_edited_a_skill_is_left(edits: list[Edit]) -> None:
    applied = apply_edits(DRAFT, edits)
    assert len(applied.edits) + len(applied.problems) == len(edits)
    assert apply_edits(DRAFT, edits) == applied, "the same edits give the same draft"
    assert applied.draft.body.strip()
    assert applied.draft.description.strip()
    assert applied.draft.files["scripts/up.sh"] == DRAFT.files["scripts/up.sh"]
    if not applied.edits:
        assert applied.draft == DRAFT
