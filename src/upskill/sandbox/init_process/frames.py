"""The framing of what host and init process say to each other. The host imports this module too."""

import struct

HEADER = struct.Struct("<I")


def pack(fields: "list[bytes]") -> bytes:
    """One frame: its length, then every field with its own length."""
    body = b"".join(HEADER.pack(len(field)) + field for field in fields)
    return HEADER.pack(len(body)) + body


def unpack(body: bytes) -> "list[bytes]":
    """The fields of a frame's body. Raises `ValueError` when they do not add up."""
    fields = []
    at = 0
    while at < len(body):
        if at + HEADER.size > len(body):
            raise ValueError("a frame ends inside a length")
        (size,) = HEADER.unpack_from(body, at)
        at += HEADER.size
        if at + size > len(body):
            raise ValueError("a field is longer than its frame")
        fields.append(body[at : at + size])
        at += size
    return fields
