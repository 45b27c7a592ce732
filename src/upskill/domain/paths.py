"""Which names a file of a case or of an answer may have. Whoever writes files by these names may trust them."""

MOST_CHARACTERS = 240


def path_problem(path: str) -> str | None:
    """Why a name is no relative path that every system can hold, in words that follow the name; `None` if it is one."""
    if not path:
        return "is empty"
    if len(path) > MOST_CHARACTERS:
        return f"is longer than {MOST_CHARACTERS} characters"
    if not path.isprintable() or path != path.strip():
        return "holds a character that cannot be seen"
    if path.startswith(("/", "~")) or path[1:2] == ":":
        return "is not relative"
    if "\\" in path:
        return "holds a backslash; write folders with /"
    parts = path.split("/")
    if ".." in parts:
        return "leads out of its folder"
    if "" in parts or "." in parts:
        return "has a part that is empty or a dot"
    return None


def clash(paths: "set[str] | frozenset[str] | dict[str, bytes]") -> str | None:
    """The first name that is a file and also the folder of another; `None` if there is none."""
    for path in sorted(paths):
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if folder in paths:
                return folder
    return None
