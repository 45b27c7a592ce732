"""Whatever a teacher says, it ends as a value or as one line of error."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.unit.teaching.scripted_teacher import Teacher
from upskill.core.models import Message, Question, Reply
from upskill.core.models.teacher_answers import TeacherUnusable, UnusableAnswer, ask_for, ask_for_each, value_in
from upskill.core.nouns.answer_schemas import TEXT, list_of, object_of

SCHEMA = object_of(items=list_of(object_of(("text",), text=TEXT, note=TEXT)))
MEANT = {"items": [{"text": "one"}]}
PLAIN = json.dumps(MEANT)
QUESTION = Question(
    purpose="draft", system="You teach.", messages=(Message(role="user", text="Write."),), schema=SCHEMA
)


@pytest.mark.parametrize(
    "answer",
    [
        PLAIN,
        f"Sure! Here you are:\n\n{PLAIN}\n\nI hope this helps.",
        f"```json\n{PLAIN}\n```",
        f"```\n{PLAIN}",
        f'<think>I would say {{"items": [{{"text": "wrong"}}]}} first</think>\n{PLAIN}',
        f"The template opened this thought.\n</think>\n{PLAIN}",
        f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{PLAIN}<|return|>",
        f'An example is {{"items": [{{"text": "example"}}]}}, so:\n{PLAIN}',
        '[{"text": "one"}]',
        '{"items": [{"text": "one",},],}',
        '{"items": [{"text": "one", "note": null, "confidence": 0.9}], "done": true}',
        "```yaml\nitems:\n  - text: one\n```",
        "items:\n- text: one\n",
        f"\ufeff{PLAIN}",
        "{'items': [{'text': 'one'}]}",
        f"{PLAIN}\n{PLAIN[:9]}",
    ],
)
def test_the_value_is_found_whatever_stands_around_it(answer: str) -> None:
    assert value_in(answer, SCHEMA) == MEANT


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("", "it is empty"),
        (" \n\t ", "it is empty"),
        ("<think>hm, let me see</think>", "thoughts only"),
        ("<thinking>and so on and on", "thoughts only"),
        ("I cannot help with that.", "no JSON object"),
        ('{"items": [{"text": "one"', "not valid JSON"),
        ('{"items": "one"}', "`items` must be a list, not a text"),
        ('{"items": [{"note": "a"}]}', "`items[0]` lacks `text`"),
        ('{"things": []}', "the answer lacks `items`"),
        ("items: [a: b: c", "no JSON object"),
        ("{" * 100_000, "not valid JSON"),
        ("[" * 100_000, "no JSON object"),
        ('{"items": ' + "[" * 100 + "]" * 100 + "}", "nested too deeply"),
        ("```a\n" * 70_000, "no JSON object"),
        ('{"items": NaN}', "number"),
        ("a: &a [x,x]\nb: &b [*a,*a]\nitems: *b", "no JSON object"),
        ("x" * 400_001, "400,000 are read"),
    ],
)
def test_what_is_wrong_is_told_in_words(answer: str, told: str) -> None:
    with pytest.raises(UnusableAnswer) as caught:
        value_in(answer, SCHEMA)
    assert told in "; ".join(caught.value.problems)


def test_line_breaks_inside_texts_are_forgiven() -> None:
    assert value_in('{"items": [{"text": "a\n```\nb\n```"}]}', SCHEMA) == {"items": [{"text": "a\n```\nb\n```"}]}


def test_half_characters_and_control_characters_do_not_get_in() -> None:
    found = value_in('{"items": [{"text": "a\\ud800b\\u0000c\\r\\nd"}]}', SCHEMA)
    assert found["items"][0]["text"] == "a\ufffdbc\nd"


def test_a_teacher_is_told_what_was_wrong_and_asked_again() -> None:
    teacher = Teacher('{"items": "one"}', PLAIN)
    assert ask_for(teacher, QUESTION, json.loads) == MEANT
    first, second = teacher.asked
    assert "JSON Schema" in first.with_form.messages[-1].text
    assert "JSON Schema" in second.with_form.messages[0].text, "told once, with the question"
    assert second.messages[1] == Message(role="assistant", text='{"items": "one"}')
    assert "`items` must be a list, not a text" in second.messages[2].text


def test_problems_of_the_reader_are_told_as_well() -> None:
    def read(text: str) -> str:
        if "one" in text:
            raise UnusableAnswer(["say two"])
        return text

    teacher = Teacher(PLAIN, PLAIN.replace("one", "two"))
    assert "two" in ask_for(teacher, QUESTION, read)
    assert "- say two" in teacher.asked[1].messages[-1].text


def test_a_hopeless_teacher_ends_with_one_line_and_after_three_calls() -> None:
    teacher = Teacher("I am a teapot.")
    with pytest.raises(TeacherUnusable) as caught:
        ask_for(teacher, QUESTION, json.loads)
    assert len(teacher.asked) == 3
    assert caught.value.exit_code == 3
    assert str(caught.value) == ("the teacher gave no usable answer (draft, asked 3 times): it holds no JSON object")


def test_the_conversation_does_not_grow_with_each_try() -> None:
    teacher = Teacher("no")
    with pytest.raises(TeacherUnusable):
        ask_for(teacher, QUESTION, json.loads, repairs=4)
    assert [len(question.messages) for question in teacher.asked] == [1, 3, 3, 3, 3]


def test_an_endless_answer_is_told_to_be_shorter_and_not_sent_back_whole() -> None:
    teacher = Teacher(Reply(text='{"items": [' + '{"text": "again"},' * 5_000, cut=True), PLAIN)
    assert ask_for(teacher, QUESTION, json.loads) == MEANT
    assert "cut at 16,384 tokens" in teacher.asked[1].messages[-1].text
    assert len(teacher.asked[1].messages[1].text) < 2_100


def test_a_value_that_is_whole_is_taken_from_an_answer_that_rambled_on() -> None:
    assert ask_for(Teacher(Reply(text=PLAIN + " and so on" * 1_000, cut=True)), QUESTION, json.loads) == MEANT


def test_yaml_that_was_cut_is_not_taken_for_whole() -> None:
    with pytest.raises(TeacherUnusable, match="cut at"):
        ask_for(Teacher(Reply(text="items:\n- text: one\n- text: t", cut=True)), QUESTION, json.loads)


def test_an_empty_answer_is_not_sent_back_as_an_empty_message() -> None:
    teacher = Teacher("", PLAIN)
    ask_for(teacher, QUESTION, json.loads)
    assert all(message.text.strip() for message in teacher.asked[1].messages)


def test_without_a_schema_the_text_is_handed_on_without_its_thoughts() -> None:
    question = Question(purpose="search", system="", messages=(Message(role="user", text="Write."),))
    assert ask_for(Teacher("<think>hm</think> text"), question, str) == "text"


def test_several_are_asked_side_by_side_and_only_the_unusable_again() -> None:
    def answer(question: Question) -> str:
        if "bad" in question.messages[0].text:
            return "nothing"
        if "slow" in question.messages[0].text and len(question.messages) == 1:
            return "{"
        return PLAIN

    rounds: list[int] = []
    teacher = Teacher(answer)

    def ask(questions: Any) -> tuple[Reply, ...]:
        rounds.append(len(questions))
        return teacher(questions)

    names = ("good", "bad", "slow", "fine")
    questions = [
        Question(purpose="lessons", system="", messages=(Message(role="user", text=name),), schema=SCHEMA)
        for name in names
    ]
    found = ask_for_each(ask, questions, json.loads)
    assert rounds == [4, 2, 1]
    assert [isinstance(item, UnusableAnswer) for item in found] == [False, True, False, False]


@given(st.text(alphabet=st.sampled_from(list('{}[]",:`-\n\\ tn01<>/think&*!|~#\ud800\ufeff\u202e')), max_size=80))
def test_any_text_is_a_value_or_unusable(text: str) -> None:
    try:
        found = value_in(text, SCHEMA)
    except UnusableAnswer as unusable:
        found = {"items": unusable.problems}
    assert set(found) == {"items"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["items", "text", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    json_values,
    st.integers(min_value=0, max_value=40),
    st.sampled_from(["", "Here: ", "```json\n", "<think>a</think>"]),
)
def test_any_damaged_json_is_a_value_or_unusable(value: Any, lost: int, before: str) -> None:
    text = json.dumps(value)
    try:
        found = value_in(before + text[: len(text) - lost], SCHEMA)
    except UnusableAnswer:
        return
    assert all(item["text"] for item in found["items"])


@given(
    st.lists(
        st.fixed_dictionaries(
            {"text": st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30)}
        ),
        max_size=4,
    )
)
def test_what_is_meant_is_read_as_it_was_meant(items: list[dict[str, str]]) -> None:
    text = json.dumps({"items": items}, indent=1)
    assert value_in(f"Here:\n```json\n{text}\n```\nBye.", SCHEMA) == {"items": items}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": 5}, "`a` must be one of: a text, `by` with `old`, `many`"),
        ({"a": {"old": "x"}}, "`a` must be one of: a text, `by` with `old`, `many`"),
        ({"a": {"many": "x"}}, "`a.many` must be a list, not a text"),
        ({"a": {"many": [{}]}}, "`a.many[0]` must be a text, not an object"),
    ],
)
def test_of_several_forms_the_nearest_is_told(value: Any, problem: str) -> None:
    forms = [TEXT, object_of(by=TEXT, old=TEXT), object_of(many=list_of(TEXT))]
    with pytest.raises(UnusableAnswer) as unusable:
        value_in(json.dumps(value), object_of(a={"anyOf": forms}))
    assert problem in unusable.value.problems
