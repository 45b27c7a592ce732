"""What a skill would have run or sent: code from elsewhere that is run unread, private data that leaves the machine, and
changes of start-up files. What a pattern alone finds is in `rules.toml`."""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from upskill.lint.file_text import EXPRESSIONS, PATTERNS, FileText, Hit, finder, is_prose, matches

_HOSTS_OF = {
    "github": ("github",), "gh": ("github",), "gitlab": ("gitlab",), "openai": ("openai", "azure"), "anthropic": ("anthropic",), "aws": ("amazonaws", "aws"),
    "hf": ("huggingface", "hf.co"), "huggingface": ("huggingface", "hf.co"), "hugging": ("huggingface", "hf.co"), "google": ("google",), "azure": ("azure", "microsoft", "windows.net"),
    "stripe": ("stripe",), "npm": ("npm",), "slack": ("slack",), "database": (), "db": (), "ssh": (),
}  # fmt: skip
_MOST_BLOB = 200_000


def piped(files: Sequence[FileText]) -> Iterator[Hit]:
    """A download that goes straight into an interpreter."""
    for file in files:
        for position in {
            *matches(file, PATTERNS["piped"]),
            *_pipes(file, EXPRESSIONS["fetches"]),
            *_carried(file, remote=True),
        }:
            yield file.hit(position)


def decoded_and_run(files: Sequence[FileText]) -> Iterator[Hit]:
    """Text that is decoded and then run."""
    for file in files:
        for position in {
            *matches(file, PATTERNS["unpacked"]),
            *_pipes(file, EXPRESSIONS["decodes"]),
            *_carried(file, remote=False),
        }:
            yield file.hit(position)


def _pipes(file: FileText, source: re.Pattern[str]) -> Iterator[int]:
    """Where something found by `source` reaches an interpreter through a pipe."""
    for text in (file.prose, file.code):
        if "|" not in text or not source.search(text):
            continue
        for line in re.finditer(r"[^\n]*\|[^\n]*", text):
            yield from _piped_in(line[0], line.start(), source)


def _piped_in(line: str, offset: int, source: re.Pattern[str]) -> Iterator[int]:
    begun: int | None = None
    position = 0
    for part in line.split("|"):
        runs = EXPRESSIONS["runs"].match(part) if begun is not None else None
        if runs is not None and begun is not None and _reads_program(runs):
            yield offset + begun
        starts = [found.start() for found in source.finditer(part)]
        if starts:
            begun = position + starts[-1]
        elif not part.strip() or re.search(r"[;&]{1,2}\s*\w", part):
            begun = None
        position += len(part) + 1


def _reads_program(runs: re.Match[str]) -> bool:
    """Whether an interpreter runs what it is piped, rather than a program of its own that reads it."""
    first = next(iter(runs[3].split()), "").strip("\"'`),.;")
    if runs[1] is not None:
        return not first.startswith("-c") and not first.endswith(".sh")
    return first in ("", "-") or not (first.startswith("-") or "." in first or "/" in first)


def _carried(file: FileText, *, remote: bool) -> Iterator[int]:
    """What is fetched or decoded into a variable and then run."""
    if "=" not in file.code:
        return
    names: dict[str, int] = {}
    for found in EXPRESSIONS["assigned"].finditer(file.code):
        if bool(EXPRESSIONS["remote"].search(found[0])) is remote:
            names.setdefault(found[1], found.start(1))
    if names:
        for used in EXPRESSIONS["used"].finditer(file.code):
            name = used[1] or used[2] or used[3] or used[4]
            if name in names and used.start() > names[name]:
                yield used.start()


def downloaded_and_run(files: Sequence[FileText]) -> Iterator[Hit]:
    """A file that is downloaded or decoded, then started. Where it is verified first, that is a caution."""
    for file in files:
        for text in (file.code, file.prose):
            saved = {
                (found.start(), (found[1] or found[expression.groups]).rsplit("/", 1)[-1])
                for expression in (EXPRESSIONS["saved"], EXPRESSIONS["saved_as_is"])
                for found in expression.finditer(text)
            }
            if not saved:
                continue
            started: dict[str, list[int]] = {}
            for one in EXPRESSIONS["started"].finditer(text):
                started.setdefault((one[1] or one[2]).rsplit("/", 1)[-1], []).append(one.start())
            verified = [one.start() for one in EXPRESSIONS["verified"].finditer(text)]
            for at, name in saved:
                starts = started.get(name, [])
                if (after := bisect_right(starts, at)) < len(starts):
                    checked = bisect_right(verified, at) < bisect_right(verified, starts[after])
                    yield file.hit(at, quoted=True if checked else None)


def fetched_and_followed(files: Sequence[FileText]) -> Iterator[Hit]:
    """Prose that has a text from elsewhere run or obeyed, and does not have it read first."""
    for file in files:
        for words, expression, _ in PATTERNS["followed"]:
            if any(word in file.prose for word in words):
                for found in expression.finditer(file.prose):
                    if not EXPRESSIONS["read_first"].search(found[0], len("download")):
                        yield file.hit(found.start())


def blobs(files: Sequence[FileText]) -> Iterator[Hit]:
    """Encoded text that holds a command or an instruction once it is decoded."""
    for file in files:
        for found in EXPRESSIONS["blob"].finditer(file.text):
            plain = _plain(found[0][:_MOST_BLOB])
            if plain is not None and EXPRESSIONS["command_words"].search(plain.lower()):
                yield file.hit(found.start())


def _plain(blob: str) -> str | None:
    try:
        if blob.startswith("\\x"):
            data = bytes.fromhex(blob.replace("\\x", ""))
        elif re.fullmatch(r"[0-9a-fA-F]+", blob):
            data = bytes.fromhex(blob[: len(blob) // 2 * 2])
        else:
            data = base64.b64decode(blob + "=" * (-len(blob) % 4))
        text = data.decode("utf-8")
    except (ValueError, binascii.Error):
        return None
    return text if text.isprintable() or "\n" in text else None


def _sends(file: FileText) -> set[int]:
    found = {*matches(file, PATTERNS["uploads"])}
    if "curl" in file.text:
        found.update(one.start() for one in EXPRESSIONS["curl"].finditer(file.text.replace("\\\n", "  ")))
    return found


def filled_images(files: Sequence[FileText]) -> Iterator[Hit]:
    """Images whose addresses are filled with values."""
    for file in files:
        if "![" in file.text:
            images = (found.start() for found in EXPRESSIONS["filled_image"].finditer(file.text))
            yield from (file.hit(position) for position in images if not file.in_code_span(position))


def thefts(files: Sequence[FileText]) -> Iterator[Hit]:
    """Something sensitive that is read, and any copy to the outside, in the same skill; or the home folder, copied."""
    yield from finder(PATTERNS["home_sent"])(files)
    yield from _dumped_and_sent(files)
    said = [list(matches(file, PATTERNS["says_send"], code=False)) for file in files]
    for file, sends in zip(files, said, strict=True):
        yield from _sent_private(file, sends)
        yield from _named_together(file)
    outward = next(_outward(files, said), None)
    if outward is None:
        return
    for file in files:
        sensitive = {
            *matches(file, (*PATTERNS["weak_reads"], *PATTERNS["environment_dump"])),
            *matches(file, PATTERNS["weak_prose"], code=False),
            *matches(file, PATTERNS["strong_named"], prose=False),
        }
        for position in sensitive:
            hit = file.hit(position)
            if not hit.quoted:
                yield Hit(
                    file=hit.file, line=hit.line, text=f"{hit.text} … {outward.file}:{outward.line}: {outward.text}"
                )


def _dumped_and_sent(files: Sequence[FileText]) -> Iterator[Hit]:
    """A program that takes the whole environment and reaches the network."""
    for file in files:
        if not is_prose(file.path) and any(True for _ in matches(file, PATTERNS["calls"], prose=False)):
            yield from (file.hit(position) for position in matches(file, PATTERNS["environment_dump"], prose=False))


def _named_together(file: FileText) -> Iterator[Hit]:
    """A paragraph that names a file of keys and an address where something goes to, in some languages."""
    for position in matches(file, PATTERNS["strong_named"], code=False):
        start, end = file.prose.rfind("\n", 0, position) + 1, file.prose.find("\n", position)
        paragraph = file.prose[max(start, position - 300) : min(end if end >= 0 else len(file.prose), position + 300)]
        if EXPRESSIONS["to_address"].search(paragraph):
            yield file.hit(position)


def _outward(files: Sequence[FileText], said: Sequence[Sequence[int]]) -> Iterator[Hit]:
    for file, sends in zip(files, said, strict=True):
        for position in {*_sends(file), *matches(file, (*PATTERNS["drop-site"], *PATTERNS["remote-shell"])), *sends}:
            hit = file.hit(position)
            if not hit.quoted:
                yield hit


def _sent_private(file: FileText, sends: Sequence[int]) -> Iterator[Hit]:
    """A sentence that sends what the user said or owns to the outside."""
    for position in sends:
        end = file.prose.find("\n", position)
        sentence = file.sentence_before(position) + file.prose[position : end if end >= 0 else None][:300]
        if any(pattern.expression.search(sentence) for pattern in PATTERNS["private"]):
            yield file.hit(position)


def sent_secrets(files: Sequence[FileText]) -> Iterator[Hit]:
    """A key of one service that is sent to the host of another."""
    for file in files:
        for text in (file.prose, file.code):
            if "http" not in text:
                continue
            for found in EXPRESSIONS["secret_variable"].finditer(text):
                start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.start())
                line = text[max(start, found.start() - 400) : min(end if end >= 0 else len(text), found.start() + 400)]
                if not EXPRESSIONS["sent_with"].search(line):
                    continue
                known = _HOSTS_OF.get((found[1] or found[2]).split("_")[0], ())
                hosts = EXPRESSIONS["host"].findall(text[max(0, found.start() - 300) : found.start() + 300])
                if hosts and not any(part in host for host in hosts for part in known):
                    yield file.hit(found.start())


def start_up_files(files: Sequence[FileText]) -> Iterator[Hit]:
    """Changes of start-up files. A folder that is added to the path, or a variable with a plain value, is a caution."""
    for hit in finder(PATTERNS["start-up-file"], consent=True)(files):
        yield replace(
            hit, quoted=hit.quoted or EXPRESSIONS["path_only"].search(hit.text) is not None or _sets_values(hit, files)
        )


def _sets_values(hit: Hit, files: Sequence[FileText]) -> bool:
    """Whether all that is appended sets variables to plain values: as it is written, or in a file of the skill."""
    appended = [*EXPRESSIONS["appended"].finditer(hit.text)]
    texts = {file.path: file.text for file in files}
    added = [texts.get(found[3], "?") if found[3] else found[2] for found in appended]
    lines = [line.strip() for text in added for line in text.split("\n")]
    return hit.text.count(">>") == len(appended) > 0 and all(
        not line or line.startswith("#") or EXPRESSIONS["plain_value"].fullmatch(line) for line in lines
    )


_CONFIG_FILE = re.compile(r"(?<=\s)-[a-zA-Z]{0,4}K")


def safeguards_off(files: Sequence[FileText]) -> Iterator[Hit]:
    """What turns off a safeguard. Patterns see small letters only, and `curl -K FILE` reads a file: it is not `-k`."""
    patterns = PATTERNS["safeguard-off"]
    lines = {file.path: file.raw.split("\n") for file in files}
    for hit in finder(patterns)(files):
        written = "".join(lines[hit.file][hit.line - 1 : hit.line])
        without = _CONFIG_FILE.sub("", written)
        if without == written or any(pattern.expression.search(without.lower()) for pattern in patterns):
            yield hit
