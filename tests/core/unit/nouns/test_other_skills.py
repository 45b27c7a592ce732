"""What is typed after `--among`, and how the other skills are named for people."""

import pytest

from upskill.core.nouns.skill import Among, OtherSkill, OtherSkills, read_among
from upskill.errors import UsageError

ONE = OtherSkill(name="one", digest="d", source="shipped")


def test_a_number_bundled_and_folders_can_be_combined() -> None:
    among = read_among(["20", "./skills", "bundled", "more", "./skills"])
    assert among == Among(shipped=20, folders=("./skills", "more"), bundled=True)
    assert among
    assert not read_among([])


@pytest.mark.parametrize("words", [["0"], ["-3"], ["3", "4"], [""]])
def test_what_is_no_number_of_skills_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--among"):
        read_among(words)


def test_people_read_how_many_there_are() -> None:
    assert OtherSkills(skills=(ONE,), shipped=1).words == "among 1 other skill"
    assert OtherSkills(skills=(ONE, ONE), bundled=True).words == "among 2 other skills and the agent's bundled skills"
    assert OtherSkills(bundled=True).words == "among the agent's bundled skills"
