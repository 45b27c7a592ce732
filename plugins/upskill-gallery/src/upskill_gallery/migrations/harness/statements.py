"""Splits SQL into statements where psql would. Runs inside the sandbox."""

import re

DOLLAR = re.compile(r"\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$")
WORD = re.compile(r"[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*")
ROUTINE = re.compile(r"\s*create\s+(or\s+replace\s+)?(function|procedure)\b", re.IGNORECASE)


class MetaCommand(Exception):
    """A command of psql itself, such as `\\!` or `\\i`. Nothing here runs one."""


def split(sql: str) -> list[str]:
    """The statements, without their semicolons and without those that are only comments. Raises `MetaCommand`."""
    found: list[str] = []
    current: list[str] = []
    spoken = False
    depth = blocks = at = 0

    def take(end: int) -> int:
        current.append(sql[at:end])
        return end

    while at < len(sql):
        here = sql[at]
        if sql.startswith("--", at):
            at = _line_end(sql, at)
            current.append("\n")
        elif sql.startswith("/*", at):
            at = _comment_end(sql, at)
            current.append(" ")
        elif here == "'":
            spoken = True
            escapes = bool(re.search(r"(?<![\w$])[eE]$", "".join(current[-2:])))
            at = take(_quoted_end(sql, at, "'", escapes=escapes))
        elif here == '"':
            spoken = True
            at = take(_quoted_end(sql, at, '"', escapes=False))
        elif here == "$" and (tag := DOLLAR.match(sql, at)):
            spoken = True
            end = sql.find(tag.group(), tag.end())
            at = take(len(sql) if end < 0 else end + len(tag.group()))
        elif word := WORD.match(sql, at):
            spoken = True
            name = word.group().lower()
            if name in ("begin", "case") and ROUTINE.match("".join(current)):
                blocks += (name == "case" and blocks > 0) or bool(re.match(r"\s+atomic\b", sql[word.end() :], re.I))
            elif name == "end" and blocks:
                blocks -= 1
            at = take(word.end())
        elif here == "\\":
            raise MetaCommand(sql[at : at + 40].split("\n")[0])
        elif here == ";" and not depth and not blocks:
            if spoken:
                found.append("".join(current).strip())
            current, spoken = [], False
            at += 1
        else:
            depth = max(0, depth + (here == "(") - (here == ")"))
            spoken = spoken or not here.isspace()
            at = take(at + 1)
    if spoken:
        found.append("".join(current).strip())
    return found


def first_word(statement: str) -> str:
    """The first word of a statement, in lower case."""
    found = WORD.match(statement)
    return found.group().lower() if found else ""


def _line_end(sql: str, at: int) -> int:
    end = sql.find("\n", at)
    return len(sql) if end < 0 else end + 1


def _comment_end(sql: str, at: int) -> int:
    depth = 0
    while at < len(sql):
        if sql.startswith("/*", at):
            depth, at = depth + 1, at + 2
        elif sql.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if not depth:
                return at
        else:
            at += 1
    return at


def _quoted_end(sql: str, at: int, quote: str, *, escapes: bool) -> int:
    at += 1
    while at < len(sql):
        if escapes and sql[at] == "\\":
            at += 2
        elif sql[at] == quote:
            if not sql.startswith(quote, at + 1):
                return at + 1
            at += 2
        else:
            at += 1
    return len(sql)
