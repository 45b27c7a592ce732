"""A body in sections: what is not changed stays byte for byte."""

from hypothesis import given
from hypothesis import strategies as st

from upskill.core.skills.markdown import Section, join_body, split_body, tidy_section

bodies = st.lists(
    st.sampled_from(
        [
            "## A\n",
            "## B ##\r\n",
            "##C\n",
            "# T\n",
            "text\n",
            "\n",
            "\r\n",
            "```\n",
            "~~~~\n",
            "### D\n",
            " x",
            "\f",
            "\u2028",
        ]
    ),
    max_size=12,
).map("".join)


@given(bodies)
def test_a_body_that_is_split_and_joined_is_the_same(body: str) -> None:
    assert join_body(split_body(body)) == (body if body.strip() else "")


@given(bodies, st.integers(min_value=0, max_value=5))
def test_changing_one_section_leaves_the_others_as_they_stood(body: str, number: int) -> None:
    sections = list(split_body(body))
    if number >= len(sections):
        return
    kept = [section for index, section in enumerate(sections) if index != number]
    sections[number] = Section(heading="New", text="new")
    changed = join_body(sections)
    assert "## New\n\nnew\n" in changed
    assert all((section.raw or "").strip() in changed for section in kept)


def test_a_heading_in_a_code_block_is_none() -> None:
    body = "lead\n\n## One\n\n```sh\n## not one\n```\n\n## Two ##\ntext\n"
    assert [section.heading for section in split_body(body)] == ["", "One", "Two"]
    assert split_body(body)[2].text == "text"


def test_a_section_is_tidied() -> None:
    assert tidy_section("## Steps\n", "## Steps\n\n```sh\nmake") == Section(heading="Steps", text="```sh\nmake\n```")
    assert tidy_section("", "```markdown\ntext\n```") == Section(heading="", text="text")
    assert tidy_section("A", "````\n```\n").text == "````\n```\n````"
