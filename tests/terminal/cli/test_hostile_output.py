"""Names, answers and errors of strangers that try to act on a terminal, or to pass for lines of ours."""

import json
import re
import shutil
from pathlib import Path

import pytest

from provider import Behave, Behaviour, Provider, ReceivedRequest
from typed import Upskill, make_port_skill
from typed_in_terminal import Terminal

SAMPLES = Path(__file__).parents[2] / "samples" / "traces"
HOSTILE = "any\x1b]52;c;aGVsbG8=\x07\x1b[2J\x9b31m\r\x08\u202e[red]x[/red]\nnote: forged"
"""Fills the clipboard, clears the screen, colours, goes back, turns the direction of text, and adds a line of ours."""
FLOOD = "m" * 1_000_000
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def _check(text: str) -> None:
    """It does nothing, and has no line of its own."""
    assert not ACTS.search(text), repr(text)
    assert not re.search(r"^ *(note: )?forged", text, re.MULTILINE), text


@pytest.fixture
def skill(here: Path) -> Path:
    return make_port_skill(here, cases=1)


def _answers(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=HOSTILE, model=f"{HOSTILE} {FLOOD}", body={"system_fingerprint": FLOOD, "id": FLOOD})


def _refuses(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(status=401, error={"message": HOSTILE + FLOOD, "type": HOSTILE, "code": HOSTILE})


@pytest.mark.parametrize("behave", [_answers, _refuses])
def test_a_model_and_its_server_cannot_act_through_an_evaluation(
    behave: Behave, upskill: Upskill, skill: Path, here: Path
) -> None:
    with Provider(behave) as provider:
        done = upskill("eval", "skills/port", "-m", HOSTILE, "--base-url", provider.url, "--runs", "1", "-v", "--yes")
        _check(done.stdout + done.stderr)
        assert "[red]x[/red]\\nnote: forged" in done.stdout, "shown, and not taken for markup"
        assert len(done.stdout + done.stderr) < 10_000
    (run,) = here.glob("runs/*-port-*")
    assert max(path.stat().st_size for path in run.glob("*.json*")) < 20_000
    for words in (["runs"], ["regrade", f"{run}"], ["report", f"{run}", "--markdown"]):
        done = upskill(*words)
        _check(done.stdout + done.stderr)


def test_names_of_files_and_settings_cannot_act(upskill: Upskill, here: Path) -> None:
    name = HOSTILE.replace("/", "-")
    (here / "skills" / name).mkdir(parents=True)
    (here / "skills" / name / "SKILL.md").write_text("nothing")
    shutil.copy(SAMPLES / "claude-code" / "session.jsonl", here / f"{name}.jsonl")
    (here / "upskill.toml").write_text(f"models = [{json.dumps(HOSTILE)}]\nruns_dir = {json.dumps(name)}\n")
    commands = [
        ["list", "skills"],
        ["cases", "check", f"skills/{name}"],
        ["eval", f"skills/{name}", "--debug"],
        ["trace", f"{name}.jsonl"],
        ["trace", f"{name}.gone"],
        ["settings"],
        ["models", HOSTILE],
        ["runs"],
        [name],
    ]
    for words in commands:
        done = upskill(*words)
        _check(done.stdout + done.stderr)
        assert "note: forged" in done.stdout + done.stderr, words
    listed, settings = upskill("list", "skills", "--json").stdout, upskill("settings", "--json").stdout
    assert not ACTS.search(listed + settings)
    assert json.loads(listed)["skills"][0]["skill"] == name


def test_in_a_terminal_only_our_own_colours_are_sent(here: Path, skill: Path, environment: dict[str, str]) -> None:
    with Provider(_answers) as provider, Terminal(here, environment, columns=80, rows=50) as terminal:
        terminal.type("eval", "skills/port", "-m", "any", "--base-url", provider.url, "--runs", "1", "-v", "--yes")
        terminal.wait(lambda: terminal.exit_code() is not None)
        sent, screen = terminal.sent(), terminal.screen()
    assert "\x1b]52" not in sent
    assert "\x1b[2J" not in sent
    assert "\x9b" not in sent
    assert "\x1b[" in sent, "our own"
    assert "\\x1b]52" in screen
    assert not re.search(r"^note: forged", screen, re.MULTILINE)


def test_a_report_for_stdout_is_refused_instead_of_a_file_with_that_name(
    upskill: Upskill, skill: Path, here: Path
) -> None:
    done = upskill("eval", str(skill), "-m", "any", "--write", "-")
    assert done.returncode == 2
    assert "--write -: stdout already shows the result" in done.stderr
    assert not (here / "-").exists()
