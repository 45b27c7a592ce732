"""Whether the listing of an agent has a skill with its description, and how a cut listing is told."""

import pytest

from upskill.agents.claude_code import TOOLS
from upskill.agents.traffic import SkillMarks, Traffic
from upskill.core.nouns import SkillUse

LONG = "Works with tarns. Use when the user has a tarn, a lake or a harbour that must be measured, drawn or renamed."
TARN = SkillMarks(name="tarn", description=LONG, lines=("A line of the tarn that nothing else has, not even this.",))
RIVAL = SkillMarks(name="tarn-rival", description=LONG, lines=("A line of the rival, as long as it must be here.",))
FORMS = {
    "lines": "## Skills\n- {name}: {description} (file: r0/{name}/SKILL.md)\n",
    "plain": "- {name}: {description}\n",
    "tags": "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n  </skill>\n",
}


def listing(form: str, *entries: tuple[str, str]) -> str:
    return "".join(FORMS[form].format(name=name, description=description) for name, description in entries)


def traffic(skill: SkillMarks | None = TARN) -> Traffic:
    return Traffic(tools=TOOLS, prompt="?", skill=skill, others=(RIVAL,))


@pytest.mark.parametrize("form", FORMS)
def test_a_skill_is_listed_with_its_own_description_and_not_with_that_of_another(form: str) -> None:
    whole = traffic()
    whole.lists(listing(form, ("tarn", LONG), ("tarn-rival", LONG)))
    assert whole.use == SkillUse(listed=True, loaded=False, others_listed=1)
    assert not whole.listing_cut

    cut = traffic()
    cut.lists(listing(form, ("tarn", LONG[:70]), ("tarn-rival", LONG)))
    assert cut.use == SkillUse(listed=True, loaded=False, shortened=True, others_listed=1)

    named = traffic()
    named.lists(f"- tarn\n{listing(form, ('tarn-rival', LONG))}" if form != "tags" else listing(form, ("tarn", "")))
    assert named.use is not None
    assert not named.use.listed


def test_a_listing_that_was_cut_says_how_many_have_a_description_and_which_is_the_first_without() -> None:
    told = traffic()
    told.lists(listing("plain", ("tarn", LONG)) + "- tarn-rival\n")
    assert told.listing_cut == (
        "its list was cut: 1 of 2 skills have a description in it, and number 2 by name is the first without"
    )
    told.lists(listing("plain", ("tarn", LONG), ("tarn-rival", LONG)))
    assert told.use == SkillUse(listed=True, loaded=False, others_listed=0), "the first listing is what chose"


def test_without_the_skill_the_other_skills_are_counted_too() -> None:
    alone = traffic(None)
    alone.lists(listing("lines", ("tarn-rival", LONG)))
    assert alone.use == SkillUse(listed=False, loaded=False, others_listed=1)
    assert Traffic(tools=TOOLS, prompt="?", skill=None).use is None
