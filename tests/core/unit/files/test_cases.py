"""Case files: our own shapes, strict; the community's, kept whole; ids, digests, and the way back to disk."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from upskill.core.cases.files import CaseFile, read_case_file, read_skill_cases, write_case_file
from upskill.core.cases.skill_meta import read_meta
from upskill.core.checks import check_problems
from upskill.core.nouns import Answer, Case, Check
from upskill.core.nouns.case import Json
from upskill.errors import EngineError, SkillInvalid, UsageError

from .folders import assert_explained, make_file

SEED_CASES: list[dict[str, Json]] = [
    {"input": "Create a build.toml for a CUDA kernel targeting H100", "expected": {"contains": "9.0"}},
    {"input": "Write a basic CUDA kernel template with proper includes", "expected": {"contains": "cuda_runtime.h"}},
]


def no_problems(check: Check) -> list[str]:
    """Takes every check, also those that only a judge could grade."""
    return []


def read(path: Path) -> CaseFile:
    return read_case_file(path, check_problems=check_problems)


def read_foreign(folder: Path, value: object, name: str = "evals/evals.json") -> CaseFile:
    return read_case_file(make_file(folder / name, value), check_problems=no_problems)


def problems_of(path: Path) -> tuple[str, ...]:
    with pytest.raises(SkillInvalid) as caught:
        read(path)
    assert_explained(caught.value)
    return caught.value.problems


# The seed's shapes, and ours


def test_the_seed_shapes_give_the_same_cases(tmp_path: Path) -> None:
    table = read(make_file(tmp_path / "cases.json", {"cases": SEED_CASES})).cases
    bare = read(make_file(tmp_path / "list.json", SEED_CASES)).cases
    tests = read(make_file(tmp_path / "tests.json", {"tests": SEED_CASES})).cases
    assert table == bare == tests
    assert [(case.prompt[:6], case.checks) for case in table] == [
        ("Create", (Check(kind="contains", spec="9.0"),)),
        ("Write ", (Check(kind="contains", spec="cuda_runtime.h"),)),
    ]


def test_contains_may_be_a_list(tmp_path: Path) -> None:
    path = make_file(tmp_path / "c.json", [{"input": "x", "expected": {"contains": ["a", "b"]}}])
    assert read(path).cases[0].checks == (Check(kind="contains", spec=["a", "b"]),)


def test_expected_and_checks_are_taken_together_in_order(tmp_path: Path) -> None:
    item = {
        "prompt": "x",
        "expected": {"contains": "a", "excludes": "b"},
        "checks": [{"equals": "c"}, {"contains": "d"}],
    }
    kinds = [(check.kind, check.spec) for check in read(make_file(tmp_path / "c.json", [item])).cases[0].checks]
    assert kinds == [("contains", "a"), ("excludes", "b"), ("equals", "c"), ("contains", "d")]


def test_a_byte_order_mark_is_forgiven(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SEED_CASES).encode())
    assert len(read(path).cases) == 2


# Which file belongs to a skill


def test_cases_are_read_from_skill_meta_beside_any_provenance(tmp_path: Path) -> None:
    for key in ("cases", "tests"):
        make_file(tmp_path / "skill_meta.json", {"teacher": "opus", "uses": ["x"], "evals": [1], key: SEED_CASES})
        found = read_skill_cases(tmp_path, check_problems=check_problems)
        assert found is not None
        assert (found.path.name, len(found.cases)) == ("skill_meta.json", 2)


@pytest.mark.parametrize("empty", [{"cases": [], "tests": SEED_CASES}, {"cases": SEED_CASES, "tests": []}])
def test_an_empty_list_does_not_hide_the_other(tmp_path: Path, empty: dict[str, object]) -> None:
    make_file(tmp_path / "skill_meta.json", empty)
    found = read_skill_cases(tmp_path, check_problems=check_problems)
    assert found is not None
    assert len(found.cases) == 2


def test_skill_meta_may_be_a_bare_list(tmp_path: Path) -> None:
    make_file(tmp_path / "skill_meta.json", SEED_CASES)
    found = read_skill_cases(tmp_path, check_problems=check_problems)
    assert found is not None
    assert len(found.cases) == 2


def test_skill_meta_goes_before_evals(tmp_path: Path) -> None:
    make_file(tmp_path / "skill_meta.json", {"cases": SEED_CASES})
    make_file(tmp_path / "evals" / "evals.json", {"evals": [{"prompt": "x", "expected": {"contains": "y"}}]})
    found = read_skill_cases(tmp_path, check_problems=check_problems)
    assert found is not None
    assert found.path.name == "skill_meta.json"


@pytest.mark.parametrize(
    "meta", [{}, {"tests": []}, {"cases": [], "teacher": "opus"}, {"cases": None}, {"uses": ["x"]}]
)
def test_evals_are_read_when_skill_meta_holds_no_cases(tmp_path: Path, meta: dict[str, object]) -> None:
    make_file(tmp_path / "skill_meta.json", meta)
    assert read_skill_cases(tmp_path, check_problems=check_problems) is None
    make_file(tmp_path / "evals" / "evals.json", {"evals": [{"prompt": "x", "expected": {"contains": "y"}}]})
    found = read_skill_cases(tmp_path, check_problems=check_problems)
    assert found is not None
    assert found.path.name == "evals.json"


@pytest.mark.parametrize("link", ["skill_meta.json", "evals/evals.json", "evals"])
def test_cases_that_a_link_leads_to_outside_the_skill_are_not_read(tmp_path: Path, link: str) -> None:
    private = make_file(tmp_path / "private" / "evals.json", {"cases": SEED_CASES})
    skill = tmp_path / "a"
    (skill / link).parent.mkdir(parents=True)
    (skill / link).symlink_to(private.parent if link == "evals" else private)
    readers: list[Callable[[], object]] = [lambda: read_skill_cases(skill, check_problems=no_problems)]
    if link == "skill_meta.json":
        readers.append(lambda: read_meta(skill))
    for reader in readers:
        with pytest.raises(SkillInvalid) as caught:
            reader()
        assert_explained(caught.value)
        assert "a link to a place outside the skill" in caught.value.problems[0]


def test_cases_that_a_link_leads_to_inside_the_skill_are_read(tmp_path: Path) -> None:
    make_file(tmp_path / "a" / "tests" / "mine.json", {"cases": SEED_CASES})
    (tmp_path / "a" / "skill_meta.json").symlink_to("tests/mine.json")
    (tmp_path / "b").symlink_to("a")
    assert read_skill_cases(tmp_path / "b", check_problems=no_problems) is not None


def test_a_skill_without_either_file_has_no_cases(tmp_path: Path) -> None:
    assert read_skill_cases(tmp_path, check_problems=check_problems) is None


@pytest.mark.parametrize(
    ("meta", "problem"),
    [
        ({"casses": SEED_CASES}, "`casses` is not a known key; did you mean `cases`?"),
        ({"case": SEED_CASES}, "`case` is not a known key; did you mean `cases`?"),
        ({"cases": {"a": 1}}, "`cases` must be a list"),
        ({"tests": "x"}, "`tests` must be a list"),
        ({"cases": SEED_CASES, "tests": SEED_CASES}, "has both `cases` and `tests`, which mean the same"),
        ("text", 'must be a list of cases, or {"cases": […]}'),
        (None, 'must be a list of cases, or {"cases": […]}'),
        ({"cases": [{"input": "x", "expected": {"contains": ""}}]}, "case 1: `contains` is empty"),
    ],
)
def test_a_slip_in_skill_meta_is_not_taken_for_no_cases(tmp_path: Path, meta: object, problem: str) -> None:
    make_file(tmp_path / "skill_meta.json", meta)
    with pytest.raises(SkillInvalid) as caught:
        read_skill_cases(tmp_path, check_problems=check_problems)
    assert_explained(caught.value)
    assert caught.value.problems[0].startswith(problem)


# What our own files must not hold


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"input": "x", "exepcted": {"contains": "y"}}, "`exepcted` is not a known key; did you mean `expected`?"),
        ({"imput": "x", "expected": {"contains": "y"}}, "`imput` is not a known key; did you mean `input`?"),
        ({"input": "x", "check": [{"contains": "y"}]}, "`check` is not a known key; did you mean `checks`?"),
        ({"input": "x", "expected": {"contain": "y"}}, "unknown kind of check `contain`; did you mean `contains`?"),
        ({"input": "x", "checks": [{"regx": "y"}]}, "unknown kind of check `regx`; did you mean `regex`?"),
        ({"input": "x"}, "has no checks, so every answer would pass"),
        ({"input": "x", "expected": {}}, "has no checks, so every answer would pass"),
        ({"input": "x", "checks": []}, "has no checks, so every answer would pass"),
        ({"input": "x", "expected": {"contains": []}}, "`contains` is an empty list"),
        ({"input": "x", "expected": {"contains": ["a", ""]}}, "`contains` is empty"),
        (
            {"input": "x", "expected": {"contains": 9.0}},
            "`contains` must be a string or a list of strings, not a number",
        ),
        ({"input": "x", "expected": {"regex": "("}}, "`regex` does not compile"),
        ({"input": "x", "expected": "9.0"}, '`expected` must be an object such as {"contains": "9.0"}'),
        ({"input": "x", "expected": ["9.0"]}, "`expected` must be an object"),
        ({"input": "x", "checks": {"contains": "a"}}, "`checks` must be a list"),
        ({"input": "x", "checks": ["a"]}, "check 1 must be an object with one key"),
        ({"input": "x", "checks": [{"contains": "a", "excludes": "b"}]}, "check 1 must be an object with one key"),
        ({"input": "x", "checks": [{"contains": "a"}, {}]}, "check 2 must be an object with one key"),
        ({"expected": {"contains": "y"}}, "has no `input`"),
        ({"input": None, "expected": {"contains": "y"}}, "has no `input`"),
        ({"input": 5, "expected": {"contains": "y"}}, "`input` must be a string"),
        ({"input": " \n", "expected": {"contains": "y"}}, "`input` is empty"),
        ({"input": "x", "prompt": "y", "expected": {"contains": "y"}}, "has both `input` and `prompt`"),
        ({"id": 1.5, "input": "x", "expected": {"contains": "y"}}, "`id` must be a string or a whole number"),
        ({"id": True, "input": "x", "expected": {"contains": "y"}}, "`id` must be a string or a whole number"),
        ({"id": "i" * 101, "input": "x", "expected": {"contains": "y"}}, "the id must be at most 100 printable"),
        ({"id": "a\nb", "input": "x", "expected": {"contains": "y"}}, "the id must be at most 100 printable"),
        ({"id": 10**500, "input": "x", "expected": {"contains": "y"}}, "the id must be at most 100 printable"),
        ({"input": "\ud800", "expected": {"contains": "y"}}, "contains a lone surrogate"),
        ({"input": "x", "expected": {"contains": "\ud800"}}, "contains a lone surrogate"),
        ({"input": "x", "expected": {"contains": "y"}, "extra": []}, "`extra` must be an object"),
        ({"input": "x", "expected": {"contains": "y"}, "extra": {"k": "\ud800"}}, "contains a lone surrogate"),
        *(
            ({"input": "x", "expected": {"contains": "y"}, **keys}, problem)
            for keys, problem in (
                ({"files": ["a"]}, "`files` must be an object such as"),
                ({"files": {"../a": ""}}, "`files`: the name '../a' leads out of its folder"),
                ({"files": {"/a": ""}}, "`files`: the name '/a' is not relative"),
                ({"files": {"C:/a": ""}}, "`files`: the name 'C:/a' is not relative"),
                ({"files": {"a\\b": ""}}, "`files`: the name 'a\\\\b' holds a backslash"),
                ({"files": {"": ""}}, "`files`: the name '' is empty"),
                ({"files": {"a//b": ""}}, "`files`: the name 'a//b' has a part that is empty"),
                ({"files": {"a\nb": ""}}, "`files`: the name 'a\\nb' holds a character that cannot be seen"),
                ({"files": {"a" * 241: ""}}, "`files`: the name 'aaa"),
                ({"files": {"a": 1}}, "`files`: 'a' must be text, or"),
                ({"files": {"a": {"base64": "?"}}}, "`files`: 'a' must be text, or"),
                ({"files": {"a": "\ud800"}}, "`files`: 'a' must be text, or"),
                ({"files": {"a": "", "a/b": ""}}, "`files`: 'a' is a file and also the folder of another"),
                ({"files": {"a": "x" * 5_000_000}}, "`files`: 5,000,000 bytes; 4,194,304 are allowed"),
                ({"files": {str(number): "" for number in range(201)}}, "`files` holds 201 files; 200 are allowed"),
                ({"reference": ""}, "`reference` is empty"),
                ({"reference": 3}, "`reference` must be text, or an object"),
                ({"reference": {"txt": "a"}}, "`reference` must be text, or an object"),
                ({"reference": {"text": 3}}, "`reference`: `text` must be a string"),
                ({"reference": {"files": {"../a": ""}}}, "`reference`: `files`: the name '../a' leads out"),
                ({"reference": "\ud800"}, "`reference` holds a lone surrogate"),
                ({"wrong": "a"}, "`wrong` must be a list of answers"),
                ({"wrong": ["a", " "]}, "`wrong` 2 is empty"),
                ({"refrence": "a"}, "`refrence` is not a known key; did you mean `reference`?"),
            )
        ),
        ("x", "must be an object with `input` and `expected`"),
        (None, "must be an object with `input` and `expected`"),
    ],
    ids=lambda value: ascii(str(value)[:40]),
)
def test_a_slip_in_a_case_is_named_and_mended_in_words(tmp_path: Path, item: object, problem: str) -> None:
    found = problems_of(make_file(tmp_path / "c.json", {"cases": [SEED_CASES[0], item]}))
    assert any(line.split(": ", 1)[1].startswith(problem) for line in found)
    assert all(line.startswith("case 2") for line in found)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"casses": SEED_CASES}, "`casses` is not a known key; did you mean `cases`?"),
        ({"cases": SEED_CASES, "notes": "x"}, "`notes` is not a known key"),
        ({"tests": SEED_CASES, "version": 1}, "`version` is not a known key"),
        ({"cases": SEED_CASES, "evals": SEED_CASES}, "has both `cases` and `evals`"),
        ({"cases": "x"}, "`cases` must be a list"),
        ({}, "it has no key `cases`"),
        ({"cases": []}, "it has no cases"),
        ({"cases": None}, "it has no cases"),
        ([], "it has no cases"),
        ("x", "must be a list of cases"),
        (7, "must be a list of cases"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_slip_around_the_cases_is_named(tmp_path: Path, value: object, problem: str) -> None:
    assert problems_of(make_file(tmp_path / "c.json", value))[0].startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "it is not JSON: Expecting value at line 1, column 1"),
        (b"{", "it is not JSON"),
        (b'[{"input": "x",}]', "it is not JSON"),
        (b"[1]\nx", "it is not JSON: Extra data at line 2, column 1"),
        (b"\xff\xfe[\x00]\x00", "it is not UTF-8 text"),
        (b'[{"input": "\xe9"}]', "it is not UTF-8 text"),
        (b"[NaN]", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"[1e999]", "the number 1e999 is too large"),
        (b"[" + b"9" * 5_000 + b"]", "a number of 5,000 digits is too large"),
        (b"[" * 200 + b"]" * 200, "it is nested more than 100 levels deep"),
        (b"[" * 200_000, "it is nested too deeply"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "it is nested more than 100 levels deep"),
        (b'[{"input": "x", "expected": {"contains": "a", "contains": "b"}}]', "the key `contains` appears twice"),
        (b"cases:\n  - input: x\n", "it is YAML, and cases are one JSON"),
        (b'["\x00"]', "it is not JSON"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_a_file_that_is_not_sound_json_is_explained(tmp_path: Path, text: bytes, problem: str) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(text)
    (found,) = problems_of(path)
    assert found.startswith(problem)


def test_every_problem_is_listed_at_once_and_counted(tmp_path: Path) -> None:
    path = make_file(tmp_path / "c.json", [{"input": ""}, {"imput": "x"}, 3])
    with pytest.raises(SkillInvalid, match="6 problems in the cases") as caught:
        read(path)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["case 1"] * 2 + ["case 2"] * 3 + ["case 3"]


def test_a_flood_of_problems_is_cut(tmp_path: Path) -> None:
    found = problems_of(make_file(tmp_path / "c.json", [None] * 500))
    assert (len(found), found[-1]) == (101, "and 400 more")


@pytest.mark.parametrize("name", ["missing.json", "n" * 300, "nul\0", "."])
def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is a folder" if name == "." else "no such file") as caught:
        read(tmp_path / name)
    assert_explained(caught.value)


# Ids and digests


def test_ids_are_texts_and_duplicates_are_refused(tmp_path: Path) -> None:
    items = [{"id": name, **SEED_CASES[0]} for name in ("a", 1, "1", "a")]
    assert problems_of(make_file(tmp_path / "c.json", items)) == (
        "case 3 (1): has the same id as case 2, `1`",
        "case 4 (a): has the same id as case 1, `a`",
    )


def test_the_same_case_twice_is_refused(tmp_path: Path) -> None:
    (problem,) = problems_of(make_file(tmp_path / "c.json", [SEED_CASES[0], SEED_CASES[1], SEED_CASES[0]]))
    assert problem.startswith("case 3: has the same id as case 1, `case-")


def test_derived_ids_are_stable_and_do_not_depend_on_order_or_key_names(tmp_path: Path) -> None:
    forward = read(make_file(tmp_path / "a.json", SEED_CASES)).cases
    backward = read(make_file(tmp_path / "b.json", SEED_CASES[::-1])).cases
    other_keys: list[dict[str, Json]] = [{"prompt": case["input"], "checks": [case["expected"]]} for case in SEED_CASES]
    respelt = read(make_file(tmp_path / "c.json", other_keys)).cases
    assert [case.id for case in forward] == ["case-99bb709d11cf", "case-82ebf1f88e1d"]
    assert [case.id for case in backward] == [case.id for case in forward][::-1]
    assert respelt == forward


def test_a_digest_sees_the_prompt_and_the_checks_but_not_the_name(tmp_path: Path) -> None:
    def digest(**changes: object) -> str:
        item = {"id": "a", "input": "x", "expected": {"contains": "y"}, **changes}
        return read(make_file(tmp_path / "c.json", [item])).cases[0].digest

    assert digest() == digest(id="b")
    assert (
        len({digest(), digest(input="z"), digest(expected={"contains": "z"}), digest(expected={"excludes": "y"})}) == 4
    )


# The community's dialects


def test_the_documented_shape_becomes_judged_checks(tmp_path: Path) -> None:
    found = read_foreign(
        tmp_path,
        {
            "skill_name": "csv",
            "evals": [
                {
                    "id": 1,
                    "prompt": "Sum the column",
                    "expected_output": "A total",
                    "files": ["evals/files/x.csv"],
                    "assertions": ["names the total", "contains 9.0"],
                }
            ],
        },
    )
    assert found.extra == {"skill_name": "csv"}
    assert found.cases == (
        Case(
            id="1",
            prompt="Sum the column",
            checks=(Check(kind="judge", spec={"statements": ["names the total", "contains 9.0"]}),),
            extra={"expected_output": "A total", "files": ["evals/files/x.csv"]},
        ),
    )


@pytest.mark.parametrize("key", ["assertions", "expectations", "expected_behavior"])
@pytest.mark.parametrize("statements", [["is polite"], "is polite"])
def test_statements_in_any_dialect_go_to_a_judge(tmp_path: Path, key: str, statements: Json) -> None:
    (case,) = read_foreign(tmp_path, {"evals": [{"prompt": "x", key: statements}]}).cases
    assert case.checks == (Check(kind="judge", spec={"statements": ["is polite"]}),)
    assert case.extra == {}


@pytest.mark.parametrize("key", ["expected_output", "ground_truth", "rubric"])
def test_prose_without_statements_goes_to_a_judge(tmp_path: Path, key: str) -> None:
    (case,) = read_foreign(tmp_path, {"evals": [{"prompt": "x", key: "A total of 9.0"}]}).cases
    assert case.checks == (Check(kind="judge", spec={"expected": "A total of 9.0"}),)


def test_agent_skills_eval_is_read_with_everything_kept(tmp_path: Path) -> None:
    item: dict[str, Json] = {
        "id": "weather",
        "name": "Asks for the weather",
        "prompt": "Weather?",
        "expected_output": "Sunny",
        "tools": [{"name": "weather"}],
        "tool_choice": "auto",
        "params": {"temperature": 0},
        "tool_assertions": [{"type": "tool-called", "name": "weather"}],
    }
    found = read_foreign(tmp_path, {"defaults": {"runs": 3}, "evals": [item]})
    (case,) = found.cases
    assert (case.id, case.checks) == ("weather", (Check(kind="judge", spec={"expected": "Sunny"}),))
    assert set(case.extra) == {"name", "tools", "tool_choice", "params", "tool_assertions"}
    assert found.extra == {"defaults": {"runs": 3}}


def test_a_bare_list_of_questions_is_read(tmp_path: Path) -> None:
    item: dict[str, Json] = {
        "id": "q1",
        "question": "Which port?",
        "expected_skill": "tarnctl",
        "expected_script": None,
        "ground_truth": "7413",
        "expected_behavior": ["loads the skill", "answers 7413"],
    }
    for name in ("evals/evals.json", "nvidia.json"):
        (case,) = read_foreign(tmp_path, [item], name).cases
        assert (case.id, case.prompt) == ("q1", "Which port?")
        assert case.checks == (Check(kind="judge", spec={"statements": ["loads the skill", "answers 7413"]}),)
        assert set(case.extra) == {"expected_skill", "expected_script", "ground_truth"}


def driftproof(*checks: Mapping[str, Json]) -> dict[str, Json]:
    case: dict[str, Json] = {"id": "c", "prompt": "x", "rubric": "says so", "pass_threshold": 0.7}
    case["checks"] = [dict(check) for check in checks]
    return {"skill": "s", "version": "1", "format": "driftproof", "cases": [case]}


def test_named_checks_are_read_with_their_flags(tmp_path: Path) -> None:
    value = driftproof(
        {"name": "port", "kind": "regex", "pattern": r"port \d+", "flags": "i"},
        {"name": "exact", "kind": "contains", "value": "7413"},
        {"name": "all", "kind": "regex", "pattern": "a.b", "flags": "gsi"},
        {"name": "none", "kind": "regex", "pattern": "a", "flags": ""},
    )
    (case,) = read(make_file(tmp_path / "drift.json", value)).cases
    assert [(check.kind, check.spec) for check in case.checks] == [
        ("regex", r"(?i)port \d+"),
        ("contains", "7413"),
        ("regex", "(?is)a.b"),
        ("regex", "a"),
    ]
    assert set(case.extra) == {"rubric", "pass_threshold", "checks"}, "the names of checks are kept as they were"


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ({"kind": "regex", "pattern": "a", "flags": "iq"}, "check 1: `flags` can be any of i, m, s, x, not 'iq'"),
        ({"kind": "regex", "pattern": "a", "flags": 2}, "check 1: `flags` can be any of i, m, s, x, not 2"),
        ({"kind": "contains", "value": "a", "flags": "i"}, "check 1: `flags` are for `regex`; `contains` has none"),
        ({"kind": "contain", "value": "a"}, "unknown kind of check `contain`; did you mean `contains`?"),
        ({"kind": "contains"}, "`contains` must be a string or a list of strings, not null"),
    ],
)
def test_a_named_check_that_would_be_graded_wrongly_is_refused(
    tmp_path: Path, check: dict[str, Json], problem: str
) -> None:
    assert problems_of(make_file(tmp_path / "drift.json", driftproof(check))) == (f"case 1 (c): {problem}",)


def test_named_checks_are_known_by_their_shape_alone(tmp_path: Path) -> None:
    item = {"id": "c", "prompt": "x", "checks": [{"kind": "contains", "value": "7413"}]}
    (case,) = read(make_file(tmp_path / "any.json", {"cases": [item]})).cases
    assert (case.checks, case.extra) == ((Check(kind="contains", spec="7413"),), {})


def test_our_own_shape_is_read_under_the_community_name(tmp_path: Path) -> None:
    item = {"input": "x", "expected": {"contains": "a"}, "checks": [{"excludes": "b"}], "note": "kept"}
    (case,) = read(make_file(tmp_path / "evals" / "evals.json", {"cases": [item]})).cases
    assert {(check.kind, check.spec) for check in case.checks} == {("contains", "a"), ("excludes", "b")}
    assert case.extra == {"note": "kept"}


def test_unreadable_ids_and_prompts_of_strangers_are_kept_and_reported(tmp_path: Path) -> None:
    item = {"id": [1], "prompt": 5, "assertions": ["x"]}
    with pytest.raises(SkillInvalid) as caught:
        read_foreign(tmp_path, {"evals": [item]})
    assert caught.value.problems == ("case 1: has no prompt, under any of prompt, question, input, query",)


def test_cases_for_a_judge_say_what_is_missing(tmp_path: Path) -> None:
    path = make_file(tmp_path / "evals" / "evals.json", {"evals": [{"id": 1, "prompt": "x", "assertions": ["good"]}]})
    (problem,) = problems_of(path)
    assert problem.startswith("case 1 (1): checks in prose need a judge")


def test_trigger_cases_are_not_mistaken_for_cases(tmp_path: Path) -> None:
    path = make_file(tmp_path / "evals" / "evals.json", [{"query": "merge these", "should_trigger": True}])
    assert problems_of(path) == ("case 1: has no checks, so every answer would pass",)


# Writing


def test_cases_read_back_equal_with_what_strangers_left_in_them(tmp_path: Path) -> None:
    foreign = read_foreign(tmp_path, driftproof({"name": "n", "kind": "regex", "pattern": "a", "flags": "i"}), "d.json")
    write_case_file(tmp_path / "ours.json", foreign.cases)
    assert read(tmp_path / "ours.json").cases == foreign.cases


def test_the_file_we_write_is_as_a_person_would_write_it(tmp_path: Path) -> None:
    write_case_file(tmp_path / "c.json", [Case(id="ü", prompt="x", checks=(Check(kind="contains", spec=["é"]),))])
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8")) == {
        "cases": [{"id": "ü", "input": "x", "checks": [{"contains": ["é"]}]}]
    }
    assert "é" in (tmp_path / "c.json").read_text(encoding="utf-8")


def test_cases_that_cannot_be_written_are_explained(tmp_path: Path) -> None:
    case = Case(id="a", prompt="\ud800", checks=(Check(kind="contains", spec="x"),))
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        write_case_file(tmp_path / "c.json", [case])
    with pytest.raises(EngineError, match="cannot be written to it"):
        write_case_file(tmp_path / "missing" / "c.json", [])
    assert list(tmp_path.iterdir()) == []


# Files and answers in a case


def test_files_and_answers_are_read_from_text_and_base64(tmp_path: Path) -> None:
    item = {
        "input": "x",
        "files": {"src/a.cu": "int x;\n", "logo.png": {"base64": "iVBO"}},
        "expected": {"contains": "y"},
        "reference": {"text": "done", "files": {"build.toml": "a = 1\n"}},
        "wrong": ["no", {"files": {"build.toml": ""}}],
    }
    (case,) = read(make_file(tmp_path / "c.json", [item])).cases
    assert case.files == {"src/a.cu": b"int x;\n", "logo.png": b"\x89PN"}
    assert case.reference == Answer(text="done", files={"build.toml": b"a = 1\n"})
    assert case.wrong == (Answer(text="no"), Answer(files={"build.toml": b""}))


def test_files_change_the_digest_and_answers_do_not(tmp_path: Path) -> None:
    plain: dict[str, Json] = {"input": "x", "expected": {"contains": "y"}}
    others: list[dict[str, Json]] = [
        {**plain, "reference": "y"},
        {**plain, "wrong": ["n"]},
        {**plain, "files": {"a": "b"}},
    ]
    first, *found = (read(make_file(tmp_path / "c.json", [item])).cases[0].digest for item in (plain, *others))
    assert [digest == first for digest in found] == [True, True, False]


def test_what_strangers_call_by_our_names_is_used_only_in_our_form(tmp_path: Path) -> None:
    theirs: dict[str, Json] = {"files": ["a.csv"], "reference": "see the handbook", "wrong": ["prose"]}
    ours: dict[str, Json] = {"files": {"a": "b"}, "reference": {"text": "y"}, "wrong": [{"text": "n"}]}
    values = [{"prompt": "x", "assertions": ["a"], **keys} for keys in (theirs, ours)]
    kept, used = read_foreign(tmp_path, values).cases
    assert (kept.files, kept.reference, kept.wrong, kept.extra) == ({}, None, (), theirs)
    assert (used.files, used.reference, used.wrong, used.extra) == (
        {"a": b"b"},
        Answer(text="y"),
        (Answer(text="n"),),
        {},
    )


def test_a_bare_text_is_an_answer_beside_checks_of_our_form_in_a_file_called_evals_too(tmp_path: Path) -> None:
    answers: dict[str, Json] = {"reference": "7413", "wrong": ["8080", {"text": "none"}]}
    mine, theirs = (
        {"prompt": "x", "checks": [{"equals": "7413"}], "expected_output": "The port", **answers},
        {"prompt": "x", "checks": [{"name": "a", "kind": "contains", "value": "7413"}], **answers},
    )
    ours, foreign = read_foreign(tmp_path, [mine, theirs]).cases
    assert (ours.reference, ours.wrong) == (Answer(text="7413"), (Answer(text="8080"), Answer(text="none")))
    assert (foreign.reference, foreign.wrong, foreign.extra["reference"]) == (None, (), "7413")


def test_prose_about_the_expected_output_is_no_reference(tmp_path: Path) -> None:
    (case,) = read_foreign(tmp_path, [{"prompt": "x", "expected_output": "A chart", "assertions": ["a"]}]).cases
    assert case.reference is None


# Families


def test_a_family_comes_back_as_it_went_and_is_no_part_of_the_digest(tmp_path: Path) -> None:
    item = {"id": "a", "input": "x", "expected": {"contains": "y"}}
    alone = read(make_file(tmp_path / "alone.json", [item])).cases[0]
    case = read(make_file(tmp_path / "c.json", [{**item, "family": " ports "}])).cases[0]
    assert (case.family, alone.family) == ("ports", None)
    assert case.digest == alone.digest
    other = replace(alone, id="b", prompt="What else?")
    write_case_file(tmp_path / "again.json", [case, other])
    assert read_case_file(tmp_path / "again.json", check_problems=no_problems).cases == (case, other)


@pytest.mark.parametrize("family", ["", "  ", 7, ["a"], "two\nlines", "x" * 61])
def test_a_family_that_is_no_short_line_is_a_problem(tmp_path: Path, family: Json) -> None:
    path = make_file(tmp_path / "c.json", [{"input": "x", "expected": {"contains": "y"}, "family": family}])
    (problem,) = problems_of(path)
    assert problem.startswith("case 1: `family` must be")


def test_a_foreign_family_is_used_where_it_is_a_short_line_and_kept_where_not(tmp_path: Path) -> None:
    items = [{"prompt": str(value), "assertions": ["y"], "family": value} for value in ("ports", {"of": "kernels"})]
    ours, theirs = read_foreign(tmp_path, {"evals": items}).cases
    assert (ours.family, dict(ours.extra)) == ("ports", {})
    assert (theirs.family, dict(theirs.extra)) == (None, {"family": {"of": "kernels"}})


def test_a_passage_is_read_in_our_files_and_in_those_of_others(tmp_path: Path) -> None:
    item = {"prompt": "x", "expected": {"contains": "y"}, "passage": "It is y."}
    (case,) = read_foreign(tmp_path, {"evals": [item]}).cases
    assert (case.passage, case.extra) == ("It is y.", {})
    (kept,) = read_foreign(tmp_path / "other", {"evals": [{**item, "passage": ["p. 3"]}]}).cases
    assert (kept.passage, kept.extra) == (None, {"passage": ["p. 3"]})
