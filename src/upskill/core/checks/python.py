"""`python`: a function from an installed plug-in. The function is trusted code, like everything that is installed."""

from difflib import get_close_matches
from typing import Any, NamedTuple

from upskill import plugin
from upskill.core.checks.answer_files import answer_files_of
from upskill.core.checks.kind import NOTHING, CheckOutcome, Need, ObjectKind, Submission, type_name
from upskill.core.checks.plugin import HasNeeds, HasProblems, Inspection
from upskill.core.nouns import Answer
from upskill.core.nouns.case import Json
from upskill.errors import UsageError
from upskill.sandbox import Sandbox, SandboxSpec

_NEEDS: frozenset[str] = frozenset({"files", "sandbox"})


class PluginFault(Exception):
    """A function cannot be loaded, or did not return a finding."""


class Named(NamedTuple):
    """A function of a plug-in that is not loaded yet."""

    name: str
    place: plugin.Place


class Python(ObjectKind):
    """Passes when the plug-in says so."""

    name = "python"
    keys = ("name", "with")
    short_for = "name"
    rules = (
        "The function runs in upskill's own Python, with all that is installed beside it, and without a time limit.",
        "It sees the text as it is and the files of the answer.",
    )

    def problems(self, spec: Json) -> list[str]:
        """The name of an installed plug-in, or an object with `name` and `with`."""
        wanted = self.as_object(spec)
        if not isinstance(wanted.get("name"), str):
            return [f"`python` must be the name of a plug-in, or an object with `name`, not {type_name(spec)}"]
        problems = self.unknown_keys(wanted)
        found = _named(str(wanted["name"]))
        if isinstance(found, str):
            return [*problems, found]
        try:
            function = _load(found)
        except PluginFault as error:
            return [*problems, f"`python`: {error}"]
        said = _problems_by(function, wanted.get("with"))
        return problems + [f"`python`: {wanted['name']}: {problem}" for problem in said]

    def needs(self, spec: Json) -> frozenset[Need]:
        found = _named(str(self.as_object(spec).get("name")))
        function = None if isinstance(found, str) else _load(found)
        return frozenset(function.needs) if isinstance(function, HasNeeds) else NOTHING

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """Calls the plug-in with the answer, and holds it to its contract."""
        wanted = self.as_object(spec)
        found = _named(str(wanted.get("name")))
        if isinstance(found, str):
            raise PluginFault(found)
        files = answer_files_of(submission)

        def open_sandbox(sandbox: SandboxSpec) -> Sandbox:
            if submission.context.open_sandbox is None:
                raise PluginFault(f"{found.name}: asks for a sandbox, but does not declare it in `needs`")
            return submission.context.open_sandbox(sandbox)

        finding: Any = _load(found)(
            Inspection(
                case=submission.case,
                answer=Answer(text=submission.answer.text, files=files.own),
                files=files.all,
                only_block=None if files.own else files.fenced.only_block,
                given=wanted.get("with"),
                open_sandbox=open_sandbox,
            )
        )
        if not isinstance(finding, tuple) or len(finding) != 2 or not isinstance(finding[0], bool):
            raise PluginFault(f"{found.name}: returned {type(finding).__name__}, not a Finding(passed, saw)")
        return CheckOutcome(finding[0], " ".join(str(finding[1]).split())[:1_000])


def _problems_by(function: Any, given: Json) -> list[str]:
    """What the function says is wrong with the spec; an exception of its own is such a problem."""
    if not isinstance(function, HasProblems):
        return []
    try:
        return [" ".join(str(problem).split())[:300] for problem in function.problems(given)]
    except Exception as error:  # noqa: BLE001 - foreign code, which may fail in any way
        return [f"cannot check `with`: {type(error).__name__}: {error}"]


def _named(name: str) -> Named | str:
    """The function of that name; or, in words, that there is none and which are installed."""
    known = plugin.names("checks")
    if name in known:
        return Named(name, known[name])
    near = get_close_matches(name, known, n=1)
    installed = f"installed: {', '.join(sorted(known))}" if known else "none is installed"
    guess = f"; did you mean `{near[0]}`?" if near else "; install the package that provides it"
    left_out = "".join(f"; the plug-in {left.name} is left out: {left.why}" for left in plugin.strangers().left_out)
    return f"`python`: there is no plug-in `{name[:60]}`: {installed}{guess}{left_out}"


def _load(named: Named) -> Any:
    """The function itself. Importing a foreign package may fail in any way."""
    try:
        function = plugin.load(named.place)
    except UsageError as error:
        raise PluginFault(f"{named.name}: {error.message}") from error
    if not callable(function):
        raise PluginFault(f"{named.name}: {named.place} is not a function")
    declared = getattr(function, "needs", ())
    if isinstance(declared, str) or not _NEEDS.issuperset(declared):
        raise PluginFault(f"{named.name}: `needs` may contain {' and '.join(sorted(_NEEDS))}, not {declared!r}")
    return function
