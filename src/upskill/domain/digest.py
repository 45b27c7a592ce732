"""One way to turn a value into a digest, so that equal values have equal digests everywhere."""

import hashlib
import json

# Made once: a plan takes a digest per trial, and `json.dumps` would make an encoder for each.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: object) -> str:
    """The one spelling of a JSON value: keys sorted, no spaces, characters unescaped."""
    return _ENCODER.encode(value)


def digest_of(value: object) -> str:
    """SHA-256, in hex, of a JSON value in canonical form."""
    # Lone surrogates can come out of JSON files; they have no UTF-8, so they are passed through.
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
