"""Count the functions that an evaluation's order or plan passes through, from the command to the verdict.

`python tools/order_walk.py src/upskill` reads the syntax trees below a folder. A function counts if one of its
parameters is annotated with `EvaluationOrder`, `PreparedEvaluation` or `TrialPlan`, or with a class that has a field of
such a class, and if a chain of names leads to it from the command `eval`.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOTS = frozenset({"EvaluationOrder", "PreparedEvaluation", "TrialPlan"})
"""The values that are followed."""
APART = frozenset({"resume", "resume_run", "run_several", "show_several", "keep_report", "show_plan", "_show_plan"})
"""What the command does instead of an evaluation of one skill, or after its verdict."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def names_in(node: ast.AST | None) -> set[str]:
    """The names that an annotation, or any part of a program, mentions; annotations in quotes are read too."""
    found: set[str] = set()
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value) < 200:
            try:
                found |= {one.id for one in ast.walk(ast.parse(part.value)) if isinstance(one, ast.Name)}
            except SyntaxError:
                continue
    return found


def parameters(function: Function) -> Iterator[ast.arg]:
    """All but `self`, which has no annotation."""
    given = function.args
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)


def holders(trees: Iterable[ast.Module]) -> frozenset[str]:
    """The followed classes, and every class with a field of one of them."""
    fields: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                held = fields.setdefault(node.name, set())
                for part in node.body:
                    if isinstance(part, ast.AnnAssign):
                        held |= names_in(part.annotation)
    found = set(ROOTS)
    while more := {name for name, held in fields.items() if name not in found and held & found}:
        found |= more
    return frozenset(found)


def imported(node: ast.AST) -> dict[str, tuple[str, str]]:
    """The names that `from … import …` brings, each with its module and its name there."""
    return {
        alias.asname or alias.name: (part.module, alias.name)
        for part in ast.walk(node)
        if isinstance(part, ast.ImportFrom) and part.module
        for alias in part.names
    }


class Source:
    """The functions of a folder of modules, and who names whom."""

    def __init__(self, folder: Path) -> None:
        self._trees: dict[str, ast.Module] = {}
        self._paths: dict[str, Path] = {}
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self._trees[module] = ast.parse(path.read_text(encoding="utf-8"))
            self._paths[module] = path
        self._imports = {module: imported(tree) for module, tree in self._trees.items()}
        self.held = holders(self._trees.values())

    def start(self) -> tuple[str, Function]:
        """The command that makes the order of an evaluation."""
        for module, tree in self._trees.items():
            for node in tree.body:
                named = names_in(node) if isinstance(node, Function) and node.name == "command" else set()
                if isinstance(node, Function) and {"EvaluationOrder", "is_several"} <= named:
                    return module, node
        raise SystemExit("there is no command that makes an EvaluationOrder")

    def found(self, module: str, name: str) -> Iterator[tuple[str, Function]]:
        """The functions that a name means in a module; of a class, all its methods."""
        for _ in range(5):  # through modules that only hand a name on
            if name in (given := self._imports.get(module, {})):
                module, name = given[name]
            elif f"{module}.{name}" in self._trees:
                return
        for node in self._trees[module].body if module in self._trees else ():
            if isinstance(node, Function) and node.name == name:
                yield module, node
            elif isinstance(node, ast.ClassDef) and node.name == name:
                yield from ((module, part) for part in node.body if isinstance(part, Function))

    def walk(self) -> list[str]:
        """`path:line name` of every function that is passed through."""
        seen: set[tuple[str, int, str]] = set()
        done: set[tuple[str, int]] = set()
        waiting = [self.start()]
        while waiting:
            module, function = waiting.pop()
            if (module, function.lineno) in done:
                continue
            done.add((module, function.lineno))
            inner = [part for part in ast.walk(function) if isinstance(part, Function)]
            for one in inner:
                if any(names_in(given.annotation) & self.held for given in parameters(one)):
                    seen.add((module, one.lineno, one.name))
            for name in sorted(names_in(function) - APART):
                waiting += self.found(module, name)
            for part in ast.walk(function):  # `module.name`
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.attr not in APART:
                    home = ".".join(self._imports[module].get(part.value.id, ()))
                    waiting += self.found(home, part.attr) if home in self._trees else ()
        return [f"{self._paths[module]}:{line} {name}" for module, line, name in sorted(seen)]


if __name__ == "__main__":
    passed = Source(Path(sys.argv[1])).walk()
    modules = len({one.partition(":")[0] for one in passed})
    sys.stdout.write("\n".join(passed) + f"\n{len(passed)} functions in {modules} modules\n")
