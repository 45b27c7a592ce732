"""`file`: a file that must be there, contain or match something, or must not be there."""

from collections.abc import Mapping

from upskill.core.checks.answer_files import answer_files_of
from upskill.core.checks.contains import find_token
from upskill.core.checks.kind import (
    CheckOutcome,
    Need,
    ObjectKind,
    Submission,
    listed,
    shown,
    string_problems,
    strings_of,
    type_name,
)
from upskill.core.checks.regex import pattern_problems, search_any
from upskill.core.nouns.answer_schemas import TEXT, TEXTS, object_of
from upskill.core.nouns.case import Json
from upskill.core.nouns.text import decoded


class File(ObjectKind):
    """Passes when the file is there and says what it should; with `absent`, when it is not there."""

    name = "file"
    keys = ("path", "contains", "excludes", "matches", "absent")
    short_for = "path"
    schema = object_of(("path",), path=TEXT, contains=TEXTS, excludes=TEXTS, matches=TEXT)
    guidance = (
        '`{"file": {"path": "build.toml", "contains": ["edition"], "excludes": ["universal"], "matches": "(?m)^name"}}`'
        ": a file that the student wrote."
    )
    rules = (
        "`contains` and `excludes` are as the checks; `matches` is tried with and without white space at both ends.",
        "Without tools, a block without a name that is the only one of the answer is the file.",
    )

    def problems(self, spec: Json) -> list[str]:
        """A name, or an object with `path` and any of `contains`, `excludes`, `matches`; or with `absent`."""
        if not isinstance(spec, str | dict):
            return [f"`file` must be the name of a file, or an object with `path`, not {type_name(spec)}"]
        spec = self.as_object(spec)
        problems = self.unknown_keys(spec) + self.path_problems(spec, "path")
        for key in ("contains", "excludes"):
            if key in spec:
                problems += string_problems(spec[key], kind=f"file: {key}", many=True)
        problems += pattern_problems(spec, "matches", kind=self.name) + self.flag_problems(spec, "absent")
        if "absent" in spec and len(spec) > 2:
            problems.append("`file`: a file that is `absent` has no content; remove the other keys")
        return problems

    def describe(self, spec: Json) -> str:
        wanted = self.as_object(spec)
        asked = [f"{key} {listed(strings_of(wanted[key]))}" for key in ("contains", "excludes") if key in wanted]
        asked += [f"matches the pattern {wanted['matches']}"] if "matches" in wanted else []
        there = "does not exist" if wanted.get("absent") else "exists"
        return f"the file {wanted.get('path')} {' and '.join(asked) or there}"

    def needs(self, spec: Json) -> frozenset[Need]:
        return frozenset({"files"})

    def reads_words(self, spec: Json) -> bool:
        return False

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """The file as the answer leaves it. A file of the case that was not touched is still there."""
        wanted = self.as_object(spec)
        path, files = str(wanted["path"]), answer_files_of(submission)
        if wanted.get("absent"):
            found = path in files.all
            return CheckOutcome(not found, f"{path} {'exists' if found else 'does not exist'}")
        data = files.read(path)
        if data is None:
            return CheckOutcome(False, files.missing(path))
        if not {"contains", "excludes", "matches"}.intersection(wanted):
            return CheckOutcome(True, f"{path} exists, {len(data):,} bytes")
        text = decoded(data)
        if text is None:
            return CheckOutcome(False, f"{path} is not text (UTF-8)")
        return _check_text(wanted, text, name=path)


def _check_text(wanted: Mapping[str, Json], text: str, *, name: str) -> CheckOutcome:
    missing = [item for item in strings_of(wanted.get("contains")) if find_token(item, text) is None]
    if missing:
        return CheckOutcome(False, f"{name}: not found: " + ", ".join(map(shown, missing)))
    found = [item for item in strings_of(wanted.get("excludes")) if find_token(item, text) is not None]
    if found:
        return CheckOutcome(False, f"{name}: found " + ", ".join(map(shown, found)))
    if "matches" in wanted:
        match = search_any(str(wanted["matches"]), (text, text.strip()))
        if match is None:
            return CheckOutcome(False, f"{name}: no match for {shown(str(wanted['matches']))}")
        return CheckOutcome(True, f"{name}: matched {shown(match)}")
    return CheckOutcome(True, f"{name}: as expected")
