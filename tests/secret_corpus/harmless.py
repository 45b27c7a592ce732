"""Two thousand lines without a secret: some by hand, the rest made from forms, always the same."""

import base64
import random
import uuid
from collections.abc import Callable
from pathlib import Path

from secret_corpus.made_up import ALNUM, BASE64, HEX, LOWER, WORDY

LINES = 2_000
_WORDS = ["parser", "kernel", "batch", "tensor", "queue", "worker", "router", "index", "schema", "layout", "socket"]
_WORDS += ["session", "token", "key", "secret", "password", "auth", "credential", "cookie", "signature", "vault"]
Chance = random.Random


def _of(chance: Chance, alphabet: str, length: int) -> str:
    return "".join(chance.choice(alphabet) for _ in range(length))


def _word(chance: Chance) -> str:
    return chance.choice(_WORDS)


def _name(chance: Chance) -> str:
    return "_".join(_word(chance) for _ in range(chance.randint(1, 3)))


def _path(chance: Chance) -> str:
    return "/".join(_word(chance) for _ in range(chance.randint(2, 4))) + chance.choice(
        (".py", ".ts", ".rs", ".go", ".yaml")
    )


def _uuid(chance: Chance) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def _picture(chance: Chance) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chance.randbytes(90)).decode()


def _stamp(chance: Chance) -> str:
    day = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return f"{day}T{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:07Z"


_FORMS: tuple[Callable[[Chance], str], ...] = (
    lambda c: f"commit {_of(c, HEX, 40)}",
    lambda c: f"{_of(c, HEX, 7)} {_word(c)}: keep the {_name(c)} apart from the {_name(c)}",
    lambda c: f"index {_of(c, HEX, 7)}..{_of(c, HEX, 7)} 100644",
    lambda c: f"@@ -{c.randint(1, 400)},7 +{c.randint(1, 400)},9 @@ def {_name(c)}(self, {_word(c)}):",
    lambda c: f"    --hash=sha256:{_of(c, HEX, 64)} \\",
    lambda c: f'      "integrity": "sha512-{_of(c, BASE64, 86)}==",',
    lambda c: f"{_word(c)}-{_word(c)}=={c.randint(0, 9)}.{c.randint(0, 20)}.{c.randint(0, 9)}",
    lambda c: f'{{ url = "{_word(c)}-1.tar.gz", hash = "sha256:{_of(c, HEX, 64)}", size = {c.randint(100, 99999)} }}',
    lambda c: f"{_uuid(c)} {_word(c)} ok",
    lambda c: f'{{"uuid": "{_uuid(c)}", "parentUuid": "{_uuid(c)}", "sessionId": "{_uuid(c)}", "type": "assistant"}}',
    lambda c: f'{{"type": "tool_result", "tool_use_id": "toolu_01{_of(c, ALNUM, 22)}", "content": "ok"}}',
    lambda c: f'{{"role": "tool", "tool_call_id": "call_{_of(c, ALNUM, 24)}", "name": "{_name(c)}"}}',
    lambda c: f'"id": "{c.choice(("msg_01", "req_01", "chatcmpl-", "resp_", "run_", "file-"))}{_of(c, ALNUM, 24)}"',
    lambda c: f"data:image/png;base64,{_picture(c)}",
    lambda c: f'"thoughtSignature": "{_picture(c)}"',
    lambda c: f'{{"type": "thinking", "signature": "{_picture(c)}{_picture(c)}"}}',
    lambda c: f"{_stamp(c)} INFO {_word(c)}[{c.randint(1, 99)}] {_name(c)}={c.randint(0, 9999)} status=200",
    lambda c: f"{_stamp(c)} WARN {_name(c)} timed out after {c.randint(1, 900)} ms, trying again",
    lambda c: f'10.0.0.{c.randint(1, 254)} - - [04/May/2026:10:11:12 +0000] "GET /{_path(c)}?page=2 HTTP/1.1" 200 512',
    lambda c: f"gcc -O2 -Wall -fPIC -DNDEBUG -I{_path(c)} -c {_name(c)}.c -o {_name(c)}.o",
    lambda c: f"{_path(c)}:{c.randint(1, 900)}:{c.randint(1, 80)}: error: unknown name '{_name(c)}'",
    lambda c: f"tests/test_{_name(c)}.py::test_{_name(c)} PASSED [{c.randint(1, 100):3}%]",
    lambda c: f"E   AssertionError: assert {_name(c)} == {c.randint(0, 99)}",
    lambda c: f'  File "{_path(c)}", line {c.randint(1, 900)}, in {_name(c)}',
    lambda c: f"def {_name(c)}({_name(c)}: str, {_name(c)}: int = {c.randint(0, 9)}) -> bool:",
    lambda c: f"    {_name(c)} = {_name(c)}({_name(c)}, {_name(c)}={_name(c)})",
    lambda c: f"    {_name(c)} = self.{_name(c)}.{_name(c)}",
    lambda c: f"    self.{_name(c)} = {_name(c)} or {_name(c)}()",
    lambda c: f"    if {_name(c)} is None or {_name(c)} == {_name(c)}:",
    lambda c: f"    return {_name(c)}[{c.randint(0, 9)}]",
    lambda c: f"from {_word(c)}.{_word(c)} import {_name(c)}, {_name(c)}",
    lambda c: f"import {{ {_name(c)} }} from './{_path(c)}';",
    lambda c: f"const {_name(c)} = await {_name(c)}({_name(c)});",
    lambda c: f"  {_name(c)}: {c.choice(('true', 'false', 'null', '30', '0.5', '8192'))}",
    lambda c: f"  {_name(c)}: {c.choice(('string', 'integer', 'required', 'optional', 'enabled', 'disabled'))}",
    lambda c: f"{_name(c).upper()}_TIMEOUT_SECONDS={c.randint(1, 600)}",
    lambda c: f"{_name(c).upper()}=${{{_name(c).upper()}}}",
    lambda c: f"{_name(c).upper()}_FILE=/run/{_path(c)}",
    lambda c: f"{_name(c).upper()}_URL=https://{_word(c)}.acme.example/{_path(c)}",
    lambda c: f"export {_name(c).upper()}=$(cat {_path(c)})",
    lambda c: f"--{_name(c).replace('_', '-')} {_name(c).upper()}",
    lambda c: f"--{_name(c).replace('_', '-')}=/etc/{_path(c)}",
    lambda c: f"| {_name(c)} | {_word(c)} | {c.randint(0, 99)}.{c.randint(0, 9)} |",
    lambda c: f"The {_word(c)} of the {_word(c)} is read by the {_word(c)} before the {_word(c)} is made.",
    lambda c: f"# {_word(c)}: {_word(c)} and {_word(c)} are the same here",
    lambda c: f"{_of(c, HEX, 64)}  {_path(c)}",
    lambda c: f"sha256:{_of(c, HEX, 64)}: Pull complete",
    lambda c: f"{_of(c, HEX, 12)}   {_word(c)}:latest   Up {c.randint(1, 59)} minutes",
    lambda c: f"pod/{_word(c)}-{_of(c, HEX, 9)}-{_of(c, LOWER, 5)}   1/1   Running   0   {c.randint(1, 59)}m",
    lambda c: f"https://huggingface.co/{_word(c)}/{_word(c)}-7B-Instruct/resolve/{_of(c, HEX, 40)}/config.json",
    lambda c: f"https://github.com/acme/{_word(c)}/blob/{_of(c, HEX, 40)}/{_path(c)}#L{c.randint(1, 99)}",
    lambda c: f"https://{_word(c)}.acme.example/{_path(c)}?{_word(c)}={c.randint(1, 999)}&lang=en",
    lambda c: f'ETag: W/"{_of(c, HEX, 32)}"',
    lambda c: f"{_name(c)}_tokens={c.randint(1, 99999)} {_word(c)}_key_count={c.randint(1, 99)}",
    lambda c: f'"{_name(c)}": {c.randint(0, 99999)},',
    lambda c: f'"{_name(c)}": ["{_word(c)}", "{_word(c)}"],',
    lambda c: f"0x{_of(c, HEX, 16)} <{_name(c)}+{c.randint(1, 99)}>",
    lambda c: f"{_of(c, HEX, 8)}: " + " ".join(_of(c, HEX, 4) for _ in range(8)),
    lambda c: f"     {_word(c)}-{_of(c, WORDY, 11)}.chunk.js  {c.randint(1, 900)} kB",
    lambda c: f"SELECT {_name(c)} FROM {_word(c)} WHERE {_name(c)} = ${c.randint(1, 9)};",
)  # fmt: skip


def by_hand() -> list[str]:
    """Lines a person wrote."""
    return (Path(__file__).parent / "harmless.txt").read_text().splitlines()


def harmless_lines() -> list[str]:
    """Exactly two thousand."""
    chance = random.Random(2_000)
    written = by_hand()
    made = [_FORMS[number % len(_FORMS)](chance) for number in range(LINES - len(written))]
    return written + made
