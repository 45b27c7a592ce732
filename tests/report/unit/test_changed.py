"""What changed, as data: the rows in their order, every text once, checks in words, steps and files within bounds."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from report.unit.evaluations import agent_report, arm, report
from report.unit.pages import EVALUATIONS, Parsed, errored, evaluation, logged, page, scored
from upskill.core.nouns import Arm, Evaluation, Trial
from upskill.core.nouns.answer import AgentStep, AgentSteps
from upskill.report.facts import CaseText, LoggedTrial
from upskill.report.html.changed import (
    CHANGES,
    MOST_STEPS,
    SHORTEST,
    STEPS_ROOM,
    Texts,
    changed_data,
    changed_row,
    counted,
    in_order,
    scope,
    steps_for,
)
from upskill.report.wording import arm_titles

ARMS: tuple[Arm, ...] = ("baseline", "with_skill")


def data_of(
    trials: Sequence[Trial] | Sequence[LoggedTrial],
    *,
    cases: Sequence[CaseText] = (CaseText(id="c1", prompt="Which?"),),
    result: Evaluation | None = None,
    expected: int | None = None,
) -> dict[str, Any]:
    given = [one if isinstance(one, LoggedTrial) else logged([one])[0] for one in trials]
    return changed_data(result or evaluation(), cases, given, expected=expected or len(given)).json


def pair(case: str, before: bool, after: bool, repeat: int = 1, **more: Any) -> list[Trial]:
    return [
        scored(before, case=case, arm="baseline", repeat=repeat, **more),
        scored(after, case=case, arm="with_skill", repeat=repeat, **more),
    ]


def test_hurt_comes_first_then_helped_then_what_stayed_then_errors() -> None:
    trials = [
        *pair("stays-passed", True, True),
        *pair("stays-failed", False, False),
        *pair("helped-once", False, True), *pair("helped-once", True, True, 2),
        *pair("helped", False, True), *pair("helped", False, True, 2),
        *pair("hurt", True, False),
        *pair("mixed", True, False), *pair("mixed", False, True, 2),
        errored(case="errored", arm="baseline"), scored(case="errored", arm="with_skill", repeat=1),
    ]  # fmt: skip
    names = list(dict.fromkeys(trial.case_id for trial in trials))
    data = data_of(trials, cases=[CaseText(id=name, prompt="") for name in names])
    shown = [(names[case], CHANGES[change]) for _, case, change, _ in data["rows"]]
    assert shown == [
        ("hurt", "hurt"),
        ("helped", "helped"),
        ("helped-once", "helped"),
        ("mixed", "mixed"),
        ("stays-failed", "failed"),
        ("stays-passed", "passed"),
        ("errored", "errored"),
    ]


def test_the_repeat_that_shows_the_change_is_the_one_to_open() -> None:
    trials = [*pair("c1", True, True, 1), *pair("c1", False, True, 2), *pair("c1", True, True, 3)]
    assert data_of(trials)["rows"] == [[0, 0, CHANGES.index("helped"), 2]]


def test_a_repeat_that_was_scored_on_one_side_only_changes_nothing() -> None:
    trials = [*pair("c1", True, True, 1), scored(False, case="c1", arm="baseline", repeat=2)]
    assert data_of(trials)["rows"] == [[0, 0, CHANGES.index("passed"), 1]]


def test_a_trial_that_does_not_count_does_not_change_a_row() -> None:
    late = [replace(one, counted=False) for one in logged(pair("c1", True, False, 2))]
    data = data_of([*logged(pair("c1", False, True, 1)), *late])
    assert data["rows"] == [[0, 0, CHANGES.index("helped"), 1]]
    assert [trial[-1] for trial in data["trials"]] == [0, 0, {"late": True}, {"late": True}]


def test_the_counts_are_said_in_one_line() -> None:
    rows = in_order(
        changed_row(0, case, {0: {1: before}, 1: {1: after}}, (0, 1))
        for case, (before, after) in enumerate([(0, 1), (0, 1), (1, 0), (1, 1), (0, 0), (2, 1)])
    )
    assert counted(rows, compared=True) == "Helped 2, hurt 1, same 2, errored 1"
    assert counted(rows[:0], compared=True) == "Helped 0, hurt 0, same 0"
    assert scope(12, 4) == "12 cases × 4 models"
    assert scope(1, 1) == "1 case"


def test_of_a_model_without_a_verdict_nothing_is_called_helped_or_hurt() -> None:
    trials = [*pair("better", False, True), *pair("worse", True, False), *pair("same", True, True)]
    result = evaluation(report(verdict="invalid"))
    cases = [CaseText(id=name, prompt="") for name in ("better", "worse", "same")]
    data = data_of(trials, cases=cases, result=result)
    assert data["silent"] == [0]
    assert [CHANGES[row[2]] for row in data["rows"]] == ["differs", "differs", "passed"]
    text = page(result, trials=trials, prompts=dict.fromkeys(("better", "worse", "same"), ""))
    assert "2 differ (no verdict), same 1" in Parsed(text).text
    assert 'value="helped"' not in text


def test_without_a_comparison_failures_come_first_and_nothing_is_called_helped() -> None:
    result = EVALUATIONS["no baseline"]
    trials = [scored(True, case="good"), scored(False, case="bad")]
    cases = [CaseText(id="good", prompt=""), CaseText(id="bad", prompt="")]
    data = data_of(trials, cases=cases, result=result)
    assert data["compared"] is None
    assert [row[1:3] for row in data["rows"]] == [[1, CHANGES.index("failed")], [0, CHANGES.index("passed")]]
    text = page(result, trials=trials, prompts={"good": "", "bad": ""})
    assert "Passed 1, failed 1, mixed 0" in Parsed(text).text
    assert 'value="hurt"' not in text


def test_the_sides_have_the_names_of_the_headline() -> None:
    previous = report(arms=(arm("previous"), arm("with_skill")))
    beside = report(arms=(arm("baseline"), arm("with_skill"), arm("ceiling")))
    for student, titles in (
        (report(), ("without the skill", "with the skill")),
        (previous, ("old version", "new version")),
        (agent_report(), ("without the skill", "with the skill offered", "with the skill given")),
        (beside, ("without the skill", "with the skill", "with the passage itself")),
    ):
        assert arm_titles(evaluation(student), [one.arm for one in student.arms]) == titles
    assert arm_titles(replace(evaluation(), students=()), []) == ()


def test_the_verdict_of_agents_compares_with_the_skill_that_was_offered() -> None:
    data = data_of([], result=evaluation(agent_report()))
    assert data["arms"][data["compared"][1]] == ["offered", "with the skill offered"]
    assert data["tools"] is True


def test_every_trial_is_there_and_each_text_once() -> None:
    trials = [scored(repeat=repeat, arm=arm) for repeat in (1, 2, 3) for arm in ARMS]
    data = data_of(trials)
    assert len(data["trials"]) == 6
    assert sorted(data["texts"]) == sorted(["Which?", "It is 9.0.", "found", "not there"])
    assert len(data["grades"]) == 1


def test_a_model_that_a_run_does_not_know_is_left_out() -> None:
    assert data_of([scored(student="ghost")])["trials"] == []


def test_a_check_is_shown_with_what_it_asks_for() -> None:
    case = CaseText(id="c1", prompt="", checks=(("command", "make check\nexits with 0"),))
    data = data_of([scored()], cases=[case])
    ((kind, said),) = data["cases"][0][6]
    assert kind == "command"
    assert data["texts"][said] == "make check\nexits with 0"


def test_a_changed_file_comes_with_what_the_case_gave() -> None:
    case = CaseText(id="c1", prompt="", files={"a.txt": b"old\n", "untouched.txt": b"same\n"})
    trial = replace(scored(), files={"a.txt": b"new\n", "picture": b"\0\1", "long": b"x" * 40_000})
    data = data_of([trial], cases=[case])
    files, count = data["trials"][0][-1]["files"]
    assert count == 3
    assert [[path, size, number >= 0] for path, size, number in files] == [
        ["a.txt", 4, True],
        ["long", 40_000, False],
        ["picture", 2, False],
    ]
    ((number, path, text),) = data["originals"]
    assert (number, path, data["texts"][text]) == (0, "a.txt", "old\n")


def test_files_of_very_many_trials_are_named_and_not_shown() -> None:
    trial = replace(scored(), files={f"{number:02}.txt": b"text\n" for number in range(60)})
    for expected, named, shown in ((1, 50, 10), (20_000, 5, 0)):
        files, count = data_of([trial], expected=expected)["trials"][0][-1]["files"]
        assert (len(files), count) == (named, 60)
        assert sum(number >= 0 for _, _, number in files) == shown


def test_steps_come_with_their_gap_and_without_the_answer_again() -> None:
    tool = AgentStep(kind="tool", tool="shell", arguments="ls", output="", failed=True, seconds=0.26)
    steps = AgentSteps(first=(tool,), last=(AgentStep(kind="says", text="It is 9.0."),), left_out=7)
    data = data_of([LoggedTrial(trial=scored(), line=1, steps=steps)])
    ((shown,), gap) = data["trials"][0][-1]["steps"]
    assert gap == [1, 7]
    assert shown[0] == "shell"
    assert data["texts"][shown[1]] == "ls"
    assert shown[2:] == [-1, True, 0.3]


def test_steps_of_very_many_agents_are_not_read() -> None:
    assert steps_for(36) == MOST_STEPS
    assert 4 <= steps_for(1_000) < MOST_STEPS
    assert steps_for(20_000) == 0


def test_steps_of_many_agents_stay_within_their_room() -> None:
    trials = [
        LoggedTrial(
            trial=scored(repeat=number),
            line=number,
            steps=AgentSteps(
                first=tuple(
                    AgentStep(
                        kind="tool", tool="shell", arguments=f"{number}/{step} " * 200, output=f"{step}{number}" * 900
                    )
                    for step in range(steps_for(500))
                )
            ),
        )
        for number in range(1, 501)
    ]
    assert len(json.dumps(data_of(trials))) < STEPS_ROOM + 2_500_000


def test_long_texts_share_the_room_and_short_ones_stay_whole() -> None:
    texts = Texts()
    short, long = texts.add("short"), [texts.add(f"{number}" * 5000) for number in range(8)]
    cut = texts.cut_to(10_000)
    assert cut[short] == "short"
    for number in long:
        entry = cut[number]
        assert isinstance(entry, list)
        beginning, length = entry
        assert length == 5000
        assert 1_000 < len(str(beginning)) < 1_300


def test_no_text_is_cut_to_nothing() -> None:
    texts = Texts()
    for number in range(50):
        texts.add(f"{number} " * 400)
    assert all(isinstance(entry, list) and len(str(entry[0])) == SHORTEST for entry in texts.cut_to(1_000))


def test_two_long_texts_with_one_beginning_stay_two() -> None:
    texts = Texts(longest=10)
    assert texts.add("a" * 11) != texts.add("a" * 12)
    assert texts.cut_to(1_000) == [["a" * 10, 11], ["a" * 10, 12]]


def test_a_cut_answer_says_where_the_whole_is() -> None:
    trials = [scored(repeat=repeat, answer=f"{repeat}" * 9_000) for repeat in range(1, 400)]
    data = json.loads(Parsed(page(trials=trials)).scripts[0][1])
    cut = [text for text in data["texts"] if isinstance(text, list)]
    assert len(cut) == 399
    assert [trial[7] for trial in data["trials"]] == list(range(1, 400))


def test_without_scripts_there_is_a_table_in_the_same_order() -> None:
    trials = [*pair("c1", True, True), *pair("c2", True, False)]
    result = evaluation(report())
    text = Parsed(page(result, trials=trials, prompts={"c1": "", "c2": ""})).text
    assert text.index("c2") < text.index("c1")
    assert "✓" in text
