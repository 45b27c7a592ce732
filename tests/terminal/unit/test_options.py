"""What a command takes as `**settings` must be settings or formats: a wrong name would be an error only once typed."""

import inspect
from importlib import import_module

import click
import pytest

from upskill.cli import app, commands
from upskill.core import settings
from upskill.errors import SettingsError
from upskill.report.formats import FORMATS
from upskill.terminal import options


def _commands() -> list[click.Command]:
    found: list[click.Command] = []
    for name in commands():
        command = app.get_command(click.Context(app), name)
        assert command is not None
        found += command.commands.values() if isinstance(command, click.Group) else [command]
    return found


@pytest.mark.parametrize("command", _commands(), ids=lambda command: str(command.name))
def test_whatever_a_command_does_not_name_is_a_setting_or_a_format(command: click.Command) -> None:
    assert command.callback is not None
    named = {
        name
        for name, parameter in inspect.signature(command.callback).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    rest = {str(parameter.name) for parameter in command.params} - named
    assert rest <= {*settings.NAMES, *(format.name for format in FORMATS)}


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        ("eval", ["skill", "--max-cost", "-1"], "--max-cost: `max_cost` must be at least 0, not -1"),
        ("eval", ["skill", "--concurrency", "0"], "--concurrency: `concurrency` must be at least 1, not 0"),
    ],
)
def test_a_wrong_value_is_blamed_on_the_flag_that_was_typed(command: str, words: list[str], said: str) -> None:
    with pytest.raises(SettingsError) as error:
        app.main([command, *words], standalone_mode=False)
    assert error.value.message == said


def test_the_origin_of_a_setting_is_the_flag_that_was_typed() -> None:
    command = import_module("upskill.generation.command").command
    words = ["task", "-m", "opus", "--base-url", "http://localhost:1/v1", "--eval-model", "haiku"]
    words += ["--eval-base-url", "http://localhost:2/v1"]
    with command.make_context("generate", words) as context:
        given = {name: value for name, value in context.params.items() if name in settings.NAMES}
        origins = options.resolved(given).origins
    assert {name: origin for name, origin in origins.items() if origin.startswith("--")} == {
        "teacher": "--model",
        "teacher_base_url": "--base-url",
        "models": "--eval-model",
        "base_url": "--eval-base-url",
    }


def test_fresh_turns_the_store_off_and_says_nothing_otherwise() -> None:
    command = import_module("upskill.evaluation.command").command
    assert command.make_context("eval", ["skill", "--fresh"]).params["store"] is False
    assert command.make_context("eval", ["skill"]).params["store"] is None


@pytest.mark.parametrize("command", _commands(), ids=lambda command: str(command.name))
def test_many_options_stand_under_headings(command: click.Command) -> None:
    context = click.Context(command)
    shown = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.hidden]
    assert len(shown) <= 7 or "Options:" not in command.get_help(context)
