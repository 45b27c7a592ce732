"""The comment on a pull request: what it says first, what is below, and that no foreign text acts in it."""

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from markdown_it import MarkdownIt

from report.unit.evaluations import ANY, arm, errored, evaluation, lift, report, scored
from upskill.core.nouns import Arm, Evaluation, Interval, Purchase, Skill, SkillFile, StudentReport, Trial
from upskill.core.nouns.evaluation import BrokenCase, ComparedSkill
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import changed_parts
from upskill.report.cases import worse_cases
from upskill.share.comment import MARKER, MOST_CHARACTERS, comment_text

HOSTILE = [
    "a|b",
    "`code`",
    "@someone",
    "see #12 and owner/repo#3",
    "<img src=x onerror=alert(1)>",
    "[link](https://evil.example)",
    "![picture](https://evil.example/x.png)",
    "https://evil.example/x www.evil.example",
    "</summary></details><script>x</script>",
    "two\nlines\n\n# heading",
    "<!-- upskill --> -->",
    "**bold** _under_ ~~gone~~ $x$",
    "\u202egnp.exe",
    "x" * 5_000,
    "```\nfence",
    "a\\",
    "it's @someone",
]
SIDES: tuple[Arm, Arm] = ("previous", "with_skill")
RENDERER = MarkdownIt("commonmark", {"html": True}).enable("table")


def skill(name: str = "tarnctl", **changes: Any) -> Skill:
    files = (SkillFile(path="SKILL.md", size=9, sha256="1"), SkillFile(path="scripts/run.sh", size=9, sha256="2"))
    values = {"name": name, "description": "d", "body": "b", "digest": "5f" * 32, "files": files}
    return Skill(**(values | changes))


def compared_report(verdict: str, mean: float, **changes: Any) -> StudentReport:
    ends = Interval(low=mean - 0.2, high=mean + 0.2)
    measured = lift(against="previous", mean=mean, interval=ends, rate=0.5 + mean, rate_against=0.5)
    values: dict[str, Any] = {
        "verdict": verdict,
        "arms": (arm("previous"), arm("with_skill")),
        "lifts": (measured,),
    }
    return report(**(values | changes))


def changed(verdict: str, mean: float, name: str = "tarnctl", **changes: Any) -> ComparedSkill:
    measured = evaluation(compared_report(verdict, mean), skill=skill(name))
    values: dict[str, Any] = {
        "folder": f"skills/{name}",
        "name": name,
        "evaluation": measured,
        "compared_with": f"git:{'1a2b3c4d' * 5}",
        "changed": ("body",),
    }
    return ComparedSkill(**(values | changes))


WORSE = changed("hurts", -0.3)
BETTER = changed("helps", 0.3, "invoices")
UNDECIDED = changed("undecided", 0.05, "notes")
BREAKS = changed(
    "undecided",
    -0.1,
    "ropes",
    evaluation=evaluation(
        compared_report(
            "undecided",
            -0.1,
            broken=tuple(BrokenCase(case_id=case_id, answers=8, passed=0, passed_before=8) for case_id in ("c1", "c2")),
        ),
        skill=skill("ropes"),
        design="gate",
    ),
)
NEW = ComparedSkill(folder="skills/new", name="new", evaluation=evaluation(skill=skill("new")), is_new=True)
BROKEN = ComparedSkill(
    folder="skills/broken", name="broken", state="failed", problem="broken: there are no cases", hint="write some"
)
SAME = ComparedSkill(folder="skills/same", name="same", state="unchanged")


def _without_verdict(skill: ComparedSkill) -> Evaluation:
    assert skill.evaluation is not None
    students = tuple(replace(one, verdict="invalid") for one in skill.evaluation.students)
    return replace(skill.evaluation, students=students)


LOST_GATE = _without_verdict(BREAKS)


def finding(severity: Any = "danger", **changes: Any) -> Finding:
    values = {"rule": "pipe-to-shell", "severity": severity, "file": "SKILL.md", "line": 12, "excerpt": "curl x | sh"}
    return Finding(**(values | {"reason": "It runs a program that it has downloaded.", "remedy": "r"} | changes))


def title(*skills: ComparedSkill) -> str:
    marker, heading, *_ = comment_text(skills).splitlines()
    assert marker == MARKER
    return heading.removeprefix("### upskill: ")


@pytest.mark.parametrize(
    ("skills", "said"),
    [
        ((BETTER, WORSE), "1 of 2 skills got worse"),
        ((WORSE,), "1 skill got worse"),
        ((BREAKS,), "1 skill breaks 2 cases (c1 and 1 more)"),
        (
            (WORSE, BREAKS, BETTER, BROKEN),
            "1 of 4 skills breaks 2 cases (c1 and 1 more), 1 got worse, 1 could not be measured",
        ),
        ((BREAKS, replace(BREAKS, name="knots"), SAME), "2 skills break 4 cases (c1 and 3 more)"),
        ((replace(BREAKS, evaluation=LOST_GATE),), "1 skill could not be measured"),
        ((WORSE, BETTER, BROKEN), "1 of 3 skills got worse, 1 could not be measured"),
        ((BROKEN, BETTER), "1 of 2 skills could not be measured"),
        ((BETTER, UNDECIDED, SAME), "1 of 2 skills got better, none is shown to be worse"),
        ((NEW,), "1 skill helps, none is shown to be worse"),
        ((NEW, NEW), "2 skills help, none is shown to be worse"),
        ((UNDECIDED,), "1 skill measured, none is shown to be worse"),
        ((replace(NEW, evaluation=evaluation(report(verdict="hurts"))),), "1 skill hurts"),
        ((SAME,), "no skill was measured"),
        ((), "no skill was measured"),
    ],
)
def test_the_title_says_first_what_got_worse(skills: tuple[ComparedSkill, ...], said: str) -> None:
    assert title(*skills) == said


def test_the_table_has_the_worst_row_first_and_a_dumbbell_in_each() -> None:
    text = comment_text([BETTER, NEW, UNDECIDED, WORSE])
    rows = [line.replace("\u00a0", " ") for line in text.splitlines() if line.startswith("| ")][1:]
    assert rows[0] == "| tarnctl | haiku | ▼ hurts | `····●━━━━━○··········` | 50% → 20% | −30 (−50 to −10) |"
    assert [row.split(" | ")[0] for row in rows] == ["| tarnctl", "| notes", "| invoices", "| new (new)"]
    assert "○ at git:1a2b3c4d, ● with this change; new skills: ○ without the skill" in text
    assert "**tarnctl got worse for haiku: from 50% to 20%, −30 points (95% CI −50 to −10).**" in text


def test_a_broken_case_stands_above_whatever_the_lift_is() -> None:
    text = comment_text([BETTER, WORSE, BREAKS])
    rows = [line.replace("\u00a0", " ") for line in text.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[2] for row in rows] == ["▼ breaks", "▼ hurts", "▲ helps"]
    assert "**ropes breaks 2 of 6 cases (c1, c2) for haiku: from 50% to 40%, −10 points (95% CI −30 to +10).**" in text


def test_what_changed_is_named_by_part() -> None:
    before = skill(description="other", files=(skill().files[0], SkillFile(path="a.md", size=1, sha256="9")))
    assert changed_parts(before, skill()) == ("description", "a.md (deleted)", "scripts/run.sh (added)")
    assert changed_parts(skill(body="old"), skill()) == ("body",)
    frontmatter = tuple(replace(file, sha256="7" if file.path == "SKILL.md" else "2") for file in skill().files)
    assert changed_parts(skill(files=frontmatter), skill()) == ("frontmatter",)
    assert changed_parts(skill(), skill()) == ()
    assert "- tarnctl: body\n" in comment_text([WORSE])
    assert "What changed" not in comment_text([NEW])


def trials() -> list[Trial]:
    """Two repeats in both arms: `drops` from 2 to 0, `slips` from 2 to 1, `stays`, and `gains`."""
    passes = {"drops": (2, 0), "slips": (2, 1), "stays": (1, 1), "gains": (0, 2)}
    made = [
        scored(repeat <= number, case=case, arm=name, repeat=repeat)
        for case, both in passes.items()
        for name, number in zip(SIDES, both, strict=True)
        for repeat in (1, 2)
    ]
    return [*made, scored(case="alone", arm="previous"), errored(case="alone"), scored(False, student="nobody")]


def test_cases_that_pass_less_often_are_named_the_largest_drop_first() -> None:
    assert WORSE.evaluation is not None
    found = worse_cases(WORSE.evaluation, trials())
    assert [(one.case_id, one.before, one.after, one.pairs) for one in found] == [
        ("drops", 2, 0, 2),
        ("slips", 2, 1, 2),
    ]
    text = comment_text([WORSE], trials_of=lambda _: trials())
    assert "2 cases of tarnctl pass less often than before" in text
    assert "- drops (haiku): 2 of 2 passed, now 0\n- slips (haiku): 2 of 2 passed, now 1\n" in text


def test_lint_is_counted_and_dangers_are_named_first() -> None:
    found = (finding("caution"), finding("danger"))
    text = comment_text([replace(BETTER, findings=found)])
    assert "**Lint**: 1 danger, 1 caution" in text
    assert "- danger pipe-to-shell in skills/invoices/SKILL.md:12: It runs a program" in text
    assert "Lint found a danger in invoices: read it before you merge." in text
    assert "no findings in 1 skill. That does not mean safe." in comment_text([replace(BETTER, findings=())])
    assert "Lint" not in comment_text([BETTER])


def test_what_was_not_measured_says_why() -> None:
    text = comment_text([BROKEN, SAME, BETTER])
    assert "**Not measured**\n\n- broken: there are no cases; write some\n- unchanged: same\n" in text


def test_a_requirement_that_is_not_met_is_said() -> None:
    required = replace(evaluation(compared_report("undecided", 0.1)), required="helps")
    text = comment_text([replace(UNDECIDED, evaluation=required)])
    assert "notes: not met: --require helps, haiku is undecided." in text


def priced(calls: int, cost: float | None, reused: int) -> ComparedSkill:
    bought = Purchase(calls=calls, failed_calls=0, tokens=10, cost=cost, reused=reused)
    return replace(BETTER, evaluation=evaluation(compared_report("helps", 0.3), bought=bought))


def test_the_cost_of_this_push_is_summed_over_the_skills() -> None:
    text = comment_text([priced(20, 0.5, 4), priced(0, None, 36), BROKEN])
    assert "This push: 20 calls (\\$0.50), 40 answers from the cache." in text
    assert "24 calls (price unknown)" in comment_text([priced(20, 0.5, 4), priced(4, None, 0)])


def test_the_address_of_the_report_cannot_end_its_link() -> None:
    text = comment_text([BETTER], report_url="https://github.com/o/r/x> y")
    assert text.endswith("[Reports, with every answer](<https://github.com/o/r/x%3Ey>)\n")


def everywhere(text: str) -> list[ComparedSkill]:
    """A skill whose every name, path and reason is this text."""
    model = compared_report("hurts", -0.3, student=replace(report().student, name=text))
    measured = evaluation(model, skill=skill(text))
    found = finding(file=text, reason=text, rule=text, excerpt=text)
    whole = changed("hurts", -0.3, text, evaluation=measured, compared_with=text, changed=(text,), findings=(found,))
    return [
        replace(whole, folder=text),
        ComparedSkill(folder=text, name=text, state="failed", problem=text),
        ComparedSkill(folder=text, name=text, state="unchanged"),
    ]


def hostile_comment(text: str, *, times: int = 1) -> str:
    """A comment in which this text is also the name of a model and of a case."""
    sides = zip(SIDES, (True, False), strict=True)
    runs = [scored(passed, student=text, case=text, arm=name) for name, passed in sides]
    return comment_text([one for _ in range(times) for one in everywhere(text)], trials_of=lambda _: runs)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_is_only_text(text: str) -> None:
    written = hostile_comment(text)
    plain = RENDERER.render(hostile_comment("plain"))
    rendered = RENDERER.render(written)
    assert re.findall(r"</?[a-zA-Z]\w*", rendered) == re.findall(r"</?[a-zA-Z]\w*", plain)
    assert written.count(MARKER) == 1
    shown = unescape(re.sub(r"<[^>]*>", "", rendered))
    assert not re.search(r"[@#]\w", shown)
    assert not re.search(r"https?://|www\.", written)
    assert "\u202e" not in written


def test_a_change_of_very_many_skills_fits_and_says_what_is_left_out() -> None:
    text = hostile_comment("@a" * 40, times=60)
    assert len(text) <= MOST_CHARACTERS
    assert "more rows are in the report" in text
    assert "The rest is left out because the comment would be too long" in text


@pytest.mark.parametrize("measured", ANY, ids=range(len(ANY)))
def test_every_kind_of_result_can_be_commented(measured: Evaluation) -> None:
    text = comment_text([ComparedSkill(folder="skills/x", name="x", evaluation=measured)])
    assert text.startswith(f"{MARKER}\n### upskill: ")
    assert "None" not in text
