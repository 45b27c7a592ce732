"""Scripts: what they may hold, which rule answers, and draws that depend on nothing but the request."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.models.scripted import FAILURES, Conversation, Reply, Rule, Script, load_script
from upskill.errors import UsageError

COIN = Script(rules=(Rule(replies=(Reply(text="heads"), Reply(text="tails"))),), seed=1)


def script_file(folder: Path, text: str, name: str = "s.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def problems_of(folder: Path, text: str, name: str = "s.yaml") -> tuple[str, ...]:
    with pytest.raises(UsageError, match="this script cannot be used") as caught:
        load_script(script_file(folder, text, name))
    return caught.value.problems


def ask(script: Script, text: str, *, arm: str | None = "baseline", repeat: int = 1, turn: int = 1) -> str:
    return script.reply(["system", text], arm=arm, repeat=repeat, turn=turn).text


# Reading


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.yaml", "seed: 3\nrules:\n- when: port\n  arm: with_skill\n  replies: [sure, {text: 'no', weight: 3}]\n"),
        (
            "s.json",
            '{"seed": 3, "rules": [{"when": "port", "arm": "with_skill",'
            ' "replies": ["sure", {"text": "no", "weight": 3}]}]}',
        ),
        (
            "s.toml",
            'seed = 3\n[[rules]]\nwhen = "port"\narm = "with_skill"\nreplies = ["sure", {text = "no", weight = 3}]\n',
        ),
    ],
)
def test_a_script_may_be_yaml_json_or_toml(tmp_path: Path, name: str, text: str) -> None:
    assert load_script(script_file(tmp_path, text, name)) == Script(
        rules=(Rule(when="port", arm="with_skill", replies=(Reply(text="sure"), Reply(text="no", weight=3))),), seed=3
    )


def test_everything_a_reply_can_do_is_read(tmp_path: Path) -> None:
    replies = "".join(f"  - {{fail: {failure}}}\n" for failure in FAILURES)
    text = (
        "rules:\n- replies:\n  - {text: cut, stop: max_tokens}\n  - {stall_seconds: 0.5}\n"
        f"  - {{tool: bash, arguments: {{cmd: ls}}}}\n{replies}"
    )
    (rule,) = load_script(script_file(tmp_path, text)).rules
    assert rule.replies == (
        Reply(text="cut", stop="max_tokens"),
        Reply(stall_seconds=0.5),
        Reply(tool="bash", arguments={"cmd": "ls"}),
        *(Reply(fail=failure) for failure in FAILURES),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a script is a table with a list `rules`"),
        ("[]", "a script is a table with a list `rules`"),
        ("rules: []", "a script is a table with a list `rules`"),
        ("rules: x", "a script is a table with a list `rules`"),
        ("rules: [x]", "rule 1: must be a table with `replies`"),
        ("rules: [{}]", "rule 1: needs a list `replies`"),
        ("rules: [{replies: []}]", "rule 1: needs a list `replies`"),
        ("rules: [{replies: x}]", "rule 1: needs a list `replies`"),
        ("rules: [{replies: [1]}]", "rule 1, reply 1: must be a text or a table"),
        ("rules: [{replies: [a, yes]}]", "rule 1, reply 2: must be a text or a table"),
        ("rules: [{when: '(', replies: [a]}]", "rule 1: `when` does not compile"),
        ("rules: [{prompt: '(', replies: [a]}]", "rule 1: `prompt` does not compile"),
        ("rules: [{turn: 0, replies: [a]}]", "rule 1: `turn` must be a whole number of at least 1"),
        ("rules: [{turn: yes, replies: [a]}]", "rule 1: `turn` must be a whole number of at least 1"),
        ("rules: [{replies: [{weight: -1}]}]", "rule 1, reply 1: `weight` must be a number of at least 0"),
        ("rules: [{replies: [{weight: x}]}]", "rule 1, reply 1: `weight` must be a number of at least 0"),
        ("rules: [{replies: [{weight: true}]}]", "rule 1, reply 1: `weight` must be a number of at least 0"),
        ("rules: [{replies: [{stall_seconds: -1}]}]", "rule 1, reply 1: `stall_seconds` must be a number"),
        ("rules: [{replies: [{fail: timeout}]}]", "rule 1, reply 1: `fail` must be one of rate limit, server, reset"),
        ("rules: [{replies: [{stop: end}]}]", "rule 1, reply 1: `stop` must be one of stop, max_tokens"),
        ("seed: x\nrules: [{replies: [a]}]", "`seed` must be a whole number"),
    ],
)
def test_a_slip_in_a_script_is_named(tmp_path: Path, text: str, problem: str) -> None:
    assert problems_of(tmp_path, text)[0].startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sed: 1\nrules: [{replies: [a]}]", "the script: `sed` is not a known key; did you mean `seed`?"),
        ("rules: [{repleis: [a], replies: [a]}]", "rule 1: `repleis` is not a known key; did you mean `replies`?"),
        ("rules: [{replies: [{txt: a}]}]", "rule 1, reply 1: `txt` is not a known key; did you mean `text`?"),
        ("zzz: 1\nrules: [{replies: [a]}]", "the script: `zzz` is not a known key"),
    ],
)
def test_an_unknown_key_is_refused_with_a_suggestion(tmp_path: Path, text: str, problem: str) -> None:
    assert problems_of(tmp_path, text) == (problem,)


def test_every_problem_of_a_script_is_listed_at_once(tmp_path: Path) -> None:
    assert len(problems_of(tmp_path, "sed: 1\nrules: [x, {}, {when: '(', replies: [1, {fail: x}]}]")) == 6


@pytest.mark.parametrize(
    ("name", "text"), [("s.yaml", "a: ["), ("s.json", "{"), ("s.toml", "a ="), ("s.yaml", "a: \x00")]
)
def test_a_file_that_cannot_be_parsed_is_named(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(UsageError, match="cannot be read: it is not "):
        load_script(script_file(tmp_path, text, name))


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("s.yaml", "ok: 1\nsecret: [hunter2\n", "YAML: line 3, column 1"),
        ("s.yaml", "ok: *hunter2", "YAML: line 1, column 5"),
        ("s.yaml", "ok: !hunter2 x", "YAML: line 1, column 5"),
        ("credentials", "[default]\nkey = hunter2: x: y", "YAML: line 2, column 1"),
        ("s.json", '{"a": hunter2}', "JSON: line 1, column 7"),
        ("s.toml", "hunter2 = 1\nhunter2 = 2\n", "TOML: line 2, column 12"),
        ("s.toml", "[hunter2]\n[hunter2]", "TOML: line 2, column 9"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_not_quoted(tmp_path: Path, name: str, text: str, where: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_script(script_file(tmp_path, text, name))
    assert "hunter2" not in str(caught.value)
    assert caught.value.message.endswith(where)


@pytest.mark.parametrize("name", ["", "missing.yaml", "."])
def test_a_script_that_is_not_there_is_told_how_to_name_one(name: str) -> None:
    with pytest.raises(UsageError, match="no such file") as caught:
        load_script(name)
    assert caught.value.hint == "write scripted/ and then the path of the script"


# Answering


def test_the_first_rule_that_fits_answers() -> None:
    script = Script(
        rules=(
            Rule(when="port", arm="with_skill", replies=(Reply(text="7413"),)),
            Rule(when="(?i)PORT", replies=(Reply(text="a port"),)),
            Rule(arm="baseline", replies=(Reply(text="no idea"),)),
        )
    )
    assert ask(script, "which port?", arm="with_skill") == "7413"
    assert ask(script, "which port?", arm="baseline") == "a port"
    assert ask(script, "which Port?", arm="with_skill") == "a port"
    assert ask(script, "which file?", arm="baseline") == "no idea"
    assert ask(script, "which file?", arm="with_skill") == "I do not know."
    assert ask(script, "which port?", arm=None) == "a port"


def test_rules_look_at_the_last_text_only() -> None:
    script = Script(rules=(Rule(when="port", replies=(Reply(text="7413"),)),))
    assert script.reply(["the port is in the skill", "hello"], arm=None, repeat=1, turn=1).text == "I do not know."
    assert script.reply([], arm=None, repeat=1, turn=1).text == "I do not know."


def test_the_same_request_gets_the_same_draw_in_whatever_order_it_is_asked() -> None:
    questions = [(f"q{number}", repeat) for number in range(20) for repeat in (1, 2, 3)]
    forward = {key: ask(COIN, key[0], repeat=key[1]) for key in questions}
    backward = {key: ask(COIN, key[0], repeat=key[1]) for key in reversed(questions)}
    assert forward == backward
    assert set(forward.values()) == {"heads", "tails"}


def test_draws_are_pinned_across_platforms_and_versions() -> None:
    drawn = "".join(ask(COIN, f"q{number}")[0] for number in range(16))
    assert drawn == "thhttththhthhhht"


def test_the_draw_changes_with_the_repeat_the_turn_the_request_and_the_seed() -> None:
    def draws(script: Script = COIN, repeat: int = 1, turn: int = 1, suffix: str = "") -> list[str]:
        return [ask(script, f"q{number}{suffix}", repeat=repeat, turn=turn) for number in range(64)]

    other_seed = Script(rules=COIN.rules, seed=2)
    assert (
        len({tuple(one) for one in (draws(), draws(repeat=2), draws(turn=2), draws(suffix="!"), draws(other_seed))})
        == 5
    )


def test_replies_are_drawn_by_weight() -> None:
    replies = (Reply(text="often", weight=3), Reply(text="seldom", weight=1), Reply(text="never", weight=0))
    script = Script(rules=(Rule(replies=replies),))
    drawn = Counter(ask(script, f"q{number}") for number in range(4_000))
    assert set(drawn) == {"often", "seldom"}
    assert 0.72 < drawn["often"] / 4_000 < 0.78


@given(request=st.lists(st.text(), max_size=3), repeat=st.integers(1, 5), turn=st.integers(0, 5))
def test_any_request_gets_one_of_the_replies(request: list[str], repeat: int, turn: int) -> None:
    assert COIN.reply(request, arm=None, repeat=repeat, turn=turn).text in ("heads", "tails")


def test_rules_can_wait_for_a_turn_a_tool_result_or_a_prompt(tmp_path: Path) -> None:
    script = load_script(
        script_file(
            tmp_path,
            "rules:\n- {turn: 1, replies: [first]}\n- {when: 7413, replies: [seen]}\n"
            "- {prompt: port, turn: 3, replies: [third]}\n- {prompt: lock, replies: [locked]}\n",
        )
    )

    def reply(prompt: str, last: str, turn: int) -> str:
        said = Conversation(prompt=prompt, last=last, turn=turn)
        return script.reply([prompt, last], arm=None, repeat=1, turn=turn, conversation=said).text

    assert reply("Which port?", "Which port?", 1) == "first"
    assert reply("Which port?", "it is 7413", 2) == "seen"
    assert reply("Which port?", "nothing", 3) == "third"
    assert reply("Which port?", "nothing", 4) == "I do not know."
    assert reply("Which lock?", "nothing", 4) == "locked"


# Reading what the model was given

READER = r"""
rules:
  - prompt: What is the (?P<thing>.+) of harbour
    reads: '(?i)\b{thing}(?: is|:) (?P<value>.+)'
    replies: ['It is \g<value>, says \1.']
  - replies: [I am not sure.]
"""


def told(script: Script, prompt: str, text: str, *, last: str | None = None) -> str:
    conversation = Conversation(prompt=prompt, last=prompt if last is None else last, given=text)
    return script.reply([text, prompt], arm="with_skill", repeat=1, turn=1, conversation=conversation).text


def test_a_rule_answers_with_what_it_reads_and_does_not_fit_where_it_reads_nothing(tmp_path: Path) -> None:
    script = load_script(script_file(tmp_path, READER))
    question = "What is the config file of harbour?"

    assert told(script, question, "- The config file is quay.cfg\n- The port is 1") == "It is quay.cfg, says quay.cfg."
    assert told(script, question, "- The config file is dock.cfg") == "It is dock.cfg, says dock.cfg."
    assert told(script, question, "- The port is 1") == "I am not sure."
    assert told(script, "What is the port of harbour? The port is 2", "none") == "I am not sure."


def test_what_the_prompt_says_is_searched_for_as_it_stands(tmp_path: Path) -> None:
    script = load_script(script_file(tmp_path, READER))

    assert told(script, "What is the .* of harbour?", "The port is 1") == "I am not sure."
    assert told(script, "What is the a+b( of harbour?", "the a+b( is 3") == "It is 3, says 3."


def test_a_group_that_matched_nothing_is_empty_and_other_backslashes_stay(tmp_path: Path) -> None:
    rules = r"""{rules: [{reads: '(a)|(b)', replies: ['\1-\2 C:\new \g']}]}"""

    assert told(load_script(script_file(tmp_path, rules)), "q", "b") == r"-b C:\new \g"


def test_without_reads_a_text_is_given_as_it_is() -> None:
    assert Script(rules=(Rule(replies=(Reply(text=r"\1 \g<x>"),)),)).reply([], arm=None, repeat=1, turn=1).text == (
        r"\1 \g<x>"
    )


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (r"{reads: '(', replies: [a]}", "`reads` does not compile"),
        (r"{reads: 'port (\d+)', replies: ['\2']}", r"uses \2, and `reads` has no such group"),
        (r"{reads: 'port', replies: [{text: '\g<port>'}]}", r"uses \g<port>, and `reads` has no such group"),
        (r"{when: '(?P<a>x)', reads: '{b}', replies: [a]}", "`reads` uses {b}, and neither `when` nor `prompt`"),
        (r"{reads: '{thing}(', replies: [a]}", "`reads` does not compile"),
    ],
)
def test_a_rule_that_could_not_read_is_refused_before_any_call(tmp_path: Path, rule: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, f"rules: [{rule}]")

    assert problem in found
    assert found.startswith("rule 1")


def test_properties_and_counts_in_a_pattern_are_no_placeholders(tmp_path: Path) -> None:
    script = load_script(script_file(tmp_path, r"rules: [{reads: '(\p{Lu}{2,3})', replies: ['\1']}]"))

    assert told(script, "q", "a ABC d") == "ABC"


def test_a_pattern_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upskill.core.models.scripted._SEARCH_SECONDS", 0.2)
    script = load_script(script_file(tmp_path, r"rules: [{reads: '^(a|a)*$', replies: ['\1']}]"))

    with pytest.raises(TimeoutError):
        told(script, "q", "a" * 60 + "!")
