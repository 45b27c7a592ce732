"""Sign evidence with `sigstore`, the program of that project, in a process of its own. No signature is made here."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from upskill.domain.skill import EVIDENCE_FILE, SIGNATURE_FILE
from upskill.domain.text import shortened
from upskill.errors import EngineError

SIGSTORE = "sigstore>=4,<5"
LONGEST_SECONDS = 600
"""A person may have to find a browser and a password."""
_MOST_SAID = 300
_UNREACHABLE = ("NameResolutionError", "NewConnectionError", "ConnectTimeoutError")
_LEVEL = "ERROR "
_SOURCE = re.compile(r"\s\w+\.py:\d+$")
"""The line of its source that the program adds to what it logs."""


def require_sigstore() -> None:
    """Raise where `sigstore` is not installed."""
    if find_spec("sigstore") is None:
        raise EngineError(
            "--sign needs sigstore, which is not installed; nothing was published", hint=f"pip install '{SIGSTORE}'"
        )


def sign_evidence(data: bytes, *, interactive: bool) -> bytes:
    """The signature of the bytes, under the identity that the user proves: in CI by its token, else in a browser.

    Without a terminal nobody is asked. Raises `EngineError` in one line where there is no network or no identity.
    """
    require_sigstore()
    with TemporaryDirectory(prefix="upskill-sign-") as folder:
        evidence, bundle = Path(folder, EVIDENCE_FILE), Path(folder, SIGNATURE_FILE)
        evidence.write_bytes(data)
        command = [sys.executable, "-m", "sigstore", "sign", "--bundle", str(bundle)]
        if not interactive:
            command.append("--oauth-force-oob")  # asks on stdin, which is closed, instead of waiting for a browser
        try:
            done = subprocess.run(
                [*command, str(evidence)],
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=sys.stderr if interactive else subprocess.PIPE,
                stderr=None if interactive else subprocess.STDOUT,
                env={**os.environ, "COLUMNS": "2000", "NO_COLOR": "1"},
                timeout=LONGEST_SECONDS,
                check=False,
            )
            if done.returncode == 0:
                return bundle.read_bytes()
        except subprocess.TimeoutExpired:
            raise _failed("it took longer than ten minutes") from None
        except OSError as error:
            raise _failed(str(error.strerror)) from error
    raise _failed(_said((done.stdout or b"").decode("utf-8", "replace")))


def _failed(why: str) -> EngineError:
    return EngineError(
        f"the evidence could not be signed, so nothing was published: {why}",
        hint="sigstore needs a network and an identity: in CI a token (GitHub: permission `id-token: write`), "
        "elsewhere a browser; or publish without --sign",
    )


def _said(output: str) -> str:
    """Why the program failed, on one line."""
    if any(sign in output for sign in _UNREACHABLE):
        return "the servers of sigstore cannot be reached"
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    errors = [line.partition(_LEVEL)[2] for line in lines if _LEVEL in line]
    return shortened(_SOURCE.sub("", (errors or lines[-1:] or ["it gave no reason"])[0]).strip(), _MOST_SAID)
