"""The arms differ by the skill and by nothing else; nothing of the cases reaches a student."""

import json
from collections.abc import Callable
from typing import Any

from on_engine import Make
from provider import Behaviour, ReceivedRequest

BODY = "The port is 7413.\n"


def _without_ids(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in ("content-length", "x-irid")}


def test_requests_of_the_two_arms_differ_by_the_skill_and_by_nothing_else(skill: Make, run_at: Any) -> None:
    folder = skill([("Which port?", {"contains": "7413"})], body=BODY)
    _, provider = run_at(folder, lambda _: Behaviour(text="7413"))
    baseline, given = sorted(provider.requests, key=lambda asked: asked.has_skill)
    block = '\n\n<skill name="thing">\nThe port is 7413.\n</skill>'
    assert given.body["messages"][0]["content"] == baseline.body["messages"][0]["content"] + block
    given.body["messages"][0]["content"] = baseline.body["messages"][0]["content"]
    assert given.body == baseline.body
    assert _without_ids(given.headers) == _without_ids(baseline.headers)


def test_a_baseline_is_the_same_for_two_skills(skill: Make, run_at: Any) -> None:
    asked: list[list[dict[str, Any]]] = []
    for name, body in (("one", "First.\n"), ("two", "Second.\n")):
        ran, provider = run_at(skill([("Which port?", {"contains": "7413"})], body=body, name=name), _say("x"))
        asked.append([request.body for request in provider.requests if not request.has_skill])
        ids = {trial.arm: trial.id for trial in ran.trials}
        asked[-1].append({"id": ids["baseline"]})
    # The endpoints' ports differ, and an endpoint is part of who the student is.
    assert asked[0][0] == asked[1][0]


def test_pairs_run_together_and_in_planned_order(skill: Make, run_at: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "yes"}) for n in range(8)])
    ran, provider = run_at(folder, _say("yes"), concurrency=1, repeats=2)
    order = [(request.prompt, request.has_skill) for request in provider.requests]
    assert len(order) == 32
    assert [skilled for _, skilled in order] == [False, True] * 16
    assert all(first[0] == second[0] for first, second in zip(order[::2], order[1::2], strict=True))
    rounds = [[prompt for prompt, _ in order[start : start + 16 : 2]] for start in (0, 16)]
    assert sorted(rounds[0]) == sorted(rounds[1])
    assert rounds[0] != rounds[1], "each round draws its own order"
    assert len({trial.id for trial in ran.trials}) == 32


def test_a_student_never_sees_the_cases(skill: Make, run_at: Any) -> None:
    folder = skill([("Which port?", {"contains": "SECRET-ANSWER"})])
    (folder / "evals").mkdir()
    (folder / "evals" / "evals.json").write_text(json.dumps({"evals": ["SECRET-EVAL"]}))
    _, provider = run_at(folder, _say("x"))
    sent = json.dumps([request.body for request in provider.requests])
    assert "SECRET" not in sent


def test_the_key_of_a_hosted_provider_is_never_sent_to_a_base_url(skill: Make, run_at: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hosted-secret")
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", "local-key")
    _, provider = run_at(skill([("Which port?", {"contains": "x"})]), _say("x"))
    assert {request.headers["authorization"] for request in provider.requests} == {"Bearer local-key"}
    assert "sk-hosted-secret" not in str([request.headers for request in provider.requests])


def test_temperature_and_length_reach_the_student_only_when_set(skill: Make, run_at: Any) -> None:
    folder = skill([("Which port?", {"contains": "x"})])
    _, provider = run_at(folder, _say("x"), max_output_tokens=33)
    assert "temperature" not in provider.requests[0].body
    assert provider.requests[0].body["max_tokens"] == 33
    _, provider = run_at(folder, _say("x"), temperature=0.0)
    assert provider.requests[0].body["temperature"] == 0.0


def _say(text: str) -> Callable[[ReceivedRequest], Behaviour]:
    """The same answer in other words each time: a student that repeats itself is asked once per case."""
    return lambda asked: Behaviour(text=f"{text} {asked.number}")


def test_two_versions_of_a_skill_are_measured_against_each_other(skill: Make, run_at: Any) -> None:
    cases = [(f"Question {n}?", {"contains": "yes"}) for n in range(8)]
    old, new = skill(cases, body="Say no.\n", name="old"), skill(cases, body="Say yes.\n", name="new")

    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text="yes" if "Say yes." in asked.system else "no")

    ran, provider = run_at(new, behave, previous=old, repeats=None)
    report = ran.evaluation.students[0]
    assert [arm.arm for arm in report.arms] == ["previous", "with_skill"]
    assert report.lifts[0].against == "previous"
    assert report.verdict == "helps"
    assert all(asked.has_skill for asked in provider.requests)
