"""Makes what the README shows of a first skill: `make recording`.

The commands run for real, in a temporary folder. The terminal is recorded as an asciicast with shortened waits, and
drawn as an animated SVG. The report of the run is photographed.
"""

import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

ROOT = Path(__file__).parent.parent
CAST = ROOT / "docs" / "assets" / "first-minutes.cast"
PICTURE = CAST.with_suffix(".svg")
REPORT = ROOT / "docs" / "images" / "report-demo.png"
COMMANDS = ("upskill init demo", "cd demo", 'upskill generate "release with harbour" --from session.jsonl')
COLUMNS, ROWS = 80, 32
KEY_SECONDS, LONGEST_WAIT, END_SECONDS = 0.035, 0.5, 5.0

Event = tuple[float, str]
"""The seconds since the event before, and what appeared."""


def typed(command: str) -> Iterator[Event]:
    """A prompt, and the keys of a command."""
    yield 0.4, "\x1b[1;32m$\x1b[0m "
    yield from ((KEY_SECONDS, key) for key in command)
    yield 0.3, "\r\n"


def printed(command: str, *, folder: Path, home: Path) -> Iterator[Event]:
    """What a command prints on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL")}
    kept |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "TERM": "xterm-256color"}
    process = subprocess.Popen(["sh", "-c", command], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=kept)
    os.close(theirs)
    last = time.monotonic()
    while select.select([ours], [], [], 60)[0]:
        try:
            read = os.read(ours, 65536)
        except OSError:  # the terminal is closed: the command has ended
            break
        now = time.monotonic()
        yield min(now - last, LONGEST_WAIT), read.decode(errors="replace")
        last = now
    os.close(ours)
    if process.wait() != 0:
        raise SystemExit(f"{command}: exit code {process.returncode}")


def record() -> str:
    """The recording, in the format of asciinema, version 2."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "work"
        folder.mkdir()
        events: list[Event] = []
        for command in COMMANDS:
            events += typed(command)
            if command.startswith("cd "):
                folder /= command.removeprefix("cd ")
            else:
                events += printed(command, folder=folder, home=Path(temporary))
        photograph(next(folder.glob("runs/*/report.html")))
    events.append((END_SECONDS, ""))
    lines = [json.dumps({"version": 2, "width": COLUMNS, "height": ROWS, "title": "upskill: a first skill"})]
    clock = 0.0
    for waited, text in events:
        clock += waited
        lines.append(json.dumps([round(clock, 3), "o", text], ensure_ascii=False))
    return "\n".join(lines) + "\n"


def photograph(page: Path) -> None:
    """The first screen of a report."""
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1100,760", f"--screenshot={REPORT}"]
    subprocess.run(["chromium", *options, page.as_uri()], check=True, capture_output=True)


def shown(cast: str) -> str:
    """The text of a recording, without colours and cursor movements."""
    texts = (json.loads(line)[2] for line in cast.splitlines()[1:])
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", "".join(texts)).replace("\r\n", "\n")


def draw(renderer: str) -> None:
    """Draw the recording. Readers who asked for less motion see its end."""
    subprocess.run([renderer, "--in", str(CAST), "--out", str(PICTURE), "--window", "--no-cursor"], check=True)
    picture = PICTURE.read_text(encoding="utf-8")
    frames = re.findall(r"translateX\((-?\d+(?:px)?)\)", picture)
    still = f"g[style]{{animation:none!important;transform:translateX({frames[-1]})}}"
    styled = picture.replace("</style>", f"@media (prefers-reduced-motion:reduce){{{still}}}</style>", 1)
    PICTURE.write_text(styled, encoding="utf-8")


if __name__ == "__main__":
    CAST.write_text(record(), encoding="utf-8")
    draw(sys.argv[1])
