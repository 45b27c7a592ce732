"""The checks of the skill `agent-skills`: is a folder that a model wrote a valid skill that an agent can use?

`skill-valid`     the reference validator accepts it, and so does what the specification says beyond the validator
`skill-files`     size, links and paths: each named file exists, each file is named, no path of one machine
`skill-text`      what the task fixed: the body, words that must be there or must not, files that stay as they are
`skill-triggers`  requests reach the skill by the words of its description, and its neighbours keep theirs
`skill-script`    a script of the skill, on inputs that the model has not seen

The validator reads the model's files in a sandbox in which nothing of the model runs. Scripts run in another one,
and their output is compared here. `with` of each check names the folder of the skill.
"""

import fnmatch
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upskill.core.checks.plugin import (
    CommandResult,
    FileRefused,
    Files,
    Finding,
    Inspection,
    Json,
    Limits,
    Mount,
    Need,
    SandboxSpec,
)
from upskill_gallery.agent_skills_frontmatter import require_text_values, require_whole_description
from upskill_gallery.agent_skills_paths import Refused, named_files, unreached
from upskill_gallery.agent_skills_router import is_prose, shares
from upskill_gallery.agent_skills_tasks import TASKS, Run, runs_of
from upskill_gallery.toolchain import PYTHON, ToolchainMissing, toolchain

HARNESS = Path(__file__).parent / "harness" / "agent_skills"
SECONDS = 120
"""Of wall time, for a busy machine. What counts is the time of the processor, which does not depend on others."""
CPU_SECONDS = 20
SCRIPT_SECONDS = 45
"""A script that waits for something ends here."""
MOST_FILES = 60
MOST_BYTES = 200_000
"""Of one file. A skill is text; the specification advises far less."""
MOST_FRONTMATTER = 10_000
"""In bytes. The longest that the limits of the specification make useful is far shorter; parsers need long for more."""
MOST_LINES = 500
MOST_TOKENS = 5_000
CHARACTERS_PER_TOKEN = 4
"""An estimate for English, so that no tokenizer decides."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_WHEN = re.compile(r"(?i)\b(when|whenever|if|before|after|while|use (this|it|for|to)|asks?|wants?|needs?|mentions?)\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Work:
    """A model's folder, and what the check was given about it."""

    inspection: Inspection
    given: Mapping[str, Any]
    files: Files
    """By path in the folder of the skill."""

    def text(self, path: str = "SKILL.md") -> str:
        return self.files[path].decode("utf-8", "replace")

    @property
    def body(self) -> str:
        return _body(self.files["SKILL.md"])


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillCheck:
    """A check of a skill folder."""

    look: Callable[[_Work], str]
    """Returns what was seen, or raises `Refused`."""
    known: Mapping[str, type]
    """The keys of `with` beside `folder`, with the types of their values."""
    required: frozenset[str] = frozenset()
    needs: frozenset[Need] = frozenset({"files"})

    def problems(self, given: Json) -> list[str]:
        """`with` holds `folder` and nothing unknown."""
        if not isinstance(given, dict) or not isinstance(given.get("folder"), str) or not given["folder"]:
            return ['`with` must be an object with a `folder`, such as {"folder": "skills/pdf-forms"}']
        found = [f"`with` has an unknown key: {key}" for key in sorted(set(given) - {"folder", *self.known})]
        found += [
            f"`{key}` in `with` must be a {wanted.__name__}"
            for key, wanted in self.known.items()
            if key in given and not isinstance(given[key], wanted)
        ]
        found += [f"`with` has no `{key}`" for key in sorted(self.required - set(given))]
        if "task" in self.known and given.get("task") not in TASKS:
            found.append(f"`task` must be one of {', '.join(sorted(TASKS))}")
        return found

    def __call__(self, inspection: Inspection) -> Finding:
        """Find the folder, look at it."""
        given = dict(inspection.given) if isinstance(inspection.given, dict) else {}
        try:
            _leaves_others_alone(inspection, str(given["folder"]))
            files = _folder(inspection.files, str(given["folder"]))
            return Finding(True, self.look(_Work(inspection=inspection, given=given, files=files)))
        except Refused as refused:
            return Finding(False, str(refused))


def _leaves_others_alone(inspection: Inspection, folder: str) -> None:
    """No task asks to change a file beside the skill, such as a neighbour whose requests it could take."""
    for path, data in inspection.case.files.items():
        if not path.startswith(f"{folder}/") and inspection.files.get(path) != data:
            raise Refused(f"{path} is not part of the skill and must stay as it is")


def _folder(everything: Files, folder: str) -> Files:
    """The files of the skill. Raises `Refused` where there is no skill, or too much of it."""
    inside = f"{folder}/"
    files = {path.removeprefix(inside): data for path, data in everything.items() if path.startswith(inside)}
    if "SKILL.md" not in files:
        raise Refused(f"there is no {folder}/SKILL.md")
    if len(files) > MOST_FILES:
        raise Refused(f"the skill has {len(files)} files, more than {MOST_FILES}")
    for path, data in files.items():
        if len(data) > MOST_BYTES:
            raise Refused(f"{path} has {len(data):,} bytes, more than {MOST_BYTES:,}")
        if path != "SKILL.md" and path.rpartition("/")[2].lower() == "skill.md":
            raise Refused(f"there is a second skill file inside the skill: {path}")
    if len(b"".join(files["SKILL.md"].split(b"---", 2)[:2])) > MOST_FRONTMATTER:
        raise Refused(f"the frontmatter has more than {MOST_FRONTMATTER:,} bytes, or no end")
    return files


def _fields(work: _Work) -> dict[str, Json]:
    """The frontmatter as the reference validator reads it, in a sandbox where no program of the model runs."""
    folder = work.given["folder"]
    spec = SandboxSpec(
        limits=Limits(memory_mb=256, cpu_seconds=CPU_SECONDS),
        mounts=(toolchain(), Mount(source=HARNESS, target="/opt/harness")),
    )
    with work.inspection.open_sandbox(spec) as sandbox:
        try:
            sandbox.put({f"{folder}/{path}": data for path, data in work.files.items()})
        except FileRefused as refused:
            raise Refused(f"the folder cannot be written: {refused}") from None
        ran = sandbox.run([PYTHON, "-I", "-B", "/opt/harness/read_skill.py", f"/workspace/{folder}"], seconds=SECONDS)
    if ran.ended == "gone":
        raise RuntimeError("the sandbox is gone")
    told = ran.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
    if told.startswith("toolchain:"):
        raise ToolchainMissing(f"the reference validator does not start ({told[10:].strip()}); run `make gallery`")
    if ran.ended != "exit" or ran.exit_code != 0:
        raise Refused(f"the reference validator cannot read SKILL.md: {told[:200] or ran.ended}")
    found = json.loads(ran.stdout)
    if found["errors"]:
        raise Refused(f"the reference validator refuses it: {_spaced(' / '.join(found['errors']))[:300]}")
    return dict(found["fields"])


def _valid(work: _Work) -> str:
    """What the specification says and the validator does not test; then the values that the task fixed."""
    fields = _fields(work)
    name, description = str(fields["name"]), str(fields["description"])
    if not _NAME.fullmatch(name):
        raise Refused(f"the name {name!r} has other characters than a-z, 0-9 and single hyphens")
    for field in ("license", "compatibility", "allowed-tools"):
        if field in fields and not (isinstance(fields[field], str) and str(fields[field]).strip()):
            raise Refused(f"the field {field} is not one string with text, as the specification requires")
    metadata = fields.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise Refused("the field metadata is not a map of strings to strings")
    require_text_values(work.text(), metadata)
    require_whole_description(work.text(), description)
    wanted: Mapping[str, Json] = work.given.get("fields", {})
    if "description" not in wanted and not _WHEN.search(description):
        raise Refused(f"the description does not say when to use the skill: {description[:120]!r}")
    for field, value in wanted.items():
        if _plain(fields.get(field)) != _plain(value):
            raise Refused(f"the field {field} is {_shown(fields.get(field))}, not {_shown(value)}")
    extra = sorted(set(fields) - {"name", "description", *wanted})
    if wanted and extra:
        raise Refused(f"there are fields that the task does not ask for: {', '.join(extra)}")
    return f"a valid skill, {len(description)} characters of description"


def _files(work: _Work) -> str:
    """Size, links and paths of the whole folder."""
    text = work.text()
    most_lines = int(work.given.get("lines", MOST_LINES))
    if len(text.splitlines()) > most_lines:
        raise Refused(f"SKILL.md has {len(text.splitlines())} lines, more than {most_lines}")
    tokens = len(work.body) // CHARACTERS_PER_TOKEN
    if tokens >= MOST_TOKENS:
        raise Refused(f"the body has about {tokens:,} tokens, not fewer than {MOST_TOKENS:,}")
    if not work.body.strip():
        raise Refused("the body is empty")
    named = {path: named_files(work.text(path), path) for path in sorted(work.files)}
    for path, targets in named.items():
        for target in sorted(targets - set(work.files)):
            if not any(other.startswith(f"{target.rstrip('/')}/") for other in work.files):
                raise Refused(f"{path} names {target}, which is not in the skill")
    orphan = next(
        (path for path in sorted(work.files) if path.startswith("references/") and path not in named["SKILL.md"]), None
    )
    if orphan is not None:
        raise Refused(f"SKILL.md does not name {orphan}, so no agent reads it")
    for path in sorted(work.files):
        deeper = sorted(one for one in named[path] if one.startswith("references/") and one != path)
        if path.startswith("references/") and deeper:
            raise Refused(f"{path} sends the agent on to {deeper[0]}; references are one level deep")
    return f"{len(text.splitlines())} lines, about {tokens:,} tokens, {len(work.files)} files, each named file exists"


def _text(work: _Work) -> str:
    """What the task fixed word for word."""
    given, originals = work.given, work.inspection.case.files
    for path in given.get("unchanged", []):
        if work.files.get(path) != originals[f"{given['folder']}/{path}"]:
            raise Refused(f"{path} must stay as it is")
    if "body" in given and _lines(work.body) != _lines(_body(originals[given["body"]])):
        raise Refused(f"the body is not the text of {given['body']}")
    if "body_text" in given and _lines(work.body) != _lines(given["body_text"]):
        raise Refused("the body is not the original one")
    if "only" in given and (extra := sorted(set(work.files) - set(given["only"]))):
        raise Refused(f"{extra[0]} is not one of the files that the task asks for")
    for path, pattern in given.get("whole", {}).items():
        text = work.body if path == "SKILL.md" else work.text(path) if path in work.files else ""
        if not re.fullmatch(pattern, _spaced(text)):
            raise Refused(f"{path} is not the text that the task asks for")
    if (path := unreached(work.body, given.get("routes", {}))) is not None:
        raise Refused(f"SKILL.md does not say when to read {path}")
    if "all_of" in given:
        there = {line.lstrip("# ") for path in work.files for line in _lines(work.text(path))}
        lines = _lines(_body(originals[given["all_of"]]))
        lost = next((line for line in lines if line.lstrip("# ") not in there), None)
        if lost is not None:
            raise Refused(f"a line of {given['all_of']} is missing: {lost[:120]!r}")
    for glob, wanted in given.get("keeps", {}).items():
        texts = _spaced("\n".join(work.text(path) for path in sorted(work.files) if fnmatch.fnmatchcase(path, glob)))
        missing = next((one for one in wanted if _spaced(one) not in texts), None)
        if missing is not None:
            raise Refused(f"{glob} does not say {missing!r}")
    for glob, unwanted in given.get("never", {}).items():
        texts = _spaced("\n".join(work.text(path) for path in sorted(work.files) if fnmatch.fnmatchcase(path, glob)))
        found = next((one for one in unwanted if _spaced(one) in texts), None)
        if found is not None:
            raise Refused(f"{glob} says {found!r}, which does not belong there")
    return "the text is as the task fixed it"


def _triggers(work: _Work) -> str:
    """Requests against a catalogue of this skill and its neighbours.

    A request that is wanted has more words in common with this skill than with any neighbour; of one that is not,
    a neighbour has more.
    """
    given, fields = work.given, _fields(work)
    name, description = str(fields["name"]), str(fields["description"])
    if not is_prose(description):
        raise Refused(f"the description is a list of words, no sentence: {description[:120]!r}")
    catalogue = {**given["neighbours"], name: description}
    missed, taken = [], []
    for request in (*given["wanted"], *given["unwanted"]):
        found = shares(request, catalogue)
        own, best = found.pop(name), max(found.values())
        if request in given["unwanted"]:
            taken += [request] if own >= best else []
        else:
            missed += [request] if own <= best else []
    if taken:
        raise Refused(
            f"the description takes {len(taken)} of {len(given['unwanted'])} near misses, such as {taken[0]!r}"
        )
    if len(missed) > int(given.get("may_miss", 0)):
        raise Refused(f"the description misses {len(missed)} of {len(given['wanted'])} requests, such as {missed[0]!r}")
    return f"{len(given['wanted']) - len(missed)} of {len(given['wanted'])} requests reach it, no near miss does"


def _script(work: _Work) -> str:
    """Start the script as an agent does: the skill installed elsewhere, the working folder another one."""
    script = str(work.given["script"])
    if script not in work.files:
        raise Refused(f"there is no {script}")
    runs = runs_of(str(work.given["task"]))
    with work.inspection.open_sandbox(SandboxSpec(limits=Limits(memory_mb=256, cpu_seconds=CPU_SECONDS))) as sandbox:
        for number, run in enumerate(runs):
            # All files before the first start: later the model's programs could have changed the folders.
            installed = {**work.files, **run.replaced}
            try:
                sandbox.put({f"installed-{number}/{path}": data for path, data in installed.items()})
                sandbox.put({f"work-{number}/{path}": data for path, data in {**run.files, ".keep": b""}.items()})
            except FileRefused as refused:
                raise Refused(f"the skill cannot be installed: {refused}") from None
        for number, run in enumerate(runs):
            ran = sandbox.run(
                ["python3", "-B", f"/workspace/installed-{number}/{script}", *run.arguments],
                seconds=SCRIPT_SECONDS,
                stdin=run.stdin,
                folder=f"/workspace/work-{number}",
            )
            _judge(run, ran)
    return f"{len(runs)} of {len(runs)} runs of {script} are right"


def _judge(run: Run, ran: CommandResult) -> None:
    """Compare one run with what was computed here."""
    if ran.ended == "gone":
        raise RuntimeError("the sandbox is gone")
    if ran.ended != "exit":
        raise Refused(f"{run.what}: the script was stopped ({ran.ended})")
    output = ran.stdout.decode("utf-8", "replace")
    if run.expected is None:
        if ran.exit_code == 0:
            raise Refused(f"{run.what}: the script must fail, and its exit code is 0")
        if run.exit_code not in (None, ran.exit_code):
            raise Refused(f"{run.what}: the exit code is {ran.exit_code}, not {run.exit_code}")
        if output.strip() or not ran.stderr.strip():
            raise Refused(f"{run.what}: a failure must leave standard output empty and say why on standard error")
        return
    if ran.exit_code != 0:
        raise Refused(f"{run.what}: exit code {ran.exit_code}: {ran.stderr[-200:].decode('utf-8', 'replace').strip()}")
    if not _same(output, run.expected, as_json=run.as_json):
        raise Refused(f"{run.what}: the script printed {output[:120]!r}, which is not right")


def _same(output: str, expected: str, *, as_json: bool) -> bool:
    if not as_json:
        return output.rstrip() == expected.rstrip()
    try:
        return bool(json.loads(output) == json.loads(expected))
    except (ValueError, RecursionError):
        return False


def _body(data: bytes) -> str:
    """The text behind the frontmatter, or all of it if there is none."""
    text = data.decode("utf-8", "replace")
    return text.split("---", 2)[-1] if text.startswith("---") else text


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _plain(value: Json) -> Json:
    return _spaced(value) if isinstance(value, str) else value


def _shown(value: Json) -> str:
    return "missing" if value is None else repr(value)[:120]


_SANDBOX: frozenset[Need] = frozenset({"files", "sandbox"})

skill_valid = SkillCheck(look=_valid, known={"fields": dict}, needs=_SANDBOX)
skill_files = SkillCheck(look=_files, known={"lines": int})
_OBJECTS = dict.fromkeys(("keeps", "never", "routes", "whole"), dict)
skill_text = SkillCheck(
    look=_text,
    known={"body": str, "body_text": str, "all_of": str, "unchanged": list, "only": list, **_OBJECTS},
)
skill_triggers = SkillCheck(
    look=_triggers,
    known={"neighbours": dict, "wanted": list, "unwanted": list, "may_miss": int},
    required=frozenset({"neighbours", "wanted", "unwanted"}),
    needs=_SANDBOX,
)
skill_script = SkillCheck(
    look=_script, known={"script": str, "task": str}, required=frozenset({"script", "task"}), needs=_SANDBOX
)
