"""Debian's Chromium without a window, driven over a pipe: no socket, no download, no package but the standard library.

Used by the tests of our pages, by hand for screenshots, and by `benchmarks/report_size.py` for how long a page takes
to open.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

Scheme = Literal["light", "dark"]
PHONE, DESK = 390, 1280
"""Widths in CSS pixels at which every page is looked at."""


class BrowserFailed(Exception):
    """Chromium said no, or went away."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """How a page is looked at."""

    width: int = DESK
    scheme: Scheme = "light"
    script: bool = True
    media: Literal["screen", "print"] = "screen"

    @property
    def height(self) -> int:
        return 844 if self.width < 600 else 900


class Browser:
    """One Chromium with one page. Use it in a `with` block; it costs about a second to start."""

    def __enter__(self) -> Self:
        program = shutil.which("chromium")
        if program is None:
            raise FileNotFoundError("chromium is not installed; on Debian: apt-get install chromium")
        self._profile = tempfile.mkdtemp(prefix="upskill-browser-")
        from_us, to_us = os.pipe(), os.pipe()
        words = [
            program,
            "--headless=new",
            "--no-sandbox",  # pages under test are our own, and CI is root in a container
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-extensions",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._profile}",
            "about:blank",
        ]
        # Chromium reads commands from descriptor 3 and answers on 4.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{from_us[0]} 4>&{to_us[1]}', "chromium", *words],
            pass_fds=(from_us[0], to_us[1]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us[0])
        os.close(to_us[1])
        self._commands = os.fdopen(from_us[1], "wb", buffering=0)
        self._replies = os.fdopen(to_us[0], "rb", buffering=0)
        self._unread = b""
        self._number = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._commands.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._replies.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, page: Path | str, look: Look = Look()) -> None:  # noqa: B008 - frozen
        """Show a file, or an address, and wait until it has loaded."""
        self._events.clear()
        self._resize(look.width, look.height)
        features = [{"name": "prefers-color-scheme", "value": look.scheme}]
        self.call("Emulation.setEmulatedMedia", media=look.media, features=features)
        self.call("Emulation.setScriptExecutionDisabled", value=not look.script)
        address = page.resolve().as_uri() if isinstance(page, Path) else page
        failed = self.call("Page.navigate", url=address).get("errorText")
        if failed:
            raise BrowserFailed(f"{address}: {failed}")
        self._wait_for("Page.loadEventFired")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; a promise is waited for."""
        reply = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in reply:
            raise BrowserFailed(str(reply["exceptionDetails"].get("exception", reply["exceptionDetails"])))
        return reply["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors that the page caused since it was opened: scripts, styles and addresses that were refused too."""
        self.run("0")  # what was said before this answer has arrived by then
        found = []
        for event in self._events:
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(event["params"]["exceptionDetails"].get("exception", {}).get("description")))
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """Every address that was asked for since the page was opened."""
        self.run("0")
        asked = [event["params"] for event in self._events if event["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in asked]

    def screenshot(self, target: Path, *, height: int | None = None) -> None:
        """A PNG of the page: in its whole length, or so many pixels from its top."""
        width, window = self.run("[innerWidth, innerHeight]")
        # What is drawn only when it comes into view must be in view.
        self._resize(width, max(self.run("document.documentElement.scrollHeight"), window))
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        wide, high = self.run("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": wide, "height": height or high, "scale": 1}
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        target.write_bytes(base64.b64decode(picture["data"]))
        self._resize(width, window)

    def _resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def pdf(self, target: Path) -> None:
        printed = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=False)
        target.write_bytes(base64.b64decode(printed["data"]))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the DevTools protocol."""
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        self._commands.write(json.dumps(command).encode() + b"\0")
        while True:
            message = self._read()
            if message.get("id") != self._number:
                self._events.append(message)
                continue
            if "error" in message:
                raise BrowserFailed(f"{method}: {message['error'].get('message')}")
            result: dict[str, Any] = message["result"]
            return result

    def _wait_for(self, method: str) -> None:
        while not any(event.get("method") == method for event in self._events):
            self._events.append(self._read())

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            part = self._replies.read(1 << 20)
            if not part:
                raise BrowserFailed("chromium has gone away")
            self._unread += part
        line, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message
