"""The one metered client: every provider can be opened through it, and it alone decides what is sent again."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai import eval as run_tasks
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate

from calling import endpoint_at
from on_engine import Make
from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.models import MeteredClient, Spending, resolve_model
from upskill.core.models.endpoint import HUGGING_FACE, PROVIDERS
from upskill.core.nouns import Scored

INSTALLED = [name for name, provider in PROVIDERS.items() if provider.package is None]


@pytest.mark.parametrize("provider", [*INSTALLED, "hf/org", "ollama"])
def test_every_provider_opens_and_its_clients_own_retries_are_off(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (
        *HUGGING_FACE.key_variables,
        *(PROVIDERS[provider].key_variables if provider in PROVIDERS else ()),
    ):
        monkeypatch.setenv(variable, "made-up")
    model = MeteredClient().open(resolve_model(f"{provider}/model"))
    client: Any = getattr(model.api, "client", None)
    assert client.max_retries == 0
    assert type(model.api).__name__ == "Metered"


def test_no_model_is_opened_with_a_key_that_was_not_set() -> None:
    assert not [name for name in os.environ if name.endswith("_API_KEY")]
    with pytest.raises(Exception, match="ANTHROPIC_API_KEY"):
        MeteredClient().open(resolve_model("anthropic/claude-haiku-5-5"))


CLIENTS = """
import sys
from upskill.core.models import MeteredClient, Spending, resolve_model

def clients():
    return [name for name in ("openai", "anthropic") if name in sys.modules]

MeteredClient().open(resolve_model(sys.argv[1]))
print("scripted:", clients())
MeteredClient().open(resolve_model("anthropic/any"))
from inspect_ai.model import _assistant_internal as states
from inspect_ai.model._providers.anthropic import assistant_internal
before = assistant_internal()
states.init_sample_assistant_internal()
print("anthropic:", clients(), "a state of its own:", assistant_internal() is not before)
"""


def test_no_client_is_loaded_that_no_model_asked_for(scripted_student: Path) -> None:
    """Each takes seconds of every command that asks a model."""
    variables = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "ANTHROPIC_API_KEY": "made-up"}
    command = [sys.executable, "-c", CLIENTS, f"scripted/{scripted_student}"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == ["scripted: []", "anthropic: ['anthropic'] a state of its own: True"], (
        done.stderr
    )


def test_calls_tokens_and_retries_are_counted_per_trial(skill: Make, run_at: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(fault="reset") if asked.number % 3 == 1 else Behaviour(text="7413 " * 8)

    ran, provider = run_at(skill([("Which port?", {"contains": "7413"})]), behave, concurrency=1)
    assert sum(trial.calls for trial in ran.trials) == len(provider.requests) == 3
    assert all(isinstance(trial.outcome, Scored) for trial in ran.trials)
    assert {trial.usage.output_tokens for trial in ran.trials} == {11}
    assert all(trial.usage.cost is None for trial in ran.trials), "an unknown price is not free"


def test_a_scripted_student_costs_nothing_and_needs_no_network(skill: Make, run: Any, tmp_path: Path) -> None:
    script = tmp_path / "student.yaml"
    script.write_text("rules:\n- arm: with_skill\n  replies: [It is 7413.]\n- replies: [No idea.]\n")
    ran = run(skill([("Which port?", {"contains": "7413"})]), [f"scripted/{script}"], repeats=3)
    assert ran.evaluation.students[0].spent == 0.0
    passed = {trial.arm: trial.outcome.passed for trial in ran.trials}
    assert passed == {"baseline": False, "with_skill": True}


def test_a_script_can_fail_as_a_provider_does(skill: Make, run: Any, tmp_path: Path) -> None:
    script = tmp_path / "student.yaml"
    for failure, fault in {"rate limit": "rate limit", "server": "provider", "reset": "transport"}.items():
        script.write_text(f"rules:\n- replies: [{{fail: {failure}}}]\n")
        ran = run(
            skill([("Q?", {"contains": "x"})], name=failure.replace(" ", "-")), [f"scripted/{script}"], max_retries=0
        )
        assert {trial.outcome.fault for trial in ran.trials} == {fault}


def test_several_students_run_side_by_side_and_are_kept_apart(skill: Make, run: Any, tmp_path: Path) -> None:
    names = []
    for number, text in enumerate(("It is 7413.", "No idea.")):
        script = tmp_path / f"{number}.yaml"
        script.write_text(f"rules:\n- replies: [{text}]\n")
        names.append(f"scripted/{script}")
    ran = run(skill([("Which port?", {"contains": "7413"}), ("Port?", {"contains": "7413"})]), names)
    rates = [[arm.pass_rate for arm in report.arms] for report in ran.evaluation.students]
    assert rates == [[1.0, 1.0], [0.0, 0.0]]


def test_a_call_that_belongs_to_nobody_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    with Provider(lambda _: Behaviour(text="7413")) as provider:
        client = MeteredClient()
        task = Task(dataset=[Sample(input="Q?")], solver=generate(), model=client.open(endpoint_at(provider.url)))
        (log,) = run_tasks(task, display="none", log_dir=str(tmp_path / "logs"), fail_on_error=False)
        assert provider.requests == []
    assert log.samples is not None
    assert log.samples[0].error is not None
    assert log.samples[0].error.message.startswith("UnbilledCall(")
    assert client.spent == Spending()
