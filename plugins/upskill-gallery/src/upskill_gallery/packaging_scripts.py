"""`runs-script`: does a script with inline metadata (PEP 723) get its dependencies and run?

The lines of the script beside the metadata must be those of the case, so what runs is not the model's code. uv reads
the metadata, installs from a local index and runs the script on input that is not in the prompt.
"""

import re
from collections.abc import Mapping
from typing import Any

from upskill.core.checks.plugin import Finding, Inspection, Json, Limits, SandboxSpec
from upskill_gallery.packaging import ENVIRONMENT, UV, Failed, read_toml, run
from upskill_gallery.packaging_index import index_wheels
from upskill_gallery.toolchain import PYTHON, toolchain

LIMITS = Limits(memory_mb=768, address_space_mb=None, cpu_seconds=60, tmp_mb=128)
BLOCK = re.compile(r"^# /// script[ \t]*\n((?:#(?: .*)?\n)*?)# ///[ \t]*(?:\n|\Z)", re.MULTILINE)
KEYS = {"path", "requires_python", "index", "runs"}
MOST_BYTES = 20_000


class RunsScript:
    """Compares the script with the case's, reads its metadata, runs it."""

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """`with` needs `path`, `requires_python`, `index` and `runs`."""
        if not isinstance(given, dict) or set(given) != KEYS:
            return [f"`with` must be an object with {', '.join(sorted(KEYS))}"]
        return []

    def __call__(self, inspection: Inspection) -> Finding:
        """Run the answer's script."""
        if not isinstance(inspection.given, dict):
            raise TypeError("`with` must be an object")
        given: dict[str, Any] = inspection.given
        script = inspection.files.get(given["path"], b"")
        if given["path"] not in inspection.answer.files and inspection.only_block is not None:
            script = inspection.only_block.encode()
        try:
            _check_metadata(script, inspection.case.files[given["path"]], given)
            self._run(inspection, script, given)
        except Failed as error:
            return Finding(False, str(error))
        return Finding(True, f"{given['path']} gets its dependencies and runs")

    def _run(self, inspection: Inspection, script: bytes, given: Mapping[str, Any]) -> None:
        files = {f"index/{name}": content for name, content in index_wheels(given["index"]).items()}
        with inspection.open_sandbox(SandboxSpec(limits=LIMITS, mounts=(toolchain(),))) as sandbox:
            sandbox.put({**files, given["path"]: script})
            for number, one in enumerate(given["runs"]):
                environment = {**ENVIRONMENT, "UV_CACHE_DIR": f"/tmp/uv{number}"}  # nothing is left of the run before
                command = [UV, "run", "--no-index", "--find-links", "/workspace/index", "--python", PYTHON]
                command += ["--resolution", "lowest"] if one.get("lowest") else []
                command += ["--script", given["path"], *one["arguments"]]
                result = run(sandbox, command, environment=environment, stdin=one.get("stdin", "").encode())
                said = result.stdout.decode("utf-8", "replace")
                if result.ended != "exit" or result.exit_code != 0:
                    reason = result.stderr.decode("utf-8", "replace").strip()[-300:]
                    raise Failed(f"`uv run {given['path']}` failed ({result.ended} {result.exit_code}): {reason}")
                if said != one["stdout"]:
                    raise Failed(f"`uv run {given['path']}` printed {said[:120]!r}, not {one['stdout'][:120]!r}")


def _check_metadata(script: bytes, original: bytes, given: Mapping[str, Any]) -> None:
    if len(script) > MOST_BYTES:
        raise Failed(f"the script has more than {MOST_BYTES:,} bytes")
    text = script.decode("utf-8", "replace").replace("\r\n", "\n")
    blocks = BLOCK.findall(text)
    if len(blocks) != 1:
        raise Failed(f"the script has {len(blocks)} blocks from `# /// script` to `# ///`, not one")
    if _lines(BLOCK.sub("", text)) != _lines(original.decode()):
        raise Failed("beside the metadata, the lines of the script are not those of the task")
    document = read_toml("\n".join(line[2:] for line in blocks[0].splitlines()).encode())
    if unknown := set(document) - {"requires-python", "dependencies"}:
        raise Failed(f"the metadata has {min(unknown)[:40]}, which the task does not ask for")
    found = str(document.get("requires-python", "")).replace(" ", "")
    if found != given["requires_python"]:
        raise Failed(f"requires-python is {found[:60] or 'missing'}, not {given['requires_python']}")


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


runs_script = RunsScript()
