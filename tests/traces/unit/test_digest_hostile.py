"""Any trace at all, however odd, gives a digest within its budget and never an error."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from made_work import Made
from upskill.traces.digest import Digester
from upskill.traces.readers import readers
from upskill.traces.trace import Call, Observation, Step, Subtrace, Trace

_ODD = st.sampled_from(
    [
        "make test",
        "cd /x && make test 2>&1 | tail",
        "*** Begin Patch\n*** Update File: \n-\n+",
        '{"file_path": "a", "old_string": "x", "new_string": null}',
        '{"edits": [1, {"old_string": "a", "new_string": "b"}], "path": ["a"]}',
        '{"file_path": "cut',
        '{"changes": [{"path": 1}]}',
        "error: x is undefined",
        "Traceback (most recent call last):\nValueError: 1",
        "The user doesn't want to proceed",
        "```\n## x\n````",
        "\x1b[31m\u202e\x00\ud800",
        "[" * 50,
        "rm -rf a && git checkout -- .",
        "No, never. Always.",
        "",
    ]
)
_TEXTS = _ODD | st.text(max_size=60)
_NAMES = st.sampled_from(["Bash", "Edit", "Write", "apply_patch", "Read", "Task", "mcp.x", ""]) | st.text(max_size=8)
_IDS = st.sampled_from(["a", "b", "c", ""])
_CALLS = st.builds(Call, id=_IDS, name=_NAMES, arguments=_TEXTS)
_OBSERVATIONS = st.builds(
    Observation,
    call_id=_IDS,
    content=_TEXTS,
    failed=st.sampled_from([True, False, None]),
    exit_code=st.none() | st.integers(-3, 300),
    looks_failed=st.booleans(),
)
_STEPS = st.builds(
    Step,
    number=st.integers(0, 50),
    source=st.sampled_from(["person", "agent", "harness"]),
    text=_TEXTS,
    reasoning=_TEXTS,
    calls=st.lists(_CALLS, max_size=4).map(tuple),
    observations=st.lists(_OBSERVATIONS, max_size=4).map(tuple),
)


def _traces(below: st.SearchStrategy[Trace]) -> st.SearchStrategy[Trace]:
    subtraces = st.builds(Subtrace, call_id=st.none() | _IDS, trace=below)
    return st.builds(
        Trace,
        recorder=st.sampled_from(sorted(readers())),
        steps=st.lists(_STEPS, max_size=12).map(tuple),
        subtraces=st.lists(subtraces, max_size=2).map(tuple),
        folder=st.none() | st.sampled_from(["/", "/home/dev/project", "C:\\\\Users\\\\x"]) | st.text(max_size=20),
        success=st.sampled_from([True, False, None]),
    )


_LEAVES = st.builds(Trace, recorder=st.just("codex"), steps=st.lists(_STEPS, max_size=6).map(tuple))


@settings(max_examples=50)
@given(st.lists(st.recursive(_LEAVES, _traces, max_leaves=4), min_size=1, max_size=3), st.integers(300, 2_000))
def test_any_trace_gives_a_digest_within_its_budget(traces: list[Trace], budget: int) -> None:
    digesting = Digester(budget=budget)
    for number, trace in enumerate(traces):
        digesting.add(trace, name=f"{number}")
    digest = digesting.digest()
    assert digest.tokens <= budget
    assert digest == digesting.digest()
    assert not any(char in digest.text for char in "\x1b\x00\u202e\ud800")


def test_a_session_of_nothing_but_failures_and_edits_takes_seconds() -> None:
    made = Made().person("Go.")
    for number in range(3_000):
        made.bash(f"make target_{number % 700}", "error: the same again", failed=True)
        made.edit(f"/home/dev/project/{number % 50}.c", "a", f"b{number}")
    for number in range(700):
        made.bash(f"make target_{number}", "PASS")
    started = time.process_time()
    digesting = Digester()
    digesting.add(made.trace(), name="x")
    assert digesting.digest().tokens <= 6_000
    assert time.process_time() - started < 15


def test_one_endless_line_takes_no_time() -> None:
    made = Made().person("ok" + "!" * 20_000 + "x").person("!" * 20_000)
    made.bash("make " + "a " * 3_000, "error " * 1_000 + "E" * 6_000, failed=True)
    made.bash("'" * 6_000, "=" * 6_000 + "x", failed=True)
    started = time.process_time()
    digesting = Digester()
    digesting.add(made.trace(), name="x")
    digesting.digest()
    assert time.process_time() - started < 5
