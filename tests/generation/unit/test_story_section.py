"""The section "The skill": its text, and the way of a `generate` to it, with hostile text as text."""

from html.parser import HTMLParser
from typing import Any

from upskill.core.nouns.finding import Finding
from upskill.core.runs.skill_copy import FileText, SkillText
from upskill.generation.generated import AttemptSummary, FailedAnswer, StudentScore
from upskill.generation.story import MaterialItem, Step, StoryAttempt, StoryCases, TeachingStory, text_diff
from upskill.report.html.page import skill_section

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{ 7 * 7 }}"
SKILL = SkillText(
    name="quarn",
    description="Facts.",
    digest="d",
    text="---\nname: quarn\n---\n# Facts\n",
    size=400,
    files=(FileText(path="references/more.md", size=40, text="More."), FileText(path="logo.png", size=9, text=None)),
)


class _Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags += [tag, *(name for name, _ in attrs if name.startswith("on"))]

    def handle_data(self, data: str) -> None:
        self.text += data


def attempt(number: int, passed: int, **changes: Any) -> StoryAttempt:
    values: dict[str, Any] = {"number": number, "passed": passed, "of": 5, "chosen": number == 2}
    change = text_diff({"SKILL.md": "old"}, {"SKILL.md": "new"}) if number > 1 else None
    return StoryAttempt(summary=AttemptSummary(**(values | changes)), against="attempt 1", change=change)


def story(**changes: Any) -> TeachingStory:
    values: dict[str, Any] = {
        "task": "read tide gauges",
        "outcome": "saved",
        "decision": "The skill was saved.",
        "teacher": "opus",
        "material": (MaterialItem(kind="document", name="notes.md", size="83 characters"),),
        "cases": StoryCases(learn=5, held_out=8, negative=2, own=3, dropped=("c9 asks the same as c1",)),
        "before": ("haiku: 0% without a skill",),
        "attempts": (attempt(1, 3), attempt(2, 5)),
        "stopped": "every practice case passes",
        "test": Step(title="Held-out test", figure="+40 points", words="95% CI +10 to +70, on 8 held-out cases"),
    }
    return TeachingStory(**(values | changes))


def shown(skill: SkillText | None, told: TeachingStory | None) -> str:
    return " ".join(_Tags(str(skill_section(skill) if told is None else told.section(skill))).text.split())


def test_the_way_from_material_to_decision_comes_first_and_in_order() -> None:
    text = shown(SKILL, story())
    steps = ("Material document", "Cases 15 cases", "Attempts 3/5 → 5/5", "Held-out test +40 points", "Decision Saved")
    places = [text.index(step) for step in steps]
    assert places == sorted(places)
    assert places[-1] < text.index("Attempts on the practice cases")
    assert "5 practice, 8 held-out, 2 unrelated" in text
    assert "attempt 2 of 2 was best" in text


def test_what_was_not_reached_says_so() -> None:
    told = story(attempts=(), test=None, cases=None, outcome="nothing", material=())
    text = shown(None, told)
    for said in ("the task alone", "none yet", "not measured", "not run", "Nothing saved"):
        assert said in text


def test_an_attempt_shows_what_failed_and_what_was_changed() -> None:
    failed = FailedAnswer(
        case_id="port", student="haiku", prompt="Which port?", answer="No idea.", saw=("FAILED contains: 7413",)
    )
    scores = tuple(StudentScore(student=name, passed=2, of=3) for name in ("haiku", "kimi"))
    changed = attempt(2, 4, failures=(failed,), by_student=scores, edits=("insert in SKILL.md at “Facts”",))
    text = shown(None, story(attempts=(attempt(1, 3), changed)))
    for said in ("Which port?", "No idea.", "FAILED contains: 7413", "haiku: 2/3, kimi: 2/3", "insert in SKILL.md"):
        assert said in text
    assert "-old +new" in text
    assert "Changes from attempt 1" in text


def test_the_old_version_that_stays_is_named_with_what_would_have_changed() -> None:
    change = text_diff({"SKILL.md": "a"}, {"SKILL.md": "b"})
    text = shown(SKILL, story(outcome="stays", change=change))
    assert "Decision The old version stays" in text
    assert "What the best draft would have changed" in text


def test_of_many_attempts_the_first_and_the_best_are_in_the_overview() -> None:
    many = tuple(attempt(number, min(number, 5), chosen=number == 7) for number in range(1, 9))
    assert "1/5 → … → 5/5 practice cases passed; attempt 7 of 8 was best" in shown(None, story(attempts=many))


def test_the_text_of_the_skill_and_its_files_are_shown_with_their_size() -> None:
    text = shown(SKILL, None)
    for said in ("# Facts", "SKILL.md ~100 tokens", "references/more.md ~10 tokens", "logo.png 9 bytes, not shown"):
        assert said in text
    assert skill_section(None) == ""


def test_text_of_strangers_is_only_text() -> None:
    failed = FailedAnswer(case_id=HOSTILE, student=HOSTILE, prompt=HOSTILE, answer=HOSTILE, saw=(HOSTILE,))
    finding = Finding(
        rule=HOSTILE, severity="danger", file=HOSTILE, line=1, excerpt=HOSTILE, reason=HOSTILE, remedy=HOSTILE
    )
    told = story(
        task=HOSTILE,
        wish=HOSTILE,
        decision=HOSTILE,
        teacher=HOSTILE,
        case_writer=HOSTILE,
        material=(MaterialItem(kind=HOSTILE, name=HOSTILE, size=HOSTILE),),
        cases=StoryCases(learn=1, held_out=1, negative=1, dropped=(HOSTILE,)),
        before=(HOSTILE,),
        attempts=(attempt(2, 1, failures=(failed,), presentation=HOSTILE, edits=(HOSTILE,)),),
        stopped=HOSTILE,
        test=Step(title="Held-out test", figure=HOSTILE, words=HOSTILE),
        change=text_diff({HOSTILE: "a"}, {HOSTILE: HOSTILE}),
        findings=(finding,),
        saved=HOSTILE,
        notes=(HOSTILE,),
    )
    skill = SkillText(
        name=HOSTILE,
        description=HOSTILE,
        digest="d",
        text=HOSTILE,
        files=(FileText(path=HOSTILE, size=1, text=HOSTILE), FileText(path=HOSTILE, size=1, text=None)),
        note=HOSTILE,
    )
    page = _Tags(str(skill_section(skill) if told is None else told.section(skill)))
    assert not {"script", "img", "onerror"} & set(page.tags)
    assert "{{ 7 * 7 }}" in page.text
    assert "\u202e" not in page.text
