"""`yaml`: YAML 1.1 with plain values only. Aliases are fine until they multiply; tags that make objects are refused."""

from typing import Any

import yaml

from upskill.checks.structured import MOST_DEPTH, NotRead, Structured

MOST_VALUES = 100_000
"""Values once every alias is written out: nine lines of aliases to aliases can stand for a billion."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(text: str) -> Any:
    """The value of a YAML text with one document. Raises `NotRead`."""
    try:
        _require_shallow(text)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            _require_few_values(node)
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise NotRead(f"not yaml: {' '.join(str(error).split())[:200]}") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        # What its constructors raise for a tag on a text that does not suit it, as `!!int ""`.
        raise NotRead(f"not yaml: {' '.join(str(error).split())[:200]}") from None


def _require_shallow(text: str) -> None:
    """Before anything is built, because building goes as deep as the text does."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_DEPTH:
                raise NotRead(f"not yaml: nested more than {MOST_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _require_few_values(node: Any) -> None:
    """Count what the document holds with every alias written out; a node inside itself would never end."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(part: Any) -> int:
        if part is None:
            return 0
        if id(part) in open_nodes:
            raise NotRead("not yaml: an alias stands inside what it names")
        if id(part) not in sizes:
            open_nodes.add(id(part))
            keys: list[str] = []
            total = 1
            for child in part.value if isinstance(part, yaml.CollectionNode) else ():
                if isinstance(child, tuple):
                    keys.append(child[0].value if isinstance(child[0], yaml.ScalarNode) else "")
                    total += size(child[0]) + size(child[1])
                else:
                    total += size(child)
            named = [key for key in keys if key not in ("", "<<")]
            if len(set(named)) < len(named):
                double = sorted(named, key=named.count)[-1] if len(named) < 1_000 else "…"
                raise NotRead(f"not yaml: the key {double[:60]!r} stands twice in one mapping")
            open_nodes.discard(id(part))
            sizes[id(part)] = total
        if sizes[id(part)] > MOST_VALUES:
            raise NotRead(f"not yaml: more than {MOST_VALUES:,} values once its aliases are written out")
        return sizes[id(part)]

    size(node)


YAML = Structured("yaml", parse_yaml, languages=frozenset({"yaml", "yml"}), exact_numbers=True)
