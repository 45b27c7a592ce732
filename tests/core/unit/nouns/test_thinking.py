"""Thinking is no part of an answer, and an answer that talks about thinking is an answer."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.nouns.answer_schemas import without_thinking

NAMES = ["think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "analysis"]
FINAL = "<|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("7413", "7413"),
        ("<think>80?</think>\n7413", "7413"),
        ("<thinking>a</thinking><think>b</think> 7413", "7413"),
        ("<THINK>80?</Think>7413", "7413"),
        ('<think time="3">80?</think>7413', "7413"),
        ("\n <reflection >80?</reflection >\n7413", "7413"),
        ("<think/>7413", "7413"),
        ("<think>a <think>b</think> c</think>7413", "7413"),
        ("<think>it is 7413", ""),
        ("<think>80?</thinking> it is 7413", ""),
        ("<thinker>7413", "<thinker>7413"),
        # A template opened the thought.
        ("so it must be 80</think>7413", "7413"),
        ("if (a) { b }\n</think>\n\n7413", "7413"),
        ("I must close it with `</think>`.\n</think>\n7413", "7413"),
        ("Some <analysis>of it</analysis>, then\n</think>7413", "7413"),
        # An answer about tags.
        ("Use the <think> tag.", "Use the <think> tag."),
        ("Write <think>x</think> like this", "Write <think>x</think> like this"),
        ("Close it with `</think>` at the end.", "Close it with `</think>` at the end."),
        ("Like this:\n```\nhm\n</think>\n```\n", "Like this:\n```\nhm\n</think>\n```"),
        ('{"text": "close with </think> here"}', '{"text": "close with </think> here"}'),
        ("Harmony writes <|channel|>final<|message|> first.", "Harmony writes <|channel|>final<|message|> first."),
        # Harmony.
        (f"<|channel|>analysis<|message|>80?<|end|>{FINAL}7413<|return|>", "7413"),
        (f"<|start|>assistant<|channel|>analysis<|message|>80?<|end|>{FINAL}7413<|end|>", "7413"),
        (f"<|channel|>analysis<|message|>80?<|end|>{FINAL}7413", "7413"),
        ("<|channel|>analysis<|message|>80?<|channel|>final<|message|>7413", "7413"),
        ("<|channel|>final <|constrain|>json<|message|>{}<|return|>", "{}"),
        (f"80?<|end|>{FINAL}7413<|return|>", "7413"),
        ("<|start|>assistant<|message|>7413<|return|>", "7413"),
        (f"{FINAL}7413<|end|><|start|>user<|message|>And 80?", "7413"),
        (f"{FINAL}<think>80?</think>7413", "7413"),
        ("<|channel|>analysis<|message|>it is 7413", ""),
        ("<|channel|>analysis<|message|>it is 7413<|end|>", ""),
        ("<|channel|>commentary to=functions.look<|message|>{}<|call|>", ""),
        (f"<|channel|>analysis<|message|>80?<|end|>{FINAL}", ""),
    ],
)
def test_thinking_is_no_part_of_an_answer(said: str, answer: str) -> None:
    assert without_thinking(said) == answer


plain = st.text(st.characters(exclude_characters="<>|", exclude_categories=["Cs"]), max_size=60)
spelled = st.sampled_from(NAMES).flatmap(lambda name: st.sampled_from([name, name.upper(), name.title()]))
spaces = st.sampled_from(["", " ", "\n", "\t "])


@given(plain)
def test_a_text_without_tags_is_its_own_answer(text: str) -> None:
    assert without_thinking(text) == text.strip()


@given(spelled, spelled, plain, plain, spaces, st.sampled_from(["", " a='1'", " "]))
def test_what_stands_after_thoughts_is_the_answer(
    one: str, other: str, thought: str, answer: str, space: str, attributes: str
) -> None:
    thoughts = f"{space}<{one}{attributes}>{thought}</{one.lower()}>{space}<{other}>{thought}</{other}{space}>"
    assert without_thinking(thoughts + answer) == answer.strip()
    assert without_thinking(f"{space}<{one}{attributes}>{thought}{answer}") == ""


@given(st.lists(plain, max_size=3), plain, st.sampled_from(["", "<|return|>", "<|end|>"]))
def test_of_harmony_the_final_message_is_the_answer(thoughts: list[str], answer: str, end: str) -> None:
    thinking = "<|start|>assistant".join(f"<|channel|>analysis<|message|>{thought}<|end|>" for thought in thoughts)
    assert without_thinking(f"{thinking}{FINAL}{answer}{end}") == answer.strip()
    assert without_thinking(thinking) == ""


@given(plain, st.sampled_from(NAMES), plain)
def test_a_value_that_speaks_of_tags_stays_whole(before: str, name: str, after: str) -> None:
    value = json.dumps({"text": f"{before.replace('}', '')} </{name}> {after}"})
    assert without_thinking(value) == value


@given(st.lists(st.sampled_from(["<think>", "</think>", "<|end|>", "<|start|>", "{", "x", "`", "\n", FINAL])))
def test_nothing_is_made_up(parts: list[str]) -> None:
    text = "".join(parts)
    assert without_thinking(text) in text


@pytest.mark.parametrize(
    "piece",
    [
        "<think>",
        "</think>",
        "<think ",
        "</think ",
        "<think></think>",
        " ",
        "`</think>`",
        "{</think>",
        "<|",
        "<|channel|>",
        "<|start|>",
        "<|channel|>final<|message|>",
        "<|end|><|start|>",
        "<|channel|>analysis<|message|>",
        "<think/>",
    ],
)
def test_time_is_linear_in_hostile_texts(piece: str) -> None:
    for first in ("", "<think>", "<think", "<|start|>", "x<|end|>"):
        text = (first + piece * (400_000 // len(piece)))[:400_000]
        began = time.process_time()
        without_thinking(text)
        assert time.process_time() - began < 0.5
