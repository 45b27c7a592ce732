"""The corpus of bad and good skills can be read. Says nothing about which of them a search finds."""

from pathlib import Path

import pytest

from skill_corpus.entries import KINDS, CorpusSkill, bad_skills, good_skills
from upskill.core.skills.skills import read_skill
from upskill.errors import SkillInvalid

EVERY = (*bad_skills(), *good_skills())


def test_there_are_sixty_bad_and_sixty_good_skills_of_different_names() -> None:
    assert (len(bad_skills()), len(good_skills())) == (60, 60)
    assert len({skill.name for skill in EVERY}) == 120


@pytest.mark.parametrize("skill", EVERY, ids=lambda skill: skill.name)
def test_a_skill_of_the_corpus_is_valid_and_carries_its_own_name(skill: CorpusSkill, tmp_path: Path) -> None:
    folder = skill.write(tmp_path)
    assert skill.why
    if "link-out-of-folder" in skill.kinds:
        with pytest.raises(SkillInvalid) as raised:
            read_skill(folder)
        assert [problem.split(":")[0] for problem in raised.value.problems] == sorted(skill.links)
        return
    read = read_skill(folder)
    assert (read.name, read.notes) == (skill.name, ())
    assert [file.path for file in read.files] == sorted({**skill.files, **skill.links})


def test_every_bad_skill_has_known_kinds_and_every_kind_is_used() -> None:
    assert all(skill.kinds for skill in bad_skills())
    assert {kind for skill in bad_skills() for kind in skill.kinds} == KINDS
    assert not any(skill.kinds for skill in good_skills())
