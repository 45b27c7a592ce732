"""Random skills and case files, sound and damaged."""

import json
import unicodedata
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from upskill.core.nouns import Answer, Case, Check
from upskill.core.nouns.case import Json

# Sound skills. Most parts are drawn from pools: a thousand skills of random letters take longer to draw than to read.

_WHOLE = st.characters(exclude_categories=["Cs"])
_AWKWARD = [
    "Use when: x", "a: b", "fix C# # code", "'", '"', "\\", "\\n", "\n", "\r\n", "\t", "- a", "? b", "| c", "{d}",
    "[e]", "&f", "*g", "!h", "%i", "@j", "`k`", "yes", "null", "1.0", "~", "0x1f", "12:30", "é", "e\u0301", "😀",
    "\u200b", ":", "\ufeff", "\x00", "\x1b[31m", "\x85", "\u2028", "\u00a0", "-- ", "=", ",", "<<:", "\U0010ffff",
    "日本", " ", "x" * 90,
]  # fmt: skip


def one_line(text: str) -> str:
    """What a text must read back as."""
    return " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in text).split())


def _one_line_of(text: str) -> str:
    """A text that a field can hold: something to see, and no dashes that would end the frontmatter."""
    return text if one_line(text) else text + "x"


_POOL_TEXT = st.lists(st.sampled_from(_AWKWARD), min_size=1, max_size=5).map("".join).map(_one_line_of)
_RANDOM_TEXT = st.text(_WHOLE, max_size=30).map(lambda text: _one_line_of(text.replace("---", "-")))

names = st.sampled_from(
    ["a", "0", "007", "yes", "no", "null", "y", "1e3", "pdf-merge", "a-1-b", "x" * 64, "0x1f", "on-off"]
)
descriptions = st.one_of(_POOL_TEXT, _RANDOM_TEXT).map(lambda text: text.translate({ord("<"): "(", ord(">"): ")"}))
bodies = st.one_of(
    st.sampled_from(["", "---\n", "\r\n", "# Title\n\n---\n", "\x00", "\ufeff"]), st.text(_WHOLE, max_size=40)
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "license": _RANDOM_TEXT,
        "compatibility": _POOL_TEXT,
        "allowed-tools": _POOL_TEXT,
        "metadata": st.dictionaries(
            _POOL_TEXT.map(one_line).map(lambda text: text[:80].strip()), _POOL_TEXT, max_size=2
        ),
    },
)
file_trees = st.dictionaries(
    st.sampled_from(
        [
            *("a", "b.md", "références/é.md", "scripts/run.sh", "x/y/z/w.bin", "x/evals/e", "x/skill_meta.json"),
            *("with space/a b", "emoji 😀", "x.y/.z", "assets/logo.png", "scripts/lib/__init__.py", "Ünï", "-dash"),
            *(".hidden", "skill.md.bak"),
        ]
    ),
    st.binary(max_size=20),
    max_size=4,
)
modes = st.sampled_from([0o644, 0o755, 0o600, 0o444])


def expected_fields(given: dict[str, Any]) -> dict[str, Any]:
    """What fields read back as: the same texts on one line, and no empty table."""
    expected: dict[str, Any] = {key: one_line(value) for key, value in given.items() if key != "metadata"}
    if metadata := given.get("metadata"):
        expected["metadata"] = {key: one_line(text) for key, text in metadata.items()}
    return expected


# Sound cases

_SEEN = st.text(_WHOLE, max_size=15).map(lambda text: text if text.strip() else text + "x")
_AWKWARD_TEXT = st.sampled_from([text for text in _AWKWARD if text.strip()])
_TEXT = st.one_of(_AWKWARD_TEXT, _SEEN)
_PATTERN = st.sampled_from([r"\d+", "(?i)port", "a|b", r"\bx\b", "é", "[^a]", "(?s)a.b"])
checks = st.one_of(
    st.builds(Check, kind=st.sampled_from(["contains", "excludes", "equals"]), spec=_TEXT),
    st.builds(
        Check, kind=st.sampled_from(["contains", "excludes"]), spec=st.lists(_AWKWARD_TEXT, min_size=1, max_size=3)
    ),
    st.builds(Check, kind=st.just("regex"), spec=_PATTERN),
)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(_WHOLE, max_size=10),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_AWKWARD_TEXT, inner, max_size=3)),
    max_leaves=6,
)
_FILES = st.sampled_from(
    [
        *({}, {}, {"build.toml": b"a = 1\n"}, {"src/\u00e9.cu": b"\xff\x00", "a b/c": b""}, {"x/y/z": b"\x80"}),
        *({".hidden": b"\xef\xbb\xbf", "-dash": b"\r\n"}, {"\u65e5\u672c.md": "\u65e5\u672c\U0010ffff".encode()}),
    ]
)
_ANSWERS = st.one_of(
    st.builds(Answer, text=_AWKWARD_TEXT),
    st.builds(Answer, text=st.sampled_from(["", "x"]), files=_FILES.filter(bool)),
    st.builds(Answer, text=st.sampled_from(["", "x"]), files=_FILES, removed=st.just(("old.toml", "a b/c"))),
)
_PRINTABLE = [text for text in _AWKWARD if text.isprintable()]
case_lists = st.lists(
    st.builds(
        Case,
        id=st.one_of(st.sampled_from(_PRINTABLE), st.integers(0, 10**6).map(str)),
        prompt=_TEXT,
        checks=st.lists(checks, min_size=1, max_size=3).map(tuple),
        files=_FILES,
        reference=st.one_of(st.none(), _ANSWERS),
        wrong=st.lists(_ANSWERS, max_size=2).map(tuple),
        family=st.sampled_from([None, "ports", "a family"]),
        extra=st.one_of(
            st.just({}),
            st.floats(allow_nan=False, allow_infinity=False).map(lambda number: {"pass_threshold": number}),
            st.sampled_from([None, True, [], {}, [["a"], {"": 10**30}], {"é": {"b": [None, -0.0]}}]).map(
                lambda value: {"": value, "files": ["f"]}
            ),
        ),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda case: case.id,
)

# Damage


@dataclass(frozen=True)
class Damaged:
    """Bytes that were spoilt. `beyond_use` when no reader could make anything of them."""

    data: bytes
    beyond_use: bool


@st.composite
def _spoilt(draw: st.DrawFn, sound: bytes, chunks: list[bytes]) -> bytes:
    """Sound bytes with bits flipped, parts cut out, doubled or replaced."""
    data = bytearray(sound)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        until = min(len(data), at + draw(st.integers(0, 20)))
        match draw(st.sampled_from(["flip", "cut", "double", "insert", "truncate", "random"])):
            case "flip" if data:
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at:until]
            case "double":
                data[at:at] = data[at:until]
            case "truncate":
                del data[at:]
            case "random":
                data[at:until] = draw(st.binary(max_size=8))
            case _:
                data[at:at] = draw(st.sampled_from(chunks))
    return bytes(data)


_ANY_CHUNKS = [
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\x1b[2J", b"\xe2\x80\xa8", b"\xc2\x85", b"\xf0\x9f",
]  # fmt: skip

SOUND_SKILL = (
    b"---\nname: pdf-merge\ndescription: >\n  Merges files. Use when:\n  merging.\nlicense: 'MIT'\n"
    b'metadata:\n  version: "1.0"\n  tags: [a, b]\nallowed-tools: Read Write\n---\n# Merge\n\n---\nText.\n'
)
_YAML_CHUNKS = [
    *_ANY_CHUNKS, b"\n---\n", b"---", b"&a ", b"*a", b"<<: *a", b"!!int ''", b"!!python/object:os.x {}", b"? ",
    b"{" * 400, b"[" * 400, b"- " * 400, b"9" * 5000, b".nan", b"1e999", b"\t", b"|+9", b"%YAML 9.9\n", b'"\\ud800"',
    b"'", b": ", b" #", b"...\n",
]  # fmt: skip
_NO_SKILL = st.one_of(
    st.integers(0, SOUND_SKILL.index(b"---\n#") - 1).map(lambda at: SOUND_SKILL[:at]),
    st.sampled_from([b"\xff", b"\xed\xa0\x80", b"\xc3"]).flatmap(
        lambda bad: st.integers(0, len(SOUND_SKILL)).map(lambda at: SOUND_SKILL[:at] + bad + b"\n" + SOUND_SKILL[at:])
    ),
    st.sampled_from([b"\x00", b"\x1b", b"*a\n", b"[" * 400 + b"\n", b"{\n", b"'\n"]).map(
        lambda bad: b"---\ndescription: d\nx: " + bad + b"---\n"
    ),
    json_values.map(lambda value: b"---\n" + json.dumps([value]).encode() + b"\n---\n"),
)
damaged_skills = st.one_of(
    _spoilt(SOUND_SKILL, _YAML_CHUNKS).map(lambda data: Damaged(data, beyond_use=False)),
    _NO_SKILL.map(lambda data: Damaged(data, beyond_use=True)),
    st.binary(max_size=60).map(lambda data: Damaged(data, beyond_use=True)),
    st.text(st.sampled_from("abc:-? #&*!|>'\"%@`{}[],\n \t\\~=<0.é"), max_size=60).map(
        lambda text: Damaged(f"---\n{text}\n---\n".encode(), beyond_use=False)
    ),
)

_SOUND_CASES = json.dumps(
    {
        "cases": [
            {"id": "a", "input": "Which port?", "expected": {"contains": ["7413", "9.0"]}},
            {"id": 2, "prompt": "Say yes", "checks": [{"equals": "yes"}, {"regex": "(?i)y"}], "extra": {"k": 1.5}},
            {
                "input": "x",
                "expected": {"contains": "y"},
                "files": {"a/b": "t", "c": {"base64": "AA=="}},
                "reference": "y",
            },
            {
                "input": "z",
                "expected": {"contains": "y"},
                "reference": {"files": {"a": "y"}},
                "wrong": ["n", {"text": "o"}],
            },
        ]
    },
    indent=1,
).encode()
_SOUND_EVALS = json.dumps(
    {
        "skill_name": "s",
        "evals": [
            {"id": 1, "prompt": "x", "expected_output": "y", "assertions": ["a", "b"], "files": ["f"]},
            {"id": "b", "question": "x", "checks": [{"name": "n", "kind": "regex", "pattern": "a", "flags": "i"}]},
        ],
    }
).encode()
_JSON_CHUNKS = [
    *_ANY_CHUNKS, b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"[" * 50_000, b'{"a":' * 300, b'"\\ud800"',
    b'"\\u0000"', b"null", b"true", b"{}", b"[]", b",", b"}", b"]", b'"', b"//", b'{"cases": 1, "cases": 2}',
]  # fmt: skip
_KEYS = st.sampled_from(
    [
        *("cases", "casses", "tests", "evals", "id", "input", "prompt", "expected", "checks", "extra", "contains"),
        *("regex", "assertions", "expected_output", "rubric", "kind", "pattern", "value", "flags", "question"),
        *("judge", "\ud800", "", "files", "reference", "wrong", "text", "base64", "../x", "a/b", "a"),
    ]
)
_ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=6),
        st.sampled_from(["a", "(", "a*", "(?R)", "\ud800", "x" * 10_001]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=4)),
    max_leaves=8,
)
damaged_case_files = st.one_of(
    _spoilt(_SOUND_CASES, _JSON_CHUNKS).map(lambda data: Damaged(data, beyond_use=False)),
    _spoilt(_SOUND_EVALS, _JSON_CHUNKS).map(lambda data: Damaged(data, beyond_use=False)),
    st.integers(0, len(_SOUND_CASES) - 1).map(lambda at: Damaged(_SOUND_CASES[:at], beyond_use=True)),
    st.binary(max_size=60).map(lambda data: Damaged(data, beyond_use=True)),
    _ANY_JSON.map(lambda value: Damaged(json.dumps(value).encode(), beyond_use=False)),
    st.lists(st.dictionaries(_KEYS, _ANY_JSON, max_size=5), max_size=4).map(
        lambda items: Damaged(json.dumps({"cases": items}).encode(), beyond_use=False)
    ),
)
