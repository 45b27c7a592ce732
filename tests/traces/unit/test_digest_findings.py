"""What is found in a trace: errors and their fixes, words of the person, proofs, dead ends, facts."""

import json

import pytest

from made_work import Made
from upskill.traces.digest import Digester
from upskill.traces.trace import Finding, FindingKind, Trace

UNDEFINED = 'softmax.cu(12): error: identifier "__shfl_down" is undefined\nmake: *** [Makefile:4: test] Error 1'


def findings_in(trace: Trace) -> list[Finding]:
    digesting = Digester(budget=1_000_000, clean=str)
    digesting.add(trace, name="work")
    return sorted(digesting.digest().kept, key=_steps)


def _found(made: Made, kind: FindingKind) -> list[Finding]:
    return [finding for finding in findings_in(made.trace()) if finding.kind == kind]


def _text(finding: Finding) -> str:
    return "\n".join([finding.title, *(f"{part.label}: {part.text}" for part in finding.parts)])


def _steps(finding: Finding) -> list[int]:
    return [step for place in finding.places for step in place.steps]


def test_a_failed_call_an_edit_and_a_passing_rerun_are_a_fix() -> None:
    made = (
        Made()
        .person("Write the kernel.")
        .bash("make test", UNDEFINED, failed=True)
        .edit("/home/dev/project/softmax.cu", "__shfl_down(v, o)", "__shfl_down_sync(0xffffffff, v, o)")
        .bash("cd /home/dev/project && make test 2>&1 | tail -3", "PASS 12/12")
        .agent("The unsynced intrinsic was removed.")
    )
    (fix,) = _found(made, "fix")
    assert fix.title == '`make test` failed: softmax.cu(12): error: identifier "__shfl_down" is undefined'
    assert _steps(fix) == [2, 3, 4]
    assert "-__shfl_down(v, o)\n+__shfl_down_sync(0xffffffff, v, o)" in _text(fix)
    assert "PASS 12/12" in _text(fix)
    assert "the agent said: The unsynced intrinsic was removed." in _text(fix)
    assert "/home/dev" not in _text(fix)
    assert fix.marked
    assert _found(made, "dead end") == []


def test_an_unrelated_pass_fixes_nothing() -> None:
    made = Made().bash("pytest tests/a.py", "E   AssertionError: 1", failed=True).bash("pytest tests/b.py", "1 passed")
    assert _found(made, "fix") == []
    (dead,) = _found(made, "dead end")
    assert "never seen to pass" in dead.title


def test_a_rerun_that_passes_with_nothing_changed_says_so() -> None:
    made = Made().bash("make test", UNDEFINED, failed=True).bash("make test", "PASS")
    (fix,) = _found(made, "fix")
    assert "changed: nothing that the recording shows" in _text(fix)


def test_the_change_can_be_in_the_command_itself() -> None:
    made = (
        Made()
        .bash("cmake -B b", "CMake Error at CMakeLists.txt:14 (find_package):\n  Could not find Treadle", failed=True)
        .bash("cmake -B b -DTreadle_DIR=/opt/t", "-- Configuring done")
    )
    (fix,) = _found(made, "fix")
    assert "Could not find Treadle" in fix.title
    assert "-DTreadle_DIR=/opt/t" in _text(fix)
    assert "nothing that the recording shows" not in _text(fix)


def test_an_installed_package_is_the_change() -> None:
    made = (
        Made()
        .bash("python run.py", "ModuleNotFoundError: No module named 'torch'", failed=True)
        .bash("pip install torch", "Successfully installed")
        .bash("python3 run.py", "ok")
    )
    (fix,) = _found(made, "fix")
    assert "changed: $ pip install torch" in _text(fix)


def test_the_same_error_several_times_is_one_fix_and_the_edits_before_are_dead_ends() -> None:
    made = Made().bash("make test", UNDEFINED, failed=True)
    for name in ("a.cu", "b.cu"):
        made.edit(f"/home/dev/project/{name}", "x", "y").bash("make test", UNDEFINED.replace("12", "13"), failed=True)
    made.edit("/home/dev/project/c.cu", "old", "new").bash("make test", "PASS")
    (fix,) = _found(made, "fix")
    assert "failed 3 times" in _text(fix)
    assert "c.cu" in _text(fix)
    assert "a.cu" not in _text(fix)
    dead = _found(made, "dead end")
    assert [finding.title.split(" did not")[0] for finding in dead] == [
        "an edit of <project>/a.cu",
        "an edit of <project>/b.cu",
    ]


def test_a_line_that_changes_something_and_runs_it_again_is_the_change() -> None:
    made = (
        Made()
        .bash("make test", "a.c:1: error: no semicolon", failed=True)
        .bash("sed -i 's/x/x;/' a.c && make test", "b.c:2: error: no brace", failed=True)
        .bash("ls; make test", "c.c:3: error: no name", failed=True)
        .bash("make test", "ok")
    )
    first, *_ = found = _found(made, "fix")
    assert "$ sed -i 's/x/x;/' a.c && make test" in _text(first)
    assert [one for one in found if "no brace" in one.title] == [], "nothing was changed, as far as is shown"


def test_an_error_that_gives_way_to_another_was_fixed_too() -> None:
    made = (
        Made()
        .bash("make test", "a.c:1: error: no semicolon", failed=True)
        .edit("a.c", "x", "x;")
        .bash("make test", "b.c:2: error: no brace", failed=True)
        .edit("b.c", "{", "{}")
        .bash("make test", "ok")
    )
    first, second = _found(made, "fix")
    assert "no semicolon" in first.title
    assert "got further and failed with: b.c:2: error: no brace" in _text(first)
    assert "no brace" in second.title
    assert first.points < second.points


def test_the_edit_of_a_subagent_can_be_the_fix() -> None:
    child = Made().person("Fix it").edit("/home/dev/project/k.cu", "bad", "good").agent("done")
    made = (
        Made()
        .bash("make test", UNDEFINED, failed=True)
        .call("Task", '{"prompt": "Fix it"}', "done")
        .below(child)
        .bash("make test", "PASS")
    )
    (fix,) = _found(made, "fix")
    assert "-bad\n+good" in _text(fix)
    assert ("subagent 1", (2,)) in [(place.thread, place.steps) for place in fix.places]
    assert _found(made, "task") == [], "what a subagent is told are not the person's words"


def test_a_failure_inside_a_subagent_counts() -> None:
    child = Made().bash("make test", UNDEFINED, failed=True).edit("a", "b", "c").bash("make test", "PASS")
    (fix,) = _found(Made().call("Task", "{}", "done").below(child), "fix")
    assert fix.places[0].thread == "subagent 1"


def test_a_failure_that_a_pipe_hides_is_judged_by_its_text_and_said_to_be() -> None:
    made = Made().bash("make test | tail -2", UNDEFINED).edit("a", "b", "c").bash("make test | tail -2", "PASS")
    (fix,) = _found(made, "fix")
    assert not fix.marked


def test_where_nothing_is_marked_the_text_decides_and_is_worth_less() -> None:
    def made(*, marked: bool) -> Made:
        failed = True if marked else None
        first = Made().bash("make test", UNDEFINED, failed=failed, looks_failed=not marked)
        return first.edit("a", "b", "c").bash("make test", "PASS", failed=False if marked else None)

    (marked,), (unmarked,) = (_found(made(marked=each), "fix") for each in (True, False))
    assert marked.marked
    assert not unmarked.marked
    assert unmarked.points < marked.points


def test_looking_around_in_vain_is_no_failure_worth_a_lesson() -> None:
    made = Made().bash("grep -rn x src", "Exit code 1", failed=True).call("Read", "{}", "no such file", failed=True)
    assert _found(made, "fix") == []
    assert _found(made, "dead end") == []


def test_the_same_lesson_twice_is_one_with_a_count_and_both_ways() -> None:
    made = Made()
    for new in ("first way", "second way"):
        made.bash("make test", UNDEFINED, failed=True).edit("a.cu", "old", new).bash("make test", "PASS")
    (fix,) = _found(made, "fix")
    assert fix.count == 2
    assert "first way" in _text(fix)
    assert "changed another time: a.cu\n-old\n+second way" in _text(fix)


def test_errors_that_differ_by_a_name_are_two_lessons() -> None:
    made = Made()
    for name in ("alpha", "beta"):
        made.bash("make test", f'x.cu(1): error: identifier "{name}" is undefined in this long line', failed=True)
        made.edit("x.cu", name, f"{name}_v2").bash("make test", "PASS")
    assert len(_found(made, "fix")) == 2


def test_what_was_cut_out_of_arguments_does_not_hide_the_file() -> None:
    whole = json.dumps({"file_path": "/home/dev/project/a.cu", "old_string": "x" * 50, "new_string": "y" * 9_000})
    made = Made().bash("make test", UNDEFINED, failed=True)
    made.call("Edit", whole[:3_000] + "\n[… 3,000 characters left out …]\n" + whole[-3_000:], "updated")
    (fix,) = _found(made.bash("make test", "PASS"), "fix")
    assert "<project>/a.cu" in _text(fix)
    assert "characters cut]" in _text(fix)


def test_a_patch_shows_its_changed_lines() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n context\n-old line\n+new line\n*** End Patch"
    made = Made().bash("pytest", "E   AssertionError: 1", failed=True).call("apply_patch", patch, "Success")
    (fix,) = _found(made.bash("pytest", "1 passed"), "fix")
    assert "a.py\n-old line\n+new line" in _text(fix)
    assert "context" not in _text(fix)


def test_the_task_is_what_the_person_said_first_and_nods_are_nothing() -> None:
    made = Made().person("Write  the kernel,\nplease.").agent("ok").person("yes, go ahead!").agent("done").person("ok")
    (task,) = _found(made, "task")
    assert task.parts[0].text == "Write  the kernel,\nplease."
    assert _found(made, "correction") == []


@pytest.mark.parametrize(
    "words",
    [
        "No, keep the mask configurable.",
        "That's wrong: the axis is 1.",
        "you forgot the tests",
        "Please don't touch gen/.",
        "It still fails on my machine",
        "Always run the linter first.",
        "Nein, bitte ohne Kopie.",
        "不要改这个文件",
    ],
)
def test_corrections_are_kept_verbatim(words: str) -> None:
    (correction,) = _found(Made().person("Do it.").agent("Done.").person(words), "correction")
    assert correction.parts[0].text == words


def test_a_further_request_is_no_correction() -> None:
    made = Made().person("Do it.").agent("Done.").person("Now add a benchmark target.")
    assert _found(made, "correction") == []
    assert [finding.title for finding in _found(made, "task")] == ["the task", "then asked"]


def test_what_is_typed_into_the_work_is_steering_whatever_it_says() -> None:
    made = Made().person("Do it.").bash("make", "ok").person("Row-major.").agent("Done.")
    (steering,) = _found(made, "correction")
    assert "while the agent was at work" in steering.title


def test_what_is_typed_after_an_interruption_is_steering_and_the_interruption_itself_is_nothing() -> None:
    made = Made().person("Do it.").bash("make", "ok").person("[Request interrupted by user]").person("Row-major.")
    (steering,) = _found(made.agent("Done."), "correction")
    assert steering.parts[0].text == "Row-major."
    assert len(_found(made, "task")) == 1


def test_a_call_that_the_person_refused_is_a_correction_and_no_failure() -> None:
    refusal = "The user doesn't want to proceed with this tool use. The user said:\nuse uv, not pip"
    made = Made().person("Do it.").bash("pip install x", refusal, failed=True)
    (correction,) = _found(made, "correction")
    assert correction.title == "refused `Bash: pip install x`"
    assert correction.parts[0].text == "use uv, not pip"
    assert _found(made, "dead end") == []


def test_the_last_pass_of_a_check_after_the_last_change_is_the_proof() -> None:
    made = (
        Made()
        .bash("make test", "PASS early")
        .bash("cargo clippy", "ok")
        .edit("a", "b", "c")
        .bash("make test", "PASS late")
        .bash("nvcc --version", "release 12.4")
        .agent("All of it works now, I think.")
    )
    proofs = {finding.key.split(":")[0]: finding for finding in _found(made, "proof")}
    assert proofs["make test"].title == "`make test` passed: PASS late"
    assert "before the last change" in proofs["cargo clippy"].title
    assert proofs["make test"].points > proofs["cargo clippy"].points
    assert not any("nvcc" in key for key in proofs)
    assert [finding.title for key, finding in proofs.items() if key.startswith("last words")] == [
        "claimed by the agent at the end"
    ]


def test_a_check_that_failed_last_proves_nothing() -> None:
    made = Made().bash("make test", "PASS").edit("a", "b", "c").bash("make test", UNDEFINED, failed=True)
    assert _found(made, "proof") == []


def test_proofs_of_work_that_was_scored_as_failed_are_worth_less() -> None:
    made = Made().bash("make test", "PASS")
    (proof,) = (each for each in findings_in(made.trace(success=False)) if each.kind == "proof")
    (other,) = (each for each in findings_in(made.trace(success=True)) if each.kind == "proof")
    assert proof.points < other.points


def test_work_that_was_undone_is_a_dead_end() -> None:
    made = Made().edit("/home/dev/project/a.cu", "x", "y").bash("git checkout -- a.cu").bash("git status", "clean")
    made.call("Write", '{"file_path": "/home/dev/project/try.py", "content": "x"}', "ok").bash("rm -f try.py")
    assert [finding.title for finding in _found(made, "dead end")] == [
        "changes were taken back: `git checkout -- a.cu`",
        "<project>/try.py was written and later deleted",
    ]


def test_facts_are_versions_programs_and_files_without_a_persons_paths() -> None:
    made = (
        Made()
        .bash("nvcc --version", "nvcc: NVIDIA\nCuda compilation tools, release 12.4, V12.4.131")
        .bash("jq . x", "bash: jq: command not found", failed=True)
        .edit("/home/dev/other/a.py", "x", "y")
        .bash("make all", "ok")
    )
    facts = [finding.title for finding in _found(made, "fact")]
    assert "Cuda compilation tools, release 12.4, V12.4.131" in facts
    assert "`jq` was not there at first" in facts
    assert "files changed: ~/other/a.py" in facts
    assert "programs that ran: make" in facts


def test_control_characters_of_a_recording_do_not_reach_a_terminal() -> None:
    made = (
        Made().person("Do \x1b[31mit\x1b[0m\u202e now").bash("make test", "\x1b]0;title\x07error: \x9bx", failed=True)
    )
    text = "\n".join(_text(finding) for finding in findings_in(made.trace()))
    assert not any(char in text for char in "\x1b\x07\x9b\u202e")


def test_a_deep_chain_of_subagents_is_walked_without_recursion() -> None:
    made = Made().bash("make test", UNDEFINED, failed=True)
    for _ in range(1_500):
        made = Made().call("Task", "{}", "ok").below(made)
    assert any(finding.kind == "dead end" for finding in findings_in(made.trace()))
