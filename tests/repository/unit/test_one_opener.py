"""Files are opened, and connections made, in a few modules only: what is refused there is refused everywhere."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "src" / "upskill"
OWNERS = {
    "disk.py": "every file of ours, of strangers and of the person",
    "core/runs/sqlite_file.py": "the one database",
    "core/hub.py": "the Hugging Face Hub, through its library",
    "core/models/connections.py": "requests of ours that are no answers of models, and the origin of all",
    "sweep/objects.py": "a shared folder or a bucket, the memory of many machines",
    "sandbox/init_process/commands.py": "the program that runs inside a sandbox, which has nothing of ours",
    "sandbox/init_process/files.py": "the same",
    "sandbox/init_process/main.py": "the same",
    "sandbox/wire.py": "the socket into a sandbox",
    "agents/relay.py": "the socket out of a sandbox, to the engine's bridge",
}
MODULES = frozenset({"httpx", "httpx2", "requests", "urllib", "http", "huggingface_hub", "fsspec", "aiohttp"})
HARMLESS = frozenset({"urllib.parse", "http.HTTPStatus"})
METHODS = frozenset(
    {
        *("open", "read_text", "read_bytes", "write_text", "write_bytes", "touch"),
        *("glob", "rglob", "iterdir", "walk", "scandir", "listdir"),
        *("unlink", "rmdir", "rmtree", "remove", "removedirs", "rename", "renames", "symlink_to", "hardlink_to"),
        *("copyfile", "copytree", "copy", "copy2", "move", "link", "symlink", "truncate", "connect"),
    }
)
PATH_ONLY = {
    "open": "os tarfile zipfile gzip io",
    "copy": "shutil",
    "copy2": "shutil",
    "move": "shutil",
    "remove": "os",
}
"""Names that are also those of harmless methods: of the modules named here they count."""


def opening(tree: ast.AST) -> Iterator[str]:
    """What in a module opens a file or a connection."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (name for name in names if name.split(".")[0] in MODULES and name not in HARMLESS)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            if node.module.split(".")[0] in MODULES and node.module not in HARMLESS:
                yield node.module
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id == "open":
                yield "open"
            elif isinstance(called, ast.Attribute):
                yield from _method(called, node)


def _method(called: ast.Attribute, call: ast.Call) -> Iterator[str]:
    owner = called.value.id if isinstance(called.value, ast.Name) else None
    if owner == "disk":
        return
    if called.attr == "replace" and len(call.args) == 1 and not call.keywords:
        yield "replace"
    elif called.attr in METHODS:
        only = PATH_ONLY.get(called.attr)
        if called.attr == "open" and owner not in (only or "").split():
            only = None if call.args and isinstance(call.args[0], ast.Constant) else "nothing"
        if only is None or owner in only.split():
            yield called.attr


FOUND = {
    path.relative_to(PACKAGE).as_posix(): sorted({*opening(ast.parse(path.read_text(encoding="utf-8")))})
    for path in sorted(PACKAGE.rglob("*.py"))
}


@pytest.mark.parametrize("module", FOUND)
def test_only_owners_open_files_and_connections(module: str) -> None:
    assert module in OWNERS or not FOUND[module], f"call upskill.disk, or the owner: {FOUND[module]}"


def test_owners_are_few_and_each_opens_something() -> None:
    assert len(OWNERS) <= 12
    assert [module for module in OWNERS if not FOUND.get(module)] == []
