"""Which files of a skill came back to a student: only what it could not know otherwise counts."""

from upskill.core.nouns import SkillUse
from upskill.core.trials.trajectory import OtherMark, SkillWatch, marks_of

CONTENTS = {
    "SKILL.md": b"---\nname: thing\n---\nAsk the harbour master first.\nThe same line in two files.\nshort\n",
    "references/ports.md": b"Port 7413 belongs to the tarn.\nThe same line in two files.\n",
    "data.bin": bytes(range(256)),
}


def watch(known: str = "", *, given: bool = False) -> SkillWatch:
    return SkillWatch(marks_of(CONTENTS), folder="/skills/thing", called="/skills/thing", given=given, known=known)


def test_a_line_that_stands_in_two_files_tells_of_neither() -> None:
    watching = watch()
    watching.ran("cat x", "The same line in two files.\nshort\nname: thing", well=True)
    assert watching.use() == SkillUse(listed=True, loaded=False, files=())


def test_a_line_that_the_student_was_told_anyway_tells_nothing() -> None:
    watching = watch(known="Please: Ask the harbour master first. name: thing")
    watching.ran("echo", "Ask the harbour master first.", well=True)
    assert not watching.use().loaded


def test_files_are_named_in_the_order_of_first_use() -> None:
    watching = watch()
    watching.ran(
        "grep -rn tarn /skills", "/skills/thing/references/ports.md:1:Port 7413 belongs to the tarn.", well=True
    )
    watching.read("/skills/thing/SKILL.md")
    watching.read("/skills/thing/references/ports.md")
    watching.read("/skills/thing/missing.md")
    watching.read("/elsewhere/SKILL.md")
    assert watching.use().files == ("references/ports.md", "SKILL.md")


def test_a_file_that_a_failing_command_names_was_not_run() -> None:
    watching = watch()
    watching.ran("sh /skills/thing/data.bin", "cannot execute", well=False)
    watching.ran("sh /skills/thing/data.bin2", "", well=True)
    watching.ran("cat data.bin", "", well=True)
    assert watching.use().files == ()
    watching.ran("sh /skills/thing/data.bin", "", well=True)
    assert watching.use().files == ("data.bin",)


def test_to_name_skill_md_is_not_to_read_it() -> None:
    watching = watch()
    watching.ran("ls -la /skills/thing/SKILL.md", "-r--r--r-- 1 root root 90 /skills/thing/SKILL.md", well=True)
    assert watching.use() == SkillUse(listed=True, loaded=False, files=())
    assert watch(given=True).use() == SkillUse(listed=False, loaded=True, files=(), turn=0)


def test_a_load_is_of_the_turn_in_which_its_result_came_back() -> None:
    watching = watch()
    watching.end_turn(1)
    assert watching.use().turn is None
    watching.read("/skills/thing/SKILL.md")
    watching.end_turn(2)
    watching.end_turn(3)
    assert watching.use().turn == 2


OTHERS = {
    "other": OtherMark("/skills/other/SKILL.md", ("Measure the depth of the lock twice.",)),
    "rival": OtherMark("/skills/rival/SKILL.md", ("Raise the sluice before noon.",)),
}


def test_other_skills_that_were_loaded_are_named_in_the_order_of_loading() -> None:
    watching = SkillWatch(
        marks_of(CONTENTS), folder="/skills/thing", called="/skills/thing", given=False, known="", others=OTHERS
    )
    watching.read("/skills/rival/../rival/SKILL.md")
    watching.ran("ls /skills/other/SKILL.md", "/skills/other/SKILL.md", well=True)
    assert watching.use() == SkillUse(listed=True, loaded=False, others=("rival",), others_listed=2)
    watching.ran("cat", "---\nMeasure the depth of the lock twice.", well=True)
    assert watching.use() == SkillUse(listed=True, loaded=False, others=("rival", "other"), others_listed=2)


def test_without_a_measured_skill_only_other_skills_can_be_loaded() -> None:
    watching = SkillWatch({}, folder="", called="", given=False, known="", others=OTHERS)
    watching.read("/skills/other/SKILL.md")
    watching.read("SKILL.md")
    watching.ran("cat SKILL.md", "Ask the harbour master first.", well=True)
    assert watching.use() == SkillUse(listed=False, loaded=False, others=("other",), others_listed=2)
