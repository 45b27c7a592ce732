"""Workflow files as values, read as GitHub reads them: `on` is a key, a repeated key is an error, `<<` means nothing.

Knows nothing of jobs or steps. The text comes from a model, so its size, depth and number of values are bounded.
"""

import re

import yaml

from upskill.core.checks.plugin import Json

MOST_BYTES = 64 * 1024
MOST_DEPTH = 40
MOST_NODES = 20_000
"""Nodes once every alias is expanded."""
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?[0-9]{1,15}\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,15}|[0-9]{1,15}(\.[0-9]{0,15})?)([eE][-+]?[0-9]{1,2})?\Z")


class Unreadable(Exception):
    """A file is no workflow that GitHub could read; says why."""


def load(data: bytes, *, name: str) -> dict[str, Json]:
    """The mapping in a file. Raises `Unreadable`."""
    if len(data) > MOST_BYTES:
        raise Unreadable(f"{name} is longer than {MOST_BYTES:,} bytes")
    try:
        text = data.decode("utf-8")
        _refuse_depth(text, name)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        raise Unreadable(f"{name} is not text (UTF-8)") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Unreadable(f"{name} is not YAML: {' '.join(str(error).split())[:200]}") from None
    reader = _Reader(name)
    value = reader.value(root) if root is not None else None
    if not isinstance(value, dict):
        raise Unreadable(f"{name} is not a mapping of keys to values")
    return value


def _refuse_depth(text: str, name: str) -> None:
    """Read the events one by one first: composing nested nodes recurses, and events do not."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_DEPTH:
                raise Unreadable(f"{name} is nested more than {MOST_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    """Turns nodes into values, and counts them: aliases of aliases can mean a billion."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left = MOST_NODES
        self._open: set[int] = set()

    def value(self, node: yaml.Node) -> Json:
        self._left -= 1
        if self._left < 0 or id(node) in self._open:
            raise Unreadable(f"{self._name} has aliases for more than {MOST_NODES:,} values")
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item) for item in node.value]
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node)
        finally:
            self._open.discard(id(node))
        raise Unreadable(f"{self._name} has a node that is no value")

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Json]:
        found: dict[str, Json] = {}
        seen: set[str] = set()
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise Unreadable(f"{self._name}, line {key_node.start_mark.line + 1}: a key is not text")
            key = str(key_node.value)
            where = f"{self._name}, line {key_node.start_mark.line + 1}"
            if key == "<<":
                raise Unreadable(f"{where}: GitHub does not know the merge key <<")
            if key.lower() in seen:
                raise Unreadable(f"{where}: the key {key[:60]!r} occurs twice")
            seen.add(key.lower())
            found[key] = self.value(value_node)
        return found


def _scalar(node: yaml.ScalarNode) -> Json:
    """By the core schema of YAML 1.2: `on`, `yes` and `1_000` are text."""
    text = str(node.value)
    if node.style is not None or node.tag == "!":
        return text
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INT.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text
