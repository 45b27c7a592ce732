"""What a record asks for, against the settings of today."""

from dataclasses import replace
from pathlib import Path

import pytest

from upskill.errors import UsageError
from upskill.settings import ResolvedSettings, settings_from
from upskill.workflows.evaluating.typed_again import (
    EVAL_FLAGS,
    GENERATE_FLAGS,
    Demands,
    TypedAgain,
    Word,
    keywords,
    typed_command,
)


def _settings(where: str = "upskill.toml", **values: object) -> ResolvedSettings:
    return settings_from(values, where=where)


def _demands(today: ResolvedSettings, **typed: object) -> Demands:
    again = replace(TypedAgain(settings=today), **typed)  # type: ignore[arg-type]
    return Demands.of(Path("runs/x"), again, EVAL_FLAGS)


@pytest.mark.parametrize(
    ("recorded", "today", "typed", "holds"),
    [
        (9, 4, False, 4),
        (2, 4, False, 2),
        (None, 4, False, 4),
        (9, None, False, 9),
        (2, 4, True, 4),
        (9, 20, True, 20),
    ],
)
def test_of_two_caps_the_smaller_holds_unless_one_is_typed(
    recorded: int | None, today: int | None, typed: bool, holds: int
) -> None:
    asked = _settings() if recorded is None else _settings(max_calls=recorded)
    now = _settings() if today is None else _settings("--max-calls" if typed else "upskill.toml", max_calls=today)
    demands = _demands(now)
    assert demands.settings(asked, urls=()).values.max_calls == holds
    assert bool(demands.notes) == (recorded == 9 and holds == 4), "a note only where it bites"


def test_a_server_is_used_where_today_names_the_same() -> None:
    asked = _settings(base_url="http://there:1/v1")
    for today, words in (
        (_settings(), ["--base-url"]),
        (_settings(base_url="http://there:1/v1/"), []),
        (_settings("UPSKILL_BASE_URL", base_url="http://else:1/v1"), ["--base-url"]),
    ):
        demands = _demands(today)
        demands.settings(asked, urls=("base_url",))
        assert [word.flag for word in demands.missing] == words
    with pytest.raises(UsageError, match="started without --base-url"):
        _demands(_settings("--base-url", base_url="http://there:1/v1")).settings(_settings(), urls=("base_url",))


def test_what_is_written_and_what_names_stand_for_is_todays(tmp_path: Path) -> None:
    asked = _settings(
        runs_dir="/r", skills_dir="/s", ledger="/l", aliases={"haiku": "scripted//evil"}, teacher_base_url="http://a/v1"
    )
    demands = _demands(_settings(ledger="mine.jsonl"))
    held = demands.settings(asked, urls=("base_url",)).values
    assert (held.runs_dir, held.skills_dir, held.ledger, held.aliases) == ("runs", "skills", "mine.jsonl", None)
    assert held.teacher_base_url is None, "nobody is taught by an evaluation: its key goes nowhere"
    assert [word.flag for word in demands.missing] == ["--ledger"]


def test_limits_of_a_trial_are_typed_again_where_they_are_wider() -> None:
    demands = _demands(_settings())
    held = demands.settings(_settings(max_turns=99, command_seconds=9_000, max_trial_minutes=1.0), urls=())
    assert held.values.max_trial_minutes == 1.0
    assert [(word.flag, word.value) for word in demands.missing] == [
        ("--max-turns", 99),
        ("UPSKILL_COMMAND_SECONDS", 9_000),
    ]
    with pytest.raises(UsageError) as refused:
        demands.require_typed()
    assert refused.value.hint is not None
    assert refused.value.hint.endswith("typed with --max-turns, UPSKILL_COMMAND_SECONDS")
    own = typed_command(("eval", "--resume", "runs/x"), demands.words)
    assert own == "UPSKILL_COMMAND_SECONDS=9000 upskill eval --resume runs/x --max-turns 99"


def test_a_script_elsewhere_must_be_named_today_and_other_models_are_refused() -> None:
    asked = _settings(models=("scripted//out/x.yaml", "haiku"))
    demands = _demands(_settings())
    demands.settings(asked, urls=())
    assert [(word.flag, word.value) for word in demands.missing] == [("--model", "scripted//out/x.yaml")]
    named = _demands(_settings("--model", models=("scripted//out/x.yaml",)))
    named.settings(asked, urls=())
    assert not named.missing
    with pytest.raises(UsageError, match=r"was started with .*haiku, not with opus"):
        _demands(_settings("--model", models=("opus",))).settings(asked, urls=())


def test_the_command_is_quoted_and_never_moves_a_cursor() -> None:
    words = [
        Word("", "base_url", GENERATE_FLAGS["base_url"], "http://a/$(id)\x1b[2J"),
        Word("", "skill", "", "/a b"),
        Word("", "max_cost", "--max-cost", 20.0),
    ]
    assert typed_command(("generate", "--resume", "runs/a b"), words) == (
        r"upskill generate --resume 'runs/a b' '/a b' --eval-base-url 'http://a/$(id)\x1b[2J' --max-cost 20"
    )
    assert keywords(words[1:]) == ", skill='/a b', max_cost=20.0"


def test_a_program_that_a_record_names_is_started_only_where_it_is_typed() -> None:
    recorded = {"version": "1.2.3", "named": "/tmp/agent"}
    demands = _demands(_settings())
    demands.agent(recorded)
    assert [(word.flag, word.value) for word in demands.missing] == [("--agent-bin", "/tmp/agent")]
    for told, record in ((Path("/usr/bin/codex"), recorded), (None, {"version": "1.2.3", "named": None}), (None, None)):
        agreed = _demands(_settings(), agent_bin=told)
        agreed.agent(record)
        assert not agreed.missing
