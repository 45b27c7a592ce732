"""The PostgreSQL server that migrations are run on: found, prepared once per process, handed into each sandbox."""

from functools import cache
from pathlib import Path
from threading import Lock

from upskill.core.checks.plugin import Inspection, Limits, Mount, SandboxSpec
from upskill_gallery.toolchain import PYTHON, ToolchainMissing, toolchain

HARNESS = Path(__file__).parent / "harness"
LIBRARY = "/opt/library"
LIMITS = Limits(
    memory_mb=1_024, processes=96, address_space_mb=None, cpu_seconds=60, file_mb=64, workspace_mb=400, tmp_mb=64
)
VERSIONS = ("15", "16", "17")
"""Measured with 15. Version 18 keeps NOT NULL as constraints, which the cases do not know."""
TEMPLATE = "template.tar.gz"
_BUILDING = Lock()
_BUILT: list[bytes] = []


def spec() -> SandboxSpec:
    """A sandbox with the harness and a Python for it. Raises `ToolchainMissing`."""
    harness = Mount(source=HARNESS, target=f"{LIBRARY}/upskill_gallery/migrations/harness")
    return SandboxSpec(limits=LIMITS, mounts=(toolchain(), harness))


def command(module: str, *words: str) -> list[str]:
    """How a program of the harness is started: nothing of the workspace is imported, nothing is written beside it."""
    name = f"upskill_gallery.migrations.harness.{module}"
    start = f"import sys; sys.path.insert(0, {LIBRARY!r}); from {name} import main; main()"
    return [PYTHON, "-I", "-B", "-c", start, *words]


@cache
def programs() -> str:
    """The folder with PostgreSQL's programs, which every sandbox sees too. Raises `ToolchainMissing`."""
    for version in VERSIONS:
        folder = Path("/usr/lib/postgresql") / version / "bin"
        if (folder / "postgres").is_file() and (folder / "initdb").is_file():
            return str(folder)
    raise ToolchainMissing("PostgreSQL 15 to 17 is not in /usr/lib/postgresql; run `apt-get install postgresql`")


def template(inspection: Inspection) -> bytes:
    """A server with an empty database, packed. Made in a sandbox of its own that no model's work ever enters."""
    with _BUILDING:
        if not _BUILT:
            _BUILT.append(_build(inspection))
    return _BUILT[0]


def _build(inspection: Inspection) -> bytes:
    folder = programs()
    if not any((Path(place) / "cc").exists() for place in ("/usr/bin", "/usr/local/bin")):
        raise ToolchainMissing(
            "there is no C compiler, which PostgreSQL in a sandbox needs; run `apt-get install gcc libc6-dev`"
        )
    with inspection.open_sandbox(spec()) as sandbox:
        made = sandbox.run(command("prepare", folder), seconds=600)
        if made.ended != "exit" or made.exit_code != 0:
            said = made.stderr.decode("utf-8", "replace").strip().splitlines()
            raise ToolchainMissing(f"PostgreSQL does not start in a sandbox: {said[-1] if said else made.ended}")
        return sandbox.read(TEMPLATE, most_bytes=64_000_000)
