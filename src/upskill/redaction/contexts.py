"""Secrets that a name identifies: before them, in an assignment, a prompt, a flag, an element or a sentence; or above
them, in the header of a table (CSV, TSV, Markdown, terminal tables, SQL inserts).

A word such as `token` is searched for first; only where it stands is a pattern tried, and the value is then judged by
`plausibility`.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

from upskill.redaction.plausibility import Sort, is_chosen, is_password, is_phrase, looks_random, sort_of
from upskill.redaction.token_index import NAMES, NEW_LINE, Span, TokenIndex, offsets

_LONGEST_LINE = 300
"""A longer line is no row of a table that a person reads."""
_HEADER = re.compile(r"[A-Za-z][\w.-]{0,30}(?:[ ][\w.-]{1,20}){0,2}")
_BREAK = re.compile(NEW_LINE)
_AFTER = re.compile(
    rf"""(?:(?:[ ][\w.-]{{1,20}}){{1,2}}(?=[ ]{{0,60}}(?:\||\t|[ ]{{2}})))?(?:\\{{0,64}}["'`*]{{1,3}})?
    (?:[ ]{{0,60}}(?:(?P<cut>\\{{1,64}}t|[,;|\t])_REST)?|[ ]{{2,60}}[A-Z]_REST)(?P<end>{NEW_LINE})""".replace(
        "_REST", rf"""(?:[^\n\\(){{}}=<>\[\]:$]|\\{{1,64}}["'t]){{0,{_LONGEST_LINE}}}"""
    ),
    re.VERBOSE,
)
"""The rest of a line that may be a header: what has brackets in it is code."""
_RULE = re.compile(r"[ \t]*[-+|:= ]{3,}$")
_GAPS = re.compile(r"[ ]{2,}")
_USER_COLUMN = re.compile(r"user|login|e-?mail|account|^name$|host|url|site|server|service", re.IGNORECASE)
_AROUND = " \t\r\\\"'`*>"
_INSERT = re.compile(r"insert\s{1,9}into\s{1,9}\S{1,80}\s{0,9}\((?P<names>[^()]{1,400})\)\s{0,9}values", re.IGNORECASE)
_TUPLE = re.compile(r"[\s,]{0,20}\((?P<fields>[^()]{1,2000})\)")
_FIELD = re.compile(r"""\s{0,9}(?:[NE]?'(?P<quoted>[^']{0,400})'|[^',]{0,200})\s{0,9}(?:,|$)""")


class Table(NamedTuple):
    """The secrets below a header, and where the table ends."""

    spans: list[Span]
    end: int


class _Layout(NamedTuple):
    """How the lines of a table end and where they are cut; an empty `cut` stands for two spaces or more."""

    new_line: str
    cut: str

    def ends_string(self) -> re.Pattern[str] | None:
        """The quote that ends the string in which the table is escaped."""
        slashes = len(self.new_line) - 1 - max(0, self.new_line.rfind("r") + 1)
        return _quote_with_fewer(slashes) if self.new_line.startswith("\\") else None


@cache
def _quote_with_fewer(slashes: int) -> re.Pattern[str]:
    return re.compile(rf'(?<!\\)\\{{0,{slashes - 1}}}"')


def table_at(text: str, name_at: int, name_end: int) -> Table | None:
    """The table in whose header the name stands, if it is one."""
    after = _AFTER.match(text, name_end)
    if after is None:
        return None
    start = max(0, name_at - _LONGEST_LINE)
    start = max(start, text.rfind("\n", start, name_at) + 1)
    for end in (_BREAK, _Layout(after["end"], "").ends_string()) if "\\" in after["end"] else ():
        for match in end.finditer(text, start, name_at) if end else ():
            start = match.end()
    before = text[start:name_at]
    cut = after["cut"] or next((mark for mark in ("|", "\t", ";", ",") if mark in before), "")
    layout = _Layout(after["end"], cut)
    names = [text[left:right].strip(_AROUND) for left, right in _cells(text, start, after.start("end"), layout)]
    if len(names) < 2 or not all(map(_HEADER.fullmatch, names)):
        return Table([], after.end())
    sorts = [sort_of(name.replace(" ", "_")) for name in names]
    people = any(_USER_COLUMN.search(name) for name, sort in zip(names, sorts, strict=True) if sort is None)
    return _rows(text, after.end(), layout, sorts, people=people) if any(sorts) else None


def _rows(text: str, at: int, layout: _Layout, sorts: list[Sort | None], *, people: bool) -> Table | None:
    spans: list[Span] = []
    rows = 0
    ruled = False
    ends_string = layout.ends_string()
    while at < len(text):
        end = text.find(layout.new_line, at, at + _LONGEST_LINE)
        next_at = end + len(layout.new_line)
        if end < 0:
            end = next_at = min(len(text), at + _LONGEST_LINE)
        if ends_string and (quote := ends_string.search(text, at, end)):
            end, next_at = quote.start(), len(text)
        rule = _RULE.match(text[at:end]) is not None
        if layout.cut == "|" and not (ruled := ruled or rule):
            break  # words between bars, but no table
        if not rule:
            cells = _cells(text, at, end, layout)
            if len(cells) != len(sorts):
                break
            rows += 1
            for (left, right), sort in zip(cells, sorts, strict=True):
                if sort and (span := _secret(text, left, right, sort, people=people)):
                    spans.append(span)
        at = next_at
    return Table(spans, at) if rows else None


def _cells(text: str, start: int, end: int, layout: _Layout) -> list[tuple[int, int]]:
    line = text[start:end]
    if layout.cut:
        pieces = _quoted_split(line) if layout.cut == "," and '"' in line else line.split(layout.cut)
        widths = [len(layout.cut)] * len(pieces)
    else:
        pieces = _GAPS.split(line)
        widths = [len(gap) for gap in _GAPS.findall(line)] + [0]
    cells = []
    for piece, width in zip(pieces, widths, strict=True):
        cells.append((start, start + len(piece)))
        start += len(piece) + width
    if layout.cut == "|" or not layout.cut:
        # A table may or may not have an edge.
        cells = cells[1:] if cells and not pieces[0].strip(_AROUND) else cells
        cells = cells[:-1] if cells and not pieces[-1].strip() else cells
    return cells


def _quoted_split(line: str) -> list[str]:
    """By commas that are not in quotes."""
    parts = line.split('"')
    marked = '"'.join(part if number % 2 == 0 else part.replace(",", "\0") for number, part in enumerate(parts))
    return marked.split(",")


def _secret(text: str, start: int, end: int, sort: Sort, *, people: bool) -> Span | None:
    raw = text[start:end]
    start, end = end - len(raw.lstrip(_AROUND)), start + len(raw.rstrip(_AROUND))
    value = text[start:end]
    if sort == "password":
        found = is_password(value, quoted=False) or (people and is_chosen(value))
    else:
        found = looks_random(value, least=12)
    return Span(start, end, sort, 1) if found else None


def insert_at(index: TokenIndex, name_at: int) -> Table | None:
    """The SQL insert among whose columns the name stands, if it is one."""
    offset = index.low.rfind(b"insert into", max(0, name_at - 400), name_at)
    match = _INSERT.match(index.text, offset) if offset >= 0 else None
    if match is None or not match.start("names") <= name_at < match.end("names"):
        return None
    sorts = [sort_of(name.strip(' \\"`[]')) for name in match["names"].split(",")]
    spans, end = [], match.end()
    while row := _TUPLE.match(index.text, end):
        end = row.end()
        for field, sort in zip(_FIELD.finditer(row["fields"]), sorts, strict=False):
            if sort and field["quoted"] and is_password(field["quoted"], quoted=True):
                at = row.start("fields")
                spans.append(Span(at + field.start("quoted"), at + field.end("quoted"), sort, 1))
    return Table(spans, end)


_NAME = re.compile(r"[\w.$-]{1,160}")
_IN_A_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-"
_ENDS_OF_CELLS = frozenset(" \t\n\r,;|\\\"'`*)")
_THEN = re.compile(
    r"""(?P<close>\\{0,64}["'`]?\]?|%(?:25)?22)
    (?:
        (?P<below>[ \t]{0,8}[:=][ \t]{0,4}\\{0,64}?NEW_LINE[ \t]{0,20}|(?<=["'])NEW_LINENEW_LINE)
            (?=[^\s"'\\<>]{5,400}[ \t]{0,4}(?:[\r\n"']|\\{1,64}[rn"']|\Z))
        |(?P<coded>%(?:25)?3[AaDd](?:%(?:25)?20|\+)?(?:%(?:25)?22)?)
        |(?P<given>[ \t]{0,8}(?::=|=>|={1,3}|[:：])(?![:=/])(?:[ \t]{0,8}[|>][-+]?(?:\s|NEW_LINE){1,20}|[ \t]{0,8}))
        |(?P<typed>:[ ]?[\w.\[\]|&? ]{1,30}?[ ]?=[ ]?)(?=["'])
        |(?P<attribute>(?:[\s,"':{]|\\{1,64}[nrt"']){1,24}(?:value|[Dd]efault)\\{0,64}["']?\s?[:=]\s?
            |(?:[ ][\w-]{1,20}=\\{0,64}["'][^"'\n]{0,60}["']){1,4}[ ]value=)
        |(?P<nested></key>(?:\s|NEW_LINE){0,20}<string>|>(?:\s|NEW_LINE){0,20}<value>)(?=[^<\s])
        |(?P<call>\()(?=\\{0,64}["'])
        |(?P<listed>(?<=["'`])[ \t]{0,2},[ \t]{0,16})(?=\\{0,64}["'])
        |(?P<element>(?:[ ][\w:-]{1,20}=\\{0,64}["'][^"'<>\n\\]{0,60}\\{0,64}["']){0,3}>(?:<!\[CDATA\[)?)(?=[^<\s])
        |(?P<stated>(?:[ ]\([^()\n]{1,20}\))?[ ](?:is|was|to|è|é|är|es|est|este|ist|lautet|\\{1,2}u00e[89]):?[ ]
            |[ ](?:for|of|on)(?:[ ][\w.'-]{1,20}){1,5}?[ ](?:is|was):?[ ])
        |(?P<prompt>[ ](?:\d{1,2}|(?:for|of|\[(?!redacted))(?:'[^'\n]{1,90}'|[^\n:'"\\]){1,90}
            |\((?:'[^'\n]{1,90}'|[^\n:'"\\()]){1,90}\)):[ \t]{1,4})
        |(?P<cell>[ \t]{0,8}\|[ \t]{0,8})
        |(?P<spaced>[ \t]{1,40}(?:[057][ ])?|\\t)
    )
    (?:(?:[bfruBFRUN]{1,2}|[A-Z][A-Za-z]{2,14}\(|\[\]byte\(|\{str\}[ ]
        |(?P<fallback>[\w.]{0,40}(?:get|env|fetch)\w{0,12}\([^()\n]{1,60},[ ]?|[\w.]{2,60}[ ]?(?:\|\||\?\?|or)[ ])
    )(?=\\{0,64}["'`]))?
    (?P<quote>\\{0,64}["'`])?""".replace("NEW_LINE", NEW_LINE),
    re.VERBOSE,
)
_FORMS = tuple(name for name in _THEN.groupindex if name not in ("close", "quote", "fallback"))
_UNQUOTED = re.compile(r"""[^\s"'`;<>\\,&|]{1,8192}""")
_IN_A_QUERY = re.compile(r"[\w.~%+/=-]{1,8192}")
_CODED = re.compile(r"(?:[\w.~*!()-]|%(?!(?:25)?(?:22|26|27|7[dD]|2[cC]|0[aAdD]))[0-9A-Fa-f]{2}){1,2000}")
_WORDS = re.compile(r"[a-z]+(?: [a-z]+){3,23}(?![\w ])|[a-z]+(?: [a-z]+){3,23}(?= [(\[–-])")
_LINE = re.compile(r"""[^\n"'`\\<>|]{4,80}""")
_PASSWD_FILE = re.compile(r"/passwd(?![\w.$=-])")
"""The name of a file. What follows it, in a table or a sentence, is said of that file."""
_LOGIN_BEFORE = re.compile(
    r"""(?:login|user|connect|d-i)\s{1,4}(?:\\{0,64}["'][^"'\n\\]{1,60}\\{0,64}["']|\S{1,80})(?:\s|\\n|>){1,12}$"""
)
_DIRECTIVES = ("requirepass", "masterauth", "rootpw", "bindpw", "user_pw", "owner_pw", "pre-shared-key", "psk")
"""In a file of settings, or among arguments, only a space parts them from a password."""
_SET_BEFORE = re.compile(r"(?:^|[\s;])(?:ENV|ARG|setenv|set -gx|set -x|setx|#define)\s{1,4}$")
_ASKED_BEFORE = re.compile(
    r"(?:enter|new|retype|re-enter|repeat|confirm|current|old|unix|\[sudo\]|verify|type)[ ](?:\w{1,12}[ ]){0,3}$",
    re.IGNORECASE,
)
"""What a program says before a person types."""
_USER_BEFORE = re.compile(
    rf"(?:user(?:[ _-]?name)?|login|e-?mail|account|uid)\W{{0,3}}(?::[ ][^\s,;()&]{{1,80}},[ ]"
    rf"|[:=][ \t]{{0,4}}[^\s,;()&]{{1,80}}(?:[ \t]{{0,4}}{NEW_LINE}[ \t>|*-]{{0,12}}|[ &;]))$",
    re.IGNORECASE,
)
_LINE_ENDS = re.compile(rf"[ \t]{{0,4}}(?:{NEW_LINE}|\\{{0,64}}[\"']|[&;]|\Z)")
_COMMAND_ENDS = re.compile(rf"[ \t]{{0,4}}(?:{NEW_LINE}|\\{{0,64}}[\"'`]|-|[|;&>]|\Z)")
_PROSE = re.compile(r"(?i)\b(?:the|and|or|with|using|uses?|give|pass|is|via|needs?|if|set|flag|option)\b[^\n]*$")
_KEY_IS = re.compile(r"(?:[ ]\d{1,2})?[ ]{0,2}[:=：]|[ ](?:is|was|\(|\[)|[ ](?=[\w-]{0,30}\d)")
_UNCLEAR = ("key", "keys", "phrase")
_LONGEST_UNCLEAR = max(map(len, _UNCLEAR))
_WORD_BEFORE = re.compile(r"(?:(?<=\\[nrt])|(?<![A-Za-z\\]))[A-Za-z]{2,14}[ ]$")
_ESCAPED = re.compile(r"\\{1,64}u[0-9a-fA-F]{4}")
_PROMPT = re.compile(r"[A-Za-z ]{3,60}[:?] ?")
_BASE32 = re.compile(r"(?=[A-Z]*[2-7])[A-Z2-7]{16,64}=*")
_LONGEST = 8_192


def named_secrets(index: TokenIndex) -> Iterator[Span]:
    """Every value under a name that says it is secret."""
    text = index.text
    done = table_end = -1
    for word_at in sorted(chain(_in_queries(index), *map(index.at.__getitem__, NAMES))):
        if word_at < done:
            continue
        start = _start_of_name(text, word_at)
        name = _NAME.match(text, start)
        if name is None:
            continue
        done = max(done, name.end())
        sort = sort_of(name.group().rstrip(".-$")) or (
            _sort_of_key(text, start, name) if name.end() - start <= _LONGEST_UNCLEAR else None
        )
        if sort is None or _PASSWD_FILE.match(text, start - 1 if start else 0):
            continue
        if start >= table_end and sort != "seed" and text[name.end() : name.end() + 1] in _ENDS_OF_CELLS:
            table = table_at(text, start, name.end()) or insert_at(index, start)
            if table:
                table_end = table.end
                yield from table.spans
        span = _value(text, start, name, sort)
        if span is not None:
            done = span.end
            yield span


_QUERY_NAME = re.compile(rb"[?&][\w-]{0,40}?(?=(?:sig|signature|code)=)")


def _in_queries(index: TokenIndex) -> Iterator[int]:
    """Signatures and codes in the query of an address."""
    for mark in (b"?", b"&"):
        for offset in offsets(index.low, mark):
            if name := _QUERY_NAME.match(index.low, offset):
                yield name.end()


def _start_of_name(text: str, word_at: int) -> int:
    before = text[max(0, word_at - 60) : word_at]
    start = word_at - len(before) + len(before.rstrip(_IN_A_NAME))
    # In `\\npassword` the n belongs to the escape, in `%22password` the digits.
    if start > 0 and text[start - 1] == "\\" and text[start] in "nrt" and start < word_at:
        return start + 1
    return start + 2 if start > 0 and text[start - 1] == "%" and word_at - start >= 2 else start


def _sort_of_key(text: str, start: int, name: re.Match[str]) -> Sort | None:
    """What `key` means is in the word before it: `API key: …`, but `press any key`. So is what `phrase` means."""
    said = name.group().lower()
    if said not in _UNCLEAR or (said != "phrase" and not _KEY_IS.match(text, name.end())):
        return None
    word = _WORD_BEFORE.search(text, max(0, start - 16), start)
    sort = sort_of(f"{word.group()[:-1]}_{said}") if word else None
    return sort if said == "phrase" or sort == "secret" else "seed"


def _value(text: str, start: int, name: re.Match[str], sort: Sort) -> Span | None:
    then = _THEN.match(text, name.end())
    if then is None:
        return None
    quote = then.group("quote")
    form = next(form for form in _FORMS if then.group(form) is not None)
    begin = then.end()
    if quote:
        end = _closing(text, begin, quote)
    else:
        pattern = _CODED if form == "coded" else _IN_A_QUERY if sort == "signature" else _UNQUOTED
        bare = pattern.match(text, begin)
        if bare is None:
            return None
        end = begin + len(bare.group().rstrip(".:)]}"))
    if sort == "password" and form in ("given", "prompt") and not quote and _is_asked(text, start, form):
        line = _LINE.match(text, begin)
        typed = line.group().strip() if line else ""
        if is_chosen(typed):
            return Span(begin, begin + len(typed), sort, 1)
    if sort == "password" and form in ("given", "stated") and not quote and name.group().lower().endswith("phrase"):
        phrase = _WORDS.match(text, begin)
        if phrase and is_phrase(phrase.group()):
            return Span(*phrase.span(), sort, 1)
    if not _is_secret(text, start, name.group(), then, form, sort, begin, end):
        return None
    return Span(begin, end, sort, 1)


def _is_asked(text: str, start: int, form: str) -> bool:
    return (
        form == "prompt"
        or _ASKED_BEFORE.search(text, max(0, start - 40), start) is not None
        or _USER_BEFORE.search(text, max(0, start - 160), start) is not None
    )


def _closing(text: str, begin: int, quote: str) -> int:
    """Where the quoted value ends: at the same quote, escaped as often; else at the end of the line."""
    mark = quote[-1]
    slashes = len(quote) - 1
    end = text.find(mark, begin, begin + _LONGEST)
    while end >= 0:
        count = 0
        while end - count - 1 >= begin and text[end - count - 1] == "\\":
            count += 1
        if count == slashes or (slashes == 0 and count % 2 == 0):
            break
        if count < slashes:
            return end - count
        end = text.find(mark, end + 1, begin + _LONGEST)
    newline = text.find("\n", begin, begin + _LONGEST)
    if end < 0 or 0 <= newline < end:
        return newline if newline >= 0 else min(len(text), begin + _LONGEST)
    return end - slashes


def _is_secret(
    text: str, start: int, name: str, then: re.Match[str], form: str, sort: Sort, begin: int, end: int
) -> bool:
    value = text[begin:end]
    if "\\u" in value:  # looked for first: a long value is read again for every name that is in it
        value = _ESCAPED.sub("ä", value)
    sure = not then.group("fallback") and "efault" not in (then.group("attribute") or "")
    quoted = then.group("quote") is not None and sure
    if not value or (quoted and (value[0] in ",);: " or _PROMPT.fullmatch(value))):
        return False
    if then.group("given") == " :" and quoted and value.isidentifier():
        return False  # a variable of psql
    if value[0] == "?" and text[start - 2 : start] == "${":
        return False  # what the shell says where the variable is not set
    if name.lower() == "pass" and then.group("quote") == "`" and not {" ", "="}.isdisjoint(value):
        return False  # the verb, and what a program printed: when tests pass, `PASS 12/12`
    if sort == "seed":
        return form in ("given", "stated", "prompt") and bool(_BASE32.fullmatch(value))
    if sort == "signature":
        return then.group("given") == "=" and not quoted and looks_random(value, least=24)
    if sort == "key":
        return form in ("given", "below", "coded") and looks_random(value, least=20)
    if form == "given" and then.group("given") == ":" and text[start - 1 : start] == ":":
        return False  # a part of the name of something: `arn:…:secret:prod/db`
    if form in ("given", "attribute", "typed", "nested", "coded", "prompt"):
        return _plain(sort, value, quoted=quoted or form == "nested") or (
            form == "given" and not quoted and _is_word(text, start, name, then, sort, begin, end)
        )
    if form == "below":
        return text[end : end + 1] != ":" and (
            is_password(value, quoted=False) if sort == "password" else looks_random(value, least=12)
        )
    if form == "call":
        return name == "PASSWORD" and is_password(value, quoted=True)
    if form == "element":
        return text[start - 1 : start] == "<" and _plain(sort, value, quoted=True)
    if form == "listed":
        return (
            is_password(value, quoted=False)
            if name.startswith("-") and sort == "password"
            else looks_random(value, quoted=True)
        )
    if form == "stated":
        if quoted and sort == "password" and len(name) > 4 and not then.group("close"):
            return is_password(value, quoted=True)
        chosen = looks_random(value) if " to" in then.group("stated") else is_password(value, quoted=False)
        return chosen and (sort == "password" or looks_random(value, least=16))
    if form == "cell":
        return is_password(value, quoted=False) and (sort == "password" or looks_random(value, least=16))
    return _is_spaced(text, start, name, then, sort, begin, end)


def _is_spaced(text: str, start: int, name: str, then: re.Match[str], sort: Sort, begin: int, end: int) -> bool:
    """Whether a value that only a space parts from its name is a secret."""
    value = text[begin:end]
    quoted = then.group("quote") is not None
    before = text[max(0, start - 120) : start]
    if name.startswith("-") or _SET_BEFORE.search(before):
        return not value.startswith("-") and (
            _plain(sort, value, quoted=quoted) or (not quoted and _is_word(text, start, name, then, sort, begin, end))
        )
    if sort == "password" and quoted:
        return is_password(value, quoted=True)
    typed = then.group("spaced")[-2:-1].isdigit()  # the type of a password, in the settings of a router
    if sort == "password" and (typed or name.lower().endswith(_DIRECTIVES) or _LOGIN_BEFORE.search(before)):
        return is_password(value, quoted=False)
    if sort == "password" and then.group("spaced") == " " and name.lower().startswith("passw"):
        return value[0] not in "[(" and looks_random(value, least=8)
    return looks_random(value, least=16 if len(then.group("spaced")) > 1 else 20)


def _is_word(text: str, start: int, name: str, then: re.Match[str], sort: Sort, begin: int, end: int) -> bool:
    """Whether a plain word is a password: in a variable, behind a flag of a command, or below the name of a user."""
    value = text[begin:end]
    if then.group("given") == "=" and name.isupper() and name.endswith(("PASSWORD", "SECRET", "PASS")):
        return len(value) >= 8 and is_password(value, quoted=True)
    if sort != "password" or not is_chosen(value):
        return False
    if name.startswith("-"):
        prose = _PROSE.search(text, max(text.rfind("\n", 0, start), start - 160, 0), start)
        return len(value) >= 6 and not prose and bool(_COMMAND_ENDS.match(text, end))
    tight = (then.group("given") or "").startswith((":", "="))
    return tight and bool(_LINE_ENDS.match(text, end) and _USER_BEFORE.search(text, max(0, start - 160), start))


def _plain(sort: Sort, value: str, *, quoted: bool) -> bool:
    return is_password(value, quoted=quoted) if sort == "password" else looks_random(value, quoted=quoted)
