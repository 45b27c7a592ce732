"""Definitions as their source has them: signatures, fields, and the docstrings that promise something.

Read from the source and not from live objects, so that annotations stand as they were written.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

WIDTH = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A field of a value."""

    name: str
    type: str
    default: str | None
    about: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """A function, a class or a name for a type."""

    module: str
    name: str
    code: str
    """As it would be typed: a signature, a class line, or what the name stands for."""
    about: str
    fields: tuple[Field, ...] = ()
    methods: tuple["Definition", ...] = ()


def definition(where: str) -> Definition:
    """What `module:name` names, followed to the module that defines it."""
    module_name, _, name = where.partition(":")
    module = import_module(module_name)
    home = _home(module, name)
    for node, after in _statements(home):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return _defined(node, module_name)
        if _assigned(node) == name:
            return Definition(module=module_name, name=name, code=ast.unparse(node), about=_text(after))
    raise LookupError(f"{where} is not defined in {home.__name__}")


def class_fields(where: str) -> dict[str, Field]:
    """The fields of a class by name."""
    return {field.name: field for field in definition(where).fields}


def _home(module: ModuleType, name: str) -> ModuleType:
    value = getattr(module, name)
    owner = getattr(value, "__module__", module.__name__)
    if inspect.isclass(value) or inspect.isfunction(value):
        return import_module(owner)
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ImportFrom) and node.module and any(one.name == name for one in node.names):
            return _home(import_module(node.module), name)
    return module


def _statements(module: ModuleType) -> Iterator[tuple[ast.stmt, ast.stmt | None]]:
    body = ast.parse(inspect.getsource(module)).body
    yield from zip(body, [*body[1:], None], strict=True)


def _defined(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, module: str) -> Definition:
    about = _prose(ast.get_docstring(node) or "")
    if not isinstance(node, ast.ClassDef):
        return Definition(module=module, name=node.name, code=_signature(node), about=about)
    bases = ", ".join(map(ast.unparse, node.bases))
    methods = tuple(
        _defined(inner, module)
        for inner in node.body
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
        and (not inner.name.startswith("_") or inner.name == "__call__")
        and ast.get_docstring(inner)
    )
    return Definition(
        module=module,
        name=node.name,
        code=f"class {node.name}({bases})" if bases else f"class {node.name}",
        about=about,
        fields=tuple(_fields(node)),
        methods=methods,
    )


def _fields(node: ast.ClassDef) -> Iterator[Field]:
    for one, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not one.target.id.startswith("_"):
            default = None if one.value is None else ast.unparse(one.value)
            yield Field(name=one.target.id, type=ast.unparse(one.annotation), default=default, about=_text(after))


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    is_property = any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if is_property:
        return f"{node.name}{returns.replace(' -> ', ': ')}"
    arguments = ast.unparse(node.args)
    line = f"{node.name}({arguments}){returns}"
    if len(line) <= WIDTH:
        return line
    probe = ast.parse(f"def f({arguments}): ...").body[0]
    assert isinstance(probe, ast.FunctionDef)
    return f"{node.name}(\n" + "".join(f"    {one},\n" for one in _parameters(probe.args)) + f"){returns}"


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    for one, default in zip(positional, defaults, strict=True):
        yield _parameter(one, default)
    if arguments.kwonlyargs and not arguments.vararg:
        yield "*"
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(one, default)
    if arguments.kwarg:
        yield f"**{ast.unparse(arguments.kwarg)}"


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(one) + ("" if default is None else f" = {ast.unparse(default)}")


def _assigned(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _text(node: ast.stmt | None) -> str:
    """The docstring of the name above it, or nothing."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return _prose(node.value.value)
    return ""


def _prose(text: str) -> str:
    """A docstring, each paragraph on one line."""
    return "\n\n".join(" ".join(part.split()) for part in textwrap.dedent(text).strip().split("\n\n"))
