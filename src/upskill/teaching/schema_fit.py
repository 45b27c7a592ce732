"""Whether a value fits the JSON Schema of an answer, in words for a teacher. The schemas are our own."""

from collections.abc import Mapping
from typing import Any

MOST_PROBLEMS = 8
_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
}


def fitted(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value without what is plainly too much: keys nobody asked for, nulls where nothing is needed.

    A bare list is put into its object where the object would hold that list and nothing else that is needed; a number
    where a text is wanted becomes one; a text where a list of texts is wanted becomes a list of one.
    """
    if schema.get("type") == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if schema.get("type") == "array" and isinstance(value, str) and schema.get("items", {}).get("type") == "string":
        return [value] if value.strip() else []
    if isinstance(value, list) and schema.get("type") == "object":
        lists = [key for key, inner in schema.get("properties", {}).items() if inner.get("type") == "array"]
        if len(lists) == 1 and set(schema.get("required", lists)) == set(lists):
            value = {lists[0]: value}
    if isinstance(value, dict) and "properties" in schema:
        known, needed = schema["properties"], schema.get("required", ())
        strict = schema.get("additionalProperties") is False
        return {
            key: fitted(inner, known.get(key, {}))
            for key, inner in value.items()
            if (key in known or not strict) and (inner is not None or key in needed)
        }
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [fitted(inner, schema["items"]) for inner in value]
    return value


def fit_problems(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Where a value does not fit, the first few; empty when it fits."""
    from jsonschema import Draft202012Validator

    problems: list[str] = []
    try:
        for error in Draft202012Validator(schema).iter_errors(value):
            problems.append(_in_words(error))
            if len(problems) >= MOST_PROBLEMS:
                break
    except RecursionError:
        return ["it is nested too deeply"]
    return list(dict.fromkeys(problems))


def _in_words(error: Any) -> str:
    """Never with the value itself, which may be a whole skill."""
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path).lstrip(".")
    place = f"`{where}`" if where else "the answer"
    wanted, got = error.validator_value, error.instance
    match error.validator:
        case "required":
            missing = [key for key in wanted if key not in got]
            return f"{place} lacks {', '.join(f'`{key}`' for key in missing)}"
        case "type":
            kinds = wanted if isinstance(wanted, list) else [wanted]
            return f"{place} must be {' or '.join(_NAMES.get(kind, str(kind)) for kind in kinds)}, not {_kind(got)}"
        case "enum":
            return f"{place} must be one of {', '.join(map(str, wanted))}, not {str(got)[:60]!r}"
        case "maxLength":
            return f"{place} has {len(got):,} characters; at most {wanted:,} are allowed"
        case "minLength":
            return f"{place} is too short" if got else f"{place} is empty"
        case "maxItems":
            return f"{place} has {len(got):,} items; at most {wanted:,} are allowed"
        case "minItems":
            return f"{place} has {len(got):,} items; at least {wanted:,} are needed"
        case _:
            return f"{place}: {' '.join(str(error.message).split())[:160]}"


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    kinds: dict[type, str] = {dict: "object", list: "array", str: "string", int: "integer", float: "number"}
    return _NAMES[kinds[type(value)]]
