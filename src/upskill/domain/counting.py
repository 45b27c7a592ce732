"""Numbers with their nouns, as people read them."""


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 call`, `1,200 calls`, `2 fixes`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
