"""Students with tools: what they see, what is recorded of them, and how their trials end."""

import json
from pathlib import Path
from typing import Any

import pytest

from in_containers import nothing_is_left_in_podman
from on_engine import CommandResult, Make, Run
from provider import Behaviour, ReceivedRequest
from tool_students import call, is_first, shell, tool_call, turns
from upskill.core.nouns import Scored, Trial
from upskill.evaluation.report import read_report


def by_arm(ran: CommandResult) -> dict[str, Trial]:
    return {trial.arm: trial for trial in ran.trials}


CASE = [("Write the port into port.txt.", {"contains": "done"})]


def test_an_agent_works_in_its_sandbox_and_what_it_leaves_is_kept(skill: Make, run: Run, script: Any) -> None:
    student = script(
        *turns(
            shell("cat input.txt; echo 7413 > port.txt; mkdir sub; printf '\\377\\000' > sub/raw"),
            call("read_file", path="port.txt"),
            call("write_file", path="notes/a.md", content="hello\n"),
            "done",
        )
    )
    folder = skill(CASE, files={"input.txt": "given\n"})
    ran = run(folder, [student], harness="agent")
    for trial in ran.trials:
        assert isinstance(trial.outcome, Scored)
        assert trial.outcome.passed, trial.outcome
        assert dict(trial.files) == {"port.txt": b"7413\n", "sub/raw": b"\xff\x00", "notes/a.md": b"hello\n"}
        assert trial.turns == 4
    assert [arm.arm for arm in ran.evaluation.students[0].arms] == ["baseline", "offered", "with_skill"]


@pytest.mark.usefixtures("podman")
def test_an_agent_and_the_checks_of_its_work_run_in_containers(skill: Make, run: Run, script: Any) -> None:
    student = script(*turns(shell("echo 7413 > port.txt; echo '/home' | ls /proc/1/fd"), "done"))
    check = {"command": "test $(cat port.txt) = 7413 && test $(python3 -c 'print(6 * 7)') = 42"}
    wrong = {"command": "test $(cat port.txt) = 7414"}
    ran = run(
        skill([("Write the port.", check), ("Write another.", wrong)]), [student], harness="agent", sandbox="podman"
    )
    passed = {(trial.case_id, trial.outcome.passed) for trial in ran.trials if isinstance(trial.outcome, Scored)}
    assert len(ran.trials) == 6
    assert len(passed) == 2, "the same in every arm, and none errored"
    assert nothing_is_left_in_podman()


def test_the_report_has_the_steps_of_an_agent_without_keys_of_ones_own(
    skill: Make, run: Run, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "hf_" + "Zq7x" * 9
    student = script(*turns(shell(f"echo {key}"), call("read_file", path="missing"), "done"))
    ran = run(skill(CASE), [student], harness="agent")
    page = read_report(ran.run).page()
    assert f"echo {key}" in page, "it would be there"
    assert "missing: no such file" in page
    monkeypatch.setenv("HF_TOKEN", key)
    page = read_report(ran.run).page()
    assert key not in page
    assert "echo [redacted" in page


# What the arms see


def test_the_first_requests_of_the_arms_differ_by_the_place_of_the_skill_and_by_nothing_else(
    skill: Make, run_at: Any
) -> None:
    folder = skill(CASE, body="The port is 7413.\n")
    _, provider = run_at(folder, lambda _: Behaviour(text="done"), harness="agent", concurrency=1)
    baseline, offered, given = (dict(asked.body) for asked in provider.requests)
    systems = [body["messages"][0]["content"] for body in (baseline, offered, given)]
    frame = systems[0]
    assert systems[2] == f'{frame}\n\n<skill name="thing" folder="/skills/thing">\nThe port is 7413.\n</skill>'
    assert systems[1].startswith(f"{frame}\n\n<skills>\n")
    assert "- thing: Does a thing. (/skills/thing/SKILL.md)" in systems[1]
    assert "7413" not in systems[1]
    assert [tool["function"]["name"] for tool in baseline["tools"]] == ["shell", "read_file", "write_file"]
    for body in (offered, given):
        body["messages"] = [baseline["messages"][0], *body["messages"][1:]]
        assert body == baseline


def test_a_baseline_sees_no_trace_of_any_skill_also_where_the_working_folder_holds_some(
    skill: Make, run_at: Any, tmp_path: Path
) -> None:
    folder = skill(CASE, body="CANARY-BODY of the skill.\n", name="canary-skill")
    planted = tmp_path / "skills" / "planted-skill"
    planted.mkdir()
    (planted / "SKILL.md").write_text("---\nname: planted-skill\ndescription: PLANTED.\n---\nPLANTED-BODY\n")
    look = "ls -laR /skills /workspace /home /tmp /run . ./skills; ls -la /; env; cat /proc/1/environ /proc/*/cmdline"

    def behave(asked: ReceivedRequest) -> Behaviour:
        return tool_call(asked, "shell", command=look) if is_first(asked) else Behaviour(text="done")

    _, provider = run_at(folder, behave, harness="agent", concurrency=1)
    assert len(provider.requests) == 6
    words = ("canary", "planted", "skill", str(tmp_path).lower())
    baseline = json.dumps([asked.body for asked in provider.requests[:2]])
    assert "total 0" in baseline, "the listing was made"
    # The command itself names the folders it looks for.
    seen = json.dumps([provider.requests[0].body, provider.requests[1].body["messages"][-1]]).lower()
    assert [
        word for word in words if word in seen.replace("cannot access '/skills'", "").replace("'./skills'", "")
    ] == []
    offered = json.dumps([asked.body for asked in provider.requests[2:4]])
    assert "/skills/canary-skill" in offered
    assert "planted" not in offered.lower()
    assert "/skills/canary-skill:" in json.dumps(provider.requests[5].body), "given, its files are there as well"


def test_the_files_of_a_skill_can_be_read_and_run_and_not_changed_and_the_cases_are_not_among_them(
    skill: Make, run: Run, script: Any
) -> None:
    folder = skill(CASE)
    (folder / "evals").mkdir()
    (folder / "evals" / "evals.json").write_text('{"evals": ["SECRET-EVAL"]}')
    (folder / "scripts").mkdir()
    (folder / "scripts" / "say.sh").write_text("#!/bin/sh\necho it ran\n")
    (folder / "scripts" / "say.sh").chmod(0o755)
    tries = (
        "cd /skills/thing && find . -type f > $OLDPWD/found; scripts/say.sh > $OLDPWD/ran;"
        " (echo x >> SKILL.md; rm -rf /skills; touch /skills/thing/new; mkdir /skills/more) 2>/dev/null;"
        " cat SKILL.md > $OLDPWD/still"
    )
    ran = run(folder, [script(*turns(shell(tries), "done"))], harness="agent")
    for arm in ("offered", "with_skill"):
        files = by_arm(ran)[arm].files
        assert sorted(files["found"].split()) == [b"./SKILL.md", b"./scripts/say.sh"]
        assert files["ran"] == b"it ran\n"
        assert files["still"] == (folder / "SKILL.md").read_bytes()


# What became of the skill

BODY = "Always ask the port from the harbour master.\n"


USES: list[tuple[list[Any], bool, set[str]]] = [
    ([], False, set()),
    ([shell("cat /skills/thing/SKILL.md")], True, {"SKILL.md"}),
    ([shell("grep -n harbour /skills/*/SKILL.md")], True, {"SKILL.md"}),
    ([call("read_file", path="/skills/thing/SKILL.md")], True, {"SKILL.md"}),
    ([call("read_file", path="../skills/thing/SKILL.md")], True, {"SKILL.md"}),
    ([call("read_file", path="/skills/thing/MISSING.md")], False, set()),
    ([shell("ls /skills/thing/SKILL.md; ls -R /skills")], False, set()),
    ([shell("cat /skills/thing/SKILL.md > copy")], False, set()),
    ([shell("cat /skills/thing/SKILL.md > copy"), shell("tail -n 1 copy")], True, {"SKILL.md"}),
    ([shell("cd /skills/thing && sh scripts/say.sh")], False, {"scripts/say.sh"}),
    ([shell("sh /skills/thing/scripts/say.sh; cat /skills/thing/SKILL.md")], True, {"SKILL.md", "scripts/say.sh"}),
    ([shell("sh /skills/thing/scripts/missing.sh")], False, set()),
    ([shell("sh /skills/thing/scripts/say.sh; false")], False, set()),
]


def test_what_became_of_an_offered_skill_is_seen_in_what_came_back(skill: Make, run: Run, script: Any) -> None:
    folder = skill([(f"Case {n}!", {"contains": "done"}) for n in range(len(USES))], body=BODY)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "say.sh").write_text("echo it ran\n")
    rules = [
        {"prompt": f"Case {n}!", "turn": turn, "replies": [reply]}
        for n, (does, _, _) in enumerate(USES)
        for turn, reply in enumerate(does, 1)
    ]
    ran = run(folder, [script(*rules, {"replies": ["done"]})], harness="agent", baseline=False)
    uses = {trial.case_id: trial.skill_use for trial in ran.trials}
    seen = [uses[f"c{n}"] for n in range(len(USES))]
    assert [(use.listed, use.loaded, set(use.files)) for use in seen if use is not None] == [
        (True, loaded, files) for _, loaded, files in USES
    ]
    summary = ran.evaluation.students[0].arms[0]
    assert (summary.arm, summary.loaded, summary.trials) == ("offered", 6, len(USES))
    assert dict(summary.skill_files) == {"SKILL.md": 6, "scripts/say.sh": 2}


def test_a_given_skill_is_loaded_and_a_baseline_has_none(skill: Make, run: Run, script: Any) -> None:
    ran = run(skill(CASE), [script(*turns("done"))], harness="agent")
    uses = {arm: trial.skill_use for arm, trial in by_arm(ran).items()}
    assert uses["baseline"] is None
    assert uses["with_skill"] is not None
    assert (uses["with_skill"].listed, uses["with_skill"].loaded) == (False, True)


# How trials end


def ends(ran: CommandResult) -> set[str]:
    return {trial.outcome.end if isinstance(trial.outcome, Scored) else trial.outcome.fault for trial in ran.trials}


def test_who_runs_out_of_turns_has_failed_and_gets_exactly_its_turns(skill: Make, run: Run, script: Any) -> None:
    ran = run(skill([("Go on.", {"contains": "hm"})]), [script({"replies": [{"text": "hm", **shell("true")}]})],
              harness="agent", max_turns=5)  # fmt: skip
    assert ends(ran) == {"turn limit"}
    assert {(trial.turns, trial.calls) for trial in ran.trials} == {(5, 5)}
    assert not any(trial.outcome.passed for trial in ran.trials if isinstance(trial.outcome, Scored))


def test_who_comes_to_its_answer_with_the_last_turn_has_answered(skill: Make, run: Run, script: Any) -> None:
    ran = run(skill(CASE), [script(*turns(shell("true"), "done"))], harness="agent", max_turns=2)
    assert ends(ran) == {"answered"}


def test_who_runs_out_of_tokens_has_failed(skill: Make, run: Run, script: Any) -> None:
    student = script({"replies": [shell("seq 1 2000")]})
    ran = run(skill(CASE), [student], harness="agent", max_trial_tokens=5_000)
    assert ends(ran) == {"token limit"}
    assert all(2 <= trial.turns <= 5 for trial in ran.trials)


def test_who_runs_out_of_time_has_failed_and_what_it_left_is_kept(skill: Make, run: Run, script: Any) -> None:
    student = script(*turns(shell("echo 1 > early; sleep 300 & sleep 300"), "done"))
    ran = run(skill(CASE), [student], harness="agent", max_trial_minutes=0.05, baseline=False, command_seconds=290)
    (trial,) = ran.trials
    assert ends(ran) == {"time limit"}
    assert dict(trial.files) == {"early": b"1\n"}
    assert trial.seconds is not None
    assert trial.seconds < 60


def test_a_command_that_takes_too_long_is_ended_and_the_trial_goes_on(skill: Make, run: Run, script: Any) -> None:
    student = script(*turns(shell("echo begun; sleep 300")), {"when": "ended after 1 seconds", "replies": ["done"]})
    ran = run(skill(CASE), [student], harness="agent", command_seconds=1, baseline=False)
    assert ends(ran) == {"answered"}


def test_who_leaves_too_much_has_failed_and_the_report_says_why(skill: Make, run: Run, script: Any) -> None:
    student = script(*turns(shell("for n in $(seq 600); do echo $n > f$n; done"), "done"))
    ran = run(skill(CASE), [student], harness="agent", baseline=False)
    assert ends(ran) == {"file limit"}
    (trial,) = ran.trials
    assert isinstance(trial.outcome, Scored)
    assert "500 files" in trial.outcome.grade.results[0].saw
    assert dict(trial.files) == {}


def test_silence_with_files_is_an_answer_and_silence_alone_is_not(skill: Make, run: Run, script: Any) -> None:
    folder = skill([("Write.", {"file": "made"})])
    ran = run(folder, [script(*turns(shell("touch made"), ""))], harness="agent", baseline=False)
    assert ends(ran) == {"answered"}
    ran = run(folder, [script(*turns(shell("true"), ""))], harness="agent", baseline=False)
    assert ends(ran) == {"empty"}


def test_a_file_of_the_case_that_was_taken_away_is_absent_to_the_checks(skill: Make, run: Run, script: Any) -> None:
    folder = skill(
        [("Remove old.toml.", {"file": {"path": "old.toml", "absent": True}})], files={"old.toml": "x", "kept": "y"}
    )
    ran = run(folder, [script(*turns(shell("rm old.toml"), ""))], harness="agent", baseline=False)
    (trial,) = ran.trials
    assert trial.removed == ("old.toml",)
    assert ends(ran) == {"answered"}
    assert isinstance(trial.outcome, Scored)
    assert trial.outcome.passed, trial.outcome
    ran = run(folder, [script(*turns(shell("true"), "done"))], harness="agent", baseline=False)
    outcome = ran.trials[0].outcome
    assert isinstance(outcome, Scored)
    assert not outcome.passed


def test_what_a_command_prints_loses_its_middle_when_it_is_long(skill: Make, run_at: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        first = "echo BEGIN; head -c 100000 /dev/zero | tr '\\0' x; echo; echo END; exit 3"
        return tool_call(asked, "shell", command=first) if is_first(asked) else Behaviour(text="done")

    _, provider = run_at(skill(CASE), behave, harness="agent", baseline=False)
    seen = provider.requests[1].body["messages"][-1]["content"]
    assert seen.startswith("BEGIN\n")
    assert seen.endswith("END\n[exit code 3]")
    assert "characters left out" in seen
    assert len(seen) < 16_200


def test_a_tool_that_cannot_do_it_says_so_and_the_trial_goes_on(skill: Make, run_at: Any) -> None:
    tries = [
        ("read_file", {"path": "missing"}),
        ("read_file", {"path": "/proc/self/environ"}),
        ("write_file", {"path": "/usr/bin/evil", "content": "x"}),
        ("shell", {"command": "a\0b"}),
        ("shell", {"wrong": "name"}),
        ("no_such_tool", {"a": "b"}),
        ("shell", {"command": "half \ud83d"}),
    ]

    def behave(asked: ReceivedRequest) -> Behaviour:
        done = (len(asked.body["messages"]) - 2) // 2
        return tool_call(asked, tries[done][0], **tries[done][1]) if done < len(tries) else Behaviour(text="done")

    ran, provider = run_at(skill(CASE), behave, harness="agent", baseline=False)
    assert ends(ran) == {"answered"}
    results = [m["content"] for m in provider.requests[-1].body["messages"] if m["role"] == "tool"]
    assert len(results) == len(tries)
    assert "no such file" in results[0]
    assert all(results)


# The verdict


def test_the_verdict_is_what_a_user_gets_and_the_effect_when_given_stands_beside_it(
    skill: Make, run: Run, script: Any
) -> None:
    folder = skill([(f"Question {n}?", {"contains": "yes"}) for n in range(8)], body=BODY)
    student = script({"arm": "with_skill", "replies": ["yes"]}, {"replies": ["no"]})
    ran = run(folder, [student], harness="agent", repeats=None)
    report = ran.evaluation.students[0]
    assert report.verdict in ("no difference", "undecided", "cheaper")
    assert [(lift.arm, lift.against, lift.mean) for lift in report.lifts] == [
        ("offered", "baseline", 0.0),
        ("with_skill", "baseline", 1.0),
    ]
    assert report.arms[1].load_rate == 0.0
    assert any("never called a tool" in note for note in ran.evaluation.notes)


def test_the_first_look_decides_on_offered_against_baseline(skill: Make, run: Run, script: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "yes"}) for n in range(8)], body=BODY)
    student = script(
        {"arm": "offered", "turn": 1, "replies": [shell("cat /skills/thing/SKILL.md")]},
        {"arm": "offered", "replies": ["yes"]},
        {"arm": "with_skill", "replies": [{"fail": "server"}]},
        {"replies": ["no"]},
    )
    ran = run(folder, [student], harness="agent", repeats=None, max_retries=0)
    report = ran.evaluation.students[0]
    assert report.verdict == "helps"
    assert report.end == "decided"
    assert [lift.arm for lift in report.lifts] == ["offered"], "what errored in the given arm measured nothing"
    assert report.lifts[0].dropped == 0
    assert len({(trial.case_id, trial.arm, trial.repeat) for trial in ran.trials}) == len(ran.trials)


def test_two_versions_are_offered_alike(skill: Make, run: Run, script: Any) -> None:
    cases = [(f"Question {n}?", {"contains": "yes"}) for n in range(6)]
    old, new = skill(cases, body="The old harbour rule.\n", name="old"), skill(cases, body="The new one.\n", name="new")
    student = script(
        *turns(shell("cat /skills/*/SKILL.md")), {"when": "The new one", "replies": ["yes"]}, {"replies": ["no"]}
    )
    ran = run(new, [student], harness="agent", previous=old, repeats=None)
    report = ran.evaluation.students[0]
    assert [arm.arm for arm in report.arms] == ["previous", "offered"]
    assert (report.lifts[0].arm, report.lifts[0].against, report.verdict) == ("offered", "previous", "helps")
    assert [arm.load_rate for arm in report.arms] == [1.0, 1.0]


def test_students_get_tools_where_a_case_has_files_and_chat_shows_them_in_the_prompt(skill: Make, run_at: Any) -> None:
    folder = skill(CASE, files={"input.txt": "seven\n"})
    ran, provider = run_at(folder, lambda _: Behaviour(text="done"), baseline=False)
    assert ran.evaluation.students[0].harness == "agent"
    assert "seven" not in provider.requests[0].prompt
    ran, provider = run_at(folder, lambda _: Behaviour(text="done"), baseline=False, harness="chat")
    assert ran.evaluation.students[0].harness == "chat"
    assert provider.requests[0].prompt == "Write the port into port.txt.\n\ninput.txt:\n```\nseven\n```"
    assert "tools" not in provider.requests[0].body
