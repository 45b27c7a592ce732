"""What must hold of a `build.toml` that the builder's parser accepts, and of the files that it names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

Table = Mapping[str, object]

CAPABILITIES = frozenset(
    {"7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1"}
    | {"9.0a", "10.0a", "10.3a", "11.0a", "12.0a", "12.1a"}
)
"""What the builder knows and nvcc 13 still compiles for; 7.0, 7.2 and 10.1 are gone with it."""
LICENSES = frozenset(
    {
        "Apache-2.0",
        "MIT",
        "MIT-0",
        "ISC",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "MPL-2.0",
        "EPL-2.0",
        "Zlib",
        "0BSD",
    }
    | {"CC0-1.0", "Unlicense", "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later"}
    | {"LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later", "AGPL-3.0-only", "AGPL-3.0-or-later"}
)
"""SPDX identifiers that kernels are published under."""
HEADERS = frozenset({".h", ".hpp", ".cuh"})
FRAMEWORKS = ("torch", "torch-noarch", "tvm-ffi")


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelTable:
    """One `[kernel.ID]`, by what it builds."""

    backend: str
    sources: frozenset[str]
    """Without headers."""
    capabilities: frozenset[str]
    architectures: frozenset[str]

    def __str__(self) -> str:
        limits = sorted(self.capabilities | self.architectures)
        return f"{self.backend} from {', '.join(sorted(self.sources)) or 'no source'}" + (
            f" for {', '.join(limits)}" if limits else ""
        )


def kernels_of(document: Table) -> list[KernelTable]:
    """The kernels of a file, in its order."""
    return [_kernel(table) for table in _tables(document)]


def problems_of(document: Table, files: Mapping[str, bytes], package: str) -> Iterator[str]:
    """Everything that the parser lets through and that is wrong all the same."""
    general = _table(document, "general")
    if general.get("edition") != 5:
        yield "general.edition is not 5: the file is only upgraded in memory"
    if general.get("license") not in LICENSES:
        yield f"general.license {general.get('license')!r} is not an SPDX identifier"
    yield from _backend_problems(document, _texts(general, "backends"))
    for name in sorted({name for table in _with_sources(document) for name in _texts(table, "src")}):
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            yield f"src {name} leads out of the project"
        elif str(path) not in files:
            yield f"src {name} does not exist in the project"
    for capability in sorted({one for table in _tables(document) for one in _texts(table, "cuda-capabilities")}):
        if capability not in CAPABILITIES:
            yield f"{capability} is not a compute capability that the builder and nvcc 13 support"
    if f"torch-ext/{package}/__init__.py" not in files:
        yield f"the package is not at torch-ext/{package}/__init__.py"
    if "setup.py" in files:
        yield "a kernel project has no setup.py"


def _backend_problems(document: Table, backends: list[str]) -> Iterator[str]:
    if not backends:
        yield "general.backends is empty"
    if "torch-noarch" in document:
        return
    used = {str(table.get("backend")) for table in _tables(document)}
    if not used:
        yield "there is no [kernel.ID] table, so nothing is built"
    elif used != set(backends):
        yield f"general.backends names {', '.join(sorted(backends))}, but the kernels use {', '.join(sorted(used))}"
    if "torch" in document and not _texts(_table(document, "torch"), "src"):
        yield "[torch] has no src, so there are no bindings"


def _kernel(table: Table) -> KernelTable:
    return KernelTable(
        backend=str(table.get("backend")),
        sources=frozenset(name for name in _texts(table, "src") if PurePosixPath(name).suffix not in HEADERS),
        capabilities=frozenset(_texts(table, "cuda-capabilities")),
        architectures=frozenset(_texts(table, "rocm-archs")),
    )


def _with_sources(document: Table) -> list[Table]:
    return [*_tables(document), *(_table(document, name) for name in FRAMEWORKS)]


def _tables(document: Table) -> list[Table]:
    return [table for table in _table(document, "kernel").values() if isinstance(table, dict)]


def _table(document: Table, name: str) -> Table:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _texts(table: Table, key: str) -> list[str]:
    found = table.get(key)
    return [str(one) for one in found] if isinstance(found, list) else []
