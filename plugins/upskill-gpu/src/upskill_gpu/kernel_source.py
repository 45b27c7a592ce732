"""What a kernel in Python may consist of, read from its syntax tree and never run: a kernel and nothing beside it."""

import ast
from collections.abc import Set

MOST_BYTES = 20_000
MOST_NODES = 4_000
CONTEXT = "cuda"
OF_NUMBA = frozenset({"cuda", "float32", "float64", "int32", "int64", "uint32", "boolean"})
"""What may be imported from numba; `import math` is the only other import."""
OF_CUDA = frozenset(
    {
        "cuda.grid",
        "cuda.gridsize",
        "cuda.syncthreads",
        "cuda.syncwarp",
        "cuda.shfl_sync",
        "cuda.shfl_up_sync",
        "cuda.shfl_down_sync",
        "cuda.shfl_xor_sync",
        "cuda.threadfence",
        "cuda.threadfence_block",
        "cuda.shared.array",
        "cuda.local.array",
        "cuda.atomic.add",
        "cuda.atomic.sub",
        "cuda.atomic.max",
        "cuda.atomic.min",
        "cuda.atomic.inc",
        "cuda.atomic.exch",
        "cuda.fma",
    }
)
OF_MATH = frozenset(
    {"exp", "expm1", "log", "log1p", "log2", "sqrt", "pow", "fabs", "floor", "ceil", "trunc", "fmod", "copysign"}
    | {"sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "atan2", "erf", "erfc", "hypot", "isnan", "isinf"}
)
BUILTINS = frozenset({"range", "min", "max", "abs", "int", "float", "bool", "len", "pow"})
POSITIONS = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
OF_ARRAYS = frozenset({"shape", "size"})
STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Return, ast.Pass)
JUMPS = (ast.Break, ast.Continue)
EXPRESSIONS = (
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Name,
    ast.Tuple,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.expr_context,
)


class NotAKernel(Exception):
    """The file is no kernel by the rules of the task. Says which rule."""


def require_kernel(source: bytes, name: str, *, uses: Set[str] = frozenset()) -> None:
    """Raise `NotAKernel` unless the file holds the kernel `name`, only allowed things, and everything in `uses`."""
    tree = _parsed(source)
    jitted = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    constants = _constants(tree)
    for node in tree.body:
        _top_level(node, constants)
    wanted = jitted.get(name)
    if wanted is None:
        raise NotAKernel(f"there is no function {name} with @cuda.jit")
    if _is_device(wanted):
        raise NotAKernel(f"{name} is a device function, which cannot be launched")
    for function in jitted.values():
        _function(function, jitted.keys(), constants)
    missing = sorted(uses - {called for function in jitted.values() for called in _calls(function)})
    if missing:
        raise NotAKernel(f"the kernel does not use {', '.join(missing)}, which the task asks for")


def _parsed(source: bytes) -> ast.Module:
    if len(source) > MOST_BYTES:
        raise NotAKernel(f"kernel.py has more than {MOST_BYTES} bytes")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotAKernel(f"kernel.py is not Python: {error}") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise NotAKernel("kernel.py is too long for one kernel")
    return tree


def _constants(tree: ast.Module) -> frozenset[str]:
    return frozenset(
        node.targets[0].id
        for node in tree.body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    )


def _top_level(node: ast.stmt, constants: frozenset[str]) -> None:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return
        case ast.Import(names=[ast.alias(name="math", asname=None)]):
            return
        case ast.ImportFrom(module="numba", level=0, names=names):
            if all(one.name in OF_NUMBA and one.asname is None for one in names):
                return
        case ast.Assign(targets=[ast.Name()], value=value):
            if all(
                isinstance(part, (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context))
                or (isinstance(part, ast.Constant) and isinstance(part.value, (int, float)))
                or (isinstance(part, ast.Name) and part.id in constants)
                for part in ast.walk(value)
            ):
                return
        case ast.FunctionDef(decorator_list=[decorator]):
            if _is_jit(decorator):
                return
    raise NotAKernel(
        f"line {node.lineno}: only imports from numba and math, numbers and @cuda.jit functions are allowed here"
    )


def _is_jit(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Attribute(value=ast.Name(id="cuda"), attr="jit"):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="cuda"), attr="jit"), args=given, keywords=keywords):
            return all(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in given) and all(
                one.arg in {"device", "fastmath", "inline"}
                and isinstance(one.value, ast.Constant)
                and one.value.value in {True, False, "always", "never"}
                for one in keywords
            )
    return False


def _is_device(function: ast.FunctionDef) -> bool:
    decorator = function.decorator_list[0]
    return isinstance(decorator, ast.Call) and any(
        one.arg == "device" and isinstance(one.value, ast.Constant) and one.value.value for one in decorator.keywords
    )


def _function(function: ast.FunctionDef, jitted: Set[str], constants: frozenset[str]) -> None:
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
        raise NotAKernel(f"{function.name} must take plain arguments")
    body = function.body
    if (
        isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        body = body[1:]
    for node in (inner for statement in body for inner in ast.walk(statement)):
        _inside(node, function, jitted, constants)


def _inside(node: ast.AST, function: ast.FunctionDef, jitted: Set[str], constants: frozenset[str]) -> None:
    line = getattr(node, "lineno", function.lineno)
    match node:
        case ast.Name(id=named) if named.startswith("__"):
            raise NotAKernel(f"line {line}: the name {named} is not allowed in a kernel")
        case ast.Constant(value=value) if not isinstance(value, (bool, int, float, type(None))):
            raise NotAKernel(f"line {line}: only numbers are constants in a kernel")
        case ast.Return(value=value) if value is not None and not _is_device(function):
            if not isinstance(value, ast.Constant) or value.value is not None:
                raise NotAKernel(f"line {line}: a kernel returns nothing")
        case ast.Call():
            _call(node, line, jitted, constants)
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            raise NotAKernel(f"line {line}: a kernel assigns to elements of arrays and to its own variables only")
        case ast.Attribute():
            _attribute(node, line)
        case ast.Slice() | ast.Starred():
            raise NotAKernel(f"line {line}: a kernel works on elements, not on slices")
        case ast.keyword() | ast.alias():
            return
        case _:
            if not isinstance(node, (*STATEMENTS, *JUMPS, *EXPRESSIONS)):
                raise NotAKernel(f"line {line}: {type(node).__name__} is not allowed in a kernel")


def _call(node: ast.Call, line: int, jitted: Set[str], constants: frozenset[str]) -> None:
    called = _dotted(node.func)
    if called in {"cuda.shared.array", "cuda.local.array"}:
        _constant_shape(node, line, constants)
        return
    allowed = (
        called in OF_CUDA
        or called in BUILTINS
        or called in OF_NUMBA - {CONTEXT}
        or called in jitted
        or (called.startswith("math.") and called.removeprefix("math.") in OF_MATH)
    )
    if not allowed or node.keywords:
        raise NotAKernel(f"line {line}: {called or 'this'} cannot be called in a kernel of this task")


def _constant_shape(node: ast.Call, line: int, constants: frozenset[str]) -> None:
    shapes = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "shape")]
    for part in (inner for shape in shapes for inner in ast.walk(shape)):
        if isinstance(part, ast.Name) and part.id not in constants:
            raise NotAKernel(f"line {line}: the shape of a shared or local array must be a constant")


def _attribute(node: ast.Attribute, line: int) -> None:
    whole = _dotted(node)
    if whole in OF_CUDA or any(called.startswith(f"{whole}.") for called in OF_CUDA):
        return
    match whole.split("."):
        case ["cuda", position] if position in POSITIONS or position in {"warpsize", "laneid"}:
            return
        case ["cuda", position, "x" | "y" | "z"] if position in POSITIONS:
            return
        case ["math", function] if function in OF_MATH or function in {"pi", "inf", "nan"}:
            return
        case [array, attribute] if array not in {"cuda", "math"} and attribute in OF_ARRAYS:
            return
    raise NotAKernel(f"line {line}: the attribute {node.attr} is not allowed in a kernel")


def _calls(function: ast.FunctionDef) -> set[str]:
    return {_dotted(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""
