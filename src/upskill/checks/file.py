"""`file`: a file that must be there, say or match something, or must not be there."""

from upskill.checks.answer_files import answer_files_of
from upskill.checks.contains import find_token
from upskill.checks.grading_context import CheckOutcome
from upskill.checks.kind import Kind, Need, Submission, shown, strings_of, type_name
from upskill.checks.regex import search
from upskill.checks.spec import flag_problems, path_problems, text_problems, unknown_keys
from upskill.domain.answer_schemas import TEXT, TEXTS, object_of
from upskill.domain.case import Json

_KEYS = ("path", "contains", "excludes", "matches", "absent")


class File(Kind):
    """Passes when the file is there and says what it should; with `absent`, when it is not there."""

    name = "file"
    schema = object_of(("path",), path=TEXT, contains=TEXTS, excludes=TEXTS, matches=TEXT)
    told = (
        '`{"file": {"path": "build.toml", "contains": ["edition"], "excludes": ["universal"], "matches": "(?m)^name"}}`'
        ": a file that the student wrote."
    )

    def problems(self, spec: Json) -> list[str]:
        """A name, or an object with `path` and any of `contains`, `excludes`, `matches`; or with `absent`."""
        if isinstance(spec, str):
            spec = {"path": spec}
        if not isinstance(spec, dict):
            return [f"`file` must be the name of a file, or an object with `path`, not {type_name(spec)}"]
        problems = unknown_keys(spec, _KEYS, kind=self.name) + path_problems(spec, "path", kind=self.name)
        problems += text_problems(spec, kind=self.name) + flag_problems(spec, "absent", kind=self.name)
        if "absent" in spec and len(spec) > 2:
            problems.append("`file`: a file that is `absent` says nothing; leave out the other keys")
        return problems

    def needs(self, spec: Json) -> frozenset[Need]:
        """Files."""
        return frozenset({"files"})

    def reads_words(self, spec: Json) -> bool:
        """Files alone."""
        return False

    def look(self, spec: Json, work: Submission) -> CheckOutcome:
        """The file as the answer leaves it. A file of the case that was not touched is still there."""
        wanted: dict[str, Json] = spec if isinstance(spec, dict) else {"path": spec}
        path, left = str(wanted["path"]), answer_files_of(work)
        if wanted.get("absent"):
            found = path in left.all
            return CheckOutcome(not found, f"{path} is {'there' if found else 'not there'}")
        data = left.read(path)
        if data is None:
            return CheckOutcome(False, left.missing(path))
        if not {"contains", "excludes", "matches"}.intersection(wanted):
            return CheckOutcome(True, f"{path} is there, {len(data):,} bytes")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return CheckOutcome(False, f"{path} is not text (UTF-8)")
        return look_at_text(wanted, text, name=path)


def look_at_text(wanted: dict[str, Json], text: str, *, name: str) -> CheckOutcome:
    """Look for `contains`, `excludes` and `matches` in a text that has a name."""
    missing = [item for item in strings_of(wanted.get("contains")) if find_token(item, text) is None]
    if missing:
        return CheckOutcome(False, f"{name}: not found: " + ", ".join(map(shown, missing)))
    found = [item for item in strings_of(wanted.get("excludes")) if find_token(item, text) is not None]
    if found:
        return CheckOutcome(False, f"{name}: found " + ", ".join(map(shown, found)))
    if "matches" in wanted:
        match = search(str(wanted["matches"]), text)
        if match is None:
            return CheckOutcome(False, f"{name}: no match for {shown(str(wanted['matches']))}")
        return CheckOutcome(True, f"{name}: matched {shown(match)}")
    return CheckOutcome(True, f"{name}: says what it should")
