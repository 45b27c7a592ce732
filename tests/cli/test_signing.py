"""Signing runs the program `sigstore`, which needs a network and an identity. Here a stand-in takes its place.

What it prints without a network is what sigstore 4.5.1 printed.
"""

from pathlib import Path

import pytest

from upskill.errors import EngineError
from upskill.workflows.sign_evidence import require_sigstore, sign_evidence

SIGNS = """
import pathlib, sys
words = sys.argv[1:]
assert words[:2] == ["sign", "--bundle"] and words[3:] == ["--oauth-force-oob", words[-1]], words
evidence = pathlib.Path(words[-1])
assert evidence.name == "evidence.json"
assert sys.stdin.read() == ""
pathlib.Path(words[2]).write_bytes(b"signed " + evidence.read_bytes())
"""
OFFLINE = """
import sys
print("[15:34:10] WARNING  Retrying (Retry(total=0)) after connection broken by 'NameResolutionError(\\"Failed to "
      "resolve 'tuf-repo-cdn.sigstore.dev'\\")': /16.root.json connectionpool.py:874", file=sys.stderr)
print("           ERROR    Failed to refresh TUF metadata. errors.py:42", file=sys.stderr)
sys.exit(1)
"""
NOBODY = """
import sys
print("[15:34:10] ERROR    An issue occurred with ambient credential detection. errors.py:42", file=sys.stderr)
sys.exit(1)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a program that is found as `sigstore`."""
    package = tmp_path / "sigstore"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return package / "__main__.py"


def test_the_bytes_of_the_evidence_are_signed_and_nobody_is_asked(stand_in: Path) -> None:
    stand_in.write_text(SIGNS)
    assert sign_evidence(b'{"format": 1}', interactive=False) == b'signed {"format": 1}'


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (OFFLINE, "the servers of sigstore cannot be reached"),
        (NOBODY, "An issue occurred with ambient credential detection."),
        ("import sys; sys.exit(1)", "it gave no reason"),
    ],
)
def test_why_nothing_was_signed_is_said_in_one_line(stand_in: Path, program: str, said: str) -> None:
    stand_in.write_text(program)
    with pytest.raises(EngineError) as failed:
        sign_evidence(b"{}", interactive=False)
    assert failed.value.message == f"the evidence could not be signed, so nothing was published: {said}"
    assert failed.value.exit_code == 3


def test_without_the_package_the_extra_is_named() -> None:
    with pytest.raises(EngineError, match="--sign needs sigstore") as failed:
        require_sigstore()
    assert failed.value.hint == "pip install 'upskill[sign]'"
