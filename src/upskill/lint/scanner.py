"""Runs Cisco's `skill-scanner` on the files of a skill, in a sandbox: no network, no keys, static analysers only.

A person has installed it elsewhere. It exits with 0 whatever it finds, so its JSON counts. Whatever keeps it from a
whole answer is an error: no answer is never "no findings".
"""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from upskill.core.nouns.case import Json
from upskill.core.nouns.finding import Finding, Severity
from upskill.core.nouns.skill import SKILL_FILE, is_skill_name
from upskill.core.nouns.text import on_one_line, shortened
from upskill.errors import EngineError
from upskill.lint.folder import FolderContents
from upskill.lint.lint_skill import Scan
from upskill.processes import find_program
from upskill.redaction import redactor_from
from upskill.sandbox import WORKSPACE, FileRefused, Limits, Mount, SandboxSpec, open_sandbox, require_sandbox

PROGRAM, PACKAGE = "skill-scanner", "cisco-ai-skill-scanner"
SECONDS = 300.0
_OPTIONS = ("--format", "json", "--compact", "--use-behavioral", "--lenient")
_SEVERITIES: dict[Json, Severity] = {
    "CRITICAL": "danger",
    "HIGH": "danger",
    "MEDIUM": "caution",
    "LOW": "caution",
    "INFO": "caution",
}
_LIMITS = Limits(
    memory_mb=1024,
    processes=256,
    address_space_mb=None,
    cpu_seconds=600,
    open_files=1024,
    workspace_mb=200,
    home_mb=16,
    output_bytes=16 * 2**20,
)


def find_cisco(*, seconds: float = SECONDS) -> Scan:
    """The scanner on the search path, ready to run in a sandbox. Raises `EngineError`, `SandboxUnavailable`."""
    found = find_program(PROGRAM)
    hint = f"install it in an environment of its own, e.g. `uv tool install {PACKAGE}`"
    if found is None:
        raise EngineError(f"--scanner cisco: the program `{PROGRAM}` is not installed", hint=hint)
    program = Path(found).resolve()
    prefix = program.parent.parent
    try:
        lines = (prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        home = next(line.partition("=")[2].strip() for line in lines if line.partition("=")[0].strip() == "home")
    except (OSError, ValueError, StopIteration):
        raise EngineError(on_one_line(f"{program}: is in no virtual environment of Python"), hint=hint) from None
    require_sandbox()
    interpreter = (program.parent / "python").resolve()
    seen = {prefix, Path(home).parent, interpreter.parent.parent}
    # The system's own programs are in every sandbox.
    seen = {one for one in seen if one != Path("/") and not one.is_relative_to("/usr")}
    mounts = tuple(Mount(source=one, target=str(one)) for one in sorted(seen))
    return partial(_scan, program=program, mounts=mounts, seconds=seconds)


def _scan(contents: FolderContents, *, program: Path, mounts: tuple[Mount, ...], seconds: float) -> Sequence[Finding]:
    folder = contents.name if is_skill_name(contents.name) else "skill"
    try:
        with open_sandbox(SandboxSpec(limits=_LIMITS, mounts=mounts)) as sandbox:
            sandbox.put({f"{folder}/{path}": data for path, data in contents.files.items()})
            ran = sandbox.run([str(program), "scan", f"{WORKSPACE}/{folder}", *_OPTIONS], seconds=seconds)
    except FileRefused as error:
        raise _failed(contents, str(error)) from None
    if ran.exit_code != 0:
        said = ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
        how = f"exit code {ran.exit_code}" if ran.ended == "exit" else f"ended by {ran.ended}"
        raise _failed(contents, f"{how}: {said[0]}")
    try:
        answer = json.loads(ran.stdout)
        if failed := answer.get("analyzers_failed"):
            raise ValueError(f"analysers failed: {json.dumps(failed)}")
        if len(answer["findings"]) != answer["findings_count"]:
            raise ValueError("not every finding is listed")
        return [_finding(one) for one in answer["findings"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _failed(contents, f"its answer is no report ({error!r})") from None


def _failed(contents: FolderContents, why: str) -> EngineError:
    return EngineError(
        on_one_line(f"{contents.name}: {PROGRAM} did not search it ({shortened(why, 300)})"),
        hint="without --scanner, the rules of upskill search it alone",
    )


def _finding(one: dict[str, Json]) -> Finding:
    """One of its findings. Raises `KeyError` for a severity that it did not have when this was written."""

    def text(key: str, otherwise: str = "") -> str:
        return on_one_line(clean(shortened(str(one.get(key) or otherwise), 240)))

    clean = redactor_from({}).clean
    return Finding(
        rule=on_one_line(f"cisco/{one['rule_id']}"),
        severity=_SEVERITIES[one["severity"]],
        file=text("file_path", SKILL_FILE),
        line=int(str(one.get("line_number") or 1)),
        excerpt=text("snippet", str(one["title"])),
        reason=text("description", str(one["title"])),
        remedy=text("remediation", "Read it."),
    )
